"""Mixtures of Gaussians: two means learned from data, given ones, a bent one, and a Boltzmann machine.

The two-mode mixture of Dai et al. 2016, section 6: the main teaching target.
"""

from __future__ import annotations

import numpy as np

from pmdviz.kernels import mixture
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.spins import mixture_sweep
from pmdviz.knobs import Choice, Real, Whole
from pmdviz.targets import options
from pmdviz.targets.base import CompiledLikelihood
from pmdviz.targets.enumeration import states_of
from pmdviz.targets.exact import GaussianMixtureExact, GridExact, Handle
from pmdviz.targets.space import Discrete, InBlocks, coordinate_blocks, numbered
from pmdviz.targets.without_data import WithoutData

REACH = 8.0  # prior sds each way: they hold all but 1e-14 of the prior


class MixtureOptions(options.DataOptions):
    """Options of `mixture`.

    sigma_x: Standard deviation of each component. With 1.5 and N = 400 the modes are well separated.
    p: With p = 0.5 the likelihood is the same at both modes, but not the prior: at the defaults they hold 0.459 and
        0.541 of the posterior.
    theta1: True mean of the first component.
    theta2: True distance from the first mean to the second.
    """

    form = options.TableForm("One column of numbers: each is an observation x.")
    data = options.own_data(form)
    num_data = options.data_points(1000)
    sigma_x = options.noise(2.5)
    p = Real(0.5, (0.01, 0.99), label="First component's weight p")
    prior_sd = options.prior_sd(bounds=(0.05, 100), basic=True)
    theta1 = Real(1.0, (-5, 5), label="True θ₁", unit="units of x", only_if=options.ONLY_SIMULATED)
    theta2 = Real(-2.0, (-5, 5), label="True θ₂", unit="units of x", only_if=options.ONLY_SIMULATED)


class Mixture(CompiledLikelihood[MixtureOptions]):
    """x ~ p N(theta1, sigma_x^2) + (1-p) N(theta1 + theta2, sigma_x^2), theta ~ N(0, prior_sd^2 I).

    With p = 0.5 the likelihood is the same at (theta1, theta2) and (theta1 + theta2, -theta2): two modes.
    The prior is not, so their masses differ.

    title: Two-mode mixture (2-D)
    about: Each data point comes from a Gaussian centred at θ₁ or at θ₁ + θ₂. Swapping the two fits the data just as
        well.
    source: Dai, He, Dai, Song 2016, section 6
    question: Two explanations fit equally well. Which method finds both?
    """

    name = "mixture"
    kernel_groups = ("mixture",)
    compiled = mixture.mixture_log_likelihood, mixture.mixture_grad_log_likelihood, mixture.mixture_model
    row_density = True

    def build(self) -> None:
        """Draw the data from `default_rng(data_seed)` alone, or take a table's."""
        o, self.dim, self.parameter_names = self.options, 2, ("θ₁", "θ₂")
        self.prior_sd, self.numbers = o.prior_sd, (float(o.sigma_x), float(o.p))
        if o.data == options.SIMULATED:
            self.data = self._simulate(np.random.default_rng(o.data_seed), np.array([o.theta1, o.theta2]), o.num_data)
            self.prior_frame(o.theta1, o.theta2, o.theta1 + o.theta2)
        else:
            self.data = options.divided_table(o.data, o.form, o.num_data, o.data_seed)[0][:, 0]
            self.prior_frame(*np.quantile(self.data, [0.05, 0.95]))

    def _handles(self) -> tuple[Handle, ...]:
        """Both modes of the likelihood, which are one another's mirror images where p is 0.5."""
        o = self.options
        return (
            Handle("first mode", (o.theta1, o.theta2), lambda x, y: {"theta1": x, "theta2": y}),
            Handle("second mode", (o.theta1 + o.theta2, -o.theta2), lambda x, y: {"theta1": x + y, "theta2": -y}),
        )

    def make_reference(self) -> GridExact:
        """By a grid sum: both means lie between the data and 0, up to the prior's reach."""
        reach = REACH * self.prior_sd
        if self.options.data != options.SIMULATED:
            reach += 2 * float(np.abs(self.data_rows).max())
        return GridExact(self.log_joint, ((-reach, reach),) * 2)

    def _simulate(self, rng: Rng, theta: Array, n: int) -> Array:
        second = rng.random(n) >= self.options.p
        return theta[0] + theta[1] * second + self.options.sigma_x * rng.standard_normal(n)

    def _gibbs_sweep(self, rng: Rng, theta: Array, data: Array) -> Array:
        """The labels given theta, then both coordinates of theta at once given the labels."""
        uniforms, normals = rng.random(len(data)), rng.standard_normal(2)
        return mixture_sweep(theta, data, self.options.sigma_x, self.options.p, self.prior_sd, uniforms, normals)


# Mixtures of Gaussians as densities without data, plain and bent along a parabola.

VIEW_SDS = 3.0  # of a component
ARRANGEMENTS = {
    "random": "at random in a cube",
    "line": "on a line, equally far apart",
    "diagonal": "on the diagonal, equally far apart",
}


class GmmOptions(options.StartOptions):
    """Options of `gmm`.

    dim: Number of coordinates.
    num_components: How many Gaussians are mixed; a single one at spread 0 is N(0, v I).
    arrangement: Means at random, along the first axis, or along the diagonal. At random: uniform between plus and minus
        the spread in every coordinate, by the target seed. Along a line: from minus to plus the spread; two of them
        are two modes far apart.
    spread: How far from 0 the means lie at most, in every coordinate.
    variance: Variance of every component in every coordinate.
    weights: All components alike, or uniform over all sets of weights, by the target seed.
    """

    dim = Whole(2, (1, 100), label="Dimension d")
    num_components = Whole(10, (1, 50), label="Components K")
    arrangement = Choice("random", ARRANGEMENTS, "Means")
    spread = Real(3.0, (0, 50), (0, 10), "Spread of the means", "units of x")
    variance = Real(0.5, (0.01, 100), (0.05, 10), "Variance v", "(units of x)²", log=True)
    weights = Choice("equal", {"equal": "all equal", "random": "at random"}, "Weights")
    target_seed = options.target_seed(7, "the means and the weights, where they are random")


class Gmm(InBlocks, WithoutData[GmmOptions]):
    """p(x) = sum_k w_k N(x | mu_k, v I), normalised: log Z = 0. A run starts from q0 = N(q0_mean, q0_sd^2 I).

    title: Gaussian mixture (any dimension)
    about: A density of several round bumps whose every integral is known: any error can be measured.
    source: Han 2019 (thesis): mixtures of ten components in 1, 2 and 25 dimensions
    question: From one start, which method finds all modes of the mixture?
    """

    name = "gmm"
    kernel_groups = ("gaussian_mixture",)

    def build(self) -> None:
        """Draw means and weights from `default_rng(target_seed)` alone."""
        o, self.dim = self.options, self.options.dim
        self.parameter_names = numbered("x", o.dim)
        self.blocks = coordinate_blocks(self.parameter_names)
        rng = np.random.default_rng(o.target_seed)
        self.means = self._means(rng)
        self.weights = np.full(o.num_components, 1 / o.num_components)
        if o.weights == "random":
            self.weights = rng.dirichlet(np.ones(o.num_components))
        self.log_weights = np.log(np.maximum(self.weights, np.finfo(float).tiny))
        reach = VIEW_SDS * o.variance**0.5
        self.start_from(self.means.min(axis=0) - reach, self.means.max(axis=0) + reach)

    def _means(self, rng: Rng) -> Array:
        o = self.options
        if o.arrangement == "random":
            return rng.uniform(-o.spread, o.spread, (o.num_components, o.dim))
        means = np.zeros((o.num_components, o.dim))
        moved = slice(0, 1 if o.arrangement == "line" else o.dim)
        if o.num_components > 1:
            means[:, moved] = np.linspace(-o.spread, o.spread, o.num_components)[:, None]
        return means

    def make_reference(self) -> GaussianMixtureExact:
        """In closed form."""
        return GaussianMixtureExact(self.weights, self.means, self.options.variance * np.eye(self.dim))

    def _log_p(self, theta: Array) -> Array:
        return mixture.gaussian_mixture_log_density(theta, self.means, self.log_weights, self.options.variance)

    def _grad_log_p(self, theta: Array) -> Array:
        return mixture.gaussian_mixture_grad_log_density(theta, self.means, self.log_weights, self.options.variance)


# A Gaussian mixture bent along a parabola: a banana whose density, moments and draws are known exactly.

MEANS = np.array([[-1.5, -1.0], [0.0, 1.0], [1.5, -1.0]])  # of z
SHIFT = -2.0  # of x_2
WARPED_GMM_VIEW_SDS, BOX_SDS = 3.0, 8.0  # of a component of z
NUM_CELLS = 100_000  # that hold the exact density: where it is bent most it is a thin ridge


class WarpedGmmOptions(options.StartOptions):
    """Options of `warped_gmm`.

    curvature: How much the mixture is bent; 0 gives three round components.
    variance: Variance of every component before it is bent.
    """

    curvature = Real(0.5, (-2, 2), label="Curvature c", unit="1 / units of x")
    variance = Real(0.3, (0.05, 2), log=True, label="Variance v", unit="(units of x)²")
    q0_mean, q0_sd = options.Q0_MEAN, options.Q0_SD.at(1.73)


class WarpedGmm(WithoutData[WarpedGmmOptions]):
    """x = (z_1, c z_1^2 + z_2 - 2), z from three Gaussians N(mu_k, v I) of equal weight; normalised: log Z = 0.

    The map has determinant 1: p(x) is the mixture's density at z(x) = (x_1, x_2 - c x_1^2 + 2).

    title: Warped Gaussian mixture (2-D)
    about: Three round bumps bent along a parabola: a banana with bumps whose every integral is known.
    source: Han 2019 (thesis): the warp; its parameters are ours
    question: Which method finds all three bent modes?
    """

    name = "warped_gmm"
    kernel_groups = ("gaussian_mixture",)

    def build(self) -> None:
        """Nothing is drawn."""
        o, self.dim, self.parameter_names = self.options, 2, ("x₁", "x₂")
        self.means, self.log_weights = MEANS, np.full(len(MEANS), -np.log(len(MEANS)))
        self.start_from(*_corners(o.curvature, WARPED_GMM_VIEW_SDS * o.variance**0.5))

    def make_reference(self) -> WarpedExact:
        """Moments and draws in closed form, boxes by a grid."""
        return WarpedExact(self)

    def _log_p(self, theta: Array) -> Array:
        return mixture.gaussian_mixture_log_density(self._unbent(theta), MEANS, self.log_weights, self.options.variance)

    def _grad_log_p(self, theta: Array) -> Array:
        """(g_1 - 2 c x_1 g_2, g_2) with g the mixture's gradient at z(x)."""
        z, o = self._unbent(theta), self.options
        found = mixture.gaussian_mixture_grad_log_density(z, MEANS, self.log_weights, o.variance)
        found[:, 0] -= 2 * o.curvature * theta[:, 0] * found[:, 1]
        return found

    def _unbent(self, theta: Array) -> Array:
        """z(x), (m, 2)."""
        return np.stack([theta[:, 0], theta[:, 1] - self.options.curvature * theta[:, 0] ** 2 - SHIFT], axis=1)


class WarpedExact(GridExact):
    """The exact density of `warped_gmm`: as on a grid, but with moments and draws in closed form."""

    def __init__(self, target: WarpedGmm) -> None:
        self._bend, self._v = target.options.curvature, target.options.variance
        low, high = _corners(self._bend, BOX_SDS * self._v**0.5)
        super().__init__(target.log_joint, tuple(zip(low.tolist(), high.tolist(), strict=True)), NUM_CELLS)
        self.log_z = 0.0
        self.mean, self.cov = self._moments()

    def sample(self, rng: Rng, n: int) -> Array:
        """n iid draws (n, 2): a component, a draw of it, the warp."""
        z = MEANS[rng.integers(len(MEANS), size=n)] + np.sqrt(self._v) * rng.standard_normal((n, 2))
        return np.stack([z[:, 0], self._bend * z[:, 0] ** 2 + z[:, 1] + SHIFT], axis=1)

    def _moments(self) -> tuple[Array, Array]:
        """Mean (2,) and covariance (2, 2), with Var z^2 = 4 mu^2 v + 2 v^2 and Cov(z, z^2) = 2 mu v of a Gaussian."""
        first, bend, v = MEANS[:, 0], self._bend, self._v
        centres = np.stack([first, bend * (first**2 + v) + MEANS[:, 1] + SHIFT], axis=1)
        mean = centres.mean(axis=0)
        cov = (centres - mean).T @ (centres - mean) / len(MEANS)
        cov += [[v, (2 * bend * v * first).mean()], [(2 * bend * v * first).mean(), v]]
        cov[1, 1] += (bend**2 * (4 * first**2 * v + 2 * v**2)).mean()
        return mean, cov


def _corners(bend: float, reach: float) -> tuple[Array, Array]:
    """Lowest and highest x (2,) of points z within `reach` of the means in each coordinate."""
    low, high = MEANS.min(axis=0) - reach, MEANS.max(axis=0) + reach
    lifts = 0.0, bend * max(low[0] ** 2, high[0] ** 2)
    return low + [0.0, min(lifts) + SHIFT], high + [0.0, max(lifts) + SHIFT]


# A Gauss-Bernoulli restricted Boltzmann machine: a mixture of 2^k Gaussians that only enumeration can sum.

MAX_ENUMERATED = 14  # hidden units: 2^14 components


class RbmOptions(options.StartOptions):
    """Options of `rbm`.

    dim: Number of visible units, which are real numbers.
    num_hidden: Units that are -1 or +1 and summed out; 14 at most, because the exact answer visits all their states.
    weight: Every weight between a visible and a hidden unit is plus or minus this, at random.
    """

    dim = Whole(5, (1, 100), label="Dimension d")
    num_hidden = Whole(10, (1, 100), (1, MAX_ENUMERATED), "Hidden units")
    weight = Real(0.5, (0, 2), label="Size of the weights")
    target_seed = options.target_seed(0, "the weights and the biases")

    def check(self) -> None:
        """At most 14 hidden units."""
        if self.num_hidden > MAX_ENUMERATED:
            words = f"is too large for enumeration: log Z is a sum over all 2^{self.num_hidden} states"
            raise self.specs()["num_hidden"].refusal(f"{words} of the hidden units; give at most {MAX_ENUMERATED}")


class Rbm(WithoutData[RbmOptions]):
    """p(x) proportional to sum over h in {-1, 1}^k of exp(x'Bh + b'x + c'h - |x|^2 / 2).

    Summed over h, log p = b'x - |x|^2 / 2 + sum_j log 2 cosh(c_j + (B'x)_j). Completing the square for each h instead,
    p is a mixture of 2^k Gaussians N(b + Bh, I) and log Z = logsumexp_h[c'h + |b + Bh|^2 / 2] + (d / 2) log 2 pi.
    The entries of B are +-weight, b and c are N(0, 1), all from the target seed.

    title: Gauss-Bernoulli RBM
    about: Real units pulled one way or the other by hidden signs: a mixture of a thousand Gaussians in disguise.
    source: Han 2019 (thesis); the model: Welling, Rosen-Zvi, Hinton 2005
    """

    name = "rbm"
    kernel_groups = ("boltzmann", "gaussian_mixture")

    def build(self) -> None:
        """Draw B, b and c from `default_rng(target_seed)` alone."""
        o, self.dim = self.options, self.options.dim
        self.parameter_names = numbered("x", o.dim)
        rng = np.random.default_rng(o.target_seed)
        self.coupling = o.weight * (2.0 * rng.integers(2, size=(o.dim, o.num_hidden)) - 1.0)  # B
        self.visible_bias, self.hidden_bias = rng.standard_normal(o.dim), rng.standard_normal(o.num_hidden)
        reach = np.abs(self.coupling).sum(axis=1) + VIEW_SDS
        self.start_from(self.visible_bias - reach, self.visible_bias + reach)

    def make_reference(self) -> GaussianMixtureExact:
        """By a visit of every state of the hidden units."""
        k = self.options.num_hidden
        states = states_of(Discrete((-1, 1), k), np.arange(2**k))
        means = self.visible_bias + np.einsum("sk,dk->sd", states, self.coupling)
        heights = (states * self.hidden_bias).sum(axis=1) + 0.5 * (means**2).sum(axis=1)
        weights = np.exp(heights - heights.max())
        log_z = float(heights.max() + np.log(weights.sum()) + 0.5 * self.dim * np.log(2 * np.pi))
        return GaussianMixtureExact(weights, means, np.eye(self.dim), log_z, lambda x: self._log_p(x) - log_z)

    def _inputs(self, theta: Array) -> Array:
        """c + B'x, what the hidden units receive, (m, d) -> (m, k); not by BLAS, whose last bits depend on threads."""
        return self.hidden_bias + np.einsum("md,dk->mk", theta, self.coupling)

    def _log_p(self, theta: Array) -> Array:
        inputs = self._inputs(theta)
        visible = (theta * self.visible_bias).sum(axis=1) - 0.5 * (theta**2).sum(axis=1)
        return visible + np.logaddexp(inputs, -inputs).sum(axis=1)

    def _grad_log_p(self, theta: Array) -> Array:
        """b - x + B tanh(c + B'x)."""
        return self.visible_bias - theta + np.einsum("mk,dk->md", np.tanh(self._inputs(theta)), self.coupling)

    def _gibbs_sweep(self, rng: Rng, theta: Array, data: Array) -> Array:
        """P(h_j = 1 | x) = 1 / (1 + exp(-2 (c_j + (B'x)_j))), then x ~ N(b + Bh, I)."""
        inputs = self._inputs(theta[None])[0]
        hidden = np.where(rng.random(len(inputs)) < 0.5 * (1 + np.tanh(inputs)), 1.0, -1.0)
        return self.visible_bias + (self.coupling * hidden).sum(axis=1) + rng.standard_normal(self.dim)
