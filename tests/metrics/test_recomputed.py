"""Figures computed again in plain NumPy, to ten digits, from the particles, the data and the streams alone."""

import numpy as np
import pytest

import pmdviz
from pmdviz.streams import stream


def ksd_of(points, first, second):
    """The root of the mean over i != j of s.t k + s.grad' k + t.grad k + tr grad grad' k, and of its noise.

    The kernel is k = (1 + |a - b|^2)^(-1/2).
    """
    off = points[:, None] - points
    square = (off**2).sum(axis=2)
    base, (s, t) = 1 + square, (first[:, None], second[None])
    matrix = (s * t).sum(axis=2) * base**-0.5 + (s * off).sum(axis=2) * base**-1.5 - (t * off).sum(axis=2) * base**-1.5
    matrix += points.shape[1] * base**-1.5 - 3 * square * base**-2.5
    pairs = matrix[~np.eye(len(points), dtype=bool)]
    return np.sqrt(max(pairs.mean(), 0.0)), np.sqrt(np.sqrt(2 / len(pairs) * (pairs**2).mean()))


@pytest.mark.parametrize("num_data", [50, 3000])
def test_the_ksd_of_a_run_in_posterior_units(num_data):
    """Log p of linear regression with sigma 1 and prior sd 1; above 2,000 rows by two batches and control variates."""
    options = {"dim": 2, "num_data": num_data}
    final = pmdviz.run(target="linear", target_options=options, method="svi", budget=600).final
    target, exact = final.target, final.target.exact
    x, y = target.data[:, :-1], target.data[:, -1]
    noise, prior = target.options.sigma_y, target.options.prior_sd

    def slope(theta, rows):
        residuals = y[rows] - x[rows] @ theta
        return -theta / prior**2 + num_data / len(rows) * x[rows].T @ residuals / noise**2

    points, everything, unit = final.draws[::2], np.arange(num_data), np.sqrt(np.diag(exact.cov))
    if num_data <= 2000:
        scores = [np.array([slope(theta, everything) for theta in points])] * 2
    else:
        rng, whole = stream("rows"), slope(exact.mean, everything)
        batches = [rng.choice(num_data, 1000, replace=False) for _ in range(2)]
        scores = [
            np.array([slope(theta, rows) - slope(exact.mean, rows) + whole for theta in points]) for rows in batches
        ]
    value, level = ksd_of(points / unit, *(score * unit for score in scores))
    assert final.metrics["ksd"] == pytest.approx(value, rel=1e-10)
    assert final.metrics["ksd_noise"] == pytest.approx(level, rel=1e-10)
