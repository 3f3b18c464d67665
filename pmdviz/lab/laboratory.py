"""`pmdviz.Lab`: one live run with everything around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import panel as pn

from pmdviz.errors import InputError
from pmdviz.lab import limits, warm
from pmdviz.lab.busy import Busy
from pmdviz.lab.export import ExportPanel
from pmdviz.lab.floor_work import FloorWork
from pmdviz.lab.live import BUSY_S, Live
from pmdviz.lab.new_run import next_recipe
from pmdviz.lab.runner import Runner, Snapshot
from pmdviz.lab.screen import Screen
from pmdviz.lab.setup import Setup
from pmdviz.lab.transport import Transport
from pmdviz.lab.trouble import Trouble
from pmdviz.presets import PRESETS
from pmdviz.recipe import DEFAULT_BUDGET, Recipe
from pmdviz.result import Run
from pmdviz.session import Session

KEPT_RUNS = 5
FLOOR_WORDS = "Computing what perfect draws would get"
FLOOR_S = 2.0  # a floor is in nobody's way: only when it takes so long does it show a card with Cancel


class Lab:
    """A live run with its controls; the last line of a notebook cell, or a page of the app.

    Parameters
    ----------
    target : str or Target
    method : str
    recipe : Recipe, optional
        Everything at once, in place of the other parameters.
    target_options : mapping, optional
        Options of a built-in target.
    seed : int
    budget : int or None
        Data to visit; None is endless.
    keyboard : bool
        Whether the page's keys belong to this lab (the app sets it).
    **knobs
        Knobs of the method. Raises InputError for anything that cannot be used.
    """

    def __init__(
        self,
        target: Any = "mixture",
        method: str = "pmd",
        *,
        recipe: Recipe | None = None,
        target_options: Mapping[str, Any] | None = None,
        seed: int = 0,
        budget: int | None = DEFAULT_BUDGET,
        keyboard: bool = False,
        **knobs: Any,
    ) -> None:
        asked = recipe or Recipe(target, method, target_options=target_options, seed=seed, budget=budget, **knobs)
        self._recipe = limits.check(asked)
        self._before: list[Runner] = []
        self._last: Snapshot | None = None
        self._dark = self._presenter = False
        self.on_presenter: Callable[[bool], None] = lambda on: None
        self.transport = Transport(self._act, self._set_speed)
        self.trouble = Trouble(lambda: self._act("retry"), lambda: self._act("restart"), self._copy_recipe)
        self.busy_card = Busy(self.cancel)
        self.floor = FloorWork(self._tell_floor)
        target_now = self._recipe.make_target()
        cards = self.trouble, self.busy_card
        self.screen = Screen(target_now, self.transport, cards, self.floor, lambda: self._last, keyboard)
        if not warm.is_ready():
            self.screen.wait(warm.words(), warm.progress()[0])  # in the document itself: the first thing one sees
        self.live = Live(self, self.screen.ack)
        self.setup = Setup(PRESETS, self._begin, self._turn)
        self.exports = ExportPanel(lambda act: self.live.do("export", act))
        self.setup.view.append(self.exports.view)
        self.setup.show_recipe(self._recipe, target_now, self._recipe.start_knobs(), {})
        self.setup.new_seed.on_click(lambda event: self._act("reseed"))
        self.setup.undo.on_click(lambda event: self._act("undo"))
        self.screen.ack.on_change("presses", lambda attr, old, new: self._press(self.screen.ack.key))

    # What others read

    @property
    def view(self) -> Any:
        """What stands in the middle of a page."""
        return self.screen.view

    @property
    def controls(self) -> Any:
        """What stands beside it, or in the drawer."""
        return self.setup.view

    @property
    def session(self) -> Session:
        """The live session; while it plays, read it only."""
        if self.live.runner is None:
            self.live.runner = Runner(self._recipe)
        return self.live.runner.session

    @property
    def recipe(self) -> Recipe:
        """The recipe of the run, with the knob changes made so far."""
        return self.session.recipe

    @property
    def run(self) -> Run:
        """The run so far."""
        return self.session.run

    def set(self, **knobs: Any) -> None:
        """Turn knobs, as the controls do. Raises InputError."""
        self.session.knobs.replaced(**knobs)
        self.live.turn(**knobs)

    # Life

    def start(self, doc: Any = None) -> None:
        """Begin the live loop on the running event loop and compute the first picture."""
        self.live.start(doc)
        self.live.do("first picture", self._first)

    def ready(self) -> None:
        """The page is there."""
        self.screen.post.live()
        self.live.ready()

    def look(self, on: bool) -> None:
        """The lab is to be seen, or no longer: then it does not compute, and the keys are another's."""
        self.screen.ack.keyboard = on
        self.live.look(on)
        if on:
            self.live.do("look", Runner.snapshot)
        else:
            self.floor.forget()

    def stop(self) -> None:
        """End the live loop and what is computed in the background."""
        self.live.stop()
        self.exports.stop()
        self.floor.cancel()

    def cancel(self) -> None:
        """Stop what takes long: a step, a new run, or the floor. The last picture stays."""
        if self.live.cancel():
            self.busy_card.cancelling()
        else:
            self.floor.cancel()

    def _first(self, runner: Runner | None) -> tuple[Runner, Snapshot]:
        warm.wait()
        runner = runner or Runner(self._recipe)
        return runner, runner.snapshot()

    def dress(self, dark: bool | None = None, presenter: bool | None = None) -> None:
        """Theme and size of the labels."""
        self._dark = self._dark if dark is None else dark
        self._presenter = self._presenter if presenter is None else presenter
        with pn.io.hold():
            self.screen.dress(self._dark, self._presenter)

    def __panel__(self) -> Any:
        controls = pn.Column(self.setup.view, width=320, margin=0)
        pn.state.execute(self.start) if pn.state.curdoc is None else pn.state.onload(self.start)
        return pn.Row(controls, self.screen.view, sizing_mode="stretch_width")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return pn.panel(self.__panel__())._repr_mimebundle_(include, exclude)

    # What the live loop draws on

    def show(self, snapshot: Snapshot) -> None:
        """Draw a snapshot and bring the controls up to date."""
        if self._last is None or snapshot.frame is not self._last.frame:  # a second look takes back no words
            self.trouble.hide()
            self.screen.extra = ""
        self._last = snapshot
        self.screen.show(snapshot, self.live.playing)
        self.setup.show(snapshot)
        self.setup.can_undo(bool(self._before))
        self.transport.playing(self.live.playing)
        if not (self.live.playing and snapshot.step_seconds > BUSY_S):  # the next step lasts too: no flicker
            self.busy_card.hide()
        self.floor.ask(snapshot.frame)

    def busy(self, what: str, seconds: float, share: float) -> None:
        """Something takes long: say what, for how long already, and how far it is."""
        if not warm.is_ready():
            self.screen.wait(warm.words(), warm.progress()[0])
        else:
            self.busy_card.show(what, seconds, share, can_cancel=self.live.runner is not None)

    def cancelled(self, what: str) -> None:
        """It was cancelled: the last picture stays, and the controls are as they were before."""
        self.busy_card.hide()
        self.screen.dim(False)
        self.setup.forget()
        self.screen.say(self._last, "Cancelled: the last picture stays", self.live.playing)

    def failed(self, error: Exception) -> None:
        """A step failed: the last good frame stays, and a card says why."""
        self.busy_card.hide()
        self.trouble.show(error)
        self.screen.dim(False)
        self.transport.playing(False)

    def refused(self, what: str, error: InputError) -> None:
        """A value could not be used: the sentence stands beside its control, or in the status."""
        self.busy_card.hide()
        self.screen.dim(False)
        sentence = str(error)
        self.setup.forget()
        if not self.setup.refuse(sentence):
            self.screen.say(self._last, sentence, self.live.playing)

    def play_changed(self, playing: bool) -> None:
        """Play or Pause was pressed."""
        self.transport.playing(playing)

    # What the controls ask for

    def _act(self, name: str) -> None:
        acts: dict[str, Callable[[], None]] = {
            "toggle": lambda: self.live.play(not self.live.playing),
            "step": lambda: self._paused("step", lambda runner: runner.advance(1)),
            "back": lambda: self._paused("step back", Runner.back),
            "restart": lambda: self.live.do("restart", Runner.restart),
            "replay": self._replay,
            "proceed": self._proceed,
            "reseed": lambda: self.live.do("new seed", Runner.reseed),
            "retry": lambda: self._paused("step", lambda runner: runner.advance(1)),
            "undo": self._undo,
        }
        if self.floor.cancelled and name in ("restart", "replay", "reseed"):
            self.floor.forget()
        acts[name]()

    def _paused(self, what: str, act: Callable[[Runner], Snapshot]) -> None:
        if self.live.playing:
            self.live.play(False)
        self.live.do(what, act)

    def _replay(self) -> None:
        self.live.do("replay", Runner.replay)
        self.live.play(True)

    def _proceed(self) -> None:
        self.live.do("continue", Runner.proceed)
        self.live.play(True)

    def _undo(self) -> None:
        if self._before:
            old = self._before.pop()
            self.live.do("undo", lambda runner: (old, old.snapshot()))

    def _set_speed(self, iterations: int) -> None:
        self.live.iterations = iterations

    def _turn(self, name: str, value: Any) -> None:
        self.live.turn(**{name: value})

    def _begin(self, what: str, **parts: Any) -> None:
        """A new run (or only a new budget) in place of this one; the old one is kept for Undo."""
        if what == "budget":
            self.live.do(what, lambda runner: runner.limit(parts["budget"]))
            return
        with pn.io.hold():  # Panel may deliver a change without the document's lock
            self.screen.dim(True)
        self.live.do(what, lambda runner: self._new_run(runner, parts))

    def _new_run(self, runner: Runner, parts: dict[str, Any]) -> tuple[Runner, Snapshot]:
        """Runs in the worker: make the run, and only when its first picture is there put the old one aside."""
        made = Runner(limits.check(next_recipe(runner.session, parts)))
        snapshot = made.snapshot()
        if runner.session.frame.iteration > 0 or not self._before:
            self._before = [*self._before, runner][-KEPT_RUNS:]
        return made, snapshot

    def _press(self, key: str) -> None:
        if key == "P":
            self.dress(presenter=not self._presenter)
            self.on_presenter(self._presenter)
            return
        names = {"space": "toggle", "right": "step", "left": "back", "R": "restart", "N": "reseed"}
        if key == "Esc":
            self.cancel()
        elif key in names and self._last is not None:
            self._act(names[key])

    def _copy_recipe(self) -> None:
        if self._last is not None:
            self.screen.actions.put_on_clipboard(self._last.recipe.to_json(indent=1))

    def _tell_floor(self) -> None:
        """How far the floor is, where nothing else is shown; at its end the picture comes again with it."""
        if not self.floor.running:
            self.busy_card.hide()
            self.live.do("look", Runner.snapshot)
        elif self._last is not None and not self.live.playing and not self.live.at_work:
            with pn.io.hold():
                self.screen.say(self._last, self.screen.extra, False)
                if self.floor.seconds > FLOOR_S:
                    self.busy_card.show(FLOOR_WORDS, self.floor.seconds, self.floor.share)
