"""How the bench measures and sums up, and that its methods go as far as they say; no figure is judged."""

import numpy as np
import pytest

from pmdviz.bench.dimension import DRAWS, ENTRANTS, VISITED, distances, figures_of, pooled
from pmdviz.bench.regressions import errors, linear
from pmdviz.densities import KernelDensity


def gaussian(mean, covariance):
    return KernelDensity(mean[None], np.zeros(1), np.linalg.cholesky(covariance))


def test_the_exact_moments_are_no_distance_away():
    made = linear(4, 0, num_data=50)
    found = distances(made.mean, made.covariance, made)
    assert found["error_of_mean"] == 0 and found["kl"] == pytest.approx(0, abs=1e-12)
    assert [found[name] for name in ("sd_ratio", "sd_ratio_least", "sd_ratio_largest")] == pytest.approx([1, 1, 1])


def test_distances_are_those_found_by_draws_from_the_exact_posterior():
    """Of a Gaussian q the closed form and `regressions.errors`, which draws, must agree."""
    made, stretch = linear(3, 0, num_data=50), np.array([0.5, 1.0, 2.0])
    moved = made.mean + np.array([0.3, -0.4, 0.0]) * np.sqrt(np.diag(made.covariance))
    covariance = made.covariance * np.outer(stretch, stretch)
    found, drawn = distances(moved, covariance, made), errors(gaussian(moved, covariance), made)
    assert found["error_of_mean"] == pytest.approx(np.sqrt(0.25 / 3)) == pytest.approx(drawn["error_of_mean"])
    assert found["sd_ratio_least"] == pytest.approx(0.5) and found["sd_ratio_largest"] == pytest.approx(2)
    assert found["sd_ratio"] == pytest.approx(1)
    assert found["kl"] == pytest.approx(drawn["kl"], rel=0.1)


def test_runs_are_pooled_by_median_and_range_and_caveats_are_counted():
    runs = [{"kl": kl, "caveat": caveat} for kl, caveat in ((1.0, ""), (9.0, "so"), (2.0004, "so"))]
    assert pooled(runs) == {"runs": 3, "kl": [2.0, 1.0, 9.0], "caveats": 2}


@pytest.mark.parametrize("name", ["SVI", "one-pass SMC", "HMC"])
def test_methods_go_as_far_as_they_say(name):
    made = linear(2, 0)
    found = figures_of(ENTRANTS[name], made, 0)
    assert found["error_of_mean"] < 1 and 0.5 < found["sd_ratio"] < 2 and found["caveat"] == ""
    if name == "HMC":
        assert found["visited"] > DRAWS * made.target.num_data
    else:
        assert found["visited"] == {"SVI": VISITED, "one-pass SMC": made.target.num_data}[name]


def test_the_gradient_of_the_regression_is_that_of_its_log_joint():
    made, h = linear(3, 1, num_data=40), 1e-5
    theta = np.random.default_rng(0).standard_normal((1, 3))
    up, down = (made.target.log_joint(theta + sign * h * np.eye(3)) for sign in (1, -1))
    np.testing.assert_allclose((up - down) / (2 * h), made.target.grad_log_joint(theta)[0], rtol=1e-6)
