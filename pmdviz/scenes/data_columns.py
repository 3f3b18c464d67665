"""The plain arrays behind the picture of the data: all rows, the batch of the last step, and what q and p predict.

One column is a histogram under predictive densities, E p(x | theta) over q and over the exact posterior. Two columns
are dots, with the regions that hold 50, 80 and 95 % of a predictive density, the line on which two classes are equally
probable, or the mean of a number. Reading them never touches a random stream of the run: draws of q and p have seeds
of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import Grid
from pmdviz.engine.frame import Frame
from pmdviz.errors import InputError
from pmdviz.knobs import KnobSpec, Value
from pmdviz.metrics.distances import once
from pmdviz.pictures import Axis, Mark, Picture
from pmdviz.scenes import columns as col
from pmdviz.streams import stream
from pmdviz.targets import Target, make_target
from pmdviz.targets.exact import Handle
from pmdviz.targets.options import SIMULATED

BINS = 30
MAX_DOTS = 2_000
CURVE, SIDE = 120, 40  # points of a curve; cells of a side of the plane
BEYOND = 0.5  # of the range, on each side: a region that holds 95 % reaches over the data
DRAWS = 300  # of q and of the exact posterior, over which predictions are averaged
MARGIN = 0.08  # of the range of the data, on each side
EVEN = 0.5  # probability of a class on the line between two

NO_BARS = dict.fromkeys(("left", "right", "bottom", "top"), np.empty(0))
ALL, LIT = 0.3, 0.85  # opacity of the data, and of the data of this step
DOT_PX, RUG_PX = 7.0, 5.0
MARKS = {  # from the lowest up, with nothing in them: all rows, the batch of the step, predictions
    "data": Mark("bars", "muted", NO_BARS, {"alpha": ALL}),
    "data dots": Mark("dots", "muted", col.EMPTY_LINE, {"alpha": ALL, "size": DOT_PX}),
    "rug": Mark("dots", "text", col.EMPTY_LINE, {"alpha": LIT, "size": RUG_PX}),  # a dot for each row
    "batch": Mark("bars", "muted", NO_BARS, {"alpha": LIT}, moves=True),  # its part of each bar
    "batch dots": Mark("dots", "muted", col.EMPTY_LINE, {"alpha": LIT, "size": DOT_PX}, moves=True),
    "exact": Mark("line", "exact", col.EMPTY_LINE, {"dash": "exact"}),
    "approximate": Mark("line", "approximate", col.EMPTY_LINE, {"dash": "approximate"}, moves=True),
}
LEGEND = {"data": "data", "batch": "batch of this step"}
PREDICTED = {"exact": "predicted: exact posterior", "approximate": "predicted: approximation"}
ABOUT = "The data, the batch of this step, and what approximation and exact posterior predict"
NO_DATA = Picture(Axis("", 0.0, 1.0), Axis("", 0.0, 1.0), MARKS, LEGEND, about=ABOUT)


def with_columns(picture: Picture, columns: Mapping[str, col.Columns]) -> Picture:
    """A picture of the data with other columns of some marks."""
    marks = {name: mark._replace(columns=columns.get(name, mark.columns)) for name, mark in picture.marks.items()}
    return picture._replace(marks=marks)


def applies(target: Target) -> bool:
    """Whether the data of a target can be drawn: one or two columns of numbers, or classes by two inputs."""
    return target.data is not None and plane(target, target.data[:1]).shape[1] in (1, 2)


def moment(frame: Frame) -> Picture:
    """The data as the step that led to `frame` saw them."""
    target, rows = frame.target, frame.batch_rows
    ground = ground_of(target)
    batch = target.data[:0] if rows is None else target.data[rows if isinstance(rows, slice) else np.unique(rows)]
    points, bars = plane(target, batch), ground.marks["data"].columns
    drawn = frame.draws[:: max(1, len(frame.draws) // DRAWS)]
    columns = {"approximate": _predicted(target, drawn, ground.x, ground.y)}
    if points.shape[1] == 1:
        edges = np.append(bars["left"], bars["right"][-1:])
        columns["batch"] = _bars(points[:, 0], edges, target.num_data)
    else:
        columns["batch dots"] = _dots(points)
    return with_columns(ground, columns)


def ground_of(target: Target) -> Picture:
    """What stands still: the data and the prediction of the exact posterior, made once per target."""
    return once(target, "data", partial(_made_ground, target))


def _made_ground(target: Target) -> Picture:
    points = plane(target, target.data_rows)
    reference = target.reference()
    draws = None if reference is None else reference.sample(stream("pictures"), DRAWS)
    across = widened(points[:, 0])
    if points.shape[1] == 1:
        edges = np.linspace(points.min(), max(points.max(), points.min() + 1e-9), BINS + 1)
        bars = _bars(points[:, 0], edges, len(points))
        (name,) = _names(target, ("x",))
        units = col.original_units(target, name)
        x = Axis(f"{name} (data points)", *across, **units)
        y = Axis(f"density (per {'sd' if units else 'unit'} of {name})", 0.0, 1.0)
        curve = col.EMPTY_LINE if draws is None else _predicted(target, draws, x, y)
        top = float(max([bars["top"].max(), *curve["y"]]))
        return _ground(x, y._replace(high=1.1 * top), curve, {"data": bars})
    usual = {"class": target.input_names, "number": ("x", "y")}.get(target.predicts, ("x₁", "x₂"))
    first, second = usual if target.predicts == "class" else _names(target, usual)
    x = Axis(f"{first} (data points)", *across, **col.original_units(target, first))
    y = Axis(second, *widened(points[:, 1]), **col.original_units(target, second))
    lines = col.EMPTY_LINE if draws is None else _predicted(target, draws, x, y)
    return _ground(x, y, lines, {"data dots": _dots(points)})


def _ground(x: Axis, y: Axis, exact: col.Columns, data: Mapping[str, col.Columns]) -> Picture:
    legend = LEGEND | (PREDICTED if len(exact["x"]) else {})
    return with_columns(NO_DATA._replace(x=x, y=y, legend=legend), {**data, "exact": exact})


def _names(target: Target, usual: tuple[str, ...]) -> tuple[str, ...]:
    """The columns' names of a person's table that has as many, else the usual ones."""
    return next((table.columns for table in target.tables if len(table.columns) == len(usual)), usual)


def plane(target: Target, rows: np.ndarray) -> np.ndarray:
    """Where rows are drawn, (n, 1) or (n, 2): a class by its inputs, other rows as they are."""
    if target.predicts == "class" and len(target.input_names) == 2:
        return target.inputs(rows)
    return without_ones(target, rows.reshape(len(rows), int(np.prod(rows.shape[1:]))))


def without_ones(target: Target, rows: np.ndarray) -> np.ndarray:
    """Rows of inputs and a number, without the column of ones that a regression on a person's table begins with."""
    return rows[:, 1:] if _has_ones(target) else rows


def _has_ones(target: Target) -> bool:
    form, own = target.table, getattr(target.options, "data", SIMULATED) != SIMULATED
    return own and target.predicts == "number" and form is not None and form.dim_beyond == 1


def widened(values: np.ndarray, margin: float = MARGIN) -> tuple[float, float]:
    """The range of values with a share of it more on each side; of one value alone a range of 2."""
    low, high = float(values.min()), float(values.max())
    pad = margin * (high - low) or 1.0
    return low - pad, high + pad


def _bars(values: np.ndarray, edges: np.ndarray, num_data: int) -> col.Columns:
    """Bars whose area is the share of `num_data` that lies in each of them."""
    counts, _ = np.histogram(values, edges)
    tops = counts / (num_data * np.diff(edges))
    return {"left": edges[:-1], "right": edges[1:], "bottom": np.zeros(len(tops)), "top": tops}


def evenly(n: int, limit: int) -> np.ndarray:
    """At most `limit` of n rows, evenly spread."""
    return np.linspace(0, n - 1, min(n, limit)).astype(np.int64)


def _dots(points: np.ndarray) -> col.Columns:
    return col.curve_columns(*points[evenly(len(points), MAX_DOTS)].T)


def _predicted(target: Target, draws: np.ndarray, across: Axis, up: Axis) -> col.Columns:
    """The prediction averaged over `draws` of theta, as lines."""
    left, right, bottom, top = across.low, across.high, up.low, up.high
    if target.predicts == "class":
        gx, gy = np.linspace(left, right, SIDE), np.linspace(bottom, top, SIDE)
        inputs = np.stack(np.meshgrid(gx, gy), axis=-1).reshape(-1, 2)
        mean = target.row_mean(draws, target.rows_at(inputs)).mean(axis=0)
        return col.contour_line(gx, gy, mean.reshape(SIDE, SIDE), np.array([EVEN]))
    if target.predicts == "number":
        x = np.linspace(left, right, CURVE)
        ones = [np.ones(CURVE)] if _has_ones(target) else []
        mean = target.row_mean(draws, np.column_stack([*ones, x, np.zeros(CURVE)])).mean(axis=0)
        return {"x": x.astype(np.float32), "y": mean.astype(np.float32)}
    if "row_density" not in target.offers:
        return col.EMPTY_LINE
    if target.data_rows[:1].size == 1:
        x = np.linspace(left, right, CURVE)
        rows = x.reshape(-1, *target.data_rows.shape[1:])
        density = np.exp(target.row_log_likelihood(draws, rows)).mean(axis=0)
        return {"x": x.astype(np.float32), "y": density.astype(np.float32)}
    wide, high = BEYOND * (right - left), BEYOND * (top - bottom)
    gx, gy = np.linspace(left - wide, right + wide, SIDE), np.linspace(bottom - high, top + high, SIDE)
    rows = np.stack(np.meshgrid(gx, gy), axis=-1).reshape(-1, 2)
    density = np.exp(target.row_log_likelihood(draws, rows)).mean(axis=0).reshape(SIDE, SIDE)
    return col.contour_line(gx, gy, density, col.density_levels(density))


# A target whose handle was dragged elsewhere, and its exact posterior as coarse lines, quick enough to follow a hand.

EVALUATIONS = 20_000_000  # of a row's density, about 50 ms; more rows than these allow are thinned
LEAST_SIDE, MOST_SIDE, FINE_SIDE, LINE_SIDE = 32, 64, 256, 512  # cells
DEEPEST = 2_000.0  # nats below the peak: deeper cells say nothing, and would overflow


class Moved(NamedTuple):
    """A moved target: its handles, and the lines x, y of its exact posterior."""

    handles: tuple[Handle, ...]
    lines: col.Columns


def moved_options(target: Target, at: int, x: float, y: float) -> dict[str, Value]:
    """The options of a target whose handle number `at` lies at (x, y), within their bounds.

    Raises InputError where it has no such handle.
    """
    handles = target.handles()
    if not 0 <= at < len(handles):
        raise InputError("this target has no such handle, because the run has changed; drag one of the new handles")
    specs = type(target.options).specs()
    return {name: _within(specs[name], value) for name, value in handles[at].moved(x, y).items()}


def _within(spec: KnobSpec, value: Value) -> Value:
    low, high = spec.bounds or (None, None)
    if low is not None and high is not None and isinstance(value, float):
        return min(max(value, float(low)), float(high))
    return value


def moved(target: Target, at: int, x: float, y: float) -> Moved:
    """The target with its handle at (x, y), in one or two dimensions with its lines. Raises InputError."""
    made = make_target(target.name, **{**target.options.as_dict(), **moved_options(target, at, x, y)})
    return Moved(made.handles(), coarse_lines(made))


def coarse_lines(target: Target) -> col.Columns:
    """The regions of 50, 80 and 95 % of the exact posterior, or its curve; nothing beyond two dimensions."""
    if target.dim > 2:
        return col.EMPTY_LINE
    most = EVALUATIONS // LEAST_SIDE**2
    rows = target.data_rows
    rows = rows[:: math.ceil(len(rows) / most)] if len(rows) > most else rows
    if target.dim == 1:
        return _curve(target, rows)
    side = min(max(int(math.sqrt(EVALUATIONS / len(rows))), LEAST_SIDE), MOST_SIDE)
    coarse, fine = Grid(target.view_box, side), Grid(target.view_box, FINE_SIDE)
    values = _below_peak(target.log_joint(coarse.points, rows)).reshape(coarse.shape)
    across, up = (cubic_matrix(few, many) for few, many in zip(coarse.axes, fine.axes, strict=True))
    log_density = up @ values @ across.T
    density = np.exp(log_density - log_density.max())
    return col.contour_line(*fine.axes, density, col.density_levels(density))


def _curve(target: Target, rows: np.ndarray) -> col.Columns:
    grid = Grid(target.view_box, LINE_SIDE)
    mass = np.exp(_below_peak(target.log_joint(grid.points, rows)))
    return col.curve_columns(grid.axes[0], mass / (mass.sum() * grid.cell_volume))


def _below_peak(values: np.ndarray) -> np.ndarray:
    """Less their largest, and none too deep."""
    peak = values.max()
    if not np.isfinite(peak):
        raise InputError("the log density has no finite peak there; drag the handle back towards the posterior")
    return np.maximum(values - peak, -DEEPEST)


def cubic_matrix(few: np.ndarray, many: np.ndarray) -> np.ndarray:
    """The matrix (len(many), len(few)) that interpolates values at equally spaced places by cubics (Lagrange)."""
    place = (many - few[0]) / (few[1] - few[0])
    first = np.clip(np.floor(place).astype(np.int64) - 1, 0, len(few) - 4)
    t = place - first
    made = np.zeros((len(many), len(few)))
    rows = np.arange(len(many))
    for k in range(4):
        others = [j for j in range(4) if j != k]
        made[rows, first + k] = np.prod([(t - j) / (k - j) for j in others], axis=0)
    return made
