"""The floor: independent draws at their best width, with a standard error, computed once."""

import numpy as np
import pytest

from pmdviz.densities.bandwidth import local
from pmdviz.densities.density import KernelDensity
from pmdviz.densities.shaped import chosen_shape, shaped_density
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels.resampling import thinned
from pmdviz.metrics import perfect_draws
from pmdviz.metrics.divergences import compare, picture
from pmdviz.metrics.perfect_draws import floor, known_floor
from pmdviz.targets import make_target
from tests.support.tables import looped
from tests.targets.test_custom import custom, sample_prior

SEPARATE = {"num_data": 400, "sigma_x": 1.5}


@looped("rule, options, each", [("local", {}, 1), ("shaped", SEPARATE, 1), ("shaped", SEPARATE, 16), ("local", {}, 16)])
def test_other_draws_agree_within_their_error(rule, options, each):
    """The mean over draws of another generator, at the width that was found best; a shaped one has none to search."""
    target, weights, tvs = make_target("mixture", **options), np.full(300, 1 / 300), []
    found = floor(target, 300, rule=rule, each=each)
    for seed in range(16):
        rng = np.random.default_rng([99, seed])
        draws = target.exact.sample(rng, 300 * each)
        draws = draws[thinned(draws, 300, rng.random(300))]  # of one candidate each: all of them
        if rule == "shaped":
            q = shaped_density(draws, np.log(weights), chosen_shape(draws, weights, each), 1.0, target.scale)
        else:
            q = KernelDensity(draws, np.log(weights), local(draws, weights, found.tv_factor, target.scale))
        tvs.append(compare(picture(q, target.exact, target.view_box))["tv"])
    assert abs(np.mean(tvs) - found.tv) < 4.5 * np.hypot(found.tv_se, np.std(tvs, ddof=1) / 4)
    assert found.tv_se == pytest.approx(np.std(tvs, ddof=1) / 4, rel=0.8)
    if rule == "shaped":
        assert found.tv_factor == found.kl_factor == 1.0
        assert known_floor(target, 300, "shaped", each) is found and known_floor(target, 300, "shaped", 7) is None
        way = {"bandwidth_rule": rule, "draws": "balanced" if each == 16 else "independent"}
        session = Session(Recipe("mixture", target_options=options, num_particles=300, budget=100, **way))
        assert session.advance().metrics["floor_tv"] == found.tv
        assert session.set(bandwidth_rule="isotropic").drawn_as == {"rule": "local", "each": each}


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
    found = floor(session.target, 21, **frame.drawn_as)
    assert (frame.metrics["floor_tv"], frame.metrics["floor_kl"]) == (found.tv, found.kl)
