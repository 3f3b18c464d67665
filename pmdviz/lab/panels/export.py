"""The Export panel: what kind of file, how it looks, how far it is, and the file itself."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import panel as pn

from pmdviz.engine.run import Run
from pmdviz.errors import InputError
from pmdviz.experiments.race import RaceResult
from pmdviz.export import WRITERS, check
from pmdviz.export.options import SIZES, Look, RaceLook
from pmdviz.export.writers import install_command
from pmdviz.lab import css
from pmdviz.lab.controls.knobs import KnobForm
from pmdviz.lab.controls.playback import SMALL, small_button
from pmdviz.lab.loop.locked import handed, in_a_while
from pmdviz.lab.loop.task import Task, TaskSlot
from pmdviz.lab.loop.work import ExportTask
from pmdviz.lab.panel_internals import LabelledSelect

LOOK_EVERY_S = 0.25
FREE_AFTER_S = 20.0  # after the download began: until then the widget holds a copy of the file
OWN = "own size"


class Subject(NamedTuple):
    """What a page exports."""

    name: str  # of the file
    looks: type[Look]
    of: Callable[[Any], Run | RaceResult]  # as the runner has it between two steps; may raise InputError


RUN = Subject("pmdviz", Look, lambda runner: runner.session.run)
RACE = Subject("pmdviz-race", RaceLook, lambda runner: runner.result())


class ExportPanel:
    """A folded card; what is in it is made when it is first opened.

    Parameters
    ----------
    ask : function
        Takes an act on the runner and has it done between two steps.
    subject : Subject
        What is exported.
    """

    def __init__(self, ask: Callable[[Callable[[Any], Any]], None], subject: Subject = RUN) -> None:
        self._ask, self.subject = ask, subject
        self._usual = subject.looks.defaults()
        self.work: ExportTask | None = None
        self._slot = TaskSlot(self._look, LOOK_EVERY_S)
        self._ready: ExportTask | None = None  # whose file is ready; it stays until the next one is there
        self.look = self._usual
        header = pn.pane.HTML("Export: film, page, picture, table", stylesheets=[css.TEXT], margin=(4, 0))
        look: dict[str, Any] = {"margin": (12, 0, 8, 0), "stylesheets": [css.FOLDED], "sizing_mode": "stretch_width"}
        self.view = pn.Card(header=header, collapsed=True, name=f"{subject.name}-exports", **look)
        self.view.param.watch(handed(self._on_open), "collapsed")

    def _on_open(self, event: Any) -> None:
        if not event.new and not len(self.view):
            self._build()

    def _build(self) -> None:
        wide: dict[str, Any] = {"stylesheets": [css.SELECT], "sizing_mode": "stretch_width", "margin": (4, 8)}
        kinds = {f"{suffix[1:].upper()}: {writer.title}": suffix for suffix, writer in WRITERS.items()}
        lost = {suffix: writer.missing for suffix, writer in WRITERS.items() if writer.missing}
        first = next(suffix for suffix in WRITERS if suffix not in lost)
        self.kind = LabelledSelect(
            label="Kind of file", options=kinds, value=first, disabled_options=list(lost), **wide
        )
        self.lost = pn.pane.HTML(lost_words(lost), margin=(0, 8), stylesheets=[css.TEXT], sizing_mode="stretch_width")
        self.size = pn.widgets.Select(label="Size", options=[*SIZES, OWN], value="960x540", **wide)
        self.form = KnobForm(self._turn)
        self.make = small_button("Export")
        self.stop_it = small_button("Cancel", visible=False)
        self.download = pn.widgets.FileDownload(callback=self._file, filename="pmdviz", visible=False, **SMALL)
        self.said = pn.pane.HTML("", margin=(6, 8), stylesheets=[css.TEXT], sizing_mode="stretch_width")
        self.kind.param.watch(handed(lambda event: self._show_form()), "value")
        self.size.param.watch(handed(self._on_size), "value")
        self.make.on_click(handed(lambda event: self._begin()))
        self.stop_it.on_click(handed(lambda event: self._cancel()))
        self._show_form()
        buttons = pn.FlexBox(self.make, self.stop_it, self.download, gap="6px", margin=(4, 8))
        self.view.extend([self.kind, self.lost, buttons, self.said, self.size, self.form])  # the form is long

    # Options

    def _show_form(self) -> None:
        """The options that mean something to the chosen kind of file."""
        names = WRITERS[self.kind.value].options
        usual, specs = self._usual.as_dict(), self.subject.looks.specs()
        self.form.build({name: specs[name] for name in Look.specs() if name in names}, usual)
        self.size.visible = "width" in names
        self.form.show(self.look, usual, {})

    def _turn(self, name: str, value: Any) -> None:
        try:
            self.look = self.look.replaced(**{name: value})
        except InputError as error:
            self.form.controls[name].refuse(error.on_page)
            return
        self.size.value = next((n for n, s in SIZES.items() if s == (self.look.width, self.look.height)), OWN)
        self.form.show(self.look, self._usual.as_dict(), {})

    def _on_size(self, event: Any) -> None:
        if event.new in SIZES:
            width, height = SIZES[event.new]
            self.look = self.look.replaced(width=width, height=height)
            self.form.show(self.look, self._usual.as_dict(), {})

    def options(self) -> dict[str, Any]:
        """What differs from the usual, of what means something to the chosen kind."""
        usual, values = self._usual.as_dict(), self.look.as_dict()
        return {k: values[k] for k in WRITERS[self.kind.value].options if values[k] != usual[k]}

    # The work

    def _begin(self) -> None:
        if self.work is not None and not self.work.over:
            return
        work = ExportTask(f"{self.subject.name}{self.kind.value}", self.options())
        try:
            check(work.path, self.options(), self.subject.looks)
        except InputError as error:
            work.clear()
            self._refuse(error.on_page)
            return
        self.work, self._slot.doc = work, pn.state.curdoc
        self.make.disabled, self.stop_it.visible = True, True
        self._say(work.words())
        self._ask(lambda runner: self._take(runner, work))
        self._slot.follow(work, self._show_end)

    def _take(self, runner: Any, work: ExportTask) -> Any:
        """Runs between two steps: the run or race as it stands goes to the export's own thread."""
        try:
            work.make(self.subject.of(runner))
        except InputError as error:
            work.fail(error)
        return runner.snapshot()

    def _look(self) -> None:
        """Say how far it is."""
        if self._slot.running:
            self._say(self.work.words())

    def _show_end(self, task: Task) -> None:
        self.make.disabled, self.stop_it.visible = False, False
        work, found = self.work, task.outcome()
        if found.cancelled:
            self._say("Cancelled: no file was made.")
        elif found.error is None:
            self._offer(work)
            self._say(f"{found.result.name} is ready.")
        else:
            work.clear()
            self._refuse(found.words)

    def _offer(self, work: ExportTask) -> None:
        """The new file in place of the one before."""
        if self._ready is not None:
            self._ready.clear()
        self._ready = work
        words = f"Download {work.name} ({_size(work.path)})"
        self.download.param.update(data="", filename=work.name, label=words, visible=True)

    def _withdraw(self) -> None:
        """Offer no file beside an error: it would be taken for the one that was asked for."""
        self.download.visible = False

    def _refuse(self, words: str) -> None:
        self._withdraw()
        self._say(words)

    def _cancel(self) -> None:
        if self.work is not None and not self.work.over:  # a click may come when the file is just ready
            self.work.cancel()

    def _file(self) -> Path:
        """The file for the browser; the copy that the widget holds is let go when it has gone out."""
        in_a_while(FREE_AFTER_S, self._slot.doc, self._free)
        return self._ready.path

    def _free(self) -> None:
        self.download.data = ""

    def stop(self) -> None:
        """The page is closed: end the work and delete the files."""
        for work in (self.work, self._ready):
            if work is not None:
                work.cancel()

    def _say(self, words: str) -> None:
        self.said.object = f'<span role="status" class="pmdviz-export-status">{html.escape(words)}</span>'


def lost_words(lost: Mapping[str, Sequence[str]]) -> str:
    """What cannot be made here, suffix -> missing modules, and the command that helps; as HTML."""
    if not lost:
        return ""
    kinds = " and ".join(suffix[1:].upper() for suffix in lost)
    command = install_command(dict.fromkeys(module for modules in lost.values() for module in modules))
    return (
        f'<div class="pmdviz-export-lost">{kinds} cannot be chosen here: a library is not installed. In a terminal of '
        f"the computer that serves this page: <code>{html.escape(command)}</code> Then reload the page.</div>"
    )


def _size(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.2f} MB"
