"""`pmdviz.Lab`: one live run with everything around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import EllipsisType
from typing import Any, NamedTuple

import panel as pn
from bokeh.document import Document

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.run import Run
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, failed_step_words
from pmdviz.experiments.race import RaceRecipe
from pmdviz.export.live import StaticLab
from pmdviz.kernels.compiling import compile_ahead
from pmdviz.knobs import Knobs, KnobSpec, Raw, Value
from pmdviz.lab import css
from pmdviz.lab.links import HERE, NO_LINK, Link
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.live import BUSY_S
from pmdviz.lab.loop.past import Past
from pmdviz.lab.loop.recorded import begun
from pmdviz.lab.loop.runner import Runner, Snapshot
from pmdviz.lab.page import LivePage
from pmdviz.lab.panel_internals import handed
from pmdviz.lab.panels.comparing import ComparePanel, LuckPanel
from pmdviz.lab.panels.folds import ExportPanel, FitPanel, InsidePanel
from pmdviz.lab.panels.own_problem import IN_THE_PICTURE, OwnProblem
from pmdviz.lab.panels.screen import Screen
from pmdviz.lab.panels.setup import Gallery, Setup, alike
from pmdviz.lab.panels.sharing import OPENING, LinkBuilder, RecipeFile, Sharing
from pmdviz.lab.panels.status import BRANCH_BUTTONS, Verdict, more_words
from pmdviz.lab.panels.widgets import LOW, MORE, STOPPED, WIDE, Notice, PlaybackBar, Sheet, small_button, text, update
from pmdviz.lab.plain_pages import Opening
from pmdviz.lessons.lesson import Lesson
from pmdviz.methods import METHODS, MethodKnobs
from pmdviz.scenes.words import INDEPENDENT_DRAWS, state
from pmdviz.scenes.words import row as glossary_row
from pmdviz.targets import Target, get_target

FLOOR_WORDS = f"Computing what {INDEPENDENT_DRAWS} would get"
FLOOR_S = 2.0  # a floor does not block the page: only when it takes so long does it show a card with Cancel


def _recipe_of(*given: Any, recipe: Recipe | None = None, link: Link = NO_LINK, **parts: Any) -> Recipe:
    """The recipe that is given, a link's, or one of the other parts."""
    return recipe or link.recipe or Recipe(*given, **parts)


# The recipe of a run that takes the place of another one: changed settings stay, as far as they fit.

MIRROR_DESCENT = type(METHODS["pmd"]).__module__  # the package of its forms


def _that_fits(method: str, target: Target | str) -> str:
    """The method where it can run on the target, else a form of mirror descent, else what draws exact conditionals."""
    made = get_target(target)
    fitting = {name: each for name, each in METHODS.items() if not each.missing_in(made)}
    descent = [name for name, each in fitting.items() if type(each).__module__.startswith(MIRROR_DESCENT)]
    exact = [name for name, each in fitting.items() if "conditionals" in each.requires]
    both = [name for name in descent if name in exact]
    return method if method in fitting else [*both, *descent, *exact, *fitting][0]


def next_recipe(session: Session, parts: Mapping[str, Any], own_budget: bool = False) -> Recipe:
    """The recipe of a new run: `parts` changed, everything else as it is now. Raises InputError.

    Another method or target has its own default budget, unless the budget is the person's own; a target on which the
    method cannot run comes with another method.
    """
    if "recipe" in parts:
        return parts["recipe"]
    if "make" in parts:
        return parts["make"]()
    base, parts = session.recipe.replaced(knobs=session.knobs.as_dict(), changes=()), dict(parts)
    if "options" in parts:  # of the target, a function of it as it is now
        parts["target_options"] = {**base.target_options, **parts["options"](session.target)}
    target = parts.get("target", base.custom or base.target)
    method = parts.get("method") or _that_fits(base.method, target)
    same = target is base.custom or target == base.target
    usual_options = base.target_options if same and not base.custom else {}
    made = Recipe(target, method, target_options=parts.get("target_options", usual_options))
    same_problem = alike(made, base)
    knobs = session.knobs.as_dict() if same_problem else _turned(session, method, made)
    made = made.replaced(seed=parts.get("seed", base.seed), knobs=knobs)
    return made.limited(base.budget if own_budget or same_problem else limits.usual_budget(made))


def _turned(session: Session, method: str, made: Recipe) -> dict[str, Value]:
    """Changed settings stay, as far as they fit the new target; of another method nothing."""
    if method != session.recipe.method:
        return {}
    way, now = session.recipe.make_method(), session.knobs
    usual = way.fitted(type(now).defaults(), session.target).as_dict()
    turned = {name: value for name, value in now.as_dict().items() if value != usual[name]}
    return way.fitted(type(now).checked(turned), made.make_target()).as_dict()


# The page.

KEPT_RUNS = 5
KEPT_BYTES = 4 * 2**20  # of the places to come back to in each of them; the run that is seen has more


class Kept(NamedTuple):
    """A run as it stood, and those that Undo would have brought back."""

    runner: Runner
    before: list[Runner]


class Lab(LivePage[Snapshot]):
    """A live run with its controls; the last line of a notebook cell, or a page of the app.

    Parameters
    ----------
    target : str or Target
    method : str
    recipe : Recipe, optional
        Everything at once, instead of the other parameters.
    target_options : mapping, optional
        Options of a built-in target.
    seed : int
    budget : int or None
        Data to visit; None is endless, by default it is what the method needs.
    link : Link, optional
        What a link says: its recipe unless `recipe` is given, the iteration to go to, the controls to leave out.
    keyboard : bool
        Whether the page's keys belong to this lab (the app sets it); a static page has its own keys in any case.
    static : bool
        For a notebook: a page that runs the method in the browser, without a kernel. It keeps working in a saved
        notebook and in HTML. Raises InputError where the method or the target cannot run in a page.
    **knobs
        Knobs of the method. Raises InputError for anything that cannot be used.
    """

    _opening = False  # whether a link replaces the run on show
    _in_lesson = False
    keys = {**LivePage.keys, **{act: act for act in BRANCH_BUTTONS}}

    def __new__(cls, *given: Any, static: bool = False, keyboard: bool = False, **named: Any) -> Any:
        """A lab; with `static` a page that needs no kernel."""
        return StaticLab(_recipe_of(*given, **named)) if static else super().__new__(cls)

    def __init__(
        self,
        target: Target | str = "mixture",
        method: str = "pmd",
        *,
        recipe: Recipe | None = None,
        target_options: Mapping[str, Raw] | None = None,
        seed: int = 0,
        budget: int | None | EllipsisType = ...,
        keyboard: bool = False,
        link: Link = NO_LINK,
        static: bool = False,  # `__new__` gives another object where it is true
        **knobs: Raw,
    ) -> None:
        parts = {"target_options": target_options, "seed": seed, "budget": budget, **knobs}
        asked = _recipe_of(target, method, recipe=recipe, link=link, **parts)
        super().__init__()
        self.on_lesson: Callable[[Lesson], None] = lambda lesson: None  # another page hands it over
        self.leave_lesson: Callable[[], None] = lambda: None  # the next run on show is not the lesson's
        self._recipe, self._link = limits.check(asked), link
        self.playback = PlaybackBar(self._act, self._set_pace, more=MORE | ({} if link.embed else LOW), low=LOW)
        acts = {"Retry": lambda: self._act("retry"), "Restart": lambda: self._act("restart")}
        self.trouble = Notice("pmdviz-trouble", css.TROUBLE, {**acts, "Copy recipe": self._copy_recipe})
        target_now = self._recipe.make_target()
        self.notice = Notice("pmdviz-notice", css.BUSY)
        self.screen = Screen(self, target_now, (self.trouble, self.busy_card, self.notice), keyboard)
        self.inside = InsidePanel(self.screen.stage.figure, self.newest("look inside", "watched"), self._freeze)
        self._go_live()
        self._before: list[Runner] = []  # the last runs, for Undo
        self.setup = Setup(self.begin, self._turn, self.newest("diagnosis", "diagnosed_by"))
        self.exports = ExportPanel(lambda act: self.live.do("export", lambda runner: act(runner.whole())))
        self.recipe_file = RecipeFile(self.begin)
        self.own = OwnProblem(self.begin, self.screen, self._freeze)
        self.setup.own_data.append(self.own.dialog.view)
        self.link_builder = LinkBuilder(self._share, self.screen.ack)
        self.fit = FitPanel()
        self.luck = LuckPanel(self.screen.traces)
        self.compare = ComparePanel(
            self._begin_race, lambda: "Compare" if self.on_open else "Copy Python", self._sheet_moved
        )
        self._make_sheets()
        self.screen.group.param.watch(handed(lambda event: self.luck.say()), "value")
        self.setup.hide(link.hide)
        self._introduce(self._recipe, target_now, self._recipe.start_knobs())
        self.setup.new_seed.on_click(handed(lambda event: self._act("reseed")))
        self.sharing = Sharing(self.screen.ack, link)
        self.screen.actions.share.on_click(handed(lambda event: self._share()))

    def _make_sheets(self) -> None:
        """All settings, Share and Compare, and the buttons that open them; the gallery; the verdict."""
        screen, setup, moved = self.screen, self.setup, self._sheet_moved
        layers = text("<h3>Pictures and layers</h3>"), screen.switches.view, screen.options, text(glossary_row())
        rest = *layers, self.fit.view, self.recipe_file.view
        self.settings = Sheet("All settings", setup.view, *rest, about=moved)
        link = text("Link to this moment"), screen.actions.share, self.link_builder.view
        rest = self.exports.view, *screen.actions.cards()
        self.share = Sheet("Share", *link, *rest, about=moved)
        branch = small_button("Branch here", lambda: self._act("what_if"), margin=(0, 0, 16, 0))
        self.compare.more = [branch, self.luck.view]
        if self._link.embed:  # there the way back from another page is missing
            self.settings.view.extend([branch, self.luck.view])
            self.compare.button.visible = False
        self.sheets = self.settings, self.share, self.compare.card
        self.gallery = Gallery(setup)
        self.verdict = Verdict(setup.diagnosis, lambda: self._act("undo"), self._restore, screen.heading.explain)
        screen.verdict.append(self.verdict.view)
        self.opens_settings = small_button("All settings", self.settings.toggle)
        openers = self.opens_settings, self.compare.button, self.inside.button
        look = {"css_classes": ["pmdviz-openers"], "stylesheets": [css.OPENERS]}
        buttons = pn.FlexBox(*openers, gap="8px", **look, **WIDE)
        screen.view.insert(1, self.gallery)
        over = *(sheet.view for sheet in self.sheets), screen.actions.said
        screen.view.extend([setup.brief, buttons, self.inside.view, *over])
        self.inside.on_open = partial(screen.mark, "pmdviz-with-inside")  # instead of the traces
        screen.on_words = lambda words: self._judge()  # a refusal is seen where the verdict is

    def for_lesson(self, on: bool) -> None:
        """Whether a lesson is open: it has the settings of its step, and no others are shown."""
        self.settings.hide()
        self.opens_settings.visible = not on
        self.screen.mark("pmdviz-with-lesson", on)
        self._in_lesson = on

    def _turn(self, kind: type[Knobs], name: str, value: Value) -> None:
        """A person has turned a setting."""
        self.verdict.turned(name)
        self.live.set(kind, name, value)

    def _restore(self, name: str, value: Value) -> None:
        """A setting as it was before it was changed."""
        self.live.set(type(self._last.frame.knobs), name, value)

    # What others read

    @property
    def session(self) -> Session:
        """The live session; while it plays, read it only."""
        return self._runner().session

    @property
    def recipe(self) -> Recipe:
        """The recipe of the run, with the knob changes made so far."""
        return self.session.recipe

    @property
    def run(self) -> Run:
        """The run so far."""
        return self.session.run

    def _runner(self) -> Runner:
        """The runner of the live run: a read in Python waits for kernels rather than show recorded frames."""
        runner = self.live.runner
        if runner is None:
            runner = self.live.runner = Runner(self._recipe, preset=self._preset_of())
        elif runner.is_recorded:
            compile_ahead(runner.session.recipe.kernel_groups)
            runner.take_over(runner.caught_up())
        return runner

    def _preset_of(self) -> str:
        """The preset that the run began with: as its link says, or the one that its recipe is."""
        return self.setup.preset_of(self._recipe) or self._link.preset

    def set(self, **knobs: Raw) -> None:
        """Set knobs, like the controls; a playing run takes them into its next step. Raises InputError."""
        runner = self.live.runner or self._runner()
        wanted = runner.session.knobs.replaced(**knobs)
        kind, values = type(wanted), {name: getattr(wanted, name) for name in knobs}
        if self.live.started and (self.live.at_work or self.live.playing or runner.is_recorded):
            for name, value in values.items():
                self.live.set(kind, name, value)
        else:
            self._runner().set(values, kind)
            self._glance()
            if self._widget is not None:
                self._widget.tell(**values)

    # Life

    def start(self, doc: Document | None = None) -> None:
        """Begin the live loop on the running event loop and compute the first picture."""
        super().start(doc)
        if self._link.iteration:
            self.live.do("going to the iteration of the link", self.sharing.arrive)

    def open(self, link: Link) -> None:
        """Show what a link says, in an untouched lab: there is nothing to go back to.

        It is dimmed meanwhile. The link's recipe must have passed `limits.check`, and it hides nothing.
        """
        self._recipe, self._link = limits.check(link.recipe), link
        sharing = Sharing(self.screen.ack, link)

        def opened(runner: Runner) -> tuple[Runner, Snapshot]:
            made = Runner(begun(self._recipe), preset=self._preset_of())
            self._opening = False
            self.sharing = sharing  # not before: the usual run still on show does not change the address bar
            return made, made.snapshot()

        self._opening = True
        self._introduce(self._recipe, self._recipe.make_target(), self._recipe.start_knobs())
        self.screen.wait("Opening the link")
        self.screen.dim(True)
        self.live.do("opening the link", opened)
        if link.iteration:
            self.live.do("going to the iteration of the link", sharing.arrive)

    def take(self, what: Lesson | Recipe | Link | Opening) -> None:
        """Show what another page hands over: a lesson, a run, or a method with the part of it that is to be seen."""
        if isinstance(what, Lesson):
            self.on_lesson(what)
            return
        self.leave_lesson()
        if isinstance(what, Recipe):
            self.begin("new run", recipe=what)
            return
        if isinstance(what, Link):
            self.begin("new run", recipe=what.recipe)
            self.sharing = Sharing(self.screen.ack, what)
            self.live.do("going to the iteration of the link", self.sharing.arrive)
            return
        self._freeze()
        self.screen.wished = what.method, what.trace
        self.begin("new run", make=what.recipe)
        if what.inside:
            self.inside.reveal()
        self.live.play(True)

    def stop(self) -> None:
        """End the live loop and its background work."""
        super().stop()
        self.own.stop()
        self.fit.forget()
        self.luck.forget()

    def cancel(self) -> None:
        """Stop long work: a step, a new run, or the floor; the last picture stays."""
        if shown := [sheet for sheet in self.sheets if sheet.shown]:
            shown[0].hide()
        elif self.live.cancel():
            self.busy_card.cancelling()
        else:
            self.floor.cancel()
            self.luck.cancel()

    def _first(self, runner: Runner | None) -> tuple[Runner, Snapshot]:
        runner = runner or Runner(begun(self._recipe), preset=self._preset_of())
        return runner, runner.snapshot()

    # What the live loop draws on

    def show(self, snapshot: Snapshot) -> None:
        """Draw a snapshot and update the controls, unless a link is about to replace the run."""
        if self._opening:
            return
        if self._last is None or snapshot.frame is not self._last.frame:  # a second look takes back no words
            self.trouble.hide()
            self.screen.extra = snapshot.news
        self._last = snapshot
        self.screen.show(snapshot, self.live.playing, self.live.pause_s)
        self.setup.show(snapshot, self.live.playing)
        frame = snapshot.frame
        self.screen.heading.show(frame.method, frame.knobs, frame.target, self.setup.preset.value)
        self._judge()
        self.gallery.show()
        self.playback.tell(held=self.live.waits, playing=self.live.playing)
        lasts = self.live.playing and snapshot.step_seconds > BUSY_S  # the next step lasts too: no flicker
        if not (lasts or self.live.waits):
            self.busy_card.hide()
        self.floor.ask(snapshot.frame)
        self.luck.show(snapshot, self.live.playing)
        for panel in (self.own, self.fit, self.compare, self.inside):
            panel.show(snapshot)
        self.sharing.follow(snapshot, self.live.playing)
        self.tell_notebook()
        if snapshot.ghost and snapshot.ghost.late and not self.live.playing:
            self.live.do("branch", Runner.snapshot, newest_only=True)
        if self.sharing.sentence:
            self.notice.say(self.sharing.sentence)
            self.sharing.sentence = ""
        self.on_show(snapshot)

    def _judge(self) -> None:
        """Bring the verdict up to date."""
        if self._last is None:
            return
        words = more_words(self._last, self.screen.extra, self.live.playing, self.floor.words)
        start = self.screen.heading.sentence
        hidden = bool(self.screen.veil.parts & {"exact", "numbers"})  # by a lesson that asks first
        if hidden:
            self.verdict.say("")
        else:
            can_undo = bool(self._before) and not self._in_lesson  # a step keeps its run
            self.verdict.show(self._last, self.live.playing, words, can_undo, start)
        update(self.verdict.view, visible=not hidden)

    def play_changed(self, playing: bool) -> None:
        """Play or Pause was pressed."""
        super().play_changed(playing)
        for view in (self.screen.traces, self.screen.second):
            view.begin(playing)
        if not playing:
            self.screen.land()
            self.setup.diagnosis.again()

    def cancelled(self, what: str) -> None:
        """It was cancelled: the last picture stays, and the controls are as they were before."""
        self.own.refuse("Cancelled. Your previous data are still in use.")
        super().cancelled(what)

    def failed(self, error: Exception) -> None:
        """A step failed: the last good frame stays, and a card says why."""
        self._stands()
        if not self.own.refuse(str(error)):
            self.trouble.say(failed_step_words(error), STOPPED)
        self.playback.tell(playing=False)

    def refused(self, what: str, error: InputError) -> None:
        """A value could not be used: the sentence is next to its control, or in the status."""
        self._stands()
        self.setup.forget()
        if self.own.refuse(error.on_page):
            return
        if what == OPENING:
            self.recipe_file.say(str(error))
        elif what in IN_THE_PICTURE or not (self.on_refused(error) or self.setup.refuse(error)):
            self._say(error.on_page)

    # In a notebook

    def _traits(self) -> tuple[Mapping[str, KnobSpec], Mapping[str, Value]]:
        return self.session.method.Knobs.specs(), self.session.knobs.as_dict()

    def _told(self) -> Mapping[str, Value]:
        return {**self._last.in_force, "iteration": self._last.frame.iteration}

    def _present(self) -> Snapshot:
        return self._runner().snapshot()

    def _words(self, snapshot: Snapshot) -> str:
        return state(snapshot.frame)

    def __repr__(self) -> str:
        return f"<Lab: {self._recipe.method} on {self._recipe.target}>"

    # The commands of the controls

    def _introduce(self, recipe: Recipe, target: Target, knobs: MethodKnobs) -> None:
        """Controls and heading of a run that has no picture yet."""
        self.setup.show_recipe(recipe, target, knobs, {}, self._preset_of())
        self.own.dialog.show_form(target.table)
        self.screen.heading.show(recipe.make_method(), knobs, target, self.setup.preset.value)
        self.gallery.show()

    def _act(self, name: str) -> None:
        acts: dict[str, Callable[[], None]] = {
            "inside": self.inside.toggle,
            "compare": self.compare.toggle,
            "toggle": lambda: self.toggle(lambda: self.live.do("replay", Runner.replay)),
            "step": lambda: self.paused("step", Runner.advance),
            "back": lambda: self.paused("step back", Runner.back),
            "restart": lambda: self.live.do("restart", Runner.restart),
            "replay": self._replay,
            "proceed": self.proceed,
            "reseed": lambda: self.live.do("new seed", Runner.reseed),
            "retry": lambda: self.paused("step", Runner.advance),
            "undo": self._undo,
            "what_if": lambda: self.live.do("branch", lambda runner: runner.whole().travel(Past.what_if)),
            "swap": lambda: self.live.do("branch", lambda runner: runner.travel(Past.swap)),
            "keep": lambda: self.live.do("branch", lambda runner: self._end_branch(runner, keep=True)),
            "drop": lambda: self.live.do("branch", lambda runner: self._end_branch(runner, keep=False)),
        }
        if not self.gate(name):
            return
        if name not in ("toggle", "step", "inside", "compare"):
            self.verdict.forget()
        if self.floor.cancelled and name in ("restart", "replay", "reseed"):
            self.floor.forget()
        acts[name]()

    def _share(self, start: str = HERE, page: Link | None = None) -> None:
        if (last := self._last) is not None:
            hint = " (Export, recipe as JSON)"
            self.screen.actions.put_link(lambda: self.sharing.query(last, start, page), hint)

    def _begin_race(self, race: RaceRecipe) -> None:
        """Race two settings on the page for that; without such a page, copy the Python that does it."""
        if self.on_open is not None:
            self.on_open("race", race)
        else:
            self.screen.actions.put_on_clipboard(race.to_live_python())

    def _copy_recipe(self) -> None:
        if self._last is not None:
            self.screen.actions.put_on_clipboard(self._last.recipe.to_json(indent=1))

    def _tell_floor(self) -> None:
        """How far the floor is, where nothing else is shown; at its end the picture comes again with it."""
        if not self.floor.running:
            self.busy_card.hide()
            self._glance()
        elif self._last is not None and not self.live.playing and not self.live.at_work:
            self.screen.say(self._last, self.screen.extra, False)
            if (seconds := self.floor.task.seconds) > FLOOR_S:
                self.busy_card.show(FLOOR_WORDS, seconds, self.floor.share)

    # New runs, and the ones before them

    def _replay(self) -> None:
        self.live.do("replay", Runner.replay)
        self.live.play(True)

    def _undo(self) -> None:
        if self._before:
            old = self._before.pop()
            self.live.do("undo", lambda runner: (old, old.snapshot()))

    def _end_branch(self, runner: Runner, keep: bool) -> Snapshot:
        """Runs in the worker: one of the two runs goes, and both are kept for Undo."""
        both = runner.copy()
        snapshot = runner.travel(lambda past: past.end_branch(keep))
        self._put_aside(both)
        return snapshot

    def _put_aside(self, runner: Runner) -> None:
        runner.wanted.clear()  # it no longer plays
        runner.past.shrink(KEPT_BYTES)
        self._before = [*self._before, runner][-KEPT_RUNS:]

    def keep(self, put: Callable[[Kept], None]) -> None:
        """Hand on a copy of the run as it stands, to come back to by `give_back`."""

        def kept(runner: Runner) -> Snapshot:
            put(Kept(runner.copy(), [*self._before]))
            return runner.snapshot()

        self.paused("keeping the run", kept)

    def give_back(self, kept: Kept) -> None:
        """The run that was kept; it replaces the present one."""

        def back(runner: Runner) -> tuple[Runner, Snapshot]:
            self._before = kept.before
            return kept.runner, kept.runner.snapshot()

        self.paused("the previous run", back)

    def lay(self, recipe: Recipe, begun: Callable[[], None]) -> None:
        """A lesson's run instead of this one; `begun` is called in the worker once it is there."""
        self._freeze()
        self.begin("the lesson's run", recipe=recipe, then=begun)

    def begin(self, what: str, **parts: Any) -> None:
        """A new run (or only a new budget) instead of this one; the old one is kept for Undo."""
        if what == "budget":
            self.live.do(what, lambda runner: runner.limit(parts["budget"]))
            return
        self.screen.dim(True)
        # a copy each time: a job that waits for kernels is done again
        self.live.do(what, lambda runner: self._new_run(runner, {**parts}), newest_only=True)

    def _new_run(self, runner: Runner, parts: dict[str, Any]) -> tuple[Runner, Snapshot]:
        """Runs in the worker: make the run, and only when its first picture is there put the old one aside.

        `keep` in `parts`: Undo is to bring back the old one although nothing has been run of it; `then()` is called
        once the new one is there.
        """
        keep, then = parts.pop("keep", False), parts.pop("then", lambda: None)
        whole = bool({"recipe", "make"} & parts.keys())  # instead of the settings changed so far
        preset = parts.pop("preset", "" if whole else runner.preset)
        own_budget = (False if preset else None) if whole else runner.own_budget  # a preset's budget is not the user's
        recipe = limits.check(next_recipe(runner.session, parts, runner.own_budget))
        made = Runner(begun(recipe), own_budget, preset, runner.choice)
        snapshot = made.snapshot()
        if keep or runner.session.frame.iteration > 0 or not self._before:
            self._put_aside(runner)
        then()
        return made, snapshot
