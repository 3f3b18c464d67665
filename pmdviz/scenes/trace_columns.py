"""The plain arrays behind the traces: thinned, clamped to the axis, with marks of events; a run's past in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.knobs import KnobSpec, Value
from pmdviz.methods import METHODS, Method
from pmdviz.methods.step import Scalar
from pmdviz.metrics import METRICS, Metric, applicable
from pmdviz.pictures import NOTHING, Axis, Picture, nice
from pmdviz.pictures import Mark as Layer
from pmdviz.scenes.words import INDEPENDENT_DRAWS, SHARE, capital, count, number
from pmdviz.targets import Target

MAX_POINTS = 2_000
UNKNOWN = "{} needs an exact posterior: choose another trace"
CLOCKS = {
    "visited": "observations used",
    "evaluations": "likelihood evaluations (pairs of θ and observation)",
    "iteration": "iteration",
    "seconds": "computing time (seconds)",
}
RACE_CLOCKS = {
    "visited": CLOCKS["visited"],
    "gradient_evaluations": "gradient evaluations (pairs of θ and observation)",
    "density_evaluations": "density evaluations (pairs of θ and observation)",
    "evaluations": CLOCKS["evaluations"],
    "seconds": "computing time of the steps (seconds)",
}
EVERY_CLOCK = tuple(dict.fromkeys(("iteration", *CLOCKS, *RACE_CLOCKS)))
CLOCK_OF = {"data": "visited", "evaluations": "evaluations"}  # unit of a budget -> the clock that counts it


Span = tuple[float, float]
History = Mapping[str, np.ndarray]  # columns of a run


class Trace(NamedTuple):
    """A line of the traces."""

    title: str  # in the legend
    colour: str  # a layer of the theme
    dash: str | tuple[int, ...]


class Group(NamedTuple):
    """Traces that share an axis."""

    title: str
    axis_label: str
    log: bool
    metrics: Mapping[str, Trace]  # by the column of the history that it shows
    floors: Mapping[str, str] = NOTHING  # floor -> the metric that it is a floor of
    ceiling: float = np.inf  # above which values are drawn at the edge of a logarithmic axis
    ends: tuple[float, float] | None = None  # of an axis that is the same whatever the values are
    most: float = np.inf  # that a value on a linear axis can be

    @property
    def keys(self) -> dict[str, str]:
        """The marks of its lines, the same in every group: another group takes over what draws them."""
        return {name: f"line {k}" for k, name in enumerate(self.metrics)}


class Groups(dict[str, Group]):
    """The axes of all metrics and of all numbers that methods tell of their steps, by key."""

    def of(self, target: Target, method: Method) -> dict[str, Group]:
        """Those available for a target and a method."""
        names = {metric.name for metric in applicable(target, method) if metric.traced(target, method)}
        names |= {scalar.name for scalar in method.scalars}
        return {key: group for key, group in self.items() if names & set(group.metrics)}


def _groups() -> Groups:
    axes: dict[str, list[Metric]] = {}
    for metric in METRICS.values():
        if metric.axis:
            axes.setdefault(metric.axis, []).append(metric)
    found = Groups({key: _of_metrics(those) for key, those in axes.items()})
    scalars = {scalar.name: scalar for method in METHODS.values() for scalar in method.scalars}
    found.update({f"step_{name}": _of_scalar(scalar) for name, scalar in scalars.items()})
    return found


def _of_metrics(those: list[Metric]) -> Group:
    first = those[0]
    label = first.axis_label or first.label
    lines = {one.name: Trace(one.title, one.colour, one.dash) for one in those}
    floors = {one.baseline: one.name for one in those if one.baseline}
    ceiling = max(one.limits[1] for one in those) if first.log else np.inf
    ends = first.limits if first.fixed else None
    most = first.limits[1] if first.unit == SHARE else np.inf
    return Group(first.axis_title or first.title, label, first.log, lines, floors, ceiling, ends, most)


def _of_scalar(scalar: Scalar) -> Group:
    label = f"{scalar.title} ({scalar.unit})" if scalar.unit else scalar.title
    return Group(capital(scalar.title), label, scalar.log, {scalar.name: Trace(scalar.title, "ink", "solid")})


GROUPS = _groups()


def first_group(known: Mapping[str, Group]) -> str:
    """The key of the first traces: the first that says how good the approximation is."""
    ranking = {name for name, metric in METRICS.items() if metric.ranks}
    return next((key for key, group in known.items() if ranking & group.metrics.keys()), next(iter(known)))


COLUMNS = tuple(dict.fromkeys(name for group in GROUPS.values() for name in group.metrics))  # that traces may show
ALWAYS_DUE = frozenset(name for name in COLUMNS if name not in METRICS or METRICS[name].drawn)


def columns_due(group: Group) -> frozenset[str]:
    """The columns that a drawn frame has a value for while `group` is shown: others would cost and not be seen."""
    return ALWAYS_DUE.union(group.metrics)


def extremes(columns: Iterable[np.ndarray], limit: int = MAX_POINTS) -> np.ndarray:
    """Row numbers: all of them, or at most `limit`, the first and last included: no column loses a peak.

    Of every so many rows in a run those where a column is highest and lowest; NaN is neither.
    """
    values = [np.asarray(column, float) for column in columns]
    length = len(values[0])
    if length <= limit:
        return np.arange(length)
    starts = np.linspace(0, length, max((limit - 2) // (2 * len(values)), 1), endpoint=False).astype(np.int64)
    found = [np.array([0, length - 1])]
    for column in values:
        for worst, better in ((-np.inf, np.maximum), (np.inf, np.minimum)):
            known = np.where(np.isnan(column), worst, column)
            best = np.repeat(better.reduceat(known, starts), np.diff(starts, append=length))
            at = np.flatnonzero(known == best)
            found.append(at[np.unique(np.searchsorted(starts, at, side="right"), return_index=True)[1]])
    return np.unique(np.concatenate(found))


def value_range(group: Group, values: Iterable[np.ndarray], floors: Sequence[float] = ()) -> Span:
    """A range for the axis that holds all finite values, or its fixed ends; on a log axis at most up to its ceiling."""
    if group.ends:
        return group.ends
    arrays = [np.asarray(v, float).ravel() for v in (*values, list(floors))]
    flat = np.concatenate(arrays) if arrays else np.empty(0)
    flat = flat[np.isfinite(flat)]
    if group.log:
        flat = flat[flat > 1e-6]
        flat = np.minimum(flat, group.ceiling)
        low, high = (float(flat.min()), float(flat.max())) if len(flat) else (0.05, 1.0)
        top = max(nice(high * 1.1), nice(low) * 10)
        return nice(low * 0.9, up=False), min(top, group.ceiling)
    low, high = (float(flat.min()), float(flat.max())) if len(flat) else (0.0, 1.0)
    pad = 0.06 * max(high - low, 1e-3)
    step = nice(max(high - low, 1e-3)) / 5
    top = math.ceil((high + pad) / step) * step
    return math.floor((low - pad) / step) * step, min(top, group.most) if high <= group.most else top


def floor_words(group: Group, known: Mapping[str, float]) -> str:
    """The lines of independent draws in the legend, with their values: at the lines the traces would cross them."""
    if not known:
        return INDEPENDENT_DRAWS
    if len(group.metrics) == 1:
        return ", ".join(f"{INDEPENDENT_DRAWS}: {number(value)}" for value in known.values())
    said = (f"{group.metrics[group.floors[name]].title} {number(value)}" for name, value in known.items())
    return f"{INDEPENDENT_DRAWS}: {', '.join(said)}"


def clamped(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """`values` with 0, inf and all beyond the axis put on its edge; NaN (unavailable) stays a gap."""
    return np.clip(values, low, high).astype(np.float32)


def over_words(history: History, group: Group) -> str:
    """Which traces are beyond the axis at the last row: "reverse KL > 100"."""
    beyond = [m for m in group.metrics if m in history and float(history[m][-1]) > group.ceiling]
    return ", ".join(f"{group.metrics[m].title} > {group.ceiling:,.0f}" for m in beyond)


def clock_end(clock: str, last: float, budget: int | None, unit: str = "data") -> float:
    """Where the x axis ends: the budget where the clock counts it, else a round number that is reached last."""
    if clock == CLOCK_OF[unit] and budget and last <= budget * 1.05:
        return float(budget) * 1.02
    return max(nice(max(last, 1e-9) * 1.02), 10.0 if clock != "seconds" else 0.1)


def budget_drawn(frame: Frame, budget: int | None) -> int | None:
    """The end of the x axis: the budget, or the spent part of it where the method has ended by itself."""
    if budget is None or not frame.method.ended(frame.state, frame.knobs, frame.target):
        return budget
    return min(budget, frame.spent)


def column(history: History, name: str) -> np.ndarray:
    """A column of the history as floats; NaN where the run has none of that name."""
    found = history.get(name)
    return np.full(len(history["iteration"]), np.nan) if found is None else np.asarray(found, float)


def trace_columns(
    history: History, metrics: Collection[str], span: Span, clocks: Iterable[str] = CLOCKS, limit: int = MAX_POINTS
) -> dict[str, np.ndarray]:
    """Columns of traces that have one source: the clocks, and these metrics inside `span`."""
    values = {metric: column(history, metric) for metric in metrics}
    rows = extremes(values.values(), limit)
    known = np.any([~np.isnan(each[rows]) for each in values.values()], axis=0)
    rows = rows[known] if np.any(known) else rows  # a row that leaves these figures out would part the lines
    columns = {clock: np.asarray(history[clock], float)[rows].astype(np.float32) for clock in clocks}
    return columns | {metric: clamped(each[rows], *span) for metric, each in values.items()}


def traces_axes(
    history: History,
    group: Group,
    clock: str,
    floors: Mapping[str, float | None],
    budget: int | None = None,
    unit: str = "data",
    more: Iterable[np.ndarray] = (),
) -> tuple[Axis, Axis]:
    """The axes that hold a whole history and the floors of its group, and the values of `more` too."""
    values = [*more, *(column(history, name) for name in group.metrics)]
    span = value_range(group, values, [*known_floors(group, floors).values()])
    last = float(history[clock][-1]) if len(history[clock]) else 0.0
    return Axis(CLOCKS[clock], 0.0, clock_end(clock, last, budget, unit)), Axis(group.axis_label, *span, group.log)


def known_floors(group: Group, floors: Mapping[str, float | None]) -> dict[str, float]:
    """Those of the group that are known."""
    found = {name: floors.get(name) for name in group.floors}
    return {name: value for name, value in found.items() if value is not None}


class Standing(NamedTuple):
    """The cursor and the ghost that traces show besides the run itself."""

    iteration: int | None = None  # where a person is in the run; None at the end of it
    ghost: Callable[[Iterable[str]], History] | None = None  # its history, a function of some metrics
    name: str = ""  # of the ghost, in the legend


AT_THE_END = Standing()
MAX_MARKS = 500  # the newest
SIGN_PX, FLOOR_PX, CURSOR_PX, MEDIAN_PX, BAND_ALPHA, MEDIAN_ALPHA = 9.0, 1.5, 1.5, 1.2, 0.2, 0.7
NOWHERE: dict[str, list[float]] = {"x": [], "y": []}
COUNTED = {
    "observations used": "{visited:,}",
    "likelihood evaluations": "{evaluations:,}",
    "iteration": "{iteration:,}",
}
Line = Mapping[str, np.ndarray | list[float]]  # x, y
Bands = Mapping[str, History]  # x, low, middle, high, by the column of each


def traces_picture(
    history: History,
    group: Group,
    clock: str,
    axes: tuple[Axis, Axis],
    floors: Mapping[str, float | None],
    marks: Sequence[Mark] = (),
    expected: Iterable[str] = (),
    standing: Standing = AT_THE_END,
    bands: Bands = MappingProxyType({}),
    seeds: str = "",
    awaited: bool = False,
) -> Picture:
    """The traces of a group against a clock, with floors, and marks on the lower edge.

    The lines share one mapping of columns. Kinds of marks that are `expected` are in the legend from the start, and so
    are floors that are `awaited`: another legend costs a live page a search through all of its models. `seeds` is what
    the `bands` over them are called.
    """
    x, y = axes
    columns, reached = trace_columns(history, group.metrics, (y.low, y.high)), known_floors(group, floors)
    drawn = band_marks(bands, {name: one.colour for name, one in group.metrics.items()}, (y.low, y.high))
    found = [name for name in group.metrics if name in history] or [*group.metrics]  # all while nothing is known
    legend = {group.keys[name]: group.metrics[name].title for name in found}
    if standing.name:
        legend["ghost"] = standing.name.removeprefix("the ")
    known = any(np.isfinite(column(history, name)).any() for name in group.metrics)
    if reached or (awaited and known):
        ends, gap = [0.0, x.high, np.nan], np.nan
        heights = [value for floor in reached.values() for value in (floor, floor, gap)]
        look = {"dash": "floor", "width": FLOOR_PX}
        drawn["floor"] = Layer("line", "floor", {"x": ends * len(reached), "y": heights}, look)
        legend["floor"] = floor_words(group, reached)
    cursor = _cursor(history, clock, standing)
    drawn["cursor"] = Layer("line", "text", cursor, {"edge": True, "width": CURSOR_PX}, moves=True)
    drawn["ghost"] = Layer("line", "ghost", _ghost(group, clock, y, standing), {"dash": "ghost"}, moves=True)
    drawn |= _lines(group, clock, columns)
    there = {mark.look for mark in marks} | {KINDS.get(kind, OTHER) for kind in expected}
    for kind in (*KINDS.values(), OTHER):
        if kind in there:
            drawn[kind.title] = Layer("signs", "muted", NOTHING, {"marker": kind.marker, "size": SIGN_PX})
            legend[kind.title] = kind.title
    drawn["marks"] = _signs(marks, clock)
    if bands:
        legend[f"band {next(iter(bands))}"] = seeds
    words = {"corner": over_words(history, group)} if known else {"middle": UNKNOWN.format(group.title)}
    return Picture(x, y, drawn, legend, about=TRACES_ABOUT, **words)


TRACES_ABOUT = "Curves: how far approximation and posterior are apart, step by step"


def _lines(group: Group, clock: str, columns: History) -> dict[str, Layer]:
    """The metrics; the tooltip of the first one lists them all."""
    ceiling = {"ceiling": group.ceiling} if math.isfinite(group.ceiling) else {}
    tips = COUNTED | {one.title: f"{{{name}:.3g}}" for name, one in group.metrics.items()}
    made: dict[str, Layer] = {}
    for name, one in group.metrics.items():
        look = {"x": clock, "y": name, "dash": one.dash, "shared": "traces", "across": True, **ceiling}
        made[group.keys[name]] = Layer("line", one.colour, columns, look, tips if not made else NOTHING, moves=True)
    return made


def _signs(marks: Sequence[Mark], clock: str) -> Layer:
    """Events as signs at the foot of the picture."""
    shown = marks[-MAX_MARKS:]
    columns = {
        "x": [getattr(mark, clock) for mark in shown],
        "y": [mark.look.height for mark in shown],
        "text": [mark.text for mark in shown],
        "marker": [mark.look.marker for mark in shown],
        "iteration": [mark.iteration for mark in shown],
    }
    look = {"edge": True, "size": SIGN_PX}
    return Layer("signs", "muted", columns, look, {"": "{text}"}, ids="iteration", moves=True)


def band_marks(bands: Bands, colours: Mapping[str, str], span: Span) -> dict[str, Layer]:
    """Where the middle 80 % of other seeds lie, and their median, in the colour of each line."""
    made = {}
    for name, band in bands.items():
        inside = {"x": band["x"], **{edge: np.clip(band[edge], *span) for edge in ("low", "middle", "high")}}
        made[f"band {name}"] = Layer("band", colours[name], inside, {"alpha": BAND_ALPHA})
        dotted = {"y": "middle", "dash": (2, 4), "width": MEDIAN_PX, "alpha": MEDIAN_ALPHA}
        made[f"median {name}"] = Layer("line", colours[name], inside, dotted)
    return made


def _cursor(history: History, clock: str, standing: Standing) -> Line:
    """An upright line where a person is in the run."""
    if standing.iteration is None:
        return NOWHERE
    x = float(np.interp(standing.iteration, history["iteration"], history[clock]))
    return {"x": [x, x], "y": [0.0, 1.0]}


def _ghost(group: Group, clock: str, y: Axis, standing: Standing) -> Line:
    """All lines of another run in one, with gaps between them."""
    if standing.ghost is None:
        return NOWHERE
    columns = trace_columns(standing.ghost(group.metrics), group.metrics, (y.low, y.high))
    gap = np.full(1, np.nan, np.float32)
    return {
        "x": np.concatenate([part for _ in group.metrics for part in (columns[clock], gap)]),
        "y": np.concatenate([part for name in group.metrics for part in (columns[name], gap)]),
    }


def value_of(frame: Frame, name: str) -> float:
    """The value of a frame in a trace: a metric, a number of its step, or how far it is; NaN where it has none."""
    if name in METRICS:
        value = frame.metric(name)
    elif hasattr(frame, name):
        value = getattr(frame, name)
    else:
        value = frame.info.scalars.get(name) if frame.info else None
    return np.nan if value is None else float(value)


# The points of the traces of a run: the measured history, and every frame that was drawn between its rows.

MOST_DRAWN = 8_000  # frames; beyond that only where a trace turns, in half as many
FIRST_ROOM = 256  # rows


class TracePoints(NamedTuple):
    """The history of a run and the frames drawn so far: a copy for the pictures."""

    names: tuple[str, ...]
    history: History
    drawn: np.ndarray  # (n, names), by iteration; NaN for traces that were not shown: those are not computed

    def columns(self, metrics: Iterable[str], last: float = np.inf, gaps: bool = True) -> dict[str, np.ndarray]:
        """The clocks and these, at the history's rows and at the drawn frames between them, up to iteration `last`.

        Without `gaps` drawn frames that lack one of these are left out, as is a metric that the run has in no row.
        """
        names = [*EVERY_CLOCK, *(name for name in metrics if gaps or self._has(name))]
        values = self.drawn[:, [self.names.index(name) for name in names]]
        between = ~np.isin(self.drawn[:, 0], self.history["iteration"])
        if not gaps:
            between &= ~np.isnan(values).any(axis=1)
        pairs = zip(names, values[between].T, strict=True)
        whole = {name: np.append(column(self.history, name), drawn) for name, drawn in pairs}
        order = np.argsort(whole["iteration"], kind="stable")[: int(np.sum(whole["iteration"] <= last))]
        found = {name: each[order] for name, each in whole.items()}
        found["seconds"] = np.maximum.accumulate(found["seconds"])  # a step that was made twice has two times
        return found

    def of(self, metrics: Iterable[str], last: float = np.inf) -> dict[str, np.ndarray]:
        """The same without gaps."""
        return self.columns(metrics, last, gaps=False)

    def _has(self, name: str) -> bool:
        return name in self.history or bool(np.isfinite(self.drawn[:, self.names.index(name)]).any())


class RunTrace:
    """The drawn frames of a run, in rising order. The history of the run itself has other rows."""

    def __init__(self) -> None:
        self._names = (*EVERY_CLOCK, *COLUMNS)
        self._room, self._length = np.empty((FIRST_ROOM, len(self._names))), 0
        self._recipe: Recipe | None = None

    def copy(self) -> RunTrace:
        """Another one with the same frames."""
        twin = RunTrace()
        twin._room, twin._length, twin._recipe = self._room.copy(), self._length, self._recipe
        return twin

    def put(self, frame: Frame, recipe: Recipe, due: Collection[str]) -> None:
        """A frame of the run of `recipe` was drawn; frames drawn after it, or of another run, are dropped.

        `due`: the columns that it has a value for, besides the clocks.
        """
        self._follow(recipe)
        self._cut(frame.iteration)
        row = [value_of(frame, name) if name in EVERY_CLOCK or name in due else np.nan for name in self._names]
        if self._length == len(self._room):
            self._room = np.concatenate([self._room, np.empty_like(self._room)])
        self._room[self._length] = row
        self._length += 1
        if self._length > MOST_DRAWN:
            values = self._room[: self._length, len(EVERY_CLOCK) :].T
            known = ~np.isnan(values).all(axis=1)
            left = extremes(values[known | ~known.any()], MOST_DRAWN // 2)
            self._room, self._length = self._room[left], len(left)

    def _cut(self, iteration: float) -> None:
        """Drop frames drawn at `iteration` and after it."""
        left = int(np.searchsorted(self._room[: self._length, 0], iteration))
        if left < self._length:
            self._room, self._length = self._room.copy(), left  # arrays handed out do not change

    def _follow(self, recipe: Recipe) -> None:
        """Drop frames drawn since the first change of knobs that is not in both recipes; all, of another start."""
        before, self._recipe = self._recipe, recipe
        if before is None or before is recipe:
            return
        if before.until(0, None) != recipe.until(0, None):
            self._cut(0)
        every = *before.changes, *recipe.changes
        common = [one for one in before.changes if one in recipe.changes]
        self._cut(min((one[0] for one in every if one not in common), default=np.inf))

    def points(self, history: History) -> TracePoints:
        """All of them, and the history; both are read only from here on."""
        return TracePoints(self._names, history, self._room[: self._length])


# Events of a run as marks on the axis of the traces: rejuvenations, limited steps and changed knobs.

STEP_WORDS = {"limited": "step limited"}


class Kind(NamedTuple):
    """How marks of a kind are drawn."""

    marker: str  # Bokeh's name
    height: float  # above the axis: a share of the picture
    title: str  # in the legend


KINDS = {
    "rejuvenated": Kind("triangle", 0.025, "new particles"),
    "limited": Kind("inverted_triangle", 0.05, "shorter step"),
    "knob": Kind("diamond", 0.075, "setting changed"),
    "diverged": Kind("asterisk", 0.1, "divergence"),
}
OTHER = Kind("circle", 0.125, "other event")


class Mark(NamedTuple):
    """Something that happened during the run, to be found on the axis."""

    iteration: int
    visited: int
    evaluations: int
    seconds: float
    kind: str  # the step's event, or "knob"
    text: str

    @property
    def look(self) -> Kind:
        """How it is drawn."""
        return KINDS.get(self.kind, OTHER)


def step_marks(frame: Frame) -> list[Mark]:
    """The marks of the step that led to `frame`: new particles, a shorter step."""
    if frame.info is None:
        return []
    at, now = (frame.iteration, frame.visited, frame.evaluations, frame.seconds), f"iteration {frame.iteration:,}"
    told = frame.info.events.items()
    return [Mark(*at, kind, f"{now}: {STEP_WORDS.get(kind, kind)} ({words})") for kind, words in told]


def knob_marks(changes: Iterable[tuple[int, Mapping[str, Value]]], history: History, now: int) -> list[Mark]:
    """Marks of a recipe's knob changes up to iteration `now`, where the clocks stood then (between measured frames)."""
    past = [(at, values) for at, values in changes if at <= now]
    if not past:
        return []
    at, turned = zip(*past, strict=True)
    clocks = [np.interp(at, history["iteration"], history[name]) for name in ("visited", "evaluations", "seconds")]
    said = [", ".join(f"{name} became {value}" for name, value in values.items()) for values in turned]
    rows = zip(at, *clocks, said, strict=True)
    return [Mark(t, int(v), int(e), float(s), "knob", f"iteration {t:,}: {words}") for t, v, e, s, words in rows]


# A run's past in words.

SHORTEST = 500  # iterations that a time line has room for at most while few have been made
GHOST, BRANCH = "the previous run", "the branch"  # names of the run next to the one in view
SAME = "no setting differs yet"
WHAT_IF = "What if …"


def line_end(last: int, spent: int, budget: int | None) -> int:
    """The iteration at the right end of the time line.

    The last one that the budget allows at the mean cost so far; of an endless or a long run a round number with room
    for the rest.
    """
    room = int(max(SHORTEST, nice(5.0 * last)))
    if budget is None or spent == 0:
        return room if budget is None else max(last, 1)
    return max(last, min(room, math.ceil(last * budget / spent)))


def difference_words(specs: Mapping[str, KnobSpec], before: Mapping[str, Value], after: Mapping[str, Value]) -> str:
    """The settings that differ: "Bandwidth 0.75 → 0.3, Batch size 100 → 10"."""
    turned = [name for name in specs if before[name] != after[name]]
    said = {name: specs[name].said for name in turned}
    each = (f"{specs[name].label} {said[name](before[name])} → {said[name](after[name])}" for name in turned)
    return ", ".join(each) or SAME


def branch_words(at: int, difference: str, frame: Frame, other: Frame, name: str) -> str:
    """A branch in words: "Branch at iteration 40: Bandwidth 0.75 → 0.3. TV 0.081; the previous run: 0.094"."""
    said = f"Branch at iteration {count(at)}: {difference}."
    if frame.tv is None or other.tv is None:
        return said
    when = "" if other.iteration == frame.iteration else f" at iteration {count(other.iteration)}"
    return f"{said} TV {number(frame.tv)}; {name}{when}: {number(other.tv)}"
