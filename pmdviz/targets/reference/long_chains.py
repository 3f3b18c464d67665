"""Draws of a smooth posterior with one peak, by Hamiltonian chains in units of the width of its peak."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pmdviz.kernels.chains import Trajectories, hamiltonian

if TYPE_CHECKING:
    from pmdviz.targets.base import Target

REACH = 1e6  # prior sds
CHAINS, DRAWS, BURN_IN = 4, 2500, 200
LENGTHS = 4, 13  # leapfrog steps of a trajectory: from, below
FIRST_STEP, SHORTER, WANTED, PILOT = 0.4, 0.7, 0.85, 200  # time step in sds; share; acceptance; trajectories
MAX_NEWTON, CLOSE, SLACK = 50, 1e-6, 1e-9  # steps; of the prior's sd; nats
DIFFERENCE = 1e-4  # of the prior's sd, for the curvature at the peak


def peak(target: Target) -> tuple[np.ndarray, np.ndarray]:
    """Where log p is highest (d,), and the sds (d,) of the Gaussian with its curvature there; by damped Newton steps.

    For a log-concave posterior, from the prior's centre; a step is halved until log p does not fall.
    """
    theta = np.zeros(target.dim)
    height = float(target.log_joint(theta[None])[0])
    for _ in range(MAX_NEWTON):
        precision = curvature(target, theta)
        step = np.linalg.solve(precision, target.grad_log_joint(theta[None])[0])
        while (found := float(target.log_joint((theta + step)[None])[0])) < height - SLACK:
            step = 0.5 * step
        theta, height = theta + step, found
        if (np.abs(step) < CLOSE * target.scale).all():
            break
    return theta, np.sqrt(np.diag(np.linalg.inv(curvature(target, theta))))


def curvature(target: Target, theta: np.ndarray) -> np.ndarray:
    """-(second derivatives of log p) at theta (d,), by central differences of the gradient: (d, d)."""
    steps = np.diag(DIFFERENCE * target.scale)
    slopes = (target.grad_log_joint(theta + steps) - target.grad_log_joint(theta - steps)) / (2 * DIFFERENCE)
    precision = -slopes / target.scale[:, None]
    return 0.5 * (precision + precision.T)


def hamiltonian_chains(target: Target) -> np.ndarray:
    """Draws (4, 2500, d) of four chains of a target with a compiled model, each started at twice the peak's width.

    The time step is made shorter until 85 % of a pilot's proposals are accepted.
    """
    centre, sd = peak(target)
    time_step = FIRST_STEP
    while _chain(target, centre, sd, time_step, PILOT, seed=0).accepted.mean() < WANTED:
        time_step *= SHORTER
    chains = [_chain(target, centre, sd, time_step, BURN_IN + DRAWS, seed=k + 1) for k in range(CHAINS)]
    return np.array([chain.draws[BURN_IN:] for chain in chains])


def _chain(target: Target, centre: np.ndarray, sd: np.ndarray, time_step: float, num: int, seed: int) -> Trajectories:
    rng = np.random.default_rng([seed, 2016])
    theta = centre + 2.0 * sd * rng.standard_normal(target.dim)
    start = theta, float(target.log_joint(theta[None])[0]), target.grad_log_joint(theta[None])[0]
    momenta, lengths = rng.standard_normal((num, target.dim)), rng.integers(*LENGTHS, size=num)
    rest = rng.random(num), time_step, sd, REACH * target.scale, np.iinfo(np.int64).max
    return hamiltonian(target.model or (), target.data_rows, start, momenta, lengths, *rest)
