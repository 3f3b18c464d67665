"""Laplace's approximation of a Gaussian process classifier against a plain formula, and against scikit-learn's."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from pmdviz.kernels.likelihoods.gp_classification import REACH, gp_class_chances, gp_log_marginal


def posed(n=30, k=2, m=6, seed=0):
    """Hyperparameters, features, and classes that hang on the first of them."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, k))
    y = np.where(x[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return 1.5 * rng.standard_normal((m, k + 1)), x, y


def covariance(theta, x, z):
    gaps = (x[:, None] - z) / np.exp(theta[:-1])
    return np.exp(2 * theta[-1] - 0.5 * (gaps**2).sum(axis=2))


def naive(theta, x, y):
    """The peak by Newton's steps with inverse matrices; the integral of the Gaussian there."""
    cov, f = covariance(theta, x, x), np.zeros(len(y))
    for _ in range(100):
        w = expit(f) * expit(-f)
        f = np.linalg.solve(np.eye(len(y)) + cov @ np.diag(w), cov @ (w * f + y * expit(-y * f)))
    w = expit(f) * expit(-f)
    a = y * expit(-y * f)  # at the peak K^-1 f is the gradient
    return -0.5 * a @ f + np.log(expit(y * f)).sum() - 0.5 * np.linalg.slogdet(np.eye(len(y)) + cov * w)[1]


@pytest.mark.parametrize("n, k", [(30, 2), (29, 4), (5, 1), (2, 1)])
def test_the_marginal_likelihood_is_the_plain_formulas(n, k):
    theta, x, y = posed(n, k)
    np.testing.assert_allclose(gp_log_marginal(theta, x, y), [naive(t, x, y) for t in theta], rtol=1e-9)


def test_chances_are_scikit_learns():
    """Which integrates the logistic function by five error functions; here it is MacKay's formula, as good as that."""
    theta, x, y = posed()
    points = 2 * np.random.default_rng(1).standard_normal((40, 2))
    for t in theta:
        kernel = ConstantKernel(np.exp(2 * t[-1])) * RBF(np.exp(t[:-1]))
        expected = GaussianProcessClassifier(kernel, optimizer=None).fit(x, y).predict_proba(points)[:, 1]
        found = gp_class_chances(t[None], x, y, points)[0]
        np.testing.assert_allclose(found, expected, atol=0.015)
        clear = np.abs(expected - 0.5) > 0.005
        assert clear.any() and np.array_equal((found > 0.5)[clear], (expected > 0.5)[clear])


def test_the_extremes_of_theta_are_finite_and_nan_has_no_density():
    _, x, y = posed()
    corners = np.array([[a, b, c] for a in (-1e3, 40.0) for b in (-50.0, 1e6) for c in (-np.inf, 0.0, 25.0)])
    found = gp_log_marginal(corners, x, y)
    assert np.isfinite(found).all() and (found < 0).all()
    independent = len(y) * np.log(0.5)  # without a latent function, each class is a fair coin
    assert gp_log_marginal(np.array([[0.0, 0.0, -REACH]]), x, y)[0] == pytest.approx(independent, rel=1e-9)
    assert gp_log_marginal(np.array([[0.0, np.nan, 0.0]]), x, y)[0] == -np.inf


def test_the_bits_do_not_hang_on_company():
    theta, x, y = posed(m=16)
    alone = np.concatenate([gp_log_marginal(t[None], x, y) for t in theta])
    assert np.array_equal(alone, gp_log_marginal(theta, x, y))
