"""What is run: preset, target with its options, method with its knobs, seed and budget."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import panel as pn

from pmdviz.engine.recipe.recipe import MAX_SEED, Recipe
from pmdviz.errors import InputError, unknown
from pmdviz.knobs import Knobs, KnobSpec
from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.controls.knobs import KnobForm
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.methods import METHODS
from pmdviz.targets import TARGETS

OWN = "your own settings"
BUDGETS = {"2,000": 2_000, "5,000": 5_000, "20,000": 20_000, "100,000": 100_000, "1,000,000": 1_000_000, "endless": 0}
PROBLEM = ("target", "target_options", "method")
RUN = (*PROBLEM, "knobs", "seed")
SEED = KnobSpec(
    "seed",
    "whole",
    0,
    (0, MAX_SEED),
    (True, True),
    None,
    (),
    "Seed of the run",
    "",
    "Random numbers of the run; the data have a seed of their own.",
    "restart",
    False,
    None,
    None,
)


def fitting_methods(target: Any) -> dict[str, str]:
    """Title -> name of the methods that can run on `target`."""
    return {method.title: name for name, method in METHODS.items() if not method.missing_in(target)}


class Setup:
    """The controls of a lab: new runs by `begin(what, **recipe parts)`, knobs by `set_knob(kind, name, value)`."""

    def __init__(
        self, presets: Mapping[str, Any], begin: Callable[..., None], set_knob: Callable[[type[Knobs], str, Any], None]
    ) -> None:
        self._presets, self._begin, self._set_knob, self._busy = dict(presets), begin, set_knob, False
        self._shown: tuple[Any, ...] | None = None
        titles = {OWN: ""} | {preset.title: name for name, preset in self._presets.items()}
        self.preset = _select("Preset", titles)
        words: dict[str, Any] = {"stylesheets": [css.TEXT], "sizing_mode": "stretch_width"}
        self.question = pn.pane.HTML("", margin=(0, 0, 8, 0), **words)
        self.target = _select("Target", {cls.title: name for name, cls in TARGETS.items()})
        self.about = pn.pane.HTML("", margin=(0, 0, 4, 0), **words)
        self.method = _select("Method", {method.title: name for name, method in METHODS.items()})
        self.budget = _select("Budget (data visited)", limits.budgets(BUDGETS))
        self.options = KnobForm(self._option)
        self.knobs = KnobForm()
        self._data = self._folded()
        self._seed_form = KnobForm(lambda name, value: begin("this seed", seed=value))
        self._seed_form.build({SEED.name: SEED}, {SEED.name: 0})
        self.seed = self._seed_form.controls[SEED.name]
        self.new_seed = small_button("New seed")
        self.undo = small_button("Undo: back to the run before", disabled=True, visible=False)
        self._watch()
        self.view = pn.Column(
            self.preset,
            self.question,
            self.undo,
            self.target,
            self.about,
            self._data,
            self.method,
            self.knobs,
            self.budget,
            self._seed_form,
            self.new_seed,
            sizing_mode="stretch_width",
            margin=(8, 12),
            css_classes=["pmdviz-setup"],
        )

    def _folded(self) -> Any:
        header = pn.pane.HTML("Data and options of the target", stylesheets=[css.TEXT], margin=(4, 0))
        look: dict[str, Any] = {"margin": (4, 0, 8, 0), "stylesheets": [css.FOLDED], "sizing_mode": "stretch_width"}
        return pn.Card(self.options, header=header, collapsed=True, **look)

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

    def refuse(self, error: InputError) -> bool:
        """Put a refusal beside the control of its field; False where there is none."""
        controls = {**self.options.controls, **self.knobs.controls, SEED.name: self.seed}
        control = controls.get(error.field)
        if control is not None:
            control.refuse(str(error))
        return control is not None

    def hide(self, names: Iterable[str]) -> None:
        """Leave out parts of the panel, knobs or options by their names. Raises InputError for other names."""
        parts = {
            "preset": (self.preset, self.question),
            "target": (self.target, self.about),
            "data": (self._data,),
            "method": (self.method,),
            "knobs": (self.knobs,),
            "budget": (self.budget,),
            "seed": (self._seed_form, self.new_seed),
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
        return next((name for name, preset in self._presets.items() if _alike(preset.recipe, recipe, RUN)), "")

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

    def show_recipe(
        self, recipe: Recipe, target: Any, knobs: Any, pending: Mapping[str, str], preset: str = ""
    ) -> None:
        """Show a recipe, the knobs in force and the preset it began with; costs nothing while they stay the same."""
        shown = recipe, knobs, pending, preset
        if self._shown is not None and all(a is b or a == b for a, b in zip(shown, self._shown, strict=True)):
            return
        self._shown, self._busy = shown, True
        try:
            self._show_target(recipe, target)
            self._show_method(recipe, target, knobs, pending)
            self.seed.show(recipe.seed, 0)
            self._show_budget(recipe)
            self._show_preset(recipe, preset)
        finally:
            self._busy = False

    def _show_target(self, recipe: Recipe, target: Any) -> None:
        if recipe.target not in self.target.options.values():
            self.target.options = {**self.target.options, target.title or recipe.target: recipe.target}
        _set(self.target, recipe.target)
        about = f'<div class="pmdviz-about">{html.escape(getattr(target, "about", "") or "")}</div>'
        if self.about.object != about:
            self.about.object = about
        kind = type(target.options)
        usual = kind.defaults()
        self.options.rebuild(kind, usual.as_dict())
        self.options.show(target.options, usual.as_dict(), {})

    def _show_method(self, recipe: Recipe, target: Any, knobs: Any, pending: Mapping[str, str]) -> None:
        fitting = fitting_methods(target)
        if self.method.options != fitting:
            self.method.options = fitting
        _set(self.method, recipe.method)
        kind = type(knobs)
        usual = METHODS[recipe.method].fitted(kind.defaults(), target).as_dict()
        self.knobs.rebuild(kind, usual, partial(self._set_knob, kind))
        self.knobs.show(knobs, usual, pending)

    def _show_budget(self, recipe: Recipe) -> None:
        value = recipe.budget or 0
        if value not in self.budget.options.values():
            known = {**self.budget.options, f"{value:,}": value}
            self.budget.options = dict(sorted(known.items(), key=lambda item: item[1] or float("inf")))
        _set(self.budget, value)

    def _show_preset(self, recipe: Recipe, began: str) -> None:
        match = self.preset_of(recipe)
        stays = self._presets.get(began)  # a preset is there to be played with: its knobs may differ
        if not match and stays is not None and _alike(stays.recipe, recipe, PROBLEM):
            match = began
        _set(self.preset, match)
        preset = self._presets.get(match)
        words = _about(preset) if preset else ""
        if self.question.object != words:
            self.question.object = words


def _about(preset: Any) -> str:
    question, try_this = html.escape(preset.question), html.escape(preset.try_this)
    return f'<div class="pmdviz-question">{question}</div><div class="pmdviz-try"><b>Try:</b> {try_this}</div>'


def _alike(a: Recipe, b: Recipe, keys: tuple[str, ...]) -> bool:
    return all(getattr(a, key) == getattr(b, key) for key in keys)


def _select(label: str, options: dict[str, Any]) -> Any:
    return pn.widgets.Select(
        label=label, options=options, margin=(4, 0), stylesheets=[css.SELECT], sizing_mode="stretch_width"
    )


def _set(widget: Any, value: Any) -> None:
    if widget.value != value:
        widget.value = value
