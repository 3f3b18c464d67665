"""What the pages ask of a lesson and tell it: whether Play is open, and what the run says of the step."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from pmdviz.lab.loop.pace import Throttle
from pmdviz.lab.panels.lesson.places import Moment
from pmdviz.lab.panels.lesson.told import is_closed
from pmdviz.lab.panels.lesson.work import JudgeWork
from pmdviz.lessons.attempts import differences
from pmdviz.lessons.judging import Judgement, judged

STEPPING = ("toggle", "step", "proceed", "replay", "retry", "experiment")  # acts of a page that make steps
FIXED = ("reseed", "undo")  # acts that take another run than the step's
FIXED_WORDS = "This step keeps its seed and its run."
FIRST_ANSWER = "Store your answer first: then Play is open."
LOOK_EVERY_S = 0.4  # at a goal, while the run plays
BESIDE = ("lab", "race", "theory")  # pages beside which a lesson is seen


class Watch:
    """The gate of the pages and the judge of what they show, for a `guide` that has the progress."""

    def __init__(self, guide: Any) -> None:
        self._guide, self._pace = guide, Throttle(LOOK_EVERY_S)
        self.work = JudgeWork(self._accept)

    def hook(self, name: str, page: Any) -> None:
        """Listen to a page that was built."""
        if name in BESIDE:
            page.gate = self.may
            page.on_show = lambda shown: self.follow(name, shown)

    def may(self, act: str) -> bool:
        """Whether a page may do this now; stepping on with an answer stored reveals the step."""
        if not self._guide.is_open or self._guide.progress.done:
            return True
        if act in FIXED and "seed" not in self._guide.step.controls:
            self._guide.publish(FIXED_WORDS)
            return False
        if act not in STEPPING:
            return True
        if self._guide.progress.is_revealed:
            return self._may_replay(act)
        if is_closed(self._guide.progress, self._guide.standing):
            self._guide.publish(FIRST_ANSWER)
            return False
        if self._guide.step.question is not None:
            self._guide.reveal()
        return self._may_replay(act)

    def _may_replay(self, act: str) -> bool:
        """A replay has all that was turned on the way come again; a step with settings begins with these instead."""
        if not self._guide.step.controls or act not in ("toggle", "replay"):
            return True
        return not self._guide.place.play_again(only_if_over=act == "toggle")

    def follow(self, name: str, shown: Any) -> None:
        """A page has drawn something."""
        if name == "theory":
            self._guide.places["theory"].found(shown)
        if self._guide.is_open and name == self._guide.place.tab:
            self._guide.close()
            self._guide.show_controls()
            self.look()

    def look(self) -> None:
        """Have what is shown judged, where there is something to judge."""
        moment = self._guide.place.moment()
        if moment is None or self._guide.progress.done:
            return
        now = self._guide.standing
        replayed = now.replayed and not (now.at_end and not moment.at_end)  # until a run of one's own begins
        seen = {"at_end": moment.at_end, "playing": moment.playing, "replayed": replayed}
        standing = replace(now, foreign=self._foreign(), **seen)
        if standing != self._guide.standing:
            self._guide.standing = standing
            self._guide.publish()
        if moment.at_end or self._goal_is_due(moment):
            progress = self._guide.progress
            self.work.ask((moment.key, progress.to_json()), lambda: judged(progress, moment.scope(), moment.at_end))

    def _goal_is_due(self, moment: Moment) -> bool:
        """Whether a goal is looked at: while it plays, now and then."""
        wanted = self._guide.step.goal is not None and moment.at_rest
        return wanted and self._pace.is_due(time.monotonic(), moment.playing)

    def _foreign(self) -> tuple[str, ...]:
        """What the run changes that a challenge keeps fixed."""
        if self._guide.step.score is None or self._guide.lab.last is None:
            return ()
        return tuple(differences(self._guide.progress.lesson, self._guide.step, self._guide.lab.last.recipe))

    def _accept(self, key: Any, found: Judgement) -> None:
        """Store what was found of the present step."""
        if not self._guide.is_open:
            return
        if key[1] != self._guide.progress.to_json():  # another answer meanwhile
            self.look()
            return
        progress, fair = self._guide.progress, not self._guide.standing.foreign
        for part, verdict in found.verdicts.items():
            progress = progress.judged(part, verdict)
        if found.reached and fair:
            progress = progress.reach()
        if found.score is not None and fair and not self._guide.standing.replayed:
            progress = progress.score(found.score)
        self._guide.progress, self._guide.standing = progress, replace(self._guide.standing, found=found)
        self._guide.publish()
