"""Likelihoods of small targets, mixtures and volatility: values by formula, gradients by differences, extremes."""

import numpy as np
from scipy import stats
from scipy.special import expit, log_expit, logsumexp
from scipy.stats import norm

from pmdviz.kernels import likelihoods, mixture
from pmdviz.kernels import likelihoods as v
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
    return np.logaddexp(a, b).sum(axis=1)


def of_linear(theta, rows, sigma_y):
    return log_normal(rows[:, -1], theta @ rows[:, :-1].T, sigma_y).sum(axis=1)


def of_logistic(theta, rows):
    return -np.logaddexp(0, (1 - 2 * rows[:, -1]) * (theta @ rows[:, :-1].T)).sum(axis=1)


# Likelihood, gradient, formula, shape of a datum, dimension of theta, and the parameters.
CASES = [
    (likelihoods.banana_log_likelihood, likelihoods.banana_grad_log_likelihood, of_banana, (), 2, (1.4, 0.8)),
    (likelihoods.bimodal_log_likelihood, likelihoods.bimodal_grad_log_likelihood, of_bimodal, (), 1, (1.4,)),
    *((likelihoods.gaussian_log_likelihood, likelihoods.gaussian_grad_log_likelihood, of_gaussian, (d,), d, (1.4,))
      for d in (1, 3, 10)),
    (mixture_log_likelihood, mixture_grad_log_likelihood, of_mixture, (), 2, (1.4, 0.3)),
    *((likelihoods.linear_log_likelihood, likelihoods.linear_grad_log_likelihood, of_linear, (d + 1,), d, (0.7,))
      for d in (1, 4, 30)),
    *((likelihoods.logistic_log_likelihood, likelihoods.logistic_grad_log_likelihood, of_logistic, (d + 1,), d, ())
      for d in (1, 4, 30)),
]  # fmt: skip
EACH = looped("value, gradient, formula, datum, dim, given", CASES)


def data_of(formula, rng, n, datum):
    x = rng.normal(size=(n, *datum)) + 1
    if formula is of_logistic:
        x[:, -1] = x[:, -1] > 1
    return x


@looped("num, n", [(1, 1), (2, 5), (63, 23), (64, 23), (65, 40), (1500, 23)])
@EACH
def test_values_are_the_formula_in_extended_precision(value, gradient, formula, datum, dim, given, num, n, rng):
    theta, x = rng.normal(size=(num, dim)) * 2, data_of(formula, rng, n, datum)
    truth = formula(theta.astype(LONG), x.astype(LONG), *given)
    np.testing.assert_allclose(value(theta, x, *given), truth, rtol=1e-13)
    if formula is of_logistic:
        each = likelihoods.logistic_row_log_likelihood(theta, x)
        np.testing.assert_allclose(each, log_expit((2 * x[:, -1] - 1) * (theta @ x[:, :-1].T)), rtol=1e-12)


@looped("num, n", [(1, 1), (65, 20)])
@EACH
def test_gradients_are_those_of_the_values(value, gradient, formula, datum, dim, given, num, n, rng):
    theta, x = rng.normal(size=(num, dim)), data_of(formula, rng, n, datum)
    truth = differences(lambda t: value(t, x, *given), theta)
    rough = {"rtol": 1e-6, "atol": 1e-6} if formula in (of_linear, of_logistic) else {"rtol": 1e-5, "atol": 1e-4}
    np.testing.assert_allclose(gradient(theta, x, *given), truth, **rough)


@EACH
def test_no_data_say_nothing(value, gradient, formula, datum, dim, given):
    theta, none = np.ones((3, dim)), np.empty((0, *datum))
    assert value(theta, none, *given).tolist() == [0.0] * 3 and not gradient(theta, none, *given).any()
    assert value(theta[:0], np.ones((3, *datum)), *given).shape == (0,)


def test_the_extremes_are_impossible_or_exact_and_lose_no_digits(rng):
    x, far = np.arange(3.0), np.array([[0.0, 1e200]])
    for value, theta, given in [
        (likelihoods.banana_log_likelihood, far, (x, 1.0, 1.0)),
        (likelihoods.bimodal_log_likelihood, far[:, 1:], (x, 1.0)),
        (likelihoods.gaussian_log_likelihood, np.array([[np.inf, 0.0]]), (np.zeros((3, 2)), 1.0)),
    ]:
        assert value(theta, *given)[0] == -np.inf, value
    theta, x = 1e8 + np.round(rng.normal(size=(5, 2)), 3), 1e8 + np.round(rng.normal(size=(50, 2)), 3)
    truth = of_gaussian(theta.astype(LONG), x.astype(LONG), 1.0)
    np.testing.assert_allclose(likelihoods.gaussian_log_likelihood(theta, x, 1.0), truth, rtol=1e-6)
    given = np.array([[1e6, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]]), np.log([0.5, 0.5]), 1.0
    assert not np.isfinite(gaussian_mixture_log_density(np.array([[np.inf, 0.0]]), *given[1:]))
    np.testing.assert_allclose(gaussian_mixture_log_density(*given), -0.5 * (1e6 - 1) ** 2, rtol=1e-6)
    np.testing.assert_allclose(gaussian_mixture_grad_log_density(*given), [[1 - 1e6, 0.0]])
    rows, theta = np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([[800.0], [-800.0]])
    found = likelihoods.logistic_row_log_likelihood(theta, rows)
    np.testing.assert_allclose(found, [[0.0, -800.0], [-800.0, 0.0]], atol=1e-12)


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


@looped("p", [1e-300, 1e-9, 0.5, 1 - 1e-9])
@looped("distance", [1.0, 1e3, 1e8])
def test_extremes_of_the_share_and_the_distance(p, distance):
    theta, x = np.array([[-distance, 2 * distance], [distance, 0.0]]), np.array([-distance, 0.0, 0.5, 2 * distance])
    truth = of_mixture(theta.astype(LONG), x.astype(LONG), 1.0, p)
    np.testing.assert_allclose(mixture_log_likelihood(theta, x, 1.0, p), truth, rtol=1e-13)
    equal = mixture_log_likelihood(np.zeros((1, 2)), np.zeros(5000), 1.0, 0.5)  # every factor is 2: 2^5000 is no float
    np.testing.assert_allclose(equal, 5000 * norm.logpdf(0.0), rtol=1e-13)


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
    x, means, log_weights = 3 * rng.normal(size=(300, d)), rng.normal(size=(k, d)), np.log(rng.dirichlet(np.ones(k)))
    given = means, log_weights, 0.7
    parts = zip(log_weights, means, strict=True)
    terms = [w + stats.multivariate_normal(mean, 0.7 * np.eye(d)).logpdf(x) for w, mean in parts]
    np.testing.assert_allclose(gaussian_mixture_log_density(x, *given), logsumexp(terms, axis=0), rtol=1e-12)
    truth = differences(lambda t: gaussian_mixture_log_density(t, *given), x)
    np.testing.assert_allclose(gaussian_mixture_grad_log_density(x, *given), truth, atol=1e-6)


@looped("m, others, n, columns", [(1, 1, 1, [0]), (5, 3, 9, [1, 2]), (150, 10, 40, [0, 3]), (4, 2, 7, [0, 1, 2, 3])])
def test_logistic_gradients_of_a_block(m, others, n, columns):
    """Mean over the others of the plain gradient; far out too, where e^-a e^-b is beyond all numbers."""
    rng = np.random.default_rng([m, n])
    rows = data_of(of_logistic, rng, n, (5,))
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


FIRST = 2


@looped("count", [1, 2, 20])
def test_the_likelihood_is_that_of_normal_returns(count):
    rng = np.random.default_rng(count)
    points, y = rng.normal(0.5, 1.5, size=(5, FIRST + count)), rng.normal(size=count)
    expected = stats.norm.logpdf(y, 0, np.exp(0.5 * points[:, FIRST:])).sum(axis=1)
    np.testing.assert_allclose(v.volatility_log_likelihood(points, FIRST, y), expected, rtol=1e-12)
    gradient = np.zeros(points.shape)
    v.volatility_pull(points, FIRST, y, gradient)
    slope = differences(lambda x: v.volatility_log_likelihood(x, FIRST, y), points)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-7)


@looped("count", [1, 3])
def test_a_sweep_keeps_the_posterior_of_the_path(count):
    """Against the sums over a grid, in standard errors of the means of stretches of the chain."""
    y, mu, phi, s2 = np.array([0.3, -2.0, 1.0])[:count], 0.4, 0.6, 0.7
    axis = np.linspace(-6, 7, 61)
    grid = np.stack(np.meshgrid(*[axis] * count, indexing="ij"), axis=-1).reshape(-1, count)
    first = -0.5 * (1 - phi**2) * (grid[:, 0] - mu) ** 2 / s2
    later = -0.5 * ((grid[:, 1:] - mu - phi * (grid[:, :-1] - mu)) ** 2).sum(axis=1) / s2
    mass = np.exp(first + later + stats.norm.logpdf(y, 0, np.exp(0.5 * grid)).sum(axis=1))
    mass /= mass.sum()
    rng, x, draws = np.random.default_rng(0), np.zeros(count), np.empty((20_000, count))
    for k in range(len(draws)):
        v.volatility_sweep(x, y, mu, phi, s2, rng.standard_normal(count), rng.random(count))
        draws[k] = x
    for power in (1, 2):
        means = (draws**power).reshape(50, -1, count).mean(axis=1)
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        assert (np.abs(means.mean(axis=0) - mass @ grid**power) < 4 * error).all()
        assert (error < 0.05).all()
