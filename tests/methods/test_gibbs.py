"""Gibbs sampling against exact posteriors, and what it cannot do."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.targets import TARGETS, make_target
from tests.support.chains import all_draws, mode_mass, moment_errors, run_chain
from tests.support.engine import sized_targets
from tests.support.tables import looped


def test_on_the_conjugate_gaussian_every_draw_is_independent_and_exact():
    assert (np.abs(moment_errors("gibbs", 500, skip=0)) < 4).all()
    draws = all_draws(run_chain("gibbs", 4000))[:, 0]
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 4 / np.sqrt(4000)


@looped("name", [name for name, made in TARGETS.items() if "conditionals" not in made.declared])
def test_a_target_without_conditionals_says_so(name):
    words = f"method 'gibbs' needs exact conditionals .a Gibbs sweep., which target {name!r} does not offer"
    with pytest.raises(InputError, match=words):
        Recipe(name, "gibbs")
    target = make_target(name)
    with pytest.raises(InputError, match="has no exact conditionals"):
        target.gibbs_sweep(np.random.default_rng(0), np.zeros(target.dim), target.data_rows)


@looped("name", lambda: sized_targets("conditionals"))
def test_a_sweep_hangs_on_the_data_that_it_is_given(name):
    target, theta = make_target(name), np.full(make_target(name).dim, 0.1)
    one, same, other = (
        target.gibbs_sweep(np.random.default_rng(3), theta, rows)
        for rows in (target.data, target.data.copy(), target.data + 1.0)
    )
    assert np.array_equal(one, same) and (one != other).all()


@pytest.mark.nightly
@pytest.mark.parametrize("data_seed", range(3))
def test_every_run_on_the_mixture_sits_in_one_mode(data_seed):
    options = {"num_data": 400, "sigma_x": 1.5, "data_seed": data_seed}
    masses = [mode_mass(run_chain("gibbs", 1550, "mixture", options, seed=seed)) for seed in range(8)]
    assert max(min(mass, 1 - mass) for mass in masses) < 0.02
    assert len({round(mass) for mass in masses}) == 2, "which mode it is hangs on the run"
