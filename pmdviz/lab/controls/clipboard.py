"""The clipboard of whoever looks: what is put there, and the line that confirms it."""

from __future__ import annotations

import html

import panel as pn

from pmdviz.lab.loop.acknowledge import Acknowledge
from pmdviz.lab.loop.locked import handed


class Clipboard:
    """What the browser is asked to copy, by way of the acknowledgement model."""

    def __init__(self, ack: Acknowledge) -> None:
        self._ack = ack
        self.said = pn.pane.HTML("", margin=(6, 0), css_classes=["pmdviz-said"], sizing_mode="stretch_width")
        ack.on_change("copied", handed(lambda attr, old, new: self.say("Copied to the clipboard.")))
        ack.on_change("refused", handed(lambda attr, old, new: self._by_hand()))

    def put_on_clipboard(self, text: str) -> None:
        """Have the browser copy `text`; it answers whether it could."""
        self._ack.text = text
        self._ack.copies += 1

    def say(self, words: str) -> None:
        """A line beside the buttons."""
        self.said.object = f'<span role="status">{html.escape(words)}</span>'

    def _by_hand(self) -> None:
        if self._ack.text.startswith("?"):
            self.say("The browser did not allow copying; the link is in the address bar.")
            return
        self.said.object = (
            "<details open><summary>The browser did not allow copying; here it is:</summary>"
            f"<textarea readonly rows='8' style='width:100%'>{html.escape(self._ack.text)}</textarea></details>"
        )
