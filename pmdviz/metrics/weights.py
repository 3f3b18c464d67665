"""How much weights are to be trusted: the effective sample size, and the Pareto shape of the largest ones."""

from __future__ import annotations

import numpy as np

from pmdviz.densities.density import effective_sample_size
from pmdviz.densities.pareto import k_hat
from pmdviz.methods import Method
from pmdviz.metrics.base import Measurable, Metric, has_weights
from pmdviz.targets import Target


def _log_weights(frame: Measurable) -> np.ndarray:
    """Of the particles, also where another density than theirs is the better q."""
    return next(iter(frame.densities.values())).log_weights


def _ess(frame: Measurable) -> float:
    return effective_sample_size(_log_weights(frame))


def _ancestors(frame: Measurable) -> int | None:
    return frame.ancestry and frame.ancestry.number_alive(_log_weights(frame))


def _khat(frame: Measurable) -> float | None:
    """Of the particles' weights; of a parametric q of p/q at 1,000 draws of it (Yao et al. 2018)."""
    if frame.method.family == "particles":
        found = k_hat(_log_weights(frame))
    else:
        draws = frame.draws
        found = k_hat(frame.target.log_joint(draws) - frame.density.log_density(draws))
    return float(found) if np.isfinite(found) else None


def _may_have_khat(target: Target, method: Method) -> bool:
    return method.family == "particles" or (method.family == "parametric" and "reals" in target.offers)


Metric(
    name="ess",
    title="ESS",
    unit="particles",
    about="effective sample size, a rough count of how many weights matter: 1 / sum w^2",
    measure=_ess,
    applies=has_weights,
    drawn=True,
    always=True,
    ranks=False,
    order=5,
    axis="ess",
    axis_title="ESS and ancestors",
    axis_label="ESS, ancestors (particles)",
    limits=(1.0, 1e5),
    colour="particles",
)
Metric(
    name="ancestors",
    title="ancestors",
    unit="particles",
    about="how many of the first particles have descendants with any weight",
    measure=_ancestors,
    applies=lambda target, method: method.resamples,
    drawn=True,
    ranks=False,
    order=6,
    axis="ess",
    limits=(1.0, 1e5),
    colour="approximate",
    dash=(6, 3),
)
Metric(
    name="khat",
    title="k-hat",
    unit="",
    about="Pareto shape of the largest of S weights; above min(1 - 1/log10 S, 0.7) a few decide (Vehtari et al. 2024)",
    measure=_khat,
    applies=_may_have_khat,
    traced=lambda target, method: method.family == "particles",
    ranks=False,
    order=30,
    log=False,
    axis="khat",
    axis_title="Pareto k-hat",
    limits=(-0.5, 2.0),
    colour="particles",
)
