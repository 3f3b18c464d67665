"""Pairs of a target p and a q that the sample comes from, which differ by a perturbation; at 0 they are the same."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from pmdviz.streams import stream
from pmdviz.targets import Target, make_target
from pmdviz.targets.reference.enumeration import Enumeration
from pmdviz.targets.without_data.categorical import TABLES

Draws = Callable[[np.random.Generator, int], np.ndarray]

FIELD_COUPLING = 0.1  # of the lattice whose field is perturbed
HIDDEN = 5  # units of the machine


class Scenario(NamedTuple):
    """p by a temperature T of spins, and the draws of q by T and the perturbation."""

    title: str
    perturbation: str  # what it is, for an axis
    levels: Sequence[float]  # that are tried
    at: float  # the level at which the sample size is varied
    target: Callable[[float], Target]
    draws: Callable[[float, float], Draws]

    @property
    def axis(self) -> str:
        """For an axis, with what the letters are."""
        return f"perturbation: {self.perturbation}"


def ising(size: int, coupling: float, field_sd: float = 0.0) -> Target:
    """Spins without a common field on an open lattice, of which the exact draws are quick."""
    return _made("ising", size=size, coupling=coupling, field=0.0, field_sd=field_sd, boundary="open")


def couplings(size: int, levels: Sequence[float], at: float) -> Scenario:
    """Lattices at the temperatures T and T': the perturbation is 1/T' - 1/T."""
    return Scenario(
        f"Ising {size} × {size}, another temperature",
        "1/T′ - 1/T",
        levels,
        at,
        lambda temperature: ising(size, 1 / temperature),
        lambda temperature, level: _reference_draws(ising(size, 1 / temperature + level)),
    )


def machine() -> Target:
    """W ~ N(0, 1/M) without biases, by which some states would be so rare that one of them decides a test."""
    return _made("bernoulli_rbm", visible=8, hidden=HIDDEN, weight_sd=1 / np.sqrt(HIDDEN), bias_ratio=0.0)


@lru_cache(maxsize=64)
def perturbed_machine(level: float) -> Draws:
    """W + N(0, level^2), always by the same normals."""
    p = machine()
    q = copy.copy(p)
    q.weights = p.weights + level * stream("perturbation").standard_normal(p.weights.shape)
    return Enumeration(q.space, q.log_joint).sample


def shifted_table(level: float) -> Draws:
    """0.25 + level, 0.45 - level and 0.3."""
    values, p = TABLES["three"]
    q = np.maximum(np.array(p) + level * np.array([1.0, -1.0, 0.0]), 0.0)
    q /= q.sum()
    return lambda rng, n: np.array(values)[rng.choice(len(q), size=n, p=q)][:, None]


def normal(rng: np.random.Generator, n: int, shift: float, sd: float) -> np.ndarray:
    """n draws (n, 2) of N((shift, 0), sd^2 I)."""
    return np.array([shift, 0.0]) + sd * rng.standard_normal((n, 2))


@lru_cache(maxsize=32)
def _made(name: str, **options: float | str) -> Target:
    return make_target(name, **options)


def _reference_draws(target: Target) -> Draws:
    return target.reference().sample


def _plane() -> Target:
    return _made("correlated_gaussian", dim=2, correlation=0.0, q0_sd=1.0)


COLDER = (0.0, 0.05, 0.1, 0.15)
SCENARIOS = {
    "ising_3x3": couplings(3, COLDER, 0.1),
    "ising_4x4": couplings(4, COLDER, 0.1),
    "ising_10x10": couplings(10, (0.0, 0.01, 0.02, 0.03), 0.02),
    "ising_field": Scenario(
        "Ising 3 × 3, a random field",
        "sd of the field",
        (0.0, 0.1, 0.2, 0.3),
        0.1,
        lambda temperature: ising(3, FIELD_COUPLING),
        lambda temperature, level: _reference_draws(ising(3, FIELD_COUPLING, level)),
    ),
    "rbm": Scenario(
        "Bernoulli RBM, noise on its weights",
        "sd of the noise on W",
        (0.0, 0.1, 0.2, 0.3),
        0.2,
        lambda temperature: machine(),
        lambda temperature, level: perturbed_machine(level),
    ),
    "categorical": Scenario(
        "Three values, another probability",
        "probability moved from 0 to -1",
        (0.0, 0.05, 0.1, 0.15),
        0.1,
        lambda temperature: _made("categorical", table="three"),
        lambda temperature, level: shifted_table(level),
    ),
    "gaussian_mean": Scenario(
        "Gaussian in the plane, another mean",
        "shift of the first coordinate, in sds",
        (0.0, 0.1, 0.2, 0.3),
        0.2,
        lambda temperature: _plane(),
        lambda temperature, level: partial(normal, shift=level, sd=1.0),
    ),
    "gaussian_scale": Scenario(
        "Gaussian in the plane, another width",
        "sd of q minus 1",
        (0.0, 0.1, 0.2, 0.3),
        0.2,
        lambda temperature: _plane(),
        lambda temperature, level: partial(normal, shift=0.0, sd=1 + level),
    ),
}
