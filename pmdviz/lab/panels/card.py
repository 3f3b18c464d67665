"""A card over the pictures. It is shown and hidden by its style: `visible` or a class would lay out the page anew."""

from __future__ import annotations

from typing import Any

import panel as pn

HIDDEN, SHOWN = {"display": "none"}, {"display": "flex"}


class Card:
    """Some Panel objects in a frame of their own; hidden at first."""

    def __init__(self, name: str, stylesheet: str, *parts: Any) -> None:
        self.view = pn.Column(*parts, css_classes=[name], styles=HIDDEN, stylesheets=[stylesheet], margin=0)

    @property
    def shown(self) -> bool:
        """Whether it is to be seen."""
        return bool(self.view.styles == SHOWN)

    def reveal(self) -> None:
        """Show it."""
        if not self.shown:
            self.view.styles = SHOWN

    def hide(self) -> None:
        """Take it away."""
        if self.shown:
            self.view.styles = HIDDEN
