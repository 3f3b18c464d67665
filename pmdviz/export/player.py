"""HTML: a player in one file, which needs no server and loads nothing."""

from __future__ import annotations

import base64
import html
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from pmdviz.export.films import Film, RaceFilm, Scene, race_traces_of, stage_of, traces_of
from pmdviz.export.live import live_page
from pmdviz.export.options import FILM_OPTIONS, NO_TRACES, STAGE_OPTIONS, Look
from pmdviz.export.writers import MEGABYTE, Job, Writer
from pmdviz.files import Json, script_json, static_text
from pmdviz.pictures import Axis, Mark, Picture
from pmdviz.render import canvas_script, changes, page_css, picture_json
from pmdviz.scenes import style
from pmdviz.scenes.columns import INK, StageColumns
from pmdviz.scenes.inside import Told, inside, payload
from pmdviz.scenes.race import RaceScene, tile_picture, tile_words
from pmdviz.views.figures import elements_script, inside_script, inside_stylesheet

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# A film as numbers for a page: columns as 16-bit numbers in one run, each array stored once.

GAP = 65_535  # is NaN
STEPS = 65_534


class Numbers:
    """Arrays put one behind the other; the same numbers are kept once, and so is the beginning of a longer array."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._at: dict[bytes, int] = {}
        self._longest: dict[str, bytes] = {}
        self._end = 0

    def put(self, values: np.ndarray, name: str = "") -> list[int]:
        """Start and length of an array of uint16 in the run. One that grows is put last moment first, under a name."""
        raw, longest = values.tobytes(), self._longest.get(name, b"")
        if name and longest.startswith(raw):
            return [self._at.get(longest, 0), len(values)]
        if name:
            self._longest[name] = raw
        if raw not in self._at:
            self._at[raw] = self._end
            self._parts.append(values)
            self._end += len(values)
        return [self._at[raw], len(values)]

    def text(self) -> str:
        """The run as base64 of all high bytes and then all low ones, deflated: neighbours have like high bytes."""
        whole = np.concatenate(self._parts) if self._parts else np.empty(0, np.uint16)
        planes = np.concatenate([whole >> 8, whole & 255]).astype(np.uint8)
        return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode()


def scale(arrays: Iterable[np.ndarray]) -> tuple[float, float]:
    """(low, step) with which all finite values are low + step * number, number in 0 .. 65,534."""
    ends = [(float(a.min()), float(a.max())) for a in (array[np.isfinite(array)] for array in arrays) if len(a)]
    low, high = (min(a for a, _ in ends), max(b for _, b in ends)) if ends else (0.0, 0.0)
    return low, (high - low) / STEPS or 1.0


def quantised(values: np.ndarray, low: float, step: float) -> np.ndarray:
    """uint16 numbers of `values`; `GAP` where one is not finite."""
    known = np.isfinite(values)
    numbers = np.rint((np.where(known, values, low).astype(float) - low) / step).astype(np.uint16)
    numbers[~known] = GAP
    return numbers


ROUNDED = ("size", "alpha", "kind", "values", "level")
Group = tuple[str] | Axis  # columns that share a scale: those along one axis, or of one name


class Film16:
    """The pictures of all frames as JSON: of the first frame, the changes of the others, and numbers."""

    def __init__(self, frames: Sequence[Sequence[Picture]]) -> None:
        self.numbers, found = Numbers(), {}
        self._of_group: dict[Group, list[np.ndarray]] = {}
        for pictures in frames:
            for picture in pictures:
                picture_json(picture, self._seen)
        self.groups = {group: k for k, group in enumerate(self._of_group)}
        kinds = self._of_group.items()
        self.scales = [[*scale(arrays), *([1] if _logarithmic(group) else [])] for group, arrays in kinds]
        for at in reversed(range(len(frames))):  # lines grow from frame to frame: the longest is stored
            found[at] = [picture_json(one, partial(self._put, f"{k}")) for k, one in enumerate(frames[at])]
        self.first = found[0]
        ordered = [found[at] for at in range(len(frames))]
        self.frames = [[changes(new, old) for new, old in zip(each, ordered[0], strict=True)] for each in ordered]

    def _seen(self, key: str, name: str, values: ArrayLike, axis: Axis | None) -> None:
        group = _group(name, axis)
        self._of_group.setdefault(group, []).append(_laid(values, group))

    def _put(self, picture: str, key: str, name: str, values: ArrayLike, axis: Axis | None) -> dict[str, list[int]]:
        if axis is None and name not in ROUNDED:  # a number shown at the pointer: a 32-bit float
            return {"at": self.numbers.put(_halves(np.asarray(values, "<f4").view("<u4")), f"{picture} {key} {name}")}
        group = _group(name, axis)
        laid, at = _laid(values, group), self.groups[group]
        return {"at": [*self.numbers.put(quantised(laid, *self.scales[at][:2]), f"{picture} {key} {name}"), at]}


def _halves(bits: np.ndarray) -> np.ndarray:
    """The low halves of 32-bit floats, and then the high ones."""
    return np.concatenate([bits & 0xFFFF, bits >> 16]).astype(np.uint16)


def _group(name: str, axis: Axis | None) -> Group:
    return (name,) if axis is None else axis


def _logarithmic(group: Group) -> bool:
    return isinstance(group, Axis) and group.log


def _laid(values: ArrayLike, group: Group) -> np.ndarray:
    """A column as it is quantised: the logarithms to the base 10 along such an axis."""
    column = np.asarray(values, float).ravel()
    if not _logarithmic(group):
        return column
    return np.log10(np.where(column > 0, column, np.nan))


EXACT = ("values", "total", "row", "parent", "children")  # of a step from the inside: read as numbers, or add up
KEPT_BITS = np.uint32(0xFFFFF800)  # of a 32-bit float that is drawn: 12 of its fraction, a fiftieth of a pixel


def put_part(film: Film16, axes: Mapping[str, Axis], name: str, values: np.ndarray) -> dict[str, list[int]]:
    """Where an array of a step from the inside is in the run of numbers.

    Places are numbers of the stage's own scales, where they lie within them: its lines are then stored once. Others
    are 32-bit floats, the low halves of all and then the high ones.
    """
    if name in axes and (at := film.groups.get(axes[name])) is not None:
        low, step = film.scales[at][:2]
        if np.nanmin(values, initial=low) >= low and np.nanmax(values, initial=low) <= low + STEPS * step:
            return {"at": [*film.numbers.put(quantised(values, low, step)), at]}
    bits = np.asarray(values, "<f4").view("<u4")
    if name not in EXACT:
        bits = bits & KEPT_BITS
    return {"at": film.numbers.put(_halves(bits))}


STATIC = Path(__file__).with_name("static")
BYTES_OF_A_DOT = 8.0  # in base64: two coordinates and a size
BYTES_OF_A_FRAME = 10_000.0  # the contours and the words
INSIDE_DOTS, BYTES_INSIDE = 150, 15_000.0  # particles whose terms a frame holds, and their bytes


class Player:
    """A page that plays the scenes of a film: their pictures, the numbers in them, and the script."""

    def __init__(self, film: Film | RaceFilm, scenes: Iterable[Scene | RaceScene]) -> None:
        self.film, self.look, self.is_race = film, film.look, isinstance(film, RaceFilm)
        pictures = race_pictures if self.is_race else run_pictures
        self.insides: list[list[Mapping[str, Told]]] = []
        self.scenes: list = []
        for scene in scenes:  # without its frames, which are large
            self.insides += [steps_of(film, scene)] if self.look.inside else []
            self.scenes.append(scene._replace(steps=()))
        found = [pictures(film, self.scenes[-1], scene) for scene in self.scenes]
        axes = [{"x": start.x, "y": start.y} for start in found[0]]
        self.drawn = [[one._replace(**own) for one, own in zip(each, axes, strict=True)] for each in found]
        made = Film16(self.drawn)
        self.frames: list[dict[str, Json]] = [
            {"pictures": each, "words": scene.words, "states": [tile.state for tile in getattr(scene, "tiles", ())]}
            for each, scene in zip(made.frames, self.scenes, strict=True)
        ]
        put = partial(put_part, made, axes[0])
        for frame, inner in zip(self.frames, self.insides, strict=False):
            frame["inside"] = [payload(one, put) for one in inner]
        titles = [tile.title for tile in self.scenes[0].tiles] if self.is_race else []
        self.payload = {
            **{"pictures": made.first, "frames": self.frames, "scales": made.scales, "numbers": made.numbers.text()},
            **{"fps": self.look.fps, "dark": self.look.dark, "large": self.look.large_type, "titles": titles},
            **{"legend": _legend(self.look, self.scenes[0]), "colours": style.entrant_colours(self.look.dark)},
            "inside": bool(self.insides),
        }

    def html(self) -> str:
        """The whole page."""
        css, js = page_css("player"), canvas_script() + elements_script() + static_text(STATIC / "player.js")
        if self.insides:
            css, js = css + inside_stylesheet(), inside_script() + js
        theme = style.theme(self.look.dark)
        return Template((STATIC / "player.html").read_text(encoding="utf-8")).substitute(
            title=html.escape(f"pmdviz: {self.film.title}"),
            what="race" if self.is_race else "run",
            **{"css": css, "js": js, "film": script_json(self.payload)},
            words=html.escape(self.scenes[0].words),
            python=html.escape(self.film.python()),
            **{"paper": theme.paper, "text": theme.text, "muted": theme.muted},
            px=style.PRESENTER_PX if self.look.large_type else 15,
            last=len(self.scenes) - 1,
        )


def steps_of(film: Film | RaceFilm, scene: Scene | RaceScene) -> list[Mapping[str, Told]]:
    """The last step of a run, or each entrant's: together they have as many particles as a run's."""
    shown = scene.tiles if isinstance(scene, RaceScene) else (scene,)
    limit, pairs = INSIDE_DOTS // max(len(shown), 1), zip(scene.steps, shown, strict=True)
    return [inside(*step, *film.drawn, limit, one.columns) for step, one in pairs]


def run_pictures(film: Film, last: Scene, scene: Scene) -> list[Picture]:
    """The stage, and the traces if they are wanted."""
    stage = stage_of(film, scene)
    if "particles" in stage.marks:
        marks = {**stage.marks, "particles": weighed(stage.marks["particles"], scene.columns)}
        stage = stage._replace(marks=marks)
    return [stage, *([traces_of(film, last, scene)] if film.look.traces != NO_TRACES else [])]


def weighed(mark: Mark, columns: StageColumns) -> Mark:
    """Dots whose sizes say their weights: the script takes the largest ones back to `most` px."""
    hover = {words: form for words, form in mark.hover.items() if "{log_density" not in form}  # a film has none
    weight, size = (np.asarray(mark.columns[name]) for name in ("weight", "size"))
    share = INK * columns.num_particles / max(columns.drawn, 1)
    if np.isnan(weight).any():
        return mark._replace(hover={words: form for words, form in hover.items() if "{weight" not in form})
    look = {**mark.look, "area": share, "most": float(size.max(initial=0.0))}
    drawn = {**mark.columns, "size": np.sqrt(weight * share).astype(np.float32)}
    del drawn["weight"]
    return mark._replace(columns=drawn, look=look, hover=hover)


def _forecast(look: Look, frames: int, dots: int) -> float:
    return 0.2 * MEGABYTE + frames * (BYTES_OF_A_FRAME + BYTES_OF_A_DOT * dots + BYTES_INSIDE * look.inside)


def _write(job: Job) -> None:
    page = live_page(job.film) if job.film.look.live else Player(job.film, job.scenes()).html()
    job.path.write_text(page, encoding="utf-8")


HTML = Writer(
    ".html", "a player in one file, for any browser, without internet",
    (*STAGE_OPTIONS, "inside", *FILM_OPTIONS, "live"),
    _write,
    forecast=_forecast,
)  # fmt: skip


LINES = {"exact": "solid", "approximate": "dashed", "particles": "dot", "paths": "solid"}


def race_pictures(film: RaceFilm, last: RaceScene, scene: RaceScene) -> list[Picture]:
    """A tile for each entrant, and the traces of all if they are wanted."""
    tiles = [tile_picture(scene, k, film.look.layers) for k in range(len(scene.tiles))]
    if film.look.traces == NO_TRACES:
        return tiles
    traces = race_traces_of(film.look, film.histories, last, scene)
    titles = {f"line-{k}": tile.title for k, tile in enumerate(scene.tiles)}
    return [*tiles, traces._replace(legend={**titles, **traces.legend})]


def _legend(look: Look, scene: Scene | RaceScene) -> list[tuple[str, str, str]]:
    """Names, colours and kinds of line below tiles, which have no legend."""
    if not isinstance(scene, RaceScene):
        return []
    colours, words = style.tile_layers(look.dark, scene.scene.shows_theta), tile_words(scene.scene)
    colours["paths"] = colours[style.PATH_COLOURS[0]]
    return [(words[name], colours[name], LINES[name]) for name in look.layers if name in words]
