"""The Theory page: what the theorems say of the error, beside the error that is measured."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import panel as pn

from pmdviz.experiments.running import ExperimentResult, run_experiment
from pmdviz.experiments.sweep import ERRORS
from pmdviz.experiments.theory.convergence import Convergence, dimension
from pmdviz.experiments.theory.costs import costs_of
from pmdviz.experiments.theory.recurrence import mean_terms, unrolled
from pmdviz.experiments.theory.varied import STRATEGIES, VARIED
from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.loop.background import follow
from pmdviz.lab.loop.locked import handed, locked
from pmdviz.lab.loop.pool import GIVES_WAY
from pmdviz.lab.loop.theory_work import LOOK_EVERY_S, Measurement, outcome, status
from pmdviz.lab.panels.experiments import ExperimentsPanel
from pmdviz.lab.panels.theory_tables import cost_table, recurrence_table
from pmdviz.lab.panels.theory_words import covered_words, found_words, titles
from pmdviz.scenes.words import number, typeset
from pmdviz.targets import TARGETS
from pmdviz.views.theory import RecurrenceView, TheoryView

CONVERGENCE = Convergence()
SEEDS, WORKERS = (4, 8, 20, 50), 2
SEEDS_WORDS = (
    "20 runs at each value take a minute or two on two cores, up to ten minutes with a KDE at every step; "
    "Cancel keeps what was measured."
)
RUNS, STEPS = 4, 15  # of Theorem 2's table
MAIN = {"color": "primary", "variant": "solid"}  # what one presses first
EMPTY_WORDS = "Press Measure: each run is a point here"
HEADING = '<div class="pmdviz-heading" role="heading" aria-level="2">{}</div><div>{}</div>'
ABOUT_RECURRENCE = (
    "KL(p‖q_{t+1}) ≤ ε_t + (1−γ) KL(p‖q_t) + γ²/2 ‖g_t‖², in the mean. As printed ε_t = KL(q_{t+1}‖q̂), q̂ the exact "
    "step, and the bound is false; the proof needs ε_t = KL(q_{t+1}‖q̂) + KL(p‖q_{t+1}) − KL(p‖q̂). "
    f"Each term of the chosen run, measured on a grid, mean of {RUNS} runs."
)
ABOUT_EXPERIMENTS = (
    "These and all other experiments with all their settings; <code>pmdviz experiment NAME</code> writes tables."
)
ABOUT_COSTS = (
    "A step of every method on a linear regression, batches of 10, in a process of its own; slopes on log axes."
)


class TheoryPage:
    """Measured errors and the bounds; a page of the app."""

    def __init__(self) -> None:
        self.on_presenter: Callable[[bool], None] = lambda on: None
        self.on_note: Callable[[str], None] = lambda words: None
        self.sweep_view, self.recurrence_view = TheoryView(), RecurrenceView()
        self.work: Measurement | None = None
        self._doc: Any = None
        self._rows: list[dict[str, Any]] = []
        self._tasks: set[asyncio.Task] = set()
        self._make_controls()
        self._make_view()
        self._name_axes()
        self.sweep_view.empty(EMPTY_WORDS)

    def _make_controls(self) -> None:
        look: dict[str, Any] = {"stylesheets": [css.SELECT], "sizing_mode": "stretch_width", "margin": (4, 0)}
        self.target = pn.widgets.Select(
            label="Posterior", options={made.title: name for name, made in TARGETS.items()}, value="gaussian", **look
        )
        self.strategy = pn.widgets.Select(label="Particles", options=titles(STRATEGIES), value="particles", **look)
        self.varied = pn.widgets.Select(
            label="What is varied", options={each.title: name for name, each in VARIED.items()}, value="mT", **look
        )
        self.error = pn.widgets.Select(label="Error", options=titles(ERRORS), value="bounded", **look)
        self.seeds = pn.widgets.Select(label="Runs at each value", options=[*SEEDS], value=20, **look)
        self.error.param.watch(handed(lambda event: self._redraw()), "value")
        buttons = {"Measure": self._sweep, "Theorem 2, term by term": self._recurrence, "Time and memory": self._costs}
        self.buttons = {label: small_button(label, **(MAIN if label == "Measure" else {})) for label in buttons}
        for label, act in buttons.items():
            self.buttons[label].on_click(handed(lambda event, act=act: act()))
        self.stop_it = small_button("Cancel", visible=False)
        self.stop_it.on_click(handed(lambda event: self._cancel()))
        chosen = (self.target, self.strategy, self.varied, self.error, self.seeds)
        seeds_words = pn.pane.HTML(SEEDS_WORDS, stylesheets=[css.TEXT], margin=0)
        about = pn.pane.HTML(
            HEADING.format("Theory", "Does the error fall as the theorems say?"), stylesheets=[css.TEXT], margin=0
        )
        self.controls = pn.Column(
            about,
            *chosen,
            seeds_words,
            sizing_mode="stretch_width",
            margin=(8, 12),
            css_classes=["pmdviz-theory-setup"],
        )

    def _make_view(self) -> None:
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        text: dict[str, Any] = {"stylesheets": [css.TEXT, css.static("theory_table.css")], **wide}
        self.foot = pn.Row(margin=0)  # nothing plays here
        self.said = pn.pane.HTML(status("Nothing has been measured yet."), **text)
        self.found = pn.pane.HTML("", css_classes=["pmdviz-theory-found"], **text)
        self.recurrence_words = pn.pane.HTML("", **text)
        self.recurrence_pane = pn.Column(visible=False, **wide)  # a Bokeh pane has no element of its own to hide
        self.recurrence_pane.append(pn.pane.Bokeh(self.recurrence_view.figure, **wide))
        self.cost_words = pn.pane.HTML(cost_table([]), **text)
        self.experiments = ExperimentsPanel(self._run_experiment)
        self.view = pn.Column(
            pn.FlexBox(*self.buttons.values(), self.stop_it, gap="6px", margin=(4, 0)),
            self.said,
            pn.pane.Bokeh(self.sweep_view.figure, **wide),
            self.found,
            pn.pane.HTML(HEADING.format("Theorem 2, term by term", typeset(ABOUT_RECURRENCE)), **text),
            self.recurrence_pane,
            self.recurrence_words,
            pn.pane.HTML(HEADING.format("Table 1", ABOUT_COSTS), **text),
            self.cost_words,
            pn.pane.HTML(HEADING.format("Every experiment", ABOUT_EXPERIMENTS), **text),
            self.experiments.view,
            stylesheets=[css.static("theory.css")],
            css_classes=["pmdviz-theory"],
            sizing_mode="stretch_width",
            margin=0,
        )

    # A page of the app

    def start(self, doc: Any) -> None:
        """Begin; nothing is computed before a button is pressed."""
        self._doc = doc

    def look(self, on: bool) -> None:
        """A measurement goes on while another page is seen: its progress stands in the tab."""

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        for view in (self.sweep_view, self.recurrence_view, self.experiments):
            view.set_theme(dark)

    def stop(self) -> None:
        """The page is closed: end the work."""
        if self.work is not None:
            self.work.cancel()

    # Work

    def _begin(self, work: Measurement, look: Callable[[], None], end: Callable[[Any], str]) -> None:
        """Follow `work`: `look` draws what there is, `end` the result, and says what came out."""
        self.work = work
        for button in self.buttons.values():
            button.disabled = True
        self.stop_it.visible = True
        self._progress(work)
        task = asyncio.get_running_loop().create_task(self._follow(work, look, end))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, work: Measurement, look: Callable[[], None], end: Callable[[Any], str]) -> None:
        await follow(work, lambda: (self._progress(work), look()), LOOK_EVERY_S, self._doc)
        await locked(self._show_end, work, look, end, doc=self._doc)

    def _show_end(self, work: Measurement, look: Callable[[], None], end: Callable[[Any], str]) -> None:
        if not self._rows:
            self.sweep_view.empty(EMPTY_WORDS)
        result, trouble = outcome(work)
        look()
        self.said.object = status(trouble or end(result))
        for button in self.buttons.values():
            button.disabled = False
        self.stop_it.visible = False
        self.on_note("")

    def _progress(self, work: Measurement) -> None:
        self.said.object = status(work.words)
        self.on_note(work.short)

    def _cancel(self) -> None:
        if self.work is not None:
            self.work.cancel()

    # The sweep

    def _sweep(self) -> None:
        self._rows = []
        chosen = {"target": self.target.value, "strategy": self.strategy.value, "varied": self.varied.value}
        self._measured = chosen
        knobs = {**chosen, "seeds": self.seeds.value}
        self.sweep_view.clear("The first runs are under way")
        self.found.object = ""
        self._name_axes()
        rows = self._rows

        def act(tell: Callable[[int, int], None]) -> Any:
            return _run("convergence", knobs, tell, rows.append)

        self._begin(Measurement(act, "runs"), self._redraw, self._swept)

    def _swept(self, found: Any) -> str:
        failed = f" {len(found.failed)} could not be computed: {found.failed[0]}" if found.failed else ""
        return f"{len(found.rows):,} runs measured.{failed}"

    def _redraw(self) -> None:
        """Draw the rows that are there; another error needs no new runs."""
        self._name_axes()
        if not self._rows:
            return
        rows = [row for row in self._rows if not row.get("failed")]
        knobs = CONVERGENCE.Knobs.checked({**self._measured, "error": self.error.value})
        chart, fit = CONVERGENCE.chart(rows, knobs), CONVERGENCE.fit(rows, knobs)
        self.sweep_view.show(chart.x, chart.y, fit, chart.slopes)
        letters = VARIED[knobs.varied].letters
        self.found.object = found_words(fit, CONVERGENCE.bounds(knobs), dimension(knobs), letters, knobs.strategy)

    def _name_axes(self) -> None:
        name = self._measured["varied"] if self._rows else self.varied.value
        self.sweep_view.axes(VARIED[name].axis, ERRORS[self.error.value][0])

    _measured: dict[str, Any] = {}

    # Theorem 2 and Table 1

    def _recurrence(self) -> None:
        strategy = self.strategy.value
        knobs = {"target": self.target.value, "strategy": strategy, "runs": RUNS, "steps": STEPS}

        def end(found: ExperimentResult) -> str:
            return " ".join([self._recurred(found), covered_words(strategy)]).strip()

        self._begin(Measurement(lambda tell: _run("recurrence", knobs, tell), "runs"), lambda: None, end)

    def _recurred(self, found: ExperimentResult) -> str:
        rows = mean_terms(found.rows)
        self.recurrence_view.show(rows)
        self.recurrence_pane.visible = True
        self.recurrence_words.object = recurrence_table(rows)
        loose = rows[-1].proved / max(rows[-1].measured, 1e-12)
        alone = unrolled(rows)[-1]
        return (
            f"After {len(rows)} steps KL(p‖q) = {number(rows[-1].measured)} nats. The one-step bound is "
            f"{number(loose, 2)} times larger; the bound accumulated from the start is {number(alone)} nats."
        )

    def _run_experiment(self, name: str, knobs: Mapping[str, Any], end: Callable[[ExperimentResult], str]) -> None:
        if self.work is None or self.work.over:
            self._begin(Measurement(lambda tell: _run(name, knobs, tell), "cases"), lambda: None, end)

    def _costs(self) -> None:
        self._begin(Measurement(lambda tell: _run("costs", {}, tell), "measurements"), lambda: None, self._costed)

    def _costed(self, found: ExperimentResult) -> str:
        self.cost_words.object = cost_table(costs_of(found.rows))
        return "Time and memory are in the table."


def _run(
    name: str,
    knobs: dict[str, Any],
    tell: Callable[[int, int], None],
    on_row: Callable[[Any], object] = lambda row: None,
) -> ExperimentResult:
    return run_experiment(name, knobs, workers=WORKERS, progress=tell, niceness=GIVES_WAY, on_row=on_row)
