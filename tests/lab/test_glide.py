"""Where the dots of a frame come from."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.lab.loop.glide import LONGEST_S, glide_ms, origins
from pmdviz.lab.loop.runner import Runner


def two_frames(steps=1, **recipe):
    session = Session(Recipe("mixture", **recipe))
    return session.frame, session.advance(steps)


@pytest.mark.parametrize("method", ["svgd", "npv"])
def test_particles_that_move_come_from_their_own_rows(method):
    before, after = two_frames(method=method)
    assert origins(before, after).tolist() == list(range(len(after.particles)))


def rejuvenated(**recipe):
    session = Session(Recipe("mixture", budget=None, **recipe))
    before = session.frame
    while not (after := session.advance(1)).info.rejuvenated:
        before = after
    return before, after


def test_new_particles_of_pmd_come_from_where_they_were_drawn():
    """They lie a kernel's width from their parents, and those are the heavy ones."""
    before, after = rejuvenated(method="pmd", num_particles=300, bandwidth_rule="isotropic", bandwidth=1e-6)
    rows = origins(before, after).astype(int)
    np.testing.assert_allclose(after.particles, before.particles[rows], atol=1e-5)
    before, after = rejuvenated(method="pmd", num_particles=300)
    rows = origins(before, after).astype(int)
    assert before.weights[rows].mean() > 1.5 / len(before.weights)


def test_a_resampled_particle_comes_from_its_copy():
    before, after = rejuvenated(method="smc_mcmc", num_particles=200)
    rows = origins(before, after).astype(int)
    stood = (after.particles == before.particles[rows]).all(axis=1)
    assert stood.any(), "those whose proposal was refused"


def test_where_the_parent_is_not_known_a_particle_comes_from_nowhere():
    before, after = rejuvenated(method="smc", num_particles=100)
    untold = after.replaced(info=after.info._replace(parents=None))
    assert set(origins(before, untold)) == {-1.0} != set(origins(before, after))


def test_what_cannot_be_followed():
    assert origins(*two_frames(method="sgld")) is None, "draws of a chain"
    assert origins(*two_frames(2)) is None, "an iteration lies between"
    assert origins(*two_frames(num_particles=6_000)) is None, "not every particle is drawn"
    before, after = two_frames()
    assert origins(after, before) is None, "backwards"


def test_a_frame_that_is_kept_forgets_who_came_from_whom():
    assert rejuvenated(method="pmd", num_particles=100)[1].without_caches().info.parents is None


def test_a_move_takes_most_of_the_time_until_the_next_frame():
    assert (glide_ms(0.0), glide_ms(1 / 60), glide_ms(0.25)) == (0, 0, 200)
    assert glide_ms(1.0) == 1000 * LONGEST_S


def test_a_single_step_of_the_run_on_the_page_has_origins(monkeypatch):
    monkeypatch.setattr("pmdviz.lab.loop.runner.SHARE_S", 1e9)  # as many iterations as asked for, however slow it is
    runner = Runner(Recipe("mixture", num_particles=100))
    assert runner.snapshot().origins is None
    assert len(runner.advance().origins) == 100
    assert runner.advance(2).origins is None
