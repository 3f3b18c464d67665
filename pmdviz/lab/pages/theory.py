"""The Theory page: what the theorems say of the error, beside the error that is measured."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import panel as pn

from pmdviz.errors import InputError
from pmdviz.experiments.sweep import ERRORS, Fit, fitted, run_sweep
from pmdviz.experiments.theory.costs import measure_all
from pmdviz.experiments.theory.experiments import EXPERIMENTS, STRATEGIES, planned_experiment
from pmdviz.experiments.theory.formulas import Rate, rates_for
from pmdviz.experiments.theory.recurrence import averaged, terms, unrolled
from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.loop.background import follow
from pmdviz.lab.loop.locked import handed, locked
from pmdviz.lab.loop.pool import GIVES_WAY
from pmdviz.lab.loop.theory_work import LOOK_EVERY_S, Measurement, outcome, status
from pmdviz.lab.panels.theory_tables import cost_table, recurrence_table
from pmdviz.lab.panels.theory_words import found_words, titles, triangles
from pmdviz.scenes.words import number
from pmdviz.targets import TARGETS
from pmdviz.views.theory import RecurrenceView, TheoryView

SEEDS, WORKERS = (4, 8, 20, 50), 2
RUNS, STEPS = 4, 15  # of Theorem 2's table
EMPTY_WORDS = "Press Measure: each run is a point here"
HEADING = '<div class="pmdviz-heading" role="heading" aria-level="2">{}</div><div>{}</div>'
ABOUT_RECURRENCE = (
    "KL(p‖q_{t+1}) ≤ ε_t + (1−γ) KL(p‖q_t) + γ²/2 ‖g_t‖², in the mean. Each term of the chosen run, "
    f"measured on a grid, mean of {RUNS} runs."
)
ABOUT_COSTS = "A step with a batch of 10 in two dimensions, one thread, in a process of its own; slopes on log axes."


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
            label="What is varied", options={each.title: name for name, each in EXPERIMENTS.items()}, value="mT", **look
        )
        self.error = pn.widgets.Select(label="Error", options=titles(ERRORS), value="bounded", **look)
        self.seeds = pn.widgets.Select(label="Runs at each value", options=[*SEEDS], value=8, **look)
        self.error.param.watch(handed(lambda event: self._redraw()), "value")
        buttons = {"Measure": self._sweep, "Theorem 2, term by term": self._recurrence, "Time and memory": self._costs}
        self.buttons = {label: small_button(label) for label in buttons}
        for label, act in buttons.items():
            self.buttons[label].on_click(handed(lambda event, act=act: act()))
        self.stop_it = small_button("Cancel", visible=False)
        self.stop_it.on_click(handed(lambda event: self._cancel()))
        chosen = (self.target, self.strategy, self.varied, self.error, self.seeds)
        about = pn.pane.HTML(
            HEADING.format("Theory", "Does the error fall as the theorems say?"), stylesheets=[css.TEXT], margin=0
        )
        self.controls = pn.Column(
            about, *chosen, sizing_mode="stretch_width", margin=(8, 12), css_classes=["pmdviz-theory-setup"]
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
        self.view = pn.Column(
            pn.FlexBox(*self.buttons.values(), self.stop_it, gap="6px", margin=(4, 0)),
            self.said,
            pn.pane.Bokeh(self.sweep_view.figure, **wide),
            self.found,
            pn.pane.HTML(HEADING.format("Theorem 2, term by term", ABOUT_RECURRENCE), **text),
            self.recurrence_pane,
            self.recurrence_words,
            pn.pane.HTML(HEADING.format("Table 1", ABOUT_COSTS), **text),
            self.cost_words,
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
        for view in (self.sweep_view, self.recurrence_view):
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
        self._rows, seeds = [], self.seeds.value
        recipe, over = planned_experiment(self.target.value, self.strategy.value, self.varied.value)
        self._measured = (self.varied.value, self.strategy.value, recipe.make_target().dim)
        self.sweep_view.clear("The first runs are under way")
        self.found.object = ""
        self._name_axes()
        rows = self._rows

        def act(tell: Callable[[int, int], None]) -> Any:
            options = {"together": True, "workers": WORKERS, "progress": tell, "niceness": GIVES_WAY}
            return run_sweep(recipe, over, seeds, error="bounded", on_row=rows.append, **options)

        self._begin(Measurement(act, "runs"), self._redraw, self._swept)

    def _swept(self, found: Any) -> str:
        failed = f" {len(found.failed)} could not be computed: {found.failed[0]}" if found.failed else ""
        return f"{len(found):,} runs measured.{failed}"

    def _redraw(self) -> None:
        """Draw the rows that are there; another error needs no new runs."""
        self._name_axes()
        if not self._rows:
            return
        rows = self._rows[:]
        name, _, dim = self._measured
        column, error = EXPERIMENTS[name].column, self.error.value
        x, y = [row[column] for row in rows], [row[error] for row in rows]
        try:
            fit: Fit | None = fitted(x, y)
        except InputError:  # too few points yet
            fit = None
        bounds = self._bounds(error)
        self.sweep_view.show(x, y, fit, triangles(bounds, dim))
        self.found.object = found_words(fit, bounds, dim)

    def _bounds(self, error: str) -> list[Rate]:
        """What speaks of this error and of what was varied: Theorem 5 of weighted particles, 4 and 6 of a KDE."""
        name, strategy, _ = self._measured
        bounds = [rate for letter in EXPERIMENTS[name].letters for rate in rates_for(letter, error)]
        if strategy == "particles":
            bounds = [rate for rate in bounds if rate.theorem in ("Theorem 3", "Theorem 5")]
        elif strategy == "kde":
            bounds = [rate for rate in bounds if rate.theorem in ("Theorem 4", "Theorem 6")]
        return bounds

    def _name_axes(self) -> None:
        name = self._measured[0] if self._rows else self.varied.value
        self.sweep_view.axes(EXPERIMENTS[name].axis, ERRORS[self.error.value][0])

    _measured: tuple[str, str, int] = ("mT", "particles", 1)

    # Theorem 2 and Table 1

    def _recurrence(self) -> None:
        recipe, _ = planned_experiment(self.target.value, self.strategy.value, "T")

        def act(tell: Callable[[int, int], None]) -> Any:
            runs = []
            for seed in range(RUNS):
                said = lambda t, seed=seed: tell(seed * STEPS + t, RUNS * STEPS)  # noqa: E731
                said(0)
                runs.append(terms(recipe.replaced(seed=seed), STEPS, said))
            return averaged(runs)

        self._begin(Measurement(act, "steps"), lambda: None, self._recurred)

    def _recurred(self, rows: Any) -> str:
        self.recurrence_view.show(rows)
        self.recurrence_pane.visible = True
        self.recurrence_words.object = recurrence_table(rows)
        loose = rows[-1].bound / max(rows[-1].measured, 1e-12)
        alone = unrolled(rows)[-1]
        return (
            f"After {len(rows)} steps KL(p‖q) is {number(rows[-1].measured)} nats; the last step's bound allows "
            f"{number(loose, 2)} times as much, the recurrence from the start {number(alone)} nats."
        )

    def _costs(self) -> None:
        def act(tell: Callable[[int, int], None]) -> Any:
            return measure_all(tell, GIVES_WAY)

        self._begin(Measurement(act, "measurements"), lambda: None, self._costed)

    def _costed(self, costs: Any) -> str:
        self.cost_words.object = cost_table(costs)
        return "Time and memory are in the table."
