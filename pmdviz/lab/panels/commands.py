"""What a person asks of a run: to step, to restart, to restore the previous run; and the recipe of a new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.knobs import Value
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.past import Past
from pmdviz.lab.loop.recorded import begun
from pmdviz.lab.loop.runner import Runner, Snapshot
from pmdviz.lab.panels.setup import alike
from pmdviz.methods import METHODS
from pmdviz.targets import Target, get_target

if TYPE_CHECKING:
    from pmdviz.lab.page import LivePage

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
    if "content" in parts:
        return Recipe.from_json(parts["content"])
    base, parts = session.recipe.replaced(knobs=session.knobs.as_dict(), changes=()), dict(parts)
    if "options" in parts:  # several at once, a function of the target as it is now
        parts["target_options"] = {**base.target_options, **parts["options"](session.target)}
    elif "option" in parts:
        parts["target_options"] = {**base.target_options, **dict([parts["option"]])}
    target = parts.get("target", base.custom or base.target)
    method = parts.get("method") or _that_fits(base.method, target)
    same = target is base.custom or target == base.target
    usual_options = base.target_options if same and not base.custom else {}
    made = Recipe(target, method, target_options=parts.get("target_options", usual_options))
    same_problem = alike(made, base)
    knobs = session.knobs.as_dict() if same_problem else _turned(session, method, made)
    own, seed = target is base.custom, parts.get("seed", base.seed)
    problem = {"target": base.custom if own else made.target, "target_options": None if own else made.target_options}
    made = Recipe(method=method, seed=seed, **problem, **knobs)
    return made.limited(base.budget if own_budget or same_problem else limits.usual_budget(made))


def _turned(session: Session, method: str, made: Recipe) -> dict[str, Value]:
    """Changed settings stay, as far as they fit the new target; of another method nothing."""
    if method != session.recipe.method:
        return {}
    way, now = session.recipe.make_method(), session.knobs
    usual = way.fitted(type(now).defaults(), session.target).as_dict()
    turned = {name: value for name, value in now.as_dict().items() if value != usual[name]}
    return way.fitted(type(now).checked(turned), made.make_target()).as_dict()


# The commands of buttons and keys.

KEPT_RUNS = 5
KEPT_BYTES = 4 * 2**20  # of the places to come back to in each of them; the run that is seen has 64 MB


class Kept(NamedTuple):
    """A run as it stood, and those that Undo would have brought back."""

    runner: Runner
    before: list[Runner]


class Commands:
    """Turns wishes into jobs of the live loop; keeps the last runs for Undo."""

    def __init__(self, page: LivePage) -> None:
        self._page, self.live = page, page.live
        self._before: list[Runner] = []

    @property
    def can_undo(self) -> bool:
        """Whether there is a run to go back to."""
        return bool(self._before)

    def act(self, name: str) -> None:
        """Do what a button or a key names."""
        acts: dict[str, Callable[[], None]] = {
            "toggle": lambda: self._page.toggle(lambda: self.live.do("replay", Runner.replay)),
            "step": lambda: self._page.paused("step", lambda runner: runner.advance(1)),
            "back": lambda: self._page.paused("step back", Runner.back),
            "restart": lambda: self.live.do("restart", Runner.restart),
            "replay": self._replay,
            "proceed": self._page.proceed,
            "reseed": lambda: self.live.do("new seed", Runner.reseed),
            "retry": lambda: self._page.paused("step", lambda runner: runner.advance(1)),
            "undo": self._undo,
            "what_if": lambda: self.live.do("branch", lambda runner: runner.whole().travel(Past.what_if)),
            "swap": lambda: self.live.do("branch", lambda runner: runner.travel(Past.swap)),
            "keep": lambda: self.live.do("branch", lambda runner: self._end_branch(runner, Past.keep)),
            "drop": lambda: self.live.do("branch", lambda runner: self._end_branch(runner, Past.drop)),
        }
        if self._page.floor.cancelled and name in ("restart", "replay", "reseed"):
            self._page.floor.forget()
        acts[name]()

    def _replay(self) -> None:
        self.live.do("replay", Runner.replay)
        self.live.play(True)

    def _undo(self) -> None:
        if self._before:
            old = self._before.pop()
            self.live.do("undo", lambda runner: (old, old.snapshot()))

    def _end_branch(self, runner: Runner, act: Callable[[Past], None]) -> Snapshot:
        """Runs in the worker: one of the two runs goes, and both are kept for Undo."""
        both = runner.copy()
        snapshot = runner.travel(act)
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

        self._page.paused("keeping the run", kept)

    def give_back(self, kept: Kept) -> None:
        """The run that was kept; it replaces the present one."""

        def back(runner: Runner) -> tuple[Runner, Snapshot]:
            self._before = kept.before
            return kept.runner, kept.runner.snapshot()

        self._page.paused("the previous run", back)

    def lay(self, recipe: Recipe, begun: Callable[[], None]) -> None:
        """A lesson's run instead of this one; `begun` is called in the worker once it is there."""

        def laid(runner: Runner) -> tuple[Runner, Snapshot]:
            made = self._new_run(runner, {"recipe": recipe})
            begun()
            return made

        self._page.screen.dim(True)
        self._page.paused("the lesson's run", laid, newest_only=True)

    def begin(self, what: str, **parts: Any) -> None:
        """A new run (or only a new budget) instead of this one; the old one is kept for Undo."""
        if what == "budget":
            self.live.do(what, lambda runner: runner.limit(parts["budget"]))
            return
        self._page.screen.dim(True)
        # a copy each time: a job that waits for kernels is done again
        self.live.do(what, lambda runner: self._new_run(runner, {**parts}), newest_only=True)

    def _new_run(self, runner: Runner, parts: dict[str, Any]) -> tuple[Runner, Snapshot]:
        """Runs in the worker: make the run, and only when its first picture is there put the old one aside.

        `keep` in `parts`: Undo is to bring back the old one although nothing has been run of it.
        """
        keep = parts.pop("keep", False)
        whole = bool({"recipe", "make", "content"} & parts.keys())  # instead of the settings changed so far
        preset = parts.pop("preset", "" if whole else runner.preset)
        own_budget = (False if preset else None) if whole else runner.own_budget  # a preset's budget is not the user's
        recipe = limits.check(next_recipe(runner.session, parts, runner.own_budget))
        made = Runner(begun(recipe), own_budget, preset, runner.choice)
        snapshot = made.snapshot()
        if keep or runner.session.frame.iteration > 0 or not self._before:
            self._put_aside(runner)
        return made, snapshot
