"""How a live page shows itself in a notebook: in a cell's output, in a widget, in Panel's layouts, in a picture."""

from __future__ import annotations

import asyncio
import base64
import html
import importlib.util
import io
import sys
import time
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic

import panel as pn
from bokeh.document import Document
from bokeh.model import Model
from panel.io.state import state

from pmdviz.errors import InputError
from pmdviz.export.films import Film
from pmdviz.export.options import Look, RaceLook
from pmdviz.kernels.compiling import compiler
from pmdviz.knobs import KnobSpec, Value
from pmdviz.lab import css, panel_internals
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.runner import Shown, Snapshot
from pmdviz.lab.loop.task import GIVES_WAY, DaemonPool, log_failure
from pmdviz.scenes.race import RaceScene

if TYPE_CHECKING:
    from pmdviz.export.figure import Drawing, S
    from pmdviz.lab.notebook_widget import PageWidget

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
    """

    def __init__(self, name: str, draw: Callable[[Shown], bytes | None]) -> None:
        self._name = name
        self._draw: Callable[[Shown], bytes | None] = draw
        self._handle: Any = None
        self._wanted: tuple[Shown, str] | None = None  # a snapshot, and it in words
        self._last: Shown | None = None  # the snapshot that was asked for last
        self._at, self._busy = -STILL_S, False
        self._now = asyncio.Event()  # it stands still: no need to wait

    def begin(self, words: str, snapshot: Shown | None = None) -> None:
        """Put the output under the cell: a picture of `snapshot`, or words until there is one."""
        from IPython.display import display

        self._words = words
        png = None if snapshot is None else self._draw(snapshot)
        self._handle = display(self._bundle(words, png), raw=True, display_id=True)

    def follow(self, snapshot: Shown, words: str, playing: bool) -> None:
        """Take the picture again where it has changed: at once when it stands still, now and then while it plays."""
        (self._now.clear if playing else self._now.set)()
        if self._handle is None or snapshot is self._last:
            return
        self._last, self._wanted = snapshot, (snapshot, words)
        if not self._busy:
            self._busy = True
            asyncio.get_running_loop().create_task(self._take()).add_done_callback(log_failure)

    def settle(self, words: str, snapshot: Shown) -> None:
        """Take the picture again here and now where the words have changed: no live page does."""
        if self._handle is not None and words != self._words:
            self._words = words
            self._handle.update(self._bundle(words, self._draw(snapshot)), raw=True)

    async def _take(self) -> None:
        try:
            while self._wanted is not None:
                await self._pause(self._at + STILL_S - time.monotonic())
                (snapshot, words), self._wanted = self._wanted, None
                self._at = time.monotonic()
                png = await asyncio.get_running_loop().run_in_executor(_still_pool, self._draw, snapshot)
                self._handle.update(self._bundle(words, png), raw=True)
        finally:
            self._busy = False

    async def _pause(self, seconds: float) -> None:
        """Wait so long, or until it stands still."""
        try:
            await asyncio.wait_for(self._now.wait(), max(0.0, seconds))
        except TimeoutError:
            pass

    def _bundle(self, words: str, png: bytes | None) -> dict[str, str]:
        """What each viewer can show of it; where there is a choice, browsers and nbconvert take the HTML."""
        said = html.escape(words)
        if png is None:
            return {"text/plain": words, "text/html": f'<p data-pmdviz="{self._name}">{said}</p>'}
        code = base64.b64encode(png).decode()
        image = f'<img alt="{said}" style="max-width: 100%" src="data:image/png;base64,{code}">'
        return {"text/plain": words, "text/html": f'<div data-pmdviz="{self._name}">{image}</div>', PNG: code}


# Still pictures of the present frame of a lab or a race, drawn like exported ones.


def can_draw() -> bool:
    """Whether Matplotlib is there (extra `export`)."""
    return importlib.util.find_spec("matplotlib") is not None


def still_png(snapshot: Snapshot, dark: bool = False) -> bytes:
    """Stage and traces of a snapshot, 960x540, as PNG."""
    from pmdviz.export.figure import RunPicture

    film = Film(snapshot.run, Look.checked(_theme(dark)), all_floors=False)
    scene = film.last_scene()
    return _png(RunPicture(film, scene), scene)


def race_png(scene: RaceScene, dark: bool = False) -> bytes:
    """Tiles and traces of a race, 960x540, as PNG."""
    from pmdviz.export.figure import RacePicture

    traces = [tile.trace for tile in scene.tiles]
    return _png(RacePicture(RaceLook.checked(_theme(dark)), scene, traces, len(scene.words)), scene)


def _theme(dark: bool) -> dict[str, str]:
    return {"theme": "dark" if dark else "light"}


def _png(picture: Drawing[S], scene: S) -> bytes:
    file = io.BytesIO()
    picture.save(scene, file, "png")
    return file.getvalue()


# The page itself.

GRACE_S = 1.0  # a cell that is moved is taken away and shown again at once
ELSEWHERE = "In this editor Panel cannot hold a live lab: take ipywidgets, as in <code>HBox([lab.widget, ...])</code>."

_in_view: set[InNotebook] = set()  # pages that a browser shows: they stay although no other code may hold them


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this code."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _in_a_cell_of_jupyter() -> bool:
    """Whether JupyterLab or Notebook 7 runs the cell: they alone name it in their request."""
    parent = sys.modules["IPython"].get_ipython().get_parent()
    return "cellId" in parent.get("metadata", {})


def _after_each_cell(page: InNotebook) -> None:
    """Have the page settle after each cell from this one on, as long as somebody has it."""
    events, known = sys.modules["IPython"].get_ipython().events, weakref.ref(page)

    def settle(*_: Any) -> None:
        page = known()
        if page is None:
            events.unregister("post_run_cell", settle)
        else:
            page.settle()

    events.register("post_run_cell", settle)


class InNotebook(Generic[Shown]):
    """What a live page (`pmdviz.lab.pages.page.LivePage`) needs in a notebook."""

    _widget: PageWidget | None = None
    _still: Still | None = None
    _shown: tuple[pn.Column, Model, Document] | None = None  # layout, its Bokeh model, their document
    _views = 0  # counts: plans for an earlier view are dropped

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
        self._still = Still(self.widget.model_id, self._draw)
        if _in_a_cell_of_jupyter():
            self._still.begin(repr(self))
        else:  # perhaps no one looks, and what comes after the cell is lost
            snapshot = self._present()
            self._still.begin(self._words(snapshot), snapshot)

    def settle(self) -> None:
        """After a cell: a picture under it where the page is part of another widget; the last state where it moved.

        A browser that shows the live page takes the pictures itself.
        """
        if self._shown is not None or _in_a_cell_of_jupyter():
            return
        snapshot = self._present()
        if self._still is None:
            self._still = Still(self.widget.model_id, self._draw)
            self._still.begin(self._words(snapshot), snapshot)
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
        if state.curdoc is not None:
            doc = state.curdoc
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

    # What pages say of themselves

    def _traits(self) -> tuple[Mapping[str, KnobSpec], Mapping[str, Value]]:
        """Knobs that are traits of the widget, and their values."""
        return {}, {}

    def _told(self) -> Mapping[str, Value]:
        """Traits of the widget as they are now, at least the iteration."""
        raise NotImplementedError

    def _present(self) -> Shown:
        """A snapshot of the run as it is, also before it was shown."""
        raise NotImplementedError

    def _words(self, snapshot: Shown) -> str:
        """A snapshot in a sentence."""
        raise NotImplementedError

    def _draw(self, snapshot: Shown) -> bytes | None:
        """A picture of a snapshot as PNG, drawn in a thread; None where it cannot be drawn."""
        return None
