"""The floor: exact samples at their best width, with a standard error, computed once."""

import numpy as np
import pytest

from pmdviz.densities.bandwidth import local
from pmdviz.densities.density import KernelDensity
from pmdviz.densities.shaped import shaped_density
from pmdviz.densities.shapes import chosen_shape
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.metrics import perfect_draws
from pmdviz.metrics.divergences import compare, picture
from pmdviz.metrics.perfect_draws import floor, known_floor
from pmdviz.targets import make_target
from tests.targets.test_custom import custom, sample_prior

M = 1500  # the default number of particles


def test_the_default_mixture_has_the_floor_that_was_measured_elsewhere():
    found = floor(make_target("mixture"), M)
    assert 0.083 <= found.tv <= 0.105
    assert 0.02 <= found.kl <= 0.08


def test_other_draws_agree_within_their_error():
    """The mean over draws of another generator, at the width that was found best."""
    target = make_target("mixture")
    found, tvs = floor(target, 300), []
    for seed in range(16):
        draws = target.exact.sample(np.random.default_rng([99, seed]), 300)
        kernel = local(draws, np.full(300, 1 / 300), found.tv_factor, target.scale)
        density = KernelDensity(draws, np.full(300, -np.log(300)), kernel)
        tvs.append(compare(picture(density, target.exact, target.view_box))["tv"])
    error = np.hypot(found.tv_se, np.std(tvs, ddof=1) / 4)
    assert abs(np.mean(tvs) - found.tv) < 4.5 * error
    assert found.tv_se == pytest.approx(np.std(tvs, ddof=1) / 4, rel=0.8)


def test_more_draws_are_nearer():
    target = make_target("bimodal1d")
    found = [floor(target, m) for m in (50, 200, 800)]
    assert found[0].tv > found[1].tv > found[2].tv > 0
    assert found[0].kl > found[1].kl > found[2].kl > 0


def test_it_is_computed_once_for_a_target_and_a_number(monkeypatch):
    target = make_target("bimodal1d", data_seed=77)
    assert known_floor(target, 31) is None
    first = floor(target, 31)
    monkeypatch.setattr(perfect_draws, "_computed", None)
    assert floor(make_target("bimodal1d", data_seed=77), 31) is first
    assert known_floor(target, 31) is first
    assert known_floor(target, 32) is None and known_floor(make_target("bimodal1d", data_seed=78), 31) is None


def test_frames_show_it_once_it_is_known_and_none_before():
    session = Session(Recipe("gaussian", target_options={"data_seed": 123}, num_particles=21, budget=50))
    frame = session.advance()
    assert frame.metrics["floor_tv"] is None and frame.metrics["floor_kl"] is None
    found = floor(session.target, 21, rule=frame.floor_rule)
    assert (frame.metrics["floor_tv"], frame.metrics["floor_kl"]) == (found.tv, found.kl)


def test_without_an_exact_posterior_there_is_none():
    assert floor(custom(dim=3, sample_prior=lambda rng, m: sample_prior(rng, m, 3)), 10) is None


def test_the_shaped_rule_has_a_floor_of_its_own():
    """It has no number to search for; and a frame stands beside the floor of its own rule."""
    target, tvs = make_target("mixture", num_data=400, sigma_x=1.5), []
    found = floor(target, 300, rule="shaped")
    for seed in range(16):
        draws, weights = target.exact.sample(np.random.default_rng([98, seed]), 300), np.full(300, 1 / 300)
        q = shaped_density(draws, np.log(weights), chosen_shape(draws, weights), 1.0, target.scale)
        tvs.append(compare(picture(q, target.exact, target.view_box))["tv"])
    assert abs(np.mean(tvs) - found.tv) < 4.5 * np.hypot(found.tv_se, np.std(tvs, ddof=1) / 4)
    assert found.tv_factor == found.kl_factor == 1.0
    assert known_floor(target, 300, "shaped") is found and known_floor(target, 300) is None
    parts = {"target_options": {"num_data": 400, "sigma_x": 1.5}, "num_particles": 300, "budget": 100}
    session = Session(Recipe("mixture", bandwidth_rule="shaped", **parts))
    assert session.advance().metrics["floor_tv"] == found.tv
    assert session.set(bandwidth_rule="local").metrics["floor_tv"] is None
