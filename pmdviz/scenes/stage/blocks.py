"""A product of blocks over the joint posterior: what every block knows on its own, and what is lost between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_LINE, EMPTY_PATHS, MAX_DRAWN, NO_WORDS, StageColumns, Words, drawn_rows
from pmdviz.scenes.contours import with_strips
from pmdviz.scenes.paths import OF_TRAIL
from pmdviz.scenes.stage.base import SCENES, Pair, Ranges, square
from pmdviz.scenes.stage.posterior import OverPosterior
from pmdviz.targets import Target

TICK, OPACITY = 0.03, 0.35  # of a particle on its block's axis: its length in sides of the picture
MOST = 1000  # ticks along an axis


class BlocksScene(OverPosterior):
    """Regions (50, 80, 95 %) of the joint posterior and of the product, in two of the coordinates.

    Those of different blocks are independent under q: their particles have no partners, and each stands as a tick on
    its own axis; the dots pair them at random, as a draw of q does. Two coordinates of one block have neither; their
    dots are its particles. The strips along the edges have the marginals of both densities, the words their
    correlations.
    """

    name = "blocks"
    title = "Product of blocks"
    order = 9
    legend = {
        "prior": "prior",
        "exact": "exact posterior",
        "approximate": "product of blocks",
        "particles": "particles, paired at random",
        "paths": "each block's own",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To methods that ask for blocks, from two coordinates on."""
        return "blocks" in method.requires and "reals" in target.offers and target.dim > 1

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """The target's box, of equal aspect, and the strips of the marginals."""
        return with_strips(*square(target.view_box, pair))

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """The posterior's picture; of two blocks with ticks."""
        drawn = SCENES["posterior"].columns(frame, pair, limit)
        across, up = square(frame.target.view_box, pair)
        apart = len(frame.density.marginals(pair)) == 2
        ticks = _ticks(frame, pair, across, up) if apart else EMPTY_PATHS
        return drawn._replace(paths=ticks, others=EMPTY_LINE, words=_words(frame, pair, apart, across, up))


def _ticks(frame: Any, pair: Pair, across: tuple, up: tuple) -> dict[str, np.ndarray]:
    """One of each particle's first coordinate at the lower edge, one of its second at the left edge."""
    points = frame.particles[drawn_rows(frame.weights, MOST)][:, list(pair)]
    x, y = points.T
    length, count = TICK * (up[1] - up[0]), len(points)
    low, left = np.full(count, up[0]), np.full(count, across[0])
    ends = (np.append(x, left), np.append(low, y), np.append(x, left + length), np.append(low + length, y))
    inside = (ends[0] >= across[0]) & (ends[0] <= across[1]) & (ends[1] >= up[0]) & (ends[1] <= up[1])
    lines = [end[inside].astype(np.float32) for end in ends]
    alpha, kind = (np.full(inside.sum(), value, np.float32) for value in (OPACITY, OF_TRAIL))
    return dict(zip(EMPTY_PATHS, [*lines, alpha, kind], strict=True))


def _words(frame: Any, pair: Pair, apart: bool, across: tuple, up: tuple) -> Words:
    """The correlation of the two coordinates under q and under the posterior, at the upper edge."""
    reference = frame.target.reference()
    if reference is None:
        return NO_WORDS
    exact, found = _correlation(reference.cov, pair), _correlation(frame.density.cov, pair)
    own = "two blocks, 0" if apart else f"one block, {found:.2f}"
    text = f"correlation {exact:.2f}; {own} under q"
    x, y = 0.5 * (across[0] + across[1]), up[1] - 0.04 * (up[1] - up[0])
    return Words(np.array([x], np.float32), np.array([y], np.float32), (text,))


def _correlation(cov: np.ndarray, pair: Pair) -> float:
    a, b = pair
    return float(cov[a, b] / np.sqrt(cov[a, a] * cov[b, b]))
