"""Maximum mean discrepancy between draws of the approximation and draws of the reference, 1,000 of each.

Of real coordinates, in units of the reference's sds, with a Gaussian kernel; of discrete states with that of the share
of coordinates that differ, which knows nothing of the distance between two values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pmdviz.metrics.base import Measurable, Metric, beyond_the_plane, has_reference
from pmdviz.metrics.draws import once, reference_draws, squared_distances, units_of
from pmdviz.targets.space import Discrete

POINT = 1e-200  # a width that tells different draws apart and overflows for none
WORD = 64  # bits


class Spread(NamedTuple):
    """What the discrepancy from some draws asks of these alone."""

    scale: float  # 2 s^2, s the median distance between them
    within: float  # sum of the kernel over all their pairs


def spread(y: np.ndarray) -> Spread:
    """Of draws y (m, d)."""
    squared = squared_distances(y, y)
    pairs = squared[np.triu_indices(len(y), 1)]
    scale = float(2 * (np.median(pairs) or pairs.mean() or POINT))
    return Spread(scale, float(np.exp(-squared / scale).sum()))


def mmd(x: np.ndarray, y: np.ndarray, known: Spread | None = None) -> float:
    """Maximum mean discrepancy of draws x, y (n, d): kernel exp(-|a - b|^2 / (2 s^2)), s the median distance in y.

    Where more than half of the draws are the same state s is the mean distance; all the same: the kernel is 1 or 0.

    The square root of Gretton et al. 2012, Lemma 6 (unbiased), 0 where that is negative. `known` is `spread(y)`.
    """
    scale, yy = known or spread(y)
    xx, xy = (np.exp(-squared_distances(x, other) / scale) for other in (x, y))
    return _discrepancy(float(xx.sum()), yy, xy)


def hamming_mmd(x: np.ndarray, y: np.ndarray, values: Sequence[float], within: float | None = None) -> float:
    """That of draws of discrete states: kernel exp(-H(a, b)), H the share of coordinates in which a and b differ.

    Source: Yang et al. 2018. `within` is the sum of the kernel over all pairs of y.
    """
    yy = float(np.exp(-differing(y, y, values)).sum()) if within is None else within
    xx, xy = (np.exp(-differing(x, other, values)) for other in (x, y))
    return _discrepancy(float(xx.sum()), yy, xy)


def differing(x: np.ndarray, y: np.ndarray, values: Sequence[float]) -> np.ndarray:
    """The share of the d coordinates in which x_i and y_j differ, (n, d) and (m, d) -> (n, m)."""
    ours, theirs = (_packed(draws, values) for draws in (x, y))
    bits = np.zeros((len(x), len(y)), np.int64)
    for one, other in zip(ours.T, theirs.T, strict=True):
        bits += np.bitwise_count(one[:, None] ^ other)
    return bits / (2 * x.shape[1])  # two bits for each: of the value that one has, and of the other's


def _packed(draws: np.ndarray, values: Sequence[float]) -> np.ndarray:
    """One bit for each coordinate and value, in words (n, ceil(d K / 64))."""
    bits = (draws[:, :, None] == np.array(values)).reshape(len(draws), -1)
    padded = np.pad(bits, ((0, 0), (0, -bits.shape[1] % WORD)))
    return np.packbits(padded, axis=1).view(np.uint64)


def _discrepancy(xx: float, yy: float, xy: np.ndarray) -> float:
    """From the sums of the kernel over all pairs within x and within y, and its values (n, m) between them."""
    n, m = xy.shape
    squared = (xx - n) / (n * (n - 1)) + (yy - m) / (m * (m - 1)) - 2 * xy.mean()
    return float(np.sqrt(max(squared, 0.0)))


def _mmd(frame: Measurable) -> float:
    target = frame.target
    if isinstance(target.space, Discrete):
        y, values = reference_draws(target), target.space.values
        within = once(target, "within", lambda: float(np.exp(-differing(y, y, values)).sum()))
        return hamming_mmd(frame.draws, y, values, within)
    y = reference_draws(target) / units_of(frame)
    return mmd(frame.draws / units_of(frame), y, once(target, "spread", lambda: spread(y)))


Metric(
    name="mmd",
    title="MMD",
    unit="0 to 1.4",
    about="maximum mean discrepancy of 1,000 draws to 1,000 reference draws",
    measure=_mmd,
    work=lambda frame: 1.5e7 + 8e5 * frame.target.dim,
    applies=has_reference,
    traced=beyond_the_plane,
    order=15,
    axis="draws",
    axis_title="Distances of draws",
    limits=(0.01, 1.5),
    colour="ink",
)
