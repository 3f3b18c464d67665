"""The stage of a race: the picture of each entrant, and all of them side by side as one picture."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pmdviz.methods import METHODS
from pmdviz.pictures import Axis, Mark, Picture
from pmdviz.scenes import style
from pmdviz.scenes.columns import OPACITY_DOTS, Ranges, Tiling, placed
from pmdviz.scenes.race import RaceScene
from pmdviz.scenes.stage import LAYERS, MARKS, USUAL_WORDS, Scene, stage_picture

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
    scene: RaceScene,
    tiling: Tiling,
    letters: Letters,
    layers: Sequence[str] = LAYERS,
    before: Joined | None = None,
) -> Picture:
    """The tiles of all entrants, each below its title and state, with its note inside.

    `before` holds the joined marks of the picture before this one: those that have not changed are taken from it.
    """
    before, found = {} if before is None else before, {key: [] for key in MARKS if key not in LEFT_OUT}
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
    return len(parts) == len(others) and all(
        one[0].columns is other[0].columns and one[1:] == other[1:] for one, other in pairs
    )


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
        ends = [placed(old[f"x{end}"], old[f"y{end}"], ranges, corner) for end in (0, 1)]
        inside = np.isfinite(ends[0][0]) & np.isfinite(ends[1][0])
        new = {"x0": ends[0][0], "y0": ends[0][1], "x1": ends[1][0], "y1": ends[1][1]}
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
    places = {
        "titles": (left + SAMPLE + BESIDE, above + 0.7 * tiling.head, {"bold": True}),
        "states": (left, above + 0.25 * tiling.head, {}),
        "notes": (left, above - 0.98, {"baseline": "bottom", "right": 4, "paper": NOTE_ALPHA}),
    }
    texts = {
        "titles": [cut(tile.title, letters.title) for tile in scene.tiles],
        "states": [tile.state for tile in scene.tiles],
        "notes": [textwrap.fill(tile.note, letters.note, max_lines=4) for tile in scene.tiles],
    }
    return {
        key: Mark("words", "text", {"x": x, "y": y, "text": texts[key]}, {**look, **more}, moves=key == "notes")
        for key, (x, y, more) in places.items()
    }


def cut(text: str, letters: int) -> str:
    """`text`, or its beginning and end in so many letters: both the method and its last setting can be read."""
    if len(text) <= letters:
        return text
    end = (letters - 1) // 2
    return f"{text[: letters - 1 - end].rstrip()}…{text[-end:].lstrip()}"
