import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from numba import njit
from scipy.stats import norm

from pmdviz.kernels.likelihoods import bimodal
from pmdviz.kernels.likelihoods.bimodal import bimodal_grad_log_likelihood, bimodal_log_likelihood
from tests.kernels.naive import LONG, differences, log_normal

X = np.array([0.3, 1.1, 2.2, -0.4])


@pytest.mark.parametrize("num", [1, 2, 63, 64, 65, 1500])
def test_against_the_formula_in_extended_precision(num, rng):
    theta, x = rng.normal(size=(num, 1)) * 2, rng.normal(size=23) + 1
    truth = log_normal(x.astype(LONG), theta.astype(LONG) ** 2, 1.4).sum(axis=1)
    np.testing.assert_allclose(bimodal_log_likelihood(theta, x, 1.4), truth, rtol=1e-13)


def test_against_scipy(rng):
    theta = rng.normal(size=(9, 1))
    np.testing.assert_allclose(bimodal_log_likelihood(theta, X, 0.7), norm.logpdf(X, theta**2, 0.7).sum(axis=1))


@pytest.mark.parametrize("sigma_x", [0.5, 2.0])
def test_gradient_against_differences(sigma_x, rng):
    theta = rng.normal(size=(65, 1))
    truth = differences(lambda t: bimodal_log_likelihood(t, X, sigma_x), theta)
    np.testing.assert_allclose(bimodal_grad_log_likelihood(theta, X, sigma_x), truth, rtol=1e-5, atol=1e-4)


@hypothesis.given(st.floats(-1e3, 1e3))
def test_both_signs_explain_the_data_equally_well(value):
    theta = np.array([[value], [-value]])
    likelihood, gradient = bimodal_log_likelihood(theta, X, 1.0), bimodal_grad_log_likelihood(theta, X, 1.0)
    assert likelihood[0] == likelihood[1]
    assert gradient[0, 0] == -gradient[1, 0]


def test_no_data():
    assert bimodal_log_likelihood(np.ones((3, 1)), np.empty(0), 1.0).tolist() == [0.0] * 3
    assert bimodal_grad_log_likelihood(np.ones((3, 1)), np.empty(0), 1.0).tolist() == [[0.0]] * 3


def test_beyond_all_squares_is_impossible():
    assert bimodal_log_likelihood(np.array([[1e200]]), X, 1.0)[0] == -np.inf


def test_compiled_and_plain_python_agree(rng):
    theta = rng.normal(size=(9, 1))
    for function, given in ((bimodal._log_likelihood, (1.0, 2.0, -3.0)), (bimodal._gradient, (1.0, 2.0))):
        np.testing.assert_allclose(function(theta, *given), function.py_func(theta, *given), rtol=1e-12)


def test_called_from_other_compiled_code():
    @njit
    def outer(theta):
        return bimodal._log_likelihood(theta, 5.0, 2.0, 1.0)

    assert outer(np.array([[2.0]])).tolist() == [0.0]


@pytest.mark.parametrize(
    ("theta", "x", "sigma_x"),
    [(np.zeros((2, 2)), X, 1.0), (np.zeros((2, 1)), X[:, None], 1.0), (np.zeros((2, 1)), X / 0.5, 0.0)],
)
def test_what_cannot_be_used_is_refused(theta, x, sigma_x):
    for function in (bimodal_log_likelihood, bimodal_grad_log_likelihood):
        with pytest.raises(ValueError, match="theta|x must|sigma_x"):
            function(theta, x, sigma_x)
