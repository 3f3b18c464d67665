"""The variational step of a document, Hoffman, Blei, Bach 2010, Algorithm 2: q(θ_d) = Dir(γ), q(z_n) = its own shares.

With e_k(w) = exp E log φ_k(w), γ_k = α + sum_w c_w exp(E log θ_k) e_k(w) / sum_j exp(E log θ_j) e_j(w) is repeated.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, plain, positive
from pmdviz.kernels.jit import jit
from pmdviz.kernels.topics.assignments import checked, tiny

PASSES, CLOSE = 100, 1e-4  # at most; the mean change of γ that ends them


def expected_counts(
    natural: np.ndarray, documents: tuple[np.ndarray, np.ndarray, np.ndarray], alpha: float
) -> tuple[np.ndarray, float]:
    """Expected numbers (W, K) of tokens of each word and topic, and the documents' part of the ELBO, in nats.

    natural (W, K): q(φ_k) = Dir(natural[:, k]). The part is sum_d E_q log p(w_d, z_d, θ_d | Φ) - E_q log q(z_d, θ_d),
    at the best q(z) for the γ that was found.
    """
    natural, alpha = finite(plain(natural), "natural"), positive(alpha, "alpha")
    rows, words, counts = checked(documents)
    out = np.zeros_like(natural)
    return out, _expect(natural, rows, words, counts, alpha, out)


def elbo_of_topics(natural: np.ndarray, beta: float) -> float:
    """-KL(q(Φ) || p(Φ)) for q(φ_k) = Dir(natural[:, k]) and p(φ_k) = Dir(beta), in nats; natural (W, K)."""
    return float(_topics_bound(finite(plain(natural), "natural"), positive(beta, "beta")))


def digammas(x: np.ndarray) -> np.ndarray:
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
        for _ in range(PASSES):
            if _again(means, counts, first, end, alpha, gamma, theta) < CLOSE:
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


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    yield "topics", "variational documents", lambda: expected_counts(np.ones((2, 2)), tiny(), 1.0)
    yield "topics", "the bound of topics", lambda: elbo_of_topics(np.ones((2, 2)), 1.0)
    yield "topics", "digamma", lambda: digammas(np.ones(1))
