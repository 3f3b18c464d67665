"""The Theory page: the theorems' bounds on the error, next to the measured error."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import resources

import numpy as np
import panel as pn
from bokeh.document import Document

from pmdviz.engine.frame import Row
from pmdviz.errors import InputError
from pmdviz.experiments import Chart, Series, TooMuch, theory
from pmdviz.experiments.running import EXPERIMENTS, ExperimentResult, run_experiment
from pmdviz.experiments.sweep import ERRORS, Fit
from pmdviz.experiments.theory import VARIED
from pmdviz.experiments.theory_rates import AXES, LINES, Cost, costs_of, exponents
from pmdviz.knobs import Value
from pmdviz.lab import css
from pmdviz.lab.links import NOTHING, Asked, experiment_query
from pmdviz.lab.loop.frame_sender import Acknowledge, make_acknowledge
from pmdviz.lab.loop.task import GIVES_WAY, Task, TaskSlot, Tell
from pmdviz.lab.loop.work import BACK_S, LOOK_EVERY_S, NOTHING_YET, WORKERS, ExperimentWork, Found, Measurement
from pmdviz.lab.page import Page
from pmdviz.lab.panels import widgets
from pmdviz.lab.panels.sharing import Choice, PageSharing, asked_of, changed, of_preset, read, usual
from pmdviz.presets import EXPERIMENT_PRESETS, find_experiment_preset
from pmdviz.scenes.words import number, typeset
from pmdviz.targets.custom import titles as target_titles
from pmdviz.views import PicturesView

# The Theory page's words: choices, slopes of the bounds, what the measured slope is.

SCALE_FREE = (
    "Slopes only: the constants of the bounds are not known. "
    f"β = {theory.SMOOTHNESS:g} in the bounds and in the KDE's bandwidth."
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
CONVERGENCE = theory.Convergence()
SMALLEST = 1e-5  # nats; smaller values have no place on the log axis


def titles(table: Mapping[str, tuple]) -> dict[str, str]:
    """Words for a person -> name, of a table whose entries begin with their words."""
    return {entry[0][:1].upper() + entry[0][1:]: name for name, entry in table.items()}


def bound_words(rate: theory.Rate, dim: int) -> str:
    """A bound and its slope."""
    return f"{rate.theorem}: slope {rate.exponent(theory.SMOOTHNESS, dim):.2f} in {rate.x} ({rate.words})"


def covered_words(strategy: str) -> str:
    """Which theorems are about a strategy; "" where some are."""
    return "" if theory.STRATEGIES[strategy].theorems else NO_THEOREM


def found_words(fit: Fit | None, knobs: theory.ConvergenceKnobs) -> str:
    """The measured slope next to the bounds' slopes: whole ones, and terms of bounds, which are not drawn."""
    if fit is None:
        return widgets.spoken("A slope needs runs at two different values.")
    bounds, dim, letters = CONVERGENCE.bounds(knobs), theory.dimension(knobs), VARIED[knobs.varied].letters
    left_out = f", {fit.left_out:,} without a logarithm left out" if fit.left_out else ""
    words = f"Measured slope {fit.slope:.2f} ± {fit.standard_error:.2f} (all {fit.num_points:,} points{left_out})"
    holding = [bound for bound in bounds if bound.holds(letters)]
    if not bounds:
        why = covered_words(knobs.strategy) or "The paper gives no bound for this error."
        return HEADLINE.format(f"{words}.") + widgets.spoken(why)
    beside = ", ".join(slope for slope, _ in theory.merged(holding, dim))
    headline = HEADLINE.format(f"{words}. {beside}." if beside else f"{words}.")
    whole, terms = ("; ".join(bound_words(b, dim) for b in bounds if b.holds(letters) is on) for on in (True, False))
    said = [f"{whole}."] if whole else []
    said += [f"Not shown: the full bound does not fall at this rate here: {terms}."] if terms else []
    return headline + DETAILS.format(widgets.spoken(" ".join([*said, SCALE_FREE])))


def sweep_chart(rows: Sequence[dict[str, Row]], knobs: theory.ConvergenceKnobs, fit: Fit | None) -> Chart:
    """Every run, the mean over them, the law fitted to all, and the slopes of the bounds."""
    x, y = CONVERGENCE.points(rows, knobs)
    (chart,) = CONVERGENCE.pictures(rows, knobs)
    series = [Series("one run", x, y, look="points"), *chart.series]
    if fit is not None:
        ends = np.array([x.min(), x.max()])
        series.append(Series("fit", ends, np.exp(fit.intercept + fit.slope * np.log(ends)), look="dashes"))
    return chart._replace(series=series)


def recurrence_chart(rows: Sequence[theory.Terms]) -> Chart:
    """Theorem 2 step by step: its terms and the measurements, on a log axis."""
    t, series = np.array([row.t for row in rows], float), []
    for name, words in TERMS.items():
        values = np.array([getattr(row, name) for row in rows], float)
        look = "line" if name == "measured" else "dashes"
        series.append(Series(words, t, np.where(values > SMALLEST, values, np.nan), look=look))
    return Chart(series, "step t", "nats", x_log=False)


# The Theory page's two tables: Theorem 2 step by step, and Table 1 of the paper with measurements.

NOT_MEASURED, NOT_IN_TABLE = "not measured yet", "not in Table 1"
RECURRENCE = {  # of a step -> the title of its column
    "gamma": "γ", "gradient": "‖g‖, nats", "kept": "(1−γ) KL(p‖q_t)", "noise": "γ²/2 ‖g‖²",
    "inexactness": "ε_t as printed", "bound": "allowed as printed", "proved_inexactness": "ε_t as proved",
    "proved": "allowed as proved", "measured": "measured KL(p‖q_{t+1})",
}  # fmt: skip
COST_HEAD = (
    "method", "proved in", "rate", "time of a step, paper", "measured", "memory, paper", "measured", "black box",
)  # fmt: skip


def recurrence_table(rows: Sequence[theory.Terms]) -> str:
    """Theorem 2's terms of every step, in nats."""
    body = [[str(row.t), *(number(getattr(row, name)) for name in RECURRENCE)] for row in rows]
    return table("Theorem 2, term by term, nats", ("t", *RECURRENCE.values()), body)


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


# Every experiment with its knobs, live pictures and a link: a new one is here by itself.

# What an experiment has found: its pictures, live; what comes out; one case from near; the rows as a file.

EMPTY = "Run the experiment: its pictures will be here, from the first rows on."
NEAR = "One case from near"


class ExperimentResults:
    """Shows one `ExperimentWork`, whatever is chosen meanwhile."""

    def __init__(self) -> None:
        self.work: ExperimentWork | None = None  # whose pictures these are
        self._next: ExperimentWork | None = None  # has nothing to show yet
        self._shown: Found | None = None
        tables = [css.TEXT, css.static("pages.css", "theory_table")]
        self.about, self.summary, self.near = (widgets.text(stylesheets=tables) for _ in range(3))
        sheets = [css.static("pages.css", "pictures")], [css.TEXT, css.static("pages.css", "picture_head")]
        self.pictures, self.examples = PicturesView(*sheets), PicturesView(*sheets)
        look = {**widgets.SMALL, "label": "Download CSV", "visible": False}
        self.download = pn.widgets.FileDownload(callback=self._csv, filename="pmdviz-experiment.csv", **look)
        pictures, examples = (pn.pane.Bokeh(view.layout, **widgets.WIDE) for view in (self.pictures, self.examples))
        parts = self.about, pictures, self.summary, self.near, examples
        self.view = pn.Column(*parts, css_classes=["pmdviz-experiment-results"], **widgets.WIDE)
        self.about.object = f"<p>{EMPTY}</p>"

    def begin(self, work: ExperimentWork) -> None:
        """Show this one as soon as it has rows; until then the old picture stays."""
        self._next = work
        self.look()

    def look(self) -> None:
        """Bring everything up to date; costs nothing while nothing has come."""
        if self._next is not None and self._next.found is not NOTHING_YET:
            self.work, self._next, self._shown = self._next, None, None
            self.pictures.forget()
            self.examples.forget()
        if self.work is None or self.work.found is self._shown:
            return
        self._shown = found = self.work.found
        file = f"pmdviz-{self.work.experiment.name}.csv"
        self.download.param.update(visible=bool(self.work.result.rows), filename=file)
        self.about.object = f"<p>{_about_run(self.work)}</p>"
        self.pictures.show(found.pictures)
        self.summary.object = _summary(found.summary)
        near = f'<div class="pmdviz-heading" role="heading" aria-level="3">{NEAR}</div>'
        self.near.object = near if found.examples else ""
        self.examples.show(found.examples, self.pictures.colours)

    def _csv(self) -> io.StringIO:
        return io.StringIO(self.work.result.csv() if self.work is not None else "")

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        self.pictures.set_theme(dark)
        self.examples.set_theme(dark)


def _about_run(work: ExperimentWork) -> str:
    """Whose pictures they are: settings may be turned meanwhile."""
    specs, turned = work.knobs.specs(), changed(work.knobs)
    parts = [f"{specs[name].label}: {specs[name].said(widgets.as_text(value))}" for name, value in turned.items()]
    return f"<b>{html.escape(work.experiment.title)}</b>, {html.escape('; '.join(parts) or 'with its defaults')}."


def _summary(entries: Sequence[Mapping[str, Value | None]]) -> str:
    heads = list(dict.fromkeys(name for entry in entries for name in entry))
    rows = [[_cell(entry.get(name)) for name in heads] for entry in entries]
    words = [name.replace("_", " ") for name in heads]
    return table("What comes out", words, rows, html.escape) if rows else ""  # names keep their underscores


def _cell(value: Value | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


DEFAULTS = "defaults"
BAD_LINK = "This link could not be read: {}. The page shows the default settings instead."


class ExperimentsPanel:
    """The chosen settings and the last run's rows. `begin(work)` starts one, `cancel()` ends it; a link `asked`."""

    def __init__(
        self, begin: Callable[[ExperimentWork], None], cancel: Callable[[], None], ack: Acknowledge, asked: Asked
    ) -> None:
        self._begin, self._busy = begin, False
        titles = {each.title: name for name, each in sorted(EXPERIMENTS.items())}
        starts = {DEFAULTS: "", **{each.title: name for name, each in EXPERIMENT_PRESETS.items()}}
        self.chosen = widgets.select("Experiment", titles, lambda name: self.choose(usual(name)))
        self.preset = widgets.select("Start from", starts, self._start_from, value="")
        self.about, self.form = widgets.text(margin=(4, 0)), widgets.KnobForm(self._turn)
        self.button = widgets.small_button("Run the experiment", self.run, color="primary", variant="solid")
        self.insist = widgets.small_button("Run it anyway", lambda: self.run(insist=True), visible=False)
        self.choice, trouble = usual(self.chosen.value), ""
        try:
            self.choice = read(asked) or self.choice
        except InputError as error:
            trouble = BAD_LINK.format(error)
        self.sharing = PageSharing[Choice](ack, lambda choice: experiment_query(asked_of(choice)), "?page=theory")
        self.sharing.shown, self.results = self.choice, ExperimentResults()
        buttons = self.button, self.insist, self.sharing.button, self.results.download
        self.line = widgets.WorkLine(trouble, cancel, *buttons)
        self._lay_out()
        self._show()

    def _lay_out(self) -> None:
        said = self.line.view, self.sharing.said, self.results.view
        parts = self.chosen, self.preset, self.about, self.form
        controls = pn.Column(*parts, css_classes=["pmdviz-experiment-setup"], **widgets.WIDE)
        right = pn.Column(*said, css_classes=["pmdviz-experiment-run"], **widgets.WIDE)
        look = {"stylesheets": [css.static("pages.css", "experiments")], "css_classes": ["pmdviz-experiments"]}
        self.view = pn.Column(controls, right, **look, **widgets.WIDE)

    # What a person chooses

    def _start_from(self, preset: str) -> None:
        self.choose(of_preset(preset) if preset else usual(self.choice.experiment))

    def choose(self, choice: Choice) -> None:
        """Show this one, not run yet."""
        if self._busy:
            return
        self.choice = choice
        self.insist.visible = False
        self._show()
        self.sharing.follow(choice)

    def _turn(self, name: str, value: Value) -> None:
        try:
            knobs = self.choice.knobs.replaced(**{name: value})
        except InputError as error:
            self.form.controls[name].refuse(error.on_page)
            return
        self.choose(self.choice._replace(knobs=knobs))

    def _show(self) -> None:
        """Set the controls to the chosen settings."""
        made, preset = EXPERIMENTS[self.choice.experiment], self.choice.preset
        self._busy = True
        try:
            self.chosen.value, self.preset.value = self.choice.experiment, preset
        finally:
            self._busy = False
        question = html.escape(find_experiment_preset(preset).question) if preset else ""
        asks = f'<p class="pmdviz-question">{question}</p>' if preset else ""
        self.about.object = f"{asks}{html.escape(made.about)} Source: {html.escape(made.source)}."
        self.form.rebuild(made.Knobs, made.Knobs.defaults().as_dict())
        self.form.show(self.choice.knobs, made.Knobs.defaults().as_dict(), {})

    # A run

    def run(self, insist: bool = False) -> None:
        """Run the chosen experiment, like its button; where it is too much only if a person insists."""
        self.insist.visible = False
        self._begin(ExperimentWork(self.choice.experiment, self.choice.knobs.as_dict(), insist))

    def stopped(self, error: BaseException) -> None:
        """It stopped, or was refused: a person may insist where that helps."""
        self.results.look()
        self.insist.visible = isinstance(error, TooMuch) and error.may_insist
        if isinstance(error, InputError) and error.field in self.form.controls:
            self.form.controls[error.field].refuse(error.on_page)


def measured_words(what: str, result: ExperimentResult) -> str:
    """The closing sentence on a result; `what` are its rows."""
    failed = f" {len(result.failed)} could not be computed: {result.failed[0]}" if result.failed else ""
    return f"{len(result.rows):,} {what} measured.{failed}"


def table(
    caption: str, head: Iterable[str], body: Iterable[Iterable[str]], shown: Callable[[str], str] = typeset
) -> str:
    """A table of words and formulas as HTML, or of names as they are (`shown` html.escape); wide ones scroll."""
    heads = "".join(f'<th scope="col">{shown(cell)}</th>' for cell in head)
    rows = "".join("<tr>" + "".join(f"<td>{shown(cell)}</td>" for cell in row) + "</tr>" for row in body)
    made = f"<caption>{html.escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>"
    return f'<div class="pmdviz-scroll" tabindex="0"><table>{made}</table></div>'


# The page.

SEEDS = (4, 8, 20, 50)
STEPS = 15  # of Theorem 2's table
SECTIONS = {
    "sweep": ("Error against particles, steps or data", ABOUT_SWEEP),
    "recurrence": ("Theorem 2, term by term", typeset(ABOUT_RECURRENCE)),
    "costs": ("Table 1: time and memory", ABOUT_COSTS),
    "experiments": ("Every experiment", ABOUT_EXPERIMENTS),
}


class TheoryPage(Page):
    """Measured errors and the bounds; a page of the app. `asked`: what its link says of an experiment."""

    def __init__(self, asked: Asked = NOTHING) -> None:
        self.work: Measurement | None = None
        self._slot = TaskSlot(self._look, LOOK_EVERY_S, patience_s=BACK_S)
        self._line: widgets.WorkLine | None = None  # of the work under way
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
        self.target = widgets.select("Posterior", target_titles(), value="gaussian")
        self.strategy = widgets.select("Particles", titles(theory.STRATEGIES), value="particles")
        self.varied = widgets.select("Varied setting", varied, value="mT")
        self.error = widgets.select("Error", titles(ERRORS), lambda error: self._redraw(), value="bounded")
        self.seeds = widgets.select("Runs at each value", [*SEEDS], value=20)
        acts = {"Measure": self._sweep, "Theorem 2, term by term": self._recurrence, "Time and memory": self._costs}
        main = {"Measure": {"color": "primary", "variant": "solid"}}  # what one presses first
        self.buttons = {label: widgets.small_button(label, act, **main.get(label, {})) for label, act in acts.items()}
        lines = [widgets.WorkLine("", self._cancel, button) for button in self.buttons.values()]
        self.line, self.recurrence_line, self.cost_line = lines
        self.line.say(STORED_WORDS.format(len(self._rows)))
        chosen = (self.target, self.strategy, self.varied, self.error, self.seeds)
        for each in chosen:
            each.param.update(sizing_mode=None, width=250, margin=0)
        look = {"gap": "8px 12px", "css_classes": ["pmdviz-theory-setup"], "margin": (8, 0, 0, 0)}
        self.setup = pn.FlexBox(*chosen, **look), widgets.text(SEEDS_WORDS)

    def _make_view(self, opened: str) -> None:
        tables = [css.TEXT, css.static("pages.css", "theory_table")]
        self.foot = pn.Row(margin=0)  # nothing plays here
        self.found = widgets.text(css_classes=["pmdviz-theory-found"], stylesheets=tables)
        self.recurrence_words = widgets.text(stylesheets=tables)
        figure = pn.pane.Bokeh(self.recurrence_view.layout, **widgets.WIDE)  # it has no element of its own to hide
        self.recurrence_pane = pn.Column(figure, visible=False, **widgets.WIDE)
        self.cost_words = widgets.text(cost_table([]), stylesheets=tables)
        parts = {
            "sweep": (self.found, pn.pane.Bokeh(self.sweep_view.layout, **widgets.WIDE), *self.setup, self.line.view),
            "recurrence": (self.recurrence_line.view, self.recurrence_pane, self.recurrence_words),
            "costs": (self.cost_line.view, self.cost_words),
            "experiments": (self.experiments.view,),
        }
        question = widgets.text(QUESTION, stylesheets=[css.TEXT, css.static("pages.css", "race_heading")])
        contents = widgets.Section(places=[[key, title] for key, (title, _) in SECTIONS.items()], **widgets.WIDE)
        look = {"stylesheets": [css.static("pages.css", "theory")], "css_classes": ["pmdviz-theory"], **widgets.WIDE}
        self.view, self.sections = pn.Column(question, contents, **look), {}
        for key, (title, about) in SECTIONS.items():
            self.sections[key] = widgets.Section(key=key, title=title, opened=key == opened, **widgets.WIDE)
            self.view.extend([self.sections[key], widgets.text(about, stylesheets=tables), *parts[key]])

    # A page of the app

    def start(self, doc: Document | None = None) -> None:
        """Begin; nothing is computed before a button is pressed."""
        self.ack.keyboard = True

    def take(self, asked: Asked) -> None:
        """Show an experiment that another page or a lesson names."""
        self._cancel()
        if (choice := read(asked)) is not None:
            self.experiments.choose(choice)
            self.sections["experiments"].opened = True

    def look(self, on: bool) -> None:
        """A measurement goes on while another page is seen: its progress is in the tab; the address is theirs."""
        self.ack.keyboard = on

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        for view in (self.sweep_view, self.recurrence_view, self.experiments.results):
            view.set_theme(dark)

    def stop(self) -> None:
        """The page is closed: end the work."""
        self._cancel()

    # Work

    def _begin(
        self,
        work: Measurement,
        line: widgets.WorkLine,
        end: Callable[[ExperimentResult], str],
        look: Callable[[], None] = lambda: None,
        stopped: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        """Follow `work` and say in `line` how far it is: `look` draws what there is, `end` the result.

        `end` says what came out; `stopped` gets the reason if nothing did.
        """

        def ended(task: Task) -> None:
            if not self._rows:
                self._show_nothing(EMPTY_WORDS)
            found = task.outcome()
            look()
            line.say(found.words or end(found.result))
            if found.error is not None:
                stopped(found.error)
            self._show_running(False)
            self.on_note("")

        self.work, self._line, self._draw = work, line, look
        self._show_running(True)
        self._slot.follow(work, ended)
        self._look()

    def _show_running(self, on: bool) -> None:
        for button in self.buttons.values():
            button.disabled = on
        self._line.show(on)

    def _look(self) -> None:
        if self._slot.running:
            self._line.say(self.work.words)
            self.on_note(self.work.short)
            self._draw()

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
        self._begin(work, self.line, partial(measured_words, "runs"), self._redraw)

    def _redraw(self) -> None:
        """Draw the rows that are there; another error needs no new runs."""
        if not self._rows:
            self._show_nothing(self._nothing)
            return
        rows = [row for row in self._rows if not row.get("failed")]
        knobs = CONVERGENCE.Knobs.checked({**self._measured, "error": self.error.value})
        fit = CONVERGENCE.fit(rows, knobs)
        self.sweep_view.show([sweep_chart(rows, knobs, fit)])
        self.found.object = found_words(fit, knobs)

    def _show_nothing(self, words: str) -> None:
        """Empty axes under words that say why."""
        self._nothing = words
        self.sweep_view.show([Chart([], VARIED[self.varied.value].axis, ERRORS[self.error.value][0], title=words)])

    # Theorem 2, Table 1 and every experiment

    def _recurrence(self) -> None:
        strategy = self.strategy.value
        knobs = {"target": self.target.value, "strategy": strategy, "runs": RUNS, "steps": STEPS}
        work = Measurement(lambda tell: _run("recurrence", knobs, tell), "runs")
        self._begin(work, self.recurrence_line, lambda found: self._recurred(found, strategy))

    def _recurred(self, found: ExperimentResult, strategy: str) -> str:
        rows = theory.mean_terms(found.rows)
        self.recurrence_view.show([recurrence_chart(rows)])
        self.recurrence_pane.visible = True
        self.recurrence_words.object = recurrence_table(rows)
        loose = rows[-1].proved / max(rows[-1].measured, 1e-12)
        alone = theory.unrolled(rows)[-1]
        said = (
            f"After {len(rows)} steps KL(p‖q) = {number(rows[-1].measured)} nats. The one-step bound is "
            f"{number(loose, 2)} times larger; the bound accumulated from the start is {number(alone)} nats."
        )
        return f"{said} {covered_words(strategy)}".strip()

    def _costs(self) -> None:
        work = Measurement(lambda tell: _run("costs", {}, tell), "measurements")
        self._begin(work, self.cost_line, self._costed)

    def _costed(self, found: ExperimentResult) -> str:
        self.cost_words.object = cost_table(costs_of(found.rows))
        return "Time and memory are in the table."

    def _experiment(self, work: ExperimentWork) -> None:
        panel = self.experiments
        if (self.work is None or self.work.over) and self.gate("experiment"):
            panel.results.begin(work)
            measured = Measurement(work.act, "cases")
            self._begin(measured, panel.line, self._experimented, panel.results.look, panel.stopped)

    def _experimented(self, result: ExperimentResult) -> str:
        self.experiments.results.look()
        self.on_show(result)
        return measured_words("rows", result)


def _run(
    name: str, knobs: dict[str, Value], tell: Tell, on_row: Callable[[Row], None] = lambda row: None
) -> ExperimentResult:
    return run_experiment(name, knobs, workers=WORKERS, progress=tell, niceness=GIVES_WAY, on_row=on_row)
