"""Rows that follow one another or are too many for a page: returns of a price, and features of songs.

Returns of an asset, and songs with their years.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

from pmdviz.data.cells import Cells
from pmdviz.data.files import content_of
from pmdviz.errors import InputError, shown
from pmdviz.targets.options import TableForm, check_most, rows_of

SP500, PERCENT = "sp500", 100.0
CLOSINGS = Path("internal", "datasets", "sp500_closing_prices.py")  # plain NumPy: the package itself needs much more


def read_returns(source: str, form: TableForm, count: int) -> np.ndarray:
    """The last `count` returns of a source, (count,), less their mean.

    Of S&P 500 closings the log returns in percent, of a file its last column as it is. Raises InputError for fewer
    returns, for returns all equal, and for a first column of whole numbers that leaves one out or is out of order.
    """
    returns = PERCENT * np.diff(np.log(closings())) if source == SP500 else _of_file(source, form)
    check_most("num_data", count, len(returns), source)
    if np.ptp(returns[-count:]) == 0:
        raise InputError(f"the last {count:,} returns of data {shown(source)} are all equal; raise num_data", "data")
    return returns[-count:] - returns[-count:].mean()


@cache
def closings() -> np.ndarray:
    """Daily closings of the S&P 500 from June 2010 to June 2020, (2517,). Raises InputError without inference-gym."""
    package = find_spec("inference_gym")
    if package is None or not package.submodule_search_locations:
        raise InputError(f"data {SP500!r} need inference-gym: pip install 'pmdviz[returns]'", "data")
    spec = spec_from_file_location("sp500_closing_prices", Path(package.submodule_search_locations[0]) / CLOSINGS)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return np.asarray(module.CLOSING_PRICES, float)


def _of_file(source: str, form: TableForm) -> np.ndarray:
    found, table = content_of(source), np.asarray(rows_of(source, form).rows, float)
    first = found.columns[0].numbers if isinstance(found, Cells) else table[:, 0]
    width = len(found.columns) if isinstance(found, Cells) else table.shape[1]
    skipped = np.flatnonzero(np.diff(first) != 1) if width > 1 and (first == np.round(first)).all() else []
    if len(skipped):
        before, after = first[skipped[0]], first[skipped[0] + 1]
        raise InputError(
            f"the first column of data {shown(source)} numbers the returns, and after {before:g} comes {after:g}; "
            "a series must have no gaps",
            "data",
        )
    return table[:, -1]


# Songs and the year they came out in (YearPredictionMSD): a file's rows, streamed to a memory map, or synthetic ones.

FEATURES = 90
YEARS = (1900, 2100)  # a first column outside of this holds no years
BLOCK = 20_000  # rows that are in memory at once
MOST_BYTES = 2_000_000_000


def packed_songs(path: str | Path, destination: str | Path) -> np.ndarray:
    """The rows (n, 91) of a CSV file, scaled: a float32 memory map in the .npy file `destination`.

    The file is read block by block, twice: memory does not grow with it. Raises InputError for a file that cannot be
    read, is empty or larger than 2 GB, and for lines that are not a year and 90 finite numbers.
    """
    low, high, mean, sd, count = _moments(_blocks(path))
    out = np.lib.format.open_memmap(destination, mode="w+", dtype=np.float32, shape=(count, FEATURES + 1))
    start = 0
    for block in _blocks(path):
        out[start : start + len(block), :-1] = (block[:, 1:] - mean) / sd
        out[start : start + len(block), -1] = (block[:, 0] - low) / max(high - low, 1.0)
        start += len(block)
    out.flush()
    return np.load(destination, mmap_mode="r")


def scaled_songs(table: np.ndarray, source: str) -> np.ndarray:
    """The same of a table (n, 91) in memory, year first. Raises InputError."""
    _check(table, source, 0)
    low, high, mean, sd, _ = _moments(iter([table]))
    return np.column_stack([(table[:, 1:] - mean) / sd, (table[:, 0] - low) / max(high - low, 1.0)])


def scaled_rows(table: np.ndarray) -> np.ndarray:
    """A table of any features, the outcome last, scaled as songs are: (n, k + 1)."""
    x, y = table[:, :-1].astype(float), table[:, -1].astype(float)
    sd = x.std(axis=0)
    return np.column_stack([(x - x.mean(axis=0)) / np.where(sd > 0, sd, 1.0), (y - y.min()) / (np.ptp(y) or 1.0)])


def drawn_songs(rng: np.random.Generator, n: int, features: int = FEATURES) -> np.ndarray:
    """n synthetic rows (n, features + 1): a smooth function of a few directions, mostly late in [0, 1], with noise.

    Features are N(0, I); the function is fixed, whatever the generator.
    """
    axes = np.random.default_rng(0).standard_normal((features, 3)) / np.sqrt(features)
    x = rng.standard_normal((n, features))
    a, b, c = np.einsum("nk,kj->jn", x, axes)
    y = 0.75 + 0.12 * np.tanh(1.5 * a) + 0.06 * np.sin(2 * b) + 0.04 * a * c + 0.05 * rng.standard_normal(n)
    return np.column_stack([x, np.clip(y, 0.0, 1.0)])


def _blocks(path: str | Path) -> Iterator[np.ndarray]:
    """Blocks (at most 20,000, 91) of the file, checked."""
    where, start = shown(str(path)), 0
    try:
        file = Path(path).expanduser()
        if (size := file.stat().st_size) > MOST_BYTES:
            raise InputError(f"file {where} has {size:,} bytes, more than {MOST_BYTES:,}; give a part of its lines")
        with file.open(encoding="utf-8") as lines:
            while text := "".join(line for _, line in zip(range(BLOCK), lines, strict=False)):
                yield _check(_parsed(text, where, start), where, start)
                start += BLOCK
    except OSError as error:
        raise InputError(f"file {where} cannot be read: {error.strerror or error}; check its path and rights") from None
    except UnicodeDecodeError:
        raise InputError(f"file {where} holds no text; a line must be a year and {FEATURES} features") from None
    if start == 0:
        raise InputError(f"file {where} is empty; a line must be a year and {FEATURES} features")


def _parsed(text: str, where: str, start: int) -> np.ndarray:
    try:
        return np.loadtxt(io.StringIO(text), delimiter=",", ndmin=2)
    except ValueError as error:
        raise InputError(f"file {where} holds no table of numbers after line {start:,}: {error}") from None


def _check(table: np.ndarray, where: str, start: int) -> np.ndarray:
    if table.shape[1] != FEATURES + 1 or not len(table):
        raise InputError(
            f"a line of file {where} must hold a year and {FEATURES} features, {FEATURES + 1} numbers; "
            f"it holds {table.shape[1]}"
        )
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        row, column = bad[0]
        raise InputError(f"file {where} has {table[row, column]} in line {start + row + 1:,}, column {column + 1}")
    outside = np.flatnonzero((table[:, 0] < YEARS[0]) | (table[:, 0] > YEARS[1]))
    if len(outside):
        at = outside[0]
        raise InputError(
            f"the first column of file {where} must be a year from {YEARS[0]} to {YEARS[1]}; "
            f"line {start + at + 1:,} has {table[at, 0]:g}"
        )
    return table


def _moments(blocks: Iterator[np.ndarray]) -> tuple[float, float, np.ndarray, np.ndarray, int]:
    """First and last year, mean and sd of the features (1 of a constant one), and how many rows there are."""
    count, mean, squares = 0, np.zeros(FEATURES), np.zeros(FEATURES)
    low, high = np.inf, -np.inf
    for block in blocks:
        x, low, high = block[:, 1:], min(low, block[:, 0].min()), max(high, block[:, 0].max())
        centre, total = x.mean(axis=0), count + len(x)
        squares += ((x - centre) ** 2).sum(axis=0) + (centre - mean) ** 2 * count * len(x) / total
        mean += (centre - mean) * len(x) / total
        count = total
    sd = np.sqrt(squares / count)
    return float(low), float(high), mean, np.where(sd > 0, sd, 1.0), count
