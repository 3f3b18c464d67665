import numpy as np
import pytest
from numba import njit
from scipy.stats import multivariate_normal

from pmdviz.kernels.likelihoods import gaussian
from pmdviz.kernels.likelihoods.gaussian import gaussian_grad_log_likelihood, gaussian_log_likelihood
from tests.kernels.naive import LONG, differences, log_normal


def naive(theta, x, sigma_x):
    return log_normal(x.astype(LONG)[None], theta.astype(LONG)[:, None, :], sigma_x).sum(axis=(1, 2))


@pytest.mark.parametrize("dim", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("num", [1, 2, 63, 64, 65, 1500])
def test_against_the_formula_in_extended_precision(num, dim, rng):
    theta, x = rng.normal(size=(num, dim)), rng.normal(size=(17, dim)) + 3
    np.testing.assert_allclose(gaussian_log_likelihood(theta, x, 1.4), naive(theta, x, 1.4), rtol=1e-13)


def test_against_scipy(rng):
    theta, x = rng.normal(size=(4, 3)), rng.normal(size=(9, 3))
    truth = [multivariate_normal(t, 0.7**2 * np.eye(3)).logpdf(x).sum() for t in theta]
    np.testing.assert_allclose(gaussian_log_likelihood(theta, x, 0.7), truth, rtol=1e-12)


def test_far_from_the_origin_no_digits_are_lost(rng):
    theta, x = 1e8 + np.round(rng.normal(size=(5, 2)), 3), 1e8 + np.round(rng.normal(size=(50, 2)), 3)
    np.testing.assert_allclose(gaussian_log_likelihood(theta, x, 1.0), naive(theta, x, 1.0), rtol=1e-6)


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("sigma_x", [0.5, 2.0])
def test_gradient_against_differences(dim, sigma_x, rng):
    theta, x = rng.normal(size=(65, dim)), rng.normal(size=(20, dim))
    truth = differences(lambda t: gaussian_log_likelihood(t, x, sigma_x), theta)
    np.testing.assert_allclose(gaussian_grad_log_likelihood(theta, x, sigma_x), truth, rtol=1e-5, atol=1e-4)


def test_no_data():
    assert gaussian_log_likelihood(np.ones((3, 2)), np.empty((0, 2)), 1.0).tolist() == [0.0] * 3
    assert gaussian_grad_log_likelihood(np.ones((3, 2)), np.empty((0, 2)), 1.0).tolist() == [[0.0, 0.0]] * 3


def test_an_infinite_theta_is_impossible():
    assert gaussian_log_likelihood(np.array([[np.inf, 0.0]]), np.zeros((3, 2)), 1.0)[0] == -np.inf


def test_compiled_and_plain_python_agree(rng):
    given = rng.normal(size=(9, 3)), rng.normal(size=3), 2.0, -7.0
    np.testing.assert_allclose(gaussian._log_likelihood(*given), gaussian._log_likelihood.py_func(*given), rtol=1e-12)


def test_called_from_other_compiled_code():
    @njit
    def outer(theta, mean):
        return gaussian._log_likelihood(theta, mean, 2.0, 1.0)

    assert outer(np.array([[3.0, 4.0]]), np.zeros(2)).tolist() == [1.0 - 25.0]


@pytest.mark.parametrize(
    ("theta", "x", "sigma_x"),
    [
        (np.zeros(2), np.zeros((3, 2)), 1.0),
        (np.zeros((2, 2)), np.zeros((3, 1)), 1.0),
        (np.zeros((2, 2)), np.full((3, 2), np.nan), 1.0),
        (np.zeros((2, 2)), np.zeros((3, 2)), -1.0),
    ],
)
def test_what_cannot_be_used_is_refused(theta, x, sigma_x):
    for function in (gaussian_log_likelihood, gaussian_grad_log_likelihood):
        with pytest.raises(ValueError, match="theta|x must|sigma_x"):
            function(theta, x, sigma_x)
