"""What the hidden units of a net look for: the signs of their weights, as one small image a unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_DOTS, EMPTY_LINE, MAX_DRAWN, Image, StageColumns, Words
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.targets import Target

MOST = 64  # units that are drawn
ACROSS = 8  # images in a row of a half
GAP = 1  # cells between two images
BETWEEN = 6  # cells between the halves, with room for words
ABOVE = 2.5  # cells from the images to the words


class WeightSignsScene(Scene):
    """Above the mean sign over q of every weight, below one net's; an image is one hidden unit.

    Any target with a `first_layer` of weights -1 and 1 from the pixels of images (`image_shape`) has it.
    """

    name = "weight_signs"
    title = "Hidden units"
    numbered = False
    order = 6
    legend = {}

    def applies(self, target: Target, method: Method) -> bool:
        """To nets that look at images."""
        return getattr(target, "image_shape", None) is not None and hasattr(target, "first_layer")

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """Square cells."""
        rows, columns = _cells(target)
        half = max(rows + 2 * ABOVE, columns) / 2 + 1.5
        return (columns / 2 - half, columns / 2 + half), (rows / 2 - half, rows / 2 + half)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """What is where, and what the colours say."""
        return "above: mean sign over all nets · below: one net", "orange: weight -1, green: weight 1"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Two tables of images, and over each how often it is right on held-out rows."""
        target, weights = frame.target, frame.weights
        one = frame.particles[np.flatnonzero(weights == weights.max())[-1]]
        halves = [_table(target, theta) for theta in (frame.density.mean, one)]
        gap = np.full((BETWEEN, halves[0].shape[1]), np.nan)
        cells = np.concatenate([halves[1], gap, halves[0]]).astype(np.float32)
        shown = Image(cells, (0.0, float(cells.shape[1])), (0.0, float(cells.shape[0])))
        m = len(weights)
        return StageColumns(EMPTY_LINE, EMPTY_LINE, EMPTY_DOTS, m, m, image=shown, words=_said(frame, cells.shape))


def _shape(target: Target) -> tuple[int, int, int, int]:
    """Units that are drawn, images in a row, and rows and columns of pixels."""
    units = min(target.shape.hidden, MOST)
    return units, min(units, ACROSS), *target.image_shape[1:]


def _cells(target: Target) -> tuple[int, int]:
    """Rows and columns of the whole picture."""
    units, across, rows, columns = _shape(target)
    down = -(-units // across)
    return 2 * (down * (rows + GAP) - GAP) + BETWEEN, across * (columns + GAP) - GAP


def _table(target: Target, theta: np.ndarray) -> np.ndarray:
    """The images of the units of one net (d,), or of means of nets; of colours their mean. Row 0 is at the bottom."""
    units, across, rows, columns = _shape(target)
    images = target.first_layer(theta[None])[0, :units].reshape(units, *target.image_shape).mean(axis=1)
    down = -(-units // across)
    cells = np.full((down, rows + GAP, across, columns + GAP), np.nan)
    for k, image in enumerate(images):
        cells[k // across, :rows, k % across, :columns] = 0.5 * (1 + image)
    return cells.reshape(down * (rows + GAP), -1)[: -GAP or None, : -GAP or None][::-1]


def _said(frame: Any, shape: tuple[int, int]) -> Words:
    """Over the upper half how many held-out rows all nets together tell right, over the lower one how many one does."""
    rows, columns = shape
    y = np.array([rows, 0.5 * (rows - BETWEEN)], np.float32) + np.float32(ABOVE)
    told = frame.metrics
    text = f"together {told['accuracy']:.1%} right", f"each alone {told['single_accuracy']:.1%}"
    return Words(np.full(2, 0.5 * columns, np.float32), y, text)
