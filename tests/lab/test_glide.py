"""Where the dots of a frame come from."""

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.lab.loop.runner import LONGEST_S, Runner, glide_ms, origins


def two_frames(steps=1, **recipe):
    session = Session(Recipe("mixture", **recipe))
    return session.frame, session.advance(steps)


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


def test_a_single_step_has_origins_and_takes_most_of_the_time_and_what_cannot_be_followed_has_none(monkeypatch):
    assert origins(*two_frames(method="sgld")) is None, "draws of a chain"
    assert origins(*two_frames(2)) is None, "an iteration lies between"
    assert origins(*two_frames(num_particles=6_000)) is None, "not every particle is drawn"
    before, after = two_frames()
    assert origins(after, before) is None, "backwards"
    monkeypatch.setattr("pmdviz.lab.loop.runner.SHARE_S", 1e9)  # as many iterations as asked for, however slow it is
    runner = Runner(Recipe("mixture", num_particles=100))
    assert runner.snapshot().origins is None
    assert len(runner.advance().origins) == 100
    assert runner.advance(2).origins is None
    assert (glide_ms(0.0), glide_ms(1 / 60), glide_ms(0.25)) == (0, 0, 200)
    assert glide_ms(1.0) == 1000 * LONGEST_S
