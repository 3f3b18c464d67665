import numpy as np
import pytest

import pmdviz
from pmdviz.errors import InputError

OPTIONS = {"num_data": 8, "dim": 2}


def test_means_of_polynomials_under_a_gaussian_have_no_error():
    """Of degree 1 for coordinates, 2 for their products; a plain mean is off by its standard error."""
    target = pmdviz.target("gaussian", **OPTIONS)
    mean, cov = target.exact.mean, target.exact.cov
    points = target.exact.sample(np.random.default_rng(0), 40)
    first = pmdviz.stein_mean(target, points, lambda x: x, degree=1)
    np.testing.assert_allclose(first.value, mean, atol=1e-10)
    second = pmdviz.stein_mean(target, points, lambda x: np.stack([x[:, 0] ** 2, x[:, 0] * x[:, 1]], axis=1))
    np.testing.assert_allclose(second.value, [cov[0, 0] + mean[0] ** 2, cov[0, 1] + mean[0] * mean[1]], atol=1e-10)
    assert first.standard_error.max() < 1e-10 < np.abs(first.plain - mean).min()
    np.testing.assert_allclose(first.plain_error, points.std(axis=0) / np.sqrt(40))


def test_what_cannot_be_estimated_is_refused():
    points = np.zeros((11, 2))
    for target, sample, function, degree, words in (
        ("ising", np.ones((50, 25)), lambda x: x, 2, "gradient"),
        ("gaussian", points, lambda x: x, 2, "6 control variates of degree 2 need at least 12 points; given: 11"),
        ("gaussian", points, lambda x: x, 3, "degree must be 1 or 2"),
        ("gaussian", points, lambda x: x[0], 1, "must give"),
        ("gaussian", points, lambda x: x[:, 0] / 0, 1, "must give"),
    ):
        with pytest.raises(InputError, match=words), np.errstate(all="ignore"):
            pmdviz.stein_mean(target, sample, function, degree)
