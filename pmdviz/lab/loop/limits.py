"""The limits of one browser session of a shared server: everything beyond it is refused in a sentence."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from pmdviz.data.files import forbid_reading
from pmdviz.densities.density import keep_sides
from pmdviz.engine import recipe as recipes
from pmdviz.engine import session as sessions
from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.experiments import forbid_insisting
from pmdviz.experiments.race import RaceRecipe
from pmdviz.knobs import Knobs, KnobSpec
from pmdviz.limits import limit
from pmdviz.methods.step import MethodKnobs
from pmdviz.scenes.words import duration
from pmdviz.targets import Target

# How long a step is going to take, from the work that the knobs declare: only to predict, never to measure.

# Pairs a CPU second, on the mixture and one core of an AMD EPYC; a target of one's own may cost anything.
KERNELS_PER_SECOND = 1.2e9
LIKELIHOODS_PER_SECOND = 2.0e9
GRADIENTS_PER_SECOND = 1.2e9

COUNTS = ("num_particles", "most_particles")  # knobs that are numbers of particles


def most_asked(knobs: Knobs) -> tuple[int, str]:
    """The largest number of particles that a run may come to have, and the name of that knob."""
    values = knobs.as_dict()
    asked = [(int(values[name]), name) for name in COUNTS if name in values and knobs.matters(name, values)]
    return max(asked, default=(0, COUNTS[0]))


def step_seconds(knobs: MethodKnobs, on: Target | int = 1) -> float:
    """CPU seconds of the longest step on a target, or with so many data in one."""
    work = knobs.work(on) if isinstance(on, int) else knobs.work_on(on)
    evaluated = work.likelihoods / LIKELIHOODS_PER_SECOND + work.gradients / GRADIENTS_PER_SECOND
    return work.kernels / KERNELS_PER_SECOND + evaluated


def heaviest(knobs: MethodKnobs, on: Target | int) -> tuple[str, int]:
    """The knob that makes the longest step so long, and its value; `num_data` and N where it is the data alone.

    It is the one at whose least value the step is shortest.
    """
    values, seconds = knobs.as_dict(), step_seconds(knobs, on)
    whole = [n for n, spec in knobs.specs().items() if spec.kind == "whole" and knobs.matters(n, values)]
    least = {n: step_seconds(knobs.replaced(**{n: int(knobs.specs()[n].bounds[0])}), on) for n in whole}
    name = min(least, key=lambda n: least[n], default="")
    if name and least[name] < seconds / 2:
        return name, int(values[name])
    most, name = most_asked(knobs)  # two numbers of particles alike: neither alone shortens it much
    return (name, most) if most else ("num_data", on if isinstance(on, int) else on.num_data)


def label_of(knobs: MethodKnobs, name: str) -> str:
    """What a page calls that which `heaviest` names."""
    specs = knobs.specs()
    return specs[name].label if name in specs else "Data points N"


def most_within(seconds: float, knobs: MethodKnobs, name: str, on: Target | int = 1) -> int:
    """The largest value of a whole knob with which the longest step takes at most `seconds`, or its least value."""
    low, high = map(int, knobs.specs()[name].bounds)
    larger = range(low + 1, high + 1)
    return low + bisect_right(larger, seconds, key=lambda value: step_seconds(knobs.replaced(**{name: value}), on))


# The limits.

PARTICLES = "num_particles"
DEFAULT_UPLOAD = 4_000_000  # bytes; a recipe with 10,000 changes has about 1 MB
DEFAULT_CHANGES = 500  # of a served run; a link of 2,000 characters holds some hundred
DEFAULT_REPLAY_S = 60  # of computing that a server spends on one replay
KEPT_BYTES = 16 * 2**20  # of frames that a session goes back to; it computes others again
most_replay_s = math.inf  # of computing that the replay of a link may take in this process


def enforce() -> None:
    """Put into force what holds for the whole process: no files, changes of a recipe, memory, replays, finest grid."""
    global most_replay_s
    forbid_reading()
    forbid_insisting()
    recipes.most_changes = min(limit("max_changes") or DEFAULT_CHANGES, recipes.MAX_CHANGES)
    sessions.most_bytes = KEPT_BYTES
    most_replay_s = limit("max_replay_s") or DEFAULT_REPLAY_S
    if (side := limit("max_grid")) is not None:
        keep_sides(side)


def upload_bytes() -> int:
    """The most that a browser may send at once."""
    return limit("max_upload") or DEFAULT_UPLOAD


def longest_message() -> int:
    """Characters of the longest message: a file in base64, with words around it."""
    return upload_bytes() * 4 // 3 + 2_000


def capped(spec: KnobSpec, knobs: type[Knobs]) -> KnobSpec:
    """A knob of the set `knobs` with bounds that a server sets."""
    most = _most_particles(knobs.defaults()) if spec.name in COUNTS else None
    if most is None or spec.bounds is None:
        return spec
    low, high = spec.soft_bounds or spec.bounds
    soft = (min(low, most), min(high, most)) if most > low else None
    return replace(spec, bounds=(spec.bounds[0], min(spec.bounds[1], most)), soft_bounds=soft)


def budgets(menu: Mapping[str, int]) -> dict[str, int]:
    """Those of a menu (0: endless) that the server allows."""
    most = limit("max_budget")
    return {words: number for words, number in menu.items() if most is None or 0 < number <= most}


def check(recipe: Recipe) -> Recipe:
    """`recipe` itself. Raises InputError where it needs more than this server allows."""
    bounds = limit("max_particles"), limit("max_step_ms")
    if bounds != (None, None):
        _check_all_knobs(recipe, bounds)
    check_budget(recipe.budget)
    return recipe


def check_race(race: RaceRecipe) -> RaceRecipe:
    """`race` itself. Raises InputError where an entrant cannot race, or needs more than this server allows."""
    for recipe in race.recipes:
        check(recipe)
    return race


def check_experiment(knobs: Knobs) -> Knobs:
    """`knobs` themselves, of an experiment. Raises InputError for more particles than this server allows."""
    for name, spec in knobs.specs().items():
        capped(spec, type(knobs)).parse(knobs.as_dict()[name])
    return knobs


@lru_cache(maxsize=16)
def _check_all_knobs(recipe: Recipe, bounds: tuple[int | None, int | None]) -> None:
    """Those at the start and after each change; those found to fit these bounds are not checked again."""
    target = recipe.make_target()
    for knobs in recipe.knobs_in_turn():
        check_knobs(knobs, target)


def check_knobs(knobs: MethodKnobs, target: Target) -> None:
    """Raise InputError for more particles, or a longer step, than this server allows."""
    (m, name), most, allowed_ms = most_asked(knobs), limit("max_particles"), limit("max_step_ms")
    if most is not None and m > most:
        raise knobs.specs()[name].refusal(f"must be at most {most:,} on this server; got {m:,}")
    seconds = step_seconds(knobs, target)
    if allowed_ms is not None and seconds > allowed_ms / 1000:
        name, value = heaviest(knobs, target)
        reason = f"must be lower on this server, where a step may take {duration(allowed_ms / 1000)}"
        reason += f": with {value:,} one step would take about {duration(seconds)}"
        raise InputError(f"{name} {reason}", name, f"{label_of(knobs, name)} {reason}")


def usual_budget(recipe: Recipe | RaceRecipe) -> int:
    """The default budget of a run or a race like this, as far as this server allows."""
    most = limit("max_budget")
    return recipe.default_budget if most is None else min(recipe.default_budget, most)


def check_budget(budget: int | None) -> None:
    """Raise InputError for more data than a run may visit on this server."""
    most = limit("max_budget")
    if most is not None and (budget is None or budget > most):
        given = "endless" if budget is None else f"{budget:,}"
        raise InputError(f"budget must be at most {most:,} data on this server; got {given}", "budget")


def fitted(recipe: Recipe) -> Recipe:
    """A default recipe, made to fit this server."""
    knobs, budget = recipe.start_knobs(), limit("max_budget")
    most = _most_particles(knobs, recipe.make_target()) if PARTICLES in knobs.specs() else None
    if most is not None and int(knobs.as_dict()[PARTICLES]) > most:
        recipe = recipe.replaced(knobs={PARTICLES: most})
    if budget is not None and (recipe.budget is None or recipe.budget > budget):
        recipe = recipe.limited(budget)
    return recipe


def _most_particles(knobs: Knobs, on: Target | int = 1) -> int | None:
    """By their number, or of a method by the time that a step with them would take."""
    number, allowed_ms, by_time = limit("max_particles"), limit("max_step_ms"), None
    if allowed_ms is not None and isinstance(knobs, MethodKnobs):
        by_time = most_within(allowed_ms / 1000, knobs, PARTICLES, on)
    return min((most for most in (number, by_time) if most is not None), default=None)
