"""How a live page shows itself in a notebook: as the output of a cell, as a widget, inside Panel's own layouts."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import panel as pn
from bokeh.document import Document
from panel.io.state import state

from pmdviz.errors import InputError
from pmdviz.kernels.compiling import compiler
from pmdviz.knobs import KnobSpec
from pmdviz.lab import css, panel_internals
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.notebook.still import Still

if TYPE_CHECKING:
    from pmdviz.lab.notebook.widget import PageWidget


GRACE_S = 1.0  # a cell that is moved is taken away and shown again at once
ELSEWHERE = "In this editor Panel cannot hold a live lab: take ipywidgets, as in <code>HBox([lab.widget, ...])</code>."

_in_view: set[Any] = set()  # pages that a browser shows: they stay although nobody else may have them


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


class InNotebook:
    """What a live page (`pmdviz.lab.pages.page.LivePage`) needs in a notebook."""

    _widget: PageWidget | None = None
    _still: Still | None = None
    _shown: tuple[Any, Any, Document] | None = None  # layout, its Bokeh model, their document
    _views = 0  # counts: what was planned for an earlier view is forgotten

    @property
    def widget(self) -> PageWidget:
        """The page as an ipywidgets widget. Raises InputError where the extra `notebook` is not installed."""
        if self._widget is None:
            if importlib.util.find_spec("anywidget") is None:
                raise InputError("a live page in a notebook needs anywidget: pip install 'pmdviz[notebook]'")
            from pmdviz.lab.notebook.widget import PageWidget

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
        else:  # perhaps nobody looks, and what comes after the cell is lost
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

    def __panel__(self) -> Any:
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

    def _layout(self) -> Any:
        beside = pn.Column(self.controls, margin=0, css_classes=["pmdviz-beside"])
        page = pn.Column(self.view, self.foot, margin=0, sizing_mode="stretch_width")
        return pn.Row(beside, page, stylesheets=[css.NOTEBOOK], sizing_mode="stretch_width", margin=0)

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
        asyncio.get_running_loop().call_later(GRACE_S, self._leave, self._views)

    def _leave(self, view: int) -> None:
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

    def turned(self, trait: str, value: Any) -> None:
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

    def _traits(self) -> tuple[Mapping[str, KnobSpec], Mapping[str, Any]]:
        """Knobs that are traits of the widget, and their values."""
        return {}, {}

    def _told(self) -> Mapping[str, Any]:
        """Traits of the widget as they are now, at least the iteration."""
        raise NotImplementedError

    def _present(self) -> Any:
        """A snapshot of the run as it is, also before it was shown."""
        raise NotImplementedError

    def _words(self, snapshot: Any) -> str:
        """A snapshot in a sentence."""
        raise NotImplementedError

    def _draw(self, snapshot: Any) -> bytes | None:
        """A picture of a snapshot as PNG, drawn in a thread; None where it cannot be drawn."""
        return None
