"""What the lab and the race have in common: pictures, controls and the live loop, in the app and in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import methodcaller
from typing import Any, ClassVar

import panel as pn
from bokeh.document import Document

from pmdviz.errors import InputError
from pmdviz.experiments.running import ExperimentResult
from pmdviz.lab.controls.setup import ProblemControls
from pmdviz.lab.controls.widgets import PlaybackBar
from pmdviz.lab.loop.live import Live, Pace
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.runner import Shown, Snapshot
from pmdviz.lab.loop.work import FloorWork
from pmdviz.lab.notebook import InNotebook
from pmdviz.lab.panel_internals import collected
from pmdviz.lab.panels.cards import Busy, Sheet, live_words, words_of_job
from pmdviz.lab.panels.folds import ExportPanel, InsidePanel
from pmdviz.lab.panels.screen import LiveScreen
from pmdviz.scenes.race import RaceScene
from pmdviz.scenes.stage import SceneChoice

Seen = Snapshot | RaceScene | ExperimentResult


class Page:
    """A page of the app: its parts, and what it tells the others and asks them; who listens sets these on the page."""

    view: pn.viewable.Viewable  # the content in the middle
    foot: pn.viewable.Viewable  # at the foot of the window, or under the page in a notebook: Play and its neighbours
    playback: PlaybackBar  # of a page that plays
    take: Callable[..., None]  # shows what another page hands over, also before `start`; of a page that others open
    on_presenter: Callable[[bool], None] = staticmethod(lambda on: None)  # hears whether it is for a lecture hall
    on_note: Callable[[str], None] = staticmethod(lambda words: None)  # a few words that are seen from every page
    on_open: Callable[[str, Any], None] | None = None  # another page; None where there is none
    on_show: Callable[[Seen], None] = staticmethod(lambda shown: None)  # hears of drawn frames
    gate: Callable[[str], bool] = staticmethod(lambda name: True)  # whether a button or a key may do this now

    def start(self, doc: Document | None = None) -> None:
        """Begin: nothing may be sent before the browser has built the page."""

    def look(self, on: bool) -> None:
        """The page is to be seen, or no longer: a hidden page does not compute."""

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""

    def stop(self) -> None:
        """The page is closed: end all that it does."""


class LivePage(InNotebook[Shown], Page):
    """A page: subclasses make `playback`, `floor` and `screen`, call `_go_live`, and make `setup`.

    They have `show` and what else the live loop draws on, `_first` (the first picture), `_act` (the command of a button
    or a key) and `cancel`; and `inside`, `exports` and `sheets`; one of these is open at a time.
    """

    keys: ClassVar[Mapping[str, str]] = {}  # of the keyboard -> what `_act` is given
    screen: LiveScreen
    setup: ProblemControls
    floor: FloorWork
    inside: InsidePanel
    exports: ExportPanel
    sheets: Sequence[Sheet] = ()
    _last: Shown | None = None
    _dark = _presenter = False
    _doc: Document | None = None

    def __init__(self) -> None:
        self.on_refused: Callable[[InputError], bool] = lambda error: False  # whether another control says why
        self.busy_card = Busy(self.cancel)

    def _go_live(self) -> None:
        """Show the screen, and connect it with a live loop and the keyboard."""
        self.live = Live(self, self.screen.ack)
        self.view, self.foot = self.screen.view, self.playback.view
        self.screen.ack.on_change("presses", handed(lambda attr, old, new: self._press(self.screen.ack.key)))

    # What others read

    @property
    def last(self) -> Shown | None:
        """The last drawn frame; None before the first picture."""
        return self._last

    # Life

    def start(self, doc: Document | None = None) -> None:
        """Begin the live loop on the running event loop and compute the first picture; also again after `stop`."""
        self._doc = doc
        self.live.start(doc)
        self.live.do("first picture", self._first)

    def ready(self) -> None:
        """The page is there."""
        self.screen.sender.live()
        self.live.ready()

    def look(self, on: bool) -> None:
        """The page is to be seen, or no longer: then nothing of it computes, and the keys are another's."""
        self.screen.ack.keyboard = on
        self.live.look(on)
        if on:
            self._glance()
        else:
            self.floor.forget()

    def stop(self) -> None:
        """End the live loop and its background work."""
        self.live.stop()
        self.floor.cancel()
        self.exports.stop()

    def set_theme(self, dark: bool | None = None, presenter: bool | None = None) -> None:
        """Theme and size of the labels."""
        self._dark = self._dark if dark is None else dark
        self._presenter = self._presenter if presenter is None else presenter
        with collected(pn.state.curdoc):
            self.screen.set_theme(self._dark, self._presenter)
            self.playback.set_large(self._presenter)
        self.inside.set_theme(self._dark)

    def present(self, on: bool) -> None:
        """Presenter mode: the picture, the question and Play, large; or no longer."""
        self.set_theme(presenter=on)
        self.on_presenter(on)

    # What the live loop draws on, and the keyboard

    def busy(self, what: str, seconds: float, share: float) -> None:
        """Something takes long: say what, for how long already, and how far it is."""
        self.busy_card.show(words_of_job(what), seconds, share, can_cancel=self.live.runner is not None)

    def waiting(self, what: str, seconds: float) -> None:
        """The request waits for its kernels: say when it goes on."""
        self.playback.hold(True)
        if self._last is None:
            self.screen.wait(live_words(seconds))
        else:
            self.busy_card.wait(live_words(seconds))

    def play_changed(self, playing: bool) -> None:
        """Play or Pause was pressed. A last look draws what a frame of a playing run leaves out, if none is to come."""
        self.playback.playing(playing)
        self.tell_notebook()
        if not (playing or self.live.at_work) and self._last is not None:
            self._glance()

    def _glance(self) -> None:
        """Draw the present moment again."""
        self.live.do("look", methodcaller("snapshot"))

    def _look_at(self, choice: SceneChoice) -> None:
        self.live.do("look", methodcaller("look_at", choice))

    def _set_pace(self, pace: Pace) -> None:
        self.live.pace = pace

    def _freeze(self) -> None:
        if self.live.playing:
            self.live.play(False)

    def _sheet_moved(self, sheet: Sheet) -> None:
        """One sheet at a time, and the pictures make room for it."""
        if sheet.shown:
            for other in self.sheets:
                if other is not sheet:
                    other.hide()
        self.screen.make_room(any(each.shown for each in self.sheets))

    def _stands(self) -> None:
        """The wait is over: the picture stays."""
        self.playback.hold(False)
        self.busy_card.hide()
        self.screen.dim(False)

    def _press(self, key: str) -> None:
        if key == "P":
            self.present(not self._presenter)
        elif key == "Esc":
            self.cancel()
        elif key in self.keys and self._last is not None:
            if not (self.live.waits and self.keys[key] in ("toggle", "step")):
                self._act(self.keys[key])
