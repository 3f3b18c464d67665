"""A race on its page: the settings, and the screen with tiles, traces, its state in words and its table."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import panel as pn
import param
from bokeh.models import ColumnDataSource
from panel.custom import JSComponent

from pmdviz.engine.recipe import given_knobs
from pmdviz.errors import InputError
from pmdviz.experiments.race import Entrant, RaceRecipe, in_one_mode
from pmdviz.experiments.race.recipe import DATA, SHORT, evaluations
from pmdviz.experiments.sweep import SeedRuns
from pmdviz.lab import css
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.live import Throttle
from pmdviz.lab.loop.race_runner import ROWS
from pmdviz.lab.panels import widgets
from pmdviz.lab.panels.folds import InsidePanel
from pmdviz.lab.panels.screen import LayerSwitches, LiveScreen, pane_of, shown
from pmdviz.lab.panels.setup import ProblemControls, fitting_methods, refused
from pmdviz.lab.panels.status import passes_words, past_fields
from pmdviz.methods import METHODS, find_method
from pmdviz.metrics import METRICS, Metric
from pmdviz.scenes import style
from pmdviz.scenes.race import RaceScene, Tile, difference_of, tile_words
from pmdviz.scenes.stage import Scene
from pmdviz.scenes.trace_columns import CLOCK_OF, KINDS, RACE_CLOCKS, line_end
from pmdviz.scenes.words import count, number, whole_sentence
from pmdviz.targets import Target, get_target
from pmdviz.targets.custom import choice_of
from pmdviz.views import RaceTiles, RaceTraces

if TYPE_CHECKING:
    from pmdviz.lab.race import Race

# The settings: target with its options, methods with their knobs, budget and seed.

CLOCK_MENU = {"observations used": "data", "likelihood evaluations": "evaluations"}
BUDGET_OF = {unit: f"Budget of each ({words})" for words, unit in CLOCK_MENU.items()}
DEFAULT_ENTRANTS = "pmd,pmd:warm_start=true,smc,gibbs,sgld,svi"


def turned(method: str, knobs: Mapping[str, Any], target: Target, name: str, value: Any) -> dict[str, Any]:
    """The knobs of an entrant with one of them turned; only what differs from the defaults on `target` is kept."""
    way = find_method(method)
    usual = way.fitted(way.Knobs.defaults(), target)
    return given_knobs(method, usual.replaced(**knobs).replaced(**{name: value}), target)


class EntrantCard:
    """One entrant, folded; its knobs are made when it is first opened."""

    def __init__(self, setup: RaceSetup) -> None:
        self._setup = setup
        self.form: widgets.KnobForm | None = None
        self.shown: Entrant | None = None
        self._target: Target | None = None
        self.view = widgets.folded("", build=self._build, margin=(2, 0), css_classes=["pmdviz-entrant"])

    def _build(self) -> None:
        self.form, acts = widgets.KnobForm(partial(self._setup.turn, self)), self._setup.acts()
        self.fill()
        buttons = [widgets.small_button(label, partial(act, self)) for label, act in acts.items()]
        self.view.extend([self.form, pn.FlexBox(*buttons, gap="8px", **widgets.WIDE)])

    def show(self, entrant: Entrant, target: Target) -> None:
        """Show an entrant; costs nothing while it stays the same."""
        if (self.shown, self._target) != (entrant, target):
            self.shown, self._target = entrant, target
            self.view.header.object = f"<b>{html.escape(entrant.title)}</b>"
            self.fill()

    def fill(self) -> None:
        """Show the entrant's knobs again, without the last change."""
        if self.form is not None and self.shown is not None:
            way = METHODS[self.shown.method]
            usual = way.fitted(way.Knobs.defaults(), self._target)
            idle = way.idle_knobs(self._target)
            self.form.show(usual.replaced(**self.shown.knobs), usual.as_dict(), idle=idle)

    def refuse(self, error: InputError, name: str) -> bool:
        """Put a refusal next to the knob of that name; False without such a knob."""
        return refused(self.form.controls.get(name) if self.form is not None else None, error)


class RaceSetup(ProblemControls):
    """The controls of a race: `begin(recipe)` starts another race.

    `branch(k, values)` has entrant k go on with other knobs as one more entrant, and `leave(k)` has the race go on
    without it; both return whether that can be done now. `look` opens an entrant by itself, and says what that is
    called.
    """

    begun: RaceRecipe | None = None  # the race that is being made: shown here until it is drawn or refused

    def __init__(
        self,
        recipe: RaceRecipe,
        begin: Callable[[RaceRecipe], None],
        branch: Callable[[int, Mapping[str, Any]], bool],
        leave: Callable[[int], bool],
        look: tuple[Callable[[int], None], Callable[[], str]],
    ) -> None:
        super().__init__(BUDGET_OF, self._option, lambda name, value: self._ask(seeds=(value,)))
        self._begin, self._branch, self._leave, self.recipe = begin, branch, leave, recipe
        self._look = look
        self._asked: tuple[EntrantCard, str] | None = None  # the knob that was turned last
        self.cards: list[EntrantCard] = []
        self.clock = widgets.select("Clock", CLOCK_MENU, self._ask_by)
        self.entrants = pn.Column(**widgets.WIDE)
        self.method = widgets.select("Add a method", {})
        self.add = widgets.small_button("Add", self._add)
        self.said = widgets.text(margin=(4, 0))
        heading = '<div class="pmdviz-heading">Methods in the race (open one to change its settings)</div>'
        problem = self.target, self.data, self.clock, self.budget, self.seed_form
        methods = widgets.text(heading), self.entrants, self.method, self.add, self.said
        self.view = pn.Column(*problem, *methods, css_classes=["pmdviz-race-setup"], **widgets.ASIDE)
        self.show(recipe)

    def _ask(self, **parts: Any) -> None:
        """Begin another race. A menu that was set while the page was made comes here later, with nothing new."""
        made = replace(self.recipe, **parts)
        if not self._busy and made != self.recipe:
            self._asked = None
            self._begin(made)

    def expect(self, recipe: RaceRecipe) -> None:
        """Show a race that is being made; the next setting then changes this race."""
        self.begun = recipe
        self._show(recipe)

    def forget(self) -> None:
        """The race that was being made is not to come: show the drawn one again."""
        self.begun = None
        self._show(self._drawn)

    def _ask_by(self, unit: str) -> None:
        """Another clock, with the budget that is usual by it."""
        if not self._busy:
            self._ask(**self._counted(replace(self.recipe, budget_unit=unit, budget=None)))

    def _counted(self, recipe: RaceRecipe) -> dict[str, Any]:
        """Unit and budget of a race whose clock was changed; an endless one stays endless."""
        budget = None if self.recipe.budget is None else limits.usual_budget(recipe)
        return {"budget_unit": recipe.budget_unit, "budget": budget}

    def _option(self, name: str, value: Any) -> None:
        target = self.recipe.target
        self._ask(target=get_target(target.name, {**target.options.as_dict(), name: value}))

    def _on_budget(self, budget: int) -> None:
        self._ask(budget=budget or None)

    def _on_target(self, choice: Any) -> None:
        """Those who cannot run on another target stay out; knobs that were given stay."""
        if self._busy:
            return
        target = get_target(choice, {})
        fitting, recipe = fitting_methods(target).values(), self.recipe
        stay = [one for one in recipe.entrants if one.method in fitting]
        parts: dict[str, Any] = {"target": target}
        if target.data is None and recipe.budget_unit == DATA:
            after = replace(recipe.with_entrants(stay), target=target, budget_unit="evaluations", budget=None)
            parts |= self._counted(after)
        self._ask_for(stay, **parts)

    def _ask_for(self, methods: Sequence[Any], **parts: Any) -> None:
        self._ask(entrants=self.recipe.with_entrants(methods).entrants, **parts)

    def _add(self) -> None:
        if len(self.recipe.entrants) >= style.MOST_ENTRANTS:
            widgets.say(self.said, f"At most {style.MOST_ENTRANTS} methods: more lines could not be told apart.")
        elif self.method.value:
            self._ask_for([*self.recipe.entrants, self.method.value])

    def acts(self) -> dict[str, Callable[[EntrantCard], None]]:
        """What the buttons of an entrant's card do, by their labels."""
        look, words = self._look
        return {words(): lambda card: look(self.cards.index(card)), "Remove": self._remove}

    def _remove(self, card: EntrantCard) -> None:
        k, self._asked = self.cards.index(card), None
        if self.begun is not None or not self._leave(k):
            self._ask(entrants=self.recipe.without(k).entrants)

    def turn(self, card: EntrantCard, name: str, value: Any) -> None:
        """A person has turned a knob of an entrant."""
        k, methods = self.cards.index(card), [*self.recipe.entrants]
        self._asked = card, name
        if self.begun is None and self._branch(k, {name: value}):
            card.fill()  # the entrant itself stays as it is
            return
        one = methods[k]
        methods[k] = replace(one, knobs=turned(one.method, one.knobs, self.recipe.target, name, value))
        self._ask_for(methods)
        self._asked = card, name

    def refuse(self, error: InputError) -> bool:
        """Put a refusal next to the changed knob, or the control of its field; False without a control."""
        self.forget()
        if self._asked is not None and self._asked[0] in self.cards:
            return self._asked[0].refuse(error, self._asked[1])
        return super().refuse(error)

    def show(self, recipe: RaceRecipe) -> None:
        """Show the race that is drawn, unless another one is being made."""
        self._drawn = recipe
        if self.begun is None or recipe == self.begun:
            self.begun = None
            self._show(recipe)

    def _show(self, recipe: RaceRecipe) -> None:
        self.recipe, self._busy = recipe, True
        try:
            target = recipe.target
            self.show_problem(target, choice_of(target), recipe.seeds[0], recipe.budget, recipe.budget_unit)
            with_data = recipe.target.data is not None  # else there is one clock alone
            menu = {words: unit for words, unit in CLOCK_MENU.items() if unit != DATA or with_data}
            widgets.offer(self.clock, menu, recipe.budget_unit)
            widgets.offer(self.method, fitting_methods(target))
            self._show_cards(recipe)
            widgets.say(self.said, "" if recipe.entrants else "No methods yet: choose one above and press Add.")
        finally:
            self._busy = False

    def _show_cards(self, recipe: RaceRecipe) -> None:
        """A card for each entrant: its own, else a card of its method whose entrant has gone."""
        left, self.cards = self.cards, []
        for entrant in recipe.entrants:
            alike = [card for card in left if card.shown == entrant]
            alike += [card for card in left if card.shown is not None and card.shown.method == entrant.method]
            card = alike[0] if alike else EntrantCard(self)
            left = [each for each in left if each is not card]
            self.cards.append(card)
            card.show(entrant, recipe.target)
        widgets.update(self.entrants, objects=[card.view for card in self.cards])


# A race in words: the status panel, and the rows of the table.

SLOTS = ("first", "second")  # columns of the table, whichever metrics they show
COLOURS_SAY = "Colours show the method; the exact posterior is grey."
BELOW = "Values below the independent draws' are possible: weights and particles that repel one another vary less."
WHY_BELOW = (
    "A method can score lower: weights that make errors cancel and particles that repel one another vary less, and a "
    "fitted density needs no kernels."
)

QUESTION = "<h2>{}</h2>"
START = "All methods get the same data and budget: guess a ranking, then press Play."
NOBODY = 'No methods yet: open "Methods and settings" and press Add.'


def question_of(recipe: RaceRecipe) -> str:
    """What the race answers, as HTML: the question of its target, or which setting of the one method is best."""
    methods = {one.method for one in recipe.entrants}
    if len(methods) == 1 and len(recipe.entrants) > 1:
        return QUESTION.format(f"{html.escape(METHODS[methods.pop()].title)}: which setting comes closest?")
    return QUESTION.format(html.escape(recipe.target.question))


def status_fields(scene: RaceScene, extra: str = "", playing: bool = False) -> dict[str, Any]:
    """What the status panel says, in the fields of the lab's."""
    high, budget, unit = max(scene.spent), scene.budget, SHORT[scene.recipe.budget_unit]
    end = line_end(scene.last, high, budget) if scene.at == scene.last else scene.last
    running = [tile for tile in scene.tiles if not tile.ended] or scene.tiles
    most, of = max((tile.visited for tile in running), default=0), "no budget: endless"
    if budget:
        within = f"{count(high)} of {count(budget)} {unit}"
        of = within if high <= budget else f"{count(high)} {unit} (budget {count(budget)})"
    return {
        "share": 100.0 * min(1.0, high / budget) if budget else 0.0,
        "of": of,
        "pmdviz-status": scene.words if scene.tiles else NOBODY,
        "passes": passes_words(most, scene.recipe.target),
        "step": _step(scene),
        "more": extra,
        "live": "off" if playing else "polite",
        **past_fields(scene.at, scene.last, end, "round"),
    }


def _row_cost(row: Mapping[str, Any]) -> list[Any]:
    """What an observation has cost so far: evaluations of one theta, to sort by and in words."""
    made = {"likelihood": row["density_evaluations"], "gradient": row["gradient_evaluations"]}
    each = {kind: round(number / max(row["visited"], 1)) for kind, number in made.items() if number}
    said = [f"{count(n)} {kind}{'' if n == 1 else 's'}" for kind, n in each.items()]
    return [sum(each.values()), " + ".join(said) or "–"]


def _step(scene: RaceScene) -> str:
    if not scene.tiles:
        return ""
    found = difference_of(scene)
    between = f"{found.words}." if found is not None and found.words else ""  # of two methods which one is closer
    if scene.done:
        return " ".join(filter(None, ["Finished.", between, _below(scene)]))
    if slow := [tile.title for tile in scene.tiles if tile.slow]:
        return f"Waiting for {', '.join(slow)} (methods stay within one pass of each other)"
    ended = [tile.title for tile in scene.tiles if tile.ended]
    return f"Finished: {', '.join(ended)}" if ended else (between if scene.iteration else START)


def _below(scene: RaceScene) -> str:
    """Why the lowest TV may be below the independent draws', where it is."""
    metric = scene.recipe.shown[0]
    known = [tile.row[metric.name] for tile in scene.tiles if tile.row.get(metric.name) is not None]
    reference = scene.floors.get(metric.name)
    return BELOW if known and reference is not None and min(known) < reference else ""


def _row(k: int, tile: Tile, seeds: SeedRuns | None, shown: Sequence[Metric]) -> dict[str, Any]:
    """A plain row of the table, with the runs of its bands."""
    row, masses = tile.row, tile.row["mode_masses"]
    now = tile.ended or tile.caveat or "running"
    return {
        "entrant": k,
        "method": [tile.title, tile.title, tile.entrant.full_title],
        "visited": [tile.visited, count(tile.visited)],
        **{slot: _cell(row.get(metric.name)) for slot, metric in zip(SLOTS, shown, strict=False)},
        "modes": [None if not masses else min(masses), "–" if not masses else " + ".join(f"{m:.2f}" for m in masses)],
        "evaluations": [evaluations(row), count(evaluations(row))],
        "row": _row_cost(row),
        "seconds": [row["seconds"], f"{row['seconds']:.2f}"],
        "seeds": _over_seeds(seeds, shown[0].name),
        "state": [now, now],
    }


def _cell(value: float | None) -> list[Any]:
    return [value, "–" if value is None else number(value)]


def _over_seeds(seeds: SeedRuns | None, name: str) -> list[Any]:
    """Mean ± standard deviation of a metric at the ends of the runs."""
    ends = seeds.values(name)[:, -1] if seeds is not None and seeds.whole else np.array([np.nan])
    if not np.isfinite(ends).all():
        return [None, "–"]
    mean, alone = float(ends.mean()), in_one_mode([run.masses for run in seeds.whole])
    sd = f" ± {number(float(ends.std(ddof=1)), 2)}" if len(ends) > 1 else ""
    return [mean, f"{number(mean)}{sd}" + (f" ({alone} in one mode)" if alone else "")]


def swatches(dark: bool) -> list[dict[str, Any]]:
    """Colour and dashes of each entrant, for the table."""
    parts = zip(style.entrant_colours(dark), style.ENTRANT_DASHES, strict=True)
    return [{"colour": colour, "dash": " ".join(map(str, dash))} for colour, dash in parts]


# The table of a race: one row a method, sorted by whatever column a person chooses.

EXACT = "The dashed grey line: the score of draws from the exact posterior, drawn as the first method's particles are."
BEFORE = {  # key -> (title, what it says)
    "method": ("method", "The method, with the line that it has in the traces."),
    "visited": ("observations used", "Rows passed to the likelihood or its gradient; repeats count."),
    "evaluations": (
        "likelihood evaluations",
        "Likelihoods and gradients computed, each for one value of θ and one observation.",
    ),
}
AFTER = {
    "modes": (
        "mass in each mode",
        "The share of the approximation's mass in the basin of each mode of the exact posterior: 0.46 + 0.54 has found "
        "both, 0.00 + 1.00 only one.",
    ),
    "row": (
        "cost of an observation (evaluations)",
        "Likelihoods and gradients for each observation used: one for every particle or component.",
    ),
    "seconds": ("time (s)", "Computing time of the steps, in seconds."),
    "seeds": ("{} over seeds", "Mean ± standard deviation over several runs; press Bands."),
    "state": ("state", "Whether the method is running, or why it has finished."),
}


def columns(shown: Sequence[Metric]) -> list[list[str]]:
    """Key, title and words of each column, with these metrics in the middle."""
    middle = {slot: (one.label, whole_sentence(one.about)) for slot, one in zip(SLOTS, shown, strict=False)}
    first = shown[0].title if shown else ""
    return [[key, title.format(first), words] for key, (title, words) in {**BEFORE, **middle, **AFTER}.items()]


class RaceTable(JSComponent):
    """Bars by the first metric, and a folded table, which the browser sorts.

    `rows` hold a value to sort by, a text, and perhaps a longer text for the pointer. `notes` are pairs of a term and
    its words that come after the columns' own.
    """

    columns = param.List(default=[])
    rows = param.List(default=[])
    swatches = param.List(default=[])
    floor = param.Number(default=None, doc="First metric of independent draws: the mark in the bars.")
    lower = param.Boolean(default=True, doc="Whether a lower value of the first metric is better.")
    notes = param.List(default=[["independent draws", f"{EXACT} {WHY_BELOW}"]])

    _esm = css.MAKE + css.static("lists.js", "race_table")
    _stylesheets = [css.static("pages.css", "race_table")]


WORDS_S = 0.3  # traces, numbers and the table change so often while playing; a person reads no faster
PLACES = "pmdviz-race-first", "pmdviz-race-second"  # classes of the traces
DIFFERENCE = "difference"  # in the menu of the traces below


class RaceScreen(LiveScreen):
    """Tiles, traces, table and status in one responsive layout."""

    def __init__(self, page: Race) -> None:
        super().__init__(page)
        recipe, self._bands = page.recipe, page.bands
        shown = recipe.shown
        self.tiles = RaceTiles()
        self.traces, self.second = RaceTraces(SLOTS[0], shown[0]), RaceTraces(SLOTS[1], shown[-1])
        self.table = RaceTable(margin=0, columns=columns(shown))
        sheets = [css.TEXT, css.static("pages.css", "race_heading")]
        self.heading = widgets.text(question_of(recipe), css_classes=["pmdviz-race-heading"], stylesheets=sheets)
        self._scene: Scene | None = None
        self.switches = LayerSwitches(self.tiles.toggle, self._colours)
        self.legend = self.switches.view
        self.legend.append(widgets.text(COLOURS_SAY, margin=0, sizing_mode=None))
        self.legend.css_classes = ["pmdviz-legend", "pmdviz-race-legend"]
        packed = [*self.tiles.moving, *self.traces.moving, *self.second.moving]
        self.marks = ColumnDataSource({"iteration": [], "marker": [], "text": []})  # on the time line
        starting, look = "Making the first picture of the race", {"keyboard": True, "name": "race-acknowledge"}
        self._connect(starting, css.STATUS, self.tiles, packed, self.marks, **look)
        self._pace = Throttle(WORDS_S)
        self._last: RaceScene | None = None
        self._look = False, False
        self.view = self._layout(page.busy_card)
        self._offer_traces(recipe)
        self._choose(1, self.below.value)  # at once: what a menu says while the page is made comes later
        self.set_theme(dark=False, presenter=False)

    def _options(self) -> Any:
        look: dict[str, Any] = {"margin": 0, "sizing_mode": None}
        clocks = {words: clock for clock, words in RACE_CLOCKS.items()}
        self.clock = widgets.select("Traces against", clocks, self._choose_clock, width=240, **look)
        self.above = widgets.select("Upper trace", {}, partial(self._choose, 0), width=190, **look)
        self.below = widgets.select("Lower trace", {}, partial(self._choose, 1), width=190, **look)
        parts = *self.picture.widgets, self.clock, self.above, self.below, self._bands.seeds, self._bands.button
        row = pn.FlexBox(*parts, gap="8px", align_items="end", **widgets.WIDE)
        return pn.Column(row, self._bands.said, css_classes=["pmdviz-options"], **widgets.WIDE)

    def _layout(self, busy: widgets.Card) -> Any:
        figures = self.tiles.figure, self.traces.figure, self.second.figure
        panes = map(pane_of, figures, ("pmdviz-race-tiles", *PLACES))
        table = pn.Column(self.table, css_classes=["pmdviz-race-table"], **widgets.WIDE)
        below = self.legend, table, self.status, self._options(), busy.view
        parts = self.heading, *panes, *below
        return pn.Column(*parts, stylesheets=[css.RACE], css_classes=["pmdviz-race"], **widgets.WIDE)

    def open_sheets(self, settings: widgets.Sheet, share: widgets.Sheet, inside: InsidePanel, said: Any) -> None:
        """Buttons next to the question that open two sheets, and a card with the inside of a step."""
        buttons = [widgets.small_button(sheet.head.title, sheet.toggle) for sheet in (settings, share)]
        look = {"css_classes": ["pmdviz-openers"], "sizing_mode": None, "margin": 0}
        self.view.insert(1, pn.FlexBox(*buttons, inside.button, gap="8px", **look))  # next to the heading
        self.view.extend([inside.view, settings.view, share.view, said])

    def _choose(self, k: int, name: str | None) -> None:
        """The metric of the first or second traces; of the second perhaps the difference of two methods, or nothing."""
        view = (self.traces, self.second)[k]
        view.figure.css_classes = shown(PLACES[k], name is not None)
        if name is not None:
            with self.sender.together():
                view.choose(METRICS.get(name))
        self._ask()

    def _ask(self) -> None:
        """Have the race compute the metrics of its traces in every frame."""
        if self._last is not None:
            self._look_at_traces(frozenset(METRICS.keys() & {self.above.value, self.below.value}))

    def _place(self, x: float) -> int | None:
        spent = self.traces.spent_at(x)
        return None if spent is None else round(spent / (ROWS * self._last.recipe.each_costs))

    def _offer_traces(self, recipe: RaceRecipe) -> None:
        """The metrics that all methods have; of two methods their difference is drawn, unless another is chosen."""
        names = {metric.title: metric.name for metric in dict.fromkeys((*recipe.shown, *recipe.metrics))}
        first, *rest = names.values()
        two = {f"difference of {recipe.shown[0].short or recipe.shown[0].title}": DIFFERENCE}
        below = {**(two if len(recipe.entrants) == 2 else {}), **(names if rest else {})}
        usual = DIFFERENCE if DIFFERENCE in below.values() else next(iter(rest), None)
        for menu, options, value in ((self.above, names, first), (self.below, below, usual)):
            if menu.options != options:
                menu.param.update(options=options, value=value, visible=len(options) > 1)

    def _colours(self, dark: bool) -> Mapping[str, str]:
        """Colours of the samples in the legend: the first method is an example of all."""
        return style.tile_layers(dark, self._scene is None or self._scene.shows_theta)

    def _explain(self, scene: Scene) -> None:
        """The legend of the tiles, whose entries switch layers."""
        if scene != self._scene:
            self._scene = scene
            self.switches.name(tile_words(scene))
            self.switches.set_theme(*self._look)

    def _mark(self, scene: RaceScene) -> None:
        """The changed knobs on the time line."""
        rounds, titles = [at for at, _ in scene.changed], [title for _, title in scene.changed]
        if (rounds, titles) != (self.marks.data["iteration"], self.marks.data["text"]):
            self.marks.data = {"iteration": rounds, "marker": [KINDS["knob"].marker] * len(rounds), "text": titles}

    def show(self, scene: RaceScene, playing: bool, seeds: Sequence[SeedRuns]) -> None:
        """Draw a scene; words and traces while playing only a few times per second."""
        with self.sender.together():
            due = self._pace.is_due(time.monotonic(), playing)
            self.tiles.draw(scene, due)
            before, self._last = self._last, scene
            if before is None or before.recipe.budget_unit != scene.recipe.budget_unit:
                self.clock.value = CLOCK_OF[scene.recipe.budget_unit]
            methods = [METHODS[one.method] for one in scene.recipe.entrants]
            self.picture.show(scene.recipe.target, methods, scene.scene, scene.pair)
            self._offer_traces(scene.recipe)
            self._explain(scene.scene)
            widgets.update(self.heading, object=question_of(scene.recipe))
            self._mark(scene)
            if due:
                for view in (self.traces, self.second):
                    view.show(scene)
                first = scene.recipe.shown[0]
                pairs = zip(scene.tiles, chain(seeds, repeat(None)), strict=False)
                rows = [_row(k, *pair, scene.recipe.shown) for k, pair in enumerate(pairs)]
                floor = scene.floors.get(first.name)
                self.table.param.update(columns=columns(scene.recipe.shown), rows=rows, floor=floor, lower=first.ranks)
            self._tell(scene, playing)
        ended = all(tile.ended and tile.ended != "the budget is used up" for tile in scene.tiles)
        self.playback.tell(ready=True, done=scene.done, at_start=scene.iteration == 0, ended=ended)

    def _tell(self, shown: RaceScene, playing: bool) -> None:
        self.sender.say(status_fields(shown, self.extra, playing))

    def set_theme(self, dark: bool, presenter: bool) -> None:
        """Theme and size of the labels."""
        self._dress(dark, presenter, self.tiles)
        self.table.swatches = swatches(dark)
