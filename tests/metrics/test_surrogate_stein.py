"""The gradient-free Stein discrepancy: its matrix by quadrature, and its value by hand."""

import numpy as np
import pytest

from pmdviz.metrics.stein import stein_matrix

LINE = np.linspace(-9, 9, 600)
STEP = LINE[1] - LINE[0]


def normal(x, mean=0.0, variance=1.0):
    return np.exp(-0.5 * (x - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)


def test_its_mean_under_the_surrogate_is_zero():
    matrix = stein_matrix(LINE[:, None], -LINE[:, None])
    np.testing.assert_allclose(matrix @ normal(LINE) * STEP, 0, atol=1e-8)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)


def test_in_several_dimensions_it_is_the_operator_twice():
    """By differences of k, for one pair."""
    rng, e = np.random.default_rng(0), 1e-4
    x, s = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    k = lambda a, b: (1 + ((a - b) ** 2).sum()) ** -0.5  # noqa: E731
    axes = e * np.eye(3)
    left = np.array([(k(x[0] + a, x[1]) - k(x[0] - a, x[1])) / (2 * e) for a in axes])
    right = np.array([(k(x[0], x[1] + a) - k(x[0], x[1] - a)) / (2 * e) for a in axes])
    both = sum(
        (k(x[0] + a, x[1] + a) - k(x[0] + a, x[1] - a) - k(x[0] - a, x[1] + a) + k(x[0] - a, x[1] - a)) / (4 * e * e)
        for a in axes
    )
    expected = k(*x) * s[0] @ s[1] + s[0] @ right + s[1] @ left + both
    assert stein_matrix(x, s)[0, 1] == pytest.approx(expected, abs=1e-6)
