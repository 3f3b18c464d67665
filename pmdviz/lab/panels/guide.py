"""A lesson drives the app: it opens pages, closes Play until an answer is stored, judges, gives the run back."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from pmdviz.errors import InputError
from pmdviz.experiments.running import ExperimentResult
from pmdviz.lab import links
from pmdviz.lab.links import NO_LESSON, LessonLink
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.live import Throttle
from pmdviz.lab.loop.task import TaskSlot, pool_for
from pmdviz.lab.panels import lesson_card
from pmdviz.lab.panels.lesson_card import LessonCard, Standing
from pmdviz.lab.panels.lesson_places import ExperimentPlace, LabPlace, RacePlace
from pmdviz.lessons.lesson import Lesson, Step, differences
from pmdviz.lessons.progress import Judgement, Progress, judged
from pmdviz.lessons.reading import DEMOS, find_lesson, following
from pmdviz.scenes.words import whole_sentence

if TYPE_CHECKING:
    from pmdviz.lab.laboratory import Lab
    from pmdviz.lab.page import Page, Seen
    from pmdviz.serve.pages import Tabs

TRY_FIRST = "Try once more, or open a hint. Press the button again to see a solution."
SOLVED = "This is one solution; it plays now."
COPIED = "The link to this attempt is on the clipboard."
FAILED = "this run could not be judged; restart the step, and if it happens again, tell your teacher"
STEPPING = ("toggle", "step", "proceed", "replay", "retry", "experiment")  # acts of a page that make steps
FIXED = ("reseed", "undo")  # acts that take another run than the step's
FIXED_WORDS = "This step keeps its seed and its run."
FIRST_ANSWER = "Submit your answer first, then press Play."
LOOK_EVERY_S = 0.4  # at a goal, while the run plays
BESIDE = ("lab", "race", "theory")  # pages with which a lesson is seen


PLAYING = "The next part comes after the run; to go on at once, press Pause first."

# The lesson of one browser session: it has the progress, the gate of the pages, and the judge of what they show.

BROKEN = "What this browser kept of the lesson cannot be used: {}. The lesson starts from the beginning."


class Guide:
    """One browser session's lesson; `pages` are its tabs, `lab` the first of them.

    `on_open(on)` hears whether a lesson is open, and `on_card(card)` of the card when it is first made.
    """

    def __init__(self, pages: Tabs, lab: Lab) -> None:
        self.pages, self.lab = pages, lab
        self.on_open: Callable[[bool], None] = lambda on: None
        self.on_card: Callable[[LessonCard], None] = lambda card: None
        self.progress: Progress | None = None
        self.standing = Standing()
        self._presents, self._at = False, 0  # whether it is a script for a lecture hall, and the part that is shown
        self.wanted: set[str] = set()  # steps whose solution was asked for once
        own = LabPlace(lab)
        self.places: dict[str, Any] = {place.tab: place for place in (own, RacePlace(pages), ExperimentPlace(pages))}
        self.controls = lesson_card.StepControls(own.turn_knob, lab.setup.turn_option, own.turn_part)
        self.card: LessonCard | None = None
        self._pace, self._work = Throttle(LOOK_EVERY_S), TaskSlot(queues=True)
        self._asked: Hashable = None  # the last judged frame
        self._skip, self._came_by = False, NO_LESSON
        lab.on_refused = lambda error: self.is_open and self.controls.refuse(error)

    @property
    def is_open(self) -> bool:
        """Whether a lesson is open."""
        return self.progress is not None

    @property
    def step(self) -> Step:
        """The present one."""
        return self.progress.step

    @property
    def may_pass(self) -> bool:
        """Whether steps may be left without an answer: by the teacher's link, or by a presenter."""
        return self._skip or self._presents

    # What a learner does in it

    def hear(self, message: Mapping[str, Any]) -> None:
        """A message of the card; an act that is none, or comes without a lesson, is what a browser made up."""
        act = message.get("act")
        if act == "resume":
            self._hear_kept(message)
            return
        acts: dict[Any, Callable[[], object]] = {
            "answer": lambda: self._answer(message),
            "reveal": lambda: self.reveal(plays=True),
            "hint": lambda: self.store(self.progress.hint()),
            "solution": self._solve,
            "link": self._copy_link,
            "next": self._next,
            "back": self.go_back,
            "again": self.begin_again,
            "leave": self.leave,
            "following": self.open_following,
            "list": lambda: self.leave("lessons"),
            "forward": self.forward,
            "backward": self.backward,
        }
        if self.is_open and isinstance(act, str) and act in acts:
            try:
                acts[act]()
            except InputError as error:
                self.publish(whole_sentence(str(error)))

    def _hear_kept(self, message: Mapping[str, Any]) -> None:
        """The browser says what it kept of the lesson that it was asked for."""
        lesson, *kept = (message.get(name) for name in ("lesson", "text", "before"))
        if isinstance(lesson, str) and lesson and lesson == self.card.asked.get("lesson"):
            self.resume(find_lesson(lesson), *(each if isinstance(each, str) else "" for each in kept))

    def _answer(self, message: Mapping[str, Any]) -> None:
        part, confidence = (str(message.get(name, "")) for name in ("part", "confidence"))
        self.store(self.progress.answer(part, message.get("value"), confidence))
        self.look()

    def _solve(self) -> None:
        """Play the solution, for who has asked twice or has revealed the step."""
        step = self.step
        if step.solution and (step.name in self.wanted or self.progress.is_revealed):
            self.places["lab"].solve(self.progress.lesson, step)
            self.publish(SOLVED)
        elif step.solution:
            self.wanted.add(step.name)
            self.publish(TRY_FIRST)

    def _copy_link(self) -> None:
        """Copy the link to this attempt."""
        if (last := self.lab.last) is not None and self.step.score is not None:
            query = links.attempt_query(self.progress.lesson.name, self.step.name, last.recipe)
            self.lab.screen.actions.put_on_clipboard(query)
            self.publish(COPIED)

    def _next(self) -> None:
        """To the next step, if the present step may be left."""
        progress = self.progress
        stopped = progress.is_revealed and progress.may_go_on() and not self.place.at_work  # a failed run has no end
        if stopped or lesson_card.may_leave(progress, self.standing):
            self.go_on()
        else:
            self.publish(lesson_card.NEXT_CLOSED)

    # Opening and leaving

    def open(self, lesson: Lesson, link: LessonLink = NO_LESSON) -> None:
        """Open a lesson: the browser is asked for what it keeps of it, and answers by `resume`."""
        self._came_by, self._skip = link, link.skip or self._skip
        if self.card is None:
            self.card = LessonCard(self.hear, form=self.controls.form, css_classes=["pmdviz-lesson"])
            self.on_card(self.card)
        self.card.asked = {"lesson": lesson.name, "serial": self.card.asked.get("serial", 0) + 1}

    def resume(self, lesson: Lesson, text: str = "", before: str = "") -> None:
        """Begin, or go on with what a browser kept; what the pages show is kept, to come back to."""
        link, self._came_by = self._came_by, NO_LESSON
        rehearsed = self._presents and lesson.name in DEMOS  # a hall sees a demo from its start
        progress, said = _kept(lesson, "" if link.attempt or rehearsed else text)
        challenge = next((step.name for step in lesson.steps if step.score is not None), "")
        name = link.step or (challenge if link.attempt else "")
        if name and name != progress.step.name:
            progress = progress.jump(name)
        if not self.is_open:
            self._keep(before if link.name else "")
        self.progress = progress
        self.enter(shown=link.has_run, begins=not link.has_run, said=said, replayed=link.attempt)

    def _keep(self, before: str) -> None:
        """The page's state before the lesson; of a page that was reloaded since, the browser knows it."""
        for place in self.places.values():
            place.keep()
        self.places["lab"].before = _read(before)
        self.card.before = before or self._query()

    def _query(self) -> str:
        try:
            return self.lab.sharing.query(self.lab.last) if self.lab.last is not None else ""
        except InputError:  # no link can hold it
            return ""

    def leave(self, to: str = "lab") -> None:
        """Close the lesson, if one is open; what the pages showed before it is there again."""
        if not self.is_open:
            return
        self.progress = None
        self.forget()
        self.close()
        for place in self.places.values():
            place.give_back()
        self.card.param.update(told={}, before="")
        self.on_open(False)
        self.pages.show(to)

    # From step to step

    @property
    def showing(self) -> Step | None:
        """The last step up to the present one that shows something of its own."""
        lesson = self.progress.lesson
        before = lesson.steps[: lesson.places[self.step.name] + 1]
        return next((step for step in reversed(before) if step.shows), None)

    @property
    def place(self) -> LabPlace | RacePlace | ExperimentPlace:
        """Where the present step shows what it is about."""
        showing = self.showing
        tab = "race" if showing and showing.race else "theory" if showing and showing.experiment else "lab"
        return self.places[tab]

    def enter(self, shown: bool = False, begins: bool = True, said: str = "", replayed: bool = False) -> None:
        """Show the present step; `shown`: the page shows what it is about, which with `begins` may begin again."""
        self.forget()
        self._at = 0
        self.standing = Standing(replayed=replayed, listed="lessons" in self.pages.kinds, said=said)
        place, showing = self.place, self.showing
        self.pages.show(place.tab)
        if shown or showing is None:
            place.go_on(self.step, begins)
        elif not self.progress.done:
            place.begin(showing)
        self.publish()
        self.on_open(True)
        self.look()

    def go_on(self) -> None:
        """To the next step, or the end."""
        self.progress = self.progress.go_on(self.may_pass)
        self.enter(shown=self.progress.done or not self.step.shows)

    def go_back(self) -> bool:
        """To the step before; False at the first one."""
        before, self.progress = self.progress, self.progress.go_back()
        if self.progress is not before:
            self.enter(shown=before.done, begins=False)
        return self.progress is not before

    def begin_again(self) -> None:
        """From the first step, without the answers; scores stay."""
        self.progress = replace(Progress.begin(self.progress.lesson), scores=self.progress.scores)
        self.enter()

    def open_following(self) -> None:
        """The next lesson of the list."""
        if (after := following(self.progress.lesson)) is not None:
            self.open(after)

    def reveal(self, plays: bool = False) -> None:
        """From now on the answer stays, and what the step shows may be seen; with `plays` its run begins."""
        self.store(self.progress.reveal(self.may_pass))
        self.look()
        if plays:
            self.place.play()

    def store(self, progress: Progress) -> None:
        """What the learner has done so far."""
        self.progress = progress
        self.publish("")

    # A lesson as a script for a lecture hall: its steps part by part, the gates open

    @property
    def part(self) -> str:
        """The part of the step that is shown; "" for all of them."""
        return lesson_card.parts_of(self.progress)[self._at] if self._presents and self.is_open else ""

    def present(self, on: bool) -> None:
        """One part at a time, or all of them again."""
        self._presents, self._at = on, 0
        if self.is_open:
            self.publish("")

    def forward(self) -> None:
        """The next part, where to reveal plays the run; after the last part the next step."""
        if not self._presents:
            return
        if self.progress.done:
            self.open_following()
        elif self.part == "reveal" and self.place.at_work:
            self.publish(PLAYING)
        elif self._at + 1 >= len(lesson_card.parts_of(self.progress)):
            self.go_on()
        else:
            self._at += 1
            if self.part == "reveal" and not self.progress.is_revealed:
                self.reveal(plays=True)
            self.publish("")

    def backward(self) -> None:
        """The part before; before the first one the last of the step before."""
        if not self._presents:
            return
        if self._at > 0 and not self.progress.done:
            self._at -= 1
        elif self.go_back():
            self._at = len(lesson_card.parts_of(self.progress)) - 1
        self.publish("")

    def publish(self, said: str | None = None) -> None:
        """Bring card, controls and Play up to date, and have the browser keep the progress."""
        said = self.standing.said if said is None else said
        self.standing = replace(self.standing, said=said, part=self.part, may_skip=self.may_pass)
        kept = {"lesson": self.progress.lesson.name, "text": self.progress.to_json()}
        self.card.param.update(told=lesson_card.told(self.progress, self.standing), kept=kept)
        shown = self._presents and self.progress.is_revealed and self.part != "reveal"
        self.places["lab"].hide(() if shown else self.progress.hidden)
        self.close()
        self.show_controls()

    # What the pages ask of it and tell it: whether Play is open, and what the run says of the step

    def forget(self) -> None:
        """Nothing that was asked is of interest any more."""
        self._work.let_go()
        self._asked = None

    def hook(self, name: str, page: Page) -> None:
        """Listen to a page that was built."""
        if name in BESIDE:
            page.gate = self.may
            page.on_show = lambda shown: self.follow(name, shown)

    def may(self, act: str) -> bool:
        """Whether a page may do this now; stepping on with an answer stored reveals the step."""
        if not self.is_open or self.progress.done:
            return True
        if act in FIXED and "seed" not in self.step.controls:
            self.publish(FIXED_WORDS)
            return False
        if act not in STEPPING:
            return True
        if not self.progress.is_revealed:
            if lesson_card.is_closed(self.progress, self.standing):
                self.publish(FIRST_ANSWER)
                return False
            if self.step.question is not None or self.step.hide:
                self.reveal()
        # A replay repeats all changes of settings; a step with settings begins with these instead.
        again = bool(self.step.controls) and act in ("toggle", "replay")
        return not (again and self.place.play_again(only_if_over=act == "toggle"))

    def follow(self, name: str, shown: Seen) -> None:
        """A page has drawn something."""
        if isinstance(shown, ExperimentResult):
            self.places["theory"].found(shown)
        if self.is_open and name == self.place.tab:
            self.close()
            self.show_controls()
            self.look()
            if name == "lab":
                self.places["lab"].hurry()

    def look(self) -> None:
        """Have the run on show judged, where there is something to judge."""
        moment = self.place.moment()
        if moment is None or self.progress.done:
            return
        now = self.standing
        replayed = now.replayed and not (now.at_end and not moment.at_end)  # until a run of one's own begins
        seen: dict[str, Any] = {"at_end": moment.at_end, "playing": moment.playing, "replayed": replayed}
        challenged = self.step.score is not None and self.lab.last is not None
        changed = differences(self.progress.lesson, self.step, self.lab.last.recipe) if challenged else ()
        standing = replace(now, foreign=tuple(changed), **seen)  # a challenge fixes these settings
        if standing.at_end and not now.at_end:
            standing = replace(standing, found=Judgement())  # the one so far is not of the end
        if standing != now:
            self.standing = standing
            self.publish()
        wanted = self.step.goal is not None and moment.at_rest
        if moment.at_end or (wanted and self._pace.is_due(time.monotonic(), moment.playing)):
            progress = self.progress
            asked = moment.key, progress.to_json()
            if asked != self._asked:
                self._asked = asked
                self._work.compute(
                    pool_for(0.0),
                    lambda: judged(progress, moment.scope(), moment.at_end),
                    partial(self._accept, of=progress),
                    lambda words: self._accept(Judgement(trouble=FAILED)),
                )

    def _accept(self, found: Judgement, of: Progress | None = None) -> None:
        """Store the verdicts on the present step."""
        if not self.is_open:
            return
        if of is not None and of != self.progress:  # another answer meanwhile
            self.look()
            return
        progress, fair = self.progress, not self.standing.foreign
        for part, verdict in found.verdicts.items():
            progress = progress.judged(part, verdict)
        if found.reached and fair:
            progress = progress.reach()
        if found.score is not None and fair and not self.standing.replayed:
            progress = progress.score(found.score)
        self.progress, self.standing = progress, replace(self.standing, found=found)
        self.publish()
        if found.verdicts:  # the parts hidden until then may be shown now
            self.look()

    # What it shows

    def close(self) -> None:
        """Close Play on the pages, or open it."""
        on = self.is_open and lesson_card.is_closed(self.progress, self.standing)
        for name in ("lab", "race"):
            if name in self.pages.built:
                self.pages.built[name].playback.tell(closed=on)

    def show_controls(self) -> None:
        """The step's settings as the run has them."""
        last, step = self.lab.last, self.step
        start = self.progress.lesson.recipe_at(step)
        if step.controls and last is not None and start is not None and self.place.moment() is not None:
            self.controls.show(step.controls, start, last)


def _kept(lesson: Lesson, text: str) -> tuple[Progress, str]:
    """What a browser kept, and what must be said of it."""
    if not text:
        return Progress.begin(lesson), ""
    try:
        return Progress.from_json(lesson, text), ""
    except InputError as error:
        return Progress.begin(lesson), BROKEN.format(error)


def _read(before: str) -> links.Link | None:
    """The run of a query that the browser kept, if it is one that this server allows."""
    try:
        link = links.read(parse_qs(before.removeprefix("?")))
        return link if link.recipe is not None and limits.check(link.recipe) else None
    except InputError:
        return None
