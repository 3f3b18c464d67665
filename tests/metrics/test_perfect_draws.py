"""The floor: independent draws at their best width, with a standard error, computed once."""

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
from tests.support.tables import looped
from tests.targets.test_custom import custom, sample_prior


@looped("rule, options", [("local", {}), ("shaped", {"num_data": 400, "sigma_x": 1.5})])
def test_other_draws_agree_within_their_error(rule, options):
    """The mean over draws of another generator, at the width that was found best; a shaped one has none to search."""
    target, weights, tvs = make_target("mixture", **options), np.full(300, 1 / 300), []
    found = floor(target, 300, rule=rule)
    for seed in range(16):
        draws = target.exact.sample(np.random.default_rng([99, seed]), 300)
        if rule == "shaped":
            q = shaped_density(draws, np.log(weights), chosen_shape(draws, weights), 1.0, target.scale)
        else:
            q = KernelDensity(draws, np.log(weights), local(draws, weights, found.tv_factor, target.scale))
        tvs.append(compare(picture(q, target.exact, target.view_box))["tv"])
    assert abs(np.mean(tvs) - found.tv) < 4.5 * np.hypot(found.tv_se, np.std(tvs, ddof=1) / 4)
    assert found.tv_se == pytest.approx(np.std(tvs, ddof=1) / 4, rel=0.8)
    if rule == "shaped":
        assert found.tv_factor == found.kl_factor == 1.0
        assert known_floor(target, 300, "shaped") is found and known_floor(target, 300) is None
        session = Session(Recipe("mixture", target_options=options, num_particles=300, budget=100, bandwidth_rule=rule))
        assert session.advance().metrics["floor_tv"] == found.tv
        assert session.set(bandwidth_rule="local").metrics["floor_tv"] is None


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
    assert floor(custom(dim=3, sample_prior=lambda rng, m: sample_prior(rng, m, 3)), 10) is None, "no exact posterior"
    assert known_floor(target, 32) is None and known_floor(make_target("bimodal1d", data_seed=78), 31) is None


def test_frames_show_it_once_it_is_known_and_none_before():
    session = Session(Recipe("gaussian", target_options={"data_seed": 123}, num_particles=21, budget=50))
    frame = session.advance()
    assert frame.metrics["floor_tv"] is None and frame.metrics["floor_kl"] is None
    found = floor(session.target, 21, rule=frame.floor_rule)
    assert (frame.metrics["floor_tv"], frame.metrics["floor_kl"]) == (found.tv, found.kl)
