"""The Race page: the same budget for several methods, live and in lock step."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import methodcaller
from types import EllipsisType
from typing import Any

from pmdviz.engine.recipe import Recipe, fresh_seed
from pmdviz.engine.run import Run
from pmdviz.errors import InputError, entry, failed_step_words
from pmdviz.experiments.race import RaceRecipe, RaceResult
from pmdviz.export.options import RaceLook
from pmdviz.lab import links
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.race_runner import ROWS, RaceRunner
from pmdviz.lab.loop.recorded import require
from pmdviz.lab.loop.task import TaskSlot
from pmdviz.lab.loop.work import ending
from pmdviz.lab.page import LivePage
from pmdviz.lab.panel_internals import handed
from pmdviz.lab.panels import widgets
from pmdviz.lab.panels.comparing import SeedsPanel
from pmdviz.lab.panels.folds import ExportPanel, InsidePanel
from pmdviz.lab.panels.racing import DEFAULT_ENTRANTS, RaceScreen, RaceSetup, status_fields
from pmdviz.lab.panels.sharing import PageSharing
from pmdviz.lab.panels.widgets import PlaybackBar, Sheet
from pmdviz.scenes.race import RaceScene
from pmdviz.scenes.style import MOST_ENTRANTS
from pmdviz.targets import Target

BUTTONS = {**widgets.BUTTONS, "Reseed": "reseed", "Continue": "proceed"}
WHAT_IF = "Change a setting of a method: from this moment on it is one more method of the race."
SETTLE_S = 0.3  # so often a paused race looks who has come back


def usual_race() -> RaceRecipe:
    """The first race, made to fit this server."""
    made = RaceRecipe.checked(DEFAULT_ENTRANTS)
    return replace(made, budget=limits.usual_budget(made))


class Race(LivePage):
    """Several methods on one budget, live and in lock step; the last line of a notebook cell, or a page of the app.

    Parameters
    ----------
    methods : list of entrants
        As `pmdviz.race` takes them: "pmd", "pmd:warm_start=true" or ("pmd", {"warm_start": True}); at most 8.
    target : str or Target
    target_options : mapping, optional
        Options of a built-in target.
    seed : int
        One seed for all; the bands below the pictures race over several.
    budget : int or None
        What each may spend, by default as in `pmdviz.race`; None is endless.
    clock : "data" or "evaluations"
        What the budget counts.
    recipe : RaceRecipe, optional
        Everything at once, instead of the other parameters.
    at : int
        The round that it goes to at once.

    Raises InputError for anything that cannot be used.
    """

    keys = {**LivePage.keys, "what_if": "what_if"}
    _what_if = False  # whether the next changed setting begins a branch

    def __init__(
        self,
        methods: str | Sequence[Any] = DEFAULT_ENTRANTS,
        target: str | Target = "mixture",
        *,
        target_options: Mapping[str, Any] | None = None,
        seed: int = 0,
        budget: int | None | EllipsisType = ...,
        clock: str | EllipsisType = ...,
        recipe: RaceRecipe | None = None,
        at: int = 0,
    ) -> None:
        if recipe is None:
            recipe = RaceRecipe.checked(methods, target, target_options, budget, [seed], clock=clock)
            if (n := len(recipe.entrants)) > MOST_ENTRANTS:
                raise InputError(f"a live race has at most {MOST_ENTRANTS} methods; got {n} (pmdviz.race takes more)")
            limits.check_race(recipe)
        super().__init__()
        self.recipe, self._at = recipe, at
        self.playback = PlaybackBar(self._act, self._set_pace, lambda rounds: f"{rounds * ROWS:,} data", BUTTONS)
        labels = "Bands", "Cancel bands"
        self.bands = SeedsPanel(self._bounded, self._tell_bands, "Bands over", 8, labels)
        self.screen = RaceScreen(self)
        self._go_live()
        go = self._open_in_lab, lambda: "Open in the Lab" if self.on_open else "Copy Python"
        self.setup = RaceSetup(self.recipe, self._begin, self._branch, self._leave, go)
        self.exports = ExportPanel(lambda act: self.live.do("export", act), "pmdviz-race", RaceLook)
        hint = " (Export, recipe as JSON)"
        self.sharing = PageSharing(self.screen.ack, self._query, "?page=race", usual_race(), hint)
        self.sharing.button.label = "Copy link"
        self.settings = Sheet("Methods and settings", self.setup.view, about=self._sheet_moved)
        self.share = Sheet("Share", self.sharing.button, self.exports.view, about=self._sheet_moved)
        look = {"width": 240, "sizing_mode": None, "margin": (8, 10)}
        self.entrant = widgets.select("Step of", {}, lambda name: self._look_inside(self.inside.is_open), **look)
        self.inside = InsidePanel(None, self._look_inside, self._freeze, self.entrant)
        self.sheets = self.settings, self.share
        self.screen.open_sheets(self.settings, self.share, self.inside, self.sharing.said)
        ack = self.screen.ack
        ack.on_change("hidden", handed(lambda attr, old, new: self.bands.pause(new)))
        self.screen.tiles.figure.on_change("inner_width", handed(lambda attr, old, new: self._laid_out(new)))

    # Life; the first picture is sent when the browser has laid out the figures

    def look(self, on: bool) -> None:
        """The race is to be seen, or no longer: then nothing of it computes, and the keys are another's."""
        super().look(on)
        self.bands.pause(not on)

    def start(self, doc: Any = None) -> None:
        """Begin the live loop, and go to the round of the link."""
        super().start(doc)
        at, self._at = self._at, 0
        if at:
            self.live.do("going to a moment", methodcaller("go", at))

    def take(self, recipe: RaceRecipe) -> None:
        """Race this instead of the present race."""
        self._freeze()
        self._at = 0
        if self.live.runner is not None or self.live.at_work:
            self._begin(recipe)
        else:
            self.recipe = recipe

    def stop(self) -> None:
        """End everything."""
        if self.live.runner is not None:
            self.live.runner.cancel()
        super().stop()
        self.bands.cancel()
        self.bands.pause(False)

    def _laid_out(self, width: float) -> None:
        """The browser has built the figures, or their size has changed."""
        self.screen.tiles.width = float(width)
        self.ready()
        if self._last is not None:
            self._glance()

    def _first(self, runner: RaceRunner | None) -> tuple[RaceRunner, RaceScene]:
        return _made(self.recipe) if runner is None else (runner, runner.snapshot())

    # What the live loop draws on

    def show(self, scene: RaceScene) -> None:
        """Draw a scene and bring everything up to date."""
        if self._last is None or scene.iteration != self._last.iteration:
            self.screen.extra, self._what_if = "", False
        self._last, self.recipe = scene, scene.recipe
        self.playback.tell(held=False, playing=self.live.playing)
        self.screen.show(scene, self.live.playing, self.bands.runs)
        self.screen.dim(False)
        widgets.offer(self.entrant, {tile.title: name for tile, name in zip(scene.tiles, scene.names, strict=True)})
        if scene.tiles:
            self.inside.show(scene)
        self.setup.show(self.recipe)
        self.sharing.follow(self.recipe, scene.at, self.live.playing)
        self._show_slow(scene)
        if (frame := self.live.runner.weighted) is not None:
            self.floor.ask(frame)
        self.tell_notebook()
        self.on_show(scene)

    def _show_slow(self, scene: RaceScene) -> None:
        """A card with Cancel for a step that lasts; a step that ends while the race is paused is shown then."""
        under_way = [tile for tile in scene.tiles if tile.waited is not None]
        slow = max(under_way, key=lambda tile: tile.waited, default=None)
        if slow is not None and slow.slow:
            self.busy_card.show(f"Computing a step of {slow.title}", slow.waited, slow.share)
        else:
            self.busy_card.hide()
        if slow is not None and not self.live.playing:
            asyncio.get_running_loop().call_later(SETTLE_S, self._glance)

    def failed(self, error: Exception) -> None:
        """The race could not be made or drawn; the last picture stays."""
        self.playback.tell(playing=False)
        self.setup.forget()
        self._say(failed_step_words(error))

    def refused(self, what: str, error: InputError) -> None:
        """A value could not be used: the sentence appears next to its control, or in the status."""
        self._say("" if self.setup.refuse(error) else error.on_page)

    # The commands of the controls

    def cancel(self) -> None:
        """Stop whatever lasts: a new race being made, or steps under way; the last picture stays."""
        if self.live.runner is not None:
            self.live.runner.cancel()
        self._freeze()
        self.live.cancel()
        self.busy_card.cancelling()
        self._glance()

    def _act(self, name: str) -> None:
        acts: dict[str, Callable[[], None]] = {
            "toggle": lambda: self.toggle(lambda: self._begin(self.setup.recipe)),
            "step": lambda: self.paused("step", RaceRunner.advance),
            "restart": lambda: self._begin(self.setup.recipe),
            "reseed": lambda: self._begin(replace(self.setup.recipe, seeds=(fresh_seed(self.setup.recipe.seeds[0]),))),
            "proceed": self.proceed,
            "back": lambda: self._visit(self._last.at - 1),
            "what_if": self._ask_what_if,
            "inside": self.inside.toggle,
        }
        if self._last is not None and self.gate(name):
            acts[name]()

    def _ask_what_if(self) -> None:
        self._freeze()
        self._what_if = True
        self._say(WHAT_IF)

    def _branch(self, k: int, values: Mapping[str, Any]) -> bool:
        """Another setting before the end of the race so far, or after What if: one more entrant goes on with it."""
        last = self._last
        if last is None or not (self._what_if or last.at < last.last):
            return False
        self._what_if, name = False, last.names[k]
        self.live.do("branch", lambda runner: runner.branch(runner.place(name), values))
        return True

    def _leave(self, k: int) -> bool:
        """The race goes on without entrant k."""
        if self._last is None:
            return False
        self._forget_bands()
        name = self._last.names[k]
        self.live.do("look", lambda runner: runner.remove(runner.place(name)))
        return True

    def _look_inside(self, on: bool) -> None:
        """Have the step of the chosen entrant computed for the card, or none; it stays chosen as long as it races."""
        self.newest("look inside", "watched")(self.entrant.value if on else None)

    def _query(self, recipe: RaceRecipe) -> str:
        """The link to the round that is shown."""
        return links.race_query(recipe, self._last.at if self._last else 0)

    def _open_in_lab(self, k: int) -> None:
        """One entrant as a run of the Lab, at the moment that is shown; without a Lab, copy its Python."""
        runner, begun, at = self.live.runner, self.setup.begun, 0
        try:
            if begun is None:
                at = self._last.tiles[k].iteration
            recipe = begun.recipes[k] if begun else runner.sessions[runner.place(self._last.names[k])].recipe
        except InputError as error:
            return self._say(error.on_page)
        if self.on_open is not None:
            self.on_open("lab", links.Link(recipe, at))
        else:
            self.sharing.clipboard.put_on_clipboard(recipe.to_python())

    def _begin(self, recipe: RaceRecipe) -> None:
        """Another race instead of this one; drop all results of the old one."""
        if self.live.runner is not None:
            self.live.runner.cancel()
        self.screen.dim(True)
        self._forget_bands()
        self.setup.expect(recipe)
        self.live.do("new race", lambda runner: _made(recipe, runner), newest_only=True)

    # The work in the background

    def _tell_floor(self) -> None:
        self._glance_after(self.floor)

    def _glance_after(self, work: TaskSlot) -> None:
        """Draw the moment again with what the work has found, unless the next frame does."""
        if not work.running and not self.live.playing:
            self._glance()

    def _bounded(self) -> list[Recipe]:
        """The recipes of the entrants, endless ones as far as they have come. Raises InputError at the start."""
        runner = self.live.runner
        return [] if runner is None else [ending(session.recipe, session.frame) for session in runner.sessions]

    def _tell_bands(self) -> None:
        self._show_bands()
        self._glance_after(self.bands)

    def _show_bands(self) -> None:
        for view in (self.screen.traces, self.screen.second):
            view.show_seeds(self.bands.runs)

    def _forget_bands(self) -> None:
        self.bands.forget()
        self.bands.say()
        self._show_bands()

    # In Python and in a notebook

    @property
    def result(self) -> RaceResult:
        """The race so far, to read or export: `race.result.export("race.gif")`. Raises InputError without a method."""
        self._present()
        return self.live.runner.result()

    @property
    def runs(self) -> dict[str, Run]:
        """The entrants' runs so far, by their labels, such as "pmd:warm_start=true"."""
        self._present()
        runner = self.live.runner
        return {one.label: session.run for one, session in zip(runner.recipe.entrants, runner.sessions, strict=True)}

    def visit(self, rounds: int) -> None:
        """Go to a round of the race so far: each method is where it had used 100 observations per round."""
        self._ask(methodcaller("visit", rounds))

    def branch(self, label: str, **knobs: Any) -> None:
        """Have an entrant go on from this moment with other knobs, as one more entrant. Raises InputError."""
        scene = self._present()
        names = dict(zip((tile.label for tile in scene.tiles), scene.names, strict=True))
        name = entry("method of this race:", label, names)
        self._ask(lambda runner: runner.branch(runner.place(name), knobs))

    def look_inside(self, label: str) -> dict[str, Any]:
        """What the last step of an entrant is made of: formula, terms and particles, as *Inside this step* shows.

        Raises InputError for a label that no entrant has.
        """
        k = entry("method of this race:", label, {label: k for k, label in enumerate(self.runs)})
        return json.loads(self.live.runner.look_inside(k))

    def _ask(self, act: Callable[[RaceRunner], Any]) -> None:
        self._present()
        if self.live.started:
            self.live.do("look", act)
        else:
            act(self.live.runner)

    def _told(self) -> Mapping[str, Any]:
        return {"iteration": self._last.iteration}

    def _present(self) -> RaceScene:
        if self.live.runner is None:
            self.live.runner = RaceRunner(self.recipe)
        return self.live.runner.snapshot()

    def _words(self, scene: RaceScene) -> str:
        return status_fields(scene)["pmdviz-status"]

    def __repr__(self) -> str:
        labels = ", ".join(one.label for one in self.recipe.entrants)
        return f"<Race: {labels or 'no entry'} on {self.recipe.target.name}>"


def _made(recipe: RaceRecipe, before: RaceRunner | None = None) -> tuple[RaceRunner, RaceScene]:
    """A race with its first moment, looked at in the way of the race before it."""
    require(*(group for one in recipe.recipes for group in one.kernel_groups))
    runner = RaceRunner(recipe, *(() if before is None else (before.choice, before.traces)))
    return runner, runner.snapshot()
