"""Pictures in Bokeh, built once, which then only change their data: stage, tiles, data, experiments, and traces."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import EllipsisType
from typing import Any

import numpy as np
from bokeh.models import Column, ColumnDataSource, Div

from pmdviz.experiments import Chart, Ellipses, HeatMap
from pmdviz.experiments import Picture as Shown
from pmdviz.experiments.sweep import SHARE, SeedRuns
from pmdviz.methods import Method
from pmdviz.metrics import METRICS, Metric
from pmdviz.pictures import Mark as Layer
from pmdviz.pictures import Picture
from pmdviz.scenes import race, style
from pmdviz.scenes import trace_columns as traced
from pmdviz.scenes.chart_columns import colour_numbers, legend_html, names_in, picture_of
from pmdviz.scenes.columns import EMPTY_LINE, Image, StageColumns, Tiling
from pmdviz.scenes.data_columns import NO_DATA, with_columns
from pmdviz.scenes.stage import MARKS, SCENES, Pair, Scene, particles_label, stage_picture, stage_tips
from pmdviz.views.drawing import PictureFigure

NOTE_LETTERS = 38  # of a line that a phone has room for


class StageView(PictureFigure):
    """One Bokeh figure, built once; `draw(columns)` changes its data and nothing else.

    The regions of 50, 80 and 95 % of the exact posterior are areas, q is its region of 95 %; in one dimension both are
    curves and the particles a rug under them. The user zooms and pans; a frame never changes the ranges.
    """

    def __init__(
        self, target: Any, scene: Scene = SCENES["posterior"], pair: Pair = (0, 1), legend: bool = True
    ) -> None:
        self.look_at(target, scene, pair)
        self._below: dict[str, Layer] = {}
        first = stage_picture(scene, target, None, pair, StageColumns(), axes=self._ends)
        marks = {name: mark._replace(hover=self._tips if name == "particles" else {}) for name, mark in MARKS.items()}
        super().__init__("stage", first._replace(marks=marks), zoom="both", legend=legend)  # equal borders: a square
        self.draw_picture(first)

    def look_at(self, target: Any, scene: Scene, pair: Pair, method: Method | None = None) -> None:
        """Take ranges, axis names and words from a target, a scene of it and a method."""
        self.target, self.scene, self.pair, self._top = target, scene, pair, np.nan
        self._ends, self._tips = scene.axes(target, pair, np.nan), stage_tips(scene, target, pair)
        self._image: Image | None = None
        self.name_layers(method)
        if hasattr(self, "picture"):
            x, y = self._ends
            self.picture = self.picture._replace(x=x, y=y)
            self.follow()

    def name_layers(self, method: Method | None) -> None:
        """Take the words of the scene for the layers of a method."""
        self.method, self.words = method, self.scene.words(method)

    def labels(self, columns: StageColumns) -> dict[str, str]:
        """What the layers are called in a picture of these columns."""
        dots = {name: particles_label(columns, self.words[name]) for name in self.words if name == "particles"}
        return {**self.words, **dots}

    def draw(self, columns: StageColumns, note: str = "", with_image: bool = True) -> None:
        """Draw columns that were computed elsewhere; drawing them twice changes nothing.

        Without the image the one before stays: it repaints the whole figure, and the eye does not miss it.
        """
        if not with_image and columns.image is not None and self._image is not None:
            columns = columns._replace(image=self._image)
        self._image = columns.image
        if np.isfinite(columns.top) and not np.isfinite(self._top):
            self._top, self._ends = columns.top, self.scene.axes(self.target, self.pair, columns.top)
        note = note.replace(": ", ":\n") if self._large else "\n".join(textwrap.wrap(note, NOTE_LETTERS))
        made = stage_picture(self.scene, self.target, self.method, self.pair, columns, note, axes=self._ends)
        self.draw_picture(made._replace(marks={**made.marks, **self._below}))

    def draw_below(self, name: str, lines: Mapping[str, np.ndarray] = EMPTY_LINE) -> None:
        """Draw lines under the run's, or none: of a "ghost", or where a target is "moved" to."""
        mark = MARKS[name]._replace(columns=lines)
        if lines is not self._below.get(name, MARKS[name]).columns:
            self._below[name] = mark
            self.draw_picture(self.picture._replace(marks={**self.picture.marks, name: mark}))


class DataView(PictureFigure):
    """The picture of the data: all rows, the batch of the last step lit, and what q and the exact posterior predict."""

    def __init__(self) -> None:
        self._rug: dict[str, np.ndarray] = EMPTY_LINE
        super().__init__("data", NO_DATA)

    def show(self, picture: Picture) -> None:
        """Draw the data as the step of a frame saw them; what stands still is sent once."""
        self.draw_picture(with_columns(picture, {"rug": self._rug}))

    def show_rug(self, columns: race.Columns) -> None:
        """Dots at the foot of a histogram, one for each observation; none unless the data are being edited."""
        if len(columns["x"]) or len(self._rug["x"]):
            self._rug = dict(columns)
            self.show(self.picture)


# The stage of a race: a tile for each entrant, all in one figure.

SAID = ("titles", "states", "notes")
UNKNOWN_PX = 1000.0  # width of the tiles before the browser has said it


class RaceTiles(PictureFigure):
    """One Bokeh figure, which has as many tiles per row as its `width` allows."""

    def __init__(self) -> None:
        self.tiling, self.width = Tiling(0, 3), UNKNOWN_PX
        self._kept_words: dict[str, Layer] = {}
        self._joined: race.Joined = {}
        # With `frame_align` it would take over the borders of the traces in the same layout.
        room, none = race.tiles_room(style.MOST_ENTRANTS), dict.fromkeys(style.BORDERS, 0)
        super().__init__("race", room, legend=False, frame_align=False, borders=none)
        moving = [key for key, layer in self.drawn.items() if layer.mark.moves and layer.mark.kind != "words"]
        self.moving = [self.sources[key] for key in moving]

    def draw(self, scene: race.RaceScene, with_words: bool = True) -> None:
        """Draw what each method's stage shows into its tile; without new words those before stay."""
        tiling = Tiling.fitting(len(scene.tiles), self.width)
        letters = race.Letters.fitting(self.width / tiling.size[0])
        made = race.tiles_picture(scene, tiling, letters, before=self._joined)
        if with_words or tiling != self.tiling:
            self._kept_words = {key: made.marks[key] for key in SAID}
        if tiling != self.tiling:
            self.tiling, (width, height) = tiling, tiling.size
            self.figure.styles = {**self.figure.styles, "aspect-ratio": f"{width:.4f} / {height:.4f}"}
        self.draw_picture(made._replace(marks={**made.marks, **self._kept_words}))


# Pictures of experiments.

HEIGHT, TOP, SIDE = 380, 12, 560  # px, of a figure, above its frame, and of a square at most
BORDERS = {**style.BORDERS, "top": TOP}  # the legend is not part of the figure
SQUARE = {"left": 64, "right": 12, "bottom": 48, "top": 28}  # alike in sum: a square outside is a square inside
Kind = tuple[Any, ...]
NO_NUMBERS: Mapping[str, int] = {}


class ExperimentFigure(PictureFigure):
    """The figure of one picture."""

    def __init__(self, picture: Shown, numbers: Mapping[str, int]) -> None:
        borders = SQUARE if isinstance(picture, Ellipses) else BORDERS
        wide = {"sizing_mode": "scale_width", "width": SIDE, "height": SIDE, "max_width": SIDE}
        look: dict[str, Any] = wide if isinstance(picture, Ellipses) else {"height": HEIGHT}
        name = f"picture-{type(picture).__name__.lower()}"
        self.made = picture_of(picture, numbers)  # whose legend is over the figure
        super().__init__(name, self.made._replace(legend={}), legend=False, borders=borders, **look)
        if isinstance(picture, HeatMap):
            self.figure.grid.visible = False

    def show(self, picture: Shown, numbers: Mapping[str, int]) -> None:
        """Draw a picture of the same kind; drawing twice changes nothing."""
        self.made = picture_of(picture, numbers)
        self.draw_picture(self.made._replace(legend={}))


def kind_of(picture: Shown) -> Kind:
    """What a figure cannot change: the kind of the picture, and of its axes."""
    scales = (picture.x_log, picture.y_log) if isinstance(picture, Chart) else ()
    return type(picture), *scales


class PicturesView:
    """`layout` holds the pictures; `stylesheets` dress it (a grid) and the words over each of them."""

    def __init__(self, stylesheets: Sequence[str] = (), head_stylesheets: Sequence[str] = ()) -> None:
        look = {"stylesheets": [*stylesheets], "css_classes": ["pmdviz-pictures"]}
        self.layout = Column(sizing_mode="stretch_width", **look)
        self._head_stylesheets = [*head_stylesheets]
        self.views: list[ExperimentFigure] = []
        self.heads: list[Div] = []
        self._kinds: list[Kind] = []
        self.colours: dict[str, int] = {}  # of names; none where other names are to come
        self._dark = False

    def show(self, pictures: Sequence[Shown], known: Mapping[str, int] = NO_NUMBERS) -> None:
        """Draw them all. Only where their kinds are others than before are figures made.

        A name has the same colour in all pictures; `known` are the numbers of colours of others.
        """
        self.colours = {**known, **self.colours}
        kinds = [kind_of(picture) for picture in pictures]
        if kinds != self._kinds:
            self._make(kinds, pictures)
        for view, picture in zip(self.views, pictures, strict=True):
            self.colours |= colour_numbers(names_in(picture), self.colours)
            view.show(picture, self.colours)
        self._show_heads()

    def _make(self, kinds: list[Kind], pictures: Sequence[Shown]) -> None:
        """Figures of these kinds; those at the front that stay the same are kept."""
        same = next((k for k, pair in enumerate(zip(kinds, self._kinds, strict=False)) if pair[0] != pair[1]), None)
        kept = min(len(kinds), len(self._kinds)) if same is None else same
        new = [ExperimentFigure(picture, self.colours) for picture in pictures[kept:]]
        for view in new:
            view.set_theme(self._dark)
        self.views, self._kinds = [*self.views[:kept], *new], kinds
        heads = [Div(text="", stylesheets=self._head_stylesheets, sizing_mode="stretch_width") for _ in new]
        self.heads = [*self.heads[:kept], *heads]
        look = {"sizing_mode": "stretch_width", "css_classes": ["pmdviz-picture"]}
        boxes = [Column(children=[head, view.figure], **look) for head, view in zip(heads, new, strict=True)]
        self.layout.children = [*self.layout.children[:kept], *boxes]

    def _show_heads(self) -> None:
        for head, view in zip(self.heads, self.views, strict=True):
            text = legend_html(view.made, self._dark)
            if head.text != text:
                head.text = text

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        self._dark = dark
        for view in self.views:
            view.set_theme(dark)
        self._show_heads()


# The traces of runs and races: how far each approximation is from the exact posterior, with bands over seeds.

WAITING = "Press Play:\n{} will be drawn here"
NO_ROWS: Mapping[str, np.ndarray] = {name: np.empty(0, np.float32) for name in traced.CLOCKS}


class TracesView(PictureFigure):
    """One Bokeh figure with all traces; `show` changes data, ranges and words, never the user's zoom along x.

    Other runs and where a person is in the run so far are drawn as well (`Standing`).
    """

    def __init__(self, group: str = "tv") -> None:
        self.group, self.clock = group, "visited"
        self._seeds: Sequence[SeedRuns] = ()
        self._bands: traced.Bands = {}
        self._seeds_said = ""
        self._last: tuple[Any, ...] = (NO_ROWS, {}, (), None, "data", (), traced.AT_THE_END)
        self._playing = False
        longest = sorted(traced.GROUPS.values(), key=lambda each: -len(each.metrics))
        more = [self._picture(next(each for each in longest if each.log == log)) for log in (True, False)]
        super().__init__("traces", self._picture(traced.GROUPS[group]), zoom="width", more=more)
        self.figure.on_event("doubletap", lambda event: self.follow())

    def begin(self, on: bool) -> None:
        """Whether it plays: then an empty picture no longer says to press Play."""
        self._playing = on
        if on:
            self._spans.clear()
            self.show(*self._last)

    def choose(self, group: str | None = None, clock: str | None = None) -> None:
        """Show another group of traces (a key of GROUPS) or another x axis (a key of CLOCKS)."""
        self.group, self.clock = group or self.group, clock or self.clock
        self._spans.clear()
        self.show_seeds(self._seeds)

    def show_seeds(self, runs: Sequence[SeedRuns]) -> None:
        """Have a band over the same run with other seeds behind each trace; no bands for an empty list."""
        self._seeds, names = runs, tuple(traced.GROUPS[self.group].metrics)
        self._bands = bands_of(runs[0], self.clock, names) if runs else {}
        self.show(*self._last)

    def say_seeds(self, words: str) -> None:
        """A few words on the other seeds, in the upper right corner."""
        self._seeds_said = words
        self.show(*self._last)

    def iteration_at(self, x: float) -> int | None:
        """The iteration of the run so far that is nearest to a place on the axis; None where nothing has been run."""
        history = self._history(traced.GROUPS[self.group])
        if len(history["iteration"]) < 2:
            return None
        return round(float(np.interp(x, history[self.clock], history["iteration"])))

    def show(
        self,
        history: Mapping[str, np.ndarray] | Callable[[Iterable[str]], Mapping[str, np.ndarray]],
        floors: Mapping[str, float | None],
        marks: Sequence[traced.Mark] = (),
        budget: int | None = None,
        unit: str = "data",
        expected: Sequence[str] = (),
        standing: traced.Standing = traced.AT_THE_END,
    ) -> None:
        """Draw a history (equal-length columns), the floors (floor_tv, floor_kl) and the marks of a run.

        The history may be a function of some metrics, where not every row has each of them. A floor that is None is
        being computed.
        Kinds of marks that are `expected` are in the legend from the start: it does not move while the run plays.
        """
        self._last = history, floors, marks, budget, unit, expected, standing
        self.draw_picture(self._picture(traced.GROUPS[self.group]))

    def _history(self, group: traced.Group) -> Mapping[str, np.ndarray]:
        history = self._last[0]
        return history(group.metrics) if callable(history) else history

    def _picture(self, group: traced.Group) -> Picture:
        """The picture shown last."""
        _, floors, marks, budget, unit, expected, standing = self._last
        history = self._history(group)
        beside = [band[edge] for band in self._bands.values() for edge in ("low", "high")]
        if standing.ghost is not None:
            ghost = standing.ghost(group.metrics)
            beside += [traced.column(ghost, name) for name in group.metrics]
        axes = traced.traces_axes(history, group, self.clock, floors, budget, unit, beside)
        happened = {*expected, *(mark.kind for mark in marks)}
        number = len(self._seeds[0].whole) if self._seeds else 0
        seeds = f"middle {SHARE:.0%} of {number} seeds".replace("%", "\u00a0%") if number else ""
        drawn = floors, marks, happened, standing, self._bands, seeds, not group.floors.keys().isdisjoint(floors)
        made = traced.traces_picture(history, group, self.clock, axes, *drawn)
        middle = made.middle
        if len(history["iteration"]) < 2:
            middle = "" if self._playing else WAITING.format(group.title)
        corner = "\n".join(filter(None, (made.corner, self._seeds_said)))
        return labelled(made._replace(middle=middle, corner="" if middle else corner), group, self.clock)


LABELS, LEAST_GAP, BESIDE, END = 2, 0.15, 0.1, 0.06  # traces; shares of the picture's height


def labelled(picture: Picture, group: traced.Group, clock: str) -> Picture:
    """The names of one or two traces at their ends; of more there is the legend.

    The upper one is above its curve and the lower one below it.
    """
    if len(group.metrics) > LABELS:
        return picture
    ends = sorted(filter(None, (_end(picture, name, clock) for name in group.metrics)), key=lambda end: -end[1])
    heights = [min(max(end[1] + (-BESIDE if k else BESIDE), END), 1 - END) for k, end in enumerate(ends)]
    if len(heights) == LABELS and heights[0] - heights[1] < LEAST_GAP:
        heights = [max(heights[0], END + LEAST_GAP), min(heights[1], 1 - END - LEAST_GAP)]
    marks = dict(picture.marks)
    for k in range(LABELS):
        there = k < len(ends)
        name, at = (ends[k][2], ends[k][0]) if there else (next(iter(group.metrics)), 0.0)
        words = group.metrics[name].title if there else ""
        columns: dict[str, list] = {"x": [at], "y": [heights[k] if there else 0.0], "text": [words]}
        look = {"edge": True, "align": "right" if at > picture.x.high / 2 else "left", "baseline": "middle"}
        marks[f"label {k}"] = Layer("words", group.metrics[name].colour, columns, look, moves=True)
    legend = {key: words for key, words in picture.legend.items() if key not in group.keys.values()}
    return picture._replace(marks=marks, legend=legend)


def _end(picture: Picture, name: str, clock: str) -> tuple[float, float, str] | None:
    """Where a trace ends: the clock, the share of the picture's height, and its name; None before it has begun."""
    columns, y = picture.marks["line 0"].columns, picture.y  # which all lines share
    values = np.asarray(columns[name], float)
    known = np.flatnonzero(np.isfinite(values))
    if len(known) < 2:
        return None
    low, high, at = (np.log(v) if y.log else v for v in (y.low, y.high, values[known[-1]]))
    return float(columns[clock][known[-1]]), float((at - low) / (high - low)), name


def bands_of(runs: SeedRuns, clock: str, names: Sequence[str]) -> dict[str, dict[str, np.ndarray]]:
    """The bands of those columns that the runs have, against a clock."""
    found = {name: runs.band(clock, name) for name in names} if runs.whole else {}
    return {name: band for name, band in found.items() if len(band["x"])}


# The traces of a race: a metric of every method against a clock, and the difference between two entrants.

RACE_HEIGHT = 250  # px
NO_ENTRANT = dict.fromkeys(("iteration", *traced.RACE_CLOCKS), np.empty(0, np.float32))
ROOM = [NO_ENTRANT] * len(style.ENTRANTS_LIGHT)  # for as many entrants as can be told apart


class RaceTraces(PictureFigure):
    """One figure with a metric of all entrants, whole, and a marker where each is at the moment that is shown.

    Without a metric: how far the second of two entrants is above the first one.
    """

    def __init__(self, slot: str, metric: Metric) -> None:
        self.metric: Metric | None = metric
        self.clock = "visited"
        self._seeds: Sequence[SeedRuns] = ()
        self._bands: traced.Bands = {}
        self._last: race.RaceScene | None = None
        other = next(each for each in METRICS.values() if each.axis and each.log != metric.log)
        room = [race.race_traces_picture(ROOM, each, "visited") for each in (other, metric)]
        super().__init__(f"race-{slot}", room[1], "width", more=room[:1], height=RACE_HEIGHT)
        self.figure.on_event("doubletap", lambda event: self.follow())

    @property
    def moving(self) -> list[ColumnDataSource]:
        """The columns of the entrants."""
        return [self.sources[f"traces-{k}"] for k in range(len(ROOM))]

    def show(self, scene: race.RaceScene) -> None:
        """Draw the traces of the whole race so far, with markers where the entrants are, and the floors."""
        self._last = scene
        self.draw_picture(self._difference(scene) if self.metric is None else self._curves(scene, self.metric))

    def _difference(self, scene: race.RaceScene) -> Picture:
        if (found := race.difference_of(scene, self.clock)) is None:  # another race, whose menu will offer others
            return self.picture
        end = max(float(tile.trace[self.clock][-1]) for tile in scene.tiles)
        return race.difference_picture(found, self.clock, traced.clock_end(self.clock, end, scene.budget, found.unit))

    def _curves(self, scene: race.RaceScene, metric: Metric) -> Picture:
        rows = [tile.whole for tile in scene.tiles]
        here = [tile.trace for tile in scene.tiles] if scene.at < scene.last else ()
        counted = scene.floors.get(metric.name), scene.budget, scene.recipe.budget_unit
        made = race.race_traces_picture(rows, metric, self.clock, *counted, self._bands, here)
        waits = rows and all(len(one["visited"]) < 2 for one in rows)
        return made._replace(middle=WAITING.format(metric.title)) if waits else made

    def choose(self, metric: Metric | None | EllipsisType = ..., clock: str | None = None) -> None:
        """Show another metric, the difference (None) or another clock; the zoom along the old one means nothing now."""
        self.metric, self.clock = self.metric if metric is ... else metric, clock or self.clock
        self._spans.clear()
        self.show_seeds(self._seeds)

    def show_seeds(self, entrants: Sequence[SeedRuns]) -> None:
        """Bands over the seeds of each entrant; none for an empty list."""
        self._seeds, name = entrants, self.metric.name if self.metric is not None else ""
        found = {str(k): bands_of(runs, self.clock, [name]).get(name) for k, runs in enumerate(entrants)}
        self._bands = {k: one for k, one in found.items() if one is not None}
        if self._last is not None:
            self.show(self._last)

    def spent_at(self, x: float) -> int | None:
        """What the entrant that was furthest at a place on the axis had spent; None where nothing has been run."""
        rows = [(tile.whole, tile.clock) for tile in (self._last.tiles if self._last is not None else ())]
        found = [np.interp(x, one[self.clock], one[of]) for one, of in rows if len(one["visited"]) > 1]
        return round(float(max(found))) if found else None
