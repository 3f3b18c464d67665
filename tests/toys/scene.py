"""A scene in one file: the particles' distances from 0 as dots, the mean distance as a line, over a ramp of colour."""

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_LINE, MAX_DRAWN, Image, StageColumns, drawn_rows
from pmdviz.scenes.stage import Pair, Scene
from pmdviz.targets import Target

RAMP = np.linspace(0, 1, 8, dtype=np.float32)[None, :]


class ToyScene(Scene):
    name = "toy_distances"
    title = "Toy distances"
    order = 5000
    legend = {"approximate": "mean distance", "particles": "particles"}

    def applies(self, target: Target, method: Method) -> bool:
        return True

    def ranges(self, target: Target, pair: Pair, top: float) -> tuple[tuple[float, float], tuple[float, float]]:
        return (0.0, 1.0), (0.0, 10.0)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        return "share of the particles", "distance from 0"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        rows = drawn_rows(frame.weights, limit)
        far = np.sqrt((frame.particles**2).sum(axis=1))
        at = (rows / max(len(far) - 1, 1)).astype(np.float32)
        size, nothing = np.full(len(rows), 3, np.float32), np.full(len(rows), np.nan, np.float32)
        mean = np.full(2, (far * frame.weights).sum(), np.float32)
        return StageColumns(
            EMPTY_LINE,
            {"x": np.array([0, 1], np.float32), "y": mean},
            {"x": at, "y": far[rows].astype(np.float32), "size": size, "weight": nothing, "log_density": nothing},
            len(rows),
            len(far),
            image=Image(RAMP, (0.0, 1.0), (0.0, 10.0)),
        )
