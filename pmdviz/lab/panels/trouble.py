"""What a person sees when a step failed: the sentence beside the stage, with three ways out."""

from __future__ import annotations

import html
from collections.abc import Callable

import panel as pn

from pmdviz.errors import TargetError
from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.panels.card import Card


def error_words(error: Exception) -> str:
    """What happened, in words; which theta and which batch where the target said so."""
    if isinstance(error, TargetError):
        return str(error)
    return f"the step failed with {type(error).__name__}: {error}"


class Trouble(Card):
    """A card over the stage, hidden while all is well."""

    def __init__(self, retry: Callable[[], None], restart: Callable[[], None], copy: Callable[[], None]) -> None:
        self.text = pn.pane.HTML("", sizing_mode="stretch_width", margin=0)
        buttons = pn.Row(
            *(_button(label, act) for label, act in (("Retry", retry), ("Restart", restart), ("Copy recipe", copy))),
            margin=0,
        )
        super().__init__("pmdviz-trouble", css.TROUBLE, self.text, buttons)

    def show(self, error: Exception) -> None:
        """Say what went wrong."""
        words = html.escape(error_words(error))
        self.text.object = (
            f'<div role="alert"><b>The run stopped.</b> The last good frame is still shown. {words}</div>'
        )
        self.reveal()


def _button(label: str, act: Callable[[], None]) -> pn.widgets.Button:
    made = small_button(label)
    made.on_click(handed(lambda event: act()))
    return made
