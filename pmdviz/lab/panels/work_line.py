"""Buttons that begin a piece of work, Cancel while it is under way, and a line that says how far it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn

from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.work.theory import status


class WorkLine:
    """A row and a line under it; `cancel` is called by its Cancel."""

    def __init__(self, words: str, cancel: Callable[[], None], *buttons: Any) -> None:
        self.stop_it = small_button("Cancel", visible=False)
        self.stop_it.on_click(handed(lambda event: cancel()))
        text: dict[str, Any] = {"stylesheets": [css.TEXT], "sizing_mode": "stretch_width", "margin": 0}
        self.said = pn.pane.HTML(status(words), **text)
        row = pn.FlexBox(*buttons, self.stop_it, gap="6px", margin=(4, 0))
        self.view = pn.Column(row, self.said, sizing_mode="stretch_width", margin=0)

    def say(self, words: str) -> None:
        """A sentence, which a screen reader says too."""
        self.said.object = status(words)

    def show(self, running: bool) -> None:
        """Whether there is something to cancel."""
        self.stop_it.visible = running
