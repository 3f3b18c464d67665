"""Several chains in lock step: each is a chain like one alone, and their draws and costs are pooled."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS, usual_target
from pmdviz.methods.mcmc.chain import judged_draws_of, states_of
from pmdviz.targets import make_target
from tests.support.chains import run_chain
from tests.support.engine import digest, drive, errors_from

CHAINS = [name for name, one in METHODS.items() if one.family == "chain" and usual_target(name) == "mixture"]


@pytest.mark.parametrize("method", CHAINS)
def test_each_chain_of_a_pool_steps_as_one_alone(method):
    """On its share of the rows, or all of them, with the numbers that come next from the stream."""
    target, way = make_target("mixture", num_data=24), METHODS[method]
    knobs = way.Knobs.checked({"num_chains": 3, **({"batch_size": 4} if "batch_size" in way.Knobs.specs() else {})})
    streams = [np.random.default_rng(5) for _ in range(2)]
    pool, alone = way.init(streams[0], target, knobs), [way.start(streams[1], target, knobs) for _ in range(3)]
    for _ in range(6):
        size = way.batch_size(pool, knobs, 24)
        assert size == (12 if "batch_size" in way.Knobs.specs() else 24)
        batch = target.data[:size]
        pool, info = way.step(streams[0], pool, target, batch, knobs)
        rows = [batch] * 3 if size == 24 else [batch[:4], batch[4:8], batch[8:]]
        moved = [way.move(streams[1], *each, knobs) for each in zip(alone, [target] * 3, rows, strict=True)]
        alone = [state for state, _ in moved]
        for one, other in zip(pool.chains, alone, strict=True):
            assert np.array_equal(one.newer, other.newer)
        for name in ("visited", "density_evaluations", "gradient_evaluations"):
            assert getattr(info, name) == sum(getattr(each, name) for _, each in moved)
        assert all(len(term) == 3 for term in info.terms.values()) and info.words.startswith("3 chains")


@pytest.mark.parametrize("method", CHAINS)
def test_the_judged_draws_of_all_are_pooled(method):
    frame = run_chain(method, 20, num_chains=4, burn_in=0.5, thinning=2).frame
    each = [judged_draws_of(chain, frame.knobs) for chain in frame.state.chains]
    assert [len(draws) for draws in each] == [5] * 4
    assert np.array_equal(frame.particles, np.concatenate(each))
    assert len(np.unique(frame.particles[:, 0])) > 4 and frame.iteration == frame.state.iteration == 20
    assert frame.num_bytes >= sum(chain.newer.nbytes for chain in frame.state.chains) + 8192


@pytest.mark.parametrize("method", CHAINS)
def test_a_pool_replays_bit_for_bit_however_it_is_driven(method):
    recipe = Recipe("mixture", method, target_options={"num_data": 60}, num_chains=3, budget=9_000)
    at_once, in_sevens, again = (Session(made, metrics_every=20) for made in (recipe, recipe, recipe.replaced()))
    drive(at_once, 10**6), drive(in_sevens, 7), drive(again, 1)
    assert digest(at_once) == digest(again)
    assert np.array_equal(at_once.frame.particles, in_sevens.frame.particles)
    assert Recipe.from_link(recipe.to_link()) == recipe
    in_sevens.seek(11)
    assert not drive(in_sevens) and np.array_equal(at_once.frame.particles, in_sevens.frame.particles)


def test_a_pool_is_built_at_a_restart():
    session = run_chain("gibbs", 5)
    session.set(num_chains=2)
    assert len(session.advance().particles) == 5 and len(session.frame.state.newer) == 7
    session.restart()
    assert len(session.advance(5).state.chains) == 2


@pytest.mark.parametrize("method", ["gibbs", "mala", "hmc"])
def test_a_pool_of_chains_has_the_moments_of_one(method):
    """Each from a draw of the prior: several short chains on a posterior with one mode."""
    means = []
    for seed in range(20):
        session = run_chain(method, 150, seed=seed, num_chains=4, burn_in=0.5)
        means.append(session.frame.particles.mean(axis=0))
    exact = session.target.exact
    assert (np.abs([errors_from(np.array(means)[:, k], exact.mean[k]) for k in range(2)]) < 4).all()


def test_pooled_chains_find_both_modes_where_one_cannot():
    options = {"num_data": 400, "sigma_x": 1.5}
    tvs = {
        count: np.mean([run_chain("gibbs", 100, "mixture", options, seed, num_chains=count).frame.metrics["tv"]
                        for seed in range(3)])
        for count in (1, 8)
    }  # fmt: skip
    assert tvs[8] < tvs[1] - 0.1


@pytest.mark.parametrize("method", CHAINS)
def test_a_default_budget_is_enough_for_each_chain_s_burn_in(method):
    usual = Recipe(method=method, burn_in=1000)
    pool = Recipe(method=method, burn_in=1000, num_chains=4)
    if usual.budget > 20_000:
        assert pool.budget == pytest.approx(usual.budget * 4400 / 1400, rel=0.06)
    assert Recipe(method=method, num_chains=4).budget == Recipe(method=method).budget, "of a share nothing is lost"


@pytest.mark.parametrize("method", [name for name, one in METHODS.items() if one.family == "chain"])
def test_another_number_of_chains_acts_only_at_the_restart(method):
    rows = {"batch_size": 1} if "batch_size" in METHODS[method].Knobs.specs() else {}
    session = Session(Recipe(usual_target(method), method, num_chains=2, **rows))
    session.advance(1)
    session.set(num_chains=1)
    session.advance(1)
    assert len(states_of(session.frame.state)) == 2 and session.frame.iteration == 2
