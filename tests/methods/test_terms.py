"""The parts of an update add up to what the step did."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS, usual_target

STEPS = 30


def moved(before, after, terms):
    """How far the particles moved, where the parts have their shape; else the new log-weights, or the chain's way."""
    if all(part.ndim == 2 for part in terms.values()) and hasattr(after, "particles"):
        return after.particles - before.particles
    if hasattr(after, "log_weights"):
        return after.log_weights
    return after.newer[-1:] - (before.newer[-1:] if len(before.newer) else before.older[-1:])


@pytest.mark.parametrize("method", sorted(METHODS))
def test_terms_add_up(method):
    session, told = Session(Recipe(usual_target(method), method, seed=1)), 0
    for _ in range(STEPS):
        if session.done:
            break
        before, info = session.frame.state, session.advance().info
        assert set(info.scalars) <= {scalar.name for scalar in METHODS[method].scalars}
        if not info.terms:
            continue
        told += 1
        total, result = sum(info.terms.values()), moved(before, session.frame.state, info.terms)
        finite = np.isfinite(result)
        np.testing.assert_allclose(total[finite], result[finite], atol=1e-10)
        assert not np.isfinite(total[~finite]).any()
    silent = {"gibbs", "hmc", "jaakkola_jordan", "mala", "npv", "online_vb", "path_integration", "random_walk"}
    silent |= {"discrete_gf_svgd", "gaussian_vb", "gf_svgd", "pmfvb_nn", "sgrld", "straight_through", "subset_gp"}
    silent |= {"svgd", "svi", "svi_gp"}
    assert told or method in silent, "weighted particles tell all of their step"


@pytest.mark.parametrize(
    "knobs", [{"warm_start": True}, {"step_limit": 0.0}, {"schedule": "constant", "step_size": 1.0}]
)
def test_terms_of_every_step_of_pmd(knobs):
    session = Session(Recipe("mixture", "pmd", seed=0, **knobs))
    for _ in range(STEPS):
        info = session.advance().info
        np.testing.assert_allclose(sum(info.terms.values()), session.frame.state.log_weights, atol=1e-10)


def test_scalars_are_columns_of_the_history():
    session = Session(Recipe("mixture", "smc_mcmc", seed=0))
    session.advance(20)
    temperature = session.history.columns["temperature"]
    assert np.isnan(temperature[0]) and (np.diff(temperature[1:]) >= 0).all() and temperature[-1] > 0
