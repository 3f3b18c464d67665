import numpy as np
from scipy.stats import norm

from pmdviz.kernels.gibbs import mixture_sweep
from tests.support.tables import looped


def naive(theta, x, sigma_x, p, prior_sd, uniforms, normals):
    one, two = p * norm.pdf(x, theta[0], sigma_x), (1 - p) * norm.pdf(x, theta.sum(), sigma_x)
    second = (uniforms >= one / (one + two)).astype(float)
    design = np.stack([np.ones_like(x), second], axis=1)
    precision = design.T @ design / sigma_x**2 + np.eye(2) / prior_sd**2
    mean = np.linalg.solve(precision, design.T @ x / sigma_x**2)
    return mean + np.linalg.solve(np.linalg.cholesky(precision).T, normals)


@looped("num", [1, 2, 7, 400])
@looped("p", [0.02, 0.5, 0.9])
@looped("sigma_x, prior_sd", [(0.5, 1.0), (2.5, 0.3)])
def test_against_a_regression_on_the_labels(num, p, sigma_x, prior_sd, rng):
    x, theta = rng.normal(0, 2, num), rng.normal(size=2)
    arguments = (theta, x, sigma_x, p, prior_sd, rng.random(num), rng.normal(size=2))
    np.testing.assert_allclose(mixture_sweep(*arguments), naive(*arguments), rtol=1e-10)


def test_far_components_give_labels_that_are_certain(rng):
    x = np.array([-500.0, 500.0, -499.0])
    theta = mixture_sweep(np.array([-500.0, 1000.0]), x, 1.0, 0.5, 1e4, rng.random(3), np.zeros(2))
    np.testing.assert_allclose(theta, [-499.5, 999.5], rtol=1e-6)
