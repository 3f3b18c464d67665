"""What Stein methods share: kernels, their widths, and steps as a map of space."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pmdviz.densities.bandwidth import local_scale, neighbourhood_covariance
from pmdviz.densities.density import effective_sample_size, normalise
from pmdviz.kernels import stein as compiled
from pmdviz.kernels.checks import Array
from pmdviz.kernels.clusters import median_distance
from pmdviz.kernels.factors import cholesky
from pmdviz.knobs import Choice, Real
from pmdviz.methods.step import MethodKnobs, Scalar, Terms
from pmdviz.targets import Target

RBF = "rbf"
APART = "particles that push one another apart vary less"  # than independent draws
ARROWS = 50  # particles whose forces a picture shows
SOLID = 1e-9  # of a coordinate's variance: a covariance of coincident particles has an inverse too


Weights = Array | None  # (m,) of a weighted force


class SteinKernel(NamedTuple):
    """k as a function f of r = |x - y|^2 / h: grad_y k(y, x) = slope(r) (2/h) (x - y) with slope = -f'."""

    # Of particles and scores, (m, d) each, h and perhaps weights (m,) instead of 1/m:
    # (1/m) sum_j [k(x_j, x_i) s_j + grad_j k(x_j, x_i)], (m, d).
    force: Callable[..., Array]
    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]


KERNELS = {
    RBF: SteinKernel(compiled.stein_force, lambda r: np.exp(-r), lambda r: np.exp(-r)),
    "imq": SteinKernel(compiled.imq_force, lambda r: (1 + r) ** -0.5, lambda r: 0.5 * (1 + r) ** -1.5),
}


def forces(particles: Array, scores: Array, h: float, kernel: str = RBF, weights: Weights = None) -> dict[str, Array]:
    """Both parts of the force on some particles: k(x_j, x_i) grad log p(x_j, X) and grad_j k(x_j, x_i), each a mean.

    Each starts at the particle's place before the step: (n, 2, d), from and to. `weights` (m,) belong to the mean.
    """
    (rows, r), m = _some(particles, h), len(particles)
    start, (w, total) = particles[rows], (1.0, m) if weights is None else (weights, 1)
    value, slope = KERNELS[kernel].value(r) * w, KERNELS[kernel].slope(r) * w
    drive = value @ scores / total
    repulsion = 2 / h * (start * slope.sum(axis=1, keepdims=True) - slope @ particles) / total
    ends = {"drive": start + drive, "repulsion": start + repulsion}
    return {name: np.stack([start, end], axis=1) for name, end in ends.items()}


def parts_of_force(particles: Array, scores: Array, h: float, kernel: str = RBF, weights: Weights = None) -> Terms:
    """Both parts of the force on all particles, (m, d) each: without any scores there is but the repulsion."""
    force = KERNELS[kernel].force
    repulsion = force(particles, np.zeros(scores.shape), h, weights)
    return {"drive": force(particles, scores, h, weights) - repulsion, "repulsion": repulsion}


def kept_variance(particles: Array, h: float) -> float:
    """Their variance over the Gaussian posterior's under the RBF, from them alone (ours).

    Where they rest the force on each of them is 0, and so is its product with x_i (from their mean). For the score
    -x / v that makes s^2 / v = (2/h) sum_ij k_ij (x_i - x_j) . x_i / sum_ij k_ij z_i . z_j, with s^2 their variance and
    z = x / s (whitened where m >= d + 2): exact at rest, however few of them there are for d. Far modes make it too
    small, since x then reaches over the gap between them. So the larger of this and of a / (1 + a) is taken, with
    a = mean_i sum_j k_ij r_ij / d and r_ij = |x_i - x_j|^2 / h, which counts every mode by itself and is too small
    where many see one another (0.27 for 0.58); from some of the rows.
    """
    (rows, r), (m, d) = _some(particles, h), particles.shape
    k, x = np.exp(-r), particles - particles.mean(axis=0)
    apart = float((k * r).sum(axis=1).mean()) / d
    sd = x.std(axis=0)
    if h == 0 or not (sd > 0).all():
        return apart / (1 + apart)
    z = x / sd
    if m >= d + 2:
        z = np.linalg.solve(np.linalg.cholesky(z.T @ z / m + SOLID * np.eye(d)), z.T).T
    push = 2 / h * float((x[rows] * (x[rows] * k.sum(axis=1)[:, None] - k @ x)).sum())
    pull = float((z[rows] * (k @ z)).sum())
    return max(push / pull if pull > 0 else 0.0, apart / (1 + apart))


def _some(particles: Array, h: float) -> tuple[Array, Array]:
    """Rows of at most ARROWS particles, and r = |x_i - x_j|^2 / h of each from all, (n, m)."""
    rows = np.linspace(0, len(particles) - 1, min(ARROWS, len(particles))).astype(np.int64)
    start = particles[rows]
    return rows, sum((start[:, k, None] - particles[:, k]) ** 2 for k in range(particles.shape[1])) / h


# How wide the kernel of a Stein method is: rules that take h from the particles' distances, and their knobs.

CLOSEST = 1e-6  # of the prior's sd: coincident particles have a kernel too
MEDIANS = {"sampled": compiled.sampled_median_distance, "exact": median_distance}
RULES = {
    "liu_wang": "median² / log m",
    "thesis": "median² / (2 log m)",
    "median": "median distance",
    "local": "median within a mode",
    "given": "fixed",
}


POSITIVE = (1e-6, 1_000_000)
GIVEN = ("length_scale_rule", "given")


class WidthKnobs(MethodKnobs):
    """Knobs that say how wide a kernel is.

    length_scale_rule: The kernel is a function of |x-y|²/h; med is the median distance. Median² / log m: h =
        med²/log(m+1), as in the code of Liu and Wang; enough for d ≤ 3. Median² / (2 log m): half of that, as in Han's
        thesis; the variance collapses from d = 5 on. Median distance: h = med²; for d ≥ 5. Median within a mode: as the
        first, with the median distance within a mode. Fixed: h is the square of the given number.
    length_scale: √h of the kernel, a function of |x-y|²/h: particles repel one another over this distance.
    """

    length_scale_rule = Choice("local", RULES, "Kernel width rule")
    length_scale = Real(0.3, POSITIVE, (0.02, 5), "Kernel width √h", "units of θ", log=True, only_if=GIVEN)
    median: str


WIDTH_RULE, GIVEN_WIDTH = WidthKnobs.specs().values()


def width_scalar(unit: str) -> Scalar:
    """How wide the kernel of a step was."""
    return Scalar("length_scale", "kernel width", unit, True)


def move_scalar(unit: str) -> Scalar:
    """The root mean square move of the particles."""
    return Scalar("typical_move", "typical move", unit, True)


def squared_width(particles: Array, knobs: WidthKnobs, target: Target) -> float:
    """h of a kernel of |x - y|^2 / h, in squared units of theta, by `knobs.length_scale_rule`.

    `liu_wang`: med^2 / log(m + 1), the kernel at the median distance is then 1 / (m + 1) (the code of Liu, Wang 2016;
    section 5 has log m). `thesis`: med^2 / (2 log(m + 1)), there 1 / (m + 1)^2: in many dimensions the particles barely
    repel one another. `median`: med^2, there 1 / e. `local`: as the first, by `distance_in_modes` (ours). A lone
    particle has no distance and takes the prior's sd.
    """
    if knobs.length_scale_rule == "given":
        return knobs.length_scale**2
    m, sd, rule = len(particles), float(target.scale.mean()), knobs.length_scale_rule
    if rule == "local":
        distance = distance_in_modes(particles, target.scale)
    else:
        distance = MEDIANS[knobs.median](particles) if m > 1 else sd
    divisor = 1.0 if rule == "median" else (2 if rule == "thesis" else 1) * np.log(m + 1)
    return max(distance, CLOSEST * sd) ** 2 / divisor


def distance_in_modes(particles: Array, scale: Array) -> float:
    """Median distance of two draws from N(0, s^2 I), s^2 = det(S)^(1/d) for the covariance S within neighbourhoods.

    On one Gaussian the median distance itself; where modes lie far apart not the gap between them (ours).
    """
    m, d = particles.shape
    S = neighbourhood_covariance(particles, np.full(m, 1.0 / m), scale) / local_scale(d)
    log_sds = np.log(np.diag(cholesky(S + np.diag(CLOSEST**2 * (scale**2 + np.diag(S))))))
    chi_squared = d * (1 - 2 / (9 * d)) ** 3  # Wilson and Hilferty's median, of |x - y|^2 / (2 s^2)
    return float(np.sqrt(2 * chi_squared) * np.exp(log_sds.mean()))


# Steps along the force of a set of leaders: a map of space: how wide, how long, and how much it stretches.
#
# All of it in units of the prior's sds, in which no coordinate is special: x = scale y has the gradient scale s(x) in
# y. Step sizes and squared widths are then in units of the prior's variances.

LEAST = 0.2  # of the symmetric part of I + step J: 0 would be a fold
SHORTEST = 2.0**-60  # of a scheduled step


class Determinant(NamedTuple):
    """A way to know how much y -> y + step phi(y) stretches space; J is the second array that `transport` gives."""

    transport: Callable[[Array, Array, Array, float], tuple[Array, Array]]
    logs: Callable[[Array, float], tuple[Array, Array]]  # (J, step) -> log |det| and sign, each (n,)
    is_safe: Callable[[Array, float, float], bool]  # (J, step, least)


def first_order(diagonal: Array, step: float) -> tuple[Array, Array]:
    """sum_a log |1 + step J_aa| and the sign of the product, each (n,), for the diagonals (n, d) of J.

    The diagonal of I + step J; off by O(step^2) per step (Han 2019, Proposition 2).
    """
    factors = 1 + step * diagonal
    with np.errstate(divide="ignore"):
        return np.log(np.abs(factors)).sum(axis=1), np.sign(factors).prod(axis=1)


def is_growing(diagonal: Array, step: float, least: float) -> bool:
    """Whether the diagonal of I + step J is at least `least` everywhere."""
    return bool(1 + step * diagonal.min() >= least)


DETERMINANTS = {
    "exact": Determinant(compiled.transport, compiled.log_determinants, compiled.is_monotone),
    "first_order": Determinant(compiled.transport_diagonal, first_order, is_growing),
}


def leaders_width(leaders: Array, factor: float, sd: float = 1.0) -> float:
    """h of the kernel exp(-|x - y|^2 / h): `factor` times med^2 / (2 log(n + 1)), med the leaders' median distance.

    With factor 1 as Han's thesis has it; Liu and Wang's rule is factor 2. For leaders (n, d) in prior sds; a lone one
    has no distance and takes 1.
    """
    n = len(leaders)
    distance = compiled.sampled_median_distance(leaders) if n > 1 else sd
    return factor * max(distance, CLOSEST * sd) ** 2 / (2 * np.log(n + 1))


def unfolded(way: Determinant, jacobian: Array, planned: float) -> float:
    """The planned step, halved until it is one-to-one at the points of J: their images neither meet nor overshoot."""
    eps = planned
    while not way.is_safe(jacobian, eps, LEAST) and eps > SHORTEST * planned:
        eps *= 0.5
    return eps


def ess_share(log_w: Array) -> float:
    """ESS of weights (n,) as a share of n, in [0, 1]; 0 where all are 0."""
    return effective_sample_size(normalise(log_w)) / len(log_w) if log_w.max() > -np.inf else 0.0


def log_mean(log_w: Array) -> float:
    """log of the mean of weights (n,), given by their logs, at least one of them above -inf."""
    top = log_w.max()
    return float(top + np.log(np.exp(log_w - top).mean()))


FACTOR_UNIT = "× med²/(2 log(m+1))"
FACTOR_DOC = """The RBF is exp(-|x-y|²/h), with h this number times med²/(2 log(m+1)), med being the median distance of
the m points. 1 is the thesis' rule, under which they barely repel one another; 2 is Liu and Wang's."""
WIDTH_FACTOR = Real(1.0, (1e-3, 1000), (0.5, 20), "RBF width factor", FACTOR_UNIT, log=True, basic=True, doc=FACTOR_DOC)
