import numpy as np
import pytest
from numba import njit
from scipy.stats import norm

from pmdviz.kernels.likelihoods import banana
from pmdviz.kernels.likelihoods.banana import banana_grad_log_likelihood, banana_log_likelihood
from tests.kernels.naive import LONG, differences, log_normal

X = np.array([0.3, 1.1, 2.2, -0.4])


@pytest.mark.parametrize("num", [1, 2, 63, 64, 65, 1500])
def test_against_the_formula_in_extended_precision(num, rng):
    theta, x = rng.normal(size=(num, 2)) * 2, rng.normal(size=23) + 1
    mean = theta[:, :1].astype(LONG) + LONG(0.8) * theta[:, 1:].astype(LONG) ** 2
    truth = log_normal(x.astype(LONG), mean, 1.4).sum(axis=1)
    np.testing.assert_allclose(banana_log_likelihood(theta, x, 1.4, 0.8), truth, rtol=1e-13)


def test_against_scipy(rng):
    theta = rng.normal(size=(9, 2))
    expected = norm.logpdf(X, theta[:, :1] - 2 * theta[:, 1:] ** 2, 0.7).sum(axis=1)
    np.testing.assert_allclose(banana_log_likelihood(theta, X, 0.7, -2), expected)


@pytest.mark.parametrize("sigma_x", [0.5, 2.0])
@pytest.mark.parametrize("bend", [0.0, 1.5])
def test_gradient_against_differences(sigma_x, bend, rng):
    theta = rng.normal(size=(65, 2))
    truth = differences(lambda t: banana_log_likelihood(t, X, sigma_x, bend), theta)
    np.testing.assert_allclose(banana_grad_log_likelihood(theta, X, sigma_x, bend), truth, rtol=1e-5, atol=1e-4)


def test_no_data():
    assert banana_log_likelihood(np.ones((3, 2)), np.empty(0), 1.0, 1.0).tolist() == [0.0] * 3
    assert banana_grad_log_likelihood(np.ones((3, 2)), np.empty(0), 1.0, 1.0).tolist() == [[0.0, 0.0]] * 3


def test_beyond_all_squares_is_impossible():
    assert banana_log_likelihood(np.array([[0.0, 1e200]]), X, 1.0, 1.0)[0] == -np.inf


def test_compiled_and_plain_python_agree(rng):
    theta = rng.normal(size=(9, 2))
    for function, given in ((banana._log_likelihood, (1.0, 0.5, 2.0, -3.0)), (banana._gradient, (1.0, 0.5, 2.0))):
        np.testing.assert_allclose(function(theta, *given), function.py_func(theta, *given), rtol=1e-12)


def test_called_from_other_compiled_code():
    @njit
    def outer(theta):
        return banana._log_likelihood(theta, 5.0, 1.0, 2.0, 1.0)

    assert outer(np.array([[1.0, 2.0]])).tolist() == [1.0]


@pytest.mark.parametrize(
    ("theta", "x", "sigma_x", "bend"),
    [
        (np.zeros((2, 1)), X, 1.0, 1.0),
        (np.zeros((2, 2)), X[:, None], 1.0, 1.0),
        (np.zeros((2, 2)), X, 0.0, 1.0),
        (np.zeros((2, 2)), X, 1.0, np.nan),
        (np.zeros((2, 2)), np.array([np.inf]), 1.0, 1.0),
    ],
)
def test_what_cannot_be_used_is_refused(theta, x, sigma_x, bend):
    for function in (banana_log_likelihood, banana_grad_log_likelihood):
        with pytest.raises(ValueError, match="theta|x must|sigma_x|bend"):
            function(theta, x, sigma_x, bend)
