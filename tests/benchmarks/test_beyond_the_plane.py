"""What the bench measures with: the exact posterior has no errors, and a moved or stretched one has those it must."""

import numpy as np
import pytest

from benchmarks.beyond_the_plane import SETTINGS, summed, told
from benchmarks.helpers.regressions import errors, linear, two_modes, weight_of_mode
from pmdviz.densities.density import KernelDensity
from pmdviz.engine.recipe.recipe import Recipe


def gaussian(mean, covariance):
    return KernelDensity(mean[None], np.zeros(1), np.linalg.cholesky(covariance))


@pytest.mark.parametrize("d", [2, 7])
def test_the_exact_posterior_has_no_errors(d):
    made = linear(d, 0, num_data=50)
    found = errors(gaussian(made.mean, made.covariance), made)
    assert found["error_of_mean"] == 0 and found["sd_ratio"] == pytest.approx(1) and abs(found["kl"]) < 1e-9


def test_a_moved_and_stretched_one_has_the_errors_that_it_must_have():
    made = linear(3, 0, num_data=50)
    moved = made.mean + 0.5 * np.sqrt(np.diag(made.covariance))
    found = errors(gaussian(moved, 4 * made.covariance), made)
    shift = moved - made.mean
    kl = 0.5 * (3 / 4 + shift @ np.linalg.solve(4 * made.covariance, shift) - 3 + 3 * np.log(4))
    assert found["error_of_mean"] == pytest.approx(0.5) and found["sd_ratio"] == pytest.approx(2)
    assert found["kl"] == pytest.approx(kl, rel=0.05)


def test_the_closed_form_is_the_target_s_posterior():
    """The gradient of log joint vanishes at the mean, and its curvature is the inverse covariance."""
    made, h = linear(3, 1, num_data=40), 1e-3
    steps = h * np.eye(3)
    at = lambda theta: made.target.log_joint(np.atleast_2d(theta))  # noqa: E731
    centre = at(made.mean)[0]
    up, down = at(made.mean + steps), at(made.mean - steps)
    np.testing.assert_allclose((up - down) / (2 * h), 0, atol=1e-6)
    np.testing.assert_allclose((2 * centre - up - down) / h**2, np.diag(np.linalg.inv(made.covariance)), rtol=1e-4)


def test_both_signs_are_equally_likely():
    made = two_modes(4, 0, num_data=30)
    theta = np.random.default_rng(0).standard_normal((5, 4))
    np.testing.assert_allclose(made.target.log_joint(theta), made.target.log_joint(-theta))
    assert weight_of_mode(np.array([made.w, -made.w]), np.array([0.7, 0.3]), made) == pytest.approx(0.7)


def test_the_rates_of_caveats():
    ends = [
        ("so", "tv", 0.4),
        ("", "error_of_mean", 1.5),
        ("", "tv", 0.2),
        ("so", "tv", 0.1),
        ("", "error_of_mean", 0.1),
    ]
    expected = {"failed": 2, "failed_with_caveat": 1, "well": 2, "well_with_caveat": 1}
    assert told(ends) == expected
    both = {**expected, "failed": 3, "failed_with_caveat": 2, "rate_failed": 0.667, "rate_well": 0.5}
    assert summed([told(ends), told(ends[:1])]) == both
    assert summed([told(ends[:1])])["rate_well"] is None


def test_the_settings_are_knobs():
    for knobs in SETTINGS.values():
        assert Recipe(**knobs).knobs["step_limit"] == knobs["step_limit"]
