"""A sentence over the traces that a person closes: a link that could not be read, a picture unlike the shared one."""

from __future__ import annotations

import html

import panel as pn

from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.panels.card import Card


class Notice(Card):
    """One sentence and Close."""

    def __init__(self) -> None:
        self.text = pn.pane.HTML("", sizing_mode="stretch_width", margin=0)
        close = small_button("Close")
        close.on_click(handed(lambda event: self.hide()))
        super().__init__("pmdviz-notice", css.BUSY, self.text, close)

    def say(self, sentence: str) -> None:
        """Show the sentence; it is text, never markup."""
        self.text.object = f'<div role="alert">{html.escape(sentence)}</div>'
        self.reveal()
