"""The optima that SVI and NPV are measured against: where they are known exactly, and their gradients."""

import numpy as np
import pytest

from benchmarks.optima import Optimum, _above, gaussian_optima, mixture_optima, negative_elbo, nodes
from pmdviz.targets import make_target


def test_the_elbos_gradient_is_that_of_differences():
    target, (points, weights) = make_target("mixture", num_data=40, sigma_x=1.5), nodes()
    flat = np.array([0.4, -0.9, np.log(0.3), np.log(0.5), -0.2])
    _, gradient = negative_elbo(flat, target, points, weights)
    for k, step in enumerate(1e-5 * np.eye(5)):
        ahead, behind = (negative_elbo(flat + s, target, points, weights)[0] for s in (step, -step))
        assert gradient[k] == pytest.approx((ahead - behind) / 2e-5, rel=1e-5, abs=1e-5)


def test_on_a_gaussian_posterior_the_gaussian_optimum_is_the_posterior():
    target = make_target("gaussian", num_data=30)
    for optimum in gaussian_optima(target, 2):
        np.testing.assert_allclose(optimum.density.mean, target.exact.mean, atol=1e-5)
        np.testing.assert_allclose(optimum.density.cov, target.exact.cov, atol=1e-5)
        assert optimum.tv < 1e-3


def test_of_several_climbs_the_best_comes_first():
    optima = mixture_optima(make_target("mixture", num_data=60, sigma_x=1.5), 2)
    assert optima[0].elbo >= optima[1].elbo and all(0 < optimum.tv < 1 for optimum in optima)


def test_runs_are_held_against_the_optimum_of_their_side():
    lower, upper = Optimum(2.0, None, 0.4, False), Optimum(1.0, None, 0.6, True)
    found = _above([[(0.41, False), (0.62, True)], [(0.4, False), (0.6, True)]], [[lower, upper]] * 2)
    assert found["tv"] == pytest.approx(0.5075, abs=1e-3)
    assert found["above_the_best_optimum"] == pytest.approx(0.1075, rel=0.01)
    assert found["above_the_optimum_of_its_mode"] == pytest.approx(0.0075, rel=0.01)
    assert found["largest_above_the_optimum_of_its_mode"] == pytest.approx(0.02, rel=0.01)
