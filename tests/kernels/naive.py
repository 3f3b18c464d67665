"""Slow references in extended precision, written from the formulas and from nothing in the package."""

import numpy as np

LONG = np.longdouble
LOG_2PI = np.log(2 * np.arctan(LONG(1)) * 4)


def logsumexp(values, axis):
    top = values.max(axis=axis, keepdims=True)
    return (top + np.log(np.exp(values - top).sum(axis=axis, keepdims=True))).squeeze(axis)


def whitened(differences, cholesky):
    """L^-1 applied to the last axis, by forward substitution."""
    factor, out = cholesky.astype(LONG), np.zeros_like(differences)
    for i in range(len(factor)):
        out[..., i] = (differences[..., i] - (out[..., :i] * factor[i, :i]).sum(axis=-1)) / factor[i, i]
    return out


def log_density(particles, log_weights, cholesky, points):
    differences = points.astype(LONG)[:, None, :] - particles.astype(LONG)[None, :, :]
    squares = (whitened(differences, cholesky) ** 2).sum(axis=-1)
    log_det = np.log(np.diagonal(cholesky).astype(LONG)).sum()
    terms = log_weights.astype(LONG) - squares / 2 - len(cholesky) * LOG_2PI / 2 - log_det
    return logsumexp(terms, axis=1)


def log_normal(x, mean, sd):
    return -((x - mean) ** 2) / (2 * LONG(sd) ** 2) - LOG_2PI / 2 - np.log(LONG(sd))


def random_kernel(rng, dim, size=0.5):
    return np.linalg.cholesky(np.cov(rng.normal(size=(dim, 4 * dim + 4))).reshape(dim, dim)) * size


def weighted(rng, num, dim):
    """Particles and log weights whose logsumexp is 0."""
    return rng.normal(size=(num, dim)), np.log(rng.dirichlet(np.ones(num)))


def differences(function, theta, step=1e-5):
    """Central differences of a function of rows, (m, d)."""
    pairs = [(function(theta + step * e) - function(theta - step * e)) / (2 * step) for e in np.eye(theta.shape[1])]
    return np.stack(pairs, axis=-1)
