"""How well topics predict words that were held out: each document's shares are estimated from the other half of it.

perplexity = exp(-mean over held-out tokens of log p(token)), p(w) = sum_i w_i θ_i.φ_i(w) over the approximation's
topics, with θ_i the document's expected shares given its estimation half (Dai et al. 2016, appendix H.4, Eq. 19; the
shares by `kernels.topics.shares`, ours: the same for every method, and without chance).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.metrics.base import Measurable, Metric
from pmdviz.targets import Target

MOST = 16  # sets of topics of an approximation that are asked: the heaviest, or of equal ones some, evenly spread
NEGLIGIBLE = 1e-9  # a weight


def chosen_topics(frame: Measurable) -> tuple[np.ndarray, np.ndarray]:
    """Sets of topics (n, W, K) of the approximation, and their weights (n,), sum 1; 16 at most."""
    points, weights = frame.density.particles, frame.density.weights
    spread = np.linspace(0, len(weights) - 1, min(MOST, len(weights))).astype(np.int64)
    rows = spread if np.ptp(weights) == 0 else np.argsort(-weights, kind="stable")[:MOST]
    rows = rows[weights[rows] > NEGLIGIBLE * weights.max()]
    return frame.target.topics(points[rows]), weights[rows] / weights[rows].sum()


def nats_per_token(frame: Measurable) -> float:
    """Mean over the held-out tokens of -log p(token), in nats."""
    total, tokens = frame.target.held_out(*chosen_topics(frame))
    return -total / tokens


def _perplexity(frame: Measurable) -> float:
    return float(np.exp(nats_per_token(frame)))


def _unigram(frame: Measurable) -> float:
    return frame.target.unigram_nats


def _applies(target: Target, method: Method) -> bool:
    return target.predicts == "words" and target.test_data is not None


def _metric(**given: Any) -> None:
    Metric(applies=_applies, log=False, **{"colour": "ink", **given})


_metric(
    name="perplexity", title="perplexity", unit="words", about="exp of the mean of -log p(word) over held-out words",
    measure=_perplexity, order=44, axis="perplexity", axis_title="Perplexity", limits=(0.0, 1e4),
)  # fmt: skip
_metric(
    name="word_log_loss", title="word log loss", unit="nats a word", about="mean of -log p(word) over held-out words",
    measure=nats_per_token, order=45, axis="word_log_loss", axis_title="Word log loss", limits=(0.0, 12.0),
)  # fmt: skip
_metric(
    name="unigram", title="unigram entropy", unit="nats a word",
    about="the same of one distribution over words for all documents", measure=_unigram, order=46,
    axis="word_log_loss", limits=(0.0, 12.0), colour="exact", dash=(8, 3), ranks=False,
)  # fmt: skip
