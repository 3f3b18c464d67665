"""A card over the pictures. It is shown and hidden by a class: changing `visible` would lay out every figure anew."""

from __future__ import annotations

from typing import Any

import panel as pn

HIDDEN = "pmdviz-hidden"


class Card:
    """Some Panel objects in a frame of their own; hidden at first."""

    def __init__(self, name: str, stylesheet: str, *parts: Any) -> None:
        self._name = name
        self.view = pn.Column(*parts, css_classes=[name, HIDDEN], stylesheets=[stylesheet], margin=0)

    @property
    def shown(self) -> bool:
        """Whether it is to be seen."""
        return HIDDEN not in self.view.css_classes

    def reveal(self) -> None:
        """Show it."""
        if not self.shown:
            self.view.css_classes = [self._name]

    def hide(self) -> None:
        """Take it away."""
        if self.shown:
            self.view.css_classes = [self._name, HIDDEN]
