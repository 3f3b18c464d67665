"""Likelihoods of the small targets and mixtures of Gaussians: values by formula, gradients by differences, extremes."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, log_expit, logsumexp
from scipy.stats import norm

from pmdviz.kernels import likelihoods, mixture
from pmdviz.kernels.chains import logistic_block_gradient
from pmdviz.kernels.mixture import (
    gaussian_mixture_grad_log_density,
    gaussian_mixture_log_density,
    mixture_grad_log_likelihood,
    mixture_log_likelihood,
)
from tests.kernels.naive import LONG, differences, log_normal
from tests.support.tables import looped


def of_banana(theta, x, sigma_x, bend):
    return log_normal(x, theta[:, :1] + LONG(bend) * theta[:, 1:] ** 2, sigma_x).sum(axis=1)


def of_bimodal(theta, x, sigma_x):
    return log_normal(x, theta**2, sigma_x).sum(axis=1)


def of_gaussian(theta, x, sigma_x):
    return log_normal(x[None], theta[:, None, :], sigma_x).sum(axis=(1, 2))


def of_mixture(theta, x, sigma_x, p):
    a = np.log(LONG(p)) + log_normal(x, theta[:, :1], sigma_x)
    b = np.log1p(-LONG(p)) + log_normal(x, theta.sum(axis=1, keepdims=True), sigma_x)
    top = np.maximum(a, b)
    return (top + np.log(np.exp(a - top) + np.exp(b - top))).sum(axis=1)


# Likelihood, gradient, formula, shape of a datum, dimension of theta, and the parameters.
CASES = [
    (likelihoods.banana_log_likelihood, likelihoods.banana_grad_log_likelihood, of_banana, (), 2, (1.4, 0.8)),
    (likelihoods.bimodal_log_likelihood, likelihoods.bimodal_grad_log_likelihood, of_bimodal, (), 1, (1.4,)),
    *(
        (likelihoods.gaussian_log_likelihood, likelihoods.gaussian_grad_log_likelihood, of_gaussian, (d,), d, (1.4,))
        for d in (1, 3, 10)
    ),
    (mixture_log_likelihood, mixture_grad_log_likelihood, of_mixture, (), 2, (1.4, 0.3)),
]
EACH = looped("value, gradient, formula, datum, dim, given", CASES)


@looped("num", [1, 2, 63, 64, 65, 1500])
@EACH
def test_values_are_the_formula_in_extended_precision(value, gradient, formula, datum, dim, given, num, rng):
    theta, x = rng.normal(size=(num, dim)) * 2, rng.normal(size=(23, *datum)) + 1
    truth = formula(theta.astype(LONG), x.astype(LONG), *given)
    np.testing.assert_allclose(value(theta, x, *given), truth, rtol=1e-13)


@EACH
def test_gradients_are_those_of_the_values(value, gradient, formula, datum, dim, given, rng):
    theta, x = rng.normal(size=(65, dim)), rng.normal(size=(20, *datum))
    truth = differences(lambda t: value(t, x, *given), theta)
    np.testing.assert_allclose(gradient(theta, x, *given), truth, rtol=1e-5, atol=1e-4)


@EACH
def test_no_data_say_nothing(value, gradient, formula, datum, dim, given):
    theta = np.ones((3, dim))
    assert value(theta, np.empty((0, *datum)), *given).tolist() == [0.0] * 3
    assert not gradient(theta, np.empty((0, *datum)), *given).any()
    assert value(theta[:0], np.ones((3, *datum)), *given).shape == (0,)


def test_beyond_all_squares_is_impossible():
    x = np.arange(3.0)
    assert likelihoods.banana_log_likelihood(np.array([[0.0, 1e200]]), x, 1.0, 1.0)[0] == -np.inf
    assert likelihoods.bimodal_log_likelihood(np.array([[1e200]]), x, 1.0)[0] == -np.inf
    assert likelihoods.gaussian_log_likelihood(np.array([[np.inf, 0.0]]), np.zeros((3, 2)), 1.0)[0] == -np.inf


def test_a_gaussian_far_from_the_origin_loses_no_digits(rng):
    theta, x = 1e8 + np.round(rng.normal(size=(5, 2)), 3), 1e8 + np.round(rng.normal(size=(50, 2)), 3)
    truth = of_gaussian(theta.astype(LONG), x.astype(LONG), 1.0)
    np.testing.assert_allclose(likelihoods.gaussian_log_likelihood(theta, x, 1.0), truth, rtol=1e-6)


@looped("batch", [1, 499, 500, 501, 1001])
@looped("num", [1, 15, 16, 17])
def test_over_the_data_or_over_the_parameters_is_the_same(batch, num, rng, monkeypatch):
    theta, x = rng.normal(size=(num, 2)), rng.normal(size=batch) * 2
    for few in (0, 10**9):
        monkeypatch.setattr(mixture, "FEW", few)
        truth = of_mixture(theta.astype(LONG), x.astype(LONG), 1.4, 0.3)
        np.testing.assert_allclose(mixture_log_likelihood(theta, x, 1.4, 0.3), truth, rtol=1e-13)
        truth = differences(lambda t, x=x: mixture_log_likelihood(t, x, 1.4, 0.3), theta)
        np.testing.assert_allclose(mixture_grad_log_likelihood(theta, x, 1.4, 0.3), truth, rtol=1e-5, atol=1e-3)


def test_equal_components_at_every_datum_do_not_overflow():
    x = np.zeros(5000)  # every factor is 2, and 2^5000 is no float
    np.testing.assert_allclose(
        mixture_log_likelihood(np.zeros((1, 2)), x, 1.0, 0.5), 5000 * norm.logpdf(0.0), rtol=1e-13
    )


@looped("p", [1e-300, 1e-9, 0.5, 1 - 1e-9])
@looped("distance", [1.0, 1e3, 1e8])
def test_extremes_of_the_share_and_the_distance(p, distance):
    theta, x = np.array([[-distance, 2 * distance], [distance, 0.0]]), np.array([-distance, 0.0, 0.5, 2 * distance])
    truth = of_mixture(theta.astype(LONG), x.astype(LONG), 1.0, p)
    np.testing.assert_allclose(mixture_log_likelihood(theta, x, 1.0, p), truth, rtol=1e-13)


@looped("p, column", [(1.0, 0), (0.0, 1)])
def test_one_component_alone(p, column, rng):
    theta, x = rng.normal(size=(5, 2)), rng.normal(size=7)
    means = np.stack([theta[:, 0], theta.sum(axis=1)])[column][:, None]
    truth = norm.logpdf(x, means, 1.5).sum(axis=1)
    np.testing.assert_allclose(mixture_log_likelihood(theta, x, 1.5, p), truth, rtol=1e-13)
    pull = ((x - means) / 1.5**2).sum(axis=1)
    gradient = mixture_grad_log_likelihood(theta, x, 1.5, p)
    np.testing.assert_allclose(gradient, np.stack([pull, pull * column], axis=1), rtol=1e-12, atol=1e-12)


def test_a_theta_that_is_not_finite_gives_nan_and_spoils_no_other_row():
    theta, x = np.array([[0.0, 1.0], [np.nan, 1.0], [0.0, -np.inf], [1e200, 0.0]]), np.arange(3.0)
    likelihood, gradient = mixture_log_likelihood(theta, x, 1.0, 0.5), mixture_grad_log_likelihood(theta, x, 1.0, 0.5)
    np.testing.assert_array_equal(np.isnan(likelihood), [False, True, True, False])
    np.testing.assert_array_equal(np.isnan(gradient).all(axis=1), [False, True, True, False])
    truth = of_mixture(theta[:1].astype(LONG), x.astype(LONG), 1.0, 0.5)
    np.testing.assert_allclose(likelihood[0], truth[0], rtol=1e-13)
    assert likelihood[3] < -1e270


@looped("d, k", [(1, 1), (2, 4), (25, 10)])
def test_a_mixture_of_gaussians_has_scipys_density_and_its_gradient(d, k, rng):
    x, means, log_weights, v = (
        3 * rng.normal(size=(300, d)),
        rng.normal(size=(k, d)),
        np.log(rng.dirichlet(np.ones(k))),
        0.7,
    )
    parts = zip(log_weights, means, strict=True)
    terms = [w + stats.multivariate_normal(mean, v * np.eye(d)).logpdf(x) for w, mean in parts]
    found = gaussian_mixture_log_density(x, means, log_weights, v)
    np.testing.assert_allclose(found, logsumexp(terms, axis=0), rtol=1e-12)
    truth = differences(lambda t: gaussian_mixture_log_density(t, means, log_weights, v), x)
    np.testing.assert_allclose(gaussian_mixture_grad_log_density(x, means, log_weights, v), truth, atol=1e-6)


def test_far_from_every_component_both_are_finite():
    x, means, log_weights = np.array([[1e6, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]]), np.log([0.5, 0.5])
    found = gaussian_mixture_log_density(x, means, log_weights, 1.0)
    np.testing.assert_allclose(found, -0.5 * (1e6 - 1) ** 2, rtol=1e-6)
    np.testing.assert_allclose(gaussian_mixture_grad_log_density(x, means, log_weights, 1.0), [[1 - 1e6, 0.0]])
    assert not np.isfinite(gaussian_mixture_log_density(np.array([[np.inf, 0.0]]), means, log_weights, 1.0))


# Linear and logistic regression against plain NumPy and SciPy, their gradients against finite differences.

SHAPES = [(1, 1, 1), (3, 2, 5), (700, 4, 9), (5, 30, 40)]  # m, d, rows


def drawn(m, d, n, classes):
    rng = np.random.default_rng([m, d, n])
    x, y = rng.normal(size=(n, d)), rng.normal(size=n)
    return rng.normal(size=(m, d)), np.column_stack([x, (y > 0).astype(float) if classes else y])


@pytest.mark.parametrize("m, d, n", SHAPES)
def test_linear(m, d, n):
    theta, rows = drawn(m, d, n, classes=False)
    naive = norm.logpdf(rows[:, -1], theta @ rows[:, :-1].T, 0.7).sum(axis=1)
    np.testing.assert_allclose(likelihoods.linear_log_likelihood(theta, rows, 0.7), naive, rtol=1e-12)
    slope = differences(lambda t: likelihoods.linear_log_likelihood(t, rows, 0.7), theta)
    np.testing.assert_allclose(likelihoods.linear_grad_log_likelihood(theta, rows, 0.7), slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("m, d, n", SHAPES)
def test_logistic(m, d, n):
    theta, rows = drawn(m, d, n, classes=True)
    signs, a = 2 * rows[:, -1] - 1, theta @ rows[:, :-1].T
    np.testing.assert_allclose(likelihoods.logistic_row_log_likelihood(theta, rows), log_expit(signs * a), rtol=1e-12)
    np.testing.assert_allclose(
        likelihoods.logistic_log_likelihood(theta, rows), log_expit(signs * a).sum(axis=1), rtol=1e-12
    )
    exact = (rows[:, -1] - expit(a)) @ rows[:, :-1]
    np.testing.assert_allclose(likelihoods.logistic_grad_log_likelihood(theta, rows), exact, rtol=1e-11, atol=1e-12)
    slope = differences(lambda t: likelihoods.logistic_log_likelihood(t, rows), theta)
    np.testing.assert_allclose(likelihoods.logistic_grad_log_likelihood(theta, rows), slope, rtol=1e-6, atol=1e-6)


def test_logistic_far_out_neither_overflows_nor_loses_its_sign():
    rows = np.array([[1.0, 1.0], [1.0, 0.0]])
    found = likelihoods.logistic_row_log_likelihood(np.array([[800.0], [-800.0]]), rows)
    np.testing.assert_allclose(found, [[0.0, -800.0], [-800.0, 0.0]], atol=1e-12)


@pytest.mark.parametrize(
    "m, others, n, columns", [(1, 1, 1, [0]), (5, 3, 9, [1, 2]), (150, 10, 40, [0, 3]), (4, 2, 7, [0, 1, 2, 3])]
)
def test_logistic_gradients_of_a_block(m, others, n, columns):
    """Mean over the others of the plain gradient; far out too, where e^-a e^-b is beyond all numbers."""
    rng = np.random.default_rng([m, n])
    _, rows = drawn(1, 4, n, classes=True)
    for scale in (1.0, 300.0):
        own, rest = scale * rng.normal(size=(m, len(columns))), scale * rng.normal(size=(others, 4))
        expected = np.zeros(own.shape)
        for row in rest:
            theta = np.tile(row, (m, 1))
            theta[:, columns] = own
            p = expit(theta @ rows[:, :-1].T)
            expected += ((rows[:, -1] - p) @ rows[:, columns]) / others
        found = logistic_block_gradient(own, rest, np.array(columns), rows)
        near = dict(rtol=1e-10, atol=1e-10) if scale == 1.0 else dict(atol=n * 3.0)
        np.testing.assert_allclose(found, expected, **near)
        assert np.isfinite(found).all()
