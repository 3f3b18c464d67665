"""The knobs of `discrete_gf_svgd`."""

from __future__ import annotations

from pmdviz.knobs import Choice, Real, Whole
from pmdviz.methods.cost import Work
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.batching import BatchKnobs, batch_size_knob
from pmdviz.methods.shared.particles import num_particles_knob
from pmdviz.methods.stein.flow import width_factor

FIRST_STEPS = {"adam": 0.5, "adagrad": 0.5, "plain": 0.5}
DECAYS = {"adam": 0.5, "adagrad": 0.0, "plain": 0.0}  # AdaGrad's own steps fall, and so does a force by itself
FACTORS = {"automatic": 3.0, "tanh": 3.0, "base": 1.0}  # of automatic: where there is a smooth one
LEAST_CLIP = 0.01  # between narrower ones the base has hardly a mass to be cut into bins


class DiscreteGFSVGDKnobs(BatchKnobs):
    """The knobs of `discrete_gf_svgd`."""

    kind_words = "knob of method 'discrete_gf_svgd':"

    num_particles = num_particles_knob(
        100,
        "restart",
        "Number of latent points x that move together, each standing for a state z; a step costs m² kernel values.",
        usual=(10, 2_000),
    )
    batch_size = batch_size_knob(100)
    weighting = Choice(
        "ratios",
        choices={"ratios": "ratios ρ/p", "ranks": "ranks of the ratios", "none": "equal (plain SVGD)"},
        label="Weights in the force",
        basic=True,
        doc="How much each particle counts. Ratios: surrogate over target, which makes up for the force being the "
        "surrogate's. Ranks: one over the share of particles whose ratio is at least as large; no single one takes "
        "all. Equal: plain SVGD on the surrogate, which never hears of the target but through it.",
    )
    surrogate = Choice(
        "automatic",
        choices={
            "automatic": "smooth where the target is",
            "tanh": "smooth, by tanh",
            "base": "the base density alone",
        },
        label="Surrogate ρ",
        basic=True,
        doc="The density whose gradient drives the particles. Smooth: the base times the target's density at a tanh of "
        "x, for targets that have one between their states. Base: that of x before it hears of the target. "
        "Automatic: smooth where the target offers that, else the base.",
    )
    steepness = Real(
        2.0,
        bounds=(0, 1000),
        inclusive_bounds=(False, True),
        softbounds=(0.5, 20),
        log=True,
        label="Steepness τ",
        only_if=("surrogate", ("automatic", "tanh")),
        doc="The smooth map is tanh(τx/2), stretched to the lowest and highest value; a steeper one is closer to a "
        "step, and its gradient is 0 except near it.",
    )
    optimiser = Choice(
        "adam",
        choices={"adam": "Adam", "adagrad": "AdaGrad", "plain": "none"},
        label="Optimiser",
        doc="How the force becomes a step. Adam: exponential moving average. AdaGrad: accumulated squares. None: the "
        "force itself.",
    )
    eta = optimisers.eta(0.5, "The step size is η/t^κ at step t.", default_by=("optimiser", FIRST_STEPS))
    kappa = optimisers.step_decay(0.5, default_by=("optimiser", DECAYS))
    length_scale_factor = width_factor(3.0, default_by=("surrogate", FACTORS))
    start_mean = Real(
        0.0,
        bounds=(-20, 20),
        softbounds=(-4, 4),
        label="Mean at the start",
        acts="restart",
        doc="The latent points start from N(mean, sd²) in every coordinate; the base is N(0, 1).",
    )
    start_sd = Real(
        1.0,
        bounds=(0, 20),
        inclusive_bounds=(False, True),
        softbounds=(0.1, 4),
        log=True,
        label="Sd at the start",
        acts="restart",
        doc="Standard deviation of the latent points at the start.",
    )
    base_spread = Real(
        0.0,
        bounds=(0, 30),
        label="Spread of the base",
        acts="restart",
        doc="0: the base is N(0, 1). Otherwise five normals of sd 1 with equal weights, their means evenly between "
        "minus and plus this.",
    )
    bins_per_value = Whole(
        1,
        bounds=(1, 1000),
        softbounds=(1, 5),
        label="Quantile bins a value",
        acts="restart",
        doc="How many bins of equal mass under the base stand for each value. The values take turns, from the lowest "
        "on, so that with more bins the way from any value to any other is shorter.",
    )
    clip = Real(
        0.0,
        bounds=(0, 20),
        softbounds=(0, 4),
        label="Clip x at ±",
        acts="restart",
        default_by=("weighting", {"ranks": 1.0}),
        doc="Keeps x between minus and plus this in every coordinate, with the base cut off there; 0: nowhere.",
    )

    def check(self) -> None:
        """A clip leaves the base some mass."""
        if 0 < self.clip < LEAST_CLIP:
            raise self.specs()["clip"].refusal(f"must be 0, for none, or at least {LEAST_CLIP:g}; given: {self.clip:g}")

    def work(self, num_data: int) -> Work:
        """m^2 kernels, and m likelihoods and gradients of the batch."""
        m, rows = self.num_particles, self.rows(num_data)
        smooth = self.surrogate != "base"
        return Work(kernels=m**2, likelihoods=m * rows * (1 + smooth), gradients=m * rows * smooth)
