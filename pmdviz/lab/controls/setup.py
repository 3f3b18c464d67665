"""What is run: preset, target and its options, method and its knobs, seed, budget, picture."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import panel as pn

from pmdviz.engine.recipe import MAX_SEED, Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, unknown
from pmdviz.knobs import Knobs, Whole
from pmdviz.lab import css
from pmdviz.lab.controls.knobs import KnobControl, KnobForm
from pmdviz.lab.controls.playback import small_button
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.panel_internals import PatientSelect
from pmdviz.lab.panels.diagnosis import DiagnosisPanel
from pmdviz.methods import METHODS, Method
from pmdviz.scenes.stage import Pair, Scene, SceneChoice, applicable_scenes
from pmdviz.scenes.words import marked
from pmdviz.targets import TARGETS, Target, get_target
from pmdviz.targets.custom import titles

# The recipe of a run that takes the place of another one: what was turned stays, as far as it fits.

PROBLEM = ("target", "target_options", "method")
MIRROR_DESCENT = type(METHODS["pmd"]).__module__  # the package of its forms


def _that_fits(method: str, target: Target | str) -> str:
    """The method where it can run on the target, else a form of mirror descent, else what draws exact conditionals."""
    made = get_target(target)
    fitting = [name for name, each in METHODS.items() if not each.missing_in(made)]
    if method in fitting:
        return method
    return min(fitting, key=lambda name: _rank(METHODS[name]))


def _rank(method: Method) -> tuple[bool, bool]:
    """Which comes first of those that a target has all it takes for."""
    return not type(method).__module__.startswith(MIRROR_DESCENT), "conditionals" not in method.requires


def alike(a: Recipe, b: Recipe, keys: tuple[str, ...] = PROBLEM) -> bool:
    """Whether two recipes have these parts in common."""
    return all(getattr(a, key) == getattr(b, key) for key in keys)


def next_recipe(session: Session, parts: Mapping[str, Any], own_budget: bool = False) -> Recipe:
    """The recipe of a new run: `parts` changed, everything else as it is now. Raises InputError.

    Another method or target has its own default budget, unless the budget is the person's own; a target on which the
    method cannot run comes with another method.
    """
    if "recipe" in parts:
        return parts["recipe"]
    if "make" in parts:
        return parts["make"]()
    if "content" in parts:
        return Recipe.from_json(parts["content"])
    base = session.recipe.replaced(knobs=session.knobs.as_dict(), changes=())
    parts = dict(parts)
    if "option" in parts:
        name, value = parts.pop("option")
        parts["target_options"] = {**base.target_options, name: value}
    if "options" in parts:  # several at once, a function of the target as it is now
        parts["target_options"] = {**base.target_options, **parts.pop("options")(session.target)}
    target = parts.get("target", base.custom or base.target)
    method = parts.get("method") or _that_fits(base.method, target)
    same = target is base.custom or target == base.target
    usual_options = base.target_options if same and not base.custom else {}
    made = Recipe(target, method, target_options=parts.get("target_options", usual_options))
    same_problem = alike(made, base)
    knobs = session.knobs.as_dict() if same_problem else _turned(session, method, made)
    made = Recipe(
        base.custom if target is base.custom else made.target,
        method,
        target_options=None if target is base.custom else made.target_options,
        seed=parts.get("seed", base.seed),
        **knobs,
    )
    return made.limited(base.budget if own_budget or same_problem else limits.usual_budget(made))


def _turned(session: Session, method: str, made: Recipe) -> dict[str, Any]:
    """What was turned stays, as far as it fits the new target; of another method nothing."""
    if method != session.recipe.method:
        return {}
    way, now = session.recipe.make_method(), session.knobs
    usual = way.fitted(type(now).defaults(), session.target).as_dict()
    turned = {name: value for name, value in now.as_dict().items() if value != usual[name]}
    return way.fitted(type(now).checked(turned), made.make_target()).as_dict()


# What the controls of a run and of a race have in common: target with its options, budget and seed.

BUDGETS = {"2,000": 2_000, "5,000": 5_000, "20,000": 20_000, "100,000": 100_000, "1,000,000": 1_000_000, "endless": 0}
SEED = Whole(
    0,
    (0, MAX_SEED),
    label="Seed of the run",
    name="seed",
    doc="Random numbers of the run; the data have a seed of their own.",
    acts="restart",
)


class ProblemControls:
    """Controls that show what is in force; `option(name, value)` and `seed(name, value)` hear of a person's changes."""

    def __init__(
        self,
        budget_labels: Mapping[str, str],  # by what the budget counts
        option: Callable[[str, Any], None],
        seed: Callable[[str, Any], None],
    ) -> None:
        self._busy = False  # while it shows what is in force nobody has asked for anything
        self.target = select("Target", titles())
        self.options = KnobForm(option)
        header = pn.pane.HTML("Data and options of the target", stylesheets=[css.TEXT], margin=(4, 0))
        look: dict[str, Any] = {"margin": (4, 0, 8, 0), "stylesheets": [css.FOLDED], "sizing_mode": "stretch_width"}
        self.data = pn.Card(self.options, header=header, collapsed=True, **look)
        self._budget_labels = budget_labels
        self.budget = select(budget_labels["data"], limits.budgets(BUDGETS))
        self.seed_form = KnobForm(seed)
        self.seed_form.build({SEED.name: SEED}, {SEED.name: 0})
        self.seed = self.seed_form.controls[SEED.name]

    def controls_by_field(self) -> dict[str, KnobControl]:
        """The control of each field that an error may name."""
        return {**self.options.controls, SEED.name: self.seed}

    def refuse(self, error: InputError) -> bool:
        """Put a refusal beside the control of its field; False where there is none."""
        return refused(self.controls_by_field().get(error.field), error)

    def show_problem(self, target: Target, choice: Any, seed: int, budget: int | None, unit: str) -> None:
        """Show what is in force; `choice` stands for the target in its menu, and comes to it where it is new."""
        if choice not in self.target.options.values():  # a person's own
            self.target.options = {**self.target.options, target.title or target.name: choice}
        set_value(self.target, choice)
        usual = type(target.options).defaults()
        self.options.rebuild(type(target.options), usual.as_dict())
        self.options.show(target.options, usual.as_dict(), {})
        self.seed.show(seed, 0)
        if self.budget.label != self._budget_labels[unit]:
            self.budget.label = self._budget_labels[unit]
        value = budget or 0
        if value not in self.budget.options.values():
            known = {**self.budget.options, f"{value:,}": value}
            self.budget.options = dict(sorted(known.items(), key=lambda item: item[1] or float("inf")))
        set_value(self.budget, value)


def refused(control: KnobControl | None, error: InputError) -> bool:
    """Put a refusal beside a control; False where there is none."""
    if control is not None:
        control.refuse(error.on_page)
    return control is not None


def fitting_methods(target: Target) -> dict[str, str]:
    """Title -> name of the methods that can run on `target`."""
    return {method.title: name for name, method in METHODS.items() if not method.missing_in(target)}


def select(label: str, options: dict[str, Any]) -> Any:
    """A menu of words and what they stand for."""
    return pn.widgets.Select(
        label=label, options=options, margin=(4, 0), stylesheets=[css.SELECT], sizing_mode="stretch_width"
    )


def set_value(widget: Any, value: Any) -> None:
    """Have a widget show a value; costs nothing where it does."""
    if widget.value != value:
        widget.value = value


OWN = "Custom"
BUDGET_OF = {"data": "Budget (observations used)", "evaluations": "Budget (likelihood evaluations)"}
RUN = (*PROBLEM, "knobs", "seed")


class Setup(ProblemControls):
    """The controls of a lab: new runs by `begin(what, **recipe parts)`, knobs by `set_knob(kind, name, value)`."""

    def __init__(
        self,
        presets: Mapping[str, Any],
        begin: Callable[..., None],
        set_knob: Callable[[type[Knobs], str, Any], None],
        diagnose: Callable[[str], None],
    ) -> None:
        super().__init__(BUDGET_OF, self._option, lambda name, value: begin("this seed", seed=value))
        self._presets, self._begin, self._set_knob = dict(presets), begin, set_knob
        self._shown: tuple[Any, ...] | None = None
        titles = {OWN: ""} | {preset.title: name for name, preset in self._presets.items()}
        self.preset = select("Preset", titles)
        words: dict[str, Any] = {"stylesheets": [css.TEXT], "sizing_mode": "stretch_width"}
        self.question = pn.pane.HTML("", margin=(0, 0, 2, 0), **words)
        self.diagnosis = DiagnosisPanel(diagnose)
        self.about = pn.pane.HTML("", margin=(0, 0, 4, 0), **words)
        self.own_data = pn.Column(margin=0, sizing_mode="stretch_width")  # the page puts its button there
        self.method = select("Method", {method.title: name for name, method in METHODS.items()})
        self.moves = pn.pane.HTML("", margin=(0, 0, 4, 0), **words)
        self.knobs = KnobForm()
        self.new_seed = small_button("New seed")
        self.undo = small_button("Undo: previous run", disabled=True, visible=False)
        self._watch()
        self.view = pn.Column(
            self.preset,
            self.question,
            self.diagnosis.view,
            self.undo,
            self.target,
            self.about,
            self.own_data,
            self.data,
            self.method,
            self.moves,
            self.knobs,
            self.budget,
            self.seed_form,
            self.new_seed,
            sizing_mode="stretch_width",
            margin=(8, 12),
            css_classes=["pmdviz-setup"],
        )

    def _watch(self) -> None:
        self.preset.param.watch(handed(self._on_preset), "value")
        self.target.param.watch(handed(self._on_target), "value")
        self.method.param.watch(handed(lambda e: self._ask("new method", method=e.new, changes=())), "value")
        self.budget.param.watch(handed(self._on_budget), "value")

    def _ask(self, what: str, **parts: Any) -> None:
        if not self._busy:
            self._begin(what, **parts)

    def _on_preset(self, event: Any) -> None:
        if event.new and not self._busy:
            self._begin("new preset", recipe=self._presets[event.new].recipe, preset=event.new)

    def _on_target(self, event: Any) -> None:
        self._ask("new target", target=event.new, target_options={}, changes=())

    def _on_budget(self, event: Any) -> None:
        if not self._busy:
            self._begin("budget", budget=event.new or None)

    def _option(self, name: str, value: Any) -> None:
        self._begin("new option", option=(name, value))

    def controls_by_field(self) -> dict[str, KnobControl]:
        """The knobs too."""
        return {**super().controls_by_field(), **self.knobs.controls, SEED.name: self.seed}

    def hide(self, names: Iterable[str]) -> None:
        """Leave out parts of the panel, knobs or options by their names. Raises InputError for other names."""
        parts = {
            "preset": (self.preset, self.question, self.diagnosis.view),
            "target": (self.target, self.about),
            "data": (self.data, self.own_data),
            "method": (self.method, self.moves),
            "knobs": (self.knobs,),
            "budget": (self.budget,),
            "seed": (self.seed_form, self.new_seed),
        }
        known = {*parts, *(name for kind in METHODS.values() for name in kind.Knobs.specs())}
        known |= {name for kind in TARGETS.values() for name in kind.Options.specs()}
        for name in names:
            if name not in known:
                raise unknown("control to hide", name, sorted(known))
            for part in parts.get(name, ()):
                part.visible = False
        self.options.hidden = self.knobs.hidden = frozenset(names) - set(parts)

    def preset_of(self, recipe: Recipe) -> str:
        """Name of the preset that a recipe is; "" for none."""
        near = ((name, preset) for name, preset in self._presets.items() if preset.may_be(recipe))
        return next((name for name, preset in near if alike(preset.recipe, recipe, RUN)), "")

    def can_undo(self, can: bool) -> None:
        """Whether there is a run to go back to."""
        if self.undo.visible != can:
            self.undo.param.update(visible=can, disabled=not can)

    def forget(self) -> None:
        """Show everything again at the next snapshot, after something was refused."""
        self._shown = None

    def show(self, snapshot: Snapshot) -> None:
        """Show what is in force."""
        frame = snapshot.frame
        self.show_recipe(snapshot.recipe, frame.target, frame.knobs, snapshot.pending, snapshot.preset)
        self.diagnosis.show(snapshot)

    def show_recipe(
        self, recipe: Recipe, target: Any, knobs: Any, pending: Mapping[str, str], preset: str = ""
    ) -> None:
        """Show a recipe, the knobs in force and the preset it began with; costs nothing while they stay the same."""
        shown = recipe, knobs, pending, preset
        if self._shown is not None and all(a is b or a == b for a, b in zip(shown, self._shown, strict=True)):
            return
        self._shown, self._busy = shown, True
        try:
            self.show_problem(target, recipe.target, recipe.seed, recipe.budget, recipe.budget_unit)
            _say(self.about, getattr(target, "about", ""))
            _say(self.moves, METHODS[recipe.method].what_moves)
            self._show_method(recipe, target, knobs, pending)
            self._show_preset(recipe, preset)
        finally:
            self._busy = False

    def _show_method(self, recipe: Recipe, target: Any, knobs: Any, pending: Mapping[str, str]) -> None:
        fitting = fitting_methods(target)
        if self.method.options != fitting:
            self.method.options = fitting
        set_value(self.method, recipe.method)
        kind, way = type(knobs), METHODS[recipe.method]
        usual = way.fitted(kind.defaults(), target).as_dict()
        self.knobs.rebuild(kind, usual, partial(self._set_knob, kind))
        self.knobs.show(knobs, usual, pending, way.idle_knobs(target))

    def _show_preset(self, recipe: Recipe, began: str) -> None:
        match = self.preset_of(recipe)
        stays = self._presets.get(began)  # a preset is there to be played with: its knobs may differ
        if not match and stays is not None and alike(stays.recipe, recipe):
            match = began
        set_value(self.preset, match)
        self.diagnosis.about(match)
        preset = self._presets.get(match)
        words = _about(preset) if preset else ""
        if self.question.object != words:
            self.question.object = words


def _say(pane: Any, words: str) -> None:
    """A sentence under a menu; costs nothing where it is there."""
    said = f'<div class="pmdviz-about">{marked(html.escape(words or ""))}</div>'
    if pane.object != said:
        pane.object = said


def _about(preset: Any) -> str:
    """The question, what to watch, and folded behind it what to try: whoever wants to think first is not told."""
    question, watch, try_this = (
        marked(html.escape(words)) for words in (preset.question, f"Watch: {preset.watch}", preset.try_this)
    )
    return (
        f'<div class="pmdviz-question">{question}</div>'
        f'<div class="pmdviz-watch">{watch}</div>'
        f'<details class="pmdviz-try"><summary>Reveal what to try</summary>{try_this}</details>'
    )


# What the stage shows: the scene, and which two coordinates of many.


class PictureControls:
    """A select of the scenes that apply, where there are several, and the scene's own menus, such as two coordinates.

    `choose` hears of a person's choice.
    """

    def __init__(self, choose: Callable[[SceneChoice], None]) -> None:
        look: dict[str, Any] = {"margin": 0, "stylesheets": [css.SELECT], "visible": False}
        self.scene = PatientSelect(label="Picture", width=150, **look)
        self.pair = [PatientSelect(label=label, width=90, **look) for label in ("Horizontal", "Vertical")]
        self.widgets = [self.scene, *self.pair]
        self._choose, self._shown, self._busy = choose, None, False
        for widget in self.widgets:
            widget.param.watch(handed(self._chosen), "value")

    def show(self, target: Target, methods: Sequence[Method], scene: Scene, pair: Pair) -> None:
        """What is on the stage, and what else there is to choose."""
        now = target.key, tuple(method.name for method in methods), scene.name, pair
        if now == self._shown:
            return
        self._shown, self._busy = now, True
        titles = {each.title: name for name, each in applicable_scenes(target, *methods).items()}
        self.scene.param.update(options=titles, value=scene.name, visible=len(titles) > 1)
        menus = [*scene.choices(target).items()]
        for widget, k, (label, names) in zip(self.pair, pair, menus, strict=False):
            options = {name: number for number, name in enumerate(names)}
            widget.param.update(label=label, options=options, value=k if k < len(names) else 0)
        for number, widget in enumerate(self.pair):
            widget.visible = number < len(menus)
        self._busy = False

    def _chosen(self, event: Any) -> None:
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
