"""The Theory page: what the theorems say of the error, beside the error that is measured."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
from pmdviz.lab.controls.experiment_sharing import read
from pmdviz.lab.links import NOTHING, Asked
from pmdviz.lab.loop.acknowledge import make_acknowledge
from pmdviz.lab.loop.background import follow
from pmdviz.lab.loop.locked import handed, locked
from pmdviz.lab.loop.pool import GIVES_WAY
from pmdviz.lab.loop.work.experiment import WORKERS, ExperimentWork
from pmdviz.lab.loop.work.theory import LOOK_EVERY_S, Measurement, outcome, returned
from pmdviz.lab.panels.experiments import ExperimentsPanel
from pmdviz.lab.panels.sections import Section, contents
from pmdviz.lab.panels.theory_tables import cost_table, recurrence_table
from pmdviz.lab.panels.theory_words import (
    ABOUT_COSTS,
    ABOUT_EXPERIMENTS,
    ABOUT_RECURRENCE,
    ABOUT_SWEEP,
    EMPTY_WORDS,
    RUNS,
    SEEDS_WORDS,
    covered_words,
    found_words,
    titles,
)
from pmdviz.lab.panels.work_line import WorkLine
from pmdviz.scenes.words import number, typeset
from pmdviz.targets.offered import titles as target_titles
from pmdviz.views.theory import RecurrenceView, TheoryView

CONVERGENCE = Convergence()
SEEDS = (4, 8, 20, 50)
STEPS = 15  # of Theorem 2's table
MAIN = {"color": "primary", "variant": "solid"}  # what one presses first
HEADING = '<div class="pmdviz-heading" role="heading" aria-level="2">{}</div><div>{}</div>'
SECTIONS = {
    "sweep": ("Error against particles, steps or data", ABOUT_SWEEP),
    "recurrence": ("Theorem 2, term by term", typeset(ABOUT_RECURRENCE)),
    "costs": ("Table 1: time and memory", ABOUT_COSTS),
    "experiments": ("Every experiment", ABOUT_EXPERIMENTS),
}
Look, End, Stopped = Callable[[], None], Callable[[Any], str], Callable[[BaseException], None]


class TheoryPage:
    """Measured errors and the bounds; a page of the app. `asked`: what its link says of an experiment."""

    def __init__(self, asked: Asked = NOTHING) -> None:
        self.on_presenter: Callable[[bool], None] = lambda on: None
        self.on_note: Callable[[str], None] = lambda words: None
        self.gate: Callable[[str], bool] = lambda name: True  # whether an experiment may begin now
        self.on_show: Callable[[Any], None] = lambda result: None  # hears of an experiment's result
        self.sweep_view, self.recurrence_view = TheoryView(), RecurrenceView()
        self.ack = make_acknowledge(self.sweep_view.figure, name="theory-acknowledge")
        self.work: Measurement | None = None
        self._doc: Any = None
        self._rows: list[dict[str, Any]] = []
        self._tasks: set[asyncio.Task] = set()
        self._make_controls()
        self.experiments = ExperimentsPanel(self._experiment, self._cancel, self.ack, asked)
        self.buttons["Run the experiment"] = self.experiments.button
        self._make_view(opened="experiments" if any(asked) else "")
        self._name_axes()
        self.sweep_view.empty(EMPTY_WORDS)

    def _make_controls(self) -> None:
        look: dict[str, Any] = {"stylesheets": [css.SELECT], "sizing_mode": "stretch_width", "margin": (4, 0)}
        self.target = pn.widgets.Select(label="Posterior", options=target_titles(), value="gaussian", **look)
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
        words = ("Nothing has been measured yet.", "", "")
        lines = [WorkLine(*each) for each in zip(words, [self._cancel] * 3, self.buttons.values(), strict=True)]
        self.line, self.recurrence_line, self.cost_line = lines
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

    def _make_view(self, opened: str) -> None:
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        text: dict[str, Any] = {"stylesheets": [css.TEXT, css.static("theory_table.css")], **wide}
        self.foot = pn.Row(margin=0)  # nothing plays here
        self.found = pn.pane.HTML("", css_classes=["pmdviz-theory-found"], **text)
        self.recurrence_words = pn.pane.HTML("", **text)
        self.recurrence_pane = pn.Column(visible=False, **wide)  # a Bokeh pane has no element of its own to hide
        self.recurrence_pane.append(pn.pane.Bokeh(self.recurrence_view.figure, **wide))
        self.cost_words = pn.pane.HTML(cost_table([]), **text)
        parts = {
            "sweep": (self.line.view, pn.pane.Bokeh(self.sweep_view.figure, **wide), self.found),
            "recurrence": (self.recurrence_line.view, self.recurrence_pane, self.recurrence_words),
            "costs": (self.cost_line.view, self.cost_words),
            "experiments": (self.experiments.view,),
        }
        self.sections = {
            key: Section(key=key, title=title, opened=key == opened, **wide) for key, (title, _) in SECTIONS.items()
        }
        about = {key: pn.pane.HTML(words, **text) for key, (_, words) in SECTIONS.items()}
        self.view = pn.Column(
            contents([*self.sections.values()]),
            *(part for key, own in parts.items() for part in (self.sections[key], about[key], *own)),
            stylesheets=[css.static("theory.css")],
            css_classes=["pmdviz-theory"],
            sizing_mode="stretch_width",
            margin=0,
        )

    @property
    def said(self) -> Any:
        """What is said of the sweep."""
        return self.line.said

    # A page of the app

    def start(self, doc: Any) -> None:
        """Begin; nothing is computed before a button is pressed."""
        self._doc = doc
        self.ack.keyboard = True

    def take(self, asked: Asked) -> None:
        """Show an experiment that another page or a lesson asks for."""
        self._cancel()
        choice = read(asked)
        if choice is not None:
            self.experiments.choose(choice)
            self.sections["experiments"].opened = True

    def look(self, on: bool) -> None:
        """A measurement goes on while another page is seen: its progress stands in the tab; the address is theirs."""
        self.ack.keyboard = on

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        for view in (self.sweep_view, self.recurrence_view, self.experiments):
            view.set_theme(dark)

    def stop(self) -> None:
        """The page is closed: end the work."""
        self._cancel()

    # Work

    def _begin(
        self, work: Measurement, line: WorkLine, look: Look, end: End, stopped: Stopped = lambda error: None
    ) -> None:
        """Follow `work` and say in `line` how far it is: `look` draws what there is, `end` the result.

        `end` says what came out; `stopped` is told why nothing did.
        """
        self.work = work
        for button in self.buttons.values():
            button.disabled = True
        line.show(True)
        self._progress(work, line)
        task = asyncio.get_running_loop().create_task(self._follow(work, line, look, end, stopped))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, work: Measurement, line: WorkLine, look: Look, end: End, stopped: Stopped) -> None:
        await follow(work, lambda: (self._progress(work, line), look()), LOOK_EVERY_S, self._doc)
        await returned(work)
        await locked(self._show_end, work, line, look, end, stopped, doc=self._doc)

    def _show_end(self, work: Measurement, line: WorkLine, look: Look, end: End, stopped: Stopped) -> None:
        if not self._rows:
            self.sweep_view.empty(EMPTY_WORDS)
        found = outcome(work)
        look()
        line.say(found.words or end(found.result))
        if found.error is not None:
            stopped(found.error)
        for button in self.buttons.values():
            button.disabled = False
        line.show(False)
        self.on_note("")

    def _progress(self, work: Measurement, line: WorkLine) -> None:
        line.say(work.words)
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

        self._begin(Measurement(act, "runs"), self.line, self._redraw, self._swept)

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
        fit = CONVERGENCE.fit(rows, knobs)
        self.sweep_view.show(*CONVERGENCE.points(rows, knobs), fit, CONVERGENCE.triangles(knobs))
        letters = VARIED[knobs.varied].letters
        self.found.object = found_words(fit, CONVERGENCE.bounds(knobs), dimension(knobs), letters, knobs.strategy)

    def _name_axes(self) -> None:
        name = self._measured["varied"] if self._rows else self.varied.value
        self.sweep_view.axes(VARIED[name].axis, ERRORS[self.error.value][0])

    _measured: dict[str, Any] = {}

    # Theorem 2, Table 1 and every experiment

    def _recurrence(self) -> None:
        strategy = self.strategy.value
        knobs = {"target": self.target.value, "strategy": strategy, "runs": RUNS, "steps": STEPS}

        def end(found: ExperimentResult) -> str:
            return " ".join([self._recurred(found), covered_words(strategy)]).strip()

        work = Measurement(lambda tell: _run("recurrence", knobs, tell), "runs")
        self._begin(work, self.recurrence_line, lambda: None, end)

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

    def _costs(self) -> None:
        work = Measurement(lambda tell: _run("costs", {}, tell), "measurements")
        self._begin(work, self.cost_line, lambda: None, self._costed)

    def _costed(self, found: ExperimentResult) -> str:
        self.cost_words.object = cost_table(costs_of(found.rows))
        return "Time and memory are in the table."

    def _experiment(self, work: ExperimentWork) -> None:
        panel = self.experiments
        if (self.work is None or self.work.over) and self.gate("experiment"):
            panel.begun(work)
            self._begin(Measurement(work.act, "cases"), panel.line, panel.look, self._experimented, panel.stopped)

    def _experimented(self, result: ExperimentResult) -> str:
        words = self.experiments.ended(result)
        self.on_show(result)
        return words


def _run(
    name: str,
    knobs: dict[str, Any],
    tell: Callable[[int, int], None],
    on_row: Callable[[Any], object] = lambda row: None,
) -> ExperimentResult:
    return run_experiment(name, knobs, workers=WORKERS, progress=tell, niceness=GIVES_WAY, on_row=on_row)
