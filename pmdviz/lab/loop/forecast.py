"""How long a step is going to take, from the work that the knobs declare: only to predict, never to measure."""

from __future__ import annotations

from typing import Any

from pmdviz.methods.step import MethodKnobs
from pmdviz.targets import Target

# Pairs a CPU second, on the mixture and one core of an AMD EPYC; a target of one's own may cost anything.
KERNELS_PER_SECOND = 1.2e9
LIKELIHOODS_PER_SECOND = 2.0e9
GRADIENTS_PER_SECOND = 1.2e9

COUNTS = ("num_particles", "most_particles")  # knobs that are numbers of particles


def most_asked(knobs: Any) -> tuple[int, str]:
    """The largest number of particles that a run may come to have, and the knob that says so."""
    values = knobs.as_dict()
    asked = [(values[name], name) for name in COUNTS if name in values and knobs.matters(name, values)]
    return max(asked, default=(0, COUNTS[0]))


def step_seconds(knobs: MethodKnobs, on: Target | int = 1) -> float:
    """CPU seconds of the longest step on a target, or with so many data in one."""
    work = knobs.work(on) if isinstance(on, int) else knobs.work_on(on)
    return (
        work.kernels / KERNELS_PER_SECOND
        + work.likelihoods / LIKELIHOODS_PER_SECOND
        + work.gradients / GRADIENTS_PER_SECOND
    )


def heaviest(knobs: MethodKnobs, on: Target | int) -> tuple[str, int]:
    """The knob that makes the longest step so long, and its value; `num_data` and N where it is the data alone.

    It is the one at whose least value the step is shortest.
    """
    values, seconds = knobs.as_dict(), step_seconds(knobs, on)
    whole = [n for n, spec in knobs.specs().items() if spec.kind == "whole" and knobs.matters(n, values)]
    least = {n: step_seconds(_with(knobs, n, knobs.specs()[n].bounds[0]), on) for n in whole}
    name = min(least, key=lambda n: least[n], default="")
    if name and least[name] < seconds / 2:
        return name, values[name]
    most, name = most_asked(knobs)  # two numbers of particles alike: neither alone shortens it much
    return (name, most) if most else ("num_data", on if isinstance(on, int) else on.num_data)


def label_of(knobs: MethodKnobs, name: str) -> str:
    """What a page calls that which `heaviest` names."""
    specs = knobs.specs()
    return specs[name].label if name in specs else "Data points N"


def most_within(seconds: float, knobs: MethodKnobs, name: str, on: Target | int = 1) -> int:
    """The largest value of a whole knob with which the longest step takes at most `seconds`, or its least value."""
    low, high = knobs.specs()[name].bounds
    while low < high:
        middle = (low + high + 1) // 2
        fits = step_seconds(_with(knobs, name, middle), on) <= seconds
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _with(knobs: MethodKnobs, name: str, value: int) -> MethodKnobs:
    return knobs.replaced(**{name: value})
