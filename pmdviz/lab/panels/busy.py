"""What a person sees of work that lasts: what it is, for how long already, how far, and Cancel."""

from __future__ import annotations

import html
from collections.abc import Callable

import panel as pn

from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.panels.card import Card
from pmdviz.scenes.words import duration

WORDS = {  # what the live loop calls its jobs, for a person
    "step": "Computing a step",
    "step back": "Going back one step",
    "set": "Updating",
    "look": "Measuring",
    "going to the iteration of the link": "Replaying up to the iteration of the link",
    "going to an iteration": "Computing the steps up to this iteration",
    "branch": "Computing the steps of both runs",
    "undo": "Restoring the previous run",
    "budget": "Measuring",
}
NEW_RUN = "Preparing the first picture"


def words_of_job(name: str) -> str:
    """What a job of the live loop does; all that have no words of their own make a run."""
    return WORDS.get(name, NEW_RUN)


def live_words(seconds: float) -> str:
    """When a run that waits for its kernels goes on."""
    return f"Live in about {max(1, round(seconds))} s: compiling for this computer, once"


class Busy(Card):
    """A card over the traces, hidden while everything is quick."""

    def __init__(self, cancel: Callable[[], None]) -> None:
        self.text = pn.pane.HTML("", sizing_mode="stretch_width", margin=0)
        self.button = small_button("Cancel")
        self.button.on_click(handed(lambda event: cancel()))
        super().__init__("pmdviz-busy", css.BUSY, self.text, self.button)

    def show(self, what: str, seconds: float, share: float, can_cancel: bool = True) -> None:
        """Say in the words `what` what lasts, for how long already, and which share of its present part is done."""
        words = html.escape(what)
        self.text.object = (
            f'<div role="status">{words}: {duration(seconds)} so far</div>'
            f'<progress aria-label="{words}" max="1" value="{share:.2f}"></progress>'
        )
        self.button.label, self.button.disabled = "Cancel", not can_cancel
        self.reveal()

    def wait(self, words: str) -> None:
        """Say in `words` what is waited for."""
        self.text.object = f'<div role="status">{html.escape(words)}</div>'
        self.button.label, self.button.disabled = "Cancel", False
        self.reveal()

    def cancelling(self) -> None:
        """Cancel was pressed: it ends at the next block, or when a target's own function comes back."""
        self.button.label, self.button.disabled = "Cancelling …", True
