"""What SVGD and its gradient-free form share: how a force becomes a step, and the temperature of the target."""

from __future__ import annotations

from typing import Any

from pmdviz.knobs import Choice, Real, Whole
from pmdviz.methods.shared import optimisers
from pmdviz.methods.stein.kernels import given_width, median_of, stein_kernel, width_rule
from pmdviz.methods.step import MethodKnobs


class AnnealedFlowKnobs(MethodKnobs):
    """Steps along a force, its kernel, and the way of the target from the prior to the posterior."""

    optimiser = Choice(
        "adam",
        choices={"adam": "Adam", "adagrad": "AdaGrad", "plain": "none"},
        label="Optimiser",
        doc="How the force becomes a step. Adam: exponential moving average. AdaGrad: accumulated squares. None: the "
        "force itself, so that all particles move by one map: a coordinate moves by ε s² φ, s its prior sd and φ "
        "the force in units of θ. The kernel's width is the same for every coordinate of θ, whatever its prior sd.",
    )
    eta = optimisers.eta(10.0, default_by=("optimiser", {"adam": 10.0, "adagrad": 100.0, "plain": 1.0}))
    n0 = optimisers.n0(100.0)
    kappa = optimisers.kappa()
    kernel = stein_kernel()
    length_scale_rule = width_rule("local")
    length_scale = given_width()
    median = median_of()
    annealing = Choice(
        "off",
        choices={"off": "off", "on": "on"},
        label="Annealing",
        doc="Begin with the prior as the target and raise the likelihood's power β to 1 (Han 2019, Algorithm 6; "
        "without a gradient Algorithm 7).",
    )
    num_temperatures = Whole(
        100,
        bounds=(1, 1_000_000),
        softbounds=(1, 1000),
        label="Number of temperatures K",
        only_if=("annealing", "on"),
        doc="β = (k/K)^p for k = 1 to K.",
    )
    power = Real(
        1.0,
        bounds=(0.1, 20),
        softbounds=(1, 6),
        label="Temperature exponent p",
        only_if=("annealing", "on"),
        doc="β = (k/K)^p: a larger p makes the first steps away from the prior smaller.",
    )
    steps_per_temperature = Whole(
        1,
        bounds=(1, 100_000),
        softbounds=(1, 50),
        label="Steps per temperature",
        only_if=("annealing", "on"),
        doc="Steps along the force at each β.",
    )


def temperature(iteration: int, knobs: Any) -> float:
    """beta of the step after so many: ((1 + floor(iteration / m)) / K)^p, at most 1; 1 without annealing."""
    if knobs.annealing == "off":
        return 1.0
    rung = min(1 + iteration // knobs.steps_per_temperature, knobs.num_temperatures)
    return (rung / knobs.num_temperatures) ** knobs.power
