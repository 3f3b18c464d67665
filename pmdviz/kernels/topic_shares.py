"""Latent Dirichlet allocation without chance: topic shares of documents, and the variational step.

A document's topic shares given the topics, without chance, and how well they predict words that they did not see.

Zero-order collapsed variational Bayes (Asuncion et al. 2009): with n_k the expected number of tokens of topic k, a
token of word w belongs to k with probability proportional to (n_k without this token + α) φ_k(w); shares are then
(n_k + α) / (n + K α), the formula of Dai et al. 2016, appendix H.4, with the expected for the drawn number.
"""

import math

import numpy as np

from pmdviz.kernels.checks import Array, finite, plain, positive
from pmdviz.kernels.jit import WarmUps, jit
from pmdviz.kernels.pool import run_blocks
from pmdviz.kernels.topic_counts import Sparse, checked, tiny

PASSES, CLOSE = 100, 1e-6  # over a document at most; the largest change of an expected number that ends them


def shares_of(topics: Array, documents: Sparse, alpha: float, part: str = "all") -> Array:
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


def held_out_log_likelihood(topics: Array, weights: Array, documents: Sparse, alpha: float) -> tuple[float, int]:
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


# The variational step of a document, Hoffman, Blei, Bach 2010, Algorithm 2: q(θ_d) = Dir(γ), q(z_n) = its own shares.
#
# With e_k(w) = exp E log φ_k(w), γ_k = α + sum_w c_w exp(E log θ_k) e_k(w) / sum_j exp(E log θ_j) e_j(w) is repeated.

ROUNDS, CLOSE_GAMMA = 100, 1e-4  # at most; the mean change of γ that ends them


def expected_counts(natural: Array, documents: Sparse, alpha: float) -> tuple[Array, float]:
    """Expected numbers (W, K) of tokens of each word and topic, and the documents' part of the ELBO, in nats.

    natural (W, K): q(φ_k) = Dir(natural[:, k]). The part is sum_d E_q log p(w_d, z_d, θ_d | Φ) - E_q log q(z_d, θ_d),
    at the best q(z) for the γ that was found.
    """
    natural, alpha = finite(plain(natural), "natural"), positive(alpha, "alpha")
    rows, words, counts = checked(documents)
    out = np.zeros_like(natural)
    return out, _expect(natural, rows, words, counts, alpha, out)


def elbo_of_topics(natural: Array, beta: float) -> float:
    """-KL(q(Φ) || p(Φ)) for q(φ_k) = Dir(natural[:, k]) and p(φ_k) = Dir(beta), in nats; natural (W, K)."""
    return float(_topics_bound(finite(plain(natural), "natural"), positive(beta, "beta")))


def digammas(x: Array) -> Array:
    """ψ of positive numbers, off by less than 1e-12 of 1 + |ψ|."""
    return _digammas(finite(plain(x), "x").ravel()).reshape(np.shape(x))


@jit
def digamma(x):
    """ψ(x), x > 0: the recurrence up to 8, and from there the asymptotic series (Abramowitz, Stegun 6.3.18)."""
    found = 0.0
    while x < 8.0:
        found -= 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760 - r / 12))))))
    return found + math.log(x) - 0.5 / x - series


@jit
def _digammas(x):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = digamma(x[i])
    return out


@jit
def _expect(natural, rows, words, counts, alpha, out):
    num_topics, bound = natural.shape[1], 0.0
    sums = np.zeros(num_topics)
    for w in range(natural.shape[0]):
        for k in range(num_topics):
            sums[k] += natural[w, k]
    for k in range(num_topics):
        sums[k] = digamma(sums[k])
    most = 0
    for d in range(rows.shape[0]):
        most = max(most, rows[d, 2] - rows[d, 0])
    means, gamma, theta = np.empty((most, num_topics)), np.empty(num_topics), np.empty(num_topics)
    for d in range(rows.shape[0]):
        first, end = rows[d, 0], rows[d, 2]
        tokens = 0
        for p in range(first, end):
            tokens += counts[p]
            for k in range(num_topics):
                means[p - first, k] = math.exp(digamma(natural[words[p], k]) - sums[k])
        for k in range(num_topics):
            gamma[k] = alpha + tokens / num_topics
        for _ in range(ROUNDS):
            if _again(means, counts, first, end, alpha, gamma, theta) < CLOSE_GAMMA:
                break
        _theta(gamma, theta)
        bound += _document(means, words, counts, first, end, alpha, gamma, theta, out)
    return bound


@jit
def _total(values):
    total = 0.0
    for k in range(values.size):
        total += values[k]
    return total


@jit
def _theta(gamma, theta):
    """exp E log θ_k."""
    total = digamma(_total(gamma))
    for k in range(gamma.size):
        theta[k] = math.exp(digamma(gamma[k]) - total)


@jit
def _again(means, counts, first, end, alpha, gamma, theta):
    """One pass over a document: γ anew, in place; returns the mean change."""
    _theta(gamma, theta)
    new, change = np.empty(gamma.size), 0.0
    for k in range(gamma.size):
        new[k] = alpha
    for p in range(first, end):
        total = 0.0
        for k in range(gamma.size):
            total += theta[k] * means[p - first, k]
        for k in range(gamma.size):
            new[k] += counts[p] * theta[k] * means[p - first, k] / total
    for k in range(gamma.size):
        change += abs(new[k] - gamma[k])
        gamma[k] = new[k]
    return change / gamma.size


@jit
def _document(means, words, counts, first, end, alpha, gamma, theta, out):
    """Adds the document's expected counts; returns its part of the ELBO."""
    num_topics, bound = gamma.size, 0.0
    for p in range(first, end):
        total = 0.0
        for k in range(num_topics):
            total += theta[k] * means[p - first, k]
        bound += counts[p] * math.log(total)
        for k in range(num_topics):
            out[words[p], k] += counts[p] * theta[k] * means[p - first, k] / total
    bound += math.lgamma(alpha * num_topics) - num_topics * math.lgamma(alpha) - math.lgamma(_total(gamma))
    for k in range(num_topics):
        bound += math.lgamma(gamma[k]) + (alpha - gamma[k]) * math.log(theta[k])
    return bound


@jit
def _topics_bound(natural, beta):
    num_words, bound = natural.shape[0], 0.0
    for k in range(natural.shape[1]):
        mass = _total(natural[:, k])
        bound += math.lgamma(beta * num_words) - num_words * math.lgamma(beta) - math.lgamma(mass)
        for w in range(num_words):
            log_mean = digamma(natural[w, k]) - digamma(mass)
            bound += math.lgamma(natural[w, k]) + (beta - natural[w, k]) * log_mean
    return bound


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    halves = np.full((1, 2, 2), 0.5)
    yield "topics", "topic shares", shares_of, halves, tiny(), 1.0
    yield "topics", "held-out words", held_out_log_likelihood, halves, np.ones(1), tiny(), 1.0
    yield "topics", "variational documents", expected_counts, np.ones((2, 2)), tiny(), 1.0
    yield "topics", "the bound of topics", elbo_of_topics, np.ones((2, 2)), 1.0
    yield "topics", "digamma", digammas, np.ones(1)
