"""A run's recipe with other seeds, in the background: a seed a turn, so that several pages take turns."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.experiments.forecast import MOST_S, in_time, most_seconds
from pmdviz.experiments.seeds import SeedRun, SeedRuns, other_seeds, run_seed
from pmdviz.kernels.cancel import Cancelled
from pmdviz.lab.loop.background import Background, OneAtATime, Tell
from pmdviz.lab.loop.forecast import step_seconds
from pmdviz.lab.loop.pool import GIVES_WAY, Again, DaemonPool

TELL_S = 0.3
FINE = 10_000  # parts in which a share is told
SURE = 10  # iterations after which the pace so far is that of the whole
_pool = DaemonPool(1, "pmdviz-luck", GIVES_WAY)

log = logging.getLogger(__name__)


class LuckWork(OneAtATime):
    """At most one series of runs at a time for a lab; `tell` is called on the way and when it is over."""

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__(tell, TELL_S)
        self.recipe: Recipe | None = None
        self.number = 0  # of seeds
        self.runs: SeedRuns | None = None  # None: none yet, under way, cancelled or failed
        self.words = ""  # why there are none

    def ask(self, recipe: Recipe, frame: Frame, number: int) -> None:
        """Run `recipe`, of which `frame` is a moment, with so many other seeds; one under way is let go of.

        An endless run goes as far as it has come. Raises InputError for what would take too long, or has no end.
        """
        bounded = ending(recipe, frame)
        check_time(bounded, frame, number)
        self.forget()
        self.recipe, self.number, seeds, made = recipe, number, other_seeds(recipe.seed, number), []

        def turn(tell: Tell) -> SeedRuns | Again:
            done = len(made)
            made.append(_told(bounded, seeds[done], lambda share: tell(round(FINE * (done + share)), FINE * number)))
            return SeedRuns(made) if len(made) == number else Again()

        self.follow(Background().begin(_pool, turn))

    def forget(self) -> None:
        """Let go of the one under way, and of what came out of the last."""
        self.let_go()
        self.recipe = self.runs = None
        self.words = ""

    def ended(self, work: Background) -> None:
        """Keep the runs, or say why there are none."""
        try:
            self.runs = work.result()
        except Cancelled:
            self.words = "Cancelled: no other seeds."
        except InputError as error:
            self.words = error.on_page
        except Exception as error:  # a target's own function may raise anything
            log.info("other seeds stopped", exc_info=True)
            self.words = f"The other seeds stopped with {type(error).__name__}: {error}"


def _told(recipe: Recipe, seed: int, tell: Callable[[float], None]) -> SeedRun:
    tell(0.0)
    return run_seed(recipe, seed, tell)


def ending(recipe: Recipe, frame: Frame) -> Recipe:
    """The recipe itself, or where it is endless with an end at `frame`. Raises InputError at its start."""
    if recipe.budget is None and not frame.spent:
        raise InputError("An endless run has no end to compare: press Play first, or set a budget.")
    return recipe if recipe.budget is not None else recipe.limited(frame.spent)


def check_time(recipe: Recipe, frame: Frame, number: int) -> None:
    """Raise InputError where so many runs would take too long, by the pace of the run so far or the forecast."""
    most = most_seconds() or MOST_S
    seconds = number * run_seconds(recipe, frame)
    if seconds > most:
        words = f"{number} runs like this would take about {in_time(seconds)}, and {in_time(most)} is the most here"
        raise InputError(f"{words}: choose fewer seeds or a smaller budget.")


def run_seconds(recipe: Recipe, frame: Frame) -> float:
    """Seconds of computing that a whole run takes: by the pace so far, or while the first steps compile, a forecast."""
    if frame.spent and frame.iteration >= SURE:
        return frame.seconds * recipe.budget / frame.spent
    rows = frame.method.batch_size(frame.state, frame.knobs, frame.target.num_data)
    each = rows if recipe.budget_unit == "data" else rows * getattr(frame.knobs, "num_particles", 1)
    return step_seconds(frame.knobs, frame.target) * recipe.budget / max(1, each)
