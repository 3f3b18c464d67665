"""The Theory page: the theorems' bounds on the error, next to the measured error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np
import panel as pn
from bokeh.document import Document

from pmdviz.engine.history import Row
from pmdviz.experiments.base import Chart, Series
from pmdviz.experiments.running import ExperimentResult, run_experiment
from pmdviz.experiments.sweep import ERRORS, Fit
from pmdviz.experiments.theory import (
    SMOOTHNESS,
    STRATEGIES,
    VARIED,
    Convergence,
    ConvergenceKnobs,
    Rate,
    Terms,
    dimension,
    mean_terms,
    merged,
    unrolled,
)
from pmdviz.experiments.theory_costs import AXES, LINES, Cost, costs_of, exponents
from pmdviz.knobs import Value
from pmdviz.lab import css
from pmdviz.lab.controls.sharing import read
from pmdviz.lab.controls.widgets import WIDE, select, small_button, text
from pmdviz.lab.links import NOTHING, Asked
from pmdviz.lab.loop.frame_sender import make_acknowledge
from pmdviz.lab.loop.task import GIVES_WAY, Task, TaskSlot
from pmdviz.lab.loop.work import BACK_S, LOOK_EVERY_S, WORKERS, ExperimentWork, Measurement, status
from pmdviz.lab.pages.page import Page
from pmdviz.lab.panels.cards import Section, WorkLine, contents
from pmdviz.lab.panels.experiments import ExperimentsPanel, table
from pmdviz.scenes.words import number, typeset
from pmdviz.targets.custom import titles as target_titles
from pmdviz.views import PicturesView

# The Theory page's words: choices, slopes of the bounds, what the measured slope is.

SCALE_FREE = (
    "Slopes only: the constants of the bounds are not known. "
    f"β = {SMOOTHNESS:g} in the bounds and in the KDE's bandwidth."
)
NO_THEOREM = "No theorem of the paper covers this strategy: only the measurements are shown."

RUNS = 4  # of Theorem 2's table
SEEDS_WORDS = (
    "20 runs at each value take a minute or two on two cores, up to ten minutes with a KDE at every step; "
    "Cancel keeps the finished measurements."
)
EMPTY_WORDS = "No run has finished: press Measure"
ABOUT_SWEEP = "Each point is one run. The dashed line is fitted to all runs; the triangle has the slope of the bound."
QUESTION = "<h2>Does the error fall as the theorems say?</h2>"
HEADLINE = '<p role="status" class="pmdviz-headline">{}</p>'
DETAILS = "<details><summary>All bounds for this error</summary>{}</details>"
STORED = resources.files("pmdviz.experiments") / "sweep.json"  # its command is in it
STORED_WORDS = "A stored sweep of {} runs. Press Measure to run it here, with your own settings."
ABOUT_RECURRENCE = (
    "KL(p‖q_{t+1}) ≤ ε_t + (1−γ) KL(p‖q_t) + γ²/2 ‖g_t‖², in the mean. As printed ε_t = KL(q_{t+1}‖q̂), q̂ the exact "
    "step, and the bound is false; the proof needs ε_t = KL(q_{t+1}‖q̂) + KL(p‖q_{t+1}) − KL(p‖q̂). "
    f"Each term of the chosen run, measured on a grid, mean of {RUNS} runs."
)
ABOUT_COSTS = (
    "A step of every method on a linear regression, batches of 10, in a process of its own; slopes on log axes."
)
ABOUT_EXPERIMENTS = (
    "These and all other experiments with all their settings; <code>pmdviz experiment NAME</code> writes tables."
)


UNDER_WAY = "The first runs are under way"
TERMS = {  # of Theorem 2, in the picture
    "proved": "allowed, as proved", "bound": "allowed, as printed", "noise": "γ²/2 ‖g‖²", "kept": "(1−γ) KL",
    "proved_inexactness": "εₜ, as proved", "measured": "measured",
}  # fmt: skip
SMALLEST = 1e-5  # nats; smaller values have no place on the log axis


def titles(table: Mapping[str, tuple]) -> dict[str, str]:
    """Words for a person -> name, of a table whose entries begin with their words."""
    return {entry[0][:1].upper() + entry[0][1:]: name for name, entry in table.items()}


def bound_words(rate: Rate, dim: int) -> str:
    """A bound and its slope."""
    return f"{rate.theorem}: slope {rate.exponent(SMOOTHNESS, dim):.2f} in {rate.x} ({rate.words})"


def covered_words(strategy: str) -> str:
    """Which theorems are about a strategy; "" where some are."""
    return "" if STRATEGIES[strategy].theorems else NO_THEOREM


def found_words(fit: Fit | None, bounds: list[Rate], dim: int, letters: Iterable[str], strategy: str) -> str:
    """The measured slope next to the bounds' slopes: whole ones, and terms of bounds, which are not drawn."""
    if fit is None:
        return status("A slope needs runs at two different values.")
    left_out = f", {fit.left_out:,} without a logarithm left out" if fit.left_out else ""
    words = f"Measured slope {fit.slope:.2f} ± {fit.standard_error:.2f} (all {fit.num_points:,} points{left_out})"
    holding = [bound for bound in bounds if bound.holds(letters)]
    if not bounds:
        return HEADLINE.format(f"{words}.") + status(
            covered_words(strategy) or "The paper gives no bound for this error."
        )
    beside = ", ".join(slope for slope, _ in merged(holding, dim))
    headline = HEADLINE.format(f"{words}. {beside}." if beside else f"{words}.")
    whole = [bound_words(bound, dim) for bound in holding]
    terms = [bound_words(bound, dim) for bound in bounds if not bound.holds(letters)]
    said = [f"{'; '.join(whole)}."] if whole else []
    said += [f"Not shown: the full bound does not fall at this rate here: {'; '.join(terms)}."] if terms else []
    return headline + DETAILS.format(status(" ".join([*said, SCALE_FREE])))


def sweep_chart(rows: Sequence[dict[str, Row]], knobs: ConvergenceKnobs, fit: Fit | None) -> Chart:
    """Every run, the mean over them, the law fitted to all, and the slopes of the bounds."""
    x, y = CONVERGENCE.points(rows, knobs)
    (chart,) = CONVERGENCE.pictures(rows, knobs)
    series = [Series("one run", x, y, look="points"), *chart.series]
    if fit is not None:
        ends = np.array([x.min(), x.max()])
        series.append(Series("fit", ends, np.exp(fit.intercept + fit.slope * np.log(ends)), look="dashes"))
    return chart._replace(series=series)


def recurrence_chart(rows: Sequence[Terms]) -> Chart:
    """Theorem 2 step by step: its terms and the measurements, on a log axis."""
    t, series = np.array([row.t for row in rows], float), []
    for name, words in TERMS.items():
        values = np.array([getattr(row, name) for row in rows], float)
        look = "line" if name == "measured" else "dashes"
        series.append(Series(words, t, np.where(values > SMALLEST, values, np.nan), look=look))
    return Chart(series, "step t", "nats", x_log=False)


# The Theory page's two tables: Theorem 2 step by step, and Table 1 of the paper with measurements.

NOT_MEASURED, NOT_IN_TABLE = "not measured yet", "not in Table 1"
RECURRENCE_HEAD = (
    "t",
    "γ",
    "‖g‖, nats",
    "(1−γ) KL(p‖q_t)",
    "γ²/2 ‖g‖²",
    "ε_t as printed",
    "allowed as printed",
    "ε_t as proved",
    "allowed as proved",
    "measured KL(p‖q_{t+1})",
)
COST_HEAD = (
    "method",
    "proved in",
    "rate",
    "time of a step, paper",
    "measured",
    "memory, paper",
    "measured",
    "black box",
)


def recurrence_table(rows: Sequence[Terms]) -> str:
    """Theorem 2's terms of every step, in nats."""
    names = ("gamma", "gradient", "kept", "noise", "inexactness", "bound", "proved_inexactness", "proved", "measured")
    body = [[str(row.t), *(number(getattr(row, name)) for name in names)] for row in rows]
    return table("Theorem 2, term by term, nats", RECURRENCE_HEAD, body)


def cost_table(costs: Sequence[Cost]) -> str:
    """Table 1 with the fitted powers of m, N and d, and the time and memory at the smallest size."""
    body = []
    for line in LINES:
        time, memory = _measured(costs, line.name, "time"), _measured(costs, line.name, "memory")
        proved, rate = (line.criterion or "not proved", line.rate or "none") if line.time else (NOT_IN_TABLE,) * 2
        printed = (line.time or NOT_IN_TABLE, line.memory or NOT_IN_TABLE)
        black_box = "yes" if line.black_box else "no"
        body.append([line.name, proved, rate, printed[0], time, printed[1], memory, black_box])
    return table("Table 1 of the paper next to measurements", COST_HEAD, body)


def _measured(costs: Sequence[Cost], name: str, what: str) -> str:
    mine = [cost for cost in costs if cost.name == name]
    if not mine:
        return NOT_MEASURED
    first, powers = mine[0], exponents(costs, name)
    value = f"{number(first.step_ms)} ms" if what == "time" else f"{number(first.memory_kb)} kB"
    where = f"m = {first.m:,}, " if first.m else ""
    law = [f"{letter}^{power:.2f}" for letter in AXES if (power := powers[f"{what}_{letter}"]) is not None]
    return f"{value} ({where}N = {first.num_data:,}, d = {first.dim})" + (f"; ~ {', '.join(law)}" if law else "")


CONVERGENCE = Convergence()
SEEDS = (4, 8, 20, 50)
STEPS = 15  # of Theorem 2's table
SECTIONS = {
    "sweep": ("Error against particles, steps or data", ABOUT_SWEEP),
    "recurrence": ("Theorem 2, term by term", typeset(ABOUT_RECURRENCE)),
    "costs": ("Table 1: time and memory", ABOUT_COSTS),
    "experiments": ("Every experiment", ABOUT_EXPERIMENTS),
}
Look = Callable[[], None]
End = Callable[[Any], str]
Stopped = Callable[[BaseException], None]


class TheoryPage(Page):
    """Measured errors and the bounds; a page of the app. `asked`: what its link says of an experiment."""

    def __init__(self, asked: Asked = NOTHING) -> None:
        self.work: Measurement | None = None
        self._slot = TaskSlot(self._look, LOOK_EVERY_S, patience_s=BACK_S)
        self._line: WorkLine | None = None  # of the work under way
        self._draw: Look = lambda: None  # what that work has found so far
        stored = json.loads(STORED.read_text(encoding="utf-8"))
        self._rows: list[dict[str, Row]] = stored["rows"]
        self._measured: dict[str, Value] = {name: stored["knobs"][name] for name in ("target", "strategy", "varied")}
        self._make_controls()
        sheets = [css.static("pages.css", "pictures")], [css.TEXT, css.static("pages.css", "picture_head")]
        self.sweep_view, self.recurrence_view = PicturesView(*sheets), PicturesView(*sheets)
        self._show_nothing(UNDER_WAY)
        self.recurrence_view.show([recurrence_chart([])])
        for view, name in ((self.sweep_view, "theory"), (self.recurrence_view, "recurrence")):
            view.views[0].figure.name = name
        self.ack = make_acknowledge(self.sweep_view.views[0].figure, name="theory-acknowledge")
        self.experiments = ExperimentsPanel(self._experiment, self._cancel, self.ack, asked)
        self.buttons["Run the experiment"] = self.experiments.button
        self._make_view(opened="experiments" if any(asked) else "")
        self._redraw()

    def _make_controls(self) -> None:
        varied = {each.title: name for name, each in VARIED.items()}
        self.target = select("Posterior", target_titles(), value="gaussian")
        self.strategy = select("Particles", titles(STRATEGIES), value="particles")
        self.varied = select("Varied setting", varied, value="mT")
        self.error = select("Error", titles(ERRORS), lambda error: self._redraw(), value="bounded")
        self.seeds = select("Runs at each value", [*SEEDS], value=20)
        acts = {"Measure": self._sweep, "Theorem 2, term by term": self._recurrence, "Time and memory": self._costs}
        main = {"Measure": {"color": "primary", "variant": "solid"}}  # what one presses first
        self.buttons = {label: small_button(label, act, **main.get(label, {})) for label, act in acts.items()}
        words = (STORED_WORDS.format(len(self._rows)), "", "")
        lines = [WorkLine(*each) for each in zip(words, [self._cancel] * 3, self.buttons.values(), strict=True)]
        self.line, self.recurrence_line, self.cost_line = lines
        chosen = (self.target, self.strategy, self.varied, self.error, self.seeds)
        for each in chosen:
            each.param.update(sizing_mode=None, width=250, margin=0)
        look = {"gap": "8px 12px", "css_classes": ["pmdviz-theory-setup"], "margin": (8, 0, 0, 0)}
        self.setup = pn.FlexBox(*chosen, **look), text(SEEDS_WORDS)

    def _make_view(self, opened: str) -> None:
        tables = [css.TEXT, css.static("pages.css", "theory_table")]
        self.foot = pn.Row(margin=0)  # nothing plays here
        self.found = text(css_classes=["pmdviz-theory-found"], stylesheets=tables)
        self.recurrence_words = text(stylesheets=tables)
        self.recurrence_pane = pn.Column(visible=False, **WIDE)  # a Bokeh pane has no element of its own to hide
        self.recurrence_pane.append(pn.pane.Bokeh(self.recurrence_view.layout, **WIDE))
        self.cost_words = text(cost_table([]), stylesheets=tables)
        parts = {
            "sweep": (self.found, pn.pane.Bokeh(self.sweep_view.layout, **WIDE), *self.setup, self.line.view),
            "recurrence": (self.recurrence_line.view, self.recurrence_pane, self.recurrence_words),
            "costs": (self.cost_line.view, self.cost_words),
            "experiments": (self.experiments.view,),
        }
        self.sections = {
            key: Section(key=key, title=title, opened=key == opened, **WIDE) for key, (title, _) in SECTIONS.items()
        }
        about = {key: text(words, stylesheets=tables) for key, (_, words) in SECTIONS.items()}
        self.view = pn.Column(
            text(QUESTION, stylesheets=[css.TEXT, css.static("pages.css", "race_heading")]),
            contents([*self.sections.values()]),
            *(part for key, own in parts.items() for part in (self.sections[key], about[key], *own)),
            stylesheets=[css.static("pages.css", "theory")],
            css_classes=["pmdviz-theory"],
            **WIDE,
        )

    @property
    def said(self) -> pn.pane.HTML:
        """The sentence on the sweep."""
        return self.line.said

    # A page of the app

    def start(self, doc: Document | None = None) -> None:
        """Begin; nothing is computed before a button is pressed."""
        self._slot.doc = doc
        self.ack.keyboard = True

    def take(self, asked: Asked) -> None:
        """Show an experiment that another page or a lesson names."""
        self._cancel()
        choice = read(asked)
        if choice is not None:
            self.experiments.choose(choice)
            self.sections["experiments"].opened = True

    def look(self, on: bool) -> None:
        """A measurement goes on while another page is seen: its progress is in the tab; the address is theirs."""
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

        `end` says what came out; `stopped` gets the reason if nothing did.
        """
        self.work, self._line, self._draw = work, line, look
        for button in self.buttons.values():
            button.disabled = True
        line.show(True)
        self._progress()
        self._slot.follow(work, lambda task: self._show_end(task, end, stopped))

    def _show_end(self, task: Task, end: End, stopped: Stopped) -> None:
        if not self._rows:
            self._show_nothing(EMPTY_WORDS)
        found = task.outcome()
        self._draw()
        self._line.say(found.words or end(found.result))
        if found.error is not None:
            stopped(found.error)
        for button in self.buttons.values():
            button.disabled = False
        self._line.show(False)
        self.on_note("")

    def _look(self) -> None:
        if self._slot.running:
            self._progress()
            self._draw()

    def _progress(self) -> None:
        self._line.say(self.work.words)
        self.on_note(self.work.short)

    def _cancel(self) -> None:
        if self.work is not None:
            self.work.cancel()

    # The sweep

    def _sweep(self) -> None:
        self._rows = []
        chosen = {"target": self.target.value, "strategy": self.strategy.value, "varied": self.varied.value}
        self._measured = chosen
        knobs = {**chosen, "seeds": self.seeds.value}
        self._show_nothing(UNDER_WAY)
        self.found.object = ""
        rows = self._rows

        work = Measurement(lambda tell: _run("convergence", knobs, tell, rows.append), "runs")
        self._begin(work, self.line, self._redraw, self._swept)

    def _swept(self, found: ExperimentResult) -> str:
        failed = f" {len(found.failed)} could not be computed: {found.failed[0]}" if found.failed else ""
        return f"{len(found.rows):,} runs measured.{failed}"

    def _redraw(self) -> None:
        """Draw the rows that are there; another error needs no new runs."""
        if not self._rows:
            self._show_nothing(self._nothing)
            return
        rows = [row for row in self._rows if not row.get("failed")]
        knobs = CONVERGENCE.Knobs.checked({**self._measured, "error": self.error.value})
        fit = CONVERGENCE.fit(rows, knobs)
        self.sweep_view.show([sweep_chart(rows, knobs, fit)])
        letters = VARIED[knobs.varied].letters
        self.found.object = found_words(fit, CONVERGENCE.bounds(knobs), dimension(knobs), letters, knobs.strategy)

    def _show_nothing(self, words: str) -> None:
        """Empty axes under words that say why."""
        self._nothing = words
        self.sweep_view.show([Chart([], VARIED[self.varied.value].axis, ERRORS[self.error.value][0], title=words)])

    # Theorem 2, Table 1 and every experiment

    def _recurrence(self) -> None:
        strategy = self.strategy.value
        knobs = {"target": self.target.value, "strategy": strategy, "runs": RUNS, "steps": STEPS}
        work = Measurement(lambda tell: _run("recurrence", knobs, tell), "runs")
        self._begin(work, self.recurrence_line, lambda: None, lambda found: self._recurred(found, strategy))

    def _recurred(self, found: ExperimentResult, strategy: str) -> str:
        rows = mean_terms(found.rows)
        self.recurrence_view.show([recurrence_chart(rows)])
        self.recurrence_pane.visible = True
        self.recurrence_words.object = recurrence_table(rows)
        loose = rows[-1].proved / max(rows[-1].measured, 1e-12)
        alone = unrolled(rows)[-1]
        said = (
            f"After {len(rows)} steps KL(p‖q) = {number(rows[-1].measured)} nats. The one-step bound is "
            f"{number(loose, 2)} times larger; the bound accumulated from the start is {number(alone)} nats."
        )
        return f"{said} {covered_words(strategy)}".strip()

    def _costs(self) -> None:
        work = Measurement(lambda tell: _run("costs", {}, tell), "measurements")
        self._begin(work, self.cost_line, lambda: None, self._costed)

    def _costed(self, found: ExperimentResult) -> str:
        self.cost_words.object = cost_table(costs_of(found.rows))
        return "Time and memory are in the table."

    def _experiment(self, work: ExperimentWork) -> None:
        panel = self.experiments
        if (self.work is None or self.work.over) and self.gate("experiment"):
            panel.results.begin(work)
            measured = Measurement(work.act, "cases")
            self._begin(measured, panel.line, panel.results.look, self._experimented, panel.stopped)

    def _experimented(self, result: ExperimentResult) -> str:
        words = self.experiments.ended(result)
        self.on_show(result)
        return words


def _run(
    name: str,
    knobs: dict[str, Value],
    tell: Callable[[int, int], None],
    on_row: Callable[[Row], None] = lambda row: None,
) -> ExperimentResult:
    return run_experiment(name, knobs, workers=WORKERS, progress=tell, niceness=GIVES_WAY, on_row=on_row)
