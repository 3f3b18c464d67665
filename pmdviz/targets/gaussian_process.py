"""What Gaussian processes with inducing inputs have in common: the sparse model, and the exact process beside it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from pmdviz.densities.density import GaussianMixture
from pmdviz.errors import InputError
from pmdviz.kernels.likelihoods.linear import linear_log_likelihood
from pmdviz.kernels.sparse_gp import covariances, factorised, predicted, tilted, whitened
from pmdviz.knobs import Choice, Knobs, Real
from pmdviz.targets.base import GaussianPrior, Target
from pmdviz.targets.blocks import Conditionals
from pmdviz.targets.reference.exact import GaussianExact
from pmdviz.targets.space import numbered

LARGEST_EXACT = 4096  # data of which the exact process, whose time grows like N^3, is computed
MEDIAN_OF = 1000  # inputs between which the median distance is taken


def approximation() -> Choice:
    """The option `approximation`."""
    return Choice(
        "fitc",
        choices={"fitc": "FITC", "dtc": "DTC"},
        label="Sparse approximation",
        acts="restart",
        doc="FITC: the variance that the inducing inputs leave open is added to each data point's noise. DTC: it is "
        "ignored.",
    )


def width(default: float) -> Real:
    """The option `width`, for a target whose own default it is."""
    return Real(
        default,
        bounds=(0.01, 10),
        log=True,
        label="Kernel width",
        unit="median distances",
        acts="restart",
        doc="Width of the kernel exp(-|x - x'|²/(2 width²)), relative to the median distance between inputs.",
    )


def noise_variance(default: float, of_data: str) -> Real:
    """The option `noise_variance`; `of_data`: the same of the data, in words."""
    return Real(
        default,
        bounds=(1e-5, 10),
        log=True,
        label="Noise variance",
        unit="y²",
        acts="restart",
        doc=f"Noise variance that the model assumes; {of_data}.",
    )


class GaussianProcess(GaussianPrior, Target):
    """y_i ~ N(f(x_i), noise), f a Gaussian process with mean 0 and kernel exp(-|x - x'|^2 / (2 width^2)).

    f at M fixed inputs Z is L θ with K_ZZ = L L' and θ ~ N(0, I). Given θ a row is y ~ N(a'θ, noise + s) with
    a = L^-1 k(Z, x) and s = 1 - a'a (FITC) or 0 (DTC), rows independent: a regression in closed form. Methods with
    sets of inducing inputs of their own give a density of the same θ.

    A subclass sets `data`, `test_data` (rows of k inputs and y) and calls `_place`; its options have `dim`,
    `approximation` and `noise_variance`.
    """

    declared = frozenset({"predictive", "conditional_family", "inducing_inputs"})
    predicts = "number"
    options: Knobs

    def _place(self, points: np.ndarray, kernel_width: float) -> None:
        """Θ is the process at these points (M, k)."""
        self.points, self.kernel_width, self.dim = points, kernel_width, len(points)
        self.parameter_names = numbered("v", self.dim)
        self.prior_frame(0.0)
        self._factor = factorised(self._scaled(points)[None])[0]

    def make_exact(self) -> GaussianExact:
        """In closed form: the posterior of θ under the sparse model."""
        start = self._prior_at(self._scaled(self.points)[None], self._factor[None])
        done, base = self._multiplied(start, self.data, 0.0, 1.0, self.options.approximation == "fitc")
        precision, linear = np.tril(done.natural[0, :, :-1]), done.natural[0, :, -1]
        inverse = np.linalg.inv(np.linalg.cholesky(precision + np.tril(precision, -1).T))
        cov = inverse.T @ inverse
        return GaussianExact(cov @ linear, cov, float(done.partitions[0] + base[0]))

    def inducing_inputs(self, particle: np.ndarray) -> np.ndarray:
        """Of a particle (p,), as (M, k) in units of x."""
        return particle.reshape(-1, self.points.shape[1]) * self.kernel_width

    @property
    def has_exact_process(self) -> bool:
        """Whether the data are few enough for the exact process."""
        return self.num_data <= LARGEST_EXACT

    def process_at(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Mean and sd of f at inputs (n, k) given all data, without inducing inputs; None of more than 4,096 data."""
        if not self.has_exact_process:
            return None
        x, at = self._scaled(self.data[:, :-1]), self._scaled(inputs)
        both, across = covariances(x, x), covariances(x, at)
        both[np.diag_indices(len(x))] += self.options.noise_variance
        solved = np.linalg.solve(both, np.column_stack([across, self.data[:, -1]]))
        return across.T @ solved[:, -1], np.sqrt(np.maximum(1 - (across * solved[:, :-1]).sum(axis=0), 0))

    @cached_property
    def exact_process(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The same at the points."""
        return self.process_at(self.points)

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        features, variance = self._features(batch)
        scaled = np.column_stack([features, batch[:, -1]]) / np.sqrt(variance)[:, None]
        return linear_log_likelihood(theta, scaled, 1.0) - 0.5 * np.log(variance).sum()

    def values(self, theta: np.ndarray) -> np.ndarray:
        """The functions at the points, (m, d) -> (m, d)."""
        return np.einsum("ij,nj->ni", self._factor, theta)

    def row_mean(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """E(y | x, theta), (m, d) and (n, k + 1) -> (m, n)."""
        return np.einsum("md,nd->mn", theta, self._features(rows)[0])

    def row_log_likelihood(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """log p(y | x, theta) of every row, (m, d) and (n, k + 1) -> (m, n), in nats."""
        features, variance = self._features(rows)
        residual = rows[:, -1] - np.einsum("md,nd->mn", theta, features)
        return -0.5 * residual**2 / variance - 0.5 * np.log(2 * np.pi * variance)

    def inputs(self, rows: np.ndarray) -> np.ndarray:
        """x of every row, (n, k)."""
        return rows[:, :-1]

    def rows_at(self, inputs: np.ndarray) -> np.ndarray:
        """Rows with these inputs (n, k)."""
        return np.column_stack([inputs, np.zeros(len(inputs))])

    def _conditionals(self, rng: np.random.Generator, m: int) -> Conditionals:
        """Inducing inputs drawn from the data without replacement, and the prior of the function at them."""
        number = min(self.dim, self.num_data)
        rows = np.stack([rng.permutation(self.num_data)[:number] for _ in range(m)])
        inputs = self._scaled(self.data[rows][:, :, :-1])
        return self._prior_at(inputs, factorised(inputs))

    def _prior_at(self, inputs: np.ndarray, factors: np.ndarray) -> Conditionals:
        m, number = inputs.shape[:2]
        natural = np.zeros((m, number, number + 1))
        natural[:, :, :number] = np.eye(number)
        return Conditionals(inputs.reshape(m, -1), factors, natural, np.zeros(m), np.zeros(m))

    def _tilted(
        self, rng: np.random.Generator, given: Conditionals, batch: np.ndarray, kept: float, power: float
    ) -> tuple[Conditionals, np.ndarray]:
        return self._multiplied(given, batch, kept, power, self.options.approximation == "fitc")

    def _bounded(self, given: Conditionals, batch: np.ndarray, kept: float, power: float) -> Conditionals:
        """E_p(f | u) log N(y | f, noise) is log N(y | a'v, noise) and a term without v: DTC, whatever the model is."""
        return self._multiplied(given, batch, kept, power, False)[0]

    def _multiplied(
        self, given: Conditionals, batch: np.ndarray, kept: float, power: float, corrected: bool
    ) -> tuple[Conditionals, np.ndarray]:
        rows = np.column_stack([self._scaled(batch[:, :-1]), batch[:, -1]])
        sets = self._sets(given), given.constants, given.natural
        natural, partitions, bases = tilted(*sets, rows, kept, power, self.options.noise_variance, corrected)
        return given._replace(natural=natural, partitions=partitions), bases

    def _extended(self, given: Conditionals | None, rows: np.ndarray) -> Conditionals:
        """Whitened coordinates are nested: those of the first inputs, and their precision, stay."""
        inputs = self._scaled(rows[:, :-1])[None]
        if given is not None:
            inputs = np.concatenate([self._sets(given), inputs], axis=1)
        made = self._prior_at(inputs, factorised(inputs))
        if given is not None:
            had = given.natural.shape[1]
            made.natural[:, :had, :had], made.natural[:, :had, -1] = given.natural[:, :, :-1], given.natural[:, :, -1]
        return made._replace(partitions=made.partitions if given is None else given.partitions)

    def _conditional_density(self, given: Conditionals, log_weights: np.ndarray) -> GaussianMixture:
        sets = self._sets(given), given.constants, given.natural
        means, choleskys = predicted(*sets, self._scaled(self.points))
        return GaussianMixture(whitened(self._factor, means.T).T, log_weights, whitened(self._factor, choleskys))

    def _sets(self, given: Conditionals) -> np.ndarray:
        """The particles as sets of inducing inputs (m, M, k), in kernel widths."""
        return given.particles.reshape(len(given.particles), -1, self.points.shape[1])

    def _scaled(self, x: np.ndarray) -> np.ndarray:
        """Inputs in kernel widths."""
        return x / self.kernel_width

    def _features(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """L^-1 k(Z, x) of every row (n, d), and the variance of y given theta (n,)."""
        o, across = self.options, covariances(self._scaled(self.points), self._scaled(rows[:, :-1]))
        features = whitened(self._factor, across).T
        left = np.maximum(1 - (features**2).sum(axis=1), 0) if o.approximation == "fitc" else 0.0
        return features, o.noise_variance + left * np.ones(len(rows))


def median_distance(x: np.ndarray) -> float:
    """Between different ones of the first 1,000 inputs (n, k); 1 of a single one."""
    x = x[:MEDIAN_OF]
    above = np.triu_indices(len(x), 1)
    found = 1.0
    if len(x) > 1:
        squares, gap = np.zeros((2, len(x), len(x)))
        for column in x.T:
            np.subtract(column[:, None], column, out=gap)
            squares += np.square(gap, out=gap)
        found = float(np.median(np.sqrt(squares[above])))
    if found == 0:
        raise InputError("half of the inputs of the Gaussian process coincide: the kernel has no width")
    return found
