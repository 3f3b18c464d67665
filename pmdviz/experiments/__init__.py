"""The base class of experiments: cases, their cost, and the pictures of their rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from pmdviz.engine.recipe import MAX_SEED, Recipe, checked_whole
from pmdviz.errors import InputError, shown
from pmdviz.kernels.checks import Array
from pmdviz.knobs import Knobs, documented, named_after, whole_number
from pmdviz.limits import limit
from pmdviz.targets import Target

Case = dict[str, Any]  # plain values that say all of one computation, its seed among them
Row = dict[str, Any]  # column -> value
K = TypeVar("K", bound=Knobs)

# The pictures of an experiment as plain numbers and words, for a view or for another library.

BAND = (0.1, 0.9)  # the quantiles between which 80 % of the runs lie


class Series(NamedTuple):
    """One line, or points, of a chart.

    `look` is "line" (with points on it), "points" or "dashes"; a band reaches from `low` to `high` where there are.
    """

    name: str  # for the legend
    x: Array  # (n,)
    y: Array  # (n,)
    low: Array | None = None
    high: Array | None = None
    look: str = "line"


class Chart(NamedTuple):
    """Series over one pair of axes; `slopes` are words and slopes of guide lines, `levels` words and heights."""

    series: Sequence[Series]
    x_label: str  # with the unit
    y_label: str
    x_log: bool = True
    y_log: bool = True
    slopes: Sequence[tuple[str, float]] = ()
    levels: Sequence[tuple[str, float]] = ()
    title: str = ""


class HeatMap(NamedTuple):
    """A matrix (rows, columns) as colours around 0."""

    values: Array
    x_label: str
    y_label: str
    value_label: str
    title: str = ""


class Histogram(NamedTuple):
    """Counts (n,) between edges (n + 1,), and vertical lines, words and place of each."""

    edges: Array
    counts: Array
    marks: Sequence[tuple[str, float]]
    x_label: str
    y_label: str
    title: str = ""


class Group(NamedTuple):
    """Ellipses of one kind: Gaussians of means (k, 2) and covariances (k, 2, 2)."""

    name: str  # for the legend
    means: Array
    covs: Array
    bold: bool = False


class Ellipses(NamedTuple):
    """Ellipses that hold 68 % of each Gaussian, over points (n, 2)."""

    groups: Sequence[Group]
    points: Array
    x_label: str
    y_label: str
    title: str = ""


Picture = Chart | HeatMap | Histogram | Ellipses


def mean_series(name: str, rows: Sequence[Row], x: str, y: str, look: str = "line") -> Series:
    """Means of column `y` over the rows at each value of column `x`, and the band that holds 80 % of them."""
    found = sorted(grouped([row for row in rows if np.isfinite(row[y])], x).items())
    values = [np.array([row[y] for row in mine], float) for _, mine in found]
    low, high = (np.array([np.quantile(each, q) for each in values]) for q in BAND)
    levels = np.array([level for (level,), _ in found], float)
    return Series(name, levels, np.array([each.mean() for each in values]), low, high, look)


EXPERIMENTS: dict[str, Experiment] = {}


class Experiment(Generic[K]):
    """Something measured over many cases. A subclass with a `name` enters EXPERIMENTS by being defined.

    Attributes
    ----------
    name, title, about, source : str
        Its key, its words in menus, what it measures in a sentence, and where it comes from. All but the name may be
        lines of the docstring.
    judging : tuple of str
        Knobs that change pictures and summary alone: the rows stay.
    Knobs : class of Knobs
        What can be chosen; of a class `Some` by default the class `SomeKnobs` of its file.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    about: ClassVar[str] = ""
    source: ClassVar[str] = "ours"
    judging: ClassVar[tuple[str, ...]] = ()
    Knobs: type[K]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, text in documented(cls).items():
            if name in ("title", "about", "source"):
                setattr(cls, name, text)
        if cls.name:
            if own := named_after(cls, "Knobs"):
                cls.Knobs = own
            EXPERIMENTS[cls.name] = cls()
            cls.Knobs.kind_words = f"knob of experiment {cls.name!r}:"

    def columns(self, knobs: K) -> Mapping[str, type]:
        """The columns of a row, each int, float, str or bool."""
        raise NotImplementedError

    def cases(self, knobs: K) -> list[Case]:
        """The cases to compute, no two alike. Raises InputError for knobs that do not go together."""
        raise NotImplementedError

    def run(self, case: Case) -> list[Row]:
        """The rows of a case, one or several; a function of the case alone."""
        raise NotImplementedError

    def summary(self, rows: Sequence[Row], knobs: K) -> list[Row]:
        """Means with standard errors, slopes, verdicts; [] while there are too few rows."""
        raise NotImplementedError

    def pictures(self, rows: Sequence[Row], knobs: K) -> Sequence[Picture]:
        """The pictures of the rows, also of the first few; () for an experiment that gives a table alone."""
        return ()

    def examples(self, knobs: K) -> Sequence[Picture]:
        """Pictures of one case in detail; takes seconds at most and is drawn once, at the end."""
        return ()

    def size(self, case: Case) -> Size | None:
        """The predicted time and memory of a case; None for one that is never too large."""
        return None


def grouped(rows: Sequence[Row], *columns: str) -> dict[tuple, list[Row]]:
    """The rows by their values in some columns, in the order in which these come first."""
    found: dict[tuple, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in columns), []).append(row)
    return found


def means_of(rows: Sequence[Row], columns: Sequence[str], value: str, words: str) -> list[Row]:
    """For each group the mean of a value with its standard error, runs, and how many have `words`, seconds."""
    found = []
    for key, mine in grouped(rows, *columns).items():
        known = np.array([row[value] for row in mine if np.isfinite(row[value])])
        mean, error = mean_with_error(known)
        entry = {**dict(zip(columns, key, strict=True)), "mean": mean, "standard error": error, "runs": len(mine)}
        entry |= {"without number": len(mine) - len(known), f"with {words}": sum(bool(row[words]) for row in mine)}
        found.append({**entry, "seconds": float(np.mean([row["seconds"] for row in mine]))})
    return found


def numbers(found: Mapping[str, float | None]) -> dict[str, float]:
    """The values; NaN where one is unavailable."""
    return {name: float("nan") if value is None else float(value) for name, value in found.items()}


def checked_seeds(seeds: int | Iterable[int], most: int) -> tuple[int, ...]:
    """0, 1, ... for a number of seeds, or the seeds themselves, at most so many. Raises InputError."""
    number = whole_number(seeds) if not isinstance(seeds, Iterable) else None
    if number is not None:
        return tuple(range(checked_whole("seeds", number, 1, most)))
    if isinstance(seeds, (str, bytes)) or not isinstance(seeds, Iterable):
        raise InputError(f"seeds must be a number of seeds or a list of them; got {shown(seeds)}")
    found = tuple(checked_whole("a seed", seed, 0, MAX_SEED) for seed in seeds)
    if not 1 <= len(found) <= most:
        raise InputError(f"the number of seeds must be at least 1 and at most {most:,}; got {shown(seeds)}")
    return found


def mean_with_error(values: Array) -> tuple[float, float]:
    """Mean of values (n,) and its standard error, NaN where there are too few for either."""
    mean = float(values.mean()) if len(values) else float("nan")
    return mean, float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


MOST_S = 3600.0  # of computing, unless `max_experiment_s` is set
MOST_SERVED_S = 600  # the same where a process serves others
MOST_OF_MEMORY = 0.5  # share of the free memory that all workers may take together


# On one core of an AMD EPYC at d = 2; a kernel and a pair take twice as long with 10 more coordinates.
KERNEL_S, PAIR_S, STEP_S, START_S = 2.5e-9, 1e-9, 5e-5, 0.2  # a kernel; a particle and observation; a step; a run
BASE_MB, PAIR_MB = 200.0, 2.4e-5  # of a worker, and of three numbers for each particle and observation

_served = False


class Size(NamedTuple):
    """The cost of a case: seconds on one core, and megabytes at its largest."""

    seconds: float
    megabytes: float


class TooMuch(InputError):
    """An experiment that is refused; `may_insist`: unless a person insists."""

    def __init__(self, words: str, may_insist: bool = True) -> None:
        how = ", or insist (insist=True, --insist)" if may_insist else ""
        super().__init__(f"{words}; make it smaller{how}", "", f"{words}; make it smaller")  # a page has a button
        self.may_insist = may_insist


def forbid_insisting() -> None:
    """Refuse to insist in this process from now on, because it serves others."""
    global _served
    _served = True


def most_seconds() -> int | float | None:
    """Seconds that an experiment may take at most; None where a person may insist on more."""
    asked = limit("max_experiment_s")
    return MOST_SERVED_S if asked is None and _served else asked


def check_size(sizes: Sequence[Size], workers: int, insist: bool = False) -> None:
    """Raise TooMuch where the cases would take too long, or more memory than there is.

    To insist helps against time, but not where `max_experiment_s` is set or the process serves others; never against
    memory.
    """
    limited = most_seconds()
    if not sizes:
        return
    times = [size.seconds for size in sizes]
    seconds = max(sum(times) / workers, *times)
    most = MOST_S if limited is None else float(limited)
    at_once = sorted((size.megabytes for size in sizes), reverse=True)[:workers]
    free = free_megabytes()
    if free is not None and sum(at_once) > MOST_OF_MEMORY * free:
        words = f"about {in_megabytes(sum(at_once))} of memory, and {in_megabytes(free)} are free"
        raise TooMuch(f"this experiment would take {words}", False)
    if seconds > most and not (insist and limited is None):
        words = f"about {in_time(seconds)} on {workers} {'core' if workers == 1 else 'cores'}"
        bound = f"more than {in_time(most)} has to be asked for"
        bound = bound if limited is None else f"{in_time(most)} is the most that is allowed here"
        raise TooMuch(f"this experiment would take {words}, and {bound}", limited is None)


def free_megabytes() -> float | None:
    """Memory that is free, by the account of Linux; None on other systems."""
    try:
        found = re.search(r"^MemAvailable:\s*(\d+)", Path("/proc/meminfo").read_text("ascii"), re.M)
    except OSError:
        return None
    return int(found[1]) / 1024 if found else None


def in_time(seconds: float) -> str:
    """12 s, 5 minutes or 3 hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:,.0f} hours"


def in_megabytes(size: float) -> str:
    """500 MB or 3 GB."""
    return f"{size:,.0f} MB" if size < 1500 else f"{size / 1024:,.0f} GB"


WIDER = 10


def size_of_run(recipe: Recipe, target: Target) -> Size:
    """Seconds and memory of a run to the end of its budget."""
    knobs = recipe.start_knobs()
    work, steps = knobs.work_on(target), (recipe.budget or 0) / knobs.rows(target.num_data)
    pairs = work.likelihoods + work.gradients
    step_s = (work.kernels * KERNEL_S + pairs * PAIR_S) * (1 + target.dim / WIDER) + STEP_S
    return Size(START_S + steps * step_s, BASE_MB + pairs * PAIR_MB)
