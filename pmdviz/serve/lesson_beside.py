"""The room for a lesson: a column left of the pages, above them in a narrow window; the controls make place for it."""

from __future__ import annotations

from typing import Any

import panel as pn

from pmdviz.lab import css
from pmdviz.lab.panels.lesson.guide import BESIDE
from pmdviz.serve.tabs import Tabs

OPEN, LARGE = "pmdviz-lesson-open", "pmdviz-large"
ASIDE = '<p class="pmdviz-lesson-aside">A lesson is open: the settings of its step stand beside the picture.</p>'


class LessonBeside:
    """What stands in the middle of the page, `view`, and in its drawer, `controls`."""

    def __init__(self, tabs: Tabs) -> None:
        self._tabs, self._open, self._large = tabs, False, False
        look: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        self._room = pn.Column(css_classes=["pmdviz-lesson-room"], **look)
        self.view = pn.Column(self._room, tabs.view, stylesheets=[css.PART, css.static("lesson_beside.css")], **look)
        self._aside = pn.pane.HTML(ASIDE, stylesheets=[css.TEXT], css_classes=[css.HIDDEN], margin=12)
        self.controls = pn.Column(self._aside, tabs.controls, stylesheets=[css.PART], **look)
        tabs.bar.param.watch(lambda event: self._dress(), "active")

    def take(self, card: Any) -> None:
        """The card, when it is first made."""
        self._room.append(card)

    def show(self, on: bool) -> bool:
        """Whether a lesson is open; True where that has changed."""
        changed, self._open = on != self._open, on
        self._dress()
        return changed

    def enlarge(self, on: bool) -> None:
        """For a lecture hall."""
        self._large = on
        self._dress()

    def _dress(self) -> None:
        seen = self._open and self._tabs.active in BESIDE
        classes = [OPEN, *([LARGE] if self._large else [])] if seen else []
        if self.view.css_classes != classes:
            self.view.css_classes = classes
            self._aside.css_classes = [] if self._open else [css.HIDDEN]
            self._tabs.controls.css_classes = [css.HIDDEN] if self._open else []
