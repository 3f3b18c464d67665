"""What a model predicts: functions of one input with bands, and where a classifier divides two classes."""

from __future__ import annotations

from functools import partial

import numpy as np

from pmdviz.densities.bandwidth import local
from pmdviz.densities.density import Grid, KernelDensity
from pmdviz.engine.frame import Frame
from pmdviz.methods import Method
from pmdviz.metrics.distances import once
from pmdviz.metrics.predictive import Average, points_of
from pmdviz.pictures import Axis
from pmdviz.scenes import columns as col
from pmdviz.scenes.data_columns import evenly, widened
from pmdviz.scenes.stage import Pair, Scene, bare_axes
from pmdviz.streams import stream
from pmdviz.targets import Target

POINTS = 161  # inputs at which the band is drawn
BAND_DRAWS = 1000  # draws from the exact posterior that it is made from
SDS = 2.0
BAND_MARGIN = 0.04  # of the data's extent, to every side
DOT = 5.0  # px
DATA = 500  # dots: more would hide the band


class BandScene(Scene):
    """Mean ± 2 sd of E(y | x, θ) over q and exactly; the function that the data are of; inducing inputs as a rug.

    Any target that predicts a number from one input has it. Exact is the posterior of θ, or where the target has one
    the process of all data that θ is a sparse approximation of (`process_at`).
    """

    name = "band"
    title = "Function"
    order = 4
    legend = {
        "prior": "true function",
        "exact": "exact mean ± 2 sd",
        "approximate": "approximate mean ± 2 sd",
        "particles": "inducing inputs",
        "others": "data",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To regressions of one input."""
        return target.predicts == "number" and len(target.input_names) == 1

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """Where the data are, by the names of input and outcome."""
        names = target.input_names[0], target.tables[0].columns[-1] if target.tables else "y"  # the last is the outcome
        places = target.inputs(target.data_rows)[:, 0], target.outcomes(target.data_rows)
        spans = (widened(values, BAND_MARGIN) for values in places)
        x, y = (Axis(n, *span, **col.original_units(target, n)) for n, span in zip(names, spans, strict=True))
        return x, y

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """Two bands, the true function, data and rug."""
        target = frame.target
        seen = target.inputs(target.data_rows)[:, 0]
        x = np.linspace(seen.min(), seen.max(), POINTS)
        rows = target.data_rows[col.drawn_rows(np.full(target.num_data, 1 / target.num_data), min(limit, DATA))]
        others = col.curve_columns(target.inputs(rows)[:, 0], target.outcomes(rows))
        known = hasattr(target, "true_function")
        return col.StageColumns(
            once(target, "band", lambda: _exact(target, x)),
            band(x, *moments(target, x, *points_of(frame))),
            _rug(frame),
            others=others,
            prior=col.curve_columns(x, target.true_function(x[:, None])) if known else col.EMPTY_LINE,
        )


def moments(target: Target, x: np.ndarray, points: np.ndarray, average: Average) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd of E(y | x, theta) over points theta, at inputs x (n,)."""
    values = target.row_mean(points, target.rows_at(x[:, None]))
    mean = average(values)
    return mean, np.sqrt(average((values - mean) ** 2))


def band(x: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> col.Columns:
    """Mean, and the mean less and plus two sds, with gaps of NaN."""
    return col.joined(col.curve_columns(x, curve) for curve in (mean, mean - SDS * sd, mean + SDS * sd))


def _exact(target: Target, x: np.ndarray) -> col.Columns:
    process = target.process_at(x[:, None]) if hasattr(target, "process_at") else None
    if process is not None:
        return band(x, *process)
    if target.reference() is None:
        return col.EMPTY_LINE
    draws = target.reference().sample(stream("pictures"), BAND_DRAWS)
    return band(x, *moments(target, x, draws, partial(np.mean, axis=0)))


def _rug(frame: Frame) -> dict[str, np.ndarray]:
    """The heaviest particle's inducing inputs, where the state has such."""
    given = getattr(frame.state, "conditionals", None)
    if given is None:
        return col.EMPTY_DOTS
    x = frame.target.inducing_inputs(given.particles[int(np.argmax(frame.weights))])[:, 0]
    low, _ = widened(frame.target.outcomes(frame.target.data_rows), BAND_MARGIN)
    return col.plain_dots(x, np.full(len(x), low), DOT)


# What a net predicts from one input, noise included, and the function of the mean particle.


class PredictiveBandScene(BandScene):
    """Mean ± 2 sd of y over q, with the noise; E(y | x, mean of θ) as a curve of its own; the data.

    The curve of the mean of θ is what a method sees that uses the mean particle instead of the others. Where
    particles are nets whose hidden units are in different orders it is far from the mean of their curves.
    """

    name = "predictive_band"
    title = "Predictions"
    order = 3
    legend = {
        "prior": "true function",
        "approximate": "predicted y, mean ± 2 sd",
        "paths": "function of the mean of θ",
        "others": "data",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To regressions of one input with a noise variance of their own."""
        return super().applies(target, method) and "noise_variance" in target.offers

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """The band with noise, the curve of the mean, the true function and data."""
        drawn, target = super().columns(frame, pair, limit), frame.target
        seen = target.inputs(target.data_rows)[:, 0]
        x = np.linspace(seen.min(), seen.max(), POINTS)
        points, average = points_of(frame)
        mean, sd = moments(target, x, points, average)
        noise = float(average(target.noise_variance(points)))
        curve = target.row_mean(average(points)[None], target.rows_at(x[:, None]))[0]
        paths = col.segment_columns([col.Segments(col.pieces(np.stack([x, curve], axis=1)[None]), 0)])
        return drawn._replace(approximate=band(x, mean, np.sqrt(sd**2 + noise)), paths=paths)


# Where a classifier divides two classes: lines over the data and the predictive probability.

LINES, DRAWS = 25, 200  # draws of q that have a line, and that the probability is the mean over
LATENT_DRAWS = 8  # both of a Gaussian process, whose chances cost more
SIDE, LATENT_SIDE = 48, 32  # cells of the picture, a side
MARGIN = 1.15  # of the data's largest coordinate


class DecisionLinesScene(Scene):
    """In the plane of two inputs: where P(y = 1 | x, theta) = 1/2 for draws of q, over the mean of P over q.

    Of more than two inputs the others are 0. Any target that predicts a class and names its inputs has it.
    """

    name = "decision_lines"
    title = "Decision lines"
    order = 5
    legend = {
        "exact": "line of the exact mean",
        "approximate": f"lines of {LINES} draws",
        "particles": "data of class 1",
        "others": "data of class 0",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To classifiers of two inputs or more."""
        return target.predicts == "class" and len(target.input_names) > 1

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """A square that holds the data."""
        first, second, *others = target.input_names
        across, up = (col.original_units(target, name) for name in (first, second))
        more = f" ({len(others)} other inputs at {'their means' if up else '0'})" if others else ""
        reach = _reach(target.inputs(target.data_rows))
        return Axis(first, -reach, reach, **across), Axis(f"{second}{more}", -reach, reach, **up)

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """Lines, data, and the predictive probability."""
        target, (span, _) = frame.target, self.ranges(frame.target, pair, np.nan)
        axis, points = _plane(span, SIDE, len(target.input_names))
        rows = target.rows_at(points)
        chances = target.row_mean(_some(frame.draws, DRAWS), rows).reshape(-1, SIDE, SIDE)
        reference = target.reference()
        mean = None if reference is None else target.row_mean(reference.mean[None], rows).reshape(-1, SIDE, SIDE)
        data = target.data_rows[col.drawn_rows(np.full(target.num_data, 1 / target.num_data), limit)]
        dots = target.inputs(data), target.outcomes(data) > 0.5
        return _classes(span, axis, mean, _some(chances, LINES), chances.mean(axis=0), dots)


class ClassMapScene(Scene):
    """In the plane of two features: P(y = 1) as a mean over draws of q, and the lines where each draw has 1/2.

    More features are at their means. Any target with `chances`, `features` and `classes` has it.
    """

    name = "class_map"
    title = "Classes"
    order = 5
    legend = {
        "exact": "line of the reference's mean",
        "approximate": f"lines of {LATENT_DRAWS} draws",
        "particles": "rows of class 1",
        "others": "rows of class 0",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To classifiers whose latent function is integrated out, of two features or more."""
        return hasattr(target, "chances") and len(target.feature_names) > 1

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """A square that holds the rows."""
        first, second, *others = target.feature_names
        rest, reach = f" ({len(others)} other features at their means)" if others else "", _reach(target.features)
        return Axis(f"{first}, in sds", -reach, reach), Axis(f"{second}, in sds{rest}", -reach, reach)

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """Lines, rows, and the chance of class 1."""
        target, (span, _) = frame.target, self.ranges(frame.target, pair, np.nan)
        axis, points = _plane(span, LATENT_SIDE, len(target.feature_names))
        thetas = np.concatenate([_some(frame.draws, LATENT_DRAWS), target.reference().mean[None]])
        chances = target.chances(thetas, points).reshape(-1, LATENT_SIDE, LATENT_SIDE)
        dots = target.features, target.classes > 0
        return _classes(span, axis, chances[-1:], chances[:-1], chances[:-1].mean(axis=0), dots)


def _reach(inputs: np.ndarray) -> float:
    """The end of both axes, which hold the first two inputs of all rows."""
    return MARGIN * float(np.abs(inputs[:, :2]).max())


def _plane(span: tuple[float, float], side: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """The middles of cells along an axis, and inputs (side^2, dim) at all cells, row by row from the bottom."""
    grid = Grid((span, span), side)
    return grid.axes[0], np.pad(grid.points, ((0, 0), (0, dim - 2)))


def _some(rows: np.ndarray, number: int) -> np.ndarray:
    """So many of the rows, evenly spread: draws are in the order of their parents, neighbours next to each other."""
    return rows[np.linspace(0, len(rows) - 1, number).astype(np.int64)]


def _classes(
    span: col.Span, axis: np.ndarray, exact: np.ndarray | None, lines: np.ndarray, mean: np.ndarray, data: col.Two
) -> col.StageColumns:
    """The picture of chances (n, side, side) of the exact mean and of draws, their mean, and inputs with a class."""
    x, one = data
    return col.StageColumns(
        col.EMPTY_LINE if exact is None else lines_at_half(axis, exact),
        lines_at_half(axis, lines),
        col.plain_dots(x[one, 0], x[one, 1], DOT),
        image=col.Image(mean.astype(np.float32), span, span),
        others=col.curve_columns(x[~one, 0], x[~one, 1]),
    )


def lines_at_half(axis: np.ndarray, chances: np.ndarray) -> col.Columns:
    """Where each of the surfaces (n, side, side) is 1/2, with gaps of NaN."""
    return col.joined(col.contour_line(axis, axis, surface, np.array([0.5])) for surface in chances)


# A hidden path over time, and parameters of a series in their own units.

SHARES = 0.05, 0.5, 0.95  # of the points of a time that lie below each of the three lines
SERIES_POINTS = 1000  # times at most
ROOM = 0.6  # above and below the exact band, in its height


class HiddenPathScene(Scene):
    """Median, 5 % and 95 % of the path at every time, under q and exactly; the path that the data were simulated from.

    Any target that says in which coordinates its path is (`path_columns`) has it. Of particles q is they themselves,
    without the smoothing of a density.
    """

    name = "hidden_path"
    title = "Hidden path"
    order = 3
    legend = dict(prior="true path", exact="exact median, 5 and 95 %", approximate="approximate median, 5 and 95 %")

    def applies(self, target: Target, method: Method) -> bool:
        """To targets with a path."""
        return hasattr(target, "path_columns")

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """All times, and room around the exact band."""
        band = _exact_band(target)["y"]
        low, high = float(np.nanmin(band)), float(np.nanmax(band))
        room = ROOM * (high - low) or 1.0
        side = 0.01 * target.num_data if len(_times(target)) > 1 else 1.0
        return Axis("t", 1 - side, target.num_data + side), Axis(target.path_title, low - room, high + room)

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """Two bands and the true path."""
        target = frame.target
        true = col.EMPTY_LINE if target.true_path is None else _line(target, target.true_path[_times(target)])
        return col.StageColumns(_exact_band(target), _band(target, *path_points(frame)), prior=true)


def path_points(frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, d) with weights (n,): particles or draws of a chain, of a few Gaussians draws."""
    if frame.method.family == "parametric":
        return frame.draws, np.full(len(frame.draws), 1 / len(frame.draws))
    return frame.particles, frame.weights


def _times(target: Target) -> np.ndarray:
    """Which of the path's points are drawn, from 0."""
    return np.unique(evenly(target.num_data, SERIES_POINTS))


def _band(target: Target, points: np.ndarray, weights: np.ndarray) -> col.Columns:
    paths = points[:, target.path_columns][:, _times(target)]
    return col.joined(_line(target, curve) for curve in weighted_quantiles(paths, weights, SHARES))


def _line(target: Target, y: np.ndarray) -> col.Columns:
    return col.curve_columns(_times(target) + 1, y)


def weighted_quantiles(values: np.ndarray, weights: np.ndarray, shares: tuple[float, ...]) -> np.ndarray:
    """Of every column of values (n, k) the least value that weights (n,) of each share lie at or below: (shares, k)."""
    order = np.argsort(values, axis=0)
    below = np.cumsum(weights[order], axis=0)
    places = [np.minimum((below < share * below[-1]).sum(axis=0), len(values) - 1) for share in shares]
    columns = np.arange(values.shape[1])
    return np.array([values[order[place, columns], columns] for place in places])


def _exact_band(target: Target) -> col.Columns:
    """The SAME arrays at every frame."""
    draws = target.reference().draws
    return once(target, "path", lambda: _band(target, draws, np.full(len(draws), 1 / len(draws))))


# What a target is asked for in its own units, such as a variance and not its log: marginals next to the exact ones.

CELLS, REACH = 160, 4.5  # of a curve; exact sds to either side
HIGH, TOP = 0.55, 0.97  # heights of the exact peak, and at most

Box = tuple[float, float]


class ReportedScene(Scene):
    """A tile for each quantity: its marginal density exactly and under q, and both means and sds in words.

    The curves of a tile are scaled alike, the exact one to a little over half of its height; a higher one is cut off.
    Any target with `reported` (theta (m, d) -> (m, k)) and `reported_names` has it.
    """

    name = "reported"
    title = "Parameters"
    order = 4
    legend = {"exact": "exact", "approximate": "approximate"}

    def applies(self, target: Target, method: Method) -> bool:
        """To targets with quantities of their own."""
        return hasattr(target, "reported")

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """All tiles."""
        words = f"{', '.join(target.reported_names)}: mean ± sd", "marginal densities"
        return bare_axes(words, _tiling(target).ranges)

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """Curves, and words over and under them."""
        target, (points, weights) = frame.target, path_points(frame)
        exact, scales, told = once(target, "reported", lambda: _exact_tiles(target))
        found = target.reported(points)
        lines, words = [], []
        for k, ((box, peak), name) in enumerate(zip(scales, target.reported_names, strict=True)):
            lines.append(_placed(target, k, *_curve(found[:, k], weights, box), box, peak))
            mean = float((weights * found[:, k]).sum())
            sd = float(np.sqrt((weights * (found[:, k] - mean) ** 2).sum()))
            words += [(k, 0.5, 1 + 0.16, f"{name}  exact {told[k]}"), (k, 0.5, 1 + 0.05, f"q {mean:.3g} ± {sd:.2g}")]
            words += [(k, place, 0.03, f"{box[0] + place * (box[1] - box[0]):.3g}") for place in (0.1, 0.5, 0.9)]
        return col.StageColumns(exact, col.joined(lines), words=_words(target, words))


def _tiling(target: Target) -> col.Tiling:
    return col.Tiling(len(target.reported_names), 2)


def _words(target: Target, words: list[tuple[int, float, float, str]]) -> col.Words:
    corners = [_tiling(target).corner(k) for k, *_ in words]
    places = zip(corners, words, strict=True)
    return col.Words.at(*((x + across, y + up, text) for (x, y), (_, across, up, text) in places))


def _curve(values: np.ndarray, weights: np.ndarray, box: Box) -> tuple[np.ndarray, np.ndarray]:
    """A kernel density estimate on the box."""
    alive = weights > 0
    values, weights = np.ascontiguousarray(values[alive, None]), weights[alive]
    grid = Grid((box,), CELLS)
    spread = max(float(values.std()), 1e-6 * (box[1] - box[0]))
    density = KernelDensity(values, np.log(weights), local(values, weights, 1.0, np.array([spread])))
    return grid.axes[0], density.on_grid(grid)


def _placed(target: Target, k: int, x: np.ndarray, density: np.ndarray, box: Box, peak: float) -> col.Columns:
    """In tile k, the foot a little above its edge for the numbers below."""
    foot = 0.1
    height = np.minimum(foot + (HIGH - foot) * density / peak, TOP)
    return col.curve_columns(*col.placed(x, height, (box, (0.0, 1.0)), _tiling(target).corner(k)))


def _exact_tiles(target: Target) -> tuple[col.Columns, list[tuple[Box, float]], list[str]]:
    """The exact curves, each tile's box and peak, and mean and sd in words."""
    found = target.reported(target.reference().draws)
    weights = np.full(len(found), 1 / len(found))
    lines, scales, told = [], [], []
    for k, values in enumerate(found.T):
        mean, sd = float(values.mean()), float(values.std())
        low, high = target.reported_bounds[k]
        box = max(mean - REACH * sd, low), min(mean + REACH * sd, high)
        curve = _curve(values, weights, box)
        scales.append((box, float(curve[1].max())))
        lines.append(_placed(target, k, *curve, *scales[-1]))
        told.append(f"{mean:.3g} ± {sd:.2g}")
    return col.joined(lines), scales, told
