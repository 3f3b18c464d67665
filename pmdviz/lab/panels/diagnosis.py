"""The card "Diagnosis of this run", below the question of a preset: one sentence with the numbers of the run."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import panel as pn

from pmdviz.lab import css
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.scenes.words import marked

TITLE = "Diagnosis of this run"
WAITING = "Being computed from the run."
UNDER_WAY = "The run is under way: pause it, or wait for its end."


class DiagnosisPanel:
    """A folded card: whoever wants to think first is not told.

    `look(preset)` has the run diagnose itself by that preset whenever it stands still, or by none.
    """

    def __init__(self, look: Callable[[str], None]) -> None:
        self._look, self._preset = look, ""
        header = pn.pane.HTML(TITLE, stylesheets=[css.TEXT], margin=(2, 0))
        self._said = pn.pane.HTML(
            _line(WAITING), stylesheets=[css.TEXT], margin=(0, 0, 4, 17), sizing_mode="stretch_width"
        )
        wide: dict[str, Any] = {"margin": (0, 0, 6, 0), "stylesheets": [css.PLAIN_FOLD], "sizing_mode": "stretch_width"}
        self.card = pn.Card(
            self._said, header=header, collapsed=True, css_classes=["pmdviz-diagnosis"], visible=False, **wide
        )
        self.card.param.watch(handed(lambda event: self.again()), "collapsed")
        self.view = pn.Column(self.card, margin=0, sizing_mode="stretch_width")

    @property
    def words(self) -> str:
        """HTML of what is said."""
        return str(self._said.object)

    @property
    def _wanted(self) -> str:
        """The preset that somebody wants the run to be diagnosed by."""
        return "" if self.card.collapsed else self._preset

    def about(self, preset: str) -> None:
        """Another preset, whose diagnosis nobody has asked for yet; without one there is no card."""
        if preset != self._preset:
            self._preset = preset
            self.card.param.update(visible=bool(preset), collapsed=True)

    def again(self) -> None:
        """Have it computed of the run as it stands, if somebody looks; else no longer."""
        self._look(self._wanted)

    def show(self, snapshot: Snapshot) -> None:
        """Follow the run; one that was begun meanwhile does not know yet that the card is open."""
        if not self._wanted:
            return
        if snapshot.diagnosed_by != self._wanted:
            self._look(self._wanted)
        else:
            self._say(snapshot.diagnosis or UNDER_WAY)

    def _say(self, words: str) -> None:
        if self._said.object != _line(words):
            self._said.object = _line(words)


def _line(words: str) -> str:
    """A line that a screen reader says when it changes."""
    return f'<div role="status" class="pmdviz-diagnosed">{marked(html.escape(words))}</div>'
