"""Options that several targets share, declared once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

import numpy as np

from pmdviz.data.cells import MOST_CLASSES, NUMBERS, WORDS, Cells, Column, cells_of
from pmdviz.data.files import cells_in, content_of, path_of, too_small
from pmdviz.data.tables import Pin, Table, Units, as_array, hold, is_frame
from pmdviz.errors import InputError, InputWarning, shown, unknown
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import A_FILE, Choice, Knobs, Real, Source, Whole
from pmdviz.targets.space import numbered

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from pmdviz.knobs import KnobSpec


# The columns that a person's own table needs for a target, and the rows taken from it, on the page and in Python.

OUTCOMES = {"": "no outcome", "number": "a number", "class": "one of two classes", "classes": "one of several classes"}
INPUT, OUTCOME, LEAVE_OUT = "input", "outcome", "leave out"  # roles of columns
OUTCOME_NAMES = frozenset({"y", "outcome", "target", "label", "class", "response"})
ROW_NAMES = frozenset({"id", "index", "row", "no", "nr", "rownames", "row.names", "unnamed: 0"})
DIGITS = tuple(map(str, range(10)))
MOST_KINDS = 200  # different words in a column
FAR_MEAN, NARROW, WIDE = 3.0, 0.2, 5.0  # beyond these a prior of sd 1 around 0 is of little use
SCALED_TO = 5  # decimals of a scaled value: more would only make a link long
ANY = 100_000  # inputs: a target takes as many as a table has
MOST_HELD_OUT = 5000  # rows; every frame predicts them all
HELD_OUT = "a row is held out"  # why one row more is needed
SIMULATED = "synthetic"  # the value of option `data` that means the model itself


@dataclass(frozen=True)
class TableForm:
    """The columns of a table that a target takes: `least` to `most` inputs and, where it has an outcome, that last.

    `words` is one sentence for a person who brings a table.
    """

    words: str
    least: int = 1
    most: int = 1
    outcome: str = ""  # a key of OUTCOMES
    dim_beyond: int | None = None  # the option of inputs less their number; None: without such an option
    held_out: int = 0  # the least number of rows besides those learnt from
    rows_option: str = "num_data"  # of the target: how many rows are learnt from
    inputs_option: str = "dim"
    reduces: bool = False  # whether fewer rows and inputs than the table has are usual
    as_given: bool = False  # counts, pixels, or columns that are scaled anyway: a page does not offer to scale them
    picks: str = ""  # the option by which the target makes two classes of several
    series: bool = False  # rows follow one another: none may be missing, and the last column is taken
    layout: int = 0  # a table with this number of columns of numbers is taken as it is

    def options(self, specs: Mapping[str, KnobSpec], rows: int, columns: int, held_out: int = 0) -> dict[str, int]:
        """The options, of a target with such `specs`, with which it takes all of a table but `held_out` rows."""
        most = rows - max(held_out, self.held_out)
        wanted = {self.rows_option: most}
        if self.dim_beyond is not None:
            wanted[self.inputs_option] = columns - bool(self.outcome) + self.dim_beyond
        return {name: min(value, int((specs[name].bounds or (0, None))[1] or value)) for name, value in wanted.items()}

    def usual_options(self, specs: Mapping[str, KnobSpec], rows: int, columns: int) -> dict[str, int]:
        """The same options without explicit values: all of the table, or the defaults as far as it goes."""
        found = self.options(specs, rows, columns)
        for name in found:
            if self.reduces or (self.held_out and name == self.rows_option):
                found[name] = min(found[name], specs[name].default)
        return {name: value for name, value in found.items() if value > 0}

    def size_of(self, source: str) -> tuple[int, int]:
        """How many rows and columns are taken of a file; of word counts how many documents. Raises InputError."""
        found = content_of(source)
        return (len(found), 0) if isinstance(found, list) else rows_of(source, self).rows.shape

    @property
    def columns_words(self) -> str:
        """How many columns, such as "1 to 8 input columns and one with the outcome (a number)"."""
        some = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
        some = f"{self.least} or more" if self.most == ANY else some
        inputs = f"{some} column{'s' * (self.most > 1)} of numbers"
        return f"{inputs} and one with the outcome ({OUTCOMES[self.outcome]})" if self.outcome else inputs


class Chosen(NamedTuple):
    """The part of a table that a target uses."""

    columns: tuple[str, ...]
    rows: Array  # (n, inputs, and 1 with an outcome)
    said: tuple[str, ...] = ()  # sentences on changes to the data
    units: Units = ()


def usual_roles(cells: Cells, form: TableForm) -> tuple[str, ...]:
    """A role for each column: what a person would choose most often, who may choose otherwise."""
    columns = cells.columns
    if form.layout == len(columns) and all(column.kind == NUMBERS for column in columns):
        return (INPUT,) * (len(columns) - 1) + (OUTCOME,)
    kinds = (NUMBERS, WORDS) if cells.words else (NUMBERS,)
    outcome = (len(columns) - 1 if cells.words else _usual_outcome(columns, form)) if form.outcome else None
    fitting = [k for k, column in enumerate(columns) if column.kind in kinds and k != outcome]
    telling = [k for k in fitting if not names_rows(columns[k]) and (form.as_given or len(columns[k].values) > 1)]
    if outcome is not None:
        telling = [k for k in telling if not _gives_away(columns[k], columns[outcome])]
    found = telling if len(telling) >= form.least else fitting
    inputs = {*(found[-form.most :] if form.series else found[: form.most])}
    return tuple(OUTCOME if k == outcome else INPUT if k in inputs else LEAVE_OUT for k in range(len(columns)))


def settled(roles: Sequence[str], before: Sequence[str], form: TableForm) -> tuple[str, ...]:
    """The roles after one was chosen: the only outcome, or the only input, gives way to a new one."""
    made = list(roles)
    for role in (OUTCOME, *([INPUT] if form.most == 1 else [])):
        new = [k for k, (now, then) in enumerate(zip(roles, before, strict=True)) if now == role != then]
        if new:
            made = [LEAVE_OUT if each == role and k != new[0] else each for k, each in enumerate(made)]
    return tuple(made)


def chosen(cells: Cells, roles: Sequence[str], form: TableForm, scale: bool = False) -> Chosen:
    """The rows without a missing value, inputs first and the outcome last; a column of words is one of 0, 1 for each.

    Raises InputError for what does not fit.
    """
    inputs = [column for column, role in zip(cells.columns, roles, strict=True) if role == INPUT]
    outcomes = [column for column, role in zip(cells.columns, roles, strict=True) if role == OUTCOME]
    if len(outcomes) != bool(form.outcome):
        raise InputError(f"choose one column as the outcome; chosen: {len(outcomes)}")
    if not form.least <= len(inputs) <= max(form.most, form.layout - 1):
        raise InputError(f"this target takes {form.columns_words}; chosen as input: {len(inputs) or 'none'}")
    said: list[str] = []
    whole = np.all([column.there for column in (*inputs, *outcomes)], axis=0)
    parts = [_input(column, whole) for column in inputs] + [_outcome(column, whole, form, said) for column in outcomes]
    if not whole.any():
        raise InputError("every row has a missing value in one of the chosen columns: leave some columns out")
    if form.series and not whole.all():
        row = f"row {1 + int(whole.argmin()):,}"
        raise InputError(f"a series must have no gaps; {row} has no value: fill it in, or leave out the rows before")
    if lost := int((~whole).sum()):
        said.append(f"{lost:,} row{'s' * (lost > 1)} with missing values {'are' if lost > 1 else 'is'} left out.")
    names, scales = zip(*((name, scaled) for called, _, scaled in parts for name in called), strict=True)
    rows = np.column_stack([values for _, values, _ in parts])
    units: Units = ()
    if scale:
        rows, units = _scaled(names, rows, scales, said)
    return Chosen(tuple(names), rows, tuple(said), units)


def should_scale(cells: Cells, roles: Sequence[str], form: TableForm) -> bool:
    """Whether one of the columns that are numbers is far from mean 0 and sd 1, where that matters."""
    with np.errstate(over="ignore", invalid="ignore"):  # a number that is too large is far from 1
        return not form.as_given and any(
            abs(column.known.mean()) > FAR_MEAN or not NARROW <= column.known.std() <= WIDE
            for column, role in zip(cells.columns, roles, strict=True)
            if column.kind == NUMBERS and (role == INPUT or (role == OUTCOME and form.outcome == "number"))
        )


def names_rows(column: Column) -> bool:
    """Whether a column counts or names the rows."""
    return column.counts_rows or column.name.lower() in ROW_NAMES


def _gives_away(column: Column, outcome: Column) -> bool:
    """Whether a column is the outcome of two values once more, such as "not yes" next to "yes"."""
    if any(len(each.values) != 2 or (each.words is None and each.values != ("0", "1")) for each in (column, outcome)):
        return False
    one, other = (each.cells == (0 if each.words is None else each.values[0]) for each in (column, outcome))
    return bool((one == other).all() or (one != other).all())


def _usual_outcome(columns: Sequence[Column], form: TableForm) -> int | None:
    """The last column that can be one, or the last named like one; a column of all ten digits is last."""
    last = len(columns) - 1  # what counts the rows there may well be an outcome
    free = [k for k, column in enumerate(columns) if not names_rows(column) or (k == last and column.counts_rows)]
    if form.picks and free and columns[free[-1]].values == DIGITS:
        return free[-1]
    fitting = [k for k in free if _can_be(columns[k], form.outcome)]
    named = [k for k in fitting if columns[k].name.lower() in OUTCOME_NAMES]
    others = [k for k in free[-1:] if form.picks and columns[k].kind == NUMBERS and _is_label(columns[k])]
    return next(reversed(named or fitting or others), None)


def _can_be(column: Column, outcome: str) -> bool:
    if outcome == "class":
        return len(column.values) == 2
    if outcome == "classes":
        return 2 <= len(column.values) <= MOST_CLASSES
    return column.kind == NUMBERS


def _is_label(column: Column) -> bool:
    return len(column.values) <= len(DIGITS) and bool((np.nan_to_num(column.numbers) % 1 == 0).all())


Part = tuple[tuple[str, ...], Array, bool]  # names, values (n, columns) in some rows, whether they are scaled


def _input(column: Column, rows: Array, outcome: bool = False) -> Part:
    name = shown(column.name, 40)
    if column.kind == NUMBERS:
        return (column.name,), column.numbers[rows, None], True
    if column.words is None or outcome or np.isfinite(column.numbers).any():
        raise InputError(f"column {name} has {column.misfit or 'no value'}, where a number is needed; leave it out")
    kinds = sorted({*column.words[rows]})
    if len(kinds) > MOST_KINDS:
        words = f"{len(kinds):,} different words, more than the {MOST_KINDS} allowed"
        raise InputError(f"column {name} has {words}; leave it out")
    values = (column.words[rows, None] == np.array(kinds, object)).astype(float)
    return tuple(f"{column.name}={kind}" for kind in kinds), values, False


def _outcome(column: Column, rows: Array, form: TableForm, said: list[str]) -> Part:
    found, name = len(column.values), shown(column.name, 40)
    two_words = column.kind == WORDS and found == 2 and not np.isfinite(column.numbers).any()
    if form.outcome == "number" and not two_words:
        return _input(column, rows, outcome=True)
    if column.kind == NUMBERS and found > 1 and ((form.picks and found > 2) or form.outcome == "classes"):
        return (column.name,), column.numbers[rows, None], False
    most = MOST_CLASSES if form.outcome == "classes" else 2
    if not 2 <= found <= most:
        wanted = "two classes are" if most == 2 else f"2 to {MOST_CLASSES} classes are"
        many = f"more than {MOST_CLASSES}" if found > MOST_CLASSES else f"{found}"
        raise InputError(f"column {name} has {many} different values, where {wanted} needed; choose another outcome")
    codes = np.searchsorted(np.unique(column.known), column.cells[rows, None]).astype(float)
    if column.values != tuple(str(code) for code in range(found)):
        meant = ", ".join(f"{shown(text, 24)} is {code}" for code, text in reversed([*enumerate(column.values[:8])]))
        said.append(f"In {name}, {meant}.")
    return (column.name,), codes, False


def _rounded(value: float) -> float:
    """To 12 digits: the last ones depend on the machine."""
    return float(f"{value:.12g}")


def _scaled(names: Sequence[str], rows: Array, which: Sequence[bool], said: list[str]) -> tuple[Array, Units]:
    """Columns less their mean, divided by their sd, with both; a column of one value is 0.

    A sentence has the values of 0 and 1 of the first few in the units of the table.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean, sd = rows.mean(axis=0), rows.std(axis=0)
        made = np.round((rows - mean) / np.where(sd > 0, sd, 1.0), SCALED_TO)
    if not np.isfinite((made + sd)[:, np.array(which)]).all():
        raise InputError("some numbers are too large to be scaled: leave that column out, or give them in other units")
    found = list(zip(names, mean.tolist(), sd.tolist(), which, strict=True))
    some = [f"{shown(name, 24)} {zero:.4g} and {zero + one:.4g}" for name, zero, one, on in found if on]
    told = ", ".join([*some[:4], *(["..."] if len(some) > 4 else [])])
    said.append(f"Scaled to mean 0 and sd 1; 0 and 1 are, in the original units: {told}.")
    units = tuple((_rounded(zero), _rounded(one) or 1.0) if on else (0.0, 1.0) for _, zero, one, on in found)
    return np.where(which, made, rows), units


def rows_of(source: str, form: TableForm) -> Chosen:
    """The rows of a file, or of a table that is held, with the roles that the page would give its columns.

    A table that is held, and an array, is taken as it is: inputs first, then the outcome. Raises InputError.
    """
    found = content_of(source)
    if isinstance(found, list):
        where = shown(path_of(source))
        raise InputError(f"file {where} holds word counts, and this target needs a table; use target 'topics'")
    if isinstance(found, Table):
        return Chosen(found.columns, found.rows)
    return Chosen((), found) if isinstance(found, Array) else _of_cells(source, form)


def at_least_two(source: str, rows: Array) -> Array:
    """The rows, if they are two at least, of two columns. Raises InputError."""
    if min(rows.shape) < 2:
        raise too_small(path_of(source), rows)
    return rows


@lru_cache(maxsize=2)
def _of_cells(source: str, form: TableForm) -> Chosen:
    cells = content_of(source)
    assert isinstance(cells, Cells)
    try:
        return _taken(cells, form, path_of(source))
    except InputError as error:
        more = "; pmdviz.read_table takes the columns that you name"
        raise InputError(f"file {shown(path_of(source))}: {error}{more}", "data", error.on_page) from None


def _taken(cells: Cells, form: TableForm, called: str) -> Chosen:
    """The rows with the usual roles; an InputWarning names the columns that are left out."""
    roles = usual_roles(cells, form)
    found = chosen(cells, roles, form)
    left_out = [column for column, role in zip(cells.columns, roles, strict=True) if role == LEAVE_OUT]
    unused = [f"{shown(each.name, 40)}{f' ({each.misfit})' * (each.kind == WORDS)}" for each in left_out]
    left = [f"Left out: {', '.join(unused[:8])}{', ...' * (len(unused) > 8)}."] if unused else []
    if left or found.said:
        used = ", ".join(shown(name, 40) for name in found.columns[:8]) + ", ..." * (len(found.columns) > 8)
        warnings.warn(f"{called}: used: {used}. {' '.join((*left, *found.said))}", InputWarning, stacklevel=2)
    return found


Given: TypeAlias = "str | os.PathLike[str] | Table | pd.DataFrame | ArrayLike"  # data as they are given in Python


def as_source(data: Given, form: TableForm) -> str:
    """The name of data that are given in Python: a path, a table, a data frame or an array. Raises InputError.

    Of a data frame the columns have the same roles as in its CSV file; an array is used unchanged.
    """
    if isinstance(data, str):
        return data
    if isinstance(data, os.PathLike):
        return str(os.fspath(data))
    if isinstance(data, Table):
        return Pin(data)
    if is_frame(data):
        columns, rows, *_ = _taken(cells_of(data), form, "the data frame")
    else:
        rows = as_array(data)
        rows = rows[:, None] if rows.ndim == 1 else rows
        if rows.ndim != 2 or rows.dtype.kind not in "biuf":
            raise InputError(f"data must be a table of numbers (n, k); got {shown(data)}", "data")
        columns = tuple(f"x{k}" for k in range(1, rows.shape[1] + 1))
    return Pin(hold("given", columns, rows, ""))


def table_of(
    source: str | pd.DataFrame, form: TableForm, inputs: Sequence[str] | None, outcome: str | None, scale: bool
) -> Chosen:
    """The rows of a file or a data frame with these columns as inputs and outcome. Raises InputError."""
    cells = cells_of(source) if is_frame(source) else cells_in(source)
    for name in (*(inputs or ()), *([outcome] if outcome else [])):
        if name not in cells.names:
            raise unknown("column", name, cells.names)
    usual = usual_roles(cells, form)
    roles = [
        OUTCOME if (name == outcome if outcome else role == OUTCOME and name not in (inputs or ())) else
        INPUT if (name in inputs if inputs is not None else role == INPUT) else LEAVE_OUT
        for name, role in zip(cells.names, usual, strict=True)
    ]  # fmt: skip
    return chosen(cells, roles, form, scale)


def divided_table(
    source: str, form: TableForm, num_data: int, seed: int, dim: int | None = None
) -> tuple[Array, Array | None]:
    """`num_data` rows (n, k) of a table: all as they are, or some drawn without replacement by `seed`.

    With them at most MOST_HELD_OUT of the others; None where none is left. Raises InputError where there are fewer
    rows, or where the columns are not what `form` and option `dim` say.
    """
    rows = rows_of(source, form).rows
    columns, inputs = rows.shape[1], rows.shape[1] - bool(form.outcome)
    if not form.least <= inputs <= form.most:
        has = f"{columns} column{'s' * (columns != 1)}"
        raise InputError(f"data {shown(source)} must have {form.columns_words}; they have {has}", "data")
    if form.dim_beyond is not None and dim is not None and dim != (needed := inputs + form.dim_beyond):
        raise InputError(f"dim must be {needed} with data {shown(source)} of {columns} columns; got {dim}", "dim")
    rng, left = np.random.default_rng(seed), form.held_out
    kept, rest = map(np.sort, divided(rng, len(rows), num_data, source, MOST_HELD_OUT, left))
    return rows[kept].astype(float), rows[rest].astype(float) if len(rest) else None


def divided(
    rng: Rng, rows: int, num_data: int, source: str, most: int = MOST_HELD_OUT, left: int = 1
) -> tuple[Array, Array]:
    """Numbers of `num_data` rows in random order, and of at most `most` others; `left` must be. Raises InputError."""
    check_most("num_data", num_data, rows - left, source, HELD_OUT * left)
    order = rng.permutation(rows)
    return order[:num_data], order[num_data:][:most]


def check_most(option: str, given: int, most: int, source: str, so_that: str = "") -> None:
    """Raises InputError where an option is larger than the data of a source allow, `so_that` something holds."""
    if given > most:
        why = f", so that {so_that}" if so_that else ""
        raise InputError(f"{option} must be at most {most:,} with data {shown(source)}{why}; got {given:,}", option)


def names_of_inputs(source: str, form: TableForm, inputs: int) -> tuple[str, ...]:
    """The names of the inputs of a table; x₁, x₂, ... where it has no names, or where they are not its columns."""
    names = rows_of(source, form).columns
    return names[:inputs] if len(names) == inputs + bool(form.outcome) else tuple(numbered("x", inputs))


class TargetOptions(Knobs):
    """Options of a target: a new value of any of them begins a new run; several targets share these.

    num_data: Number of observed data points.
    pair: The two digits to tell apart, the first as class 1; of a file, where its classes are not 0 and 1 or -1 and 1.
    prior_sd: Standard deviation of the prior, centred at 0.
    data_seed: Seed of the random data set.
    q0_mean: Where a run starts from: the mean of the Gaussian q₀ in every coordinate.
    q0_sd: Standard deviation of the Gaussian q₀; weights against a q₀ narrower than the target have a variance without
        bound.
    """

    restarts = True
    form: ClassVar[TableForm]  # what a person's own table must be, where there is a knob `data`


ONLY_SIMULATED = "data", SIMULATED  # `only_if` of an option that matters to simulated data alone
Q0_MEAN = Real(0.0, (-50, 50), (-10, 10), "Mean of q₀", "units of x")
Q0_SD = Real(2.0, (0.05, 100), (0.5, 10), "Sd of q₀", "units of x", log=True)


class DataOptions(TargetOptions):
    """Options of a target whose data are drawn by a seed: its last one."""

    data_seed = Whole(0, (0, 2**32 - 1), label="Data seed")


def data_points(default: int, most: int = 100_000) -> KnobSpec[int]:
    """N, how many data are observed."""
    return Whole(default, (1, most), (1, min(most, 20_000)), "Data points N", log=True)


def data_source(built_in: Mapping[str, str], **rest: str) -> KnobSpec[str]:
    """Where the data come from: the first of `built_in` (name -> words), another of them, or a person's file."""
    return Source(next(iter(built_in)), built_in, "Data from", **rest)


def own_data(form: TableForm, **simulated: str) -> KnobSpec[str]:
    """The data of the model itself, or a person's table: see `TableForm`."""
    doc = f"Simulated from the model; or a table of your own. {form.words}"
    return data_source({SIMULATED: "the model itself", **simulated}, doc=doc)


def digit_pair() -> KnobSpec[str]:
    """The two digits to classify, where the data are images of all ten; the first is class 1."""
    pairs = {f"{one}-{zero}": f"{one} against {zero}" for one in range(9, 0, -1) for zero in range(one - 1, -1, -1)}
    return Choice("8-6", pairs, "Digits", only_if=("data", ("digits", "mnist", A_FILE)))


def noise(default: float, least: float = 0.05, label: str = "Noise σₓ", unit: str = "units of x") -> KnobSpec[float]:
    """sigma_x, the sd of an observation."""
    return Real(default, (least, 100), (max(least, 0.5), 10), label, unit, log=True)


def prior_sd(bounds: tuple[float, float], default: float = 1.0, basic: bool = False) -> KnobSpec[float]:
    """The prior's sd in every coordinate; `basic`: always in sight."""
    usual = max(bounds[0], 0.5), min(bounds[1], 10)
    return Real(default, bounds, usual, "Prior sd", "units of θ", log=True, basic=basic)


class StartOptions(TargetOptions):
    """Options of a target without data: its last ones."""

    q0_mean, q0_sd = Q0_MEAN, Q0_SD


def target_seed(default: int, what: str) -> KnobSpec[int]:
    """The seed of the density's random parts."""
    return Whole(default, (0, 2**32 - 1), label="Target seed", doc=f"Seed of {what}.")
