"""What an experiment has found: its pictures, live; what comes out; one case from near; the rows as a file."""

from __future__ import annotations

import html
import io
from collections.abc import Mapping, Sequence
from typing import Any

import panel as pn

from pmdviz.lab import css
from pmdviz.lab.controls.buttons import SMALL
from pmdviz.lab.controls.experiment_sharing import changed
from pmdviz.lab.controls.knobs import as_text
from pmdviz.lab.loop.work.experiment import NOTHING_YET, ExperimentWork
from pmdviz.lab.panels.theory_tables import table
from pmdviz.scenes.words import number
from pmdviz.views.pictures import PicturesView

EMPTY = "Run the experiment: its pictures will be here, from the first rows on."
NEAR = "One case from near"


class ExperimentResults:
    """Shows one `ExperimentWork`, whatever is chosen meanwhile."""

    def __init__(self) -> None:
        text: dict[str, Any] = {"stylesheets": [css.TEXT, css.static("theory_table.css")], "margin": 0}
        text["sizing_mode"] = "stretch_width"
        self.work: ExperimentWork | None = None  # whose pictures these are
        self._next: ExperimentWork | None = None  # has nothing to show yet
        self._shown: Any = None
        self.about, self.summary, self.near = (pn.pane.HTML("", **text) for _ in range(3))
        sheets = [css.static("pictures.css")], [css.TEXT, css.static("picture_head.css")]
        self.pictures, self.examples = PicturesView(*sheets), PicturesView(*sheets)
        self.download = pn.widgets.FileDownload(
            callback=self._csv, filename="pmdviz-experiment.csv", label="Download CSV", **{**SMALL, "visible": False}
        )
        self.view = pn.Column(
            self.about,
            pn.pane.Bokeh(self.pictures.layout, sizing_mode="stretch_width", margin=0),
            self.summary,
            self.near,
            pn.pane.Bokeh(self.examples.layout, sizing_mode="stretch_width", margin=0),
            css_classes=["pmdviz-experiment-results"],
            sizing_mode="stretch_width",
            margin=0,
        )
        self.about.object = f"<p>{EMPTY}</p>"

    def begin(self, work: ExperimentWork) -> None:
        """Show this one as soon as it has rows; until then what was there stays."""
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

    def _show_end(self, summary: Sequence[Mapping[str, Any]], examples: Sequence[Any]) -> None:
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


def _summary(entries: Sequence[Mapping[str, Any]]) -> str:
    heads = list(dict.fromkeys(name for entry in entries for name in entry))
    rows = [[_cell(entry.get(name)) for name in heads] for entry in entries]
    words = [name.replace("_", " ") for name in heads]
    return table("What comes out", words, rows, html.escape) if rows else ""  # names keep their underscores


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
