"""The year of a song from 90 features: a sparse Gaussian process in many dimensions."""

from __future__ import annotations

import numpy as np

from pmdviz.errors import InputError, shown
from pmdviz.knobs import Knobs, Whole
from pmdviz.targets.gaussian_process import GaussianProcess, approximation, median_distance, noise_variance, width
from pmdviz.targets.options import data_points, data_seed, data_source
from pmdviz.targets.rows.songs import FEATURES, drawn_songs, scaled_rows, scaled_songs
from pmdviz.targets.table_form import SIMULATED, TableForm, at_least_two, rows_of

NUM_TEST = 1000  # rows held out, at most
TABLE = TableForm(
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
    table = TABLE

    def build(self) -> None:
        """Draw rows from `default_rng(data_seed)` alone, or draw the rows to learn from out of a file's."""
        o = self.options
        rng = np.random.default_rng(o.data_seed)
        if o.data == SIMULATED:
            rows, held_out = drawn_songs(rng, o.num_data), drawn_songs(rng, NUM_TEST)
        else:
            rows, held_out = _split(rng, _scaled(at_least_two(o.data, rows_of(o.data, TABLE).rows), o.data), o)
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
    return table[order[: o.num_data]], table[order[o.num_data :][:NUM_TEST]]
