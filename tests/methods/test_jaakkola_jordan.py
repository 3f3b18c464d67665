"""Variational inference with a quadratic bound: the bound itself, its optimum found another way, and what it loses."""

import numpy as np
import pytest
from scipy.optimize import minimize

from pmdviz.targets import make_target
from pmdviz.targets.logistic import bound_slope
from tests.support.engine import advanced

OPTIONS = {"dim": 2, "num_data": 60, "prior_sd": 1.0, "data_seed": 3}
WHOLE_STEPS = {"eta": 1e5, "budget": 6000}  # step size 1: the fixed-point iteration of Jaakkola and Jordan


def run(**parts):
    return advanced("jaakkola_jordan", target="logistic", **{"options": OPTIONS, "budget": 30_000, **parts}).frame


def log_sigmoid(z):
    return -np.logaddexp(0, -z)


def test_it_bounds_the_log_likelihood_and_touches_it():
    z, xi = np.linspace(-9, 9, 61), np.array([1e-9, 0.3, 2.0, 7.0])[:, None]
    bound = log_sigmoid(xi) + (z - xi) / 2 - bound_slope(xi) * (z**2 - xi**2) / 2
    assert (bound <= log_sigmoid(z) + 1e-12).all()
    touched = log_sigmoid(xi) + (xi - xi) / 2
    np.testing.assert_allclose(touched, log_sigmoid(xi))
    # Second derivative of the bound where it touches at 0: that of the log likelihood, -1/4.
    assert bound_slope(np.zeros(1))[0] == pytest.approx(0.25)


def bounded_elbo(mean, factor, xi, rows):
    """E_q of the bound's log joint plus the entropy of q, up to a constant, term by term; the prior is N(0, I)."""
    x, y = rows[:, :-1], rows[:, -1]
    second = factor @ factor.T + np.outer(mean, mean)
    total = -0.5 * np.trace(second) + np.log(np.abs(np.diag(factor))).sum()
    for k in range(len(rows)):
        curvature = np.tanh(xi[k] / 2) / (4 * xi[k])
        total += log_sigmoid(xi[k]) + (y[k] - 0.5) * (x[k] @ mean) - xi[k] / 2
        total -= curvature * (x[k] @ second @ x[k] - xi[k] ** 2)
    return total


def test_its_end_is_the_optimum_of_the_bound_found_by_bfgs():
    """Over mean, factor and the logarithm of every xi at once, by differences: no formula of the method is used."""
    options = {**OPTIONS, "num_data": 20}
    found = run(options=options, batch_size=20, **WHOLE_STEPS).density
    rows = make_target("logistic", **options).data

    def loss(flat):
        factor = np.array([[np.exp(flat[2]), 0.0], [flat[3], np.exp(flat[4])]])
        return -bounded_elbo(flat[:2], factor, np.exp(flat[5:]), rows)

    best = minimize(loss, np.zeros(5 + len(rows)), method="BFGS", options={"gtol": 1e-7}).x
    factor = np.array([[np.exp(best[2]), 0.0], [best[3], np.exp(best[4])]])
    np.testing.assert_allclose(found.mean, best[:2], atol=2e-5)
    np.testing.assert_allclose(found.cov, factor @ factor.T, atol=2e-5)


def test_batches_lead_to_where_all_data_lead():
    """To within the noise of the last batches: falling steps average them."""
    whole = run(batch_size=60, **WHOLE_STEPS).density
    by_batches = run(batch_size=10).density
    np.testing.assert_allclose(by_batches.mean, whole.mean, atol=5e-3)
    np.testing.assert_allclose(by_batches.cov, whole.cov, atol=5e-3)
