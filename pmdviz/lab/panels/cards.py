"""Cards over the pictures: work that lasts, notices, failed steps, headings, lines of buttons."""

from __future__ import annotations

import html
from collections.abc import Callable

import panel as pn
import param
from panel.custom import JSComponent

from pmdviz.errors import failed_step_words
from pmdviz.lab import css
from pmdviz.lab.controls.widgets import WIDE, Component, small_button, text
from pmdviz.lab.loop.work import status
from pmdviz.scenes.words import duration

HIDDEN, SHOWN = {"display": "none"}, {"display": "flex"}


class Card:
    """Some Panel objects in a frame of their own; hidden at first."""

    def __init__(self, name: str, stylesheet: str, *parts: pn.viewable.Viewable) -> None:
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


class SheetHead(Component):
    """The title of a sheet and the button that closes it; it takes the focus when the sheet is opened."""

    title = param.String(default="")
    opened = param.Integer(default=0, doc="Raised by the server.")

    _esm = css.MAKE + css.static("page.js", "sheet")
    _stylesheets = [css.static("lab.css", "sheet_head")]


class Sheet(Card):
    """A drawer on the right, without a backdrop: the stage stays in sight."""

    def __init__(
        self, title: str, *parts: pn.viewable.Viewable, about: Callable[[Sheet], None] = lambda sheet: None
    ) -> None:
        self._about = about  # hears that it was opened or closed
        self.head = SheetHead(lambda message: self.hide(), title=title)
        super().__init__("pmdviz-sheet", css.SHEET, self.head, *parts)

    def toggle(self) -> None:
        """Open it, or close it."""
        (self.hide if self.shown else self.reveal)()

    def reveal(self) -> None:
        """Open it."""
        super().reveal()
        self.head.opened += 1
        self._about(self)

    def hide(self) -> None:
        """Close it."""
        super().hide()
        self._about(self)


# What a person sees of work that lasts: what it is, for how long already, how far, and Cancel.

WORDS = {  # what the live loop calls its jobs, for a person
    "step": "Computing a step",
    "step back": "Going back one step",
    "set": "Updating",
    "look": "Measuring",
    "going to the iteration of the link": "Replaying up to the iteration of the link",
    "going to an iteration": "Computing the steps up to this iteration",
    "going to a round": "Computing the steps up to this round",
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
        self.text, self.button = text(stylesheets=[]), small_button("Cancel", cancel)
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
        """Give in `words` the reason for the wait."""
        self.text.object = f'<div role="status">{html.escape(words)}</div>'
        self.button.label, self.button.disabled = "Cancel", False
        self.reveal()

    def cancelling(self) -> None:
        """Cancel was pressed: it ends at the next block, or when a target's own function comes back."""
        self.button.label, self.button.disabled = "Cancelling …", True


# A sentence over the traces that a person closes: a link that could not be read, a picture unlike the shared one.


class Notice(Card):
    """One sentence and Close."""

    def __init__(self) -> None:
        self.text = text(stylesheets=[])
        super().__init__("pmdviz-notice", css.BUSY, self.text, small_button("Close", self.hide))

    def say(self, sentence: str) -> None:
        """Show the sentence; it is text, never markup."""
        self.text.object = f'<div role="alert">{html.escape(sentence)}</div>'
        self.reveal()


# What a person sees when a step failed: the sentence next to the stage, with three ways out.


class Trouble(Card):
    """A card over the stage, hidden while all is well."""

    def __init__(self, retry: Callable[[], None], restart: Callable[[], None], copy: Callable[[], None]) -> None:
        self.text, acts = text(stylesheets=[]), {"Retry": retry, "Restart": restart, "Copy recipe": copy}
        buttons = pn.Row(*(small_button(label, act) for label, act in acts.items()), margin=0)
        super().__init__("pmdviz-trouble", css.TROUBLE, self.text, buttons)

    def show(self, error: Exception) -> None:
        """Say what went wrong."""
        words = html.escape(failed_step_words(error))
        self.text.object = (
            f'<div role="alert"><b>The run stopped.</b> The last good frame is still shown. {words}</div>'
        )
        self.reveal()


# The headings of a long page, and its contents: links that go to them.


class Section(JSComponent):
    """A heading, or the contents of the page where it has `places`."""

    key = param.String(default="", doc="By which the contents name it.")
    title = param.String(default="")
    opened = param.Boolean(default=False, doc="Whether the page is to be opened here.")
    places = param.List(default=[], doc="Pairs of key and title: then this is the contents.")

    _esm = css.MAKE + css.static("page.js", "sections")
    _stylesheets = [css.static("lab.css", "text"), css.static("lab.css", "sections")]


def contents(sections: list[Section]) -> Section:
    """Links to sections."""
    return Section(places=[[one.key, one.title] for one in sections], **WIDE)


# Buttons that begin a piece of work, Cancel while it is under way, and a line that says how far it is.


class WorkLine:
    """A row and a line under it; `cancel` is called by its Cancel."""

    def __init__(self, words: str, cancel: Callable[[], None], *buttons: pn.viewable.Viewable) -> None:
        self.stop_it, self.said = small_button("Cancel", cancel, visible=False), text(status(words))
        row = pn.FlexBox(*buttons, self.stop_it, gap="6px", margin=(4, 0))
        self.view = pn.Column(row, self.said, **WIDE)

    def say(self, words: str) -> None:
        """A sentence, which a screen reader says too."""
        self.said.object = status(words)

    def show(self, running: bool) -> None:
        """Whether there is something to cancel."""
        self.stop_it.visible = running
