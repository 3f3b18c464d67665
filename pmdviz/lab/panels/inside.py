"""The card "Inside this step": what each term of the update did to each particle, following the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn
import param
from panel.custom import JSComponent

from pmdviz.lab import css
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.views import figures

TITLE = "Inside this step"
NAME, OPEN = "pmdviz-inside", "pmdviz-inside-open"  # open it is there in presenter mode too


class InsideView(JSComponent):
    """What is in the card; drawn by the script that an exported player has too."""

    told = param.String(default="", doc="JSON of `scenes.inside`.")
    dark = param.Boolean(default=False)
    stage = param.String(default="", doc="Id of the figure whose particles a tap picks.")
    freezes = param.Integer(default=0, doc="Raised by the browser: the run is to pause.")
    seen = param.Integer(default=0, doc="Raised by the server: the card was opened by a key and is to be seen.")

    _esm = figures.inside_script() + css.static("inside.js")
    _stylesheets = [figures.inside_stylesheet()]


class InsidePanel:
    """A folded card; what is in it is made when it is first opened, and follows the run by `show`.

    `look(on)` has the run compute it, or no longer; `freeze` pauses the run.
    """

    def __init__(self, stage: Any, look: Callable[[bool], None], freeze: Callable[[], None]) -> None:
        self._stage, self._look, self._freeze = stage, look, freeze
        self._dark, self._wished, self._awaited = False, False, False
        self.inside: InsideView | None = None
        header = pn.pane.HTML(f"{TITLE} (key I)", stylesheets=[css.TEXT], margin=(4, 0))
        self.view = pn.Card(
            header=header,
            collapsed=True,
            css_classes=[NAME],
            margin=(4, 0),
            stylesheets=[css.FOLDED],
            sizing_mode="stretch_width",
        )
        self.view.param.watch(handed(self._on_open), "collapsed")

    @property
    def is_open(self) -> bool:
        """Whether it is to be seen."""
        return not self.view.collapsed

    def toggle(self) -> None:
        """Open or close it, as its key does; opened so it comes into sight."""
        self._wished = self.view.collapsed
        self.view.collapsed = not self.view.collapsed

    def reveal(self) -> None:
        """Have it open, and in sight once there is a step to be seen: before the first one it is a line."""
        self._awaited = True
        if not self.is_open:
            self.toggle()

    def _on_open(self, event: Any) -> None:
        self.view.css_classes = [NAME, *([OPEN] if self.is_open else [])]
        if self.is_open and self.inside is None:
            self._build()
        if self.is_open and self._wished:
            self.inside.seen += 1
        self._wished = False
        self._look(self.is_open)

    def _build(self) -> None:
        self.inside = InsideView(stage=self._stage.id, dark=self._dark, sizing_mode="stretch_width", margin=0)
        self.inside.param.watch(handed(lambda event: self._freeze()), "freezes")
        figures.pick_by_tap(self._stage)
        self.view.append(self.inside)

    def show(self, snapshot: Snapshot) -> None:
        """Follow the run; a run that was begun meanwhile does not know yet that the card is open."""
        if not self.is_open or self.inside is None:
            return
        if not snapshot.watched:
            self._look(True)
        elif snapshot.inside and snapshot.inside != self.inside.told:
            self.inside.told = snapshot.inside
            if self._awaited and snapshot.frame.info is not None:
                self._awaited = False
                self.inside.seen += 1

    def set_theme(self, dark: bool) -> None:
        """Colours of the light or the dark theme."""
        self._dark = dark
        if self.inside is not None:
            self.inside.dark = dark
