"""A document's topic shares given the topics, without chance, and how well they predict words that they did not see.

Zero-order collapsed variational Bayes (Asuncion et al. 2009): with n_k the expected number of tokens of topic k, a
token of word w belongs to k with probability proportional to (n_k without this token + α) φ_k(w); shares are then
(n_k + α) / (n + K α), the formula of Dai et al. 2016, appendix H.4, with the expected for the drawn number.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, plain, positive
from pmdviz.kernels.jit import jit
from pmdviz.kernels.pool import run_blocks
from pmdviz.kernels.topics.assignments import checked, tiny

PASSES, CLOSE = 100, 1e-6  # over a document at most; the largest change of an expected number that ends them


def shares_of(
    topics: np.ndarray, documents: tuple[np.ndarray, np.ndarray, np.ndarray], alpha: float, part: str = "all"
) -> np.ndarray:
    """Expected topic shares (m, B, K) of documents under topics (m, W, K), each a distribution over words.

    `part` "seen": of the pairs before each row's middle alone. A document without tokens has equal shares.
    """
    topics, alpha = finite(plain(topics), "topics"), positive(alpha, "alpha")
    rows, words, counts = checked(documents)
    ends = plain(rows[:, 1] if part == "seen" else rows[:, 2], np.int64)
    out = np.empty((len(topics), len(rows), topics.shape[2]))
    pairs = float((ends - rows[:, 0]).sum())

    def work(a: int, b: int) -> None:
        _shares(topics[a:b], rows, ends, words, counts, alpha, out[a:b])

    run_blocks(work, len(topics), 1, PASSES * pairs * len(topics) * topics.shape[2])
    return out


def held_out_log_likelihood(
    topics: np.ndarray,
    weights: np.ndarray,
    documents: tuple[np.ndarray, np.ndarray, np.ndarray],
    alpha: float,
) -> tuple[float, int]:
    """Sum over the tokens from each row's middle on of log sum_i w_i θ_i.φ_i(w), in nats, and how many tokens.

    θ_i are the document's expected shares under the i-th topics given its tokens before the middle.
    """
    shares = shares_of(topics, documents, alpha, "seen")
    rows, words, counts = checked(documents)
    return _held_out(plain(topics), plain(weights), shares, rows, words, counts)


@jit
def _shares(topics, rows, ends, words, counts, alpha, out):
    num_topics = topics.shape[2]
    most = 0
    for d in range(rows.shape[0]):
        most = max(most, ends[d] - rows[d, 0])
    belongs, expected = np.empty((most, num_topics)), np.empty(num_topics)
    for i in range(topics.shape[0]):
        for d in range(rows.shape[0]):
            _fit(topics[i], words, counts, rows[d, 0], ends[d], alpha, belongs, expected)
            total = 0.0
            for k in range(num_topics):
                total += expected[k]
            total += alpha * num_topics
            for k in range(num_topics):
                out[i, d, k] = (expected[k] + alpha) / total


@jit
def _fit(topics, words, counts, first, end, alpha, belongs, expected):
    num_topics = expected.size
    for k in range(num_topics):
        expected[k] = 0.0
    for p in range(first, end):
        total = 0.0
        for k in range(num_topics):
            total += topics[words[p], k]
        for k in range(num_topics):
            belongs[p - first, k] = topics[words[p], k] / total
            expected[k] += counts[p] * belongs[p - first, k]
    for _ in range(PASSES):
        change = 0.0
        for p in range(first, end):
            change = max(change, _reassign(topics[words[p]], counts[p], alpha, belongs[p - first], expected))
        if change < CLOSE:
            break


@jit
def _reassign(topics, count, alpha, belongs, expected):
    """One word's tokens, each without its own share of the expected numbers; returns the largest change."""
    total, change = 0.0, 0.0
    for k in range(expected.size):
        expected[k] -= count * belongs[k]
        total += topics[k] * (expected[k] + (count - 1) * belongs[k] + alpha)
    for k in range(expected.size):
        share = topics[k] * (expected[k] + (count - 1) * belongs[k] + alpha) / total
        change = max(change, count * abs(share - belongs[k]))
        belongs[k] = share
        expected[k] += count * share
    return change


@jit
def _held_out(topics, weights, shares, rows, words, counts):
    total, tokens = 0.0, 0
    for d in range(rows.shape[0]):
        for p in range(rows[d, 1], rows[d, 2]):
            probability = 0.0
            for i in range(topics.shape[0]):
                product = 0.0
                for k in range(topics.shape[2]):
                    product += shares[i, d, k] * topics[i, words[p], k]
                probability += weights[i] * product
            total += counts[p] * math.log(probability)
            tokens += counts[p]
    return total, tokens


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    halves = np.full((1, 2, 2), 0.5)
    yield "topics", "topic shares", lambda: shares_of(halves, tiny(), 1.0)
    yield "topics", "held-out words", lambda: held_out_log_likelihood(halves, np.ones(1), tiny(), 1.0)
