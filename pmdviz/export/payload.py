"""A film as numbers for a page: columns as 16-bit numbers in one run, each array stored once."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pmdviz.export.film import Scene
from pmdviz.views.columns import INK
from pmdviz.views.stage import particles_label

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
        """The run as base64 of little-endian 16-bit numbers."""
        whole = np.concatenate(self._parts) if self._parts else np.empty(0, np.uint16)
        return base64.b64encode(whole.astype("<u2").tobytes()).decode()


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


def _columns(scene: Scene) -> dict[str, np.ndarray]:
    dots, line = scene.columns.particles, scene.columns.approximate
    return {"x": dots["x"], "y": dots["y"], "size": dots["size"], "line_x": line["x"], "line_y": line["y"]}


AXES = {"x": "x", "line_x": "x", "y": "y", "line_y": "y", "size": "size"}


def stage_payload(scenes: list[Scene]) -> dict[str, Any]:
    """`frames` (where each column stands, words, labels), `scales` of the columns and the run of `numbers`."""
    columns, numbers = [_columns(scene) for scene in scenes], Numbers()
    scales = {
        axis: scale(each[name] for each in columns for name in AXES if AXES[name] == axis)
        for axis in dict.fromkeys(AXES.values())
    }
    frames = []
    for scene, each in zip(scenes, columns, strict=True):
        places = {name: numbers.put(quantised(each[name], *scales[AXES[name]])) for name in AXES}
        drawn = scene.columns
        said = {"words": scene.words, "note": scene.note, "label": particles_label(drawn)}
        frames.append({**places, **said, "share": INK * drawn.num_particles / max(drawn.drawn, 1)})
    return {"frames": frames, "scales": scales, "numbers": numbers.text()}


def row_texts(columns: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Columns as base64 of little-endian 32-bit floats."""
    return {name: base64.b64encode(np.asarray(c, "<f4").tobytes()).decode() for name, c in columns.items()}
