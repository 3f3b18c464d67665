"""Gaussian processes: sparse ones with inducing inputs, and a classifier without its latent function.

What Gaussian processes with inducing inputs have in common: the sparse model, and the exact process.
"""

from functools import cached_property
from importlib.util import find_spec
from typing import TypeVar

import numpy as np

from pmdviz.densities.density import GaussianMixture
from pmdviz.errors import InputError
from pmdviz.kernels import gaussian_processes
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.likelihoods import linear_log_likelihood
from pmdviz.knobs import A_FILE, Choice, Flag, KnobSpec, Real, Whole
from pmdviz.targets import options
from pmdviz.targets.base import GaussianPrior
from pmdviz.targets.enumeration import metropolis_chains
from pmdviz.targets.exact import DrawsReference, GaussianExact, GridExact, Reference
from pmdviz.targets.rows import CANCER, FEATURES, drawn_songs, read_columns, scaled_rows, scaled_songs
from pmdviz.targets.space import Conditionals, Tilted, numbered

LARGEST_EXACT = 4096  # observations up to which the exact process is computed; its time grows like N^3
MEDIAN_OF = 1000  # inputs between which the median distance is taken


class SparseOptions(options.DataOptions):
    """Options of targets with inducing inputs.

    approximation: FITC: the variance that the inducing inputs leave open is added to each data point's noise. DTC: it
        is ignored.
    width: Width of the kernel exp(-|x - x'|²/(2 width²)), relative to the median distance between inputs.
    """

    approximation: KnobSpec[str]
    noise_variance: KnobSpec[float]


Sparse = TypeVar("Sparse", bound=SparseOptions)


APPROXIMATION = Choice("fitc", {"fitc": "FITC", "dtc": "DTC"}, "Sparse approximation")
WIDTH = Real(0.1, (0.01, 10), label="Kernel width", unit="median distances", log=True)
NOISE_VARIANCE = Real(0.001, (1e-5, 10), label="Noise variance", unit="y²", log=True)


class GaussianProcess(GaussianPrior[Sparse]):
    """y_i ~ N(f(x_i), noise), f a Gaussian process with mean 0 and kernel exp(-|x - x'|^2 / (2 width^2)).

    f at M fixed inputs Z is L θ with K_ZZ = L L' and θ ~ N(0, I). Given θ a row is y ~ N(a'θ, noise + s) with
    a = L^-1 k(Z, x) and s = 1 - a'a (FITC) or 0 (DTC), rows independent: a regression in closed form. Methods with
    sets of inducing inputs of their own give a density of the same θ.

    A subclass sets `data`, `test_data` (rows of k inputs and y) and calls `_place`; its options have `dim`,
    `approximation` and `noise_variance`.
    """

    predicts = "number"

    def _place(self, points: Array, kernel_width: float) -> None:
        """Θ is the process at these points (M, k)."""
        self.points, self.kernel_width, self.dim = points, kernel_width, len(points)
        self.parameter_names = numbered("v", self.dim)
        self.prior_frame(0.0)
        self._factor = gaussian_processes.factorised(self._scaled(points)[None])[0]

    def make_reference(self) -> GaussianExact:
        """In closed form: the posterior of θ under the sparse model."""
        start = self._prior_at(self._scaled(self.points)[None], self._factor[None])
        done, base = self._multiplied(start, self.data_rows, 0.0, 1.0, self.options.approximation == "fitc")
        precision, linear = np.tril(done.natural[0, :, :-1]), done.natural[0, :, -1]
        inverse = np.linalg.inv(np.linalg.cholesky(precision + np.tril(precision, -1).T))
        cov = inverse.T @ inverse
        return GaussianExact(cov @ linear, cov, float(done.partitions[0] + base[0]))

    def inducing_inputs(self, particle: Array) -> Array:
        """Of a particle (p,), as (M, k) in units of x."""
        return particle.reshape(-1, self.points.shape[1]) * self.kernel_width

    @property
    def has_exact_process(self) -> bool:
        """Whether the data are few enough for the exact process."""
        return self.num_data <= LARGEST_EXACT

    def process_at(self, inputs: Array) -> tuple[Array, Array] | None:
        """Mean and sd of f at inputs (n, k) given all data, without inducing inputs; None of more than 4,096 data."""
        if not self.has_exact_process:
            return None
        x, at = self._scaled(self.data_rows[:, :-1]), self._scaled(inputs)
        both, across = gaussian_processes.covariances(x, x), gaussian_processes.covariances(x, at)
        both[np.diag_indices(len(x))] += self.options.noise_variance
        solved = np.linalg.solve(both, np.column_stack([across, self.data_rows[:, -1]]))
        return across.T @ solved[:, -1], np.sqrt(np.maximum(1 - (across * solved[:, :-1]).sum(axis=0), 0))

    @cached_property
    def exact_process(self) -> tuple[Array, Array] | None:
        """The same at the points."""
        return self.process_at(self.points)

    def _log_likelihood(self, theta: Array, batch: Array) -> Array:
        features, variance = self._features(batch)
        scaled = np.column_stack([features, batch[:, -1]]) / np.sqrt(variance)[:, None]
        return linear_log_likelihood(theta, scaled, 1.0) - 0.5 * np.log(variance).sum()

    def values(self, theta: Array) -> Array:
        """The functions at the points, (m, d) -> (m, d)."""
        return np.einsum("ij,nj->ni", self._factor, theta)

    def row_mean(self, theta: Array, rows: Array) -> Array:
        """E(y | x, theta), (m, d) and (n, k + 1) -> (m, n)."""
        return np.einsum("md,nd->mn", theta, self._features(rows)[0])

    def row_log_likelihood(self, theta: Array, rows: Array) -> Array:
        """log p(y | x, theta) of every row, (m, d) and (n, k + 1) -> (m, n), in nats."""
        features, variance = self._features(rows)
        residual = rows[:, -1] - np.einsum("md,nd->mn", theta, features)
        return -0.5 * residual**2 / variance - 0.5 * np.log(2 * np.pi * variance)

    def conditionals(self, rng: Rng, m: int) -> Conditionals:
        """Inducing inputs drawn from the data without replacement, and the prior of the function at them."""
        rows = np.stack([rng.permutation(self.num_data)[: min(self.dim, self.num_data)] for _ in range(m)])
        inputs = self._scaled(self.data_rows[rows][:, :, :-1])
        return self._prior_at(inputs, gaussian_processes.factorised(inputs))

    def _prior_at(self, inputs: Array, factors: Array) -> Conditionals:
        m, number = inputs.shape[:2]
        natural = np.zeros((m, number, number + 1))
        natural[:, :, :number] = np.eye(number)
        return Conditionals(inputs.reshape(m, -1), factors, natural, np.zeros(m), np.zeros(m))

    def tilted(self, rng: Rng, given: Conditionals, batch: Array, kept: float, power: float) -> Tilted:
        """In closed form; nothing is drawn."""
        return self._multiplied(given, batch, kept, power, self.options.approximation == "fitc")

    def bounded(self, given: Conditionals, batch: Array, kept: float, power: float) -> Conditionals:
        """E_p(f | u) log N(y | f, noise) is log N(y | a'v, noise) and a term without v: DTC, whatever the model is."""
        return self._multiplied(given, batch, kept, power, False)[0]

    def _multiplied(self, given: Conditionals, batch: Array, kept: float, power: float, corrected: bool) -> Tilted:
        rows = np.column_stack([self._scaled(batch[:, :-1]), batch[:, -1]])
        sets = self._sets(given), given.constants, given.natural
        noise = self.options.noise_variance
        natural, partitions, bases = gaussian_processes.tilted(*sets, rows, kept, power, noise, corrected)
        return given._replace(natural=natural, partitions=partitions), bases

    def extended(self, given: Conditionals | None, rows: Array) -> Conditionals:
        """Whitened coordinates are nested: the coordinates of the first inputs, and their precision, stay."""
        inputs = self._scaled(rows[:, :-1])[None]
        if given is not None:
            inputs = np.concatenate([self._sets(given), inputs], axis=1)
        made = self._prior_at(inputs, gaussian_processes.factorised(inputs))
        if given is not None:
            had = given.natural.shape[1]
            made.natural[:, :had, :had], made.natural[:, :had, -1] = given.natural[:, :, :-1], given.natural[:, :, -1]
        return made._replace(partitions=made.partitions if given is None else given.partitions)

    def conditional_density(self, given: Conditionals, log_weights: Array) -> GaussianMixture:
        """The values at the target's own inducing inputs, a Gaussian for each particle, whitened."""
        sets = self._sets(given), given.constants, given.natural
        means, choleskys = gaussian_processes.predicted(*sets, self._scaled(self.points))
        means = gaussian_processes.whitened(self._factor, means.T).T
        return GaussianMixture(means, log_weights, gaussian_processes.whitened(self._factor, choleskys))

    def _sets(self, given: Conditionals) -> Array:
        """The particles as sets of inducing inputs (m, M, k), in kernel widths."""
        return given.particles.reshape(len(given.particles), -1, self.points.shape[1])

    def _scaled(self, x: Array) -> Array:
        """Inputs in kernel widths."""
        return x / self.kernel_width

    def _features(self, rows: Array) -> tuple[Array, Array]:
        """L^-1 k(Z, x) of every row (n, d), and the variance of y given theta (n,)."""
        o, across = self.options, gaussian_processes.covariances(self._scaled(self.points), self._scaled(rows[:, :-1]))
        features = gaussian_processes.whitened(self._factor, across).T
        left = np.maximum(1 - (features**2).sum(axis=1), 0) if o.approximation == "fitc" else 0.0
        return features, o.noise_variance + left * np.ones(len(rows))


def median_distance(x: Array) -> float:
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
        words = "half of the inputs of the Gaussian process coincide, so the kernel has width 0"
        raise InputError(f"{words}; leave out equal rows, or add an input")
    return found


# Gaussian processes seen through inducing inputs: a regression in one dimension, and the years of songs.

HALF, NOISE = 0.5, 0.1  # x is uniform in [-HALF, HALF]; the sd of y around the function
NUM_TEST = 200


def truth(x: Array) -> Array:
    """f(x) = 3 x^2 + (sin(3.53 pi x) + cos(7.7 pi x)) exp(-1.6 pi |x|)."""
    return 3 * x**2 + (np.sin(3.53 * np.pi * x) + np.cos(7.7 * np.pi * x)) * np.exp(-1.6 * np.pi * np.abs(x))


class SparseGPOptions(SparseOptions):
    """Options of `sparse_gp`.

    dim: Number of inducing inputs: equally spaced, or in each particle of structured PMD drawn from the data.
    noise_variance: Noise variance that the model assumes; the data have 0.01.
    """

    form = options.TableForm("A column of inputs x, then one of numbers y.", outcome="number", held_out=1)
    data = options.own_data(form)
    dim = Whole(128, (1, 512), label="Inducing inputs M")
    num_data = options.data_points(2048, most=20_000)
    approximation, width, noise_variance = APPROXIMATION, WIDTH, NOISE_VARIANCE


class SparseGP(GaussianProcess[SparseGPOptions]):
    """A Gaussian process whose inducing inputs are equally spaced over the inputs of the data.

    Held-out rows hold f without noise; of a person's table they are rows that are not learnt from.

    title: Sparse Gaussian process (1-D regression)
    about: A smooth function is seen with noise at many inputs; a few inducing inputs represent all of them.
    source: Dai, He, Dai, Song 2016, appendices F.1 and H.3.1; FITC and DTC: Quiñonero-Candela, Rasmussen 2005
    """

    name = "sparse_gp"
    kernel_groups = ("linear", "sparse_gp")
    input_names: tuple[str, ...] = ("x",)

    def build(self) -> None:
        """Draw inputs and y from `default_rng(data_seed)` alone, or take a table's."""
        o = self.options
        if o.data == options.SIMULATED:
            rng = np.random.default_rng(o.data_seed)
            x, at = rng.uniform(-HALF, HALF, o.num_data), np.linspace(-HALF, HALF, NUM_TEST)
            self.data = np.column_stack([x, truth(x) + NOISE * rng.standard_normal(o.num_data)])
            self.test_data, ends = np.column_stack([at, truth(at)]), (-HALF, HALF)
        else:
            self.data, self.test_data = options.divided_table(o.data, o.form, o.num_data, o.data_seed)
            self.input_names = options.names_of_inputs(o.data, o.form, 1)
            x = self.data_rows[:, 0]
            ends = x.min(), x.max()
        self._place(np.linspace(*ends, o.dim)[:, None], o.width * median_distance(x[:, None]))

    def true_function(self, inputs: Array) -> Array:
        """The function that the data were drawn around, at inputs (n, 1); NaN of a person's table."""
        return truth(inputs[:, 0]) if self.options.data == options.SIMULATED else np.full(len(inputs), np.nan)


# The year of a song from 90 features: a sparse Gaussian process in many dimensions.

SONG_YEARS_NUM_TEST = 1000  # rows held out, at most
OF_FEATURES = "Columns of features, then one of numbers y; both are scaled, y to [0, 1]."


class SongYearsOptions(SparseOptions):
    """Options of `song_years`.

    data: Synthetic: 90 features and a smooth function of a few directions. Or a table of YearPredictionMSD's layout:
        a year, then 90 features; or one of up to 89 features, then the outcome.
    dim: Number of inducing inputs, drawn from the data without replacement.
    noise_variance: Noise variance that the model assumes; years are scaled to [0, 1].
    """

    form = options.TableForm(
        OF_FEATURES, most=FEATURES - 1, outcome="number", held_out=1, as_given=True, layout=FEATURES + 1
    )
    data = options.data_source({options.SIMULATED: "synthetic songs"})
    dim = Whole(64, (1, 1024), (1, 256), "Inducing inputs M", log=True)
    num_data = options.data_points(2000)
    approximation, width, noise_variance = APPROXIMATION, WIDTH.at(1.0), NOISE_VARIANCE.at(0.01)


class SongYears(GaussianProcess[SongYearsOptions]):
    """The year of a song, scaled to [0, 1]: a Gaussian process of 90 features. A row is (90 features, year).

    A person's table may have another number of features, and another outcome in the year's place.

    title: Year of a song (90 features)
    about: A smooth function of 90 features is seen with noise; a few inducing inputs among the songs represent all.
    source: Dai, He, Dai, Song 2016, section 6 and appendix H.3.2; the data: Bertin-Mahieux et al. 2011
    """

    name = "song_years"
    kernel_groups = ("linear", "sparse_gp")

    def build(self) -> None:
        """Draw rows from `default_rng(data_seed)` alone, or draw the rows to learn from out of a file's."""
        o = self.options
        rng = np.random.default_rng(o.data_seed)
        if o.data == options.SIMULATED:
            rows, held_out = drawn_songs(rng, o.num_data), drawn_songs(rng, SONG_YEARS_NUM_TEST)
        else:
            table = _scaled(options.at_least_two(o.data, options.rows_of(o.data, o.form).rows), o.data)
            parts = options.divided(rng, len(table), o.num_data, o.data, SONG_YEARS_NUM_TEST)
            rows, held_out = (table[part] for part in parts)
        self.data, self.test_data = rows, held_out
        self.input_names = tuple(f"x{k + 1}" for k in range(rows.shape[1] - 1))
        chosen = rng.permutation(len(rows))[: min(o.dim, len(rows))]
        self._place(rows[chosen, :-1], o.width * median_distance(rows[:, :-1]))


def _scaled(table: Array, source: str) -> Array:
    """Of a table as wide as the songs' the year is the first column; of another one the outcome is the last."""
    return scaled_rows(table) if 2 <= table.shape[1] <= FEATURES else scaled_songs(table, source)


# The hyperparameters of a Gaussian process classifier: their posterior can be evaluated, but has no gradient here.

REACH = 7  # prior sds that a grid holds
ENOUGH = 4000  # cells of it


class GPClassificationOptions(options.TargetOptions):
    """Options of `gp_classification`.

    data: Nine measurements of tissue samples, malignant or benign, or a table of yours. The samples come with
        scikit-learn. A table has the class in its last column, or in its first.
    class_above: Rows of a file whose label is larger are of class 1, the others of class 0: 0.5 where labels are 0
        and 1.
    columns: How many features are used, the first ones; each has a length scale of its own. Nine at most of the
        tissue samples.
    num_rows: How many rows are drawn; the time for one evaluation of the density grows with their third power.
    free_scale: Whether the sd s of the latent function is unknown too: the last coordinate, or 1 as in the thesis.
    """

    form = options.TableForm(
        "Columns of features, then one with the class; each feature must vary.",
        most=options.ANY,
        outcome="class",
        dim_beyond=0,
        rows_option="num_rows",
        inputs_option="columns",
        reduces=True,
        picks="class_above",
    )
    data = options.data_source({CANCER: "breast tissue samples"})
    class_above = Real(0.5, (-1e6, 1e6), (-1, 10), "Class 1 above", only_if=("data", A_FILE))
    columns = Whole(2, (1, 30), (1, 9), "Features k")
    num_rows = Whole(60, (4, 300), (20, 150), "Rows")
    free_scale = Flag(True, "Unknown scale")
    prior_sd = options.prior_sd(bounds=(0.05, 3), default=1.5)
    target_seed = options.target_seed(0, "the choice of rows")


class GPClassification(GaussianPrior[GPClassificationOptions]):
    """theta = (log l_1, ..., log l_k, log s) ~ N(0, prior_sd^2 I) given classes y of rows with k features each.

    P(y = 1 | f) = 1 / (1 + e^-f), f a Gaussian process with kernel s^2 exp(-1/2 sum_k (z_k - z'_k)^2 / l_k^2). f is
    integrated out by Laplace's approximation, and its log q(y | theta) *is* the likelihood of this target: so it is a
    fixed function, where the thesis has a random estimate with that mean (its equation 0.91, a pseudo-marginal), which
    would have to be redrawn and carried along in every method.

    The rows do not contribute a factor each, so no batch represents them all: the target counts as one without data,
    whose q0 is the prior. Z = integral of prior times q(y | theta) = q(y).

    title: Gaussian process classifier
    about: How far a classifier's latent function reaches along each feature: the function itself is integrated out, and
        no gradient is known.
    source: Han's thesis, section on Gaussian process classification; Rasmussen, Williams 2006, section 3.4
    """

    name = "gp_classification" if find_spec("sklearn") else ""
    kernel_groups = ("gp_classification",)

    def build(self) -> None:
        """Draw the rows from `default_rng(target_seed)` alone."""
        o = self.options
        self.data, self.prior_sd, self.dim = None, o.prior_sd, o.columns + o.free_scale
        given = o.data, o.form, o.columns, o.num_rows, o.class_above, o.target_seed
        self.features, self.classes, self.feature_names = read_columns(*given)
        self.parameter_names = numbered("log ℓ", o.columns) + ("log s",) * o.free_scale
        self.prior_frame(0.0)

    def make_reference(self) -> Reference:
        """By a grid sum in one and two dimensions, else draws of long Metropolis chains."""
        box = ((-REACH * self.prior_sd, REACH * self.prior_sd),) * self.dim
        return GridExact(self.log_joint, box, ENOUGH) if self.dim <= 2 else DrawsReference(metropolis_chains(self))

    def chances(self, theta: Array, points: Array) -> Array:
        """P(class 1) at features (p, k) in units of the rows' sds, by Laplace's approximation: (m, d) -> (m, p)."""
        return gaussian_processes.gp_class_chances(self._hyperparameters(theta), self.features, self.classes, points)

    def _log_likelihood(self, theta: Array, batch: Array) -> Array:
        """log q(y | theta), for every row of the batch."""
        scales = self._hyperparameters(theta)
        return len(batch) * gaussian_processes.gp_log_marginal(scales, self.features, self.classes)

    def _hyperparameters(self, theta: Array) -> Array:
        """Theta with log s (m, k + 1), which is 0 where it is known."""
        return theta if self.options.free_scale else np.column_stack([theta, np.zeros(len(theta))])
