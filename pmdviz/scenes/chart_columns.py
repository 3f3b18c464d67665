"""The plain arrays of an experiment's pictures: charts, heat maps, histograms, ellipses; and their legends."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pmdviz.experiments import Chart, Ellipses, HeatMap, Histogram, Series
from pmdviz.experiments import Picture as Shown
from pmdviz.pictures import Axis as PictureAxis
from pmdviz.pictures import Mark, Picture
from pmdviz.scenes import style
from pmdviz.scenes.columns import joined
from pmdviz.scenes.words import number

# The legend of an experiment's picture: words, each next to a sign that looks like the mark it names.

LEGEND_WIDTH, LEGEND_HEIGHT = 28, 12  # px, of a sign
NUMBER = len(style.ENTRANTS_LIGHT)  # of colours
MUTED = -1  # instead of a colour's number: marks that are not a series
SLOPE_DASHES: tuple[tuple[int, ...], ...] = ((), (6, 3), (2, 3), (8, 3, 2, 3))  # () is solid


class Entry(NamedTuple):
    """One of the legend's words; `sign` is line, points, dashes, slope, mark, outline, bold, dots or colours."""

    words: str
    sign: str
    colour: int = 0  # number of a colour of `style.entrant_colours`, or MUTED
    dash: tuple[int, ...] = ()


def colour_numbers(names: Sequence[str], known: Mapping[str, int]) -> dict[str, int]:
    """A number for each name of a picture: its number in another picture, or the next free one."""
    found = {name: known[name] for name in names if name in known}
    for name in names:
        if name not in found:
            free = [k for k in range(len(known) + len(names) + 1) if k not in found.values()]
            found[name] = next((k for k in free if k not in known.values() and k < NUMBER), free[0])
    return found


def legend_html(title: str, entries: Sequence[Entry], dark: bool) -> str:
    """Title and legend over a picture; words wrap where the picture is narrow."""
    head = f'<div role="heading" aria-level="3" class="title">{html.escape(title)}</div>' if title else ""
    words = "".join(f"<span>{sign_svg(entry, dark)}{html.escape(entry.words)}</span>" for entry in entries)
    return head + (f'<p class="legend">{words}</p>' if words else "")


def colour_of(number: int, dark: bool) -> str:
    """The colour of a series, as text."""
    colours = style.entrant_colours(dark)
    return style.theme(dark).muted if number == MUTED else colours[number % len(colours)]


def sign_svg(entry: Entry, dark: bool) -> str:
    """The sign of an entry as SVG."""
    colour, theme = colour_of(entry.colour, dark), style.theme(dark)
    dashes = f' stroke-dasharray="{" ".join(map(str, entry.dash))}"' if entry.dash else ""
    parts = {"c": colour, "d": dashes, "paper": theme.paper}
    parts |= {"below": theme.layers["exact"], "above": theme.layers["approximate"]}
    drawn = "".join(part.format(**parts) for part in SIGNS[entry.sign])
    return f'<svg width="{LEGEND_WIDTH}" height="{LEGEND_HEIGHT}" aria-hidden="true">{drawn}</svg>'


_LINE = '<path d="M1 6H27" stroke="{c}" stroke-width="2" fill="none"{d}/>'
_DOT = '<circle cx="14" cy="6" r="3.5" fill="{c}"/>'
SIGNS = {
    "line": (_LINE, _DOT),
    "dashes": (_LINE,),
    "mark": (_LINE,),
    "points": (_DOT,),
    "dots": ('<circle cx="14" cy="6" r="2.5" fill="{c}" opacity="0.6"/>',),
    "slope": ('<path d="M2 1L26 11" stroke="{c}" stroke-width="1.6" fill="none"{d}/>',),
    "colours": (
        '<rect x="2" y="1" width="8" height="10" fill="{below}"/>',
        '<rect x="10" y="1" width="8" height="10" fill="{paper}" stroke="#8888"/>',
        '<rect x="18" y="1" width="8" height="10" fill="{above}"/>',
    ),
    "outline": ('<ellipse cx="14" cy="6" rx="11" ry="4.5" stroke="{c}" stroke-width="1.4" fill="none"{d}/>',),
    "bold": ('<ellipse cx="14" cy="6" rx="11" ry="4.5" stroke="{c}" stroke-width="3" fill="none"{d}/>',),
}


MOST_DECADES = 12  # below the largest value: smaller values are rounding
PAD = 0.06  # room round the data: a share of an axis
ALONE = 2.0  # factor of room round a single value
SERIES_DASHES: tuple[tuple[int, ...], ...] = ((7, 3), (2, 3), (9, 3, 2, 3), (14, 4))  # of series that are dashes
MANY = 40  # points, beyond which a line is drawn without them
NEAR = 0.08  # levels as near as this, in shares of the axis, have their words on different sides


class Axis(NamedTuple):
    """An axis in its own coordinates: the logarithms of the values where it is a log axis."""

    log: bool
    start: float
    end: float

    @property
    def length(self) -> float:
        """From end to end."""
        return self.end - self.start

    @property
    def span(self) -> tuple[float, float]:
        """Its ends, as values."""
        return float(self.value(self.start)), float(self.value(self.end))

    def own(self, values: np.ndarray) -> np.ndarray:
        """Values in the coordinates of the axis."""
        return np.log(values) if self.log else np.asarray(values, float)

    def value(self, own: np.ndarray | float) -> np.ndarray:
        """The inverse of `own`."""
        return np.exp(own) if self.log else np.asarray(own, float)

    def share(self, values: np.ndarray) -> np.ndarray:
        """Where values lie between the ends, 0 to 1."""
        return (self.own(values) - self.start) / self.length

    def at(self, share: np.ndarray | float) -> np.ndarray:
        """The inverse of `share`."""
        return self.value(self.start + self.length * np.asarray(share, float))


class Lines(NamedTuple):
    """One series as it is drawn."""

    points: dict[str, np.ndarray]  # x, y
    band: dict[str, np.ndarray]  # x, low, high
    look: str

    @property
    def marked(self) -> bool:
        """Whether its points are drawn."""
        return self.look == "points" or len(self.points["x"]) <= MANY


class ChartColumns(NamedTuple):
    """Everything that is drawn of a chart; the coordinates are values."""

    series: list[Lines]
    x: Axis
    y: Axis
    slopes: list[dict[str, np.ndarray]]  # x, y of each guide line
    levels: dict[str, list]  # y, text, below


def chart_columns(chart: Chart) -> ChartColumns:
    """The arrays that are drawn of `chart`; values without a place on a log axis are left out."""
    kept = [_usable(series, chart) for series in chart.series]
    levels = [(words, y) for words, y in chart.levels if np.isfinite(y) and (y > 0 or not chart.y_log)]
    x = axis((points["x"] for points, _ in kept), chart.x_log)
    heights = [values for points, band in kept for values in (points["y"], band["low"], band["high"])]
    y = axis([*heights, np.array([y for _, y in levels])], chart.y_log, from_zero=True)
    looks = [one.look for one in chart.series]
    series = [Lines(points, _clipped(band, y), look) for (points, band), look in zip(kept, looks, strict=True)]
    every = {name: np.concatenate([np.empty(0), *(points[name] for points, _ in kept)]) for name in ("x", "y")}
    slopes = [guide(slope, every, x, y) for _, slope in chart.slopes if len(every["x"])]
    return ChartColumns(series, x, y, slopes, level_columns(levels, y))


def guide(slope: float, points: Mapping[str, np.ndarray], x: Axis, y: Axis) -> dict[str, np.ndarray]:
    """The line of a slope on log axes through the middle of the points, as far as the axes reach."""
    across, up = x.own(points["x"]).mean(), y.own(points["y"]).mean()
    ends = sorted(across + (end - up) / slope for end in (y.start, y.end)) if slope else [x.start, x.end]
    u = np.clip(ends, x.start, x.end)
    return {"x": x.value(u), "y": y.value(up + slope * (u - across))}


def axis(parts: Iterable[np.ndarray], log: bool, from_zero: bool = False) -> Axis:
    """An axis with room around all values; a linear axis may begin at 0 where values are near it."""
    values = np.concatenate([np.empty(0), *parts])
    values = values[np.isfinite(values) & ((values > 0) | (not log))]
    if not len(values):
        return Axis(log, np.log(0.1), np.log(10.0)) if log else Axis(log, 0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if log:
        low, high = np.log(max(low, high / 10**MOST_DECADES)), np.log(high)
        pad = PAD * (high - low) if high > low else np.log(ALONE)
        return Axis(log, float(low - pad), float(high + pad))
    pad = PAD * (high - low) if high - low > 1e-9 * max(abs(low), abs(high)) else 0.5 * abs(high) or 1.0
    start = 0.0 if from_zero and 0 <= low <= 0.5 * high else low - pad
    return Axis(log, start, high + pad)


def level_columns(levels: Sequence[tuple[str, float]], y: Axis) -> dict[str, list]:
    """Horizontal lines and their words; of two that are near one another the lower one's go below it."""
    ordered = sorted(levels, key=lambda each: each[1])
    places = y.share(np.array([height for _, height in ordered])) if ordered else np.empty(0)
    below = [bool(gap < NEAR) for gap in np.diff(places)] + [False] * bool(ordered)
    return {"y": [height for _, height in ordered], "text": [words for words, _ in ordered], "below": below}


def cycled(dashes: Sequence[tuple[int, ...]], k: int) -> tuple[int, ...]:
    """Dashes number k, from the first one again after the last."""
    return dashes[k % len(dashes)]


def dash_of(k: int, look: str) -> tuple[int, ...]:
    """Dashes of series k: of those that are dashes, and of lines whose colour another one has already."""
    again = k >= NUMBER
    return cycled(SERIES_DASHES, k) if look == "dashes" or again else ()


def _usable(series: Series, chart: Chart) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Points and band that have a place on the axes."""
    x, y = np.asarray(series.x, float), np.asarray(series.y, float)
    there = np.isfinite(x) & ((x > 0) | (not chart.x_log))
    seen = there & np.isfinite(y) & ((y > 0) | (not chart.y_log))
    points = {"x": x[seen], "y": y[seen]}
    if series.low is None or series.high is None:
        return points, dict.fromkeys(("x", "low", "high"), np.empty(0))
    low, high = np.asarray(series.low, float), np.asarray(series.high, float)
    held = there & np.isfinite(low) & np.isfinite(high) & ((high > 0) | (not chart.y_log))
    return points, {"x": x[held], "low": low[held], "high": high[held]}


def _clipped(band: dict[str, np.ndarray], y: Axis) -> dict[str, np.ndarray]:
    """On a log axis a band that reaches to 0 or below ends at the axis."""
    return {**band, "low": np.maximum(band["low"], y.span[0])} if y.log else band


MASS = 0.68  # inside an ellipse
RADIUS = float(np.sqrt(-2 * np.log(1 - MASS)))  # in standard deviations, in the plane
SIDES = 72  # of the polygon that is drawn for an ellipse
MOST_POINTS = 5000
MARK_DASHES: tuple[tuple[int, ...], ...] = ((), (7, 3), (2, 3), (9, 3, 2, 3))


def strongest(picture: HeatMap) -> float:
    """The value of the strongest colour, the largest size of any; the other end is minus that."""
    values = np.asarray(picture.values, np.float32)
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0


def histogram_spans(picture: Histogram) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ends of both axes, with room for marks next to the bars."""
    places = [*np.asarray(picture.edges, float), *(place for _, place in picture.marks)]
    known = np.array([place for place in places if np.isfinite(place)])
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    pad = 0.04 * (high - low) or 0.5
    counts = np.asarray(picture.counts, float)
    return (low - pad, high + pad), (0.0, 1.08 * float(counts.max(initial=0.0)) or 1.0)


def outlines(means: np.ndarray, covs: np.ndarray) -> dict[str, np.ndarray]:
    """Ellipses around means (k, 2) that hold 68 % of Gaussians with covariances (k, 2, 2), with gaps between them."""
    means, covs = np.asarray(means, float).reshape(-1, 2), np.asarray(covs, float).reshape(-1, 2, 2)
    known = np.isfinite(means).all(axis=1) & np.isfinite(covs).all(axis=(1, 2))
    means, covs = means[known], covs[known]
    angle = np.linspace(0, 2 * np.pi, SIDES + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)])  # (2, n)
    values, vectors = np.linalg.eigh(covs)
    spread = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]
    points = means[:, :, None] + RADIUS * spread @ circle
    gapped = np.concatenate([points, np.full((len(points), 2, 1), np.nan)], axis=2)
    return {"x": gapped[:, 0].ravel(), "y": gapped[:, 1].ravel()}


def square(parts: list[dict[str, np.ndarray]]) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ends of two axes of equal length around all that is drawn."""
    ends = []
    for name in ("x", "y"):
        values = np.concatenate([np.empty(0), *(part[name] for part in parts)])
        values = values[np.isfinite(values)]
        ends.append((float(values.min()), float(values.max())) if len(values) else (-1.0, 1.0))
    half = 0.54 * max(high - low for low, high in ends) or 1.0
    (x0, x1), (y0, y1) = ends
    return ((x0 + x1) / 2 - half, (x0 + x1) / 2 + half), ((y0 + y1) / 2 - half, (y0 + y1) / 2 + half)


# The pictures of an experiment. Their legends stand over them, in words that wrap (`legend_html`).

LETTERS = 44  # of an axis's words in a line
SIZES = (7, 5, 3)  # px of a point, by how many there are
ABOVE, BELOW = -3, 18  # px from a level to the foot of its words
BAND_ALPHA, BAR_ALPHA, FAINT_ALPHA = 0.18, 0.55, 0.55
THIN, THICK = 1.2, 3.0  # px


def picture_of(made: Shown, numbers: Mapping[str, int]) -> Picture:
    """The picture of an experiment as a `Picture`; `numbers` of colours belong to its series or groups, by name."""
    drawn = MAKERS[type(made)](made, numbers)
    x, y = (axis._replace(label="\n".join(textwrap.wrap(axis.label, LETTERS))) for axis in (drawn.x, drawn.y))
    about = made.title or f"{made.y_label} against {made.x_label}"
    names = ", ".join(entry.words for entry in legend_of(made, numbers))
    return drawn._replace(x=x, y=y, title=made.title, about=f"{drawn.about}: {about}" + (f"; {names}" if names else ""))


def legend_of(made: Shown, numbers: Mapping[str, int]) -> list[Entry]:
    """The legend above a picture: series and slopes, the range of the colours, marks of a histogram, or groups."""
    if isinstance(made, Chart):
        slopes = [Entry(words, "slope", MUTED, cycled(SLOPE_DASHES, k)) for k, (words, _) in enumerate(made.slopes)]
        series = enumerate(made.series)
        return [Entry(one.name, one.look, numbers.get(one.name, k), dash_of(k, one.look)) for k, one in series] + slopes
    if isinstance(made, Ellipses):
        points = [Entry("points", "dots", MUTED)] if len(made.points) else []
        signs = [(one.name, "bold" if one.bold else "outline") for one in made.groups]
        return [Entry(name, sign, numbers.get(name, k)) for k, (name, sign) in enumerate(signs)] + points
    if isinstance(made, HeatMap):
        top = strongest(made)
        return [Entry(f"{made.value_label}: colours from {number(-top)} to {number(top)}", "colours", MUTED)]
    return [Entry(words, "mark", k + 1, cycled(MARK_DASHES, k)) for k, (words, _) in enumerate(made.marks)]


def names_in(made: Shown) -> list[str]:
    """Of its series or groups, each of which has a colour."""
    if isinstance(made, Chart):
        return [one.name for one in made.series]
    return [one.name for one in made.groups] if isinstance(made, Ellipses) else []


def _role(numbers: Mapping[str, int], name: str, k: int) -> str:
    return f"entrant-{numbers.get(name, k) % NUMBER}"


def chart_picture(chart: Chart, numbers: Mapping[str, int]) -> Picture:
    """Every series in its place, guide lines of slopes, levels with their words."""
    found, marks = chart_columns(chart), {}
    for k, (one, drawn) in enumerate(zip(chart.series, found.series, strict=True)):
        role, count = _role(numbers, one.name, k), len(drawn.points["x"])
        marks[f"band-{k}"] = Mark("band", role, drawn.band, {"alpha": BAND_ALPHA})
        if drawn.look != "points":
            marks[f"line-{k}"] = Mark("line", role, drawn.points, {"dash": dash_of(k, drawn.look)})
        seen = drawn.marked and (drawn.look != "dashes" or count == 1)  # unseen ones still answer the pointer
        alpha = (FAINT_ALPHA if drawn.look == "points" and count > MANY else 1.0) if seen else 0.0
        tips = {"": one.name.replace("{", "(").replace("}", ")"), chart.x_label: "{x:.3g}", chart.y_label: "{y:.3g}"}
        size = SIZES[(count > 12) + (count > 200)]
        marks[f"dots-{k}"] = Mark("dots", role, drawn.points, {"size": size, "alpha": alpha}, tips)
    for k, slope in enumerate(found.slopes):
        marks[f"slope-{k}"] = Mark("line", "muted", slope, {"width": 1.6, "dash": cycled(SLOPE_DASHES, k)})
    (left, right), levels = found.x.span, found.levels
    lines = [{"x": np.array([left, right]), "y": np.array([y, y])} for y in levels["y"]]
    marks["levels"] = Mark("line", "muted", joined(lines), {"width": 1.5, "dash": "floor"})
    words = {"align": "right", "baseline": "bottom", "right": -4, "paper": 0.9}
    for below, down in ((False, ABOVE), (True, BELOW)):
        some = [k for k, each in enumerate(levels["below"]) if each == below]
        at = {"x": [right] * len(some), "y": [levels["y"][k] for k in some], "text": [levels["text"][k] for k in some]}
        marks[f"words {'below' if below else 'above'}"] = Mark("words", "muted", at, {**words, "down": down})
    x = PictureAxis(chart.x_label, *found.x.span, chart.x_log)
    y = PictureAxis(chart.y_label, *found.y.span, chart.y_log)
    return Picture(x, y, marks, {}, about="Chart")


def heat_picture(made: HeatMap, numbers: Mapping[str, int]) -> Picture:
    """The matrix, its first row at the top."""
    image, top = np.asarray(made.values, np.float32), strongest(made)
    rows, wide = image.shape
    columns = {"values": image, "x": (-0.5, wide - 0.5), "y": (-0.5, rows - 0.5), "ends": ("exact", "approximate")}
    look = {"opaque": True, "low": -top, "high": top}
    tips = {made.y_label: "{y}", made.x_label: "{x}", made.value_label: "{image:.3g}"}
    x = PictureAxis(made.x_label, -0.5, wide - 0.5, whole=True)
    y = PictureAxis(made.y_label, rows - 0.5, -0.5, whole=True)
    return Picture(x, y, {"image": Mark("image", "", columns, look, tips)}, {}, about="Heat map")


def histogram_picture(made: Histogram, numbers: Mapping[str, int]) -> Picture:
    """Bars, and a vertical line for each mark, empty where its place is not known."""
    tips = {"from": "{left:.3g}", "to": "{right:.3g}", "": "{top:.3g}"}
    edges, top = np.asarray(made.edges, float), np.asarray(made.counts, float)
    columns = {"left": edges[:-1], "right": edges[1:], "top": top, "bottom": np.zeros(len(top))}
    drawn = {"bars": Mark("bars", "entrant-0", columns, {"alpha": BAR_ALPHA, "parted": True}, tips)}
    x, y = histogram_spans(made)
    for k, (_, place) in enumerate(made.marks):
        line = {"x": [place, place], "y": [*y]} if np.isfinite(place) else {"x": [], "y": []}
        look = {"width": 2.5, "dash": cycled(MARK_DASHES, k)}
        drawn[f"mark-{k}"] = Mark("line", f"entrant-{(k + 1) % NUMBER}", line, look)
    return Picture(PictureAxis(made.x_label, *x), PictureAxis(made.y_label, *y), drawn, {}, about="Histogram")


def ellipses_picture(made: Ellipses, numbers: Mapping[str, int]) -> Picture:
    """The points, and a line with gaps for each group."""
    points = np.asarray(made.points, float).reshape(-1, 2)
    x, y = points[:: -(-len(points) // MOST_POINTS) or 1].T  # as many as a browser paints at once
    drawn = {"points": Mark("dots", "muted", {"x": x, "y": y}, {"size": 4, "alpha": 0.35})}
    for k, one in enumerate(made.groups):
        look = {"width": THICK, "alpha": 1.0} if one.bold else {"width": THIN, "alpha": 0.75}
        drawn[f"group-{k}"] = Mark("line", _role(numbers, one.name, k), outlines(one.means, one.covs), look)
    across, up = square([dict(mark.columns) for mark in drawn.values()])
    axes = PictureAxis(made.x_label, *across), PictureAxis(made.y_label, *up)
    return Picture(*axes, drawn, {}, about="Ellipses", equal=True)


MAKERS: dict[type, Callable[..., Picture]] = {Chart: chart_picture, HeatMap: heat_picture}
MAKERS |= {Histogram: histogram_picture, Ellipses: ellipses_picture}
