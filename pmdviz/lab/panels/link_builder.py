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
    """The fold; `copy(start, page)` puts the link on the clipboard."""

    def __init__(self, copy: Callable[[str, Page], None]) -> None:
        look: dict[str, Any] = {"stylesheets": [css.SELECT], "margin": (4, 0), "sizing_mode": "stretch_width"}
        boxes: dict[str, Any] = {"stylesheets": [css.LINK_BUILDER], "margin": (0, 0, 4, 0)}
        self.start = pn.widgets.Select(label="Opens the run", options=STARTS, value=START, **look)
        self.hide = pn.widgets.CheckBoxGroup(label="Leaves out", options=PARTS, **boxes)
        self.looks = pn.widgets.CheckBoxGroup(label="Looks", options=LOOKS, **boxes)
        self.copy = small_button("Copy the link")
        self.copy.on_click(handed(lambda event: copy(self.start.value, self.page)))
        header = pn.pane.HTML("Make a link", stylesheets=[css.TEXT], margin=(4, 0))
        words = [pn.pane.HTML(text, stylesheets=[css.TEXT], margin=0) for text in ("Leave out:", "Open in:")]
        self.view = pn.Card(
            self.start,
            words[0],
            self.hide,
            words[1],
            self.looks,
            self.copy,
            header=header,
            collapsed=True,
            margin=(8, 0),
            css_classes=["pmdviz-link-builder"],
            stylesheets=[css.FOLDED],
            sizing_mode="stretch_width",
        )

    @property
    def page(self) -> Page:
        """How the page is to look."""
        return Page(tuple(self.hide.value), "embed" in self.looks.value, "presenter" in self.looks.value)
