"""The Theory page: experiments, first how fast the error falls next to the theorems, with knobs and live pictures."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources

import panel as pn

from pmdviz.errors import InputError
from pmdviz.experiments import TooMuch
from pmdviz.experiments.running import EXPERIMENTS, ExperimentResult
from pmdviz.knobs import Knobs, Value
from pmdviz.lab import css
from pmdviz.lab.links import NOTHING, Asked, experiment_query
from pmdviz.lab.loop.frame_sender import make_acknowledge
from pmdviz.lab.loop.task import Task, TaskSlot
from pmdviz.lab.loop.work import BACK_S, LOOK_EVERY_S, NOTHING_YET, ExperimentWork, Found
from pmdviz.lab.page import Page
from pmdviz.lab.panels import widgets
from pmdviz.lab.panels.sharing import Choice, PageSharing, asked_of, changed, of_preset, read, usual
from pmdviz.presets import EXPERIMENT_PRESETS, find_experiment_preset
from pmdviz.scenes.words import number, typeset
from pmdviz.views import PicturesView

# What an experiment has found: its pictures, live; what comes out; one case from near; the rows as a file.

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

    def begin(self, work: ExperimentWork) -> None:
        """Show this one as soon as it has rows; until then the old picture stays."""
        self._next = work
        self.look()

    def judge_by(self, knobs: Knobs) -> None:
        """Draw the same rows by other knobs, where these change pictures and summary alone."""
        if self.work is not None and (again := self.work.judged_by(knobs)) is not None:
            self.begin(again)

    def look(self) -> None:
        """Bring everything up to date; costs nothing while nothing has come."""
        if self._next is not None and self._next.found is not NOTHING_YET:
            self.work, self._next, self._shown = self._next, None, None
            self.pictures.colours, self.examples.colours = {}, {}
        if self.work is None or self.work.found is self._shown:
            return
        self._shown = found = self.work.found
        file = f"pmdviz-{self.work.experiment.name}.csv"
        self.download.param.update(visible=bool(self.work.so_far.rows), filename=file)
        self.about.object = f"<p>{_about_run(self.work)}</p>"
        self.pictures.show(found.pictures)
        self.summary.object = _summary(found.summary)
        near = f'<div class="pmdviz-heading" role="heading" aria-level="3">{NEAR}</div>'
        self.near.object = near if found.examples else ""
        self.examples.show(found.examples, self.pictures.colours)

    def _csv(self) -> io.StringIO:
        return io.StringIO(self.work.so_far.csv() if self.work is not None else "")

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
    return table("What comes out", words, rows) if rows else ""


def _cell(value: Value | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def table(caption: str, head: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    """A table of words as HTML; wide ones scroll."""
    heads = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    made = f"<caption>{html.escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>"
    return f'<div class="pmdviz-scroll" tabindex="0"><table>{made}</table></div>'


# The page.

QUESTION = "<h2>Does the error fall as the theorems say?</h2>"
EMPTY = "Run the experiment: its pictures will be here, from the first rows on."
FIRST, DEFAULTS = "convergence", "defaults"
STORED = resources.files("pmdviz.experiments") / "sweep.json"  # its command is in it
STORED_WORDS = "A stored sweep of {} runs. Run the experiment here, with your own settings."
BAD_LINK = "This link could not be read: {}. The page shows the default settings instead."


class TheoryPage(Page):
    """Every experiment: a new one is here by itself. A page of the app; `asked`: what its link says.

    A measurement goes on while another page is seen: its progress is in the tab; the address is theirs.
    """

    def __init__(self, asked: Asked = NOTHING) -> None:
        self.work: ExperimentWork | None = None
        self._slot = TaskSlot(self._look, LOOK_EVERY_S, patience_s=BACK_S)
        self._busy = False
        titles = {each.title: name for name, each in sorted(EXPERIMENTS.items())}
        starts = {DEFAULTS: "", **{each.title: name for name, each in EXPERIMENT_PRESETS.items()}}
        self.chosen = widgets.select("Experiment", titles, lambda name: self.choose(usual(name)), value=FIRST)
        self.preset = widgets.select("Start from", starts, self._start_from, value="")
        self.about, self.form = widgets.text(margin=(4, 0)), widgets.KnobForm(self._turn)
        self.button = widgets.small_button("Run the experiment", self.run, color="primary", variant="solid")
        self.insist = widgets.small_button("Run it anyway", lambda: self.run(insist=True), visible=False)
        self.results = ExperimentResults()
        said = EMPTY
        if not any(asked):
            stored = json.loads(STORED.read_text(encoding="utf-8"))
            made = ExperimentResult(FIRST, stored["knobs"], stored["rows"])
            self.results.begin(ExperimentWork(FIRST, stored["knobs"], known=made))
            said = STORED_WORDS.format(len(made.rows))
        self.choice = usual(FIRST)
        try:
            self.choice = read(asked) or self.choice
        except InputError as error:
            said = BAD_LINK.format(error)
        self.ack = make_acknowledge(self.results.pictures.layout, name="theory-acknowledge")
        self.sharing = PageSharing[Choice](self.ack, lambda choice: experiment_query(asked_of(choice)), "?page=theory")
        self.sharing.shown = self.choice
        buttons = self.button, self.insist, self.sharing.button, self.results.download
        self.stop_it, self.said = widgets.small_button("Cancel", self._slot.cancel, visible=False), widgets.text()
        widgets.say(self.said, said)
        self.foot = pn.Row(margin=0)  # nothing plays here
        setup = self.chosen, self.preset, self.about, self.form
        line = pn.Column(pn.FlexBox(*buttons, self.stop_it, gap="6px", margin=(4, 0)), self.said, **widgets.WIDE)
        run = line, self.sharing.said, self.results.view
        controls = pn.Column(*setup, css_classes=["pmdviz-experiment-setup"], **widgets.WIDE)
        right = pn.Column(*run, css_classes=["pmdviz-experiment-run"], **widgets.WIDE)
        look = {"stylesheets": [css.static("pages.css", "experiments")], "css_classes": ["pmdviz-experiments"]}
        question = widgets.text(QUESTION, stylesheets=[css.TEXT, css.static("pages.css", "race_heading")])
        parts = question, pn.Column(controls, right, **look, **widgets.WIDE)
        look = {"stylesheets": [css.static("pages.css", "theory")], "css_classes": ["pmdviz-theory"]}
        self.view = pn.Column(*parts, **look, **widgets.WIDE)
        self._show()

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
        if not self._slot.running:  # else at its end
            self.results.judge_by(choice.knobs)
        self.sharing.follow(choice)

    def _turn(self, name: str, value: Value) -> None:
        self.choose(self.choice._replace(knobs=self.choice.knobs.replaced(**{name: value})))

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
        self.about.object = f"{asks}{typeset(made.about)} Source: {html.escape(made.source)}."
        self.form.show(self.choice.knobs, made.Knobs.defaults().as_dict())

    # A page of the app

    def take(self, asked: Asked) -> None:
        """Show an experiment that another page or a lesson names."""
        self._slot.cancel()
        if (choice := read(asked)) is not None:
            self.choose(choice)

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        self.results.set_theme(dark)

    def stop(self) -> None:
        """The page is closed: end the work."""
        self._slot.cancel()

    # A run

    def run(self, insist: bool = False) -> None:
        """Run the chosen experiment, like its button; where it is too much only if a person insists."""
        self.insist.visible = False
        if (self.work is None or self.work.over) and self.gate("experiment"):
            self.work = ExperimentWork(self.choice.experiment, self.choice.knobs.as_dict(), insist)
            self.results.begin(self.work)
            self.work.measure()
            self._slot.follow(self.work, self._ended)
            self._look()

    def _ended(self, task: Task) -> None:
        """Say what came out; of a refusal a person may insist where that helps."""
        found = task.outcome()
        self.results.look()
        widgets.say(self.said, found.words or _measured_words(found.result))
        if found.result is not None:
            self.results.judge_by(self.choice.knobs)
            self.on_show(found.result)
        self.insist.visible = isinstance(found.error, TooMuch) and found.error.may_insist
        if isinstance(found.error, InputError) and found.error.field in self.form.controls:
            self.form.controls[found.error.field].refuse(found.error.on_page)
        self.on_note("")

    def _look(self) -> None:
        self.button.disabled = self.stop_it.visible = self._slot.running
        if self._slot.running:
            widgets.say(self.said, self.work.words)
            self.on_note(self.work.short)
            self.results.look()


def _measured_words(result: ExperimentResult) -> str:
    """The closing sentence on a result."""
    failed = f" {len(result.failed)} could not be computed: {result.failed[0]}" if result.failed else ""
    return f"{len(result.rows):,} rows measured.{failed}"
