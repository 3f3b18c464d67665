"""Tiled products, solves and factors against NumPy's, for every size of the last tile."""

import numpy as np

from pmdviz.kernels.triangular import add_products, cholesky, forward
from tests.support.tables import looped

SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 11, 33]


def positive(num, seed=0):
    root = np.random.default_rng(seed).normal(size=(num, num))
    return root @ root.T + num * np.eye(num)


@looped("num", SIZES)
@looped("n", [1, 5, 16])
def test_products_are_added_to_the_lower_triangle(num, n):
    rng = np.random.default_rng(1)
    left, rows, target = rng.normal(size=(num, n)), rng.normal(size=(num, n)), rng.normal(size=(num, num))
    expected = np.tril(target + 0.7 * left @ rows.T)
    add_products(target, left, rows, 0.7)
    np.testing.assert_allclose(np.tril(target), expected, rtol=1e-12, atol=1e-12)


@looped("num", SIZES)
@looped("n", [1, 9])
def test_a_solve_is_that_of_the_triangle(num, n):
    rng = np.random.default_rng(2)
    factor, columns = np.linalg.cholesky(positive(num)), rng.normal(size=(num, n))
    expected = np.linalg.solve(factor, columns)
    forward(factor, columns)
    np.testing.assert_allclose(columns, expected, rtol=1e-11, atol=1e-13)


@looped("num", SIZES)
def test_a_factor_is_numpy_s(num):
    matrix = positive(num, 3)
    expected = np.linalg.cholesky(matrix)
    cholesky(matrix)
    np.testing.assert_allclose(np.tril(matrix), expected, rtol=1e-12, atol=1e-13)


def test_a_pivot_that_rounding_made_negative_leaves_numbers():
    matrix = np.ones((6, 6))
    matrix[5, 5] = 1 - 1e-12
    cholesky(matrix)
    assert np.isfinite(np.tril(matrix)).all() and matrix[5, 5] > 0
