"""The plain arrays of an experiment's pictures: charts, heat maps, histograms, ellipses; and their legends."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from pmdviz.experiments import Chart, Ellipses, HeatMap, Histogram, Series
from pmdviz.experiments import Picture as Shown
from pmdviz.pictures import NOTHING, Axis, Mark, Picture
from pmdviz.scenes import style
from pmdviz.scenes.columns import Columns, ellipses, joined
from pmdviz.scenes.words import number

# The legend of an experiment's picture: words, each next to a sign that looks like the mark it names, which says in its
# look what sign it has: line, points, dashes, slope, mark, outline, bold, dots or colours.

LEGEND_WIDTH, LEGEND_HEIGHT = 28, 12  # px, of a sign
NUMBER = len(style.ENTRANTS_LIGHT)  # of colours
SLOPE_DASHES: tuple[tuple[int, ...], ...] = ((), (6, 3), (2, 3), (8, 3, 2, 3))  # () is solid


def colour_numbers(names: Sequence[str], known: Mapping[str, int]) -> dict[str, int]:
    """A number for each name of a picture: its number in another picture, or the next free one."""
    found = {name: known[name] for name in names if name in known}
    for name in names:
        if name not in found:
            free = [k for k in range(len(known) + len(names) + 1) if k not in found.values()]
            found[name] = next((k for k in free if k not in known.values() and k < NUMBER), free[0])
    return found


def legend_html(made: Picture, dark: bool) -> str:
    """Title and legend over a picture; words wrap where the picture is narrow."""
    head = f'<div role="heading" aria-level="3" class="title">{html.escape(made.title)}</div>' if made.title else ""
    signs = ((sign_svg(made.marks[key], dark), html.escape(words)) for key, words in made.legend.items())
    words = "".join(f"<span>{sign}{words}</span>" for sign, words in signs)
    return head + (f'<p class="legend">{words}</p>' if words else "")


def sign_svg(mark: Mark, dark: bool) -> str:
    """The sign of a mark as SVG."""
    theme, lengths = style.theme(dark), style.dash(mark.look.get("dash", ()))
    dashes = f' stroke-dasharray="{" ".join(map(str, lengths))}"' if lengths else ""
    parts = {"c": style.colours(dark).get(mark.role, ""), "d": dashes, "paper": theme.paper}
    parts |= {"below": theme.layers["exact"], "above": theme.layers["approximate"]}
    drawn = "".join(part.format(**parts) for part in SIGNS[mark.look["sign"]])
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


def span(parts: Iterable[np.ndarray], log: bool, from_zero: bool = False) -> tuple[float, float]:
    """The ends of an axis with room around all values; a linear axis may begin at 0 where values are near it."""
    values = np.concatenate([np.empty(0), *parts])
    values = values[np.isfinite(values) & ((values > 0) | (not log))]
    if not len(values):
        return (0.1, 10.0) if log else (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if log:
        low = max(low, high / 10**MOST_DECADES)
        room = (high / low) ** PAD if high > low else ALONE
        return low / room, high * room
    pad = PAD * (high - low) if high - low > 1e-9 * max(abs(low), abs(high)) else 0.5 * abs(high) or 1.0
    return 0.0 if from_zero and 0 <= low <= 0.5 * high else low - pad, high + pad


def guide(slope: float, points: Sequence[Columns], x: Axis, y: Axis) -> Columns:
    """The line of a slope on log axes through the middle of all points, as far as the axes reach."""
    across, up = (np.log(np.concatenate([one[name] for one in points])).mean() for name in ("x", "y"))
    left, right, low, high = np.log([x.low, x.high, y.low, y.high])
    ends = sorted(across + (end - up) / slope for end in (low, high)) if slope else [left, right]
    u = np.clip(ends, left, right)
    return {"x": np.exp(u), "y": np.exp(up + slope * (u - across))}


def cycled(dashes: Sequence[tuple[int, ...]], k: int) -> tuple[int, ...]:
    """Dashes number k, from the first one again after the last."""
    return dashes[k % len(dashes)]


def dash_of(k: int, look: str) -> tuple[int, ...]:
    """Dashes of series k: of those that are dashes, and of lines whose colour another one has already."""
    return cycled(SERIES_DASHES, k) if look == "dashes" or k >= NUMBER else ()


def _usable(series: Series, chart: Chart) -> tuple[Columns, Columns]:
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


def outlines(means: np.ndarray, covs: np.ndarray) -> Columns:
    """Ellipses around means (k, 2) that hold 68 % of Gaussians with covariances (k, 2, 2), with gaps between them."""
    means, covs = np.asarray(means, float).reshape(-1, 2), np.asarray(covs, float).reshape(-1, 2, 2)
    known = np.isfinite(means).all(axis=1) & np.isfinite(covs).all(axis=(1, 2))
    means, covs = means[known], covs[known]
    values, vectors = np.linalg.eigh(covs)
    spread = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]
    points = ellipses(means, RADIUS * spread, SIDES)
    x, y = np.concatenate([points, np.full((len(points), 1, 2), np.nan)], axis=1).reshape(-1, 2).T
    return {"x": x, "y": y}


def square(parts: list[Columns]) -> tuple[tuple[float, float], tuple[float, float]]:
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
OUTLINES = {  # of groups that are bold, or not
    False: {"width": 1.2, "alpha": 0.75, "sign": "outline"},
    True: {"width": 3.0, "alpha": 1.0, "sign": "bold"},
}


def picture_of(made: Shown, numbers: Mapping[str, int]) -> Picture:
    """The picture of an experiment as a `Picture`; `numbers` of colours belong to its series or groups, by name."""
    drawn = MAKERS[type(made)](made, numbers)
    x, y = (axis._replace(label="\n".join(textwrap.wrap(axis.label, LETTERS))) for axis in (drawn.x, drawn.y))
    about, names = made.title or f"{made.y_label} against {made.x_label}", ", ".join(drawn.legend.values())
    return drawn._replace(x=x, y=y, title=made.title, about=f"{drawn.about}: {about}" + (f"; {names}" if names else ""))


def names_in(made: Shown) -> list[str]:
    """Of its series or groups, each of which has a colour."""
    if isinstance(made, Chart):
        return [one.name for one in made.series]
    return [one.name for one in made.groups] if isinstance(made, Ellipses) else []


def _role(numbers: Mapping[str, int], name: str, k: int) -> str:
    return f"entrant-{numbers.get(name, k) % NUMBER}"


def chart_picture(chart: Chart, numbers: Mapping[str, int]) -> Picture:
    """Series, guide lines of slopes, levels with their words; values without a place on a log axis are left out."""
    kept = [_usable(series, chart) for series in chart.series]
    levels = sorted((y, words) for words, y in chart.levels if np.isfinite(y) and (y > 0 or not chart.y_log))
    heights = [values for points, band in kept for values in (points["y"], band["low"], band["high"])]
    x = Axis(chart.x_label, *span((points["x"] for points, _ in kept), chart.x_log), chart.x_log)
    y = Axis(chart.y_label, *span([*heights, np.array([y for y, _ in levels])], chart.y_log, True), chart.y_log)
    marks: dict[str, Mark] = {}
    legend: dict[str, str] = {}
    for k, (one, (points, band)) in enumerate(zip(chart.series, kept, strict=True)):
        role, count = _role(numbers, one.name, k), len(points["x"])
        cut = {**band, "low": np.maximum(band["low"], y.low)} if y.log else band  # one that reaches to 0 or below
        marks[f"band-{k}"] = Mark("band", role, cut, {"alpha": BAND_ALPHA})
        if one.look != "points":
            marks[f"line-{k}"] = Mark("line", role, points, {"dash": dash_of(k, one.look), "sign": one.look})
        seen = one.look == "points" or (count <= MANY and (one.look != "dashes" or count == 1))
        faint = one.look == "points" and count > MANY
        tips = {"": one.name.replace("{", "(").replace("}", ")"), chart.x_label: "{x:.3g}", chart.y_label: "{y:.3g}"}
        look = {"size": SIZES[(count > 12) + (count > 200)], "alpha": FAINT_ALPHA if faint else 1.0 if seen else 0.0}
        marks[f"dots-{k}"] = Mark("dots", role, points, {**look, "sign": "points"}, tips)  # unseen ones have tips too
        legend[f"{'dots' if one.look == 'points' else 'line'}-{k}"] = one.name
    known = any(len(points["x"]) for points, _ in kept)
    for k, (name, slope) in enumerate(chart.slopes):
        legend[f"slope-{k}"] = name
        line = guide(slope, [points for points, _ in kept], x, y) if known else NOTHING
        look = {"width": 1.6, "dash": cycled(SLOPE_DASHES, k), "sign": "slope"}
        marks[f"slope-{k}"] = Mark("line", "muted", line, look)
    lines = [{"x": np.array([x.low, x.high]), "y": np.array([height, height])} for height, _ in levels]
    marks["levels"] = Mark("line", "muted", joined(lines), {"width": 1.5, "dash": "floor"})
    own = np.log if chart.y_log else np.asarray
    gaps = np.diff(own([height for height, _ in levels])) / np.diff(own([y.low, y.high]))
    below = [*(gaps < NEAR), False]  # of two that are near one another the lower one's words go below it
    words = {"align": "right", "baseline": "bottom", "right": -4, "paper": 0.9}
    for name, down in (("above", ABOVE), ("below", BELOW)):
        some = [level for level, low in zip(levels, below, strict=False) if low == (name == "below")]
        at = {"x": [x.high] * len(some), "y": [height for height, _ in some], "text": [text for _, text in some]}
        marks[f"words {name}"] = Mark("words", "muted", at, {**words, "down": down})
    return Picture(x, y, marks, legend, about="Chart")


def heat_picture(made: HeatMap, numbers: Mapping[str, int]) -> Picture:
    """The matrix, its first row at the top."""
    image, top = np.asarray(made.values, np.float32), strongest(made)
    rows, wide = image.shape
    columns = {"values": image, "x": (-0.5, wide - 0.5), "y": (-0.5, rows - 0.5), "ends": ("exact", "approximate")}
    look = {"opaque": True, "low": -top, "high": top, "sign": "colours"}
    legend = {"image": f"{made.value_label}: colours from {number(-top)} to {number(top)}"}
    tips = {made.y_label: "{y}", made.x_label: "{x}", made.value_label: "{image:.3g}"}
    x = Axis(made.x_label, -0.5, wide - 0.5, whole=True)
    y = Axis(made.y_label, rows - 0.5, -0.5, whole=True)
    return Picture(x, y, {"image": Mark("image", "", columns, look, tips)}, legend, about="Heat map")


def histogram_picture(made: Histogram, numbers: Mapping[str, int]) -> Picture:
    """Bars, and a vertical line for each mark, empty where its place is not known."""
    tips = {"from": "{left:.3g}", "to": "{right:.3g}", "": "{top:.3g}"}
    edges, top = np.asarray(made.edges, float), np.asarray(made.counts, float)
    columns = {"left": edges[:-1], "right": edges[1:], "top": top, "bottom": np.zeros(len(top))}
    drawn = {"bars": Mark("bars", "entrant-0", columns, {"alpha": BAR_ALPHA, "parted": True}, tips)}
    x, y = histogram_spans(made)
    legend = {f"mark-{k}": words for k, (words, _) in enumerate(made.marks)}
    for k, (_, place) in enumerate(made.marks):
        line = {"x": [place, place], "y": [*y]} if np.isfinite(place) else {"x": [], "y": []}
        look = {"width": 2.5, "dash": cycled(MARK_DASHES, k), "sign": "mark"}
        drawn[f"mark-{k}"] = Mark("line", f"entrant-{(k + 1) % NUMBER}", line, look)
    return Picture(Axis(made.x_label, *x), Axis(made.y_label, *y), drawn, legend, about="Histogram")


def ellipses_picture(made: Ellipses, numbers: Mapping[str, int]) -> Picture:
    """The points, and a line with gaps for each group."""
    points = np.asarray(made.points, float).reshape(-1, 2)
    x, y = points[:: -(-len(points) // MOST_POINTS) or 1].T  # as many as a browser paints at once
    drawn = {"points": Mark("dots", "muted", {"x": x, "y": y}, {"size": 4, "alpha": 0.35, "sign": "dots"})}
    legend = {f"group-{k}": one.name for k, one in enumerate(made.groups)}
    for k, one in enumerate(made.groups):
        line, role = outlines(one.means, one.covs), _role(numbers, one.name, k)
        drawn[f"group-{k}"] = Mark("line", role, line, OUTLINES[one.bold])
    across, up = square([dict(mark.columns) for mark in drawn.values()])
    axes = Axis(made.x_label, *across), Axis(made.y_label, *up)
    legend |= {"points": "points"} if len(points) else {}
    return Picture(*axes, drawn, legend, about="Ellipses", equal=True)


MAKERS: dict[type, Callable[..., Picture]] = {Chart: chart_picture, HeatMap: heat_picture}
MAKERS |= {Histogram: histogram_picture, Ellipses: ellipses_picture}
