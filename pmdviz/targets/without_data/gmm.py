"""Mixtures of Gaussians as densities without data, plain and bent along a parabola."""

from __future__ import annotations

import numpy as np

from pmdviz.kernels.likelihoods.gaussian_mixture import gaussian_mixture_grad_log_density, gaussian_mixture_log_density
from pmdviz.knobs import Choice, Knobs, Real, Whole
from pmdviz.targets.blocks import InBlocks, coordinate_blocks
from pmdviz.targets.reference.exact import GridExact
from pmdviz.targets.reference.gaussian_mixture import GaussianMixtureExact
from pmdviz.targets.space import numbered
from pmdviz.targets.without_data.base import WithoutData, q0_mean, q0_sd, target_seed

VIEW_SDS = 3.0  # of a component


class GmmOptions(Knobs):
    """Options of `gmm`."""

    kind_words = "option of target 'gmm':"

    dim = Whole(2, bounds=(1, 100), label="Dimension d", acts="restart", doc="Number of coordinates.")
    num_components = Whole(
        10,
        bounds=(1, 50),
        label="Components K",
        acts="restart",
        doc="How many Gaussians are mixed; a single one at spread 0 is N(0, v I).",
    )
    arrangement = Choice(
        "random",
        choices={
            "random": "at random in a cube",
            "line": "on a line, equally far apart",
            "diagonal": "on the diagonal, equally far apart",
        },
        label="Means",
        acts="restart",
        doc="Uniform between plus and minus the spread in every coordinate, by the target seed; or along the first "
        "axis, or the diagonal, from minus to plus the spread, where two are two modes far apart.",
    )
    spread = Real(
        3.0,
        bounds=(0, 50),
        softbounds=(0, 10),
        label="Spread of the means",
        unit="units of x",
        acts="restart",
        doc="How far from 0 the means lie at most, in every coordinate.",
    )
    variance = Real(
        0.5,
        bounds=(0.01, 100),
        softbounds=(0.05, 10),
        log=True,
        label="Variance v",
        unit="(units of x)²",
        acts="restart",
        doc="Variance of every component in every coordinate.",
    )
    weights = Choice(
        "equal",
        choices={"equal": "all equal", "random": "at random"},
        label="Weights",
        acts="restart",
        doc="All components alike, or uniform over all sets of weights, by the target seed.",
    )
    q0_mean = q0_mean()
    q0_sd = q0_sd(2.0)
    target_seed = target_seed(7, "the means and the weights, where they are random")


class Gmm(InBlocks, WithoutData):
    """p(x) = sum_k w_k N(x | mu_k, v I), normalised: log Z = 0. A run starts from q0 = N(q0_mean, q0_sd^2 I)."""

    name = "gmm"
    title = "Gaussian mixture (any dimension)"
    about = "A density of several round bumps whose every integral is known, so that any error can be measured."
    source = "Han 2019 (thesis): mixtures of ten components in 1, 2 and 25 dimensions"
    Options = GmmOptions
    kernel_groups = ("gaussian_mixture",)
    declared = frozenset({"gradient", "blocks"})

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
        self._log_weights = np.log(np.maximum(self.weights, np.finfo(float).tiny))
        reach = VIEW_SDS * o.variance**0.5
        self.start_from(o.q0_mean, o.q0_sd, self.means.min(axis=0) - reach, self.means.max(axis=0) + reach)

    def _means(self, rng: np.random.Generator) -> np.ndarray:
        o = self.options
        if o.arrangement == "random":
            return rng.uniform(-o.spread, o.spread, (o.num_components, o.dim))
        means = np.zeros((o.num_components, o.dim))
        moved = slice(0, 1 if o.arrangement == "line" else o.dim)
        if o.num_components > 1:
            means[:, moved] = np.linspace(-o.spread, o.spread, o.num_components)[:, None]
        return means

    def make_exact(self) -> GaussianMixtureExact:
        """In closed form."""
        return GaussianMixtureExact(self.weights, self.means, self.options.variance * np.eye(self.dim))

    def _log_p(self, theta: np.ndarray) -> np.ndarray:
        return gaussian_mixture_log_density(theta, self.means, self._log_weights, self.options.variance)

    def _grad_log_p(self, theta: np.ndarray) -> np.ndarray:
        return gaussian_mixture_grad_log_density(theta, self.means, self._log_weights, self.options.variance)


# A Gaussian mixture bent along a parabola: a banana whose density, moments and draws are known exactly.

MEANS = np.array([[-1.5, -1.0], [0.0, 1.0], [1.5, -1.0]])  # of z
SHIFT = -2.0  # of x_2
WARPED_GMM_VIEW_SDS, BOX_SDS = 3.0, 8.0  # of a component of z
NUM_CELLS = 100_000  # that hold the exact density: where it is bent most it is a thin ridge


class WarpedGmmOptions(Knobs):
    """Options of `warped_gmm`."""

    kind_words = "option of target 'warped_gmm':"

    curvature = Real(
        0.5,
        bounds=(-2, 2),
        label="Curvature c",
        unit="1 / units of x",
        acts="restart",
        doc="How much the mixture is bent; 0 gives three round components.",
    )
    variance = Real(
        0.3,
        bounds=(0.05, 2),
        log=True,
        label="Variance v",
        unit="(units of x)²",
        acts="restart",
        doc="Variance of every component before it is bent.",
    )
    q0_mean = q0_mean()
    q0_sd = q0_sd(1.73)


class WarpedGmm(WithoutData):
    """x = (z_1, c z_1^2 + z_2 - 2), z from three Gaussians N(mu_k, v I) of equal weight; normalised: log Z = 0.

    The map has determinant 1, so that p(x) is the mixture's density at z(x) = (x_1, x_2 - c x_1^2 + 2).
    """

    name = "warped_gmm"
    title = "Warped Gaussian mixture (2-D)"
    about = "Three round bumps bent along a parabola: a banana with bumps whose every integral is known."
    source = "Han 2019 (thesis): the warp; its parameters are ours"
    Options = WarpedGmmOptions
    kernel_groups = ("gaussian_mixture",)

    def build(self) -> None:
        """Nothing is drawn."""
        o, self.dim, self.parameter_names = self.options, 2, ("x₁", "x₂")
        self._log_weights = np.full(len(MEANS), -np.log(len(MEANS)))
        self.start_from(o.q0_mean, o.q0_sd, *_corners(o.curvature, WARPED_GMM_VIEW_SDS * o.variance**0.5))

    def make_exact(self) -> WarpedExact:
        """Moments and draws in closed form, boxes by a grid."""
        return WarpedExact(self)

    def _log_p(self, theta: np.ndarray) -> np.ndarray:
        return gaussian_mixture_log_density(self._unbent(theta), MEANS, self._log_weights, self.options.variance)

    def _grad_log_p(self, theta: np.ndarray) -> np.ndarray:
        """(g_1 - 2 c x_1 g_2, g_2) with g the mixture's gradient at z(x)."""
        found = gaussian_mixture_grad_log_density(self._unbent(theta), MEANS, self._log_weights, self.options.variance)
        found[:, 0] -= 2 * self.options.curvature * theta[:, 0] * found[:, 1]
        return found

    def _unbent(self, theta: np.ndarray) -> np.ndarray:
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
        for array in (self.mean, self.cov):
            array.flags.writeable = False

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n iid draws (n, 2): a component, a draw of it, the warp."""
        z = MEANS[rng.integers(len(MEANS), size=n)] + np.sqrt(self._v) * rng.standard_normal((n, 2))
        return np.stack([z[:, 0], self._bend * z[:, 0] ** 2 + z[:, 1] + SHIFT], axis=1)

    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (2,) and covariance (2, 2), with Var z^2 = 4 mu^2 v + 2 v^2 and Cov(z, z^2) = 2 mu v of a Gaussian."""
        first, bend, v = MEANS[:, 0], self._bend, self._v
        centres = np.stack([first, bend * (first**2 + v) + MEANS[:, 1] + SHIFT], axis=1)
        mean = centres.mean(axis=0)
        cov = (centres - mean).T @ (centres - mean) / len(MEANS)
        cov += [[v, (2 * bend * v * first).mean()], [(2 * bend * v * first).mean(), v]]
        cov[1, 1] += (bend**2 * (4 * first**2 * v + 2 * v**2)).mean()
        return mean, cov


def _corners(bend: float, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest x (2,) of points z within `reach` of the means in each coordinate."""
    low, high = MEANS.min(axis=0) - reach, MEANS.max(axis=0) + reach
    lifts = 0.0, bend * max(low[0] ** 2, high[0] ** 2)
    return low + [0.0, min(lifts) + SHIFT], high + [0.0, max(lifts) + SHIFT]
