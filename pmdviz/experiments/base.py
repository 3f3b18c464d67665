"""What an experiment is: cases that are computed one by one, in worker processes, and what is made of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from pmdviz.experiments.forecast import Size
from pmdviz.experiments.pictures import Picture
from pmdviz.knobs import Knobs

EXPERIMENTS: dict[str, Experiment] = {}

Case = dict[str, Any]  # plain values that say all of one computation, its seed among them
Row = dict[str, Any]


class Experiment:
    """Something measured over many cases. A subclass with a `name` enters EXPERIMENTS by being defined.

    Attributes
    ----------
    name, title, about, source : str
        Its key, its words in menus, what it measures in a sentence, and where it comes from.
    Knobs : class of Knobs
        What can be chosen.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    about: ClassVar[str] = ""
    source: ClassVar[str] = "ours"
    Knobs: ClassVar[type[Knobs]]

    def __init_subclass__(cls) -> None:
        if cls.name:
            EXPERIMENTS[cls.name] = cls()

    def columns(self, knobs: Any) -> Mapping[str, type]:
        """The columns of a row, each int, float, str or bool."""
        raise NotImplementedError

    def cases(self, knobs: Any) -> list[Case]:
        """What is to be computed, no two alike. Raises InputError for knobs that do not go together."""
        raise NotImplementedError

    def run(self, case: Case) -> list[Row]:
        """The rows of a case, one or several; a function of the case alone."""
        raise NotImplementedError

    def summary(self, rows: Sequence[Row], knobs: Any) -> list[dict[str, Any]]:
        """What comes out: means with standard errors, slopes, verdicts; [] while there are too few rows."""
        raise NotImplementedError

    def pictures(self, rows: Sequence[Row], knobs: Any) -> Sequence[Picture]:
        """What is drawn of the rows, also of the first few; () for an experiment that is a table alone."""
        return ()

    def examples(self, knobs: Any) -> Sequence[Picture]:
        """What one case looks like from near; takes seconds at most and is drawn once, at the end."""
        return ()

    def size(self, case: Case) -> Size | None:
        """What a case is predicted to need; None for one that is never too large."""
        return None


def mean_with_error(values: np.ndarray) -> tuple[float, float]:
    """Mean of values (n,) and its standard error, NaN where there are too few for either."""
    mean = float(values.mean()) if len(values) else float("nan")
    return mean, float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
