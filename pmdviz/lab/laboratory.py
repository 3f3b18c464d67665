"""`pmdviz.Lab`: one live run with everything around it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import panel as pn

from pmdviz.errors import InputError
from pmdviz.floors import floor, known_floor
from pmdviz.lab import limits, warm
from pmdviz.lab.live import Live
from pmdviz.lab.pool import GIVES_WAY, DaemonPool
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
_floor_pool = DaemonPool(1, "pmdviz-floor", GIVES_WAY)


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
        self._floors_asked: set[tuple] = set()
        self._dark = self._presenter = False
        self.on_presenter: Callable[[bool], None] = lambda on: None
        self.transport = Transport(self._act, self._set_speed)
        self.trouble = Trouble(lambda: self._act("retry"), lambda: self._act("restart"), self._copy_recipe)
        target_now = self._recipe.make_target()
        self.screen = Screen(target_now, self.transport, self.trouble, lambda: self._last, keyboard)
        if not warm.is_ready():
            self.screen.wait(warm.words(), warm.progress()[0])  # in the document itself: the first thing one sees
        self.live = Live(self, self.screen.ack)
        self.setup = Setup(PRESETS, self._begin, self._turn)
        self.setup.show_recipe(self._recipe, target_now, self._recipe.start_knobs(), {})
        self.setup.new_seed.on_click(lambda event: self._act("reseed"))
        self.setup.undo.on_click(lambda event: self._act("undo"))
        self.screen.ack.on_change("presses", lambda attr, old, new: self._press(self.screen.ack.key))

    # What others read

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
        self.screen.live()
        self.live.ready()

    def stop(self) -> None:
        """End the live loop."""
        self.live.stop()

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
        self._last = snapshot
        self.screen.extra = ""
        self.screen.show(snapshot, self.live.playing)
        self.setup.show(snapshot)
        self.setup.can_undo(bool(self._before))
        self.transport.playing(self.live.playing)
        self._ask_floor(snapshot)

    def busy(self, what: str, seconds: float) -> None:
        """Something takes long: say what and for how long already."""
        if not warm.is_ready():
            self.screen.wait(warm.words(), warm.progress()[0])
        else:
            self.screen.say(self._last, f"{what}: {seconds:.1f} s so far", self.live.playing)

    def failed(self, error: Exception) -> None:
        """A step failed: the last good frame stays, and a card says why."""
        self.trouble.show(error)
        self.screen.dim(False)
        self.transport.playing(False)

    def refused(self, what: str, error: InputError) -> None:
        """A value could not be used: the sentence stands beside its control, or in the status."""
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
        if key in names and self._last is not None:
            self._act(names[key])

    def _copy_recipe(self) -> None:
        if self._last is not None:
            self.screen.actions.put_on_clipboard(self._last.recipe.to_json(indent=1))

    # The floor, in the background

    def _ask_floor(self, snapshot: Snapshot) -> None:
        """Have what perfect draws get computed once a run stands still at this particle count, and show it then."""
        target, m = snapshot.frame.target, snapshot.frame.num_draws
        key = (target.key, m)
        if m is None or snapshot.metrics["tv"] is None:
            return
        if known_floor(target, m) is not None or key in self._floors_asked:
            return
        self._floors_asked.add(key)
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(_floor_pool, floor, target, m)
        work.add_done_callback(lambda done: done.exception() or self.live.do("look", Runner.snapshot))


def next_recipe(session: Session, parts: Mapping[str, Any]) -> Recipe:
    """The recipe of a new run: `parts` changed, everything else as it is now. Raises InputError."""
    if "recipe" in parts:
        return parts["recipe"]
    base = session.recipe.replaced(knobs=session.knobs.as_dict(), changes=())
    parts = dict(parts)
    if "option" in parts:
        name, value = parts.pop("option")
        parts["target_options"] = {**base.target_options, name: value}
    method = parts.get("method", base.method)
    target = parts.get("target", base.custom or base.target)
    same = target is base.custom or target == base.target
    usual_options = base.target_options if same and not base.custom else {}
    made = Recipe(target, target_options=parts.get("target_options", usual_options))
    knobs = {}
    if method == base.method:  # what was turned stays, as far as it fits the new target
        way, now = base.make_method(), session.knobs
        usual = way.fitted(type(now).checked({}), session.target).as_dict()
        turned = {name: value for name, value in now.as_dict().items() if value != usual[name]}
        knobs = way.fitted(type(now).checked(turned), made.make_target()).as_dict()
    return Recipe(
        base.custom if target is base.custom else made.target,
        method,
        target_options=None if target is base.custom else made.target_options,
        seed=parts.get("seed", base.seed),
        budget=base.budget,
        **knobs,
    )
