"""What a person's own table must be for a target, and the rows that are taken of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pmdviz.data.files import names_of, read_rows
from pmdviz.errors import InputError, shown
from pmdviz.targets.space import numbered

if TYPE_CHECKING:
    from pmdviz.knobs import KnobSpec

OUTCOMES = {
    "": "no outcome",
    "number": "a number",
    "class": "one of two classes",
    "classes": "one of several classes",
}
MOST_HELD_OUT = 5000  # rows; every frame predicts them all
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
    dim_beyond: int | None = None  # the option of inputs less their number; None: there is no such option
    held_out: int = 0  # so many rows beyond those learnt from must be left at least
    rows_option: str = "num_data"  # of the target: how many rows are learnt from
    inputs_option: str = "dim"
    reduces: bool = False  # whether fewer rows and inputs than the table has are usual
    as_given: bool = False  # counts, pixels, or what is scaled anyway: a page does not offer to scale it

    def options(self, specs: Mapping[str, KnobSpec], rows: int, columns: int, held_out: int = 0) -> dict[str, int]:
        """The options, of a target with such `specs`, with which it takes all of a table but `held_out` rows."""
        most = rows - max(held_out, self.held_out)
        wanted = {self.rows_option: most}
        if self.dim_beyond is not None:
            wanted[self.inputs_option] = columns - bool(self.outcome) + self.dim_beyond
        return {name: min(value, int((specs[name].bounds or (0, value))[1])) for name, value in wanted.items()}

    def usual_options(self, specs: Mapping[str, KnobSpec], rows: int, columns: int) -> dict[str, int]:
        """The same where nobody says them: all of the table, or the defaults as far as it goes."""
        found = self.options(specs, rows, columns)
        for name in found:
            if self.reduces or (self.held_out and name == self.rows_option):
                found[name] = min(found[name], specs[name].default)
        return {name: value for name, value in found.items() if value > 0}

    @property
    def columns_words(self) -> str:
        """How many columns, such as "1 to 8 input columns and one with the outcome (a number)"."""
        some = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
        inputs = f"{some} column{'s' * (self.most > 1)} of numbers"
        return f"{inputs} and one with the outcome ({OUTCOMES[self.outcome]})" if self.outcome else inputs


def read_table(source: str, form: TableForm, num_data: int, seed: int, dim: int | None = None) -> np.ndarray:
    """`num_data` rows (n, k) of a table: all as they stand, or some drawn without replacement by `seed`.

    Raises InputError where there are fewer rows, or where the columns are not what `form` and option `dim` say.
    """
    return divided_table(source, form, num_data, seed, dim)[0]


def divided_table(
    source: str, form: TableForm, num_data: int, seed: int, dim: int | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """The rows of `read_table`, and at most MOST_HELD_OUT of the others; None where none is left.

    Raises InputError as `read_table` does.
    """
    rows = read_rows(source, least=1)
    _check_columns(source, form, rows.shape[1] - bool(form.outcome), dim)
    most = len(rows) - form.held_out
    if num_data > most:
        so_that = ", so that a row is held out" * form.held_out
        raise InputError(
            f"num_data must be at most {most:,} with data {shown(source)}{so_that}; given: {num_data:,}", "num_data"
        )
    order = np.random.default_rng(seed).permutation(len(rows))
    kept, rest = np.sort(order[:num_data]), np.sort(order[num_data:][:MOST_HELD_OUT])
    return rows[kept].astype(float), rows[rest].astype(float) if len(rest) else None


def names_of_inputs(source: str, inputs: int, outcome: bool = True) -> tuple[str, ...]:
    """What the inputs of a table are called; x₁, x₂, ... where it does not say, or where they are not its columns."""
    names = names_of(source)
    return names[:inputs] if len(names) == inputs + outcome else tuple(numbered("x", inputs))


def _check_columns(source: str, form: TableForm, inputs: int, dim: int | None) -> None:
    columns = inputs + bool(form.outcome)
    if not form.least <= inputs <= form.most:
        has = f"{columns} column{'s' * (columns != 1)}"
        raise InputError(f"data {shown(source)} must have {form.columns_words}; they have {has}", "data")
    if form.dim_beyond is not None and dim is not None and dim != inputs + form.dim_beyond:
        needed = inputs + form.dim_beyond
        raise InputError(f"dim must be {needed} with data {shown(source)} of {columns} columns; given: {dim}", "dim")
