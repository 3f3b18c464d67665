"""Every experiment of the table with its knobs, live pictures and a link: a new one is here by itself."""

from __future__ import annotations

import html
import io
from collections.abc import Callable, Iterable, Mapping, Sequence

import panel as pn

from pmdviz.errors import InputError
from pmdviz.experiments.base import Experiment, Picture, TooMuch
from pmdviz.experiments.running import EXPERIMENTS, ExperimentResult
from pmdviz.knobs import Value
from pmdviz.lab import css
from pmdviz.lab.controls.sharing import Choice, PageSharing, changed, experiment_query, of_preset, read, usual
from pmdviz.lab.controls.widgets import SMALL, WIDE, KnobForm, as_text, select, small_button, text
from pmdviz.lab.links import NOTHING, Asked
from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.lab.loop.work import NOTHING_YET, ExperimentWork, Found
from pmdviz.lab.panels.cards import WorkLine
from pmdviz.presets import EXPERIMENT_PRESETS, find_experiment_preset
from pmdviz.scenes.words import number, typeset
from pmdviz.views import PicturesView

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
        self.about, self.summary, self.near = (text(stylesheets=tables) for _ in range(3))
        sheets = [css.static("pages.css", "pictures")], [css.TEXT, css.static("pages.css", "picture_head")]
        self.pictures, self.examples = PicturesView(*sheets), PicturesView(*sheets)
        self.download = pn.widgets.FileDownload(
            callback=self._csv, filename="pmdviz-experiment.csv", label="Download CSV", **{**SMALL, "visible": False}
        )
        pictures, examples = (pn.pane.Bokeh(view.layout, **WIDE) for view in (self.pictures, self.examples))
        parts = self.about, pictures, self.summary, self.near, examples
        self.view = pn.Column(*parts, css_classes=["pmdviz-experiment-results"], **WIDE)
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
        self.download.param.update(
            visible=bool(self.work.result.rows), filename=f"pmdviz-{self.work.experiment.name}.csv"
        )
        self.about.object = f"<p>{_about(self.work)}</p>"
        self.pictures.show(found.pictures)
        self._show_end(found.summary, found.examples)

    def _show_end(self, summary: Sequence[Mapping[str, Value | None]], examples: Sequence[Picture]) -> None:
        self.summary.object = _summary(summary)
        self.near.object = f'<div class="pmdviz-heading" role="heading" aria-level="3">{NEAR}</div>' if examples else ""
        self.examples.show(examples, self.pictures.colours)

    def _csv(self) -> io.StringIO:
        return io.StringIO(self.work.result.csv() if self.work is not None else "")

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        self.pictures.set_theme(dark)
        self.examples.set_theme(dark)


def _about(work: ExperimentWork) -> str:
    """Whose pictures they are: settings may be turned meanwhile."""
    specs = work.knobs.specs()
    parts = [f"{specs[name].label}: {specs[name].said(as_text(value))}" for name, value in changed(work.knobs).items()]
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
        self,
        begin: Callable[[ExperimentWork], None],
        cancel: Callable[[], None],
        ack: Acknowledge,
        asked: Asked = NOTHING,
    ) -> None:
        self._begin, self._busy = begin, False
        titles = {each.title: name for name, each in sorted(EXPERIMENTS.items())}
        starts = {DEFAULTS: "", **{each.title: name for name, each in EXPERIMENT_PRESETS.items()}}
        self.chosen = select("Experiment", titles, lambda name: self.choose(usual(name)))
        self.preset = select("Start from", starts, self._start_from, value="")
        self.about, self.form = text(margin=(4, 0)), KnobForm(self._turn)
        self.button = small_button("Run the experiment", self.run, color="primary", variant="solid")
        self.insist = small_button("Run it anyway", lambda: self.run(insist=True), visible=False)
        self.choice, trouble = self._opened(asked)
        self.sharing = PageSharing(ack, experiment_query, "?page=theory")
        self.sharing.shown, self.results = self.choice, ExperimentResults()
        buttons = self.button, self.insist, self.sharing.button, self.results.download
        self.line = WorkLine("", cancel, *buttons)
        self._lay_out()
        self._show()
        if trouble:
            self.line.say(BAD_LINK.format(trouble))

    def _opened(self, asked: Asked) -> tuple[Choice, str]:
        """What a link says, and why it could not be read."""
        first = usual(self.chosen.value)
        try:
            return read(asked) or first, ""
        except InputError as error:
            return first, str(error)

    def _lay_out(self) -> None:
        said = self.line.view, self.sharing.said
        parts = self.chosen, self.preset, self.about, self.form
        controls = pn.Column(*parts, css_classes=["pmdviz-experiment-setup"], **WIDE)
        right = pn.Column(*said, self.results.view, css_classes=["pmdviz-experiment-run"], **WIDE)
        self.view = pn.Column(
            controls,
            right,
            stylesheets=[css.static("pages.css", "experiments")],
            css_classes=["pmdviz-experiments"],
            **WIDE,
        )

    @property
    def _experiment(self) -> Experiment:
        return EXPERIMENTS[self.choice.experiment]

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
        made, preset = self._experiment, self.choice.preset
        self._busy = True
        try:
            self.chosen.value, self.preset.value = self.choice.experiment, preset
        finally:
            self._busy = False
        asks = (
            f'<p class="pmdviz-question">{html.escape(find_experiment_preset(preset).question)}</p>' if preset else ""
        )
        self.about.object = f"{asks}{html.escape(made.about)} Source: {html.escape(made.source)}."
        self.form.rebuild(made.Knobs, made.Knobs.defaults().as_dict())
        self.form.show(self.choice.knobs, made.Knobs.defaults().as_dict(), {})

    # A run

    def run(self, insist: bool = False) -> None:
        """Run the chosen experiment, like its button; where it is too much only if a person insists."""
        self.insist.visible = False
        self._begin(ExperimentWork(self.choice.experiment, self.choice.knobs.as_dict(), insist))

    def ended(self, result: ExperimentResult) -> str:
        """The closing sentence."""
        self.results.look()
        failed = f" {len(result.failed)} could not be computed: {result.failed[0]}" if result.failed else ""
        return f"{len(result.rows):,} rows measured.{failed}"

    def stopped(self, error: BaseException) -> None:
        """It stopped, or was refused: a person may insist where that helps."""
        self.results.look()
        self.insist.visible = isinstance(error, TooMuch) and error.may_insist
        if isinstance(error, InputError) and error.field in self.form.controls:
            self.form.controls[error.field].refuse(error.on_page)

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        self.results.set_theme(dark)


def table(
    caption: str, head: Iterable[str], body: Iterable[Iterable[str]], shown: Callable[[str], str] = typeset
) -> str:
    """A table of words and formulas as HTML, or of names as they are (`shown` html.escape); wide ones scroll."""
    heads = "".join(f'<th scope="col">{shown(cell)}</th>' for cell in head)
    rows = "".join("<tr>" + "".join(f"<td>{shown(cell)}</td>" for cell in row) + "</tr>" for row in body)
    made = (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )
    return f'<div class="pmdviz-scroll" tabindex="0">{made}</div>'
