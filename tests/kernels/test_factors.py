"""Small factors, and tiled products, solves and factors of every size of the last tile, against NumPy's."""

import numpy as np
import pytest

from pmdviz.kernels.factors import cholesky as small_cholesky
from pmdviz.kernels.factors import inverse, precision
from pmdviz.kernels.gaussian_processes import add_products, cholesky, forward
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


@pytest.fixture
def matrices():
    """Positive definite ones, by size; their condition is at most 1,000."""
    roots = {d: np.random.default_rng(d).normal(size=(3, d, 2 * d + 1)) for d in (1, 2, 5, 30)}
    return {d: root @ root.transpose(0, 2, 1) for d, root in roots.items()}


def test_factors_and_inverses_are_numpy_s(matrices):
    for d, many in matrices.items():
        tolerance = {"rtol": 1e-10, "atol": 1e-12, "err_msg": f"d = {d}"}
        before, factors = many.copy(), small_cholesky(many)
        np.testing.assert_allclose(factors, np.linalg.cholesky(many), **tolerance)
        np.testing.assert_array_equal(small_cholesky(many[0].T), factors[0])
        np.testing.assert_allclose(inverse(factors[0]), np.linalg.inv(factors[0]), **tolerance)
        np.testing.assert_allclose(precision(many[0]), np.linalg.inv(many[0]), **tolerance)
        np.testing.assert_array_equal(many, before)


def test_the_upper_triangle_is_not_read():
    np.testing.assert_array_equal(small_cholesky(np.array([[4.0, np.nan], [2.0, 2.0]])), [[2, 0], [1, 1]])


@looped("last", [0.0, -1.0, np.nan])
def test_a_matrix_that_is_not_positive_definite_is_refused(last):
    with pytest.raises(np.linalg.LinAlgError):
        small_cholesky(np.array([np.eye(2), np.diag([1.0, last])]))
