import numpy as np
import pytest
from scipy.stats import linregress

from pmdviz import InputError
from pmdviz.experiments.sweep.fits import fitted


def test_slope_and_standard_error_are_those_of_scipy():
    rng = np.random.default_rng(0)
    x = np.repeat([64, 256, 1024, 4096], 10)
    y = 3 * x**-0.5 * np.exp(0.3 * rng.standard_normal(len(x)))
    fit, theirs = fitted(x, y), linregress(np.log(x), np.log(y))
    assert fit.slope == pytest.approx(theirs.slope, rel=1e-12)
    assert fit.standard_error == pytest.approx(theirs.stderr, rel=1e-12)
    assert fit.intercept == pytest.approx(theirs.intercept, rel=1e-12)
    assert (fit.num_points, fit.left_out) == (40, 0)
    assert fit.at(100) == pytest.approx(np.exp(theirs.intercept) * 100**theirs.slope)


def test_points_without_a_logarithm_are_counted():
    fit = fitted([1, 2, 4, 8, 16, 0], [1, 0.5, 0.25, np.nan, 0.0, 1])
    assert fit.slope == pytest.approx(-1)
    assert (fit.num_points, fit.left_out) == (3, 3)


def test_a_slope_needs_points():
    for x, y in [([1, 2], [1, 2]), ([5, 5, 5], [1, 2, 3]), ([], []), ([1, 2, 3], [0, 0, 0])]:
        with pytest.raises(InputError, match="three points"):
            fitted(x, y)


def test_the_slope_of_its_standard_error():
    """Over many noisy laws the slope is off by one standard error on average."""
    rng, x = np.random.default_rng(1), np.repeat([1.0, 2.0, 4.0, 8.0], 5)
    fits = [fitted(x, x**-0.5 * np.exp(rng.standard_normal(len(x)))) for _ in range(400)]
    away = [(fit.slope + 0.5) / fit.standard_error for fit in fits]
    assert np.std(away) == pytest.approx(np.sqrt(18 / 16), abs=0.15)  # t with 18 degrees of freedom
