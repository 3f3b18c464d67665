"""Every experiment of the table with its knobs, its chart and what comes out: a new one is here by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import panel as pn

from pmdviz.errors import InputError
from pmdviz.experiments.base import Experiment
from pmdviz.experiments.catalogue import EXPERIMENTS
from pmdviz.experiments.running import ExperimentResult
from pmdviz.experiments.sweep.fits import Fit, fitted
from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.controls.knobs import KnobForm
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.panels.theory_tables import table
from pmdviz.scenes.words import number
from pmdviz.views.theory import TheoryView


class ExperimentsPanel:
    """A select, the knobs of the chosen experiment, a button, and what was measured.

    `begin(name, knobs, end)` starts one; `end` is given the result and returns what is said of it.
    """

    def __init__(self, begin: Callable[[str, Mapping[str, Any], Callable[[ExperimentResult], str]], None]) -> None:
        self._begin = begin
        titles = {each.title: name for name, each in sorted(EXPERIMENTS.items())}
        look: dict[str, Any] = {"stylesheets": [css.SELECT], "sizing_mode": "stretch_width", "margin": (4, 0)}
        self.chosen = pn.widgets.Select(label="Experiment", options=titles, **look)
        self.form = KnobForm(self._turn)
        self.button = small_button("Run the experiment")
        self.chart, self.about = TheoryView(), pn.pane.HTML("", stylesheets=[css.TEXT], margin=0)
        self.chart_pane = pn.Column(visible=False, sizing_mode="stretch_width", margin=0)
        self.chart_pane.append(pn.pane.Bokeh(self.chart.figure, sizing_mode="stretch_width", margin=0))
        self.found = pn.pane.HTML(
            "", stylesheets=[css.TEXT, css.static("theory_table.css")], sizing_mode="stretch_width"
        )
        self.chosen.param.watch(handed(lambda event: self._choose()), "value")
        self.button.on_click(handed(lambda event: self._run()))
        controls = pn.Column(self.chosen, self.about, self.form, self.button, max_width=420, margin=0)
        self.view = pn.Column(controls, self.chart_pane, self.found, sizing_mode="stretch_width", margin=0)
        self._choose()

    @property
    def _experiment(self) -> Experiment:
        return EXPERIMENTS[self.chosen.value]

    def _choose(self) -> None:
        made = self._experiment
        self.knobs = made.Knobs.defaults()
        self.about.object = f"{made.about} Source: {made.source}."
        self.form.rebuild(made.Knobs, self.knobs.as_dict())
        self._show_knobs()

    def _show_knobs(self) -> None:
        self.form.show(self.knobs, type(self.knobs).defaults().as_dict(), {})

    def _turn(self, name: str, value: Any) -> None:
        try:
            self.knobs = self.knobs.replaced(**{name: value})
        except InputError as error:
            self.form.controls[name].refuse(error.on_page)
            return
        self._show_knobs()

    def _run(self) -> None:
        self.found.object = ""
        self._begin(self.chosen.value, self.knobs.as_dict(), self._ended)

    def _ended(self, result: ExperimentResult) -> str:
        """Draw what came out."""
        chart = result.chart if result.rows else None
        self.chart_pane.visible = chart is not None
        if chart is not None:
            self.chart.clear("")
            self.chart.axes(chart.x_label, chart.y_label)
            self.chart.show(chart.x, chart.y, _fit(chart.x, chart.y), chart.slopes)
        self.found.object = _summary(result)
        failed = f" {len(result.failed)} could not be computed: {result.failed[0]}" if result.failed else ""
        return f"{len(result.rows):,} rows measured.{failed}"

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        self.chart.set_theme(dark)


def _fit(x: Any, y: Any) -> Fit | None:
    try:
        return fitted(x, y)
    except InputError:  # too few points for a slope
        return None


def _summary(result: ExperimentResult) -> str:
    entries = result.summary
    heads = list(dict.fromkeys(name for entry in entries for name in entry))
    rows = [[_cell(entry.get(name)) for name in heads] for entry in entries]
    return table("What comes out", heads, rows) if rows else ""


def _cell(value: Any) -> str:
    return "" if value is None else number(value) if isinstance(value, float) else str(value)
