"""Tokens are assigned to topics with the counts of all documents seen so far, or under fixed topics again and again.

`filtered` is the step of a particle filter (Canini, Shi, Griffiths 2009); `mean_counts` the inner Gibbs sampler of
stochastic gradient Riemannian Langevin dynamics (Patterson, Teh 2013).
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, plain, positive
from pmdviz.kernels.jit import jit
from pmdviz.kernels.pool import run_blocks
from pmdviz.kernels.topics.assignments import assign, checked, expanded, longest, spread, sweep, tiny
from pmdviz.kernels.topics.streams import chosen


def filtered(
    natural: np.ndarray,
    documents: tuple[np.ndarray, np.ndarray, np.ndarray],
    seeds: np.ndarray,
    alpha: float,
    sweeps: int,
) -> tuple[np.ndarray, np.ndarray]:
    """natural (m, W, K) = β + counts of the tokens so far, with those of more documents; log p(these | those) (m,).

    Each token is drawn given all before it, z_n ~ (n_dk + α) φ_k(w) with φ the mean given the counts, and the weight
    grows by p(w_n | all before it): exact for one token at a time. Then `sweeps` Gibbs sweeps over the document.
    """
    new, weights = finite(plain(natural), "natural").copy(), np.zeros(len(natural))
    alpha, tokens = positive(alpha, "alpha"), longest(documents)
    rows, words, counts, seeds = *checked(documents), plain(seeds, np.uint64)

    def work(a: int, b: int) -> None:
        _filter(new[a:b], rows, words, counts, seeds[a:b], alpha, sweeps, tokens, weights[a:b])

    run_blocks(work, len(new), 1, float(len(new) * len(rows) * tokens * natural.shape[2] * (1 + sweeps)))
    return new, weights


def mean_counts(
    natural: np.ndarray,
    documents: tuple[np.ndarray, np.ndarray, np.ndarray],
    seeds: np.ndarray,
    alpha: float,
    burn_in: int,
    sweeps: int,
) -> np.ndarray:
    """E n (W, K) over documents under topics natural (W, K) / sums: means over Gibbs sweeps after a burn-in.

    The topics need not be normalised; every document has a seed (B,).
    """
    natural, alpha = finite(plain(natural), "natural"), positive(alpha, "alpha")
    rows, words, counts, seeds = *checked(documents), plain(seeds, np.uint64)
    out = np.zeros_like(natural)
    _mean_counts(natural, rows, words, counts, seeds, alpha, burn_in, sweeps, longest(documents), out)
    return out


@jit
def _filter(natural, rows, words, counts, seeds, alpha, sweeps, longest, weights):
    num_topics = natural.shape[2]
    tokens, z = np.empty(longest, np.int64), np.empty(longest, np.int64)
    held, shares, sums = np.empty(num_topics), np.empty(num_topics), np.empty(num_topics)
    state = np.empty(1, np.uint64)
    for i in range(natural.shape[0]):
        spread(natural[i], sums)
        for k in range(num_topics):
            sums[k] = 1.0 / sums[k]
        for d in range(rows.shape[0]):
            state[0] = seeds[i, d]
            n = expanded(words, counts, rows[d, 0], rows[d, 2], tokens)
            for k in range(held.size):
                held[k] = 0.0
            for j in range(n):
                total = _draw(natural[i], tokens[j], alpha, state, z, j, held, shares, sums)
                weights[i] += math.log(total / (j + alpha * num_topics))
            for _ in range(sweeps):
                for j in range(n):
                    held[z[j]] -= 1.0
                    natural[i, tokens[j], z[j]] -= 1.0
                    sums[z[j]] -= 1.0
                    _draw(natural[i], tokens[j], alpha, state, z, j, held, shares, sums)


@jit
def _draw(natural, word, alpha, state, z, j, held, shares, sums):
    """The j-th token's topic given all others', which are counted; returns the sum of the shares."""
    total = 0.0
    for k in range(held.size):
        shares[k] = (held[k] + alpha) * natural[word, k] / sums[k]
        total += shares[k]
    z[j] = chosen(shares, total, state)
    held[z[j]] += 1.0
    natural[word, z[j]] += 1.0
    sums[z[j]] += 1.0
    return total


@jit
def _mean_counts(natural, rows, words, counts, seeds, alpha, burn_in, sweeps, longest, out):
    num_topics = natural.shape[1]
    tokens, z = np.empty(longest, np.int64), np.empty(longest, np.int64)
    held, shares, inverse = np.empty(num_topics), np.empty(num_topics), np.empty(num_topics)
    state, share = np.empty(1, np.uint64), 1.0 / sweeps
    spread(natural, inverse)
    for d in range(rows.shape[0]):
        state[0] = seeds[d]
        n = expanded(words, counts, rows[d, 0], rows[d, 2], tokens)
        assign(tokens, n, natural, inverse, alpha, state, z, held, shares)
        for s in range(burn_in + sweeps):
            sweep(tokens, n, natural, inverse, alpha, state, z, held, shares)
            if s >= burn_in:
                for j in range(n):
                    out[tokens[j], z[j]] += share


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    natural, seeds = np.ones((1, 2, 2)), np.zeros((1, 1), np.uint64)
    yield "topics", "a filter of topics", lambda: filtered(natural, tiny(), seeds, 1.0, 1)
    yield "topics", "Gibbs counts of topics", lambda: mean_counts(natural[0], tiny(), seeds[0], 1.0, 1, 1)
