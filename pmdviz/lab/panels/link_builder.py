"""A fold in which a teacher makes a link: where it starts, what it leaves out, how the page looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn

from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.links import END, HERE, START, Page
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
LOOKS = {"presenter mode": "presenter", "embedded (the lab alone)": "embed"}


class LinkBuilder:
    """The fold; `copy(start, page)` puts the link on the clipboard. What is in it is made when it is first opened."""

    def __init__(self, copy: Callable[[str, Page], None]) -> None:
        self._copy = copy
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
        copy = small_button("Copy the link")
        copy.on_click(handed(lambda event: self._copy(self.start.value, self.page)))
        leave, opens = (
            pn.pane.HTML(text, stylesheets=[css.TEXT], margin=(0, 8)) for text in ("Leave out:", "Open in:")
        )
        self.view.extend([self.start, leave, self.hide, opens, self.looks, copy])

    @property
    def page(self) -> Page:
        """How the page is to look."""
        return Page(tuple(self.hide.value), "embed" in self.looks.value, "presenter" in self.looks.value)
