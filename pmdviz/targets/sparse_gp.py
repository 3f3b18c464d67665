"""A Gaussian process seen through inducing inputs: the sparse approximation of a regression in one dimension."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from pmdviz.densities.density import GaussianMixture
from pmdviz.errors import InputError
from pmdviz.kernels.likelihoods.linear import linear_log_likelihood
from pmdviz.kernels.sparse_gp import covariances, factorised, predicted, tilted
from pmdviz.knobs import Choice, Knobs, Real, Whole
from pmdviz.targets.base import GaussianPrior, Target
from pmdviz.targets.conditional import Conditionals
from pmdviz.targets.options import data_points, data_seed
from pmdviz.targets.reference.exact import GaussianExact
from pmdviz.targets.space import numbered

HALF, NOISE = 0.5, 0.1  # x is uniform in [-HALF, HALF]; the sd of y around the function
NUM_TEST = 200
LARGEST_EXACT = 4096  # data of which the exact process, whose time grows like N^3, is computed
MEDIAN_OF = 1000  # inputs between which the median distance is taken


def truth(x: np.ndarray) -> np.ndarray:
    """f(x) = 3 x^2 + (sin(3.53 pi x) + cos(7.7 pi x)) exp(-1.6 pi |x|)."""
    return 3 * x**2 + (np.sin(3.53 * np.pi * x) + np.cos(7.7 * np.pi * x)) * np.exp(-1.6 * np.pi * np.abs(x))


class SparseGPOptions(Knobs):
    """Options of `sparse_gp`."""

    kind_words = "option of target 'sparse_gp':"

    dim = Whole(
        128,
        bounds=(1, 512),
        label="Inducing inputs M",
        acts="restart",
        doc="Number of inducing inputs: equally spaced, or in each particle of structured PMD drawn from the data.",
    )
    num_data = data_points(2048, most=20_000)
    approximation = Choice(
        "fitc",
        choices={"fitc": "FITC", "dtc": "DTC"},
        label="Sparse approximation",
        acts="restart",
        doc="FITC: the variance that the inducing inputs leave open is added to each data point's noise. DTC: it is "
        "ignored.",
    )
    width = Real(
        0.1,
        bounds=(0.01, 10),
        log=True,
        label="Kernel width",
        unit="median distances",
        acts="restart",
        doc="Width of the kernel exp(-(x - x')²/(2 width²)), relative to the median distance between inputs.",
    )
    noise_variance = Real(
        0.001,
        bounds=(1e-5, 10),
        log=True,
        label="Noise variance",
        unit="y²",
        acts="restart",
        doc="Noise variance that the model assumes; the data have 0.01.",
    )
    data_seed = data_seed()


class SparseGP(GaussianPrior, Target):
    """y_i ~ N(f(x_i), noise), f a Gaussian process with mean 0 and kernel exp(-(x - x')^2 / (2 width^2)).

    f at equally spaced inputs Z is L θ with K_ZZ = L L' and θ ~ N(0, I). Given θ a row is y ~ N(a'θ, noise + s) with
    a = L^-1 k(Z, x) and s = 1 - a'a (FITC) or 0 (DTC), rows independent: a regression in closed form. Structured PMD
    has sets of inducing inputs of its own and gives a density of the same θ. Held-out rows hold f without noise.
    """

    name = "sparse_gp"
    title = "Sparse Gaussian process (1-D regression)"
    about = "A smooth function is seen with noise at many inputs; a few inducing inputs stand for all of them."
    source = "Dai, He, Dai, Song 2016, appendices F.1 and H.3.1; FITC and DTC: Quiñonero-Candela, Rasmussen 2005"
    Options = SparseGPOptions
    declared = frozenset({"predictive", "conditional_family"})
    predicts = "number"
    input_names = ("x",)

    def build(self) -> None:
        """Draw inputs and y from `default_rng(data_seed)` alone."""
        o = self.options
        rng = np.random.default_rng(o.data_seed)
        x = rng.uniform(-HALF, HALF, o.num_data)
        self.data = np.column_stack([x, truth(x) + NOISE * rng.standard_normal(o.num_data)])
        at = np.linspace(-HALF, HALF, NUM_TEST)
        self.test_data = np.column_stack([at, truth(at)])
        self.points = np.linspace(-HALF, HALF, o.dim)
        self.kernel_width = o.width * _median_distance(x[:MEDIAN_OF])
        self.dim, self.parameter_names = o.dim, numbered("v", o.dim)
        self._prior_frame(0.0)
        self._factor = factorised(self._scaled(self.points)[None])[0]
        self._inverse = np.linalg.inv(self._factor)

    def make_exact(self) -> GaussianExact:
        """In closed form: the posterior of θ under the sparse model."""
        start = self._prior_at(self._scaled(self.points)[None], self._factor[None])
        done, base = self._tilted(start, self.data, 0.0, 1.0)
        precision, linear = np.tril(done.natural[0, :, :-1]), done.natural[0, :, -1]
        inverse = np.linalg.inv(np.linalg.cholesky(precision + np.tril(precision, -1).T))
        cov = inverse.T @ inverse
        return GaussianExact(cov @ linear, cov, float(done.partitions[0] + base[0]))

    def inducing_inputs(self, particle: np.ndarray) -> np.ndarray:
        """In units of x, of a particle of structured PMD."""
        return particle * self.kernel_width

    @cached_property
    def exact_process(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Mean and sd of f at the points given all data without inducing inputs; None of more than 4,096 data."""
        if self.num_data > LARGEST_EXACT:
            return None
        x, at = self._scaled(self.data[:, 0]), self._scaled(self.points)
        factor = np.linalg.cholesky(covariances(x, x) + self.options.noise_variance * np.eye(self.num_data))
        solved = np.linalg.solve(factor, np.column_stack([covariances(x, at), self.data[:, 1]]))
        across, mean = solved[:, :-1], solved[:, :-1].T @ solved[:, -1]
        return mean, np.sqrt(np.maximum(1 - (across**2).sum(axis=0), 0))

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        rows, variance = self._regression(batch)
        return linear_log_likelihood(theta, rows, 1.0) - 0.5 * np.log(variance).sum()

    def values(self, theta: np.ndarray) -> np.ndarray:
        """The functions at the points, (m, d) -> (m, d)."""
        return np.einsum("ij,nj->ni", self._factor, theta)

    def row_mean(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """E(y | x, theta), (m, d) and (n, 2) -> (m, n)."""
        return np.einsum("md,nd->mn", theta, self._features(rows)[0])

    def row_log_likelihood(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """log p(y | x, theta) of every row, (m, d) and (n, 2) -> (m, n), in nats."""
        features, variance = self._features(rows)
        residual = rows[:, 1] - np.einsum("md,nd->mn", theta, features)
        return -0.5 * residual**2 / variance - 0.5 * np.log(2 * np.pi * variance)

    def inputs(self, rows: np.ndarray) -> np.ndarray:
        """x of every row, (n, 1)."""
        return rows[:, :1]

    def rows_at(self, inputs: np.ndarray) -> np.ndarray:
        """Rows with these inputs (n, 1)."""
        return np.column_stack([inputs, np.zeros(len(inputs))])

    def _conditionals(self, rng: np.random.Generator, m: int) -> Conditionals:
        """Inducing inputs drawn from the data without replacement, and the prior of the function at them."""
        number = min(self.dim, self.num_data)
        inputs = np.stack([rng.permutation(self.num_data)[:number] for _ in range(m)])
        inputs = self._scaled(self.data[:, 0][inputs])
        return self._prior_at(inputs, factorised(inputs))

    def _prior_at(self, inputs: np.ndarray, factors: np.ndarray) -> Conditionals:
        m, number = inputs.shape[:2]
        natural = np.zeros((m, number, number + 1))
        natural[:, :, :number] = np.eye(number)
        return Conditionals(inputs[:, :, 0], factors, natural, np.zeros(m), np.zeros(m))

    def _tilted(
        self, given: Conditionals, batch: np.ndarray, kept: float, power: float
    ) -> tuple[Conditionals, np.ndarray]:
        inputs, o = given.particles[:, :, None], self.options
        rows = np.column_stack([self._scaled(batch[:, 0]), batch[:, 1]])
        found = tilted(
            inputs, given.constants, given.natural, rows, kept, power, o.noise_variance, o.approximation == "fitc"
        )
        return given._replace(natural=found[0], partitions=found[1]), found[2]

    def _conditional_density(self, given: Conditionals, log_weights: np.ndarray) -> GaussianMixture:
        inputs = given.particles[:, :, None]
        means, choleskys = predicted(inputs, given.constants, given.natural, self._scaled(self.points))
        return GaussianMixture(means @ self._inverse.T, log_weights, np.tril(self._inverse @ choleskys))

    def _scaled(self, x: np.ndarray) -> np.ndarray:
        """Inputs (...,) in kernel widths, (..., 1)."""
        return x[..., None] / self.kernel_width

    def _features(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """L^-1 k(Z, x) of every row (n, d), and the variance of y given theta (n,)."""
        o, across = self.options, covariances(self._scaled(self.points), self._scaled(rows[:, 0]))
        features = (self._inverse @ across).T
        left = np.maximum(1 - (features**2).sum(axis=1), 0) if o.approximation == "fitc" else 0.0
        return features, o.noise_variance + left * np.ones(len(rows))

    def _regression(self, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of a linear regression with noise 1, and the variances that they were divided by."""
        features, variance = self._features(batch)
        return np.column_stack([features, batch[:, 1]]) / np.sqrt(variance)[:, None], variance


def _median_distance(x: np.ndarray) -> float:
    """Between different inputs; 1 of a single one."""
    distances = np.abs(x[:, None] - x)[np.triu_indices(len(x), 1)]
    found = float(np.median(distances)) if len(distances) else 1.0
    if found == 0:
        raise InputError("half of the inputs of the Gaussian process coincide: the kernel has no width")
    return found
