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


def test_the_mean_square_error_is_far_below_that_of_a_plain_mean():
    """cos under N(0, 1), whose mean is exp(-1/2); the standard errors are those of the estimates; weights count."""
    target, truth = pmdviz.target("correlated_gaussian", dim=1, q0_sd=1.0), np.exp(-0.5)
    found = [
        pmdviz.stein_mean(target, target.exact.sample(np.random.default_rng(seed), 100), lambda x: np.cos(x[:, 0]))
        for seed in range(200)
    ]
    value, error, plain, plain_error = (np.array([each[k][0] for each in found]) for k in range(4))
    mse, plain_mse = ((each - truth) ** 2 for each in (value, plain))
    assert mse.mean() < 0.15 * plain_mse.mean()
    for squares, told in ((mse, error), (plain_mse, plain_error)):
        assert 0.7 < squares.mean() / (told**2).mean() < 1.5
    run = pmdviz.run(target="gaussian", target_options=OPTIONS, method="importance", num_particles=400, floor=False)
    weighed = pmdviz.stein_mean(run.target, run, lambda x: x)
    np.testing.assert_allclose(weighed.value, run.target.exact.mean, atol=1e-9)
    np.testing.assert_allclose(weighed.plain, run.mean(), rtol=1e-9)


def test_what_cannot_be_estimated_is_refused():
    points = np.zeros((11, 2))
    for target, sample, function, degree, words in (
        ("ising", np.ones((50, 25)), lambda x: x, 2, "gradient"),
        ("gaussian", points, lambda x: x, 2, "6 control variates of degree 2 need at least 12 points; got 11"),
        ("gaussian", points, lambda x: x, 3, "degree must be 1 or 2"),
        ("gaussian", points, lambda x: x[0], 1, "must give"),
        ("gaussian", points, lambda x: x[:, 0] / 0, 1, "must give"),
    ):
        with pytest.raises(InputError, match=words), np.errstate(all="ignore"):
            pmdviz.stein_mean(target, sample, function, degree)
