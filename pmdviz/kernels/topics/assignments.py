"""The tokens of documents are assigned to topics at random: structured updates of the topics, and log p(document).

A document's tokens are assigned one after the other, each given those before it, z_n ~ (n_k + α) φ_k(w_n): that is a
draw with a weight, prod_n p(w_n | z_1 .. z_n-1), which makes it proper for p(z | α) φ(z) (Wallach et al. 2009). Gibbs
sweeps that leave p(z | α) φ(z) alone then improve the draw and keep the weight. φ is the mean of the topics' Dirichlet.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, plain, positive
from pmdviz.kernels.jit import jit
from pmdviz.kernels.pool import run_blocks
from pmdviz.kernels.topics.streams import chosen


def tilted(
    natural: np.ndarray,
    documents: tuple[np.ndarray, np.ndarray, np.ndarray],
    seeds: np.ndarray,
    alpha: float,
    beta: float,
    kept: float,
    power: float,
    sweeps: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Dir(natural)^kept Dir(beta)^(1 - kept) prod over the documents of p(document | z, Φ)^power, of every particle.

    natural (m, W, K); documents are rows (B, 3), words and counts; z is drawn for each particle and document from the
    stream of its seed, (m, B). Returns the new parameters, their log partitions (m,), and the sums over documents of
    power (log p(z) - log r(z)) (m,), where r is what z was drawn from: log weight - log φ(z). ValueError for values
    that are not finite and positive.
    """
    natural = finite(plain(natural), "natural")
    alpha, beta = positive(alpha, "alpha"), positive(beta, "beta")
    m, tokens = len(natural), longest(documents)
    new, partitions, bases = np.empty_like(natural), np.empty(m), np.empty(m)
    rows, words, counts, seeds = *checked(documents), plain(seeds, np.uint64)

    def work(a: int, b: int) -> None:
        _tilt(
            natural[a:b], rows, words, counts, seeds[a:b], alpha, beta, kept, power, sweeps, tokens,
            new[a:b], partitions[a:b], bases[a:b],
        )  # fmt: skip

    run_blocks(work, m, 1, float(m * len(rows) * tokens * natural.shape[2] * (1 + sweeps)))
    return new, partitions, bases


def estimated_log_likelihood(
    topics: np.ndarray,
    documents: tuple[np.ndarray, np.ndarray, np.ndarray],
    seeds: np.ndarray,
    alpha: float,
    repeats: int,
) -> np.ndarray:
    """Log of an unbiased estimate of p(document | Φ): the mean weight of `repeats` sequential draws, (m, B).

    topics (m, W, K) are probabilities; the document's stream starts from its seed (B,).
    """
    topics, alpha = finite(plain(topics), "topics"), positive(alpha, "alpha")
    rows, words, counts, seeds = *checked(documents), plain(seeds, np.uint64)
    out = np.empty((len(topics), len(rows)))
    _estimate(topics, rows, words, counts, seeds, alpha, repeats, longest(documents), out)
    return out


def log_partitions(natural: np.ndarray) -> np.ndarray:
    """Sum over topics of log of the Dirichlet's normaliser, sum_w log Γ(β_w) - log Γ(sum_w β_w): (m, W, K) -> (m,)."""
    return np.array([_log_partition(one) for one in finite(plain(natural), "natural")])


def checked(documents: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (B, 3), words and counts as the kernels take them; ValueError where rows point beyond the pairs."""
    rows, words, counts = documents
    rows = plain(rows, np.int64)
    if rows.ndim != 2 or rows.shape[1] != 3 or len(words) != len(counts):
        raise ValueError(f"documents must be rows (first, middle, end) of pairs, not {rows.shape}")
    if rows.size and (rows.min() < 0 or rows.max() > len(words)):
        raise ValueError(f"documents must point into the {len(words)} pairs of the corpus")
    return rows, plain(words, np.int32), plain(counts, np.int32)


def longest(documents: tuple[np.ndarray, np.ndarray, np.ndarray]) -> int:
    """Tokens of the longest of the documents."""
    rows, _, counts = documents
    return max((int(counts[first:end].sum()) for first, _, end in rows), default=0)


@jit
def expanded(words, counts, first, end, tokens):
    """The document's tokens one by one; how many there are."""
    n = 0
    for p in range(first, end):
        for _ in range(counts[p]):
            tokens[n] = words[p]
            n += 1
    return n


@jit
def spread(natural, inverse):
    """1 / sum_w β_wk, (K,)."""
    for k in range(inverse.size):
        inverse[k] = 0.0
    for w in range(natural.shape[0]):
        for k in range(inverse.size):
            inverse[k] += natural[w, k]
    for k in range(inverse.size):
        inverse[k] = 1.0 / inverse[k]


@jit
def assign(tokens, n, natural, inverse, alpha, state, z, held, shares):
    """Topics z of n tokens one after the other; held (K,) how many each has. Returns the log weight."""
    weight = 0.0
    for k in range(held.size):
        held[k] = 0.0
    for j in range(n):
        total = 0.0
        for k in range(held.size):
            shares[k] = (held[k] + alpha) * natural[tokens[j], k] * inverse[k]
            total += shares[k]
        weight += math.log(total / (j + alpha * held.size))
        z[j] = chosen(shares, total, state)
        held[z[j]] += 1.0
    return weight


@jit
def sweep(tokens, n, natural, inverse, alpha, state, z, held, shares):
    """Each token's topic once from its conditional given the others'."""
    for j in range(n):
        held[z[j]] -= 1.0
        total = 0.0
        for k in range(held.size):
            shares[k] = (held[k] + alpha) * natural[tokens[j], k] * inverse[k]
            total += shares[k]
        z[j] = chosen(shares, total, state)
        held[z[j]] += 1.0


@jit
def _tilt(
    natural, rows, words, counts, seeds, alpha, beta, kept, power, sweeps, longest, new, partitions, bases
):  # fmt: skip
    num_topics = natural.shape[2]
    tokens, z = np.empty(longest, np.int64), np.empty(longest, np.int64)
    held, shares, inverse = np.empty(num_topics), np.empty(num_topics), np.empty(num_topics)
    state = np.empty(1, np.uint64)
    for i in range(natural.shape[0]):
        for w in range(natural.shape[1]):
            for k in range(num_topics):
                new[i, w, k] = kept * natural[i, w, k] + (1.0 - kept) * beta
        spread(natural[i], inverse)
        base = 0.0
        for d in range(rows.shape[0]):
            state[0] = seeds[i, d]
            n = expanded(words, counts, rows[d, 0], rows[d, 2], tokens)
            base += assign(tokens, n, natural[i], inverse, alpha, state, z, held, shares)
            for _ in range(sweeps):
                sweep(tokens, n, natural[i], inverse, alpha, state, z, held, shares)
            for j in range(n):
                base -= math.log(natural[i, tokens[j], z[j]] * inverse[z[j]])
                new[i, tokens[j], z[j]] += power
        bases[i] = power * base
        partitions[i] = _log_partition(new[i])


@jit
def _log_partition(natural):
    total = 0.0
    for k in range(natural.shape[1]):
        mass = 0.0
        for w in range(natural.shape[0]):
            mass += natural[w, k]
            total += math.lgamma(natural[w, k])
        total -= math.lgamma(mass)
    return total


@jit
def _estimate(topics, rows, words, counts, seeds, alpha, repeats, longest, out):
    num_topics = topics.shape[2]
    tokens, z = np.empty(longest, np.int64), np.empty(longest, np.int64)
    held, shares, ones = np.empty(num_topics), np.empty(num_topics), np.ones(num_topics)
    state, found = np.empty(1, np.uint64), np.empty(repeats)
    for i in range(topics.shape[0]):
        for d in range(rows.shape[0]):
            state[0] = seeds[d]
            n = expanded(words, counts, rows[d, 0], rows[d, 2], tokens)
            for r in range(repeats):
                found[r] = assign(tokens, n, topics[i], ones, alpha, state, z, held, shares)
            top, total = -np.inf, 0.0
            for r in range(repeats):
                top = max(top, found[r])
            for r in range(repeats):
                total += math.exp(found[r] - top)
            out[i, d] = top + math.log(total / repeats)


def tiny() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One document of two words, to compile the kernels with."""
    return np.array([[0, 1, 2]]), np.arange(2, dtype=np.int32), np.ones(2, np.int32)


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    natural, seeds = np.ones((1, 2, 2)), np.zeros((1, 1), np.uint64)
    yield "topics", "topics of tokens", lambda: tilted(natural, tiny(), seeds, 1.0, 1.0, 0.5, 1.0, 1)
    yield "topics", "topics' likelihood", lambda: estimated_log_likelihood(natural, tiny(), seeds[0], 1.0, 2)
    yield "topics", "topics' normaliser", lambda: log_partitions(natural)
