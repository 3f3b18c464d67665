"""The knobs of black-box importance sampling, and what its points are drawn from."""

from __future__ import annotations

import numpy as np

from pmdviz.knobs import Choice, Real, Whole
from pmdviz.methods.cost import Work
from pmdviz.methods.shared.particles import prior_draws
from pmdviz.methods.shared.smoothing import SmoothingKnobs
from pmdviz.methods.stein.widths import given_width, width_rule
from pmdviz.targets import Target

LARGEST = 500  # points: a step costs the square of their number
MOST = 3000  # iterations
GRADIENT, GRADIENT_FREE = "gradient", "gradient_free"


class BlackBoxISKnobs(SmoothingKnobs):
    """The knobs of `black_box_is`."""

    kind_words = "knob of method 'black_box_is':"

    num_particles = Whole(
        100,
        bounds=(1, LARGEST),
        softbounds=(10, LARGEST),
        log=True,
        basic=True,
        label="Particles m",
        acts="restart",
        doc="Number of points to be weighted; they never move. An iteration costs m² multiplications.",
    )
    score = Choice(
        GRADIENT_FREE,
        choices={GRADIENT_FREE: "proposal", GRADIENT: "target"},
        label="Score in the kernel",
        acts="restart",
        basic=True,
        doc="Whose gradient of the log density makes the Stein kernel. Of the proposal ρ: each value is multiplied by "
        "ρ/p at both points, and the target's gradient is not needed. Of the target: needs its gradient.",
    )
    alpha = Real(
        0.0,
        bounds=(-1, 10),
        softbounds=(-1, 1),
        label="Power of p in the kernel",
        acts="restart",
        only_if=("score", GRADIENT),
        doc="The kernel is p(x)^α k(x, x′) p(x′)^α, which makes the score (1 + α) times the target's. 0: the usual "
        "kernel. -1: no gradient is left, as without a surrogate.",
    )
    proposal = Choice(
        "q0",
        choices={"q0": "prior, or q₀", "gaussian": "round Gaussian"},
        label="Proposal ρ",
        acts="restart",
        doc="What the points are drawn from: the prior (q₀ without data), or a Gaussian of the given mean and sd.",
    )
    proposal_mean = Real(
        0.0,
        bounds=(-1000, 1000),
        softbounds=(-3, 3),
        label="Mean of ρ",
        unit="units of θ",
        acts="restart",
        only_if=("proposal", "gaussian"),
        doc="Mean of the Gaussian that points are drawn from, in every coordinate.",
    )
    proposal_sd = Real(
        1.5,
        bounds=(1e-6, 1_000_000),
        softbounds=(0.1, 10),
        log=True,
        label="Sd of ρ",
        unit="units of θ",
        acts="restart",
        only_if=("proposal", "gaussian"),
        doc="Sd of the Gaussian that points are drawn from, in every coordinate.",
    )
    length_scale_rule = width_rule("liu_wang")
    length_scale = given_width()
    median = "exact"  # of so few points
    ridge = Real(
        1e-6,
        bounds=(0, 1),
        softbounds=(1e-9, 1e-2),
        log=True,
        label="Ridge",
        unit="K's diagonal",
        doc="How much is added to the diagonal of K, as a share of each entry, or without scaling of their mean. It "
        "keeps weights from following rounding errors.",
    )
    scaling = Choice(
        "diagonal",
        choices={"diagonal": "by the diagonal of K", "none": "none"},
        label="Scaling of the descent",
        doc="In which units ridge and steps are. By the diagonal of K: a step takes each weight as far as its own "
        "curvature allows. None: the largest ρ/p decides for all points, and where it outweighs the others by far "
        "the weights stay nearly equal.",
    )
    iterations = Whole(
        10,
        bounds=(1, 1000),
        softbounds=(1, 100),
        log=True,
        label="Iterations per step",
        doc="Iterations of accelerated projected gradient descent between two pictures.",
    )

    def work(self, num_data: int) -> Work:
        """All pairs of points, and in the first step what is asked of the target."""
        m = self.num_particles
        pairs = m * num_data
        return Work(
            kernels=m**2 * (1 + self.iterations / 10),
            likelihoods=pairs,
            gradients=pairs if self.score == GRADIENT else 0.0,
        )


def proposed(rng: np.random.Generator, target: Target, knobs: BlackBoxISKnobs) -> np.ndarray:
    """m draws (m, d) of the proposal."""
    if knobs.proposal == "q0":
        return prior_draws(rng, target, knobs.num_particles)[0]
    noise = rng.standard_normal((knobs.num_particles, target.dim))
    return knobs.proposal_mean + knobs.proposal_sd * noise


def log_proposal(points: np.ndarray, target: Target, knobs: BlackBoxISKnobs) -> np.ndarray:
    """log rho at points (m, d), (m,) in nats."""
    if knobs.proposal == "q0":
        return target.log_prior(points)
    return gaussian_log_density(points, knobs.proposal_mean, knobs.proposal_sd)


def surrogate(points: np.ndarray, target: Target, knobs: BlackBoxISKnobs) -> tuple[np.ndarray, np.ndarray]:
    """log rho (m,) and its gradient (m, d): of the proposal, or of a Gaussian with its draws' means and sds.

    The latter stands in for a prior whose gradient is unknown; kappa_rho has mean 0 under p whatever rho is.
    """
    if knobs.proposal == "gaussian":
        mean, sd = np.full(target.dim, knobs.proposal_mean), np.full(target.dim, knobs.proposal_sd)
    elif "gradient" in target.offers:
        return target.log_prior(points), target.grad_log_prior(points)
    else:
        mean, sd = points.mean(axis=0), np.maximum(points.std(axis=0), 1e-6 * target.scale)
    return gaussian_log_density(points, mean, sd), (mean - points) / sd**2


def gaussian_log_density(points: np.ndarray, mean: np.ndarray | float, sd: np.ndarray | float) -> np.ndarray:
    """log N(x | mean, diag(sd)^2) at points (m, d), (m,) in nats."""
    z = (points - mean) / sd
    return (-0.5 * z**2 - np.log(np.sqrt(2 * np.pi) * np.broadcast_to(sd, points.shape[1]))).sum(axis=1)
