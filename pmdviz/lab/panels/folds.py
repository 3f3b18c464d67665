"""Cards that open in a lab: "See inside this step", the goodness-of-fit test and the export of files.

A card's content is made when it is first opened, and follows the run by `show`.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.models import Plot
from panel.custom import JSComponent

from pmdviz.engine.frame import Frame
from pmdviz.errors import InputError
from pmdviz.experiments.fit_statistics import FIT_TESTS
from pmdviz.experiments.fit_testing import FitResult, test_fit
from pmdviz.export import WRITERS, check
from pmdviz.export.options import SIZES, Look
from pmdviz.export.writers import install_command
from pmdviz.files import Json
from pmdviz.kernels.compiling import FIT_GROUPS, compiler
from pmdviz.kernels.jit import DEFAULT
from pmdviz.knobs import Value
from pmdviz.lab import css
from pmdviz.lab.loop.recorded import as_live
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.loop.task import Outcome, Slices, Task, TaskSlot, Tell
from pmdviz.lab.loop.work import TELL_S, ExportTask
from pmdviz.lab.panel_internals import LabelledSelect, handed, in_a_while
from pmdviz.lab.panels import widgets
from pmdviz.scenes.words import whole_sentence
from pmdviz.targets import Target
from pmdviz.views import figures

# "Inside this step": what each term of the update did to each particle.

INSIDE, INSIDE_OPEN = "pmdviz-inside", "pmdviz-inside-open"  # open it is there in presenter mode too


class InsideView(JSComponent):
    """The content of the card; drawn by the script that an exported player has too."""

    told = param.String(default="", doc="JSON of `scenes.inside`.")
    dark = param.Boolean(default=False)
    stage = param.String(default="", doc="Id of the figure whose particles a tap picks.")
    freezes = param.Integer(default=0, doc="Raised by the browser: the run is to pause.")
    seen = param.Integer(default=0, doc="Raised by the server: the card was opened by a key and is to be seen.")

    _esm = figures.inside_script() + css.static("page.js", "inside")
    _stylesheets = [figures.inside_stylesheet()]


class InsidePanel:
    """A folded card; its content is made when it is first opened, and follows the run by `show`.

    `look(on)` has the run compute it, or no longer; `freeze` pauses the run. A tap on the `stage`, where there is one,
    chooses one particle. `above` are other controls in the card.
    """

    def __init__(
        self, stage: Plot | None, look: Callable[[bool], None], freeze: Callable[[], None], *above: pn.viewable.Viewable
    ) -> None:
        self._stage, self._look, self._freeze, self._above = stage, look, freeze, above
        self._dark = self._awaited = False
        self.inside: InsideView | None = None
        self.on_open: Callable[[bool], None] = lambda on: None  # hears whether it takes the place of the traces
        self.button = widgets.small_button("See inside this step", self.toggle, css_classes=["pmdviz-high"])
        self.view = widgets.folded("", hide_header=True, margin=0, css_classes=[INSIDE])  # opened by button or key
        self.view.param.watch(handed(self._on_open), "collapsed")

    @property
    def is_open(self) -> bool:
        """Whether it is to be seen."""
        return not self.view.collapsed

    def toggle(self) -> None:
        """Open or close it, like its key."""
        self.view.collapsed = not self.view.collapsed

    def reveal(self) -> None:
        """Have it open, and in sight once there is a step to be seen: before the first one it is a line."""
        self._awaited = True
        if not self.is_open:
            self.toggle()

    def _on_open(self, event: param.parameterized.Event) -> None:
        self.view.css_classes = [INSIDE, *([INSIDE_OPEN] if self.is_open else [])]
        if self.is_open and self.inside is None:
            self._build()
        if self.is_open:  # it comes into sight
            self.inside.seen += 1
        self.on_open(self.is_open)
        self._look(self.is_open)

    def _build(self) -> None:
        self.inside = InsideView(stage=self._stage.id if self._stage else "", dark=self._dark, **widgets.WIDE)
        self.inside.param.watch(handed(lambda event: self._freeze()), "freezes")
        if self._stage is not None:
            figures.pick_by_tap(self._stage)
        self.view.extend([*self._above, self.inside])

    def show(self, snapshot: Any) -> None:
        """Follow the run; a run that was begun meanwhile does not know yet that the card is open."""
        if not self.is_open or self.inside is None:
            return
        if not snapshot.watched:
            self._look(True)
        elif snapshot.inside and snapshot.inside != self.inside.told:
            self.inside.told = snapshot.inside
            if self._awaited and snapshot.frame.info is not None:
                self._awaited = False
                self.inside.seen += 1

    def set_theme(self, dark: bool) -> None:
        """Colours of the light or the dark theme."""
        self._dark = dark
        if self.inside is not None:
            self.inside.dark = dark


# A goodness-of-fit test of what the run has at this moment.

NO_TEST = "No test applies: tests need a gradient of log p, discrete states, or exact draws; this target has none."
CANCELLED = "Cancelled: nothing was tested."
ALPHA, DRAWS = 0.05, 500  # level, and draws of the null distribution
_fit_pool = Slices("pmdviz-fit")


class FitPanel(TaskSlot):
    """A folded card; its content is made when it is first opened, and follows the run by `show`."""

    def __init__(self) -> None:
        super().__init__(self._tell, TELL_S)
        self.frame: Frame | None = None  # the tested one
        self.outcome: Outcome | None = None  # None: none yet, under way, or cancelled
        self._last: Snapshot | None = None
        look = {"margin": (8, 0), "css_classes": ["pmdviz-fit"]}
        self.view = widgets.folded("Goodness-of-fit test", build=self._build, **look)

    def _build(self) -> None:
        self.test = widgets.select("Test", {}, margin=(4, 8))
        self.button = widgets.small_button("Test this sample", self._begin)
        self.stop_it = widgets.small_button("Cancel", self.cancel, visible=False)
        self.said = widgets.text(margin=(4, 8, 8, 8), stylesheets=[css.TEXT + css.static("lab.css", "fit")])
        self.view.extend([self.test, pn.FlexBox(self.button, self.stop_it, gap="6px", margin=(4, 8)), self.said])
        if self._last is not None:
            self._offer(self._last.frame.target)
            self._tell()

    def show(self, snapshot: Snapshot) -> None:
        """Follow the run: another one has other tests and no result; the result of an earlier moment is marked."""
        before, self._last = self._last, snapshot
        if not len(self.view):
            return
        if before is None or _run_of(before) != _run_of(snapshot):
            self.forget()
            self._offer(snapshot.frame.target)
        self._tell()

    def _offer(self, target: Target) -> None:
        """The tests that apply to a target. Its reference is there: the run has been measured by it."""
        found = {test.title: name for name, test in FIT_TESTS.items() if test.applies(target)}
        widgets.offer(self.test, found)
        self.test.visible = bool(found)

    def _begin(self) -> None:
        """Have the sample on show tested, and cancel the test under way."""
        if self._last is None or not self.test.value:
            return
        frame, test = self._last.frame, self.test.value

        def act(tell: Tell) -> FitResult:
            compiler.wait((DEFAULT, *FIT_GROUPS))
            return test_fit(frame.target, as_live(frame), test, alpha=ALPHA, draws=DRAWS)

        self.frame, self.outcome = frame, None
        self.begin(_fit_pool, act, self._ended)
        self._tell()

    def _ended(self, task: Task) -> None:
        found = task.outcome()
        self.outcome = None if found.cancelled else found

    def forget(self) -> None:
        """Let go of the test under way, and of what came out of the last."""
        self.let_go()
        self.frame = self.outcome = None

    def _tell(self) -> None:
        """How far it is, or what came out."""
        closed = self.running or not self.test.options
        widgets.update(self.button, disabled=closed)
        widgets.update(self.stop_it, visible=self.running)
        widgets.update(self.said, object=self._words())

    def _words(self) -> str:
        frame, outcome = self.frame, self.outcome
        if self.running:
            return _line(f"Testing the sample of iteration {frame.iteration:,} ...")
        if outcome is not None:
            return words_of(outcome, frame.iteration, self._last is None or not _alike(frame, self._last.frame))
        return _line(CANCELLED) if frame is not None else "" if self.test.options else _line(NO_TEST)


def words_of(outcome: Outcome, iteration: int, moved_on: bool) -> str:
    """HTML of what came out, and of which moment it is where the run has moved on."""
    if outcome.result is None:
        return _line(outcome.words, old=moved_on)
    result, at = outcome.result, f"Iteration {iteration:,}"
    verdict = f"rejected at {100 * ALPHA:g}\u00a0%" if result.rejected else "no evidence against it"
    first = f"{at}: statistic {result.statistic:.3g}, p = {result.p_value:.2g}: {verdict}."
    then = f"{at[0].lower() + at[1:]} is no longer on show" if moved_on else ""
    note = "; ".join(filter(None, [result.note, then]))
    beside = html.escape(whole_sentence(note))
    return _line(first, moved_on) + (f'<div class="pmdviz-fit-note">{beside}</div>' if note else "")


def _line(words: str, old: bool = False) -> str:
    return widgets.spoken(words, "pmdviz-fit-said pmdviz-fit-old" if old else "pmdviz-fit-said")


def _alike(one: Frame, other: Frame) -> bool:
    """Whether two frames hold the same sample; a run that was begun again comes to the same iterations."""
    same = one.iteration == other.iteration and np.array_equal(one.particles, other.particles)
    return same and np.array_equal(one.weights, other.weights)


def _run_of(snapshot: Snapshot) -> tuple[tuple, str, int]:
    """What stays the same within a run."""
    return snapshot.frame.target.key, snapshot.frame.method.name, snapshot.recipe.seed


# Export: what kind of file, how it looks, how far it is, and the file itself.

LOOK_EVERY_S = 0.25
FREE_AFTER_S = 20.0  # after the download began: until then the widget holds a copy of the file
OWN = "own size"
RUNS = "Page that runs the method"
CARDS = {  # what a person wants -> the kinds of files, the usual one first
    "Film": (".gif", ".mp4"),
    "Page that plays": (".html",),
    RUNS: (".html",),  # live
    "Picture": (".png", ".pdf", ".svg"),
    "Data": (".csv", ".parquet", ".json", ".py"),
}


class ExportCards(widgets.Component):
    """Cards, one of which is chosen; a press sends its name."""

    cards = param.List(default=[], doc="Name and kinds of files in words of each; what cannot be made is left out.")
    chosen = param.String(default="")

    _esm = css.MAKE + css.static("page.js", "export_cards")
    _stylesheets = [css.static("lab.css", "export_cards")]


class ExportPanel(TaskSlot):
    """A folded card; its content is made when it is first opened.

    Parameters
    ----------
    ask : function
        Takes an act on the runner and has it done between two steps; the file is of the runner's `result`.
    name : str
        Of the file.
    looks : type
        Its options are for a run or for a race.
    """

    task: ExportTask | None

    def __init__(
        self, ask: Callable[[Callable[[Any], Any]], None], name: str = "pmdviz", looks: type[Look] = Look
    ) -> None:
        self._ask, self._name, self.looks, self._usual = ask, name, looks, looks.defaults()
        super().__init__(self._tell, LOOK_EVERY_S)
        self._ready: ExportTask | None = None  # whose file is ready; it stays until the next one is there
        self.look = self._usual
        look = {"margin": (12, 0, 8, 0), "name": f"{name}-exports"}
        self.view = widgets.folded("Save a file: film, page, picture or data", build=self._build, **look)

    def _build(self) -> None:
        wide: dict[str, Json] = {"stylesheets": [css.SELECT], "sizing_mode": "stretch_width", "margin": (4, 8)}
        kinds = {f"{suffix[1:].upper()}: {writer.title}": suffix for suffix, writer in WRITERS.items()}
        lost = {suffix: writer.missing for suffix, writer in WRITERS.items() if writer.missing}
        first = next(suffix for suffix in WRITERS if suffix not in lost)
        self.kind = LabelledSelect(label="Kind of file", options=kinds, value=first, disabled_options=[*lost], **wide)
        self._able = {name: [kind for kind in found if kind not in lost] for name, found in CARDS.items()}
        named = [[name, ", ".join(kind[1:].upper() for kind in found)] for name, found in self._able.items() if found]
        self.cards = ExportCards(self._choose, cards=named, margin=(4, 8))
        self.lost = widgets.text(lost_words(lost), margin=(0, 8))
        self.size = widgets.select("Size", [*SIZES, OWN], self._resize, value="960x540", margin=(4, 8))
        self.form = widgets.KnobForm(self._turn)
        self.make = widgets.small_button("Export", self._begin)
        self.stop_it = widgets.small_button("Cancel", self.cancel, visible=False)
        self.download = pn.widgets.FileDownload(callback=self._file, filename="pmdviz", visible=False, **widgets.SMALL)
        self.said = widgets.text(margin=(6, 8))
        self.kind.param.watch(handed(lambda event: self._show_form()), "value")
        self._show_form()
        buttons = pn.FlexBox(self.make, self.stop_it, self.download, gap="6px", margin=(4, 8))
        self.view.extend([self.cards, self.kind, self.lost, buttons, self.said, self.size, self.form])

    # Options

    def _choose(self, message: Mapping[str, Json]) -> None:
        """A card was pressed: its usual kind of file."""
        name = message.get("card")
        if isinstance(name, str) and self._able.get(name):
            self.look = self.look.replaced(live=name == RUNS)
            self.kind.value = self._able[name][0]
            self._show_form()

    def _show_form(self) -> None:
        """The options that mean something to the chosen kind of file."""
        self._mark_card()
        names = WRITERS[self.kind.value].options
        self.size.visible = "width" in names
        self.form.show(self.look, self._usual.as_dict(), names=[name for name in Look.specs() if name in names])

    def _mark_card(self) -> None:
        runs = self.look.live and self.kind.value in CARDS[RUNS]
        self.cards.chosen = RUNS if runs else next(name for name, kinds in CARDS.items() if self.kind.value in kinds)

    def _turn(self, name: str, value: Value) -> None:
        self.look = self.look.replaced(**{name: value})
        self.size.value = next((n for n, s in SIZES.items() if s == (self.look.width, self.look.height)), OWN)
        self._show_form()

    def _resize(self, size: str) -> None:
        if size in SIZES:
            width, height = SIZES[size]
            self.look = self.look.replaced(width=width, height=height)
            self._show_form()

    def options(self) -> dict[str, Value]:
        """What differs from the usual, of what means something to the chosen kind."""
        usual, values = self._usual.as_dict(), self.look.as_dict()
        return {k: values[k] for k in WRITERS[self.kind.value].options if values[k] != usual[k]}

    # The work

    def _begin(self) -> None:
        if self.running:
            return
        work = ExportTask(f"{self._name}{self.kind.value}", self.options())
        try:
            check(work.path, self.options(), self.looks)
        except InputError as error:
            self._refuse(work, error.on_page)
            return
        self._doc = pn.state.curdoc
        self.follow(work, self._ended)
        self._ask(lambda runner: self._take(runner, work))
        self._tell()

    def _take(self, runner: Any, work: ExportTask) -> Any:
        """Runs between two steps: the run or race as it stands goes to the export's own thread."""
        try:
            work.make(runner.result())
        except InputError as error:
            work.fail(error)
        return runner.snapshot()

    def _tell(self) -> None:
        """Say how far it is."""
        self.make.disabled = self.stop_it.visible = self.running
        if self.running:
            self._say(self.task.words())

    def _ended(self, task: Task) -> None:
        work, found = self.task, task.outcome()
        if found.cancelled:
            self._say("Cancelled: no file was made.")
        elif found.error is None:
            self._offer(work)
            self._say(f"{found.result.name} is ready.")
        else:
            self._refuse(work, found.words)

    def _offer(self, work: ExportTask) -> None:
        """The new file instead of the one before."""
        if self._ready is not None:
            self._ready.clear()
        self._ready = work
        words = f"Download {work.name} ({work.path.stat().st_size / 1e6:.2f} MB)"
        self.download.param.update(data="", filename=work.name, label=words, visible=True)

    def _refuse(self, work: ExportTask, words: str) -> None:
        """Offer no file with an error: it would be taken for the one that was asked for."""
        work.clear()
        self.download.visible = False
        self._say(words)

    def _file(self) -> Path:
        """The file for the browser; the copy that the widget holds is let go when it has gone out."""
        in_a_while(FREE_AFTER_S, self._doc, lambda: self.download.param.update(data=""))
        return self._ready.path

    def stop(self) -> None:
        """The page is closed: end the work and delete the files."""
        for work in (self.task, self._ready):
            if work is not None:
                work.cancel()

    def _say(self, words: str) -> None:
        self.said.object = widgets.spoken(words, "pmdviz-export-status")


def lost_words(lost: Mapping[str, Sequence[str]]) -> str:
    """What cannot be made here, suffix -> missing modules, and the command that helps; as HTML."""
    if not lost:
        return ""
    kinds = " and ".join(suffix[1:].upper() for suffix in lost)
    command = install_command(dict.fromkeys(module for modules in lost.values() for module in modules))
    words = f"{kinds} cannot be chosen here: a library is not installed. In a terminal of the computer that serves"
    how = f"this page: <code>{html.escape(command)}</code> Then reload the page."
    return f'<div class="pmdviz-export-lost">{words} {how}</div>'
