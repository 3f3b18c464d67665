"""A film as numbers for a page: columns as 16-bit numbers in one run, each array stored once."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pmdviz.export.film.film import Scene
from pmdviz.scenes.columns import INK, StageColumns
from pmdviz.scenes.inside import Inside
from pmdviz.scenes.race import RaceScene, places, tile_dots, tile_lines, tile_paths
from pmdviz.scenes.stage import particles_label
from pmdviz.scenes.tiling import Tiling

GAP = 65_535  # stands for NaN
STEPS = 65_534


class Numbers:
    """Arrays put one behind the other; the same numbers are kept once."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._at: dict[bytes, int] = {}
        self._end = 0

    def put(self, values: np.ndarray) -> list[int]:
        """Start and length of an array of uint16 in the run."""
        raw = values.tobytes()
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
    """uint16 numbers of `values`; NaN is `GAP`."""
    gaps = np.isnan(values)
    numbers = np.rint((np.where(gaps, low, values).astype(float) - low) / step).astype(np.uint16)
    numbers[gaps] = GAP
    return numbers


def _columns(
    dots: Mapping[str, np.ndarray], line: Mapping[str, np.ndarray], paths: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    ways = paths if len(paths["x0"]) else {}
    return {"x": dots["x"], "y": dots["y"], "size": dots["size"], "line_x": line["x"], "line_y": line["y"], **ways}


AXES = {
    **{"x": "x", "line_x": "x", "y": "y", "line_y": "y", "size": "size", "other_x": "x", "other_y": "y"},
    **{"x0": "x", "y0": "y", "x1": "x", "y1": "y", "alpha": "alpha", "kind": "kind"},
}


def scales_of(columns: Iterable[Mapping[str, np.ndarray]]) -> dict[str, tuple[float, float]]:
    """One scale an axis for all columns."""
    every = list(columns)
    return {
        axis: scale(each[name] for each in every for name in each if AXES[name] == axis)
        for axis in dict.fromkeys(AXES.values())
    }


def put_all(
    numbers: Numbers, columns: Mapping[str, np.ndarray], scales: Mapping[str, tuple[float, float]]
) -> dict[str, list[int]]:
    """Where each of the columns stands in the run of numbers."""
    return {name: numbers.put(quantised(values, *scales[AXES[name]])) for name, values in columns.items()}


def race_payload(scenes: list[RaceScene], tiling: Tiling) -> dict[str, Any]:
    """The same for a race: each tile's columns by themselves, so that a tile that stands still is stored once."""
    columns, numbers = [_tiles(scene, tiling) for scene in scenes], Numbers()
    scales = scales_of(tile for tiles in columns for tile in tiles)
    frames = []
    for scene, tiles in zip(scenes, columns, strict=True):
        frames.append({"tiles": [put_all(numbers, tile, scales) for tile in tiles], "words": scene.words})
        images = [tile.columns.image for tile in scene.tiles if tile.columns.image is not None]
        if images:
            frames[-1]["images"] = [numbers.put(quantised(image.values.ravel(), 0.0, 1 / STEPS)) for image in images]
            frames[-1]["image_step"] = 1 / STEPS
    return {"frames": frames, "scales": scales, "numbers": numbers.text()}


def _tiles(scene: RaceScene, tiling: Tiling) -> list[dict[str, np.ndarray]]:
    tiles = [tile.columns for tile in scene.tiles]
    pairs = zip(tiles, places(scene.scene, scene.pair, scene.recipe.target, tiles, tiling), strict=True)
    return [
        _columns(
            tile_dots([tile.particles], [one]), tile_lines([tile.approximate], [one]), tile_paths([tile.paths], [one])
        )
        for tile, one in pairs
    ]


EXACT = ("values", "total", "row", "parent", "children")  # of a step from the inside: read as numbers, or add up
KEPT_BITS = np.uint32(0xFFFFF800)  # of a 32-bit float that is drawn: 12 of its fraction, a fiftieth of a pixel


def put_part(
    numbers: Numbers, scales: Mapping[str, tuple[float, float]], name: str, values: np.ndarray
) -> dict[str, list[float]]:
    """Where an array of a step from the inside stands in the run of numbers.

    Places are numbers of the stage's own scales, where they lie within them: its lines are then stored once. Others
    are 32-bit floats, the low halves of all and then the high ones.
    """
    if name in ("x", "y"):
        low, step = scales[name]
        if np.nanmin(values, initial=low) >= low and np.nanmax(values, initial=low) <= low + STEPS * step:
            return {"at": [*numbers.put(quantised(values, low, step)), low, step]}
    bits = np.asarray(values, "<f4").view("<u4")
    if name not in EXACT:
        bits = bits & KEPT_BITS
    return {"at": numbers.put(np.concatenate([bits & 0xFFFF, bits >> 16]).astype(np.uint16))}


def stage_payload(scenes: list[Scene], names: Mapping[str, str], insides: Sequence[Inside] = ()) -> dict[str, Any]:
    """`frames` (where each column stands, words, labels), `scales` of the columns and the run of `numbers`."""
    columns, numbers = [_stage_columns(scene.columns) for scene in scenes], Numbers()
    scales = scales_of(columns)
    frames = []
    for scene, each in zip(scenes, columns, strict=True):
        places = put_all(numbers, each, scales)
        drawn = scene.columns
        said = {"words": scene.words, "note": scene.note, "label": particles_label(drawn, names.get("particles", ""))}
        frames.append({**places, **said, "share": INK * drawn.num_particles / max(drawn.drawn, 1)})
        frames[-1]["largest"] = float(drawn.particles["size"].max(initial=0.0))
        if drawn.words.text:
            frames[-1]["text"] = drawn.words.text
        if insides:
            frames[-1]["inside"] = insides[len(frames) - 1].payload(partial(put_part, numbers, scales))
        if drawn.image is not None:
            frames[-1]["image"] = numbers.put(quantised(drawn.image.values.ravel(), 0.0, 1 / STEPS))
    pictured = {} if scenes[0].columns.image is None else {"image_step": 1 / STEPS}
    return {"frames": frames, "scales": scales, "numbers": numbers.text(), **pictured}


def _stage_columns(drawn: StageColumns) -> dict[str, np.ndarray]:
    others = {"other_x": drawn.others["x"], "other_y": drawn.others["y"]} if len(drawn.others["x"]) else {}
    weight, share = drawn.particles["weight"], INK * drawn.num_particles / max(drawn.drawn, 1)
    size = np.where(np.isnan(weight), drawn.particles["size"], np.sqrt(weight * share)).astype(np.float32)
    return _columns({**drawn.particles, "size": size}, drawn.approximate, drawn.paths) | others


def row_texts(columns: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Columns as base64 of little-endian 32-bit floats."""
    return {name: base64.b64encode(np.asarray(c, "<f4").tobytes()).decode() for name, c in columns.items()}
