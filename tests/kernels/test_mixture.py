import numpy as np
import pytest
from numba import njit
from scipy.stats import norm

from pmdviz.kernels import pool
from pmdviz.kernels.likelihoods import mixture
from pmdviz.kernels.likelihoods.mixture import mixture_grad_log_likelihood, mixture_log_likelihood
from tests.kernels.naive import LONG, differences, log_normal


def naive(theta, x, sigma_x, p):
    first, second = theta[:, :1].astype(LONG), theta.astype(LONG).sum(axis=1, keepdims=True)
    a = np.log(LONG(p)) + log_normal(x.astype(LONG), first, sigma_x)
    b = np.log1p(-LONG(p)) + log_normal(x.astype(LONG), second, sigma_x)
    top = np.maximum(a, b)
    return (top + np.log(np.exp(a - top) + np.exp(b - top))).sum(axis=1)


@pytest.mark.parametrize("num", [1, 2, 63, 64, 65, 1500])
@pytest.mark.parametrize("batch", [1, 10, 499, 500, 501, 1000, 1001])
def test_against_the_formula_in_extended_precision(num, batch, rng):
    theta, x = rng.normal(size=(num, 2)), rng.normal(size=batch) * 2
    truth = naive(theta[:40], x, 1.4, 0.3)
    np.testing.assert_allclose(mixture_log_likelihood(theta, x, 1.4, 0.3)[:40], truth, rtol=1e-13)


def test_against_scipy(rng):
    theta, x = rng.normal(size=(20, 2)), rng.normal(size=30)
    first, second = norm.pdf(x, theta[:, :1], 0.7), norm.pdf(x, theta.sum(axis=1, keepdims=True), 0.7)
    truth = np.log(0.2 * first + 0.8 * second).sum(axis=1)
    np.testing.assert_allclose(mixture_log_likelihood(theta, x, 0.7, 0.2), truth, rtol=1e-12)


def test_equal_components_at_every_datum_do_not_overflow():
    x = np.zeros(5000)  # every factor is 2, and 2^5000 is no float
    result = mixture_log_likelihood(np.zeros((1, 2)), x, 1.0, 0.5)
    np.testing.assert_allclose(result, 5000 * norm.logpdf(0.0), rtol=1e-13)


@pytest.mark.parametrize("p", [1e-300, 1e-9, 0.5, 1 - 1e-9])
@pytest.mark.parametrize("distance", [1.0, 1e3, 1e8])
def test_extremes_of_the_share_and_the_distance(p, distance):
    theta, x = np.array([[-distance, 2 * distance], [distance, 0.0]]), np.array([-distance, 0.0, 0.5, 2 * distance])
    np.testing.assert_allclose(mixture_log_likelihood(theta, x, 1.0, p), naive(theta, x, 1.0, p), rtol=1e-13)


@pytest.mark.parametrize(("p", "column"), [(1.0, 0), (0.0, 1)])
def test_one_component_alone(p, column, rng):
    theta, x = rng.normal(size=(5, 2)), rng.normal(size=7)
    means = np.stack([theta[:, 0], theta.sum(axis=1)])[column]
    truth = norm.logpdf(x, means[:, None], 1.5).sum(axis=1)
    np.testing.assert_allclose(mixture_log_likelihood(theta, x, 1.5, p), truth, rtol=1e-13)
    pull = ((x - means[:, None]) / 1.5**2).sum(axis=1)
    gradient = np.stack([pull, pull * column], axis=1)
    np.testing.assert_allclose(mixture_grad_log_likelihood(theta, x, 1.5, p), gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("num", [1, 65, 1500])
@pytest.mark.parametrize("sigma_x", [0.5, 1.4])
def test_gradient_against_differences(num, sigma_x, rng):
    theta, x = rng.normal(size=(num, 2)), rng.normal(size=53)
    truth = differences(lambda t: mixture_log_likelihood(t, x, sigma_x, 0.3), theta)
    np.testing.assert_allclose(mixture_grad_log_likelihood(theta, x, sigma_x, 0.3), truth, rtol=1e-5, atol=1e-4)


def test_gradient_far_away_is_that_of_the_nearer_component():
    gradient = mixture_grad_log_likelihood(np.array([[0.0, 1e4]]), np.array([3.0, 1e4 - 1]), 1.0, 0.5)
    np.testing.assert_allclose(gradient, [[3.0 - 1.0, -1.0]], rtol=1e-12)


def test_no_data_and_no_particles():
    assert mixture_log_likelihood(np.ones((3, 2)), np.empty(0), 1.0, 0.5).tolist() == [0.0] * 3
    assert mixture_grad_log_likelihood(np.ones((3, 2)), np.empty(0), 1.0, 0.5).tolist() == [[0.0, 0.0]] * 3
    assert mixture_log_likelihood(np.empty((0, 2)), np.ones(3), 1.0, 0.5).shape == (0,)


def test_a_theta_that_is_not_finite_gives_nan_and_spoils_no_other_row():
    theta, x = np.array([[0.0, 1.0], [np.nan, 1.0], [0.0, -np.inf], [1e200, 0.0]]), np.arange(3.0)
    likelihood, gradient = mixture_log_likelihood(theta, x, 1.0, 0.5), mixture_grad_log_likelihood(theta, x, 1.0, 0.5)
    np.testing.assert_array_equal(np.isnan(likelihood), [False, True, True, False])
    np.testing.assert_array_equal(np.isnan(gradient).all(axis=1), [False, True, True, False])
    np.testing.assert_allclose(likelihood[0], naive(theta[:1], x, 1.0, 0.5)[0], rtol=1e-13)
    assert likelihood[3] < -1e270


def test_same_bits_for_any_number_of_threads(rng, threads, monkeypatch):
    monkeypatch.setattr(pool, "SERIAL_BELOW", 0)
    theta, x = rng.normal(size=(1500, 2)), rng.normal(size=100)
    threads(lambda: mixture_log_likelihood(theta, x, 1.0, 0.5))
    threads(lambda: mixture_grad_log_likelihood(theta, x, 1.0, 0.5))


@pytest.mark.parametrize("few", [0, 10**9])
@pytest.mark.parametrize("num", [1, 15, 16, 17])
def test_over_the_data_or_over_the_parameters_is_the_same(few, num, rng, monkeypatch):
    theta, x = rng.normal(size=(num, 2)), rng.normal(size=1001) * 2
    as_chosen = mixture_log_likelihood(theta, x, 1.4, 0.3), mixture_grad_log_likelihood(theta, x, 1.4, 0.3)
    monkeypatch.setattr(mixture, "FEW", few)
    np.testing.assert_allclose(mixture_log_likelihood(theta, x, 1.4, 0.3), as_chosen[0], rtol=1e-13)
    np.testing.assert_allclose(mixture_grad_log_likelihood(theta, x, 1.4, 0.3), as_chosen[1], rtol=1e-11, atol=1e-10)


def test_compiled_and_plain_python_agree(rng):
    first, second, x, constants = rng.normal(size=9), rng.normal(size=9), rng.normal(size=11), (0.7, -1.7, -0.5)
    for name in ("_log_likelihood", "_log_likelihood_few", "_gradient", "_gradient_few"):
        function, shape = getattr(mixture, name), (9, 2) if "gradient" in name else 9
        compiled, plain = np.empty(shape), np.empty(shape)
        function(first, second, x, constants, compiled)
        function.py_func(first, second, x, constants, plain)
        np.testing.assert_allclose(compiled, plain, rtol=1e-12)


def test_called_from_other_compiled_code():
    @njit
    def outer(first, second, x):
        out = np.empty(first.size)
        mixture._log_likelihood(first, second, x, (mixture.SCALE, -1.0, -1.0), out)
        return out

    theta, x = np.array([[0.0, 1.0]]), np.arange(3.0)
    result = outer(theta[:, 0].copy(), theta.sum(axis=1), x) - 1.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(result, mixture_log_likelihood(theta, x, 1.0, 0.5), rtol=1e-13)


@pytest.mark.parametrize(
    ("theta", "x", "sigma_x", "p"),
    [
        (np.zeros((2, 1)), np.zeros(3), 1.0, 0.5),
        (np.zeros((2, 2)), np.zeros((3, 1)), 1.0, 0.5),
        (np.zeros((2, 2)), np.array([np.nan]), 1.0, 0.5),
        (np.zeros((2, 2)), np.zeros(3), 0.0, 0.5),
        (np.zeros((2, 2)), np.zeros(3), np.nan, 0.5),
        (np.zeros((2, 2)), np.zeros(3), 1.0, 1.1),
        (np.zeros((2, 2)), np.zeros(3), 1.0, np.nan),
    ],
)
def test_what_cannot_be_used_is_refused(theta, x, sigma_x, p):
    for function in (mixture_log_likelihood, mixture_grad_log_likelihood):
        with pytest.raises(ValueError, match="theta|x must|sigma_x|p must"):
            function(theta, x, sigma_x, p)
