"""The plain arrays of a stage: dots, lines, regions, cells, paths, tiles; and how they are packed for the browser."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from contourpy import FillType, LineType, SerialContourGenerator, ZInterp

from pmdviz.densities.density import Density
from pmdviz.engine.frame import Frame
from pmdviz.methods import Method
from pmdviz.scenes.style import USUAL
from pmdviz.targets import Target

MAX_DRAWN = 5_000  # a browser paints 5,000 dots in about 20 ms, 100,000 in 600 ms
STANDS_OUT = 8.0  # times the mean weight: of a run as it should be no particle has so much
HEAVIEST = 500  # of those at most (a tenth of a lower limit): collapsed weights must be visible
GOLDEN = 0.6180339887498949
INK = 20_000.0  # px^2: sum of all squared dot diameters: the ink stays the same for any m
LARGEST_DOT = 20.0  # px: a heavier particle is not drawn larger, it would hide the others
OPACITY_DOTS, OPACITY_POWER, OPAQUE = 1_500, 0.15, 0.85  # few dots are denser, many are thinner
Columns = dict[str, np.ndarray]
EMPTY_LINE = {"x": np.empty(0, np.float32), "y": np.empty(0, np.float32)}


EMPTY_AREAS = dict.fromkeys(("x", "y", "level"), EMPTY_LINE["x"])
EMPTY_PATHS = dict.fromkeys(("x0", "y0", "x1", "y1", "alpha", "kind"), EMPTY_LINE["x"])
EMPTY_DOTS = dict.fromkeys(("x", "y", "size", "weight", "log_density"), EMPTY_LINE["x"])


class Image(NamedTuple):
    """Cells of colour behind the lines: row 0 lies at the bottom."""

    values: np.ndarray  # (rows, columns) float32 in [0, 1]; a half is neutral
    x: tuple[float, float]  # its edges
    y: tuple[float, float]
    ends: tuple[str, str] = USUAL  # the layers whose colours 0 and 1 have

    @classmethod
    def of_cells(cls, values: np.ndarray) -> Image:
        """Square cells of side 1, whose lower left corner lies at 0."""
        rows, columns = values.shape
        return cls(values, (0.0, float(columns)), (0.0, float(rows)))


class Words(NamedTuple):
    """Words in the picture, each centred at its place."""

    x: np.ndarray  # float32
    y: np.ndarray
    text: tuple[str, ...]

    @classmethod
    def at(cls, *places: tuple[float, float, str]) -> Words:
        """Words by their x, y and text."""
        x, y, text = zip(*places, strict=True) if places else ((), (), ())
        return cls(np.array(x, np.float32), np.array(y, np.float32), text)


NO_WORDS = Words(EMPTY_LINE["x"], EMPTY_LINE["x"], ())


class StageColumns(NamedTuple):
    """The arrays that the stage draws of a frame."""

    exact: Columns = EMPTY_LINE  # x, y with NaN gaps
    approximate: Columns = EMPTY_LINE
    particles: Columns = EMPTY_DOTS  # x, y, size (diameter, px), weight, log_density (nats)
    drawn: int = 0
    num_particles: int = 0
    top: float = np.nan  # highest density of the curves (1-D only)
    image: Image | None = None
    others: Columns = EMPTY_LINE  # x, y of dots in ink
    prior: Columns = EMPTY_LINE  # x, y with NaN gaps
    words: Words = NO_WORDS
    paths: Columns = EMPTY_PATHS  # segments from x0, y0 to x1, y1: alpha, and kind as below
    areas: Columns = EMPTY_AREAS  # x, y, level: outlines of the exact posterior's regions, to be filled


def drawn_rows(weights: np.ndarray, limit: int = MAX_DRAWN) -> np.ndarray:
    """Rows of the particles to draw: all, or every k-th (the same in every frame).

    The heaviest that stand out, and are not among those, take the places of some. Rows of equal weight are chosen
    evenly: neighbours in the array are neighbours in space.
    """
    m = len(weights)
    if m <= limit:
        return np.arange(m)
    spread = np.linspace(0, m - 1, limit).astype(np.int64)
    heavy = np.flatnonzero(weights * m > STANDS_OUT)
    missing = np.setdiff1d(heavy, spread, assume_unique=True)
    missing = missing[_evenly(len(missing))]
    missing = missing[np.argsort(-weights[missing], kind="stable")[: min(HEAVIEST, limit // 10)]]
    light = np.flatnonzero(~np.isin(spread, heavy))
    in_favour = light[_evenly(len(light))[: len(missing)]]
    return np.sort(np.concatenate([np.delete(spread, in_favour), missing]))


def _evenly(n: int) -> np.ndarray:
    """0 .. n-1 in an order whose every first part is spread evenly (Weyl's sequence of the golden ratio)."""
    return np.argsort((np.arange(n) * GOLDEN) % 1.0)


def dot_sizes(weights: np.ndarray, num_particles: int, largest: float = LARGEST_DOT) -> np.ndarray:
    """Diameters in px of the drawn dots: the area is proportional to the weight, up to a `largest` dot."""
    share = INK * num_particles / max(len(weights), 1)
    return np.minimum(np.sqrt(weights * share), largest).astype(np.float32)


def dot_opacity(usual: float, drawn: int) -> float:
    """Opacity of `drawn` dots, where `usual` is for 1,500 dots."""
    return min(OPAQUE, usual * (OPACITY_DOTS / max(drawn, 1)) ** OPACITY_POWER)


def dot_columns(frame: Frame, pair: tuple[int, int], limit: int = MAX_DRAWN, largest: float = LARGEST_DOT) -> Columns:
    """The particles in two of their coordinates; what q is there is not known."""
    rows = drawn_rows(frame.weights, limit)
    return weighted_dots(*frame.particles[rows][:, list(pair)].T, frame.weights, rows, largest)


def weighted_dots(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, rows: np.ndarray, largest: float = LARGEST_DOT
) -> Columns:
    """Some rows of particles with weights (m,) as dots at x, y (n,); what q is there is not known."""
    sizes = dot_sizes(weights[rows], len(weights), largest)
    return {**plain_dots(x, y, largest), "size": sizes, "weight": weights[rows].astype(np.float32)}


def plain_dots(x: np.ndarray, y: np.ndarray, size: float) -> Columns:
    """Dots (n,) of one diameter in px, without weights and without a density."""
    nan = np.full(len(x), np.nan, np.float32)
    return {**curve_columns(x, y), "size": np.full(len(x), size, np.float32), "weight": nan, "log_density": nan}


class Source(Protocol):
    """A data source of Bokeh."""

    data: Columns


def set_data(source: Source, data: Columns) -> None:
    """Give a source its columns."""
    source.data = data


# Columns of several sources in one run of bytes: a frame is then one small message, not two a column.


def pack(parts: Iterable[tuple[int, Mapping[str, np.ndarray]]]) -> tuple[bytes, str]:
    """Bytes (float32) of all columns and their layout as JSON: [[source, [[column, start, length], ...]], ...].

    Starts and lengths count numbers, not bytes. An array that serves several columns is packed once.
    """
    arrays: list[np.ndarray] = []
    at: dict[int, int] = {}  # id of an array -> its start
    layout, end = [], 0
    for source, columns in parts:
        rows = []
        for name, column in columns.items():
            if id(column) not in at:
                arrays.append(np.asarray(column, "<f4"))
                at[id(column)] = end
                end += len(column)
            rows.append([name, at[id(column)], len(column)])
        layout.append([source, rows])
    return b"".join(array.tobytes() for array in arrays), json.dumps(layout, separators=(",", ":"))


# Small multiples in one figure: where each tile lies, and how a picture gets into it.

TILE_GAP = 0.05  # between tiles, in widths of one
TILES_EDGE = 0.01  # round them all
NARROW_PX = 480  # narrower figures have two tiles per row
HEADS = {2: 0.34, 3: 0.24}  # height of the words over a tile, by tiles per row


class Tiling(NamedTuple):
    """`number` square tiles of side 1, `columns` of them a row; the first one at the top left has its corner at 0."""

    number: int
    columns: int

    @classmethod
    def fitting(cls, number: int, width_px: float) -> Tiling:
        """Three tiles per row, two in a narrow figure or for four of them."""
        return cls(number, 2 if width_px < NARROW_PX or number in (1, 2, 4) else 3)

    @property
    def head(self) -> float:
        """Height of the words over each tile."""
        return HEADS[self.columns]

    @property
    def rows(self) -> int:
        """Rows of tiles, at least one."""
        return max(1, -(-self.number // self.columns))

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of everything."""
        width = self.columns * (1 + TILE_GAP) - TILE_GAP + 2 * TILES_EDGE
        return width, self.rows * (1 + TILE_GAP + self.head) - TILE_GAP + 2 * TILES_EDGE

    @property
    def ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Where the axes of the figure begin and end."""
        width, height = self.size
        top = 1 + self.head + TILES_EDGE
        return (-TILES_EDGE, width - TILES_EDGE), (top - height, top)

    def corner(self, k: int) -> tuple[float, float]:
        """The lower left corner of tile k."""
        row, column = divmod(k, self.columns)
        return column * (1 + TILE_GAP), -row * (1 + TILE_GAP + self.head)


Ranges = tuple[tuple[float, float], tuple[float, float]]


def placed(x: np.ndarray, y: np.ndarray, ranges: Ranges, corner: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """x and y of a picture with these ranges, in the tile at `corner`; NaN outside of it."""
    (x0, x1), (y0, y1) = ranges
    across, up = (np.asarray(x, float) - x0) / (x1 - x0), (np.asarray(y, float) - y0) / (y1 - y0)
    with np.errstate(invalid="ignore"):
        outside = (across < 0) | (across > 1) | (up < 0) | (up > 1)
    across, up = np.where(outside, np.nan, across), np.where(outside, np.nan, up)
    return (across + corner[0]).astype(np.float32), (up + corner[1]).astype(np.float32)


def joined(lines: Iterable[Mapping[str, np.ndarray]]) -> Columns:
    """Lines (columns x, y) as one, with a gap between them; an invisible point where there are none."""
    gap = np.array([np.nan], np.float32)
    lines = list(lines)
    return {name: np.concatenate([gap, *(part for line in lines for part in (line[name], gap))]) for name in ("x", "y")}


# Densities as pictures: regions of highest density as lines, marginal strips, cells of colour.

MASSES = (0.5, 0.8, 0.95)
OUTLINE = (0.95,)  # of the approximation: more lines over the exact posterior's could not be distinguished


def density_levels(density: np.ndarray, masses: Sequence[float] = MASSES) -> np.ndarray:
    """Density values whose upper level sets hold the given shares of the density's own mass on the grid.

    Parameters
    ----------
    density : array, any shape, non-negative
        Values on cells of equal volume; only the cells' shares matter.
    masses : share of the mass inside, each in (0, 1)

    Returns
    -------
    array (len(masses),), in the units of `density`; empty where the grid holds no mass.
    """
    flat = density.ravel()
    flat = np.sort(flat[flat > flat.max() * 1e-6])[::-1]
    total = flat.sum()
    if not total > 0:
        return np.empty(0)
    inside = np.cumsum(flat, dtype=np.float64)
    rank = np.searchsorted(inside, np.asarray(masses) * inside[-1])
    return flat[np.minimum(rank, len(flat) - 1)]


# `contourpy.contour_generator` makes the same of these, and looks for masked cells for eight times as long.
_kinds = {"line_type": LineType.ChunkCombinedNan, "fill_type": FillType.OuterOffset, "z_interp": ZInterp.Linear}
traced = partial(SerialContourGenerator, corner_mask=False, quad_as_tri=False, **_kinds)


def contour_line(gx: np.ndarray, gy: np.ndarray, density: np.ndarray, levels: np.ndarray) -> Columns:
    """Columns x, y (float32) of the contours of `density` (len(gy), len(gx)), all levels joined by NaN rows.

    They are looked for only where the density reaches the lowest level: most of a grid is far below it.
    """
    rows, columns = _around(density >= np.min(levels, initial=np.inf))
    x, y = np.meshgrid(gx[columns], gy[rows])
    lines = traced(x, y, density[rows, columns], np.zeros(x.shape, bool))
    gap, parts = np.full((1, 2), np.nan), []
    for level in levels:
        points = lines.lines(level)[0][0]
        if points is not None:
            parts += [points, gap]
    xy = np.concatenate(parts).astype(np.float32) if parts else np.empty((0, 2), np.float32)
    return {"x": np.ascontiguousarray(xy[:, 0]), "y": np.ascontiguousarray(xy[:, 1])}


def _around(inside: np.ndarray) -> tuple[slice, slice]:
    """The rows and columns that hold all that is true, and one more on each side; all where nothing is."""
    along = (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
    return tuple(slice(max(at[0] - 1, 0), at[-1] + 2) if at.size else slice(None) for at in along)  # type: ignore


def curve_columns(x: np.ndarray, y: np.ndarray) -> Columns:
    """Columns x, y (float32) of a curve or of dots."""
    return {"x": x.astype(np.float32), "y": y.astype(np.float32)}


def region_lines(axes: tuple[np.ndarray, ...], density: np.ndarray, masses: Sequence[float] = MASSES) -> Columns:
    """The picture of a density on a grid: its curve in one dimension, its regions of these masses in two."""
    if len(axes) == 1:
        return curve_columns(axes[0], density)
    return contour_line(*axes, density, density_levels(density, masses))


def region_areas(axes: tuple[np.ndarray, ...], density: np.ndarray) -> Columns:
    """The same to be filled: the area under a curve, or the regions of 50, 80 and 95 %, a level each."""
    if len(axes) == 1:
        x, y = np.append(axes[0], axes[0][[-1, 0]]), np.append(density, [0.0, 0.0])
        return {**curve_columns(x, y), "level": np.zeros(len(x), np.float32)}
    parts = [contour_line(*axes, density, np.array([level])) for level in density_levels(density)]
    found = {name: np.concatenate([EMPTY_LINE["x"], *(part[name] for part in parts)]) for name in ("x", "y")}
    counts = [len(part["x"]) for part in parts]
    return {**found, "level": np.repeat(np.arange(len(parts), dtype=np.float32), counts)}


# Marginal curves on the two edges of a plane picture: thin strips that share its axes.

WIDE = 0.13  # of a strip, in sides of the picture without it
HIGH = 0.85  # of the highest exact curve, in strips

Span = tuple[float, float]
Two = tuple[np.ndarray, np.ndarray]  # of the first coordinate and of the second


def with_strips(x: Span, y: Span) -> tuple[Span, Span]:
    """The ranges of a picture with room for the strips above and to the right of it."""
    return (x[0], x[1] + WIDE * (x[1] - x[0])), (y[0], y[1] + WIDE * (y[1] - y[0]))


def marginals(axes: Two, density: np.ndarray) -> Two:
    """The densities of either coordinate alone, of a density (len(y), len(x)) on equal cells."""
    dx, dy = (float(axis[1] - axis[0]) for axis in axes)
    return density.sum(axis=0) * dy, density.sum(axis=1) * dx


def marginal_lines(axes: Two, curves: Two, box: tuple[Span, Span], tops: Span) -> Columns:
    """Both curves as lines in the strips beyond a box; where they are as high as `tops` they fill `HIGH` of theirs.

    Higher ones are cut at the picture's edge.
    """
    shown = [(axis >= low) & (axis <= high) for axis, (low, high) in zip(axes, box, strict=True)]
    (x, y), (x0, x1), (y0, y1) = (axis[some] for axis, some in zip(axes, shown, strict=True)), *box
    high = [np.minimum(HIGH * c[some] / (top or 1.0), 1.0) for c, some, top in zip(curves, shown, tops, strict=True)]
    above = {"x": x, "y": y1 + WIDE * (y1 - y0) * high[0]}
    beside = {"x": x1 + WIDE * (x1 - x0) * high[1], "y": y}
    return {name: values.astype(np.float32) for name, values in joined([above, beside]).items()}


# Densities as cells of colour: how high q is, and where p and q differ.

SIDE = 80  # cells of the picture, a side
SHADES = 127  # on either side of the neutral half
BRIGHTEN = 0.5  # power of q over its peak: its flanks are seen too
ROWS = 160  # cells of a picture of curves, upwards

ENDS = ("approximate", "exact")  # where q is, or is above p; where p is above q

Box = tuple[Span, ...]


def heat_image(q: np.ndarray, box: Box) -> Image:
    """A density of the plane, brightest at its own peak."""
    cells = _coarse(q)
    top = float(cells.max())
    return _image(-((cells / top) ** BRIGHTEN) if top > 0 else cells, *box)


def difference_image(p: np.ndarray, q: np.ndarray, box: Box) -> Image:
    """p - q in the plane, in units of the highest p: each colour's mass is the TV, but for what lies outside."""
    coarse_p, coarse_q = _coarse(p), _coarse(q)
    return _image((coarse_p - coarse_q) / coarse_p.max(), *box)


def area_image(p: np.ndarray, q: np.ndarray, across: Span, up: Span) -> Image:
    """The areas between two curves over `across`, of the heights `up`."""
    heights = up[0] + (up[1] - up[0]) * (np.arange(ROWS)[:, None] + 0.5) / ROWS
    between = (heights >= np.minimum(p, q)) & (heights <= np.maximum(p, q))
    return _image(np.where(between, np.sign(p - q), 0.0), across, up)


def _coarse(values: np.ndarray) -> np.ndarray:
    """Means over blocks of cells, at most `SIDE` of them a side."""
    return _means(_means(values).T).T


def _means(values: np.ndarray) -> np.ndarray:
    """Over blocks of rows; where these are all alike, as of most grids, in a fifth of the time."""
    every, rest = divmod(len(values), SIDE)
    if every and not rest:
        return sum((values[k::every] for k in range(1, every)), values[::every]) / every
    edges = np.linspace(0, len(values), min(SIDE, len(values)) + 1).astype(np.int64)
    return np.add.reduceat(values, edges[:-1], axis=0) / np.diff(edges)[:, None]


def _image(signed: np.ndarray, x: Span, y: Span) -> Image:
    """Values in [-1, 1] as an image, in as many shades as its palette has: what repeats packs well."""
    shades = np.rint(SHADES * np.clip(signed, -1, 1)) / SHADES
    return Image((0.5 + 0.5 * shades).astype(np.float32), x, y, ENDS)


# How a method moves, as segments: the way of a chain, the arrows of a force, the ellipses of Gaussians.
# A method says itself what there is to draw: by its family, the density of its frame, and the `paths` of its step.

TRAIL, FAINTEST = 40, 0.08  # draws of a chain that leave a trace, and the opacity of its oldest part
ELLIPSES, CORNERS = 24, 28  # components that have one, and its corners
LONGEST = 0.08  # length of the longest arrow, in sides of the picture
HEAD, ANGLE = 0.3, 0.45  # of an arrow: its length in arrows, and its angle in radians
OF_TRAIL, OF_GAUSSIANS, OF_STEP = 0, 1, 2  # kinds of segments; from OF_STEP on the method's own, in their order
COLOURS = ("purple", "gold")  # of the method's own, in words; `style.paths` has them

Pair = tuple[int, int]


class Segments(NamedTuple):
    """Straight pieces of one kind in the picture's plane."""

    lines: np.ndarray  # (n, 2, 2): from and to, each a point
    kind: int
    opacity: np.ndarray | float = 1.0


def path_words(method: Method) -> str:
    """The name of the paths of a method in a legend; "" for a method without any."""
    if method.family == "parametric":
        return "1 sd of each Gaussian"
    own = [f"{path.words} ({colour})" for path, colour in zip(method.paths, COLOURS, strict=False)]
    trail = [f"last {TRAIL} draws" if not own else "path"] if method.family == "chain" else []
    return ", ".join([*trail, *own])


def path_columns(frame: Frame, pair: Pair, side: float) -> Columns:
    """The segments of a frame in two of its coordinates; `side` is the picture's, in their units."""
    method, chosen, parts = frame.method, list(pair), []
    if method.family == "chain":
        parts += [_trail(draws[:, chosen]) for draws in method.trails(frame.state, TRAIL + 1)]
    if method.family == "parametric":
        parts.append(_ellipses(frame.density, chosen))
    drawn = frame.info.paths() if frame.info is not None and method.paths else {}
    own = [(path.arrow, Segments(drawn[path.name][..., chosen], OF_STEP + k))
           for k, path in enumerate(method.paths) if path.name in drawn]  # fmt: skip
    scale = _arrow_scale([part.lines for arrow, part in own if arrow], side)
    return segment_columns([*parts, *(_arrows(part, scale) if arrow else part for arrow, part in own)])


def newest_draws(frame: Frame, pair: Pair) -> Columns:
    """Where each chain of a chain method stands; nothing of other families."""
    if frame.method.family != "chain":
        return EMPTY_LINE
    return curve_columns(*np.concatenate([draws[:, list(pair)] for draws in frame.method.trails(frame.state, 1)]).T)


def _trail(draws: np.ndarray) -> Segments:
    """The way from draw to draw (n, 2), the older the fainter."""
    lines = np.stack([draws[:-1], draws[1:]], axis=1)
    return Segments(lines, OF_TRAIL, np.linspace(FAINTEST, 1.0, TRAIL)[TRAIL - len(lines) :])


def _ellipses(density: Density, chosen: list[int]) -> Segments:
    """One sd of the Gaussians that q is made of; of many some, evenly chosen."""
    rows = np.linspace(0, len(density.centres) - 1, min(ELLIPSES, len(density.centres))).astype(np.int64)
    return Segments(ellipse_lines(density.centres[rows], density.choleskys[rows], chosen), OF_GAUSSIANS)


def ellipse_lines(centres: np.ndarray, choleskys: np.ndarray, chosen: list[int], sds: float = 1.0) -> np.ndarray:
    """Polygons (k * CORNERS, 2, 2) around Gaussians (k, d), (k, d, d) in two chosen coordinates."""
    factors = choleskys[:, chosen]  # (k, 2, d)
    roots = np.linalg.cholesky(np.einsum("kid,kjd->kij", factors, factors))
    return pieces(ellipses(centres[:, chosen], sds * roots))


def ellipses(centres: np.ndarray, roots: np.ndarray, corners: int = CORNERS) -> np.ndarray:
    """Closed outlines (k, corners + 1, 2): the unit circle by the roots (k, 2, 2) about centres (k, 2)."""
    turns = np.linspace(0, 2 * np.pi, corners + 1)
    return centres[:, None] + np.einsum("kij,nj->kni", roots, np.stack([np.cos(turns), np.sin(turns)], axis=1))


def pieces(lines: np.ndarray) -> np.ndarray:
    """Lines through points (k, n, 2) as straight pieces (k (n - 1), 2, 2)."""
    return np.stack([lines[:, :-1], lines[:, 1:]], axis=2).reshape(-1, 2, 2)


def _arrow_scale(forces: list[np.ndarray], side: float) -> float:
    """One factor for all arrows of a step: the longest has `LONGEST` of the side."""
    lengths = [np.hypot(*(lines[:, 1] - lines[:, 0]).T).max(initial=0.0) for lines in forces]
    longest = max(lengths, default=0.0)
    return LONGEST * side / longest if longest > 0 else 0.0


def _arrows(part: Segments, scale: float) -> Segments:
    """The shafts of arrows, and the two sides of each head."""
    start, way = part.lines[:, 0], scale * (part.lines[:, 1] - part.lines[:, 0])
    end, turned = start + way, [_turned(way, angle) for angle in (ANGLE, -ANGLE)]
    heads = [np.stack([end, end - HEAD * back], axis=1) for back in turned]
    return part._replace(lines=np.concatenate([np.stack([start, end], axis=1), *heads]))


def _turned(way: np.ndarray, angle: float) -> np.ndarray:
    cos, sin = np.cos(angle), np.sin(angle)
    return way @ np.array([[cos, sin], [-sin, cos]])


def segment_columns(parts: Iterable[Segments]) -> Columns:
    """All segments below one another."""
    found = [part for part in parts if len(part.lines)]
    if not found:
        return EMPTY_PATHS
    lines = np.concatenate([part.lines for part in found]).reshape(-1, 4).T.astype(np.float32)
    opacity = [np.broadcast_to(part.opacity, len(part.lines)) for part in found]
    kind = [np.full(len(part.lines), part.kind) for part in found]
    rest = [np.concatenate(each).astype(np.float32) for each in (opacity, kind)]
    return dict(zip(EMPTY_PATHS, [*(np.ascontiguousarray(line) for line in lines), *rest], strict=True))


def original_units(target: Target, name: str) -> dict[str, float]:
    """Of an axis: mean and sd that a column of a person's table had before it was standardised; {} for none such."""
    found = (dict(zip(table.columns, table.units, strict=True)) for table in target.tables if table.units)
    return next((dict(zip(("origin", "unit"), units[name], strict=True)) for units in found if name in units), {})
