"""A run compared with others: two settings as a race, and the same recipe with other seeds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import panel as pn

from pmdviz.engine.recipe import USUAL_TARGET, Recipe
from pmdviz.errors import InputError
from pmdviz.experiments.race import RaceRecipe
from pmdviz.experiments.race.recipe import compared, setting_words, spent_in, telling
from pmdviz.experiments.sweep import SHARE, SeedRuns
from pmdviz.knobs import Knobs, Value
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.loop.task import Slices, Task, TaskSlot, Tell
from pmdviz.lab.loop.work import check_time, ending, with_other_seeds
from pmdviz.lab.panels import widgets
from pmdviz.lab.panels.setup import alike, fitting_methods
from pmdviz.methods import METHODS
from pmdviz.metrics import METRICS
from pmdviz.presets import PRESETS
from pmdviz.scenes.trace_columns import GROUPS
from pmdviz.scenes.words import count, number
from pmdviz.views import TracesView

TITLE = "Compare"
ABOUT = "Another setting, method or preset: same data, same seed, same budget, one Play."
KNOB, METHOD, PRESET, BRANCH = "knob", "method", "preset", "branch"  # kinds of what may differ
WORDS = {METHOD: "Another method", PRESET: "A preset of this target", BRANCH: "The run and its branch"}
What = tuple[str, str]  # the kind, and the name of a knob


class ComparePanel:
    """A button, and a sheet which is built when it is first opened; `more` are other ways to compare, below.

    `begin(race)` is given the race of two, and `go` says what that is called. `about` hears that it opened or closed.
    """

    def __init__(
        self, begin: Callable[[RaceRecipe], None], go: Callable[[], str], about: Callable[[widgets.Sheet], None]
    ) -> None:
        self._begin, self._go = begin, go
        self.more: list[pn.viewable.Viewable] = []
        self._last: Snapshot | None = None
        self._busy = False  # while it is being filled, a change is not a choice
        self._value: Value | None = None  # the other value of a knob
        self.button = widgets.small_button(TITLE, self.toggle, css_classes=["pmdviz-high"])
        self.card = widgets.Sheet(TITLE, about=about)

    def show(self, snapshot: Snapshot) -> None:
        """Follow the run."""
        self._last = snapshot
        if self.card.shown and _settings(snapshot) != self._offered:
            self._offer(snapshot)

    def toggle(self) -> None:
        """Open the sheet, or close it."""
        if self.card.shown:
            self.card.hide()
        elif self._last is not None:
            if len(self.card.view) == 1:
                self._build()
            self._offer(self._last)
            self.card.reveal()

    def _build(self) -> None:
        self.what = widgets.select("What differs", {}, lambda what: self._choose())
        self.form = widgets.KnobForm(self._turn)
        self.method, self.preset = (widgets.select(title, {}) for title in ("Method", "Preset"))
        self.said = widgets.text()
        go = widgets.small_button(self._go(), self._compare, margin=(6, 0, 16, 0))
        self._ways = {KNOB: self.form, METHOD: self.method, PRESET: self.preset}
        self.card.view.extend([widgets.text(ABOUT), self.what, *self._ways.values(), self.said, go, *self.more])

    def _offer(self, snapshot: Snapshot) -> None:
        """What may differ from the settings of this run."""
        self._offered = _settings(snapshot)
        frame, self._busy = snapshot.frame, True
        specs, idle, plain = frame.knobs.specs(), frame.method.idle_knobs(frame.target), frame.knobs.as_dict()
        basic = [n for n in widgets.in_order(specs) if specs[n].basic and n not in idle]
        seen = [n for n in basic if frame.knobs.matters(n, plain)]
        methods = {words: n for words, n in fitting_methods(frame.target).items() if n != snapshot.recipe.method}
        presets = {PRESETS[n].title: n for n in _of_target(snapshot.recipe, frame.knobs)}
        knobs = {specs[n].label: (KNOB, n) for n in seen}
        there = {METHOD: methods, **knobs, PRESET: presets, BRANCH: snapshot.ghost}
        found: dict[str, What] = {WORDS.get(k, k): knobs.get(k, (k, "")) for k, some in there.items() if some}
        for menu, options in ((self.what, found), (self.method, methods), (self.preset, presets)):
            widgets.offer(menu, options)
        self._busy = False
        self._choose()

    def _choose(self) -> None:
        """Show the control of what differs."""
        if self._busy or self.what.value is None:
            return
        kind, name = self.what.value
        widgets.say(self.said, "")
        for each, way in self._ways.items():
            way.visible = each == kind
        if kind == KNOB:
            self._show_knob(name)
        elif kind == BRANCH:
            widgets.say(self.said, self._last.ghost.words)

    def _show_knob(self, name: str) -> None:
        knobs = self._last.frame.knobs
        spec, now = limits.capped(knobs.specs()[name], type(knobs)), knobs.as_dict()[name]
        self._value = next(self._working(telling(spec, now), name), now)
        self.form.build({name: spec}, {name: now})
        self.form.controls[name].show(self._value, now)
        widgets.say(self.said, f"This run: {setting_words(spec, now)}.")

    def _working(self, values: Iterator[Value], name: str) -> Iterator[Value]:
        """Those of the values that the run can have."""
        for value in values:
            try:
                self._race(self._last.recipe.method, self._last.frame.knobs.replaced(**{name: value}))
            except InputError:
                continue
            yield value

    def _turn(self, name: str, value: Value) -> None:
        self._value = value

    def _race(self, method: str, knobs: Knobs) -> RaceRecipe:
        return limits.check_race(compared(self._last.recipe, self._last.frame.knobs, method, knobs))

    def _chosen(self) -> RaceRecipe:
        """The race that is chosen: of the run and its branch, each has its changed settings. Raises InputError."""
        recipe, frame, (kind, name) = self._last.recipe, self._last.frame, self.what.value
        if kind == BRANCH:
            return limits.check_race(RaceRecipe.of_runs([recipe, self._last.ghost.recipe]))
        if kind == KNOB:
            return self._race(recipe.method, frame.knobs.replaced(**{name: self._value}))
        if kind == PRESET:
            other = PRESETS[self.preset.value].recipe
            return self._race(other.method, other.start_knobs())
        way = METHODS[self.method.value]
        return self._race(way.name, way.fitted(way.Knobs.defaults(), frame.target))

    def _compare(self) -> None:
        """Have the two race, or say why they cannot."""
        try:
            race = self._chosen()
        except InputError as error:
            widgets.say(self.said, error.on_page)
            return
        self.card.hide()
        self._begin(race)


def _settings(snapshot: Snapshot) -> tuple[tuple, str, Knobs, Recipe | None]:
    ghost = snapshot.ghost and snapshot.ghost.recipe
    return snapshot.frame.target.key, snapshot.recipe.method, snapshot.frame.knobs, ghost


def _of_target(recipe: Recipe, now: Knobs) -> list[str]:
    """Names of the presets on the same target with the same options whose settings are others."""
    near = [name for name, one in PRESETS.items() if one.parts.get("target", USUAL_TARGET) == recipe.target]
    same = [name for name in near if alike(PRESETS[name].recipe, recipe, ("target", "target_options", "custom"))]
    mine = recipe.method, now.as_dict()
    return [name for name in same if (PRESETS[name].recipe.method, PRESETS[name].recipe.knobs) != mine]


# What other seeds say of a run, in words.

RANKED = {-1: "Better than most", 0: "Typical", 1: "Worse than most"}  # by `Judged.place`, where lower is better
PLACES = {-1: "Unusually low", 0: "Typical", 1: "Unusually high"}
MIDDLE = f"{SHARE:.0%}".replace("%", "\u00a0%")


def verdict(runs: SeedRuns, snapshot: Snapshot, group: str) -> tuple[str, str]:
    """Where the run stands among the others by the first of these traces that it has: a sentence, and a few words.

    These are for the picture: "Typical: 7 of 16 other seeds are lower"; "" for nothing to compare. A typical value lies
    in the middle 80 % of the other seeds.
    """
    own, over = snapshot.measured.kept_columns(), snapshot.done and _as_far(runs, snapshot)
    for name, trace in GROUPS[group].metrics.items():
        if (found := runs.judge(own, name, over, snapshot.recipe.seed)) is not None:
            word = (RANKED if name in METRICS and METRICS[name].ranks else PLACES)[found.place]
            brief = f"{word}: {found.lower} of {found.others} other seeds {'is' if found.lower == 1 else 'are'} lower"
            at = f"{trace.title} is {number(found.value)} at iteration {count(found.iteration)}"
            return f"{brief}. {at}; the middle {MIDDLE} of them: {number(found.low)} to {number(found.high)}.", brief
    return NOTHING, ""


def _as_far(runs: SeedRuns, snapshot: Snapshot) -> bool:
    """Whether the others were given as much as the run, which may have been continued since."""
    furthest = max(float(spent_in(run.history, snapshot.recipe.budget_unit)[-1]) for run in runs.whole)
    return bool(snapshot.ended) or furthest >= (snapshot.recipe.budget or 0)


def stopped_words(runs: SeedRuns) -> str:
    """Which seeds stopped early, and why the first one did; "" for none."""
    if not runs.stopped:
        return ""
    seeds = ", ".join(str(run.seed) for run in runs.stopped)
    name, are = ("Seed", "is") if len(runs.stopped) == 1 else ("Seeds", "are")
    return f"{name} {seeds} stopped and {are} left out: {runs.stopped[0].stopped}"


# Runs with other seeds: bands behind the traces, and a sentence.

SEEDS = {f"{number} seeds": number for number in (4, 8, 16, 32)}
ALL_BUT_SEED = ("target", "target_options", "custom", "method", "knobs", "changes", "budget_unit")  # and budget
LET_GO = "The settings have changed, so the band is gone. Run the comparison again."
NOTHING = "These traces have no value to compare."
SEEDS_TELL_S = 0.3
_seeds_pool = Slices("pmdviz-seeds")
ALL_STOPPED = "None of the other seeds finished."
Asked = Callable[[], Sequence[Recipe]]


class SeedsPanel(TaskSlot):
    """A button, a number of seeds, and a line that says how far their runs are, or what came out.

    Parameters
    ----------
    asked : function
        Gives the recipes that are to be repeated, each with an end. May raise InputError.
    draw : function
        Draws bands over the `runs`, or none.
    about, usual
        Name of the menu of numbers of seeds, and its usual one.
    labels
        Of the button, before and while it works.
    """

    def __init__(self, asked: Asked, draw: Callable[[], None], about: str, usual: int, labels: Sequence[str]) -> None:
        super().__init__(self._tell, SEEDS_TELL_S)
        self._asked, self._draw, self._labels = asked, draw, labels
        self.runs: list[SeedRuns] = []  # of each recipe; none yet, under way, cancelled or failed
        self.recipes: Sequence[Recipe] = ()  # that were repeated
        self.words, self._seen = "", threading.Event()
        self._seen.set()
        self.button = widgets.small_button(labels[False], self._press)
        self.seeds = widgets.select(about, SEEDS, value=usual, width=120, margin=0, sizing_mode=None)
        self.said = widgets.text(margin=(4, 0))

    def _press(self) -> None:
        (self.cancel if self.running else self._ask)()
        self._tell()

    def _ask(self) -> None:
        """Repeat the recipes, unless they cannot be repeated."""
        number = self.seeds.value
        try:
            recipes = self._asked()
        except InputError as error:
            self.words = error.on_page
            return
        if recipes:
            self.forget()
            self.recipes, self.words = recipes, f"Repeating with {number} seeds"
            act = partial(with_other_seeds, recipes, number)
            self.begin(_seeds_pool, lambda tell: act(partial(self._wait, tell)), self._end_of)

    def _wait(self, tell: Tell, done: float, total: float) -> None:
        """Say how far it is, and wait while the page is out of sight."""
        tell(done, total)
        while not self._seen.wait(0.5):
            tell(done, total)

    def _end_of(self, task: Task) -> None:
        found = task.outcome("The other seeds stopped with {kind}: {error}")
        self.runs = found.result or []
        said = f"Bands: the middle {MIDDLE} of {self.seeds.value} seeds. {' '.join(map(stopped_words, self.runs))}"
        self.words = said.strip() if self.runs else "Cancelled: no other seeds." if found.cancelled else found.words

    def forget(self, words: str = "") -> None:
        """Let go of the work under way, and of what came out of the last."""
        self.let_go()
        self.recipes, self.runs, self.words = (), [], words

    def pause(self, on: bool) -> None:
        """Whether to stand still: the page is out of sight."""
        (self._seen.clear if on else self._seen.set)()

    def _tell(self) -> None:
        self._draw()
        self.say()

    def say(self) -> None:
        """Show how far it is, or what came out."""
        self.button.label = self._labels[self.running]
        bar = f'<progress aria-label="seeds" max="1" value="{self.share:.3f}"></progress> ' if self.running else ""
        widgets.update(self.said, object=bar + widgets.spoken(self.words))


class LuckPanel(SeedsPanel):
    """A run's recipe with other seeds: where it stands among them, in a sentence and in the picture of `traces`."""

    def __init__(self, traces: TracesView) -> None:
        labels = "Repeat with other seeds", "Cancel"
        super().__init__(self._bounded, lambda: traces.show_seeds(self.runs), "Other seeds", 16, labels)
        self._traces = traces
        self._last: Snapshot | None = None
        row = pn.FlexBox(self.button, self.seeds, gap="8px", align_items="end", **widgets.WIDE)
        self.view = pn.Column(row, self.said, css_classes=["pmdviz-luck"], **widgets.WIDE)

    def _bounded(self) -> list[Recipe]:
        """The recipe, endless as far as it has come. Raises InputError where its runs would take too long."""
        if (last := self._last) is None:
            return []
        recipe = ending(last.recipe, last.frame)
        check_time(recipe, last.frame, self.seeds.value)
        return [recipe]

    def show(self, snapshot: Snapshot, playing: bool) -> None:
        """Follow the run: other settings let go of the band, and a pause brings the sentence up to date."""
        self._last = snapshot
        if not all(alike(recipe, snapshot.recipe, ALL_BUT_SEED) for recipe in self.recipes):
            self.forget(LET_GO)
            self._tell()
        elif not playing:
            self.say()

    def say(self) -> None:
        """How far it is, or what came out by the traces that are shown; in a few words in the picture too."""
        brief = f"{self.words}: {self.share:.0%}".replace("%", "\u00a0%") if self.running else ""
        if self.runs and self._last is not None:
            self.words, brief = self._judged(self.runs[0], self._last)
        super().say()
        self._traces.say_seeds(brief)

    def _judged(self, runs: SeedRuns, last: Snapshot) -> tuple[str, str]:
        """A sentence, and the same in a few words for the picture."""
        if not runs.whole:
            return f"{ALL_STOPPED} {stopped_words(runs)}", ""
        words, brief = verdict(runs, last, self._traces.group)
        return f"{words} {stopped_words(runs)}".strip(), brief
