"""What the steps of a lesson drive: the run of the Lab, the race of the Race page, an experiment of the Theory page.

A place may `keep` its state before the lesson and `give_back` that; `begin` with what a step shows, or `go_on`;
`play` it to its end, or `play_again` with the settings as they are; say whether it is `at_work`, and what there is to
judge, a `moment`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.experiments.running import ExperimentResult
from pmdviz.expressions import Scope
from pmdviz.knobs import Value
from pmdviz.lab.links import Asked, Link
from pmdviz.lab.loop.live import FAST, PACES
from pmdviz.lab.loop.runner import Runner, Snapshot
from pmdviz.lab.panels.sharing import of_preset
from pmdviz.lessons.lesson import Lesson, Step
from pmdviz.lessons.playing import begun_with
from pmdviz.metrics import METRICS
from pmdviz.presets import RaceScope, RunScope
from pmdviz.scenes.columns import EMPTY_AREAS, EMPTY_LINE, StageColumns
from pmdviz.scenes.stage import Scene
from pmdviz.scenes.trace_columns import GROUPS, first_group
from pmdviz.scenes.words import count, observations_used

if TYPE_CHECKING:
    from pmdviz.lab.laboratory import Kept, Lab
    from pmdviz.serve.pages import Tabs


class Moment(NamedTuple):
    """Something to judge: `key` tells it from others, `scope` is called in the worker."""

    key: Hashable
    at_end: bool
    playing: bool
    scope: Callable[[], Scope]
    at_rest: bool = True  # whether it may be judged before the end too


class Veil:
    """What of a lab a lesson hides until an answer is given: `parts` are some of `lessons.lesson.HIDES`.

    Hidden columns are not sent to the browser.
    """

    def __init__(self, parts: Collection[str] = ()) -> None:
        self.parts = frozenset(parts)

    def columns(self, columns: StageColumns, scene: Scene) -> StageColumns:
        """Columns of the stage, without the exact posterior where that is hidden."""
        if "exact" not in self.parts:
            return columns
        image = None if scene.image_of in ("", "exact") else columns.image
        return columns._replace(exact=EMPTY_LINE, areas=EMPTY_AREAS, image=image)

    def fields(self, fields: Mapping[str, Value], frame: Frame | None) -> Mapping[str, Value]:
        """Fields of the status, without how good the approximation is where that is hidden."""
        if frame is None or not self.parts & {"exact", "numbers"}:
            return fields
        said = f"iteration {count(frame.iteration)}, {observations_used(frame)}"
        return {**fields, "pmdviz-status": said, "more": ""}

    def names(self, names: Mapping[str, str]) -> Mapping[str, str]:
        """The layers with their names, without the exact posterior where that is hidden."""
        return {name: words for name, words in names.items() if name != "exact" or "exact" not in self.parts}

    def note(self, words: str) -> str:
        """The note in the corner of the stage; a caveat judges the run."""
        return "" if self.parts & {"exact", "numbers"} else words

    def offers(self, metrics: Iterable[str]) -> bool:
        """Whether traces of these may be shown."""
        return "exact" not in self.parts or not any(name in METRICS and name not in WITHOUT_EXACT for name in metrics)


SECOND = "second traces"  # hidden throughout a lesson
WITHOUT_EXACT = frozenset(  # metrics that need no exact posterior
    ("ess", "ancestors", "khat", "rhat", "bulk_ess", "shift", "ksd", "ksd_noise", "log_z", "log_z_above", "theta_1")
)
NO_VEIL = Veil()


SEEN, FRAMES = 20, 600  # iterations that are shown one by one, and frames of a whole run: some 15 s
LONG = [FAST, *(pace for pace in PACES.values() if pace.a_frame > 1 and pace.per_second == math.inf)]


class LabPlace:
    """The run of the Lab as the steps of a lesson drive it, and the run that was there before."""

    tab = "lab"

    def __init__(self, lab: Lab) -> None:
        self.lab, self._there, self._trace = lab, False, ""
        self._hurried = False  # whether the speed of the present run was chosen
        self._kept: Kept | None = None
        self.before: Link | None = None  # of what the lesson took the place of, if the page was reloaded since
        self._turned: dict[str, Value] = {}  # settings that the worker has not been given yet

    def keep(self) -> None:
        """The run as it stands, its traces and its speed."""
        self._look = self.lab.screen.group.value, self.lab.playback.speed.value
        self.lab.keep(partial(setattr, self, "_kept"))
        self.lab.playback.speed.value = FAST.name  # there is a word to wait for

    def hurry(self) -> None:
        """After the first iterations of a long run show several in a frame: about FRAMES in all."""
        last, speed = self.lab.last, self.lab.playback.speed
        if last is None or not self._there or self._hurried or speed.value not in [pace.name for pace in LONG]:
            return
        share = last.frame.spent / (last.recipe.budget or math.inf)
        if last.frame.iteration >= SEEN and share > 0:
            self._hurried = True
            wanted = last.frame.iteration / share / FRAMES
            speed.value = next((pace for pace in LONG if pace.a_frame >= wanted), LONG[-1]).name

    def hide(self, parts: Collection[str], shown: str = "") -> None:
        """Hide these parts of the page and the second traces, unless these are `shown`; show the others."""
        self.lab.screen.hide(Veil({*parts, SECOND} - {shown}))
        self.lab.own.handles.hidden = "exact" in parts
        if self.lab.last is not None:
            self.lab.screen.show(self.lab.last, self.lab.live.playing)
            self.lab.own.handles.show(self.lab.last)

    def begin(self, showing: Step) -> None:
        """Its recipe, from the start; its own traces, or the usual ones of its target and method."""
        recipe = showing.recipe
        self._trace = showing.trace or first_group(GROUPS.of(recipe.make_target(), recipe.make_method()))
        self.lay(recipe)

    def go_on(self, step: Step, begins: bool = True) -> None:
        """A run that is over begins again where the step has something to turn."""
        self._trace = step.trace
        self._there = not (begins and step.controls and self.lab.last is not None and self.lab.last.done)
        if not self._there:
            self.lab.live.do("restart", self._restart)

    def _restart(self, runner: Runner) -> Snapshot:
        snapshot = runner.restart()
        self._begun()
        return snapshot

    def lay(self, recipe: Recipe) -> None:
        """Another run, from its start."""
        self._there = False
        self.lab.lay(recipe, self._begun)

    def solve(self, lesson: Lesson, step: Step) -> None:
        """The step's solution laid over its run, which begins."""
        start = lesson.recipe_at(step) or self.lab.recipe
        later = dict(step.solution)
        begun = begun_with(start, later.pop(0, {}))
        self.lay(begun.replaced(changes=[(at, dict(values)) for at, values in sorted(later.items())]))
        self.lab.live.play(True)

    def _begun(self) -> None:
        self._there, self._hurried = True, False

    def play(self) -> None:
        """To the end of the budget; a run that is over stays."""
        if self.lab.last is None or not (self._there and self.lab.last.done):
            self.lab.live.play(True)

    @property
    def at_work(self) -> bool:
        """Whether the run plays, or is being made."""
        return self.lab.live.playing or self.lab.live.at_work

    def play_again(self, only_if_over: bool) -> bool:
        """Instead of a replay, in which settings change where they were turned."""
        over = self.lab.last is not None and self.lab.last.done and not self.lab.live.playing
        if over or not only_if_over:
            self.lab.live.do("restart", self._restart)
            self.lab.live.play(True)
        return over or not only_if_over

    def moment(self) -> Moment | None:
        """The frame that is drawn."""
        last = self.lab.last
        if last is None or not self._there:
            return None
        group, wanted = self.lab.screen.group, self._trace
        if wanted in group.options.values():
            group.value, self._trace = wanted, ""
        key = id(last.frame), tuple(last.frame.floors.values()), last.recipe.budget
        return Moment(key, last.done, self.lab.live.playing, lambda: RunScope(last.run))

    def give_back(self) -> None:
        """That run, at that iteration."""
        if self._kept is None:
            return
        if self.before is not None:
            self.lab.open(self.before)
        else:
            self.lab.give_back(self._kept)
        self.hide((), SECOND)
        self.lab.screen.group.value, self.lab.playback.speed.value = self._look
        self._kept = self.before = None

    def turn_knob(self, name: str, value: Value) -> None:
        """As the Lab's own controls do; of a run that is over another one begins with it."""
        self._turned[name] = value
        self.lab.live.do("set", self._set, newest_only=True)

    def _set(self, runner: Runner) -> Snapshot:
        """Runs in the worker."""
        values, self._turned = self._turned, {}
        over = runner.session.done
        snapshot = runner.set(values)
        return runner.restart() if over else snapshot

    def turn_part(self, name: str, value: Value) -> None:
        """A run with this seed or budget."""
        session = self.lab.session
        recipe = session.recipe.replaced(changes=(), knobs=session.knobs.as_dict())
        self.lay(recipe.limited(int(value)) if name == "budget" else recipe.replaced(**{name: value}))


class PagePlace:
    """Something on a page that may have to be built first; it has no settings in a lesson."""

    tab: ClassVar[str]

    def __init__(self, pages: Tabs) -> None:
        self._pages = pages
        self._kept: Any = None  # the page showed this before the lesson
        self._step: Step | None = None

    @property
    def page(self) -> Any:
        """The page; None before it is built."""
        return self._pages.built.get(self.tab)

    def go_on(self, step: Step, begins: bool = True) -> None:
        """The page stays as it is."""

    def play_again(self, only_if_over: bool) -> bool:
        """It does not."""
        return False


class RacePlace(PagePlace):
    """The race of the Race page."""

    tab = "race"
    _wished = _begun = False

    def keep(self) -> None:
        """The race, not where it stood: others step it."""
        self._kept = self.page.recipe if self.page is not None else None

    def begin(self, showing: Step) -> None:
        """Its race, from the start."""
        self._step, self._wished, self._begun = showing, False, False
        self._pages.open(self.tab, showing.race.recipe)

    def play(self) -> None:
        """To its end, as soon as it is there."""
        self._wished = not self._ready
        if self._ready and not self.page.last.done:
            self.page.playback.speed.value = FAST.name
            self.page.live.play(True)

    @property
    def at_work(self) -> bool:
        """Whether the race plays, or is being made."""
        return self.page is not None and (self._wished or self.page.live.playing or self.page.live.at_work)

    @property
    def _ready(self) -> bool:
        last = self.page.last if self.page is not None else None
        if last is not None and last.recipe == self._step.race.recipe and not last.done:
            self._begun = True  # a race like it that was over before is another one
        return last is not None and self._begun and last.recipe == self._step.race.recipe

    def moment(self) -> Moment | None:
        """The race at rest; while it plays others step it."""
        if not self._ready:
            return None
        if self._wished:
            self.play()
        last, race, names = self.page.last, self.page.live.runner, [*self._step.race.entrants]

        def scope() -> RaceScope:
            return RaceScope({name: one.run for name, one in zip(names, race.sessions, strict=True)})

        return Moment((id(race), last.iteration, last.done), last.done, self.page.live.playing, scope, at_rest=False)

    def give_back(self) -> None:
        """The race that was there, from its start."""
        if self._kept is not None and self._step is not None:
            self.page.take(self._kept)
        self._step = None


class ExperimentPlace(PagePlace):
    """An experiment of the Theory page."""

    tab = "theory"
    _result: ExperimentResult | None = None

    def keep(self) -> None:
        """The present choice."""
        self._kept = self.page.choice if self.page is not None else None

    def begin(self, showing: Step) -> None:
        """Its preset, not run yet."""
        self._step, self._result = showing, None
        self._pages.open(self.tab, Asked(settings=showing.experiment))

    def play(self) -> None:
        """Run it, unless it was."""
        if self.page is not None and self._result is None:
            self.page.run()

    @property
    def at_work(self) -> bool:
        """Whether the experiment runs."""
        return self.page is not None and self.page.work is not None and not self.page.work.over

    def found(self, result: ExperimentResult) -> None:
        """An experiment is over."""
        step = self._step
        if step is not None and result.experiment == of_preset(step.experiment).experiment:
            self._result = result

    def moment(self) -> Moment | None:
        """What it found; before the end nothing."""
        result = self._result
        return None if result is None else Moment(id(result), True, False, lambda: RaceScope({}))

    def give_back(self) -> None:
        """The earlier choice."""
        if self._kept is not None and self._step is not None:
            self.page.choose(self._kept)
        self._step = None
