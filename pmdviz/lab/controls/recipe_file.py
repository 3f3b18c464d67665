"""A recipe out of a file: what Export, the command line or Python wrote opens in the lab.

It is read where the run is made, in a worker thread: a long one takes its time.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import panel as pn

from pmdviz.lab import css
from pmdviz.lab.loop.locked import handed

LABEL = "Open a recipe (JSON)"
OPENING = "new file"  # what the live loop calls it


class RecipeFile:
    """A box for a file, which begins a new run by `begin(OPENING, content=...)`; what is no recipe gets a sentence."""

    def __init__(self, begin: Callable[..., None]) -> None:
        self._begin = begin
        wide: dict[str, Any] = {"sizing_mode": "stretch_width"}
        self.box = pn.widgets.FileInput(
            label=LABEL, accept=".json", margin=(8, 0, 4, 0), stylesheets=[css.FILE], **wide
        )
        self.said = pn.pane.HTML("", margin=0, stylesheets=[css.TEXT], **wide)
        self.view = pn.Column(self.box, self.said, margin=0, **wide)
        self.box.param.watch(handed(lambda event: self._take(event.new)), "value")

    def _take(self, content: bytes | None) -> None:
        if content:
            self.say("")
            self._begin(OPENING, content=content)

    def say(self, sentence: str) -> None:
        """Say why a file was refused, or nothing."""
        with pn.io.hold():
            self.said.object = f'<span class="pmdviz-file-words" role="alert">{html.escape(sentence)}</span>'
