"""A Gaussian process seen through inducing inputs: the sparse approximation of a regression in one dimension."""

from __future__ import annotations

import numpy as np

from pmdviz.knobs import Knobs, Whole
from pmdviz.targets.gaussian_process import GaussianProcess, approximation, median_distance, noise_variance, width
from pmdviz.targets.options import data_points, data_seed, own_data
from pmdviz.targets.table_form import SIMULATED, TableForm, divided_table, names_of_inputs

HALF, NOISE = 0.5, 0.1  # x is uniform in [-HALF, HALF]; the sd of y around the function
NUM_TEST = 200
TABLE = TableForm("A column of inputs x, then one of numbers y.", outcome="number", held_out=1)


def truth(x: np.ndarray) -> np.ndarray:
    """f(x) = 3 x^2 + (sin(3.53 pi x) + cos(7.7 pi x)) exp(-1.6 pi |x|)."""
    return 3 * x**2 + (np.sin(3.53 * np.pi * x) + np.cos(7.7 * np.pi * x)) * np.exp(-1.6 * np.pi * np.abs(x))


class SparseGPOptions(Knobs):
    """Options of `sparse_gp`."""

    kind_words = "option of target 'sparse_gp':"

    data = own_data(TABLE)
    dim = Whole(
        128,
        bounds=(1, 512),
        label="Inducing inputs M",
        acts="restart",
        doc="Number of inducing inputs: equally spaced, or in each particle of structured PMD drawn from the data.",
    )
    num_data = data_points(2048, most=20_000)
    approximation = approximation()
    width = width(0.1)
    noise_variance = noise_variance(0.001, "the data have 0.01")
    data_seed = data_seed()


class SparseGP(GaussianProcess):
    """A Gaussian process whose inducing inputs are equally spaced over the inputs of the data.

    Held-out rows hold f without noise; of a person's table they are rows that are not learnt from.
    """

    name = "sparse_gp"
    title = "Sparse Gaussian process (1-D regression)"
    about = "A smooth function is seen with noise at many inputs; a few inducing inputs stand for all of them."
    source = "Dai, He, Dai, Song 2016, appendices F.1 and H.3.1; FITC and DTC: Quiñonero-Candela, Rasmussen 2005"
    Options = SparseGPOptions
    kernel_groups = ("linear", "sparse_gp")
    input_names = ("x",)
    table = TABLE

    def build(self) -> None:
        """Draw inputs and y from `default_rng(data_seed)` alone, or take those of a table."""
        o = self.options
        if o.data == SIMULATED:
            self._draw(np.random.default_rng(o.data_seed))
        else:
            self.data, self.test_data = divided_table(o.data, TABLE, o.num_data, o.data_seed)
            x, self.input_names = self.data[:, 0], names_of_inputs(o.data, TABLE, 1)
            self._place(np.linspace(x.min(), x.max(), o.dim)[:, None], o.width * median_distance(x[:, None]))

    def _draw(self, rng: np.random.Generator) -> None:
        o = self.options
        x = rng.uniform(-HALF, HALF, o.num_data)
        self.data = np.column_stack([x, truth(x) + NOISE * rng.standard_normal(o.num_data)])
        at = np.linspace(-HALF, HALF, NUM_TEST)
        self.test_data = np.column_stack([at, truth(at)])
        self._place(np.linspace(-HALF, HALF, o.dim)[:, None], o.width * median_distance(x[:, None]))

    def true_function(self, inputs: np.ndarray) -> np.ndarray:
        """The function that the data were drawn around, at inputs (n, 1); NaN of a person's table."""
        return truth(inputs[:, 0]) if self.options.data == SIMULATED else np.full(len(inputs), np.nan)
