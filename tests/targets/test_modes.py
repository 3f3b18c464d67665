"""Where posteriors have their mass: every mode is found from draws of the prior, with the covariance there."""

import numpy as np
import pytest

import pmdviz
from pmdviz.targets import make_target
from pmdviz.targets import modes as searched


def test_all_modes_are_found_with_their_covariances():
    for name, num in (("mixture", 2), ("bimodal1d", 2), ("gaussian", 1), ("linear", 1)):
        target = make_target(name)
        found = target.modes
        k = len(found.particles) // 2
        assert k == num, name
        for mean, factor, wider in zip(found.particles[:k], found.choleskys[:k], found.choleskys[k:], strict=True):
            slope = target.grad_log_joint(mean[None])[0]
            assert (np.abs(factor.T @ slope) < 0.3).all(), (name, "sds away from the mode")
            np.testing.assert_allclose(wider, 2 * factor)
        np.testing.assert_allclose(found.weights.sum(), 1.0)
    exact = make_target("linear").exact
    np.testing.assert_allclose(make_target("linear").modes.particles[0], exact.mean, rtol=1e-6)
    covariance = make_target("linear").modes.choleskys[0]
    np.testing.assert_allclose(covariance @ covariance.T, exact.cov, rtol=1e-4, atol=1e-12)


def test_a_funnel_is_found_by_its_mass_and_not_at_its_mode():
    """log_tau ~ N(0, 3^2), nine others N(0, tau^2): no highest point, the mass is around log_tau = 0."""
    found = make_target("funnel").modes
    k = len(found.particles) // 2
    heaviest = found.particles[np.argmax(found.weights[:k])]
    assert np.abs(heaviest[0]) < 6 and np.abs(found.particles[:k, 0]).min() < 3, heaviest


def test_the_search_ends_where_it_would_cost_too_much_or_has_no_gradient(monkeypatch):
    for name in ("song_years", "ising"):
        assert make_target(name).modes is None, name
    asked = []
    target = make_target("logistic")
    gradient = target.grad_log_joint
    target.grad_log_joint = lambda theta: (asked.append(len(theta) * target.num_data), gradient(theta))[1]
    monkeypatch.setattr(searched, "MOST_COST", 1e6)
    assert target.modes is not None and sum(asked) <= 1e6
    monkeypatch.setattr(searched, "MOST_COST", 1e4)
    assert searched.find_modes(target) is None


@pytest.mark.parametrize("low", [0.0, -2.0])
def test_bounds_of_a_prior_are_kept(low):
    """An exponential density on a half-line has its highest value at the edge, where no slope vanishes."""
    target = pmdviz.custom_target(
        log_prior=lambda theta: np.where(theta[:, 0] > low, low - theta[:, 0], -np.inf),
        log_likelihood=lambda theta, batch: -0.5 * ((theta - 1.0) ** 2).sum(axis=1) * len(batch),
        sample_prior=lambda rng, n: low + rng.exponential(size=(n, 1)),
        dim=1,
        name="bounded",
        data=np.zeros((9, 1)),
        grad_log_prior=lambda theta: np.full_like(theta, -1.0),
        grad_log_likelihood=lambda theta, batch: (1.0 - theta) * len(batch),
    )
    assert target.modes.particles[0] == pytest.approx(1 - 1 / 9, abs=1e-6)
