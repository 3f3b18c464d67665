"""What a net predicts from one input, noise included, and beside it the function of the mean particle."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.metrics.predictive import points_of
from pmdviz.scenes.columns import MAX_DRAWN, StageColumns
from pmdviz.scenes.paths import Segments, segment_columns
from pmdviz.scenes.stage.band import POINTS, BandScene, band, moments_under_q
from pmdviz.scenes.stage.base import Pair
from pmdviz.targets import Target


class PredictiveBandScene(BandScene):
    """Mean ± 2 sd of y over q, with the noise; E(y | x, mean of θ) as a curve of its own; the data.

    The curve of the mean of θ is what a method sees that puts the mean particle in place of the others. Where
    particles are nets whose hidden units stand in different orders it is far from the mean of their curves.
    """

    name = "predictive_band"
    title = "Predictions"
    order = 3
    legend = {
        "prior": "true function",
        "approximate": "predicted y, mean ± 2 sd",
        "paths": "function of the mean of θ",
        "others": "data",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To regressions of one input with a noise variance of their own."""
        return super().applies(target, method) and "noise_variance" in target.offers

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """The band with noise, the curve of the mean, the true function and data."""
        drawn, target = super().columns(frame, pair, limit), frame.target
        seen = target.inputs(target.data_rows)[:, 0]
        x = np.linspace(seen.min(), seen.max(), POINTS)
        points, average = points_of(frame)
        mean, sd = moments_under_q(frame, x)
        noise = float(average(target.noise_variance(points)))
        curve = target.row_mean(average(points)[None], target.rows_at(x[:, None]))[0]
        way = np.column_stack([x, curve])
        paths = segment_columns([Segments(np.stack([way[:-1], way[1:]], axis=1), 0)])
        return drawn._replace(approximate=band(x, mean, np.sqrt(sd**2 + noise)), paths=paths)
