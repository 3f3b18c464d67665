"""The Gaussians that a method fits: an ellipse at one sd and at two of each, over the exact posterior's regions."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.densities.density import GaussianMixture
from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_LINE, EMPTY_PATHS, MAX_DRAWN, NO_WORDS, StageColumns, Words, dot_columns
from pmdviz.scenes.paths import OF_GAUSSIANS
from pmdviz.scenes.stage.base import SCENES, Pair, Ranges, square
from pmdviz.scenes.stage.exact_lines import lines_on_grid, reference_lines
from pmdviz.scenes.stage.marginal_columns import prior_lines
from pmdviz.scenes.stage.over_posterior import OverPosterior
from pmdviz.scenes.stage.posterior import LARGEST
from pmdviz.scenes.strips import with_strips
from pmdviz.targets import Target

MOST, CORNERS = 100, 36  # components that have ellipses, the heaviest, and an ellipse's corners
FAINTEST = 0.12  # opacity of a component without weight, where 1 is the heaviest one's
NUMBERED, LIGHTEST = 12, 0.02  # components whose share may be written, and the smallest share that is
APART = 0.07  # of the picture's side, between two of them
SDS = (1.0, 2.0)


class ComponentsScene(OverPosterior):
    """Each of a mixture's Gaussians as two ellipses, the heavier the stronger, with the shares of the heaviest.

    Above two dimensions of a pair of coordinates: a Gaussian's marginal is one. A part of the proposal that is no
    Gaussian, such as a share of the prior, has no ellipse; the prior's outline is there.
    """

    name = "components"
    title = "Components of the mixture"
    order = 12
    legend = {
        "prior": "prior",
        "exact": "exact posterior",
        "particles": "particles",
        "paths": "1 and 2 sd of each Gaussian",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To methods that have components of their own, from two coordinates on."""
        own = type(method).components is not Method.components
        return own and "reals" in target.offers and target.dim > 1

    def words(self, method: Method | None = None) -> dict[str, str]:
        """The dots are called as in the picture of the posterior."""
        return {**self.legend, "particles": SCENES["posterior"].words(method)["particles"]}

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """The target's box, of equal aspect, and the strips of the exact posterior's marginals."""
        return with_strips(*square(target.view_box, pair))

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Ellipses and shares, dots, and the exact posterior's regions."""
        target, m = frame.target, len(frame.weights)
        (left, right), _ = square(target.view_box, pair)
        dots = dot_columns(frame, pair, limit, LARGEST[frame.method.family])
        mixture = frame.method.components(frame.state, frame.knobs, target)
        rows = np.argsort(-mixture.weights, kind="stable")[:MOST]
        return StageColumns(
            _exact(frame, pair),
            EMPTY_LINE,
            dots,
            len(dots["x"]),
            m,
            prior=prior_lines(target, pair),
            paths=_ellipses(mixture, rows, list(pair)),
            words=_shares(mixture, rows[:NUMBERED], list(pair), APART * (right - left)),
        )


def _exact(frame: Any, pair: Pair) -> dict[str, np.ndarray]:
    if frame.target.dim > 2:
        return reference_lines(frame.target, pair)[0]
    if frame.grid is None or frame.grid.p is None:
        return EMPTY_LINE
    return lines_on_grid(frame.grid, frame.target)[0]


def _ellipses(mixture: GaussianMixture, rows: np.ndarray, chosen: list[int]) -> dict[str, np.ndarray]:
    """Segments of the ellipses of some components in two coordinates."""
    factors = mixture.choleskys[rows][:, chosen]  # (k, 2, d)
    roots = np.linalg.cholesky(np.einsum("kid,kjd->kij", factors, factors))
    turns = np.linspace(0, 2 * np.pi, CORNERS + 1)
    circle = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    around = np.multiply.outer(SDS, np.einsum("kij,nj->kni", roots, circle))  # (2, k, n, 2)
    points = mixture.particles[rows][:, chosen][None, :, None] + around
    lines = np.concatenate([points[:, :, :-1], points[:, :, 1:]], axis=-1).reshape(-1, 4).T.astype(np.float32)
    share = mixture.weights[rows] / mixture.weights[rows[0]]
    alpha = np.repeat(np.tile(FAINTEST + (1 - FAINTEST) * share, len(SDS)), CORNERS).astype(np.float32)
    kind = np.full(len(alpha), OF_GAUSSIANS, np.float32)
    return dict(zip(EMPTY_PATHS, [*(np.ascontiguousarray(line) for line in lines), alpha, kind], strict=True))


def _shares(mixture: GaussianMixture, rows: np.ndarray, chosen: list[int], apart: float) -> Words:
    """The weights of some components at their means, in percent, the heavier first; none where all are the same."""
    if np.ptp(mixture.weights) < 1e-9:
        return NO_WORDS
    placed: list[int] = []
    for row in rows[mixture.weights[rows] >= LIGHTEST]:
        away = mixture.particles[placed][:, chosen] - mixture.particles[row, chosen]
        if (np.hypot(*away.T) > apart).all():
            placed.append(int(row))
    at = mixture.particles[placed][:, chosen].astype(np.float32)
    return Words(at[:, 0].copy(), at[:, 1].copy(), tuple(f"{weight:.0%}" for weight in mixture.weights[placed]))
