"""An image of which pixels were observed, and what latent coordinates make of it: the mean, and one draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_DOTS, EMPTY_LINE, MAX_DRAWN, Image, StageColumns
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.targets import Target

GAP = 1  # cells between two images


class ReconstructionScene(Scene):
    """The image with gaps for pixels not observed; decoded, the mean of q, one point, and the exact mean.

    The point is the heaviest particle or the newest draw. Any target with an `image`, its `observed` pixels and a
    decoder (`decoded`) has it.
    """

    name = "reconstruction"
    title = "Image"
    numbered = False
    order = 6
    legend = {}

    def applies(self, target: Target, method: Method) -> bool:
        """To targets whose theta decodes to an image."""
        return hasattr(target, "decoded")

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """Square cells."""
        rows, columns = target.image_shape
        width = 4 * (columns + GAP) - GAP
        half = max(rows, width) / 2 + 0.5
        return (width / 2 - half, width / 2 + half), (rows / 2 - half, rows / 2 + half)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """Which image is which, in their order, and what the colours say."""
        return "observed · mean of q · one point · exact mean", "orange: dark, green: bright"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """One image of four."""
        target, weights = frame.target, frame.weights
        heaviest = frame.particles[np.flatnonzero(weights == weights.max())[-1]]
        observed = np.full(target.image.size, np.nan)
        observed[target.observed] = target.image[target.observed]
        points = np.stack([frame.density.mean, heaviest, target.exact.mean])
        images = [observed, *np.clip(target.decoded(points), 0.0, 1.0)]
        gap = np.full((target.image_shape[0], GAP), np.nan)
        parts = [part for image in images for part in (image.reshape(target.image_shape)[::-1], gap)][:-1]
        cells = np.concatenate(parts, axis=1).astype(np.float32)
        shown = Image(cells, (0.0, float(cells.shape[1])), (0.0, float(cells.shape[0])))
        return StageColumns(EMPTY_LINE, EMPTY_LINE, EMPTY_DOTS, len(weights), len(weights), image=shown)
