"""The posteriors that are cut into shards, and by what their approximations are judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pmdviz.densities.density import Density
from pmdviz.engine.recipe_parts import resolved_target
from pmdviz.metrics import METRICS
from pmdviz.metrics.divergences import Divergences, picture
from pmdviz.metrics.moments import kl_of_moments, mean_error, sd_ratios
from pmdviz.targets import Target

ERRORS = ("tv", "kl_moments", "mean_error", "sd_ratio_min", "sd_ratio_max")


class Whole(NamedTuple):
    """A posterior, and the error that its chart shows."""

    title: str
    error: str
    make: Callable[[int, int], Target]  # N and the seed of the data -> the target


def _built_in(title: str, error: str, name: str, **options: Any) -> Whole:
    def make(num_data: int, seed: int) -> Target:
        return resolved_target(name, {**options, "num_data": num_data, "data_seed": seed})

    return Whole(title, error, make)


WHOLES = {
    "mixture": _built_in("two-mode mixture (2-D)", "tv", "mixture"),
    "linear": _built_in("linear regression (5-D)", "kl_moments", "linear", dim=5),
}


def errors_of(density: Density, target: Target) -> dict[str, float]:
    """Every error of an approximation; NaN where one is unavailable."""
    reference = target.reference()
    ratios = sd_ratios(density.cov, reference)
    found = {
        "tv": _tv(density, target),
        "kl_moments": kl_of_moments(density.mean, density.cov, reference),
        "mean_error": mean_error(density.mean, reference),
        "sd_ratio_min": ratios.min(),
        "sd_ratio_max": ratios.max(),
    }
    return {name: float("nan") if value is None else float(value) for name, value in found.items()}


def words_of(error: str) -> str:
    """An error with its unit, for an axis."""
    return METRICS[error].label


def _tv(density: Density, target: Target) -> float | None:
    if target.planar is None:
        return None
    return Divergences(density, target.planar, picture(density, target.planar, target.view_box))["tv"]
