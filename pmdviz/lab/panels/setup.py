"""The run's setup: preset, target and its options, method and its knobs, seed, budget, picture; and the gallery."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import panel as pn
import param

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import MAX_SEED, Recipe
from pmdviz.errors import InputError, check_known
from pmdviz.files import Json
from pmdviz.knobs import Knobs, Value, Whole
from pmdviz.lab import css
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.live import Throttle
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.panel_internals import PatientSelect, handed
from pmdviz.lab.panels import widgets
from pmdviz.methods import METHODS, Method, MethodKnobs, by_family
from pmdviz.presets import PRESETS, Preset
from pmdviz.scenes.stage import Pair, Scene, SceneChoice, applicable_scenes
from pmdviz.scenes.words import marked, number, short
from pmdviz.targets import TARGETS, Target
from pmdviz.targets.custom import titles

PROBLEM = ("target", "target_options", "method")


def alike(a: Recipe, b: Recipe, keys: tuple[str, ...] = PROBLEM) -> bool:
    """Whether two recipes have these parts in common."""
    return all(getattr(a, key) == getattr(b, key) for key in keys)


# What the controls of a run and of a race have in common: target with its options, budget and seed.

BUDGETS = {"2,000": 2_000, "5,000": 5_000, "20,000": 20_000, "100,000": 100_000, "1,000,000": 1_000_000, "endless": 0}
ABOUT_SEED = "Random numbers of the run; the data have a seed of their own."
SEED = Whole(0, (0, MAX_SEED), label="Seed of the run", name="seed", doc=ABOUT_SEED, acts="restart")


class ProblemControls:
    """Controls with the settings in force; `option(name, value)` and `seed(name, value)` hear of a person's changes.

    Subclasses have `_on_target` and `_on_budget`.
    """

    _on_target: Callable[[Target | str], None]
    _on_budget: Callable[[int], None]

    def __init__(self, budget_labels: Mapping[str, str], option: widgets.Turn, seed: widgets.Turn) -> None:
        self._busy = False  # while it shows the settings in force, a change of a control is not a request
        self.target = widgets.select("Target", titles(), self._on_target)
        self.options = widgets.KnobForm(option)
        self.data = widgets.folded("Data and options of the target", self.options, margin=(4, 0, 8, 0))
        self._budget_labels = budget_labels  # by what the budget counts
        self.budget = widgets.select(budget_labels["data"], limits.budgets(BUDGETS), self._on_budget)
        self.seed_form = widgets.KnobForm(seed)
        self.seed_form.build({SEED.name: SEED}, {SEED.name: 0})
        self.seed = self.seed_form.controls[SEED.name]

    def controls_by_field(self) -> dict[str, widgets.KnobControl]:
        """The control of each field that an error may name."""
        return {**self.options.controls, SEED.name: self.seed}

    def refuse(self, error: InputError) -> bool:
        """Put a refusal next to the control of its field; False where there is none."""
        return refused(self.controls_by_field().get(error.field), error)

    def show_problem(self, target: Target, choice: Target | str, seed: int, budget: int | None, unit: str) -> None:
        """Show the settings in force; `choice` is the target's value in its menu, and comes to it where it is new."""
        if choice not in self.target.options.values():  # a person's own
            self.target.options = {**self.target.options, target.title or target.name: choice}
        widgets.update(self.target, value=choice)
        self.options.show(target.options, type(target.options).defaults().as_dict())
        self.seed.show(seed, 0)
        widgets.update(self.budget, label=self._budget_labels[unit])
        value = budget or 0
        if value not in self.budget.options.values():
            known = {**self.budget.options, f"{value:,}": value}
            self.budget.options = dict(sorted(known.items(), key=lambda item: item[1] or float("inf")))
        widgets.update(self.budget, value=value)


def refused(control: widgets.KnobControl | None, error: InputError) -> bool:
    """Put a refusal next to a control; False where there is none."""
    if control is not None:
        control.refuse(error.on_page)
    return control is not None


def fitting_methods(target: Target) -> dict[str, str]:
    """Title -> name of the methods that can run on `target`."""
    return {method.title: name for name, method in METHODS.items() if not method.missing_in(target)}


# The diagnosis of a run by its preset: one sentence with the numbers of the run, opened by "Why?".

WAITING = "Being computed from the run."
UNDER_WAY = "The run is still playing: pause it, or wait until it ends."


class DiagnosisPanel:
    """A folded card: those who want to think first do not see them.

    `look(preset)` has the run diagnose itself by that preset whenever it stands still, or by none.
    """

    def __init__(self, look: Callable[[str], None]) -> None:
        self._look, self._preset = look, ""
        self.said = widgets.text(margin=(0, 0, 4, 0), stylesheets=[css.WHY])
        self._say(WAITING)
        fold: dict[str, Any] = {"stylesheets": [css.PLAIN_FOLD], "margin": 0, "css_classes": ["pmdviz-diagnosis"]}
        self.card = widgets.folded("", self.said, visible=False, hide_header=True, **fold)  # opened by Why?
        self.card.param.watch(handed(lambda event: self.again()), "collapsed")
        # Above the verdict, because the window may end below it.
        above = {"position": "absolute", "bottom": "100%", "max-height": "none", "z-index": "4"}
        self.view = pn.Column(self.card, styles=above, **widgets.WIDE)

    @property
    def _wanted(self) -> str:
        """The preset that somebody wants the run to be diagnosed by."""
        return "" if self.card.collapsed else self._preset

    def about(self, preset: str) -> None:
        """Another preset, whose diagnosis is not open yet; without a preset the card is absent."""
        if preset != self._preset:
            self._preset = preset
            self.card.param.update(visible=bool(preset), collapsed=True)

    def again(self) -> None:
        """Have it computed of the run as it stands, if somebody looks; else no longer."""
        self._look(self._wanted)

    def show(self, snapshot: Snapshot) -> None:
        """Follow the run; one that was begun meanwhile does not know yet that the card is open."""
        if not self._wanted:
            return
        if snapshot.diagnosed_by != self._wanted:
            self._look(self._wanted)
        else:
            self._say(snapshot.diagnosis or UNDER_WAY)

    def _say(self, words: str) -> None:
        said = f'<div role="status" class="pmdviz-diagnosed">{marked(html.escape(words))}</div>'
        widgets.update(self.said, object=said)


# The controls of a lab.

OWN = "Custom"
BUDGET_OF = {"data": "Run length (observations used)", "evaluations": "Run length (likelihood evaluations)"}
RUN = (*PROBLEM, "knobs", "seed")


class Setup(ProblemControls):
    """The controls of a lab: new runs by `begin(what, **recipe parts)`, knobs by `set_knob(kind, name, value)`."""

    def __init__(
        self,
        begin: Callable[..., None],
        set_knob: Callable[[type[Knobs], str, Value], None],
        diagnose: Callable[[str], None],
    ) -> None:
        super().__init__(BUDGET_OF, self.turn_option, lambda name, value: begin("this seed", seed=value))
        self._begin, self._set_knob = begin, set_knob
        self._shown: tuple[Recipe, MethodKnobs, Mapping[str, str], str] | None = None
        self._told = Throttle(MEANINGS_S)
        titles = {OWN: ""} | {preset.title: name for name, preset in PRESETS.items()}
        self.preset = widgets.select("Preset", titles, self._on_preset)
        self.question = widgets.text(margin=(0, 0, 2, 0))
        self.diagnosis = DiagnosisPanel(diagnose)
        self.about = widgets.text(margin=(0, 0, 4, 0))
        self.own_data = pn.Column(**widgets.WIDE)  # the page puts its button there
        methods = {method.title: name for name, method in METHODS.items()}
        self.method = widgets.select("Method", methods, lambda name: self._ask("new method", method=name))
        self.moves = widgets.text(margin=(0, 0, 4, 0))
        self.knobs = widgets.KnobForm()
        self.brief = widgets.KnobForm(brief=True, css_classes=["pmdviz-brief"])  # three sliders next to the stage
        self.new_seed = widgets.small_button("New seed")
        preset = self.preset, self.question
        target = self.target, self.about, self.own_data, self.data
        method = self.method, self.moves, self.knobs, self.budget, self.seed_form, self.new_seed
        self.view = pn.Column(*preset, *target, *method, css_classes=["pmdviz-setup"], **widgets.ASIDE)

    def _ask(self, what: str, **parts: Any) -> None:
        if not self._busy:
            self._begin(what, **parts)

    def _on_preset(self, name: str) -> None:
        if name:
            self._ask("new preset", recipe=PRESETS[name].recipe, preset=name)

    def _on_target(self, target: Target | str) -> None:
        self._ask("new target", target=target, target_options={})

    def _on_budget(self, budget: int) -> None:
        self._ask("budget", budget=budget or None)

    def turn_option(self, name: str, value: Value) -> None:
        """A run on the target with this option."""
        self._begin("new option", options=lambda target: {name: value})

    def controls_by_field(self) -> dict[str, widgets.KnobControl]:
        """The knobs too."""
        return {**super().controls_by_field(), **self.knobs.controls, SEED.name: self.seed}

    def refuse(self, error: InputError) -> bool:
        """Beside the slider too, which is in sight while the settings are not."""
        refused(self.brief.controls.get(error.field), error)
        return super().refuse(error)

    def hide(self, names: Collection[str]) -> None:
        """Leave out parts of the panel, knobs or options by their names. Raises InputError for other names."""
        parts = {
            "preset": (self.preset, self.question),
            "target": (self.target, self.about),
            "data": (self.data, self.own_data),
            "method": (self.method, self.moves),
            "knobs": (self.knobs, self.brief),
            "budget": (self.budget,),
            "seed": (self.seed_form, self.new_seed),
        }
        known = {*parts, *(name for kind in METHODS.values() for name in kind.Knobs.specs())}
        known |= {name for kind in TARGETS.values() for name in kind.Options.specs()}
        check_known("control to hide", names, known)
        for part in (part for name in names for part in parts.get(name, ())):
            part.visible = False
        self.options.hidden = self.knobs.hidden = frozenset(names) - set(parts)

    def preset_of(self, recipe: Recipe) -> str:
        """Name of the preset that a recipe is; "" for none."""
        near = ((name, preset) for name, preset in PRESETS.items() if preset.may_be(recipe))
        return next((name for name, preset in near if alike(preset.recipe, recipe, RUN)), "")

    def forget(self) -> None:
        """Show everything again at the next snapshot, after something was refused."""
        self._shown = None

    def show(self, snapshot: Snapshot, playing: bool = False) -> None:
        """Show the settings in force."""
        frame = snapshot.frame
        if self._told.is_due(time.monotonic(), playing):
            self.brief.tell(meanings(frame))
            self._told.done(time.monotonic())
        self.show_recipe(snapshot.recipe, frame.target, frame.knobs, snapshot.pending, snapshot.preset)
        self.diagnosis.show(snapshot)

    def show_recipe(
        self, recipe: Recipe, target: Target, knobs: MethodKnobs, pending: Mapping[str, str], preset: str = ""
    ) -> None:
        """Show a recipe, the knobs in force and the preset it began with; costs nothing while they stay the same."""
        if (shown := (recipe, knobs, pending, preset)) == self._shown:
            return
        self._shown, self._busy = shown, True
        try:
            self.show_problem(target, recipe.target, recipe.seed, recipe.budget, recipe.budget_unit)
            for pane, words in (
                (self.about, getattr(target, "about", "")),
                (self.moves, METHODS[recipe.method].what_moves),
            ):
                widgets.update(pane, object=f'<div class="pmdviz-about">{marked(html.escape(words or ""))}</div>')
            self._show_method(recipe, target, knobs, pending)
            self._show_preset(recipe, preset)
        finally:
            self._busy = False

    def _show_method(self, recipe: Recipe, target: Target, knobs: MethodKnobs, pending: Mapping[str, str]) -> None:
        widgets.offer(self.method, fitting_methods(target), recipe.method)
        kind, way = type(knobs), METHODS[recipe.method]
        usual = way.fitted(kind.defaults(), target).as_dict()
        turn, idle = partial(self._set_knob, kind), way.idle_knobs(target)
        self.knobs.show(knobs, usual, pending, idle, turn)
        three = basic_three(knobs, idle | self.knobs.hidden)
        self.brief.show(knobs, usual, pending, turn=turn, names=three)

    def _show_preset(self, recipe: Recipe, began: str) -> None:
        match = self.preset_of(recipe)
        stays = PRESETS.get(began)  # a preset is there to be played with: its knobs may differ
        if not match and stays is not None and alike(stays.recipe, recipe):
            match = began
        widgets.update(self.preset, value=match)
        self.diagnosis.about(match)
        preset = PRESETS.get(match)
        widgets.update(self.question, object=_about(preset) if preset else "")


MEANINGS_S = 0.25  # a person cannot read them faster


def meanings(frame: Frame) -> dict[str, dict[str, str]]:
    """What the sliders' values mean now: `now` at the value, `other` in other units, `below` as a formula.

    The typical kernel is the median over the particles of the geometric mean of its sds, in the units of theta.
    """
    knobs, found = frame.knobs, {}
    size = frame.info.step_size if frame.info is not None else None
    name = next((name for name in ("eta", "step_size") if hasattr(knobs, name)), "")
    if size is not None:
        found[name] = {"now": f"now {number(size)}"}
    if name == "eta" and hasattr(knobs, "n0") and getattr(knobs, "schedule", "decay") == "decay":
        power = "t" if knobs.kappa == 1 else f"t^{short(knobs.kappa)}"
        found[name] = found.get(name, {}) | {"below": f"min(1, η / ({short(knobs.n0)} + {power}))"}
    sds = getattr(frame.density, "kernel_sds", None) if hasattr(knobs, "bandwidth") else None
    if sds is not None:
        found["bandwidth"] = {"other": f"{number(float(np.median(np.exp(np.log(sds).mean(axis=1)))))} in θ"}
    return found


FIRST = ("num_particles", "eta", "step_size", "bandwidth")  # of the three sliders


def basic_three(knobs: Knobs, idle: Iterable[str]) -> list[str]:
    """The three settings of the sliders: from FIRST where they matter, else the first with a range."""
    specs, plain = knobs.specs(), knobs.as_dict()
    ranged = [n for n, spec in specs.items() if spec.kind in ("whole", "real") and (spec.soft_bounds or spec.bounds)]
    seen = [name for name in ranged if name not in set(idle) and knobs.matters(name, plain)]
    wanted = [name for name in FIRST if name in seen]
    others = sorted((name for name in seen if name not in wanted), key=lambda name: not specs[name].basic)
    chosen = [*wanted, *others][:3]
    return sorted(chosen, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST) - 1)


def _about(preset: Preset) -> str:
    """The question, what to watch, and folded behind it what to try: those who want to think first do not see them."""
    said = preset.question, f"Watch: {preset.watch}", preset.try_this
    question, watch, try_this = (marked(html.escape(words)) for words in said)
    asked = f'<div class="pmdviz-question">{question}</div><div class="pmdviz-watch">{watch}</div>'
    return f'{asked}<details class="pmdviz-try"><summary>Suggestion</summary>{try_this}</details>'


# What the stage shows: the scene, and which two coordinates of many.


class PictureControls:
    """A select of the scenes that apply, where there are several, and the scene's own menus, such as two coordinates.

    `choose` hears of a person's choice.
    """

    def __init__(self, choose: Callable[[SceneChoice], None]) -> None:
        look: dict[str, Json] = {"margin": 0, "stylesheets": [css.SELECT], "visible": False}
        self.scene = PatientSelect(label="Picture", width=150, **look)
        self.pair = [PatientSelect(label=label, width=90, **look) for label in ("Horizontal", "Vertical")]
        self.widgets = [self.scene, *self.pair]
        self._choose, self._busy = choose, False
        self._shown: tuple | None = None
        for widget in self.widgets:
            widget.param.watch(handed(self._chosen), "value")

    def show(self, target: Target, methods: Sequence[Method], scene: Scene, pair: Pair) -> None:
        """The scene on the stage, and the other choices."""
        now = target.key, tuple(method.name for method in methods), scene.name, pair
        if now == self._shown:
            return
        self._shown, self._busy = now, True
        titles = {each.title: name for name, each in applicable_scenes(target, *methods).items()}
        self.scene.param.update(options=titles, value=scene.name, visible=len(titles) > 1)
        menus = [*scene.choices(target).items()]
        for widget, k, (label, names) in zip(self.pair, pair, menus, strict=False):
            options = {name: at for at, name in enumerate(names)}
            widget.param.update(label=label, options=options, value=k if k < len(names) else 0)
        for at, widget in enumerate(self.pair):
            widget.visible = at < len(menus)
        self._busy = False

    def _chosen(self, event: param.parameterized.Event) -> None:
        if self._busy:
            return
        # What the event says, not what its widget says by now: the picture of an earlier choice may have set it back.
        said = {widget: widget.value for widget in self.widgets} | {event.obj: event.new}
        scene, *pair = (said[widget] for widget in self.widgets)
        across, up = (0, 1) if pair[0] is None else pair
        if not self.pair[1].visible:
            up = int(across == 0)
        if across == up:  # the other axis takes over what this one had
            across, up = (event.old, up) if event.obj is self.pair[1] else (across, event.old)
        self._choose(SceneChoice(scene, (across, up)))


# The gallery: two chips that name problem and method, and one dialog of presets, targets and methods.

STARTERS = ("two_modes", "worse_with_more_data", "too_bold", "particles_die", "fan_of_lines", "variance_collapses")
TEACHES = {  # what presets teach: the methods that they run
    "Mirror descent: weights, bandwidth, batches": ("pmd", "structured_pmd"),
    "Stein methods: forces between particles": ("svgd", "steinis", "path_integration"),
    "Without a gradient": ("gf_svgd", "discrete_gf_svgd", "black_box_is"),
    "Evidence and importance weights": ("ais", "hais", "stochastic_ais", "gf_ais", "adaptive_is", "importance"),
    "Chains": ("random_walk", "gibbs", "sgld", "hmc"),
    "Variational families": ("svi", "gaussian_vb", "npv", "pmfvb", "pmfvb_nn"),
}
Section = dict[str, Any]


def presets() -> Iterator[Section]:
    """Six starters, then the others by what they teach."""
    order = sorted(PRESETS, key=lambda name: PRESETS[name].position)
    yield _section("Start here", "preset", [name for name in STARTERS if name in PRESETS])
    left = [name for name in order if name not in STARTERS]
    for title, methods in TEACHES.items():
        yield _section(title, "preset", [name for name in left if _method_of(name) in methods])
    known = {method for methods in TEACHES.values() for method in methods}
    yield _section("More presets", "preset", [name for name in left if _method_of(name) not in known])


def _folder(method: Method) -> str:
    return type(method).__module__.removeprefix("pmdviz.methods.").partition(".")[0]


def _section(title: str, kind: str, names: list[str]) -> Section:
    return {"title": title, "kind": kind, "items": [_item(kind, name) for name in names]}


def _item(kind: str, name: str) -> list[str]:
    """Name, title, a sentence, and the sign of its family."""
    if kind == "preset":
        preset = PRESETS[name]
        return [name, preset.title, preset.question, _folder(METHODS[_method_of(name)])]
    if kind == "method":
        return [name, METHODS[name].title, METHODS[name].what_moves, _folder(METHODS[name])]
    return [name, TARGETS[name].title, TARGETS[name].about or "", "target"]


def _method_of(preset: str) -> str:
    return PRESETS[preset].parts.get("method", "pmd")


class Gallery(widgets.Component):
    """The chips and the dialog. A choice there sets the menu of the settings."""

    problem = param.String(default="")
    method = param.String(default="")
    fitting = param.List(default=[], doc="Methods that can run on the target.")
    sections = param.List(default=[])

    _esm = css.DIALOG + css.static("page.js", "gallery")
    _stylesheets = [css.static("lab.css", "chips")]

    def __init__(self, setup: Setup, **params: Any) -> None:
        self._menus = {"preset": setup.preset, "target": setup.target, "method": setup.method}
        families = [_section(title, "method", [one.name for one in some]) for title, some in by_family().items()]
        every = [*presets(), _section("Targets", "target", [*TARGETS]), *families]
        sections = [section for section in every if section["items"]]
        super().__init__(self._choose, sections=sections, css_classes=["pmdviz-chips"], **params)

    def show(self) -> None:
        """The names of the present problem and method, read from the menus of the settings."""
        menus = self._menus.values()
        preset, target, method = (next((t for t, v in one.options.items() if v == one.value), "") for one in menus)
        problem = preset if self._menus["preset"].value else target
        widgets.update(self, problem=problem, method=method, fitting=[*self._menus["method"].options.values()])

    def _choose(self, message: Mapping[str, Json]) -> None:
        """Input from the browser: a kind and a name."""
        menu, name = self._menus.get(str(message.get("kind"))), message.get("name")
        if menu is not None and name in menu.options.values():
            menu.value = name
