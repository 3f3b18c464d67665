"""Returns of an asset, one after the other: closings that a package carries, or a person's file."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

from pmdviz.data.cells import Cells
from pmdviz.data.files import content_of
from pmdviz.errors import InputError, shown
from pmdviz.targets.table_form import TableForm, rows_of

SP500, PERCENT = "sp500", 100.0
CLOSINGS = Path("internal", "datasets", "sp500_closing_prices.py")  # plain NumPy: the package itself needs much more


def read_returns(source: str, form: TableForm, count: int) -> np.ndarray:
    """The last `count` returns of a source, (count,), less their mean.

    Of S&P 500 closings the log returns in percent, of a file its last column as it is. Raises InputError for fewer
    returns, for returns all equal, and for a first column of whole numbers that leaves one out or is out of order.
    """
    returns = PERCENT * np.diff(np.log(closings())) if source == SP500 else _of_file(source, form)
    if len(returns) < count:
        raise InputError(
            f"num_data must be at most {len(returns):,} with data {shown(source)}; given: {count:,}", "num_data"
        )
    if np.ptp(returns[-count:]) == 0:
        raise InputError(f"the last {count:,} returns of data {shown(source)} are all equal", "data")
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
