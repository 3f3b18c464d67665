"""The kernel of Gaussian mixtures against SciPy, finite differences and its own plain Python."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from pmdviz.kernels.likelihoods import gaussian_mixture as kernels
from pmdviz.kernels.likelihoods.gaussian_mixture import (
    gaussian_mixture_grad_log_density,
    gaussian_mixture_log_density,
)


def case(d, k=4, m=300, seed=0):
    """Points in several blocks, means, log weights, variance."""
    rng = np.random.default_rng(seed)
    return 3 * rng.standard_normal((m, d)), rng.standard_normal((k, d)), np.log(rng.dirichlet(np.ones(k))), 0.7


@pytest.mark.parametrize("d, k", [(1, 1), (2, 4), (25, 10)])
def test_the_density_is_scipys(d, k):
    x, means, log_weights, v = case(d, k)
    terms = [
        w + stats.multivariate_normal(mean, v * np.eye(d)).logpdf(x) for w, mean in zip(log_weights, means, strict=True)
    ]
    expected = logsumexp(terms, axis=0)
    np.testing.assert_allclose(gaussian_mixture_log_density(x, means, log_weights, v), expected, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 3])
def test_the_gradient_is_that_of_the_density(d):
    x, means, log_weights, v = case(d)
    step = 1e-5
    for a, e in enumerate(step * np.eye(d)):
        ends = [gaussian_mixture_log_density(x + sign * e, means, log_weights, v) for sign in (1, -1)]
        found = gaussian_mixture_grad_log_density(x, means, log_weights, v)[:, a]
        np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * step), atol=1e-7)


def test_far_from_every_component_both_are_finite():
    x = np.array([[1e6, 0.0]])
    means, log_weights = np.array([[0.0, 0.0], [1.0, 0.0]]), np.log([0.5, 0.5])
    assert gaussian_mixture_log_density(x, means, log_weights, 1.0) == pytest.approx(-0.5 * (1e6 - 1) ** 2, rel=1e-6)
    np.testing.assert_allclose(gaussian_mixture_grad_log_density(x, means, log_weights, 1.0), [[1 - 1e6, 0.0]])
    assert not np.isfinite(gaussian_mixture_log_density(np.array([[np.inf, 0.0]]), means, log_weights, 1.0))


@pytest.mark.parametrize("kernel", ["_log_density", "_gradient"])
def test_compiled_and_plain_code_agree(kernel):
    x, means, log_weights, v = case(2, m=5)
    compiled, plain = (np.empty(5 if kernel == "_log_density" else (5, 2)) for _ in range(2))
    function = getattr(kernels, kernel)
    function(x, means, log_weights, v, compiled)
    getattr(function, "py_func", function)(x, means, log_weights, v, plain)
    np.testing.assert_allclose(compiled, plain, rtol=1e-12)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"points": np.zeros((3, 3))}, "points must have shape"),
        ({"means": np.zeros((0, 2)), "log_weights": np.zeros(0)}, "at least one component"),
        ({"log_weights": np.zeros(3)}, r"log_weights must have shape \(4,\)"),
        ({"log_weights": np.array([0.0, -np.inf, 0.0, 0.0])}, "log_weights must be finite"),
        ({"variance": 0.0}, "variance must be finite and above 0"),
    ],
)
def test_what_does_not_fit_is_refused(change, words):
    given = dict(zip(("points", "means", "log_weights", "variance"), case(2), strict=True)) | change
    for function in (gaussian_mixture_log_density, gaussian_mixture_grad_log_density):
        with pytest.raises(ValueError, match=words):
            function(**given)
