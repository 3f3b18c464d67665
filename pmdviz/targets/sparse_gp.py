"""Gaussian processes seen through inducing inputs: a regression in one dimension, and the years of songs."""

from __future__ import annotations

import numpy as np

from pmdviz.errors import InputError, shown
from pmdviz.knobs import Knobs, Whole
from pmdviz.targets.gaussian_process import GaussianProcess, approximation, median_distance, noise_variance, width
from pmdviz.targets.options import data_points, data_seed, data_source, own_data
from pmdviz.targets.rows.series import FEATURES, drawn_songs, scaled_rows, scaled_songs
from pmdviz.targets.table_form import SIMULATED, TableForm, at_least_two, divided_table, names_of_inputs, rows_of

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


# The year of a song from 90 features: a sparse Gaussian process in many dimensions.

SONG_YEARS_NUM_TEST = 1000  # rows held out, at most
SONG_YEARS_TABLE = TableForm(
    "Columns of features, then one of numbers y; both are scaled, y to [0, 1].",
    most=FEATURES - 1,
    outcome="number",
    held_out=1,
    as_given=True,
    layout=FEATURES + 1,
)


class SongYearsOptions(Knobs):
    """Options of `song_years`."""

    kind_words = "option of target 'song_years':"

    data = data_source(
        {SIMULATED: "synthetic songs"},
        "Synthetic: 90 features and a smooth function of a few directions. Or a table of YearPredictionMSD's layout: "
        "a year, then 90 features; or one of up to 89 features, then the outcome.",
    )
    dim = Whole(
        64,
        bounds=(1, 1024),
        softbounds=(1, 256),
        log=True,
        label="Inducing inputs M",
        acts="restart",
        doc="Number of inducing inputs, drawn from the data without replacement.",
    )
    num_data = data_points(2000)
    approximation = approximation()
    width = width(1.0)
    noise_variance = noise_variance(0.01, "years are scaled to [0, 1]")
    data_seed = data_seed()


class SongYears(GaussianProcess):
    """The year of a song, scaled to [0, 1], as a Gaussian process of its 90 features. A row is (features, year).

    A person's table may have another number of features, and another outcome in the year's place.
    """

    name = "song_years"
    title = "Year of a song (90 features)"
    about = "A smooth function of 90 features is seen with noise; a few inducing inputs among the songs stand for all."
    source = "Dai, He, Dai, Song 2016, section 6 and appendix H.3.2; the data: Bertin-Mahieux et al. 2011"
    Options = SongYearsOptions
    kernel_groups = ("linear", "sparse_gp")
    table = SONG_YEARS_TABLE

    def build(self) -> None:
        """Draw rows from `default_rng(data_seed)` alone, or draw the rows to learn from out of a file's."""
        o = self.options
        rng = np.random.default_rng(o.data_seed)
        if o.data == SIMULATED:
            rows, held_out = drawn_songs(rng, o.num_data), drawn_songs(rng, SONG_YEARS_NUM_TEST)
        else:
            rows, held_out = _split(
                rng, _scaled(at_least_two(o.data, rows_of(o.data, SONG_YEARS_TABLE).rows), o.data), o
            )
        self.data, self.test_data = rows, held_out
        self.input_names = tuple(f"x{k + 1}" for k in range(rows.shape[1] - 1))
        chosen = rng.permutation(len(rows))[: min(o.dim, len(rows))]
        self._place(rows[chosen, :-1], o.width * median_distance(rows[:, :-1]))


def _scaled(table: np.ndarray, source: str) -> np.ndarray:
    """Of a table as wide as the songs' the year is the first column; of another one the outcome is the last."""
    return scaled_rows(table) if 2 <= table.shape[1] <= FEATURES else scaled_songs(table, source)


def _split(rng: np.random.Generator, table: np.ndarray, o: SongYearsOptions) -> tuple[np.ndarray, np.ndarray]:
    if o.num_data >= len(table):
        raise InputError(
            f"num_data must be at most {len(table) - 1:,} with data {shown(o.data)}, so that a row is held out; "
            f"given: {o.num_data:,}",
            "num_data",
        )
    order = rng.permutation(len(table))
    return table[order[: o.num_data]], table[order[o.num_data :][:SONG_YEARS_NUM_TEST]]
