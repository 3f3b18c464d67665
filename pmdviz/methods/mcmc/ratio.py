"""What the ratio by which a chain accepts a proposal is made of: log densities, and energies of a trajectory."""

from __future__ import annotations

import numpy as np

from pmdviz.methods.base import checked_log_likelihood, checked_log_prior
from pmdviz.methods.mcmc.trajectory import log_joint_at, trajectory
from pmdviz.methods.step import Term, Update
from pmdviz.targets import Target
from pmdviz.targets.base import IN_SILENCE


def ratio_update(*terms: Term) -> Update:
    """A proposal is accepted where log α is above the log of a uniform number on [0, 1]."""
    return Update("ratio", "log α", "log of the acceptance ratio", "nats", terms)


def density_terms(target: Target, here: np.ndarray, there: np.ndarray, data: np.ndarray) -> dict[str, np.ndarray]:
    """By how much prior and likelihood are higher there than here (d,), nats: (1,) each.

    Outside the prior's support the likelihood is not asked for: the prior alone says no.
    """
    points = np.stack([here, there])
    prior = checked_log_prior(target, points)
    likelihood = checked_log_likelihood(target, points, data, prior > -np.inf, may_vanish=True)
    if prior[1] == -np.inf:
        likelihood[1] = likelihood[0]
    return {"prior": _risen(prior), "likelihood": _risen(likelihood)}


@IN_SILENCE
def energy_terms(
    target: Target, theta: np.ndarray, momentum: np.ndarray, time_step: float, num_steps: int, data: np.ndarray
) -> dict[str, np.ndarray]:
    """By how much potential and kinetic energy fall along a trajectory from theta with a momentum (d,): (1,) each.

    Where it diverges the potential at its end is infinite, whatever its momentum.
    """
    gradient = target.grad_log_joint(theta[None], data)[0]
    end = trajectory(target, theta, gradient, momentum, time_step, num_steps, data)
    before = log_joint_at(target, theta, data)[0]
    after = -np.inf if end.diverged else log_joint_at(target, end.theta, data)[0]
    fallen = 0.0 if end.diverged else 0.5 * float((momentum**2).sum() - (end.momentum**2).sum())
    return {"potential": _risen(np.array([before, after])), "kinetic": np.array([fallen])}


def _risen(values: np.ndarray) -> np.ndarray:
    """The second less the first, (1,); -inf where both are."""
    return values[1:] - values[:1] if values[1] > -np.inf else values[1:]
