"""What the controls of a run and of a race have in common: target with its options, budget and seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import panel as pn

from pmdviz.engine.recipe import MAX_SEED
from pmdviz.errors import InputError
from pmdviz.knobs import KnobSpec
from pmdviz.lab import css
from pmdviz.lab.controls.knobs import KnobControl, KnobForm
from pmdviz.lab.loop import limits
from pmdviz.methods import METHODS
from pmdviz.targets import Target
from pmdviz.targets.offered import titles

BUDGETS = {"2,000": 2_000, "5,000": 5_000, "20,000": 20_000, "100,000": 100_000, "1,000,000": 1_000_000, "endless": 0}
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
