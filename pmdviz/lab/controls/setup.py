"""What is run: preset, target with its options, method with its knobs, seed and budget."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import panel as pn

from pmdviz.engine.recipe import Recipe
from pmdviz.errors import unknown
from pmdviz.knobs import Knobs
from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.controls.knobs import KnobControl, KnobForm
from pmdviz.lab.controls.new_run import PROBLEM, alike
from pmdviz.lab.controls.problem import SEED, ProblemControls, fitting_methods, select, set_value
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.panels.diagnosis import DiagnosisPanel
from pmdviz.methods import METHODS
from pmdviz.scenes.glossary import marked
from pmdviz.targets import TARGETS

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
