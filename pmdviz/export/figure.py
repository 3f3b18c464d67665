"""Pictures of a film with matplotlib: fixed marks are drawn once, moving marks with every frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import IO, Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.text import Annotation, Text
from matplotlib.ticker import NullLocator
from matplotlib.transforms import Transform

from pmdviz.export.films import Film, Scene, race_traces_of, stage_of, traces_of
from pmdviz.export.options import NO_TRACES, Look, RaceLook
from pmdviz.pictures import Mark, Picture, tick_words
from pmdviz.scenes import style
from pmdviz.scenes.columns import Tiling, dot_opacity
from pmdviz.scenes.race import Columns, Letters, RaceScene, tile_words, tiles_picture

S = TypeVar("S")  # a scene, of a run or of a race
Style: TypeAlias = "str | float | bool | tuple | Mapping[str, str | float] | Transform"  # of an artist
MARKERS = {  # of the page -> of matplotlib
    "circle": "o", "triangle": "^", "square": "s", "diamond": "D", "inverted_triangle": "v", "star": "*", "hex": "h",
    "plus": "P", "asterisk": "x",
}  # fmt: skip
FONT = "DejaVu Sans"  # comes with matplotlib: the same film on every machine
BASE = 540.0  # px: a picture of this height is drawn with the page's own sizes, larger ones in proportion
TITLE_PX, TITLE_LARGE_PX = 15.0, 21.0
LINE = 1.5  # a line of the title, in its own size
ONE_LINE, TWO_LINES = (1.0, 0.9, 0.85), (0.95, 0.85)  # sizes of a legend's letters, as shares of the usual one
BELOW = (0.75, 0.65)  # further ones
WIDE = 1.5  # width over height from which the traces are next to the stage
DOT_IN_LEGEND = 5.5  # px


# A film's large type has its legends in two lines; the square stays one.
LARGE_BORDERS = {**style.PRESENTER_BORDERS, "top": 52, "right": 28}


class Box(NamedTuple):
    """A rectangle in design px, y upwards."""

    x: float
    y: float
    width: float
    height: float


class FigureLayout:
    """An empty picture of the size that was asked for; lengths in design px (1 px = `scale` real ones)."""

    def __init__(self, look: Look) -> None:
        self.look, self.colours = look, style.theme(look.dark)
        self.scale = min(look.width, look.height) / BASE
        self.width, self.height = look.width / self.scale, look.height / self.scale
        self.text_px = style.PRESENTER_PX if look.large_type else style.TEXT_PX
        self.title_px = TITLE_LARGE_PX if look.large_type else TITLE_PX
        self.borders = LARGE_BORDERS if look.large_type else style.BORDERS
        self.with_traces = look.traces != NO_TRACES and look.width >= WIDE * look.height
        self.figure = Figure(figsize=(self.width / 72, self.height / 72), dpi=72 * self.scale)
        self.figure.patch.set(facecolor=self.colours.paper, alpha=0.0 if look.transparent else 1.0)

    def room(self, title_lines: int) -> Box:
        """All that is below the title."""
        below = self.height - math.ceil((title_lines * LINE + 0.4) * self.title_px)  # whole px: lines stay crisp
        return Box(0.0, 0.0, self.width, below)

    def layout(self, title_lines: int) -> tuple[Box, Box | None]:
        """The outer boxes of the stage (a square) and of the traces next to it."""
        below = self.room(title_lines).height
        side = min(below, self.width)
        left = 0.0 if self.with_traces else (self.width - side) / 2
        stage = Box(left, below - side, side, side)
        traces = Box(side, below - side, self.width - side, side) if self.with_traces else None
        return stage, traces

    def axes(self, box: Box, **borders: float) -> Axes:
        """Axes inside the borders of a box (the usual ones but for those given), in the theme's colours."""
        b = {**self.borders, **borders}
        width, height = box.width - b["left"] - b["right"], box.height - b["bottom"] - b["top"]
        corner = (box.x + b["left"]) / self.width, (box.y + b["bottom"]) / self.height
        axes = self.figure.add_axes((*corner, width / self.width, height / self.height))
        colours = self.colours
        axes.set_facecolor("none")
        axes.set_axisbelow(True)
        axes.grid(True, which="major", color=colours.grid, linewidth=1)
        axes.tick_params(
            which="major", direction="out", length=4, width=1, pad=4, color=colours.muted, labelcolor=colours.muted,
            labelsize=self.text_px, labelfontfamily=FONT,
        )  # fmt: skip
        for side, spine in axes.spines.items():
            spine.set(color=colours.muted if side in ("left", "bottom") else colours.grid, linewidth=1)
        return axes

    def text(self, axes: Axes, x: float, y: float, words: str, **more: Style) -> Text:
        """Words on axes, in the small size and the muted colour unless said otherwise."""
        usual = {"fontsize": self.text_px, "fontfamily": FONT, "color": self.colours.muted}
        return axes.text(x, y, words, **{**usual, **more})

    def bare_axes(self, box: Box, x: tuple[float, float], y: tuple[float, float]) -> Axes:
        """Axes that fill a box, with nothing to be seen of them."""
        place = (box.x / self.width, box.y / self.height, box.width / self.width, box.height / self.height)
        axes = self.figure.add_axes(place)
        axes.set(xlim=x, ylim=y, xticks=[], yticks=[])
        axes.axis("off")
        return axes

    def legend(self, axes: Axes, handles: list[Line2D], labels: list[str], below: bool = False) -> Legend:
        """A legend above the axes, or below: in one line, a little smaller if need be, else in two.

        Below there is room for one line alone, which may be smaller still.
        """
        room = axes.bbox.width + 2 * self.borders["right"] * self.scale
        place: dict[str, Style] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
        if below:
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
        tries = [(len(labels), size) for size in ((*ONE_LINE, *BELOW) if below else ONE_LINE)]
        for columns, size in [*tries, *((-(-len(labels) // 2), size) for size in TWO_LINES)]:
            px = size * self.text_px
            made = axes.legend(
                handles, labels, **place, ncols=columns, frameon=False,
                prop={"family": FONT, "size": px}, labelcolor=self.colours.text,
                borderpad=0.1, borderaxespad=0.15, labelspacing=0.1, handletextpad=0.4,
                handlelength=style.LEGEND["glyph_width"] / px, columnspacing=style.LEGEND["spacing"] / px,
            )  # fmt: skip
            if made.get_window_extent().width <= room:
                break
        return made


def empty_line(mark: Mark, colour: str, **more: Style) -> Line2D:
    """A mark of lines or signs without its points."""
    look = mark.look
    if mark.kind == "signs":
        sign = {"marker": MARKERS[look["marker"]], "markersize": MARK_PX, "linestyle": "none"}
        return Line2D([], [], color=colour, **sign, **more)
    width = look.get("width", style.LINE_WIDTH)
    ends = {"dash_capstyle": "butt", "solid_capstyle": "butt", "solid_joinstyle": "bevel", "dash_joinstyle": "bevel"}
    dashes = tuple(part / width for part in style.dash(look.get("dash", ())))  # Matplotlib counts in line widths
    shape = {"linewidth": width, "linestyle": (0, dashes) if dashes else "solid"}
    return Line2D([], [], color=colour, **shape, **ends, **more)


def set_ticks(axis: Axis, ticks: Sequence[float], words: Callable[[float], str] = tick_words) -> None:
    """Put round numbers, in words without exponents, at `ticks` and nowhere else."""
    axis.set_ticks(ticks, labels=[*map(words, ticks)])
    axis.set_minor_locator(NullLocator())


LETTER = 0.56  # mean width of a letter of the title, in its size
MARK_PX, WORDS_PX = 7.0, 11  # of a sign, and of words among the drawn marks


class PicturePanel(Generic[S]):
    """The pictures of scenes on one pair of axes: artists made once, whose data follow the marks.

    `make` makes the picture of a scene; its axes come from the first. Bare axes fill the box, with the legend below.
    """

    def __init__(self, paper: FigureLayout, box: Box, make: Callable[[S], Picture], first: S, **borders: float) -> None:
        self.paper, self.box, self.make, picture = paper, box, make, make(first)
        self.inks = style.colours(paper.look.dark)
        self.bare = picture.x.bare and picture.y.bare
        self.spans = {"xlim": (picture.x.low, picture.x.high), "ylim": (picture.y.low, picture.y.high)}
        self.axes = axes = paper.bare_axes(box, *self.spans.values()) if self.bare else self._axes(picture, **borders)
        self.artists: dict[str, Any] = {}
        place: dict[str, Style] = {"transform": axes.transAxes, "zorder": 9}
        self.middle = paper.text(axes, 0.5, 0.5, "", ha="center", wrap=True, **place)
        self.corner = paper.text(axes, 0.99, 0.99, "", ha="right", va="top", **place)
        px = paper.scale / axes.bbox.width
        self.note = paper.text(axes, 8 * px, 6 * px, "", color=paper.colours.text, **place)
        self._named: Mapping[str, str] = {}

    def _axes(self, picture: Picture, **borders: float) -> Axes:
        """Axes with labels and ticks; a label without room is in two lines."""
        paper, box = self.paper, self.box
        label, letter = picture.x.label, LETTER * paper.text_px
        if " (" in label and len(label) * letter > box.width - paper.borders["left"] + paper.borders["right"]:
            label = label.replace(" (", "\n(")
            borders["bottom"] = paper.borders["bottom"] + LINE * paper.text_px
        axes = paper.axes(box, **borders)
        axes.set(xscale="log" if picture.x.log else "linear", yscale="log" if picture.y.log else "linear")
        axes.set(**self.spans)
        font = {"fontsize": paper.text_px, "fontfamily": FONT, "color": paper.colours.text, "labelpad": 5}
        axes.set_xlabel(label, **font)
        axes.set_ylabel(picture.y.label, **font)
        across = picture.x.ticks
        longest = max((len(picture.x.words(tick)) for tick in across), default=0) + 1
        room = axes.bbox.width / paper.scale / (longest * letter)
        set_ticks(axes.xaxis, across[:: math.ceil(len(across) / max(room, 1)) or 1], picture.x.words)
        set_ticks(axes.yaxis, picture.y.ticks, picture.y.words)
        return axes

    @property
    def moving(self) -> list[Artist]:
        """The artists drawn with every frame, from the lowest up."""
        drawn = [part for each in self.artists.values() for part in _parts(each)]
        return [*sorted(drawn, key=lambda artist: artist.get_zorder()), self.middle, self.corner, self.note]

    def show(self, scene: S) -> bool:
        """Draw a scene; returns whether there is something new, or another legend: all is then drawn again."""
        picture = self.make(scene)
        new = [key for key, mark in picture.marks.items() if mark.columns and key not in self.artists]
        for place, (key, mark) in enumerate(picture.marks.items()):
            if not mark.columns:  # there for the legend
                continue
            if key in new:
                self.artists[key] = self._artist(mark, 3 + place / 100)
            self._update(self.artists[key], mark)
        for artist, words in ((self.middle, picture.middle), (self.corner, picture.corner), (self.note, picture.note)):
            artist.set_text(words)
        if picture.legend != self._named:
            self._named = picture.legend
            self._draw_legend(picture)
            return True
        return bool(new)

    def _artist(self, mark: Mark, zorder: float) -> Any:
        colour, axes, look = self.inks.get(mark.role, ""), self.axes, mark.look
        match mark.kind:
            case "dots":
                return axes.scatter([], [], s=[], color=colour, linewidths=0, zorder=zorder)
            case "signs" if "marker" in mark.columns:
                return {}  # a line for each marker and role, made as they are needed
            case "line" | "signs":
                made = axes.add_line(empty_line(mark, colour, zorder=zorder))
                if look.get("edge"):
                    made.set_transform(axes.get_xaxis_transform())
                elif mark.kind == "signs":
                    made.set_clip_on(False)
                return made
            case "segments":
                artist = LineCollection([], linewidths=look.get("width", style.PATH_WIDTH), zorder=zorder)
                axes.add_collection(artist, autolim=False)
                return artist
            case "image":
                colours = ListedColormap(style.palette(self.paper.look.dark, mark.columns["ends"]))
                fixed = {"vmin": 0, "vmax": 1, "origin": "lower", "interpolation": "nearest", "aspect": "auto"}
                return axes.imshow(np.full((1, 1), np.nan), cmap=colours, zorder=1, **fixed)
            case _:
                return []  # a text for each place or a patch for each level, made as they are needed

    def _words(self, mark: Mark) -> Annotation:
        """A text at a place, or next to it."""
        said = mark.look
        look: dict[str, Style] = {"fontsize": said.get("px", WORDS_PX), "ha": said.get("align", "center")}
        look |= {"va": said.get("baseline", "center"), "xytext": (said.get("right", 0), -said.get("down", 0))}
        if said.get("beside"):
            look = {"fontsize": self.paper.text_px, "va": "bottom", "xytext": (6, 3)}
        if said.get("bold"):
            look["fontweight"] = "bold"
        if "paper" in said:
            look["bbox"] = {"facecolor": self.paper.colours.paper, "alpha": said["paper"], "linewidth": 0, "pad": 1.0}
        font = {"fontfamily": FONT, "color": self.inks[mark.role], "zorder": 8}
        return self.axes.annotate("", (0, 0), textcoords="offset points", **look, **font)

    def _update(self, artist: Any, mark: Mark) -> None:
        columns, look = mark.columns, mark.look
        match mark.kind:
            case "signs" if "marker" in columns:
                self._update_signs(artist, mark)
            case "line" | "signs":
                artist.set_data(columns[look.get("x", "x")], columns[look.get("y", "y")])
            case "dots":
                artist.set_offsets(np.column_stack([columns["x"], columns["y"]]))
                artist.set_sizes(np.asarray(columns.get("size", look.get("size"))).reshape(-1) ** 2)
                artist.set_alpha(dot_opacity(self.paper.colours.dots, look["drawn"]) if "drawn" in look else None)
            case "segments":
                ends = np.stack([columns[name] for name in ("x0", "y0", "x1", "y1")], axis=1)
                artist.set_segments(ends.reshape(-1, 2, 2))
                inks = to_rgba_array([self.inks[name] for name in style.PATH_COLOURS])[np.asarray(columns["kind"], int)]
                inks[:, 3] = columns["alpha"]
                artist.set_color(inks)
            case "areas" | "band" | "bars":
                self._update_patches(artist, mark)
            case "image":
                artist.set_data(np.ma.masked_equal(columns["values"], 0.5))  # nothing, not paper: axes stay
                artist.set_extent((*columns["x"], *columns["y"]))
                self.axes.set(**self.spans)
            case _:
                artist += [self._words(mark) for _ in columns["text"][len(artist) :]]
                for part in artist[len(columns["text"]) :]:
                    part.set_text("")
                for part, *place, words in zip(artist, columns["x"], columns["y"], columns["text"], strict=False):
                    part.xy = place
                    part.set_text(words)
                    part.set_visible(bool(words))

    def _update_signs(self, artist: dict[tuple[str, str], Line2D], mark: Mark) -> None:
        """Signs of several markers, or of several roles."""
        columns = mark.columns
        roles = columns.get("role", [mark.role] * len(columns["x"]))
        found: dict[tuple[str, str], list[tuple[float, float]]] = {key: [] for key in artist}
        for x, y, *key in zip(columns["x"], columns["y"], columns["marker"], roles, strict=True):
            found.setdefault((key[0], key[1]), []).append((x, y))
        for (marker, role), points in found.items():
            if (marker, role) not in artist:
                one = mark._replace(role=role, columns={}, look={**mark.look, "marker": marker})
                artist[marker, role] = self._artist(one, 3.9)
            artist[marker, role].set_data(*(zip(*points, strict=True) if points else ((), ())))

    def _update_patches(self, artist: list[PathPatch], mark: Mark) -> None:
        paths = filled(mark)
        for _ in paths[len(artist) :]:
            alpha = mark.look.get("alpha", style.AREA_ALPHA)
            look = {"facecolor": self.inks[mark.role], "alpha": alpha, "linewidth": 0}
            artist.append(self.axes.add_patch(PathPatch(NOTHING, zorder=2.5, **look)))
        for k, patch in enumerate(artist):
            patch.set_path(paths[k] if k < len(paths) else NOTHING)

    def _draw_legend(self, picture: Picture) -> None:
        """All entries, without the last signs that have no room: large type has none for all."""
        keys = [key for key in picture.legend if key in picture.marks]
        signs = sum(picture.marks[key].kind == "signs" for key in keys)
        for dropped in range(signs + 1) if keys else ():
            kept = keys[: len(keys) - dropped]
            handles = [self._handle(picture.marks[key]) for key in kept]
            words = [picture.legend[key] for key in kept]
            box = self.paper.legend(self.axes, handles, words, self.bare).get_window_extent()
            if box.x0 >= self.box.x * self.paper.scale and box.x1 <= self.axes.figure.bbox.x1:
                return

    def _handle(self, mark: Mark) -> Line2D:
        """The legend's handle of a mark."""
        if mark.kind != "dots":
            return empty_line(mark, self.inks[mark.role])
        look = {"marker": "o", "markersize": DOT_IN_LEGEND, "markeredgewidth": 0, "alpha": self.paper.colours.dots}
        return Line2D([], [], linestyle="none", color=self.inks[mark.role], **look)


def _parts(artist: Any) -> list[Artist]:
    """The artists of a mark."""
    return artist if isinstance(artist, list) else [*artist.values()] if isinstance(artist, dict) else [artist]


def filled(mark: Mark) -> list[Path]:
    """The outlines of areas, of a band or of bars: a path for each level, holes included; NaN is between two parts."""
    columns = mark.columns
    if mark.kind == "bars":
        left, right, bottom, top = (np.asarray(columns[side], float) for side in ("left", "right", "bottom", "top"))
        gap = np.full(len(left), np.nan)
        x, y = np.stack([left, right, right, left, gap], 1), np.stack([bottom, bottom, top, top, gap], 1)
        return [Path(np.column_stack([x.ravel(), y.ravel()]))]
    if mark.kind == "band":
        x, y = np.append(columns["x"], columns["x"][::-1]), np.append(columns["low"], columns["high"][::-1])
        return [Path(np.column_stack([x, y]))]
    outlines, levels = np.column_stack([columns["x"], columns["y"]]), columns["level"]
    return [Path(outlines[levels == level]) for level in np.unique(levels)]


NOTHING = Path(np.empty((0, 2)))
VECTOR = {"svg.hashsalt": "pmdviz", "svg.fonttype": "none", "pdf.fonttype": 42}


class Drawing(Generic[S]):
    """A film's figure: the state in words above its panels, which the kinds of film add."""

    def __init__(self, look: Look, longest: int) -> None:
        self.paper = paper = FigureLayout(look)
        self.figure, self.canvas = paper.figure, FigureCanvasAgg(paper.figure)
        self._letters = int(0.96 * paper.width / (LETTER * paper.title_px))
        self.title_lines = 1 if longest <= self._letters else 2
        font = {"fontsize": paper.title_px, "fontfamily": FONT, "color": paper.colours.text, "linespacing": 1.2}
        top = 1 - 0.35 * paper.title_px / paper.height
        self.title = self.figure.text(0.5, top, "", ha="center", va="top", **font)
        self.panels: list[PicturePanel[S]] = []  # each shows a scene and says whether all is to be drawn again
        self._ground: Any = None  # the pixels of what stands still

    @property
    def moving(self) -> list[Artist]:
        """All that is drawn with every frame."""
        return [self.title, *(artist for panel in self.panels for artist in panel.moving)]

    def _take(self, scene: S) -> None:
        if any([panel.show(scene) for panel in self.panels]):
            self._ground = None
        self.title.set_text(folded(scene.words) if self.title_lines == 2 else scene.words)

    def draw(self, scene: S) -> np.ndarray:
        """The scene as pixels (height, width, 4), uint8 RGBA; valid until the next call."""
        self._take(scene)
        if self._ground is None:
            self._animate(True)
            self.canvas.draw()
            self._ground = self.canvas.copy_from_bbox(self.figure.bbox)
        self.canvas.restore_region(self._ground)
        for artist in self.moving:
            artist.draw(self.canvas.renderer)
        return np.asarray(self.canvas.buffer_rgba())

    def save(self, scene: S, path: FilePath | IO[bytes], form: str) -> None:
        """The scene as a file of a format that matplotlib writes; the same scene gives the same bytes."""
        self._take(scene)
        self._animate(False)
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
        with rc_context(VECTOR):
            self.figure.savefig(path, format=form, metadata=undated, facecolor=self.figure.get_facecolor())
        self._ground = None

    def _animate(self, on: bool) -> None:
        for artist in self.moving:
            artist.set_animated(on)


def folded(words: str) -> str:
    """Words in two lines, broken at the comma nearest their middle."""
    commas = [k for k in range(len(words)) if words.startswith(", ", k)]
    if not commas:
        return words
    at = min(commas, key=lambda k: abs(k - len(words) / 2))
    return f"{words[: at + 1]}\n{words[at + 2 :]}"


# The picture of a run: the stage, and the traces where there is room for them.


class RunPicture(Drawing[Scene]):
    """The figure of a run."""

    def __init__(self, film: Film, first: Scene) -> None:
        last = film.last_scene()
        super().__init__(film.look, max(len(last.words), len(first.words)))
        stage, traces = self.paper.layout(self.title_lines)
        self.panels = [PicturePanel(self.paper, stage, partial(stage_of, film), first)]
        if traces:
            self.panels.append(PicturePanel(self.paper, traces, partial(traces_of, film, last), first))


# The picture of a race: a tile for each entrant, and one metric of all next to them.

WIDE_PX = 1_000.0  # the page's tiles in a window that is wide enough
SHARE = 0.62  # of the width is for the tiles; the traces have what they leave
TOP = 14.0  # px above the axes: without a legend; the tiles' titles show the lines
LEGEND_LINES = 1.7  # height of the legend below the tiles, in its letters
TITLE_SHARE, LARGE_SHARE = 0.068, 0.09  # most height of a title's letters, in tiles


class RacePicture(Drawing[RaceScene]):
    """The figure of a race, with axes for `histories`, all that there is to come, and words of `longest` letters."""

    def __init__(self, look: RaceLook, first: RaceScene, histories: Sequence[Columns], longest: int) -> None:
        super().__init__(look, longest)
        room = self.paper.room(self.title_lines)
        beside = self.paper.with_traces
        part = room._replace(width=SHARE * room.width) if beside else room
        tiling = Tiling.fitting(len(first.tiles), WIDE_PX)
        legend = LEGEND_LINES * self.paper.text_px if {*look.layers} & {*tile_words(first.scene)} else 0.0
        box, letters = fitted(self.paper, part, tiling, legend)
        self.panels = [PicturePanel(self.paper, box, partial(self._tiles, tiling, letters), first)]
        if beside:
            rest = room._replace(x=box.x + box.width, width=room.width - box.width - box.x)
            traces = partial(race_traces_of, look, histories, first)
            self.panels.append(PicturePanel(self.paper, rest, traces, first, top=TOP))

    def _tiles(self, tiling: Tiling, letters: Letters, scene: RaceScene) -> Picture:
        made = tiles_picture(scene, tiling, letters, self.paper.look.layers)
        paths = made.legend.keys() & {"paths"}  # these speak for themselves
        return made._replace(legend={key: words for key, words in made.legend.items() if key not in paths})


def fitted(paper: FigureLayout, room: Box, tiling: Tiling, legend: float) -> tuple[Box, Letters]:
    """The place of the tiles in a room, above a legend of so many px, and the words for which they have room."""
    width, height = tiling.size
    unit = min(room.width / width, (room.height - legend) / height)
    left = 0.0 if paper.with_traces else (room.width - unit * width) / 2
    top = math.floor(room.height - (room.height - legend - unit * height) / 2)  # whole px, as on the page
    px = min(paper.text_px, (LARGE_SHARE if paper.look.large_type else TITLE_SHARE) * unit)
    place = Box(room.x + left, room.y + top - unit * height, unit * width, unit * height)
    return place, Letters.fitting(unit, px, LETTER)
