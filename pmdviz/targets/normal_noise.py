"""Data with Gaussian noise around a function of theta: a bent ridge, two modes, a Gaussian, linear regression.

A posterior along a bent ridge: no ellipse fits it, and no coordinate can be learned without the other.
"""

from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from pmdviz.errors import InputError, shown
from pmdviz.kernels import likelihoods
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Real, Whole
from pmdviz.targets import options
from pmdviz.targets.base import CompiledLikelihood
from pmdviz.targets.exact import GaussianExact, GridExact, Handle
from pmdviz.targets.rows import CARRIED as CARRIED_IMAGES
from pmdviz.targets.space import numbered

BOX_SDS = 10.0  # prior sd beyond the true theta that the exact posterior is looked for in
FARTHEST = 10.0  # a mean of data, units of x: as far as the mean of simulated ones
NUM_CELLS = 100_000  # that hold the exact posterior: a ridge of 2,000 data is hundreds of its widths long
OF_BANANA = "One column of numbers: each is an observation x, θ₁ + b θ₂² with noise; their mean at most 10 from 0."


class BananaOptions(options.DataOptions):
    """Options of `banana`. Beyond the bounds the ridge would be too thin for the exact posterior's grid.

    sigma_x: Standard deviation of each observation. The ridge is σₓ/√N wide.
    bend: How much the ridge θ₁ + b θ₂² = const is bent; 0 gives a straight one.
    theta1: True value, used to simulate the data.
    theta2: True value, used to simulate the data.
    """

    form = options.TableForm(OF_BANANA)
    data = options.own_data(form)
    num_data = options.data_points(100, most=2000)
    sigma_x = options.noise(2.0, least=1.0)
    bend = Real(1.0, (0, 2), label="Bend b", unit="units of x / θ²")
    prior_sd = options.prior_sd(bounds=(0.25, 1.5))
    theta1 = Real(0.5, (-2, 2), label="True θ₁", unit="units of x", only_if=options.ONLY_SIMULATED)
    theta2 = Real(0.8, (-2, 2), label="True θ₂", unit="units of θ", only_if=options.ONLY_SIMULATED)


class Banana(CompiledLikelihood[BananaOptions]):
    """x ~ N(theta_1 + b theta_2^2, sigma_x^2), theta ~ N(0, prior_sd^2 I).

    The data tell theta_1 + b theta_2^2 up to sigma_x / sqrt(N) and nothing else: where on that parabola theta lies is
    left to the prior. Given theta_2, theta_1 is Gaussian, so every integral is one over theta_2 alone.

    title: Banana (2-D)
    about: Each x is θ₁ + b θ₂² plus noise; only that sum can be learned, so the posterior is a bent ridge.
    source: ours; the shape without data: Haario, Saksman, Tamminen 1999
    question: Which method follows the bent posterior to both of its tips?
    """

    name = "banana"
    kernel_groups = ("banana",)
    compiled = likelihoods.banana_log_likelihood, likelihoods.banana_grad_log_likelihood, likelihoods.BananaModel
    row_density = True

    def build(self) -> None:
        """Draw the data from `default_rng(data_seed)` alone, or take a table's."""
        o, self.dim, self.parameter_names = self.options, 2, ("θ₁", "θ₂")
        self.prior_sd, self.numbers = o.prior_sd, (float(o.sigma_x), float(o.bend))
        if o.data == options.SIMULATED:
            rng = np.random.default_rng(o.data_seed)
            self.data = o.theta1 + o.bend * o.theta2**2 + o.sigma_x * rng.standard_normal(o.num_data)
            self._reach = float(np.hypot(o.theta1, o.theta2))
            self.prior_frame(o.theta1, o.theta2)
        else:
            self._read()

    def _read(self) -> None:
        """The data of a table. Nearest to 0 on θ₁ + b θ₂² = x̄, both coordinates are below 1.5 |x̄|."""
        o = self.options
        self.data = options.divided_table(o.data, o.form, o.num_data, o.data_seed)[0][:, 0]
        mean = float(self.data_rows.mean())
        if abs(mean) > FARTHEST:
            words = f"the mean of data {shown(o.data)} must lie between -{FARTHEST:g} and {FARTHEST:g}"
            cause = f"or the ridge is too thin for an exact posterior; it is {mean:,.4g}: scale them"
            raise InputError(f"{words}, {cause}", "data")
        self._reach = 1.5 * abs(mean)
        self.prior_frame(min(abs(mean), np.sqrt(max(mean, 0.0) / max(o.bend, 0.1))))

    def _handles(self) -> tuple[Handle, ...]:
        """The true θ, and its mirror image: the sign of θ₂ leaves no trace."""
        o = self.options
        return (
            Handle("true θ", (o.theta1, o.theta2), lambda x, y: {"theta1": x, "theta2": y}),
            Handle("its mirror image", (o.theta1, -o.theta2), lambda x, y: {"theta1": x, "theta2": -y}),
        )

    def make_reference(self) -> GridExact:
        """By a grid sum."""
        reach = BOX_SDS * self.prior_sd + self._reach
        return GridExact(self.log_joint, ((-reach, reach), (-reach, reach)), NUM_CELLS)


# A posterior with two modes on a line: densities are curves.

REACH = 8.0  # prior sds each way: they hold all but 1e-14 of the prior


class Bimodal1DOptions(options.DataOptions):
    """Options of `bimodal1d`.

    sigma_x: Standard deviation of each observation around θ².
    theta: True size of θ; 0 gives a single mode.
    """

    form = options.TableForm("One column of numbers: each is an observation x, a noisy θ².")
    data = options.own_data(form)
    num_data = options.data_points(100)
    sigma_x = options.noise(3.0)
    prior_sd = options.prior_sd(bounds=(0.05, 100))
    theta = Real(1.2, (0, 3), label="True |θ|", unit="√(units of x)", only_if=options.ONLY_SIMULATED)


class Bimodal1D(CompiledLikelihood[Bimodal1DOptions]):
    """x ~ N(theta^2, sigma_x^2), theta ~ N(0, prior_sd^2): theta and -theta explain the data equally well.

    title: Two modes on a line (1-D)
    about: Each x is θ² plus Gaussian noise; the sign of θ leaves no trace, so there are two mirror-image modes.
    source: ours
    question: θ and −θ explain the data equally well. Which method finds both?
    """

    name = "bimodal1d"
    kernel_groups = ("bimodal",)
    compiled = likelihoods.bimodal_log_likelihood, likelihoods.bimodal_grad_log_likelihood, likelihoods.BimodalModel
    row_density = True

    def build(self) -> None:
        """Draw the data from `default_rng(data_seed)` alone, or take a table's."""
        o, self.dim, self.parameter_names = self.options, 1, ("θ",)
        self.prior_sd, self.numbers = o.prior_sd, (float(o.sigma_x),)
        if o.data == options.SIMULATED:
            self.data = o.theta**2 + o.sigma_x * np.random.default_rng(o.data_seed).standard_normal(o.num_data)
            self.prior_frame(o.theta)
        else:
            self.data = options.divided_table(o.data, o.form, o.num_data, o.data_seed)[0][:, 0]
            self.prior_frame(self._best_fit)

    @property
    def _best_fit(self) -> float:
        """The size of θ at which the data are most likely."""
        return float(np.sqrt(max(self.data_rows.mean(), 0.0)))

    def _handles(self) -> tuple[Handle, ...]:
        """Both modes."""
        o = self.options
        return tuple(
            Handle(f"{side} mode", (sign * o.theta, 0.0), lambda x, y: {"theta": abs(x)})
            for side, sign in (("right", 1), ("left", -1))
        )

    def make_reference(self) -> GridExact:
        """By a grid sum: the modes lie between the best fit and 0, up to the prior's reach."""
        reach = REACH * self.prior_sd
        if self.options.data != options.SIMULATED:
            reach += self._best_fit
        return GridExact(self.log_joint, ((-reach, reach),))


# The conjugate Gaussian: everything about the posterior is known in closed form.


class GaussianOptions(options.DataOptions):
    """Options of `gaussian`.

    dim: Number of parameters.
    sigma_x: Standard deviation of each observation around θ.
    theta: True value of every coordinate.
    """

    form = options.TableForm("A column of numbers for each coordinate of θ: a row is one x.", most=100, dim_beyond=0)
    data = options.own_data(form)
    dim = Whole(2, (1, 100), label="Dimension d")
    num_data = options.data_points(20)
    sigma_x = options.noise(2.0)
    prior_sd = options.prior_sd(bounds=(0.05, 100))
    theta = Real(0.7, (-5, 5), label="True θ", unit="units of x", only_if=options.ONLY_SIMULATED)


class Gaussian(CompiledLikelihood[GaussianOptions]):
    """x ~ N(theta, sigma_x^2 I), theta ~ N(0, prior_sd^2 I).

    Posterior N(mean, v I) with 1/v = 1/prior_sd^2 + N/sigma_x^2 and mean = v sum_n x_n / sigma_x^2.

    title: Conjugate Gaussian (any dimension)
    about: Each x is θ plus Gaussian noise; the posterior is a Gaussian that you can check by hand.
    source: Dai, He, Dai, Song 2016, Theorem 5 can be measured on it; any textbook
    question: The posterior is a Gaussian; which method comes closest to it first?
    """

    name = "gaussian"
    kernel_groups = ("gaussian",)
    compiled = likelihoods.gaussian_log_likelihood, likelihoods.gaussian_grad_log_likelihood, likelihoods.GaussianModel
    row_density = True

    def build(self) -> None:
        """Draw the data from `default_rng(data_seed)` alone, or take a table's."""
        o = self.options
        self.dim, self.prior_sd, self.numbers = o.dim, o.prior_sd, (float(o.sigma_x),)
        self.parameter_names = numbered("θ", o.dim)
        if o.data == options.SIMULATED:
            self.data = self._simulate(np.random.default_rng(o.data_seed), np.full(o.dim, o.theta), o.num_data)
            self.prior_frame(o.theta)
        else:
            self.data = options.divided_table(o.data, o.form, o.num_data, o.data_seed, o.dim)[0]
            self.prior_frame(*self._posterior(self.data)[0])

    def _handles(self) -> tuple[Handle, ...]:
        """The true θ, whose coordinates are all the same: a point of the picture counts by their mean."""
        o, shown = self.options, min(self.dim, 2)
        at = (o.theta, o.theta if shown == 2 else 0.0)
        return (Handle("true θ", at, lambda x, y: {"theta": (x + y) / shown}),)

    def make_reference(self) -> GaussianExact:
        """In closed form."""
        mean, variance = self._posterior(self.data_rows)
        at_mean = 0.5 * self.dim * np.log(2 * np.pi * variance)  # log p(X) = log p(mean, X) - log p(mean | X)
        return GaussianExact(mean, variance * np.eye(self.dim), float(self.log_joint(mean[None])[0] + at_mean))

    def _posterior(self, data: Array) -> tuple[Array, float]:
        """Mean (d,) and variance of each coordinate."""
        o = self.options
        variance = 1 / (1 / o.prior_sd**2 + len(data) / o.sigma_x**2)
        return variance * data.sum(axis=0) / o.sigma_x**2, variance

    def _simulate(self, rng: Rng, theta: Array, n: int) -> Array:
        return theta + self.options.sigma_x * rng.standard_normal((n, self.dim))

    def row_log_likelihood(self, theta: Array, rows: Array) -> Array:
        """log p(x | theta) of every row, (m, d) and (n, d) -> (m, n), in nats."""
        sigma, away = self.options.sigma_x, theta[:, None] - rows
        return -0.5 * (away**2).sum(axis=2) / sigma**2 - self.dim * np.log(sigma * np.sqrt(2 * np.pi))

    def _gibbs_sweep(self, rng: Rng, theta: Array, data: Array) -> Array:
        """The coordinates do not depend on one another: a sweep is an independent draw from the posterior."""
        mean, variance = self._posterior(data)
        return mean + np.sqrt(variance) * rng.standard_normal(self.dim)


# Bayesian linear regression in any dimension: the posterior is a Gaussian in closed form.

NUM_TEST = 1000  # rows held out
OF_FEATURES = "Columns of features, then one of numbers y. The first weight is then the intercept."


class LinearOptions(options.DataOptions):
    """Options of `linear`.

    dim: Number of regression weights.
    sigma_y: Standard deviation of y around the line.
    correlation: Correlation r of neighbouring features; features k and l have correlation r^|k-l|.
    """

    form = options.TableForm(OF_FEATURES, most=199, outcome="number", dim_beyond=1)
    data = options.own_data(form)
    dim = Whole(8, (1, 200), label="Dimension d")
    num_data = options.data_points(500)
    sigma_y = options.noise(1.0, label="Noise sd of y", unit="units of y")
    correlation = Real(0.5, "[0, 1)", label="Correlation of features", only_if=options.ONLY_SIMULATED)
    prior_sd = options.prior_sd(bounds=(0.05, 100))


class Linear(CompiledLikelihood[LinearOptions]):
    """y ~ N(x.w, sigma_y^2), w ~ N(0, prior_sd^2 I), features x ~ N(0, R) with R_kl = r^|k - l|.

    Posterior N(mean, S), S^-1 = I / prior_sd^2 + X'X / sigma_y^2, mean = S X'y / sigma_y^2; the true w is a draw of the
    prior. A row of the data is (x_1, ..., x_d, y); of a person's table x_1 is 1. Rows that are not learnt from are held
    out, 5,000 at most.

    title: Linear regression (any dimension)
    about: Each y is a weighted sum of features plus Gaussian noise; the posterior of the weights is a Gaussian.
    source: any textbook, such as Bishop 2006, section 3.3
    """

    name = "linear"
    kernel_groups = ("linear",)
    compiled = likelihoods.linear_log_likelihood, likelihoods.linear_grad_log_likelihood, likelihoods.LinearModel
    predicts = "number"

    def build(self) -> None:
        """Draw the true weights, features and y from `default_rng(data_seed)` alone, or take a table's."""
        o = self.options
        self.dim, self.prior_sd, self.parameter_names = o.dim, o.prior_sd, numbered("w", o.dim)
        self.sigma_y, self.numbers = float(o.sigma_y), (float(o.sigma_y),)
        if o.data == options.SIMULATED:
            rng = np.random.default_rng(o.data_seed)
            self.true_weights = o.prior_sd * rng.standard_normal(o.dim)
            self.data = self._simulate(rng, self.true_weights, o.num_data)
            self.test_data = self._simulate(rng, self.true_weights, NUM_TEST)
            self.prior_frame(*self.true_weights)
        else:
            self._read()

    def _read(self) -> None:
        """The rows of a table, each with a 1 before it."""
        o = self.options
        rows, rest = options.divided_table(o.data, o.form, o.num_data, o.data_seed, o.dim)
        self.data = with_ones(rows)
        self.test_data = None if rest is None else with_ones(rest)
        self.input_names, self.intercept = options.names_of_inputs(o.data, o.form, o.dim - 1), 1
        self.prior_frame(*self._posterior(self.data)[0])

    def make_reference(self) -> GaussianExact:
        """In closed form."""
        mean, factor = self._posterior(self.data_rows)
        return GaussianExact(mean, np.linalg.inv(factor @ factor.T), self._log_evidence(mean, factor))

    def _posterior(self, rows: Array) -> tuple[Array, Array]:
        """Mean (d,), and the Cholesky factor of the precision."""
        x, y, variance = rows[:, :-1], rows[:, -1], self.sigma_y**2
        factor = np.linalg.cholesky(np.eye(self.dim) / self.prior_sd**2 + x.T @ x / variance)
        return np.linalg.solve(factor.T, np.linalg.solve(factor, x.T @ y / variance)), factor

    def _log_evidence(self, mean: Array, factor: Array) -> float:
        """log p(y | X) = log p(mean) + log p(y | X, mean) - log p(mean | y, X)."""
        at_mean = 0.5 * self.dim * np.log(2 * np.pi) - np.log(np.diag(factor)).sum()
        return float(self.log_joint(mean[None])[0] + at_mean)

    def _simulate(self, rng: Rng, theta: Array, n: int) -> Array:
        """Features by an autoregression of order 1, whose correlations are r^|k-l|, or drawn from a table's; and y."""
        if self.options.data != options.SIMULATED:
            x = self.data_rows[rng.integers(self.num_data, size=n), :-1]
            return np.column_stack([x, (x * theta).sum(axis=1) + self.sigma_y * rng.standard_normal(n)])
        r, noise = self.options.correlation, rng.standard_normal((n, self.dim + 1))
        x = noise[:, :-1].copy()
        for k in range(1, self.dim):
            x[:, k] = r * x[:, k - 1] + np.sqrt(1 - r**2) * noise[:, k]
        return np.column_stack([x, (x * theta).sum(axis=1) + self.sigma_y * noise[:, -1]])

    def _gibbs_sweep(self, rng: Rng, theta: Array, data: Array) -> Array:
        """All weights given all data at once: a sweep is an independent draw from the posterior."""
        mean, factor = self._posterior(data)
        return mean + np.linalg.solve(factor.T, rng.standard_normal(self.dim))

    def row_mean(self, theta: Array, rows: Array) -> Array:
        """E(y | x, theta), (m, d) and (n, d + 1) -> (m, n)."""
        return np.einsum("md,nd->mn", theta, rows[:, :-1])

    def row_log_likelihood(self, theta: Array, rows: Array) -> Array:
        """log p(y | x, theta) of every row, (m, d) and (n, d + 1) -> (m, n), in nats."""
        sigma, residual = self.sigma_y, rows[:, -1] - self.row_mean(theta, rows)
        return -0.5 * (residual / sigma) ** 2 - np.log(sigma * np.sqrt(2 * np.pi))


def with_ones(rows: Array) -> Array:
    """Rows (n, k) with the 1 of the intercept before them, (n, k + 1)."""
    return np.column_stack([np.ones(len(rows)), rows])


# Probabilistic PCA of handwritten digits: the latent coordinates of one image, with a posterior in closed form.

SIDE = 8  # pixels of an image
PIXELS = SIDE**2
HELD_OUT = 500  # images that can be chosen; the decoder is fitted to the others
CARRIED = "digits"  # the value of option `data` that means scikit-learn's images
OF_PIXELS = "One column of 64 numbers: the pixels of an image of 8 x 8, row by row, from 0 dark to 1 bright."
DATA_DOC = f"An image of scikit-learn's; or a table of your own. {OF_PIXELS}"
PLACES = 9  # of the decoder: the bits of LAPACK depend on BLAS threads


class PPCAOptions(options.TargetOptions):
    """Options of `ppca`.

    image: Which of the 500 images that the decoder has not seen.
    dim: Number of latent coordinates.
    num_data: How many of the image's 64 pixels are observed, scattered over it; each is an observation.
    """

    form = options.TableForm(OF_PIXELS, as_given=True)
    data = options.data_source({CARRIED: "scikit-learn's digits"}, doc=DATA_DOC)
    image = Whole(0, (0, HELD_OUT - 1), label="Image", only_if=("data", CARRIED))
    dim = Whole(5, (1, 20), label="Latent dimension k")
    num_data = Whole(PIXELS, (1, PIXELS), label="Pixels observed")


class Decoder(NamedTuple):
    """x = W z + mu + N(0, noise_sd^2 I), fitted by maximum likelihood; and the images that it has not seen."""

    weights: Array  # (64, k)
    mean: Array  # (64,)
    noise_sd: float
    held_out: Array  # (500, 64) brightness from 0 to 1


class PPCA(Linear):
    """z ~ N(0, I_k), x = W z + mu + N(0, sigma^2 I): Bayesian linear regression of pixels on the rows of W.

    W = U_k (L_k - sigma^2 I)^(1/2) with the k leading eigenvectors and eigenvalues of the training images' covariance,
    sigma^2 the mean of the other eigenvalues (Eqs. 7 and 8). A row of the data is a pixel, (w_1, ..., w_k, x - mu), so
    batches are pixels, and log Z = log N(x | mu, W W' + sigma^2 I).

    title: Probabilistic PCA of a digit
    about: A handwritten digit is a mean image plus a weighted sum of a few others plus Gaussian noise at every pixel.
    source: Tipping, Bishop 1999, section 3.2; images: scikit-learn's digits
    """

    name = "ppca" if find_spec("sklearn") else ""
    predicts = ""
    image_shape = (SIDE, SIDE)

    def build(self) -> None:
        """Fit the decoder, and take the image; nothing is random."""
        o: PPCAOptions = self.options  # type: ignore[assignment]  # `linear` has other options
        self.dim, self.prior_sd, self.parameter_names = o.dim, 1.0, numbered("z", o.dim)
        self.decoder = fitted_decoder(o.dim)
        self.sigma_y, self.numbers = self.decoder.noise_sd, (self.decoder.noise_sd,)
        self.image = self.decoder.held_out[o.image] if o.data == CARRIED else _own_image(o.data, o.form)
        self.observed = np.random.default_rng(0).permutation(PIXELS)[: o.num_data]  # the same for every image
        self.data = np.column_stack([self.decoder.weights, self.image - self.decoder.mean])[self.observed]
        self.scale, self.view_box = np.ones(o.dim), ((-4.0, 4.0),) * o.dim

    def decoded(self, theta: Array) -> Array:
        """The images W z + mu, (m, k) -> (m, 64)."""
        return self.decoder.mean + np.einsum("mk,pk->mp", theta, self.decoder.weights)

    def _simulate(self, rng: Rng, theta: Array, n: int) -> Array:
        """Pixels of an image with these latent coordinates, in the data's order; after the last the first again."""
        features = self.data_rows[np.arange(n) % self.num_data, :-1]
        return np.column_stack([features, (features * theta).sum(axis=1) + self.sigma_y * rng.standard_normal(n)])


def _own_image(source: str, form: options.TableForm) -> Array:
    """The pixels (64,) of a table."""
    rows = form.size_of(source)[0]
    if rows != PIXELS:
        raise InputError(f"data {shown(source)} must have {PIXELS} rows, a pixel in each; they have {rows:,}", "data")
    return options.divided_table(source, form, PIXELS, 0)[0][:, 0]


@cache
def fitted_decoder(k: int) -> Decoder:
    """The decoder with k latent coordinates, in closed form; each column's largest loading is positive."""
    table, brightest = CARRIED_IMAGES[CARRIED]()
    images = table[:, :-1] / brightest  # (n, 64) brightness from 0 to 1
    train, held_out = images[:-HELD_OUT], images[-HELD_OUT:]
    mean = train.mean(axis=0)
    values, vectors = np.linalg.eigh(np.einsum("np,nq->pq", train - mean, train - mean) / len(train))
    variance, leading = values[:-k].mean(), vectors[:, ::-1][:, :k]
    leading = leading * np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(k)])
    weights = np.round(leading * np.sqrt(values[::-1][:k] - variance), PLACES)
    return Decoder(weights, mean, float(np.round(np.sqrt(variance), PLACES)), held_out)
