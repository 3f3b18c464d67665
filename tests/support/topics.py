"""Latent Dirichlet allocation by enumeration: every assignment of topics to the words of a tiny corpus."""

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp


class Enumerated(NamedTuple):
    """All assignments z: log p(z, w), the tokens of each word and topic, and log p(w)."""

    log_joint: np.ndarray  # (K^n,)
    counts: np.ndarray  # (K^n, W, K)
    log_evidence: float

    @property
    def weights(self):
        return np.exp(self.log_joint - self.log_evidence)


def tokens_of(target, rows=None):
    corpus = target.corpus
    return [
        np.repeat(corpus.words[first:end], corpus.counts[first:end])
        for first, _, end in (target.data if rows is None else rows)
    ]


def log_normaliser(parameters):
    """Of Dirichlet densities: log of prod Γ(a_w) / Γ(sum a_w), over the last axis."""
    return gammaln(parameters).sum(axis=-1) - gammaln(parameters.sum(axis=-1))


def log_prior_of(z, num_topics, alpha):
    """log p(z) of one document, its shares integrated out."""
    counts = np.bincount(z, minlength=num_topics)
    return log_normaliser(counts + alpha) - log_normaliser(np.full(num_topics, alpha))


def counts_of(tokens, z, num_words, num_topics):
    """How many tokens each word and topic have, (W, K)."""
    found = np.zeros((num_words, num_topics))
    np.add.at(found, (tokens, z), 1)
    return found


def enumerate_all(documents, num_words, num_topics, alpha, beta):
    """Every z of the documents, lists of words; beta a number or parameters (W, K)."""
    parameters = np.broadcast_to(np.asarray(beta, float), (num_words, num_topics))
    joints, counts, sizes = [], [], [len(words) for words in documents]
    for flat in product(range(num_topics), repeat=sum(sizes)):
        parts = np.split(np.array(flat), np.cumsum(sizes)[:-1])
        found = sum(counts_of(words, z, num_words, num_topics) for words, z in zip(documents, parts, strict=True))
        prior = sum(log_prior_of(z, num_topics, alpha) for z in parts)
        joints.append(prior + (log_normaliser((parameters + found).T) - log_normaliser(parameters.T)).sum())
        counts.append(found)
    return Enumerated(np.array(joints), np.array(counts), float(logsumexp(joints)))


def same_topic(natural):
    """E sum_k φ_k(w) φ_k(v) under Dir(natural), (..., W, K) -> (..., W, W): the same for any order of the topics."""
    total = natural.sum(axis=-2)[..., None, None, :]
    products = natural[..., :, None, :] * natural[..., None, :, :]
    diagonal = np.eye(natural.shape[-2])[:, :, None] * natural[..., :, None, :]
    return ((products + diagonal) / (total * (total + 1))).sum(axis=-1)


def exact_same_topic(found, beta):
    return np.einsum("n,nij->ij", found.weights, same_topic(beta + found.counts))


def weighted_errors(values, log_weights, exact):
    """How many standard errors a weighted mean of values (m, ...) lies from the exact one, the largest."""
    weights = np.exp(log_weights - logsumexp(log_weights))
    mean = np.tensordot(weights, values, axes=1)
    residual = (values - mean) * weights.reshape(-1, *[1] * (values.ndim - 1))
    return float(np.abs((mean - exact) / np.sqrt((residual**2).sum(axis=0))).max())


def evidence_errors(log_values, log_exact):
    """How many standard errors the mean of exp(log_values) lies from exp(log_exact)."""
    values = np.exp(log_values - log_exact)
    return float((values.mean() - 1) / (values.std(ddof=1) / np.sqrt(len(values))))
