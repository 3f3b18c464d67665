"""Small Cholesky factors and inverses against NumPy's."""

import numpy as np
import pytest

from pmdviz.kernels.factors import cholesky, inverse, precision


@pytest.fixture
def matrices():
    """Positive definite ones, by size; their condition is at most 1,000."""
    roots = {d: np.random.default_rng(d).normal(size=(3, d, 2 * d + 1)) for d in (1, 2, 5, 30)}
    return {d: root @ root.transpose(0, 2, 1) for d, root in roots.items()}


def test_factors_and_inverses_are_numpy_s(matrices):
    for d, many in matrices.items():
        tolerance = {"rtol": 1e-10, "atol": 1e-12, "err_msg": f"d = {d}"}
        before, factors = many.copy(), cholesky(many)
        np.testing.assert_allclose(factors, np.linalg.cholesky(many), **tolerance)
        np.testing.assert_array_equal(cholesky(many[0].T), factors[0])
        np.testing.assert_allclose(inverse(factors[0]), np.linalg.inv(factors[0]), **tolerance)
        np.testing.assert_allclose(precision(many[0]), np.linalg.inv(many[0]), **tolerance)
        np.testing.assert_array_equal(many, before)


def test_the_upper_triangle_is_not_read():
    np.testing.assert_array_equal(cholesky(np.array([[4.0, np.nan], [2.0, 2.0]])), [[2, 0], [1, 1]])


@pytest.mark.parametrize("last", [0.0, -1.0, np.nan])
def test_a_matrix_that_is_not_positive_definite_is_refused(last):
    with pytest.raises(np.linalg.LinAlgError):
        cholesky(np.array([np.eye(2), np.diag([1.0, last])]))
