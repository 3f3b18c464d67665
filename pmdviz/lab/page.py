"""What the lab and the race have in common: pictures, controls and the live loop, in the app and in a notebook.

In a notebook a live page shows itself in a cell's output, in a widget, in Panel's layouts, and in a picture.
"""

from __future__ import annotations

import asyncio
import base64
import html
import importlib.util
import io
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Generic

import panel as pn
from bokeh.document import Document
from bokeh.model import Model

from pmdviz.errors import InputError
from pmdviz.experiments.running import ExperimentResult
from pmdviz.export.films import Film
from pmdviz.export.options import Look, RaceLook
from pmdviz.kernels.compiling import compiler
from pmdviz.knobs import KnobSpec, Value
from pmdviz.lab import css, panel_internals
from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.lab.loop.live import SLOW, Act, Live, Pace
from pmdviz.lab.loop.runner import Shown, Snapshot
from pmdviz.lab.loop.task import GIVES_WAY, DaemonPool, log_failure
from pmdviz.lab.loop.work import FloorWork
from pmdviz.lab.panel_internals import handed
from pmdviz.lab.panels.folds import ExportPanel, InsidePanel
from pmdviz.lab.panels.screen import LiveScreen
from pmdviz.lab.panels.setup import ProblemControls
from pmdviz.lab.panels.widgets import NEW_RUN, WORDS, Busy, PlaybackBar, Sheet, live_words, update
from pmdviz.scenes.race import RaceScene
from pmdviz.scenes.stage import SceneChoice

if TYPE_CHECKING:
    from pmdviz.lab.notebook_widget import PageWidget

Seen = Snapshot | RaceScene | ExperimentResult


class Page:
    """A page of the app: its parts, and what it tells the others and asks them; who listens sets these on the page."""

    view: pn.viewable.Viewable  # the content in the middle
    foot: pn.viewable.Viewable  # at the foot of the window, or under the page in a notebook: Play and its neighbours
    playback: PlaybackBar  # of a page that plays
    ack: Acknowledge | None = None  # of a page with keys or an address: they are its own while it is seen
    take: Callable[..., None]  # shows what another page hands over, also before `start`; of a page that others open
    on_presenter: Callable[[bool], None] = staticmethod(lambda on: None)  # hears whether it is for a lecture hall
    on_note: Callable[[str], None] = staticmethod(lambda words: None)  # a few words that are seen from every page
    on_open: Callable[[str, Any], None] | None = None  # another page; None where there is none
    on_show: Callable[[Seen], None] = staticmethod(lambda shown: None)  # hears of drawn frames
    gate: Callable[[str], bool] = staticmethod(lambda name: True)  # whether a button or a key may do this now

    def start(self, doc: Document | None = None) -> None:
        """Begin: nothing may be sent before the browser has built the page."""
        self.look(True)

    def look(self, on: bool) -> None:
        """The page is to be seen, or no longer: a hidden page does not compute."""
        if self.ack is not None:
            self.ack.keyboard = on

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""

    def stop(self) -> None:
        """The page is closed: end all that it does."""


# The picture of a live page that a saved notebook keeps, drawn like exported ones.

STILL_S = 2.0  # so often while it plays: a picture is some 60 kB, and the kernel has better things to do
PNG = "image/png"

_still_pool = DaemonPool(1, "pmdviz-still", GIVES_WAY)


class Still(Generic[Shown]):
    """An output of its own under the live page, replaced through its display id: the live one is never touched.

    Parameters
    ----------
    name : str
        Of the live page; the browser hides the pictures of pages that it shows live.
    draw : function of a snapshot
        Gives PNG bytes, or None where the library that draws is not installed; runs in a thread.
    words, snapshot
        What the output under the cell is at first: a picture, or words until there is one.
    """

    def __init__(
        self, name: str, draw: Callable[[Shown], bytes | None], words: str, snapshot: Shown | None = None
    ) -> None:
        from IPython.display import display

        self._name, self._words = name, words
        self._draw: Callable[[Shown], bytes | None] = draw
        self._wanted: tuple[Shown, str] | None = None  # a snapshot, and it in words
        self._last: Shown | None = None  # the snapshot that was asked for last
        self._at, self._busy = -STILL_S, False
        self._now = asyncio.Event()  # it stands still: no need to wait
        png = None if snapshot is None else self._draw(snapshot)
        self._handle = display(bundle_of(self._name, words, png), raw=True, display_id=True)

    def follow(self, snapshot: Shown, words: str, playing: bool) -> None:
        """Take the picture again where it has changed: at once when it stands still, now and then while it plays."""
        (self._now.clear if playing else self._now.set)()
        if snapshot is self._last:
            return
        self._last, self._wanted = snapshot, (snapshot, words)
        if not self._busy:
            self._busy = True
            asyncio.get_running_loop().create_task(self._take()).add_done_callback(log_failure)

    def settle(self, words: str, snapshot: Shown) -> None:
        """Take the picture again here and now where the words have changed: no live page does."""
        if words != self._words:
            self._words = words
            self._handle.update(bundle_of(self._name, words, self._draw(snapshot)), raw=True)

    async def _take(self) -> None:
        try:
            while self._wanted is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._now.wait(), max(0.0, self._at + STILL_S - time.monotonic()))
                (snapshot, words), self._wanted = self._wanted, None
                self._at = time.monotonic()
                png = await asyncio.get_running_loop().run_in_executor(_still_pool, self._draw, snapshot)
                self._handle.update(bundle_of(self._name, words, png), raw=True)
        finally:
            self._busy = False


def bundle_of(name: str, words: str, png: bytes | None) -> dict[str, str]:
    """What each viewer can show of a picture; where there is a choice, browsers and nbconvert take the HTML."""
    said, picture = html.escape(words), {} if png is None else {PNG: base64.b64encode(png).decode()}
    if picture:
        said = f'<img alt="{said}" style="max-width: 100%" src="data:image/png;base64,{picture[PNG]}">'
    return {"text/plain": words, "text/html": f'<div data-pmdviz="{name}">{said}</div>', **picture}


def png_of(shown: Snapshot | RaceScene, dark: bool = False) -> bytes | None:
    """Stage and traces, or the tiles of a race, 960x540, as PNG; None without methods or Matplotlib."""
    if importlib.util.find_spec("matplotlib") is None or (isinstance(shown, RaceScene) and not shown.tiles):
        return None
    from pmdviz.export.figure import RacePicture, RunPicture

    theme, file = {"theme": "dark" if dark else "light"}, io.BytesIO()
    if isinstance(shown, RaceScene):
        traces = [tile.trace for tile in shown.tiles]
        RacePicture(RaceLook.checked(theme), shown, traces, len(shown.words)).save(shown, file, "png")
    else:
        film = Film(shown.run, Look.checked(theme), all_floors=False)
        scene = film.last_scene()
        RunPicture(film, scene).save(scene, file, "png")
    return file.getvalue()


# A page with a live loop.

GRACE_S = 1.0  # a cell that is moved is taken away and shown again at once
ELSEWHERE = "In this editor Panel cannot hold a live lab: take ipywidgets, as in <code>HBox([lab.widget, ...])</code>."

_in_view: set[LivePage] = set()  # pages that a browser shows: they stay although no other code may hold them


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this code."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _in_a_cell_of_jupyter() -> bool:
    """Whether JupyterLab or Notebook 7 runs the cell: they alone name it in their request."""
    return "cellId" in sys.modules["IPython"].get_ipython().get_parent().get("metadata", {})


def _after_each_cell(page: LivePage) -> None:
    """Have the page settle after each cell from this one on, as long as somebody has it."""
    events, known = sys.modules["IPython"].get_ipython().events, weakref.ref(page)

    def settle(*_: Any) -> None:
        if (page := known()) is None:
            events.unregister("post_run_cell", settle)
        else:
            page.settle()

    events.register("post_run_cell", settle)


class LivePage(Page, Generic[Shown]):
    """A page: subclasses make `playback`, `floor` and `screen`, call `_go_live`, and make `setup`.

    They have `show` and what else the live loop draws on, `_first` (the first picture), `_act` (the command of a button
    or a key), `cancel` and `_tell_floor`; and `inside`, `exports` and `sheets`; one of these is open at a time.
    """

    # Of the keyboard -> what `_act` is given.
    keys: Mapping[str, str] = dict(space="toggle", right="step", left="back", R="restart", N="reseed", I="inside")
    screen: LiveScreen
    setup: ProblemControls
    inside: InsidePanel
    exports: ExportPanel
    sheets: Sequence[Sheet] = ()
    _last: Shown | None = None
    _dark = _presenter = False
    _doc: Document | None = None
    _widget: PageWidget | None = None
    _still: Still | None = None
    _shown: tuple[pn.Column, Model, Document] | None = None  # layout, its Bokeh model, their document
    _views = 0  # counts: plans for an earlier view are dropped

    def __init__(self) -> None:
        self.on_refused: Callable[[InputError], bool] = lambda error: False  # whether another control says why
        self.busy_card, self.floor = Busy(self.cancel), FloorWork(self._tell_floor)

    def _go_live(self) -> None:
        """Show the screen, and connect it with a live loop and the keyboard."""
        self.live = Live(self, self.screen.ack)
        self.live.pace = SLOW
        self.view, self.foot = self.screen.view, self.playback.view
        self.screen.on_visit(self._visit)
        self.screen.ack.on_change("presses", handed(lambda attr, old, new: self._press(self.screen.ack.key)))

    # What others read

    @property
    def last(self) -> Shown | None:
        """The last drawn frame; None before the first picture."""
        return self._last

    # Life

    def start(self, doc: Document | None = None) -> None:
        """Begin the live loop on the running event loop and compute the first picture; also again after `stop`."""
        self._doc = doc
        self.live.start(doc)
        self.live.do("first picture", self._first)

    def ready(self) -> None:
        """The page is there."""
        self.screen.sender.live()
        self.live.ready()

    def look(self, on: bool) -> None:
        """The page is to be seen, or no longer: then nothing of it computes, and the keys are another's."""
        self.screen.ack.keyboard = on
        self.live.look(on)
        if on:
            self._glance()
        else:
            self.floor.forget()

    def stop(self) -> None:
        """End the live loop and its background work."""
        self.live.stop()
        self.floor.cancel()
        self.exports.stop()

    def set_theme(self, dark: bool | None = None, presenter: bool | None = None) -> None:
        """Theme and size of the labels."""
        self._dark = self._dark if dark is None else dark
        self._presenter = self._presenter if presenter is None else presenter
        self.screen.set_theme(self._dark, self._presenter)
        update(self.playback.view, css_classes=["pmdviz-transport", *["pmdviz-large"] * self._presenter])  # Play alone
        self.inside.set_theme(self._dark)

    def present(self, on: bool) -> None:
        """Presenter mode: the picture, the question and Play, large; or no longer."""
        self.set_theme(presenter=on)
        self.on_presenter(on)

    # What the live loop draws on, and the keyboard

    def busy(self, what: str, seconds: float, share: float) -> None:
        """Something takes long: say what, for how long already, and how far it is."""
        self.busy_card.show(WORDS.get(what, NEW_RUN), seconds, share, can_cancel=self.live.runner is not None)

    def waiting(self, what: str, seconds: float) -> None:
        """The request waits for its kernels: say when it goes on."""
        self.playback.tell(held=True)
        if self._last is None:
            self.screen.wait(live_words(seconds))
        else:
            self.busy_card.wait(live_words(seconds))

    def play_changed(self, playing: bool) -> None:
        """Play or Pause was pressed. A last look draws what a frame of a playing run leaves out, if none is to come."""
        self.playback.tell(playing=playing)
        self.tell_notebook()
        if not (playing or self.live.at_work) and self._last is not None:
            self._glance()

    def cancelled(self, what: str) -> None:
        """It was cancelled: the last picture stays, and the controls are as they were before."""
        self.setup.forget()
        self._say("Cancelled. The page still shows the last picture.")

    def _say(self, words: str) -> None:
        """The wait is over: the picture stays, and a line under the state says why."""
        self._stands()
        self.screen.say(self._last, words, self.live.playing)

    def _glance(self) -> None:
        """Draw the present moment again."""
        self.live.do("look", methodcaller("snapshot"))

    def look_at(self, choice: SceneChoice) -> None:
        """Another picture of the same moment."""
        self.live.do("look", methodcaller("look", choice=choice))

    def _set_pace(self, pace: Pace) -> None:
        self.live.pace = pace

    def _freeze(self) -> None:
        if self.live.playing:
            self.live.play(False)

    def paused(self, what: str, act: Act, newest_only: bool = False) -> None:
        """Have the runner do it, and play no longer."""
        self._freeze()
        self.live.do(what, act, newest_only)

    def toggle(self, again: Callable[[], None]) -> None:
        """Play, Pause, or what both mean at the end: `again`."""
        if self._last is not None and self._last.done and not self.live.playing:
            again()
        self.live.play(not self.live.playing)

    def proceed(self) -> None:
        """Play with as much budget again as at first."""
        self.live.do("continue", methodcaller("proceed"))
        self.live.play(True)

    def _visit(self, place: int, roughly: bool = False) -> None:
        """Go to another moment of the run so far; of several that wait only to the newest."""
        self.paused("going to a moment", methodcaller("visit", place, roughly), newest_only=True)

    def newest(self, what: str, name: str) -> Callable[[Any], None]:
        """Have the runner look in another way, `name` being the value; of several that wait only the newest."""
        return lambda value: self.live.do(what, methodcaller("look", **{name: value}), newest_only=True)

    def _sheet_moved(self, sheet: Sheet) -> None:
        """One sheet at a time, and the pictures make room for it."""
        for other in self.sheets:
            if sheet.shown and other is not sheet:
                other.hide()
        self.screen.mark("pmdviz-with-sheet", any(each.shown for each in self.sheets))

    def _stands(self) -> None:
        """The wait is over: the picture stays."""
        self.playback.tell(held=False)
        self.busy_card.hide()
        self.screen.dim(False)

    def _press(self, key: str) -> None:
        if key == "P":
            self.present(not self._presenter)
        elif key == "Esc":
            self.cancel()
        elif key in self.keys and self._last is not None:
            if not (self.live.waits and self.keys[key] in ("toggle", "step")):
                self._act(self.keys[key])

    # In a notebook

    @property
    def widget(self) -> PageWidget:
        """The page as an ipywidgets widget. Raises InputError where the extra `notebook` is not installed."""
        if self._widget is None:
            if importlib.util.find_spec("anywidget") is None:
                raise InputError("a live page in a notebook needs anywidget: pip install 'pmdviz[notebook]'")
            from pmdviz.lab.notebook_widget import PageWidget

            compiler.begin()
            self._widget = PageWidget(self, *self._traits())
            if in_notebook():
                _after_each_cell(self)
        return self._widget

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        data, _ = self.widget._repr_mimebundle_()
        return {**data, "text/plain": repr(self)}

    def _ipython_display_(self) -> None:
        """Show the live page and, under it, the picture that a saved notebook keeps."""
        from IPython.display import display

        _, metadata = self.widget._repr_mimebundle_()  # Colab looks there for who draws the widget
        display(self._repr_mimebundle_(), metadata=metadata, raw=True)
        # Elsewhere perhaps no one looks, and what comes after the cell is lost.
        self._begin_still(None if _in_a_cell_of_jupyter() else self._present())

    def _begin_still(self, snapshot: Shown | None) -> None:
        words = repr(self) if snapshot is None else self._words(snapshot)
        self._still = Still(self.widget.model_id, self._draw, words, snapshot)

    def settle(self) -> None:
        """After a cell: a picture under it where the page is part of another widget; the last state where it moved.

        A browser that shows the live page takes the pictures itself.
        """
        if self._shown is not None or _in_a_cell_of_jupyter():
            return
        snapshot = self._present()
        if self._still is None:
            self._begin_still(snapshot)
        else:
            self._still.settle(self._words(snapshot), snapshot)

    def __panel__(self) -> pn.viewable.Viewable:
        """For Panel's own layouts, in a notebook or on a page that is served."""
        if in_notebook():
            if not panel_internals.is_loaded():
                pn.extension(inline=True)
            if pn.config.comms != "default":
                return pn.pane.HTML(ELSEWHERE)
            return pn.pane.IPyWidget(self.widget, sizing_mode="stretch_width")
        if pn.state.curdoc is not None:
            doc = pn.state.curdoc
            pn.state.onload(handed(lambda: self._serve(doc)))
            pn.state.on_session_destroyed(lambda context: self.stop())
        return self._layout()

    def _layout(self) -> pn.Column:
        return pn.Column(self.view, self.foot, stylesheets=[css.CELL], sizing_mode="stretch_width", margin=0)

    def _serve(self, doc: Document) -> None:
        self.start(doc)
        self.ready()

    # Called by the widget, on the kernel's event loop

    def into_view(self, dark: bool) -> Document:
        """A browser is about to show the page: a new document with all of it, and the live loop."""
        self._views += 1
        self._take_down()
        self.set_theme(dark=dark)
        doc = Document()
        panel_internals.adopt(doc)
        layout = self._layout()
        root = layout.get_root(doc)
        doc.add_root(root)
        self._shown = layout, root, doc
        self.screen.ack.drawn = self.screen.ack.sent  # what an earlier view did not draw is not under way
        self.screen.ack.keyboard = False
        self.start(doc)
        _in_view.add(self)
        return doc

    def out_of_view(self) -> None:
        """The browser has taken the page away; unless it comes back at once, everything of it ends."""
        asyncio.get_running_loop().call_later(GRACE_S, self._gone, self._views)

    def _gone(self, view: int) -> None:
        if view == self._views:
            self._take_down()
            _in_view.discard(self)

    def _take_down(self) -> None:
        """End the loop and take the pictures out of their document; the run and the knobs stay."""
        if self._shown is None:
            return
        layout, root, doc = self._shown
        self._shown = None
        self.live.playing = False
        self.stop()
        self._widget.let_go()
        doc.clear()
        panel_internals.forget(layout, root)
        self.screen.sender.live(False)

    def turned(self, trait: str, value: Value) -> None:
        """A trait of the widget was set, in Python or by another widget."""
        if trait == "playing":
            self.live.play(value)
            return
        try:
            self.set(**{trait: value})
        except InputError as error:
            self.refused("set", error)
            self._widget.tell(**{trait: self._traits()[1][trait]})

    def tell_notebook(self) -> None:
        """Bring the widget's traits up to date, and the picture that a saved notebook keeps."""
        if self._widget is not None and self._last is not None:
            self._widget.tell(playing=self.live.playing, **self._told())
            if self._still is not None:
                self._still.follow(self._last, self._words(self._last), self.live.playing)

    # What pages say of themselves: `_told` gives at least the iteration, `_present` a snapshot also before it was shown

    _told: Callable[[], Mapping[str, Value]]
    _present: Callable[[], Shown]
    _words: Callable[[Shown], str]

    def _traits(self) -> tuple[Mapping[str, KnobSpec], Mapping[str, Value]]:
        """Knobs that are traits of the widget, and their values."""
        return {}, {}

    def _draw(self, snapshot: Shown) -> bytes | None:
        """A picture of a snapshot, drawn in a thread."""
        return png_of(snapshot, self._dark)
