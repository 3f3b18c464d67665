"""In many dimensions a shape takes many particles: a run whose particles descend from fewer says so."""

import numpy as np
import pytest

from benchmarks.helpers.regressions import linear
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session


@pytest.mark.ci
def test_one_pass_says_so_where_it_fails_and_says_nothing_where_it_does_not():
    """Its weights at the end are as even as can be; what it lost it lost on the way."""
    for d, lost in ((2, False), (10, True)):
        made = linear(d, 301)
        session = Session(Recipe(made.target, "smc", seed=301), metrics_every=10**6)
        frame = session.advance(10**6)
        off = np.abs(frame.density.mean - made.mean) / np.sqrt(np.diag(made.covariance))
        assert (off.max() > 1) == lost and frame.caveat.startswith("all descend from ") == lost
        assert lost or frame.caveat == ""
        assert frame.metrics["ess"] > 300


@pytest.mark.ci
@pytest.mark.parametrize("d, coalesced", [(5, False), (20, True)])
def test_tempered_particles_that_all_descend_from_one_draw_say_so(d, coalesced):
    """In 20 dimensions their moves are too short to make up for it; neither ESS nor spread shows that."""
    made = linear(d, 302)
    session = Session(Recipe(made.target, "smc_mcmc", seed=302), metrics_every=10**6)
    session.advance(10**9)
    frame = session.frame
    off = np.abs(frame.density.mean - made.mean) / np.sqrt(np.diag(made.covariance))
    assert frame.state.beta == 1.0 and (off.max() > 1) == coalesced
    assert frame.caveat.startswith("all descend from one draw") if coalesced else frame.caveat == ""
