"""A moment of a race, everything drawn and said about it: the Race page, films, players and saved pictures show it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.experiments.race import Entrant, RaceRecipe, row
from pmdviz.experiments.race.recipe import BRIEF, DATA, DONE, SHORT, spent_in, titles
from pmdviz.methods import METHODS
from pmdviz.metrics import METRICS, Metric
from pmdviz.pictures import Axis, Mark, Picture, nice
from pmdviz.scenes import style
from pmdviz.scenes import trace_columns as traced
from pmdviz.scenes.columns import OPACITY_DOTS, Ranges, StageColumns, Tiling, placed
from pmdviz.scenes.stage import LAYERS, MARKS, USUAL_WORDS, Pair, Scene, SceneChoice, stage_picture
from pmdviz.scenes.trace_columns import CLOCK_OF, RACE_CLOCKS, Bands, TracePoints
from pmdviz.scenes.words import INDEPENDENT_DRAWS, count, duration, number

# The plain arrays behind a race: tiles in one picture, clocks, thinned traces, bands over seeds.

MAX_POINTS = 600  # of a trace
DOTS = 4_000  # of all tiles together

Columns = Mapping[str, np.ndarray]


def tile_columns(frame: Frame, entrants: int, scene: Scene, pair: Pair) -> StageColumns:
    """What a tile shows of `frame` in a race of so many entrants."""
    drawn = scene.columns(frame, pair, max(100, DOTS // entrants))
    return drawn._replace(image=None) if scene.image_of else drawn


def span(metric: Metric, rows: Sequence[Columns], floor: float | None = None) -> tuple[float, float]:
    """The ends of the axis of a metric, for the rows of all entrants and what independent draws get.

    A logarithmic one is fixed but for values below its usual lower end, another one holds all values.
    """
    values = [*(traced.column(one, metric.name) for one in rows), np.array([floor or np.nan])]
    if not metric.log:
        return traced.value_range(traced.GROUPS[metric.axis], values)
    flat = np.concatenate(values)
    flat = flat[np.isfinite(flat) & (flat > 1e-6)]
    lowest, highest = metric.limits
    low = nice(0.9 * float(flat.min()), up=False) if len(flat) else lowest
    return min(lowest, low), highest


FILL_ALPHA, SHORT_TITLE, EDGE_PX = 0.25, 44, 4
TRACE_TIPS = {"observations used": "{visited:,}", "likelihood evaluations": "{evaluations:,}"}


def race_traces_picture(
    rows: Sequence[Columns],
    metric: Metric,
    clock: str,
    floor: float | None = None,
    budget: int | None = None,
    unit: str = DATA,
    bands: Bands = MappingProxyType({}),
    here: Sequence[Columns] = (),
    whole: Sequence[Columns] = (),
) -> Picture:
    """One metric of all entrants against a clock: lines with a marker, and the floor.

    `bands` over seeds, x, low, middle and high, have the numbers of their entrants as keys. `here` are the rows up to
    the moment that is shown, where the markers are, and `whole` those that the axes hold; by default all.
    """
    name, whole = metric.name, whole or rows
    last = max((float(one[clock][-1]) for one in whole if len(one[clock])), default=0.0)
    end, limits = traced.clock_end(clock, last, budget, unit), span(metric, whole, floor)
    marks, legend = traced.band_marks(bands, {k: f"entrant-{k}" for k in bands}, limits), {}
    if floor is not None:
        dashed = {"dash": "floor", "width": 1.5}
        marks["floor"] = Mark("line", "floor", {"x": [0.0, end], "y": [floor, floor]}, dashed)
        legend["floor"] = f"{INDEPENDENT_DRAWS}: {number(floor)}"
    lines, tips = [_line(one, name, limits) for one in rows], {metric.short or metric.title: "{value:.3f}"} | TRACE_TIPS
    for k, one in enumerate(lines):
        look = {"x": clock, "y": "value", "dash": style.ENTRANT_DASHES[k], "shared": f"traces-{k}"}
        marks[f"line-{k}"] = Mark("line", f"entrant-{k}", one, look, tips, moves=True)
    there = [one for one in [_line(one, name, limits) for one in here] or lines if len(one[clock])]
    fronts: dict[str, Any] = {"x": [float(one[clock][-1]) for one in there]}
    fronts["y"] = [float(one["value"][-1]) for one in there]
    fronts["marker"] = list(style.ENTRANT_MARKERS[: len(there)])
    fronts["role"] = [f"entrant-{k}" for k in range(len(there))]
    marks["fronts"] = Mark("signs", "muted", fronts, {"size": 8}, moves=True)
    known = any(np.isfinite(traced.column(one, name)).any() for one in whole)
    middle = "" if known or not there else traced.UNKNOWN.format(metric.title)
    axes = Axis(RACE_CLOCKS[clock], 0.0, end), Axis(metric.label, *limits, metric.log)
    return Picture(*axes, marks, legend, middle, about=f"Curves: {metric.title} of every method")


def _line(rows: Columns, metric: str, limits: tuple[float, float]) -> dict[str, np.ndarray]:
    """Columns of a line, named alike for every metric: a glyph hears of another name before its column is there."""
    columns = traced.trace_columns(rows, [metric], limits, RACE_CLOCKS, MAX_POINTS)
    return {clock: columns[clock] for clock in RACE_CLOCKS} | {"value": columns[metric]}


Drawn = tuple[Scene, Pair]
ANY_SCENE = SceneChoice()
SLOW_S = 0.5  # a step that takes longer is spoken of


class Tile(NamedTuple):
    """One entrant at one moment."""

    entrant: Entrant
    title: str  # its name in words
    recipe: RaceRecipe
    iteration: int
    row: Mapping[str, Any]  # as in `RaceResult.rows`, with the metrics that tables show
    columns: StageColumns
    points: TracePoints  # of the traces of all that it has run
    ended: str  # why the run has ended, in words; "" before
    caveat: str  # how its draws are evaluated, in words
    waited: float | None = None  # seconds that a step which is under way has taken
    share: float = 0.0  # of that step which is done

    @property
    def label(self) -> str:
        """Its key in rows and histories."""
        return self.entrant.label

    @property
    def trace(self) -> dict[str, np.ndarray]:
        """Clocks and metrics of the moments up to this one; NaN where a metric was not measured."""
        return self.points.columns(self.recipe.drawn, self.iteration)

    @property
    def whole(self) -> dict[str, np.ndarray]:
        """The same up to where the run has come."""
        return self.points.columns(self.recipe.drawn)

    @property
    def changed(self) -> list[traced.Mark]:
        """The changes of its knobs so far."""
        if not self.entrant.changes:
            return []
        trace = self.points.columns([])
        return traced.knob_marks(self.entrant.changes, trace, int(trace["iteration"][-1]))

    def iteration_at(self, spent: int) -> int:
        """The last iteration in the trace at which no more was spent."""
        trace = self.points.columns([])
        rows = int(np.searchsorted(trace[self.clock], spent, side="right"))
        return int(trace["iteration"][max(rows - 1, 0)])

    @property
    def clock(self) -> str:
        """That counts what it has spent."""
        return CLOCK_OF[self.recipe.budget_unit]

    @property
    def visited(self) -> int:
        """Observations used so far."""
        return self.row["visited"]

    @property
    def spent(self) -> int:
        """What counts against the budget so far."""
        return spent_in(self.row, self.recipe.budget_unit)

    @property
    def slow(self) -> bool:
        """Whether its step lasts."""
        return self.waited is not None and self.waited > SLOW_S

    @property
    def state(self) -> str:
        """How far it is: "TV 0.123, 4,200 data"."""
        metric = self.recipe.shown[0]
        value = self.row.get(metric.name)
        known = f"{metric.short or metric.title} {number(value)}, " if value is not None else ""
        return f"{known}{count(self.spent)} {BRIEF[self.recipe.budget_unit]}"

    @property
    def note(self) -> str:
        """Why it waits or ended, or how its draws are evaluated, in a line for a phone's tile; "" for nothing."""
        if self.slow:
            return f"computing a step: {duration(self.waited or 0.0)} so far"
        return f"finished: {self.ended}" if self.ended else self.caveat.partition(":")[0]


class RaceScene(NamedTuple):
    """A race at one moment: plain arrays and words."""

    recipe: RaceRecipe
    budget: int | None  # the recipe's, or what it was extended to
    tiles: tuple[Tile, ...]
    floors: Mapping[str, float | None]  # what independent draws get, by metric
    scene: Scene  # of every tile
    pair: Pair
    at: int = 0  # the round that is shown
    last: int = 0  # the round that the race has come to
    changed: tuple[tuple[int, str], ...] = ()  # rounds at which an entrant's knobs were changed, with its title
    inside: str = ""  # JSON of `scenes.inside`, of one entrant; "" for nothing new
    watched: bool = False  # whether somebody looks inside the steps of one
    names: tuple[str, ...] = ()  # of the entrants of a live race, as `RaceRunner.place` knows them
    steps: tuple[tuple[Frame, Frame], ...] = ()  # in a film: each entrant's frames before and after its last step

    @property
    def done(self) -> bool:
        """Whether no entrant has a next step."""
        return all(tile.ended and tile.waited is None for tile in self.tiles)

    @property
    def iteration(self) -> int:
        """Of all entrants together."""
        return sum(tile.iteration for tile in self.tiles)

    @property
    def spent(self) -> list[int]:
        """What each running method has spent; of all methods once none runs."""
        racing = [tile.spent for tile in self.tiles if not tile.ended]
        return racing or [tile.spent for tile in self.tiles] or [0]

    @property
    def words(self) -> str:
        """Where all stand, in a line."""
        first = best([(tile.title, tile.row) for tile in self.tiles], self.recipe.shown[0])
        return state(self.iteration, self.spent, self.budget, first, self.recipe.budget_unit)

    @property
    def in_force(self) -> dict[str, Any]:
        """What the picture was drawn with."""
        entrants = [tile.label for tile in self.tiles]
        return {"entrants": entrants, "seed": self.recipe.seeds[0], "budget": self.budget}


def tile_of(
    recipe: RaceRecipe, k: int, frame: Frame, points: TracePoints, drawn: Drawn, ended: str, masses: list[float] | None
) -> Tile:
    """What there is to show of entrant k at `frame`, with its mode masses where they are wanted."""
    entrant = recipe.entrants[k]
    return Tile(
        entrant=entrant,
        title=titles(recipe.entrants)[k],
        recipe=recipe,
        iteration=frame.iteration,
        row=row(entrant.label, recipe.seeds[0], frame, masses, recipe.shown),
        columns=tile_columns(frame, len(recipe.entrants), *drawn),
        points=points,
        ended=ended,
        caveat=frame.caveat,
    )


def weighted(frames: Iterable[Frame]) -> Frame | None:
    """The first frame with particles: the value of independent draws is given for as many as it has."""
    return next((frame for frame in frames if frame.num_draws), None)


def scene_of(recipe: RaceRecipe, choice: SceneChoice) -> Drawn:
    """What every tile shows: the wished scene, or the first that applies to all."""
    return choice.of(recipe.target, *(METHODS[one.method] for one in recipe.entrants))


def race_scene(
    recipe: RaceRecipe, budget: int | None, tiles: Sequence[Tile], judged: Frame | None, drawn: Drawn
) -> RaceScene:
    """The scene of these tiles, with the floors of `judged`, as `weighted` gives it."""
    known: Mapping[str, float | None] = {} if judged is None else judged.floors
    floors = {name: known.get(METRICS[name].baseline) for name in recipe.drawn}
    return RaceScene(recipe, budget, tuple(tiles), floors, *drawn)


def best(rows: Sequence[tuple[str, Mapping[str, Any]]], metric: Metric) -> str:
    """Which of the named rows has the lowest value of a metric: "PMD (TV 0.12)"; "" where none is known."""
    known = [(row[metric.name], k) for k, (_, row) in enumerate(rows) if row.get(metric.name) is not None]
    if not known:
        return ""
    value, k = min(known)
    return f"{rows[k][0]} ({metric.title} {number(value)})"


def state(iteration: int, spent: Sequence[int], budget: int | None, first: str, unit: str = DATA) -> str:
    """One line: "iteration 420, 2,000 of 20,000 observations each, leading: PMD (TV 0.12)".

    `spent` is what those who race have spent of the budget, `first` what `best` says.
    """
    low, high = min(spent), max(spent)
    each = f"{count(low)}" if low == high else f"{count(low)} to {count(high)}"
    within = budget is not None and high <= budget
    of = f" of {count(budget or 0)}" if within else ""
    beyond = "" if within or budget is None else f" (budget {count(budget)})"
    words = f"iteration {count(iteration)}, {each}{of} {DONE[unit]} each{beyond}"
    return words + (f", leading: {first}" if first else "")


# The difference between two entrants of a race by the metric that ranks them, against what both have spent.

SETTLED = 0.1  # share of the way in which the first differences, the largest, do not make the axis


class Difference(NamedTuple):
    """The metric of the second entrant minus the first's: below 0 the second one is closer."""

    x: np.ndarray  # of the clock
    y: np.ndarray
    metric: Metric
    titles: tuple[str, str]
    unit: str  # of the budget

    @property
    def closer(self) -> str:
        """Who is closer where both stand: its title; "" for neither."""
        return "" if not len(self.y) or self.y[-1] == 0 else self.titles[int(self.y[-1] < 0)]

    @property
    def words(self) -> str:
        """Where both stand: "TV is 0.012 lower with PMD, bandwidth h = 2 (at 4,000 data)"; "" where that is unknown."""
        if not len(self.y):
            return ""
        name, at = self.metric.short or self.metric.title, f"at {count(self.x[-1])} {SHORT[self.unit]}"
        if not self.closer:
            return f"{name} is the same {at}"
        return f"{name} is {number(abs(float(self.y[-1])))} lower with {self.closer} ({at})"

    @property
    def reach(self) -> float:
        """How far an axis around 0 goes: it holds all but the first differences."""
        later = self.y[self.x >= SETTLED * self.x[-1]] if len(self.x) else self.y
        return nice(1.05 * float(np.abs(later).max())) if len(later) and later.any() else 1.0


def difference(
    one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray], clock: str, metric: str
) -> tuple[np.ndarray, np.ndarray]:
    """x and `other` minus `one`, wherever one of them was measured and both have come to.

    In between each is linear. Rows without a value are left out; empty where nothing is in common.
    """
    pairs = [_known(trace, clock, metric) for trace in (one, other)]
    if not all(len(x) for x, _ in pairs):
        return np.empty(0), np.empty(0)
    x = np.union1d(*(x for x, _ in pairs))
    x = x[(x >= max(each[0] for each, _ in pairs)) & (x <= min(each[-1] for each, _ in pairs))]
    first, second = (np.interp(x, *pair) for pair in pairs)
    return x, second - first


def _known(trace: Mapping[str, np.ndarray], clock: str, metric: str) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(trace[clock], float), np.asarray(trace[metric], float)
    known = np.isfinite(y)
    return x[known], y[known]


def difference_of(scene: RaceScene, clock: str = "") -> Difference | None:
    """That of a race with exactly two entrants, by default against what counts as its budget; None for others."""
    if len(scene.tiles) != 2:
        return None
    metric, unit = scene.recipe.shown[0], scene.recipe.budget_unit
    x, y = difference(*(tile.trace for tile in scene.tiles), clock or CLOCK_OF[unit], metric.name)
    return Difference(x, y, metric, tuple(tile.title for tile in scene.tiles), unit)


def difference_picture(found: Difference, clock: str, end: float) -> Picture:
    """The difference against a clock that ends at `end`, around 0, filled in the colour of the one that is closer."""
    reach = found.reach
    y = np.clip(found.y, -reach, reach)
    zero = np.zeros(len(y))
    above = {"x": found.x, "low": zero, "high": np.maximum(y, 0)}
    below = {"x": found.x, "low": np.minimum(y, 0), "high": zero}
    marks = {
        "above": Mark("band", "entrant-0", above, {"alpha": FILL_ALPHA}),
        "below": Mark("band", "entrant-1", below, {"alpha": FILL_ALPHA}),
        "zero": Mark("line", "ink", {"x": [0.0, end], "y": [0.0, 0.0]}, {"width": 1}),
        "line": Mark("line", "ink", {"x": found.x, "y": y}, {}, {"difference": "{y:.4f}"}),
    }
    ends = ("first", 1.0, EDGE_PX), ("second", 0.0, -EDGE_PX)
    for title, (key, height, down) in zip(found.titles, ends, strict=True):
        look = {"align": "right", "baseline": "top" if height else "bottom", "right": -6, "down": down, "edge": True}
        said = {"x": [end], "y": [height], "text": [f"{cut(title, SHORT_TITLE)} closer"]}
        marks[key] = Mark("words", "muted", said, look)
    if len(y) < 2:
        waiting = {"x": [end / 2], "y": [0.75], "text": ["Press Play: the difference will be drawn here"]}
        marks["waiting"] = Mark("words", "muted", waiting, {"edge": True})
    label = f"difference of {found.metric.short or found.metric.title}"
    axes = Axis(RACE_CLOCKS[clock], 0.0, end), Axis(label, -reach, reach)
    return Picture(*axes, marks, {}, about="Curve: the difference between the two, step by step")


# The tiles of a race: what each shows of its entrant, in units of a tile.

SMALLER = {"line": {"width": 1.6}, "segments": {"width": 1.2}, "dots": {"size": 2.5}}  # px, than on the stage
DOT_SCALE, MAX_DOT, SMALLEST_DOT = 0.55, 9.0, 1.2  # of the stage's dots; px
IN_WORDS = {"exact": "exact posterior", "approximate": "approximation"}
EMPTY = 'No methods yet: open "Methods and settings" and press Add'
ABOUT = "Picture: exact posterior, approximation and particles of every method"
OWN = ("image", "particles", "approximate")  # each tile has marks of its own; others are joined over all tiles
LEFT_OUT = ("words", "prior", "ghost", "moved")  # a small picture has no room for them
SAMPLE, BESIDE = 0.11, 0.06  # length of the sample of a line, and between it and the title, in tiles
NOTE_ALPHA = 0.75
FEWEST = 8  # letters of a line, also while the width of a page is not known
BOLD = 1.11  # width of a letter in bold type, in letters of other type


class Letters(NamedTuple):
    """The words over and in a tile: their size in px, and the letters of a title and of a note's line."""

    px: float
    title: int
    note: int

    @classmethod
    def fitting(cls, unit: float, px: float = style.TEXT_PX, wide: float = 0.5) -> Letters:
        """Of a tile whose side is `unit` px, with letters of a mean width of `wide` times their height."""
        title, note = (1 - SAMPLE - BESIDE) * unit / (BOLD * wide * px), unit / (wide * px)
        return cls(px, max(int(title), FEWEST), max(int(note), FEWEST))


def tile_words(scene: Scene) -> dict[str, str]:
    """The layers of a scene that tiles show, and what they are called: the usual ones by short names."""
    short = {name: name if words == USUAL_WORDS.get(name) else words for name, words in scene.words().items()}
    return {name: IN_WORDS.get(words, words) for name, words in short.items() if name != "prior"}


def tile_picture(scene: RaceScene, k: int, layers: Sequence[str] = LAYERS) -> Picture:
    """The stage of an entrant without numbers: its dots and density in its colour, the exact posterior neutral."""
    tile, target = scene.tiles[k], scene.recipe.target
    shown = [name for name in layers if name in tile_words(scene.scene)]
    method = METHODS[scene.recipe.entrants[k].method]
    made = stage_picture(scene.scene, target, method, scene.pair, tile.columns, tile.note, shown)
    marks = {key: _of_entrant(mark, k, scene.scene.shows_theta) for key, mark in made.marks.items()}
    x, y = (axis._replace(label="", numbered=False) for axis in (made.x, made.y))
    return made._replace(x=x, y=y, marks=marks, legend={})


def _of_entrant(mark: Mark, k: int, with_particles: bool) -> Mark:
    own = {"exact": "floor", "approximate": f"entrant-{k}", **({"particles": f"entrant-{k}"} if with_particles else {})}
    columns, look = mark.columns, mark.look
    if mark.role == "particles":
        sizes = np.clip(np.asarray(columns["size"]) * DOT_SCALE, SMALLEST_DOT, MAX_DOT)
        columns, look = {**columns, "size": sizes.astype(np.float32)}, {"drawn": OPACITY_DOTS}
    elif more := SMALLER.get(mark.kind):
        look = {**look, **more}
    return mark._replace(role=own.get(mark.role, mark.role), columns=columns, look=look)


# All tiles in one picture, in widths of a tile.


Parts = list[tuple[Mark, Ranges, tuple[float, float]]]  # a mark of each tile, the ranges of the tile, its corner
Joined = dict[str, tuple[Parts, Mark]]


def tiles_picture(
    scene: RaceScene, tiling: Tiling, letters: Letters, layers: Sequence[str] = LAYERS, before: Joined | None = None
) -> Picture:
    """The tiles of all entrants, each below its title and state, with its note inside.

    `before` holds the joined marks of the picture before this one: those that have not changed are taken from it.
    """
    before = {} if before is None else before
    found: dict[str, Parts] = {key: [] for key in MARKS if key not in LEFT_OUT}
    for k in range(len(scene.tiles)):
        one = tile_picture(scene, k, layers)
        ranges = (one.x.low, one.x.high), (one.y.low, one.y.high)
        for key, mark in one.marks.items():
            if key in found:
                found[key].append((mark, ranges, tiling.corner(k)))
    marks = {**_frames(tiling)}
    for key, parts in found.items():
        if key in OWN:
            marks |= {f"{key}-{k}": _moved(*part) for k, part in enumerate(parts)}
        elif parts:
            if key not in before or not _same(parts, before[key][0]):
                before[key] = parts, _joined([_moved(*part) for part in parts])
            marks[key] = before[key][1]
    marks |= _words(scene, tiling, letters)
    words = tile_words(scene.scene)
    legend = {f"{name}-0" if name in OWN else name: words[name] for name in LAYERS if name in words and name in layers}
    x, y = (Axis("", *ends, numbered=False) for ends in tiling.ranges)
    return Picture(x, y, marks, legend, middle="" if scene.tiles else EMPTY, about=ABOUT)


def _same(parts: Parts, others: Parts) -> bool:
    """Whether the marks have the very columns of the others, in the same places."""
    pairs = zip(parts, others, strict=False)
    same = (one[0].columns is other[0].columns and one[1:] == other[1:] for one, other in pairs)
    return len(parts) == len(others) and all(same)


def _joined(marks: Sequence[Mark]) -> Mark:
    columns = {name: np.concatenate([mark.columns[name] for mark in marks]) for name in marks[0].columns}
    return marks[0]._replace(columns=columns)


def tiles_room(entrants: int) -> Picture:
    """A picture with all marks of so many tiles and nothing in them."""
    marks: dict[str, Mark] = {}
    for key, mark in MARKS.items():
        if key in OWN and key != "image":
            for k in range(entrants):
                marks[f"{key}-{k}"] = _moved(_of_entrant(mark, k, True), ((0, 1), (0, 1)), (0, 0))
        elif key not in (*LEFT_OUT, "image"):
            marks[key] = _of_entrant(mark, 0, True)
    notes = Mark("words", "text", {"x": [], "y": [], "text": []}, moves=True)
    x, y = (Axis("", 0.0, 1.0, numbered=False) for _ in range(2))
    return Picture(x, y, {**marks, "notes": notes}, {})


def _moved(mark: Mark, ranges: Ranges, corner: tuple[float, float]) -> Mark:
    """A mark of a picture with these ranges in the tile at `corner`; what lies outside of the tile is left out."""
    old: Mapping[str, Any] = mark.columns
    if mark.kind == "image":
        ends = zip("xy", ranges, corner, strict=True)
        return mark._replace(columns={**old, **{side: _along(old[side], *span, at) for side, span, at in ends}})
    if mark.kind == "segments":
        start, stop = (placed(old[f"x{end}"], old[f"y{end}"], ranges, corner) for end in (0, 1))
        inside = np.isfinite(start[0]) & np.isfinite(stop[0])
        new = {"x0": start[0], "y0": start[1], "x1": stop[0], "y1": stop[1]}
        return mark._replace(columns={name: values[inside] for name, values in {**old, **new}.items()})
    if mark.kind == "areas":  # cut at the tile's edge: gaps would open their outlines
        x, y = (_along(np.clip(old[s], *span), *span, at) for s, span, at in zip("xy", ranges, corner, strict=True))
        return mark._replace(columns={"x": _ended(x), "y": _ended(y), "level": _ended(old["level"], old["level"][-1:])})
    x, y = placed(old["x"], old["y"], ranges, corner)
    if mark.kind == "line":
        return mark._replace(columns={"x": _ended(x), "y": _ended(y)})
    inside = np.isfinite(x)
    new = {"x": x, "y": y, **({"size": old["size"]} if "size" in old else {})}
    return mark._replace(columns={name: values[inside] for name, values in new.items()}, hover={})


def _along(values: Any, low: float, high: float, corner: float) -> np.ndarray:
    """Values between two ends as places along a tile that begins at `corner`."""
    return ((np.asarray(values, float) - low) / (high - low) + corner).astype(np.float32)


def _ended(values: np.ndarray, end: Any = (np.nan,)) -> np.ndarray:
    """Values and a gap, before another tile's."""
    return np.append(values, np.asarray(end, np.float32)) if len(values) else values


@lru_cache(16)
def _frames(tiling: Tiling) -> dict[str, Mark]:
    """The edges of the tiles, and next to each title the line of the traces."""
    corners = [tiling.corner(k) for k in range(tiling.number)]
    x = [x + side for x, _ in corners for side in (0, 1, 1, 0, 0, np.nan)]
    y = [y + side for _, y in corners for side in (0, 0, 1, 1, 0, np.nan)]
    marks = {"frames": Mark("line", "muted", {"x": np.array(x), "y": np.array(y)}, {"width": 1})}
    high = [y + 1 + 0.7 * tiling.head for _, y in corners]
    for k, (left, _) in enumerate(corners):
        columns = {"x": [left, left + SAMPLE], "y": [high[k], high[k]]}
        marks[f"sample-{k}"] = Mark("line", f"entrant-{k}", columns, {"dash": style.ENTRANT_DASHES[k]})
    heads: dict[str, Any] = {"x": [left + SAMPLE for left, _ in corners], "y": high}
    heads |= {"marker": [*style.ENTRANT_MARKERS[: len(corners)]], "role": [f"entrant-{k}" for k in range(len(corners))]}
    return {**marks, "heads": Mark("signs", "muted", heads, {"size": 8})}


def _words(scene: RaceScene, tiling: Tiling, letters: Letters) -> dict[str, Mark]:
    """Titles, states and notes."""
    corners = np.array([tiling.corner(k) for k in range(len(scene.tiles))]).reshape(-1, 2)
    left, above = corners[:, 0], corners[:, 1] + 1
    look = {"px": letters.px, "align": "left"}
    texts = [cut(tile.title, letters.title) for tile in scene.tiles]
    titles = {"x": left + SAMPLE + BESIDE, "y": above + 0.7 * tiling.head, "text": texts}
    states = {"x": left, "y": above + 0.25 * tiling.head, "text": [tile.state for tile in scene.tiles]}
    texts = [textwrap.fill(tile.note, letters.note, max_lines=4) for tile in scene.tiles]
    notes = {"x": left, "y": above - 0.98, "text": texts}
    inside = {**look, "baseline": "bottom", "right": 4, "paper": NOTE_ALPHA}
    return {
        "titles": Mark("words", "text", titles, {**look, "bold": True}),
        "states": Mark("words", "text", states, look),
        "notes": Mark("words", "text", notes, inside, moves=True),
    }


def cut(text: str, letters: int) -> str:
    """`text`, or its beginning and end in so many letters: both the method and its last setting can be read."""
    if len(text) <= letters:
        return text
    end = (letters - 1) // 2
    return f"{text[: letters - 1 - end].rstrip()}…{text[-end:].lstrip()}"
