"""What an experiment is: cases that are computed one by one, in worker processes, and what is made of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pmdviz.knobs import Knobs

EXPERIMENTS: dict[str, Experiment] = {}

Case = dict[str, Any]  # plain values that say all of one computation, its seed among them
Row = dict[str, Any]


class Chart(NamedTuple):
    """Points on log axes, a power law fitted to them, and slopes that theory speaks of."""

    x: np.ndarray
    y: np.ndarray
    x_label: str  # with the unit
    y_label: str
    slopes: Sequence[tuple[str, float]] = ()  # words and slope of a triangle


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

    def chart(self, rows: Sequence[Row], knobs: Any) -> Chart | None:
        """What is drawn of the rows; None for an experiment that is a table alone."""
        return None
