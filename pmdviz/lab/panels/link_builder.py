"""A fold in which a teacher makes a link: where it starts, what it leaves out, how the page looks; its QR code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn
import segno

from pmdviz.lab import css
from pmdviz.lab.controls.playback import small_button
from pmdviz.lab.links import END, HERE, START, Page
from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.lab.loop.locked import handed

STARTS = {"at the start": START, "here": HERE, "at the end": END}
PARTS = {
    "preset": "preset",
    "target": "target",
    "its data": "data",
    "method": "method",
    "its settings": "knobs",
    "budget": "budget",
    "seed": "seed",
}
TOO_LONG = "The link is too long for a QR code: leave out changes on the way, or share the recipe as a file."
LOOKS = {"presenter mode": "presenter", "embedded (lab only)": "embed"}


class LinkBuilder:
    """The fold; `copy(start, page)` puts the link on the clipboard. What is in it is made when it is first opened.

    Only the browser knows the address of the page: the QR code is drawn when it has said it, by way of `ack`.
    """

    def __init__(self, copy: Callable[[str, Page], None], ack: Acknowledge) -> None:
        self._copy, self._ack, self._awaited = copy, ack, False
        ack.on_change("copied", handed(lambda attr, old, new: self._draw_code()))
        ack.on_change("refused", handed(lambda attr, old, new: self._draw_code()))
        header = pn.pane.HTML("Make a link", stylesheets=[css.TEXT], margin=(4, 0))
        look: dict[str, Any] = {"margin": (8, 0), "stylesheets": [css.FOLDED], "sizing_mode": "stretch_width"}
        self.view = pn.Card(header=header, collapsed=True, css_classes=["pmdviz-link-builder"], **look)
        self.view.param.watch(handed(self._on_open), "collapsed")

    def _on_open(self, event: Any) -> None:
        if event.new or self.view.objects:
            return
        look: dict[str, Any] = {"stylesheets": [css.SELECT], "margin": (8, 8), "sizing_mode": "stretch_width"}
        boxes: dict[str, Any] = {"stylesheets": [css.LINK_BUILDER], "margin": (0, 8, 8, 8)}
        self.start = pn.widgets.Select(label="Opens the run", options=STARTS, value=START, **look)
        self.hide = pn.widgets.CheckBoxGroup(label="Leaves out", options=PARTS, **boxes)
        self.looks = pn.widgets.CheckBoxGroup(label="Looks", options=LOOKS, **boxes)
        copy, code = small_button("Copy the link"), small_button("Show a QR code")
        copy.on_click(handed(lambda event: self._ask(False)))
        code.on_click(handed(lambda event: self._ask(True)))
        self.code = pn.pane.HTML("", stylesheets=[css.TEXT], margin=8, sizing_mode="stretch_width")
        leave, opens = (
            pn.pane.HTML(text, stylesheets=[css.TEXT], margin=(0, 8)) for text in ("Leave out:", "Open in:")
        )
        self.view.extend(
            [
                self.start,
                leave,
                self.hide,
                opens,
                self.looks,
                pn.Row(copy, code, margin=(0, 8), styles={"gap": "8px"}),
                self.code,
            ]
        )

    def _ask(self, with_code: bool) -> None:
        self.code.object, self._awaited = "", with_code
        self._copy(self.start.value, self.page)

    def _draw_code(self) -> None:
        if self._awaited:
            self._awaited = False
            self.code.object = qr_code(self._ack.address)

    @property
    def page(self) -> Page:
        """How the page is to look."""
        return Page(tuple(self.hide.value), "embed" in self.looks.value, "presenter" in self.looks.value)


def qr_code(address: str) -> str:
    """HTML of an address as a QR code, dark on light in both themes; a sentence where none can hold it."""
    try:
        code = segno.make_qr(address, error="l")
    except segno.DataOverflowError:
        return TOO_LONG
    picture = code.svg_data_uri(border=4, scale=8, light="#fff")
    saved = f'<a href="{picture}" download="pmdviz-link.svg">Save the QR code</a>'
    return f'<img class="pmdviz-qr" alt="QR code of the link" src="{picture}"><br>{saved}'
