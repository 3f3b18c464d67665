"""A mixture of Gaussians as a density without data: every answer is known, in any dimension."""

from __future__ import annotations

import numpy as np

from pmdviz.kernels.likelihoods.gaussian_mixture import (
    gaussian_mixture_grad_log_density,
    gaussian_mixture_log_density,
)
from pmdviz.knobs import Choice, Knobs, Real, Whole
from pmdviz.targets.blocks import InBlocks, coordinate_blocks
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
