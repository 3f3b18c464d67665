"""The link to what is seen: for the Share button, and in the browser's address bar, so that a reload brings it back."""

from __future__ import annotations

import time
from collections.abc import Callable

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.recipe_parts import MAX_BUDGET
from pmdviz.errors import InputError
from pmdviz.lab import links
from pmdviz.lab.loop.acknowledge import Acknowledge
from pmdviz.lab.loop.pace import Throttle
from pmdviz.lab.loop.pool import Again
from pmdviz.lab.loop.replay import Replay, replay_to
from pmdviz.lab.loop.runner import Runner, Snapshot
from pmdviz.scenes.words import duration

FOLLOW_S = 2.0  # while it plays the address follows so often; browsers refuse much more
TOO_LONG = (
    "The link asks for {place}. Replaying the run up to it would take about {duration}, more than this server "
    "spends on a link. The run starts at iteration 0 instead."
)
ENDED = "The link asks for iteration {iteration:,}, but its run ends at iteration {last:,}."
DIFFERENCES = {
    "same": "",
    "rounded": "At iteration {iteration:,} the replayed run agrees with the shared one to five digits. Another "
    "processor, or another version of pmdviz, NumPy or Numba, rounds differently.",
    "other": "At iteration {iteration:,} the replayed run has other particles than the shared one. Another processor, "
    "or another version of pmdviz, NumPy or Numba, rounds differently, and a random choice came out differently.",
}


class Sharing:
    """The link of a lab: what it came by, and what it shows now."""

    def __init__(self, ack: Acknowledge, link: links.Link, tell: Callable[[str], None]) -> None:
        self._ack, self._link, self._tell = ack, link, tell
        self._pace, self._begun = Throttle(FOLLOW_S), False
        self._recipe: Recipe | None = None  # of the link in the address bar
        self._replay: Replay | None = None  # while it is under way
        self.sentence = ""  # what a person must be told of the link once its frame is there

    def arrive(self, runner: Runner) -> Snapshot | Again:
        """Replay up to the link's iteration, turn by turn, and hold the frame against its digest."""
        if runner.session.frame.iteration == 0:
            self._replay = self._replay or replay_to(self._link.iteration, runner)
            again = self._replay.bring(runner)
            if again is not None:
                return again
            self.sentence = self._judged(runner.session.frame, self._replay)
            self._replay = None
        return runner.snapshot()

    def _judged(self, frame: Frame, replay: Replay) -> str:
        """What must be said of the way to `frame`; "" where it is the one that was shared."""
        asked = self._link.iteration
        place = "the end of its run" if asked == MAX_BUDGET else f"iteration {asked:,}"
        if replay.too_long:
            return TOO_LONG.format(place=place, duration=duration(replay.foretold))
        if frame.iteration < asked < MAX_BUDGET:  # a link to the end asks for no iteration
            return ENDED.format(iteration=asked, last=frame.iteration)
        if not self._link.digest:
            return ""
        return DIFFERENCES[links.agreement(frame, self._link.digest)].format(iteration=asked)

    def query(self, snapshot: Snapshot, start: str = links.HERE, page: links.Page | None = None) -> str:
        """The query of the link to a snapshot, or to another place of its run; the page looks as it does now.

        Raises InputError where a link cannot hold it.
        """
        page = self._link.page if page is None else page
        return links.query(snapshot.recipe, snapshot.frame, page, snapshot.preset, start)

    def copy(
        self,
        snapshot: Snapshot | None,
        put: Callable[[str], None],
        start: str = links.HERE,
        page: links.Page | None = None,
    ) -> None:
        """Put a link on the clipboard; the browser adds its own address."""
        if snapshot is None:
            return
        try:
            put(self.query(snapshot, start, page))
        except InputError as error:
            self._tell(f"{str(error)[0].upper()}{str(error)[1:]} (Export, recipe as JSON).")

    def follow(self, snapshot: Snapshot, playing: bool) -> None:
        """Bring the address bar up to date, once something has happened."""
        if not self._pace.is_due(time.monotonic(), playing and snapshot.recipe == self._recipe):
            return
        self._recipe = snapshot.recipe
        try:
            text = self.query(snapshot)
        except InputError:
            text = ""
        if not self._begun:  # what was opened stays as it was written
            self._begun, self._opened = True, text
        elif text != self._opened or self._ack.link:
            self._ack.link = text
