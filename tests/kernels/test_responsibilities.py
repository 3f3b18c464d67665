"""Sums of Gaussian kernels in logs and the means of their centres, against the formula, and far away."""

import numpy as np

from pmdviz.kernels.stein.responsibilities import soft_means
from tests.kernels.naive import LONG
from tests.support.tables import looped


def naive(points, centres, log_masses, h):
    y, x = points.astype(LONG), centres.astype(LONG)
    exponents = log_masses.astype(LONG) - ((y[:, None] - x) ** 2).sum(axis=2) / LONG(h)
    top = exponents.max(axis=1, keepdims=True)
    shares = np.exp(exponents - top)
    total = shares.sum(axis=1)
    return (top[:, 0] + np.log(total)).astype(float), (shares @ x / total[:, None]).astype(float)


@looped("dim", [1, 2, 5])
@looped("n, m", [(1, 1), (7, 90), (130, 3)])
@looped("h", [1e-3, 0.7, 50.0])
def test_it_is_the_formula(rng, dim, n, m, h):
    points, centres, log_masses = rng.normal(size=(n, dim)), rng.normal(size=(m, dim)), 30 * rng.normal(size=m)
    logs, means = soft_means(points, centres, log_masses, h)
    expected = naive(points, centres, log_masses, h)
    np.testing.assert_allclose(logs, expected[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(means, expected[1], atol=1e-11 if h > 0.1 else 1e-9)


def test_far_from_every_centre_nothing_underflows(rng):
    centres = rng.normal(size=(20, 2))
    points = centres[:3] + 1e4
    logs, means = soft_means(points, centres, np.zeros(20), 0.5)
    expected = naive(points, centres, np.zeros(20), 0.5)
    np.testing.assert_allclose(logs, expected[0], rtol=1e-12)
    np.testing.assert_allclose(means, expected[1], atol=1e-6)
