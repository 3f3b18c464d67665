"""Where the density of new particles is taken in float32, and that nothing but rounding comes of it."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods.pmd import rejuvenation


def rejuvenated(num_particles):
    """A density, and the state drawn from it."""
    session = Session(Recipe("mixture", num_particles=num_particles, policy="never", budget=None))
    frame = session.advance(3)
    rng, density = np.random.default_rng(0), frame.density
    return density, rejuvenation.rejuvenate(rng, frame.state, density, session.target, frame.knobs)[0]


@pytest.mark.parametrize("num_particles", [1500, rejuvenation.SINGLE_FROM - 1, rejuvenation.SINGLE_FROM])
def test_only_many_particles_have_their_density_in_float32(num_particles):
    density, state = rejuvenated(num_particles)
    exact = density.log_density(state.particles)
    np.testing.assert_allclose(state.log_proposal, exact, rtol=0, atol=2e-5)
    assert (state.log_proposal == exact).all() == (num_particles < rejuvenation.SINGLE_FROM)
