"""One trajectory of the leapfrog on a target whose functions are Python's: what `kernels.chains` does compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.kernels.chains import Trajectories
from pmdviz.methods.base import checked_log_likelihood, checked_log_prior
from pmdviz.methods.mcmc.chain import REACH
from pmdviz.targets import Target


class Proposal(NamedTuple):
    """The end of a trajectory."""

    theta: np.ndarray  # (d,)
    momentum: np.ndarray  # (d,)
    gradient: np.ndarray  # (d,)
    num_gradients: int  # that it took
    diverged: bool


def followed(
    target: Target,
    data: np.ndarray,
    start: tuple[np.ndarray, float, np.ndarray],
    momentum: np.ndarray,
    num_steps: int,
    uniform: float,
    time_step: float,
) -> Trajectories:
    """What `hamiltonian` does, for one trajectory on a target whose functions are Python's."""
    theta, before, gradient = start
    end = trajectory(target, theta, gradient, momentum, time_step, num_steps, data)
    log_joint, asked = (-np.inf, 0) if end.diverged else log_joint_at(target, end.theta, data)
    chance = acceptance(before, log_joint, momentum, end.momentum)
    accepted = bool(uniform < chance)
    if accepted:
        theta, before, gradient = end.theta, log_joint, end.gradient
    counts = np.array([end.num_gradients]), np.array([asked])
    outcome = np.array([chance]), np.array([accepted]), np.array([end.diverged])
    return Trajectories(theta[None].copy(), before, gradient.copy(), *counts, *outcome, 1)


def trajectory(
    target: Target,
    theta: np.ndarray,
    gradient: np.ndarray,
    momentum: np.ndarray,
    time_step: float,
    num_steps: int,
    data: np.ndarray,
) -> Proposal:
    """`num_steps` leapfrog steps from theta (d,), where the gradient (d,) is known, with a momentum (d,).

    It ends early where it leaves a million prior sds or the gradient is not finite: such a step was far too long.
    """
    unit = target.scale
    for k in range(num_steps):
        momentum = momentum + 0.5 * time_step * unit * gradient
        theta = theta + time_step * unit * momentum
        if not (np.abs(theta) <= REACH * unit).all():
            return Proposal(theta, momentum, gradient, k, True)
        gradient = target.grad_log_joint(theta[None], data)[0]
        if not np.isfinite(gradient).all():
            return Proposal(theta, momentum, gradient, k + 1, True)
        momentum = momentum + 0.5 * time_step * unit * gradient
    return Proposal(theta, momentum, gradient, num_steps, False)


def positions(
    target: Target,
    theta: np.ndarray,
    gradient: np.ndarray,
    momentum: np.ndarray,
    time_step: float,
    num_steps: int,
    data: np.ndarray,
) -> np.ndarray:
    """Where the leapfrog steps of a `trajectory` lead, theta first, (k + 1, d); where it diverges, as far as it goes.

    For a picture: step after step by itself, since what was computed on the way was not kept.
    """
    points = [theta]
    for _ in range(num_steps):
        end = trajectory(target, theta, gradient, momentum, time_step, 1, data)
        if end.diverged:
            break
        theta, momentum, gradient = end.theta, end.momentum, end.gradient
        points.append(theta)
    return np.array(points)


def acceptance(before: float, after: float, momentum: np.ndarray, end_momentum: np.ndarray) -> float:
    """min(1, exp(-ΔH)) for H = -log_joint + |p|²/2; 0 where the end has density 0."""
    if after == -np.inf:
        return 0.0
    gained = after - before + 0.5 * float((momentum**2).sum() - (end_momentum**2).sum())
    return float(np.exp(min(0.0, gained)))


def log_joint_at(target: Target, theta: np.ndarray, data: np.ndarray) -> tuple[float, int]:
    """log_joint at theta (d,), and how often the likelihood was asked: not outside the prior's support."""
    prior = checked_log_prior(target, theta[None])
    if prior[0] == -np.inf:
        return -np.inf, 0
    return float(prior[0] + checked_log_likelihood(target, theta[None], data, may_vanish=True)[0]), 1
