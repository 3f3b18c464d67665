"""Latent points on a line cut into quantile bins: p_c in steps over the base p0, and the bins' bars above."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.methods.stein.quantile_bins import QuantileBins
from pmdviz.methods.stein.shown import Latent
from pmdviz.scenes.columns import EMPTY_LINE, MAX_DRAWN, Image, StageColumns, Words, dot_sizes, drawn_rows
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.scenes.stage.discrete.value_bars import HEADROOM, bars, probabilities
from pmdviz.scenes.tiling import joined
from pmdviz.targets import Target

SDS = 3.2  # of the base's outer components, to either side
POINTS = 600  # of a curve, and columns of shade
FLOOR, BARS, TOP = -0.12, 1.15, 2.15  # of the dots, of the bars' feet, of the picture; a curve's peak is at 1
SHADE = 0.35  # how far the bins' shades lie apart, from the neutral half
WIDE = 0.3  # of a bar at most, in units of the base's sd
LARGEST = 9.0  # px, of a dot


class QuantileBinsScene(Scene):
    """p_c(x) = K p0(x) p(Gamma(x)) and p0 on the latent axis, the particles under it, and above each bin two bars.

    The bins are shaded by the value that they stand for; bars are the exact probability and the particles' share.
    """

    name = "quantile_bins"
    title = "Quantile bins"
    numbered = False
    order = 7
    legend = {
        "prior": "base p₀",
        "exact": "target in steps; exact probability",
        "approximate": "share of the particles",
        "particles": "latent points",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To latent points of one coordinate."""
        return isinstance(method, Latent) and "discrete" in target.offers and target.dim == 1

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """In units in which the base reaches from -1 to 1."""
        return (-1.0, 1.0), (2 * FLOOR, TOP)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """Which is which."""
        return "latent x, in bins of equal mass under p₀", f"density of x below, probability of {_name(target)} above"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Shades, two curves, bars and dots."""
        target, m = frame.target, len(frame.weights)
        bins = frame.method.bins(target, frame.knobs)
        reach = min(bins.base.clip, float(bins.base.centres[-1]) + SDS)
        exact, share = probabilities(frame)
        x = np.linspace(-reach, reach, POINTS)
        base = np.exp(bins.base.log_density(x))
        at = np.searchsorted(bins.values, bins(x))
        steps = len(exact) * base * exact[at]
        top = float(np.nanmax([base.max(), np.nanmax(np.append(steps, 0.0))]))
        (left, right), value = _sides(bins, reach)
        middle, high = 0.5 * (left + right), HEADROOM * float(np.nanmax(np.append(exact, share.max())))
        half = np.minimum(0.45 * (right - left), WIDE / reach)
        each = bins.num_bins // len(exact)  # bins that share a value's probability
        dots = _dots(frame, reach, limit)
        return StageColumns(
            joined([_curve(x / reach, steps / top), _bars(middle - half, middle, exact[value] / each / high)]),
            _bars(middle, middle + half, _shares(frame, bins) / high),
            dots,
            len(dots["x"]),
            m,
            image=_shaded(at, len(exact)),
            prior=_curve(x / reach, base / top) if m else EMPTY_LINE,
            words=Words(
                middle.astype(np.float32),
                np.full(len(middle), TOP - 0.08, np.float32),
                tuple(f"{bins.values[k]:g}" for k in value),
            ),
        )


def _name(target: Target) -> str:
    return target.parameter_names[0]


def _sides(bins: QuantileBins, reach: float) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Left and right ends of the bins in the picture, and the row of the value that each stands for."""
    ends = np.concatenate([[-reach], np.clip(bins.edges, -reach, reach), [reach]]) / reach
    return (ends[:-1], ends[1:]), np.arange(bins.num_bins) % len(bins.values)


def _shares(frame: Any, bins: QuantileBins) -> np.ndarray:
    """Of the particles in every bin, (Q,)."""
    numbers = np.searchsorted(bins.edges, frame.method.latent(frame.state)[:, 0], side="right")
    return np.bincount(numbers, weights=frame.weights, minlength=bins.num_bins)


def _bars(left: np.ndarray, right: np.ndarray, heights: np.ndarray) -> dict[str, np.ndarray]:
    return bars(left, right, heights * (TOP - BARS), BARS)


def _curve(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    return {"x": x.astype(np.float32), "y": y.astype(np.float32)}


def _shaded(at: np.ndarray, num_values: int) -> Image:
    """A column a point of the axis, by the row of its value."""
    share = 0.5 + SHADE * (at / (num_values - 1) - 0.5)
    return Image(share[None].astype(np.float32), (-1.0, 1.0), (2 * FLOOR, TOP))


def _dots(frame: Any, reach: float, limit: int) -> dict[str, np.ndarray]:
    """The latent points under the axis."""
    rows = drawn_rows(frame.weights, limit)
    x = (frame.method.latent(frame.state)[rows, 0] / reach).astype(np.float32)
    return {
        "x": x,
        "y": np.full(len(x), FLOOR, np.float32),
        "size": dot_sizes(frame.weights[rows], len(frame.weights), LARGEST),
        "weight": frame.weights[rows].astype(np.float32),
        "log_density": np.full(len(x), np.nan, np.float32),
    }
