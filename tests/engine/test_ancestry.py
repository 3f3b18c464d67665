"""Ancestors: which of the first particles those of now descend from."""

import numpy as np

from pmdviz import Recipe, Session
from pmdviz.engine.history import Ancestry, after_step
from pmdviz.methods.step import Cost, StepInfo, events
from tests.support.tables import looped

REDRAWN = events(rejuvenated="few")


def told(parents=None, happened=REDRAWN):
    return StepInfo(Cost(), "", happened, parents=parents)


def test_composed_by_hand():
    start = Ancestry.of(np.arange(8.0).reshape(4, 2))
    once = after_step(start, told(np.array([0, 0, 2, 3])))
    twice = after_step(once, told(np.array([3, 1, 1, 1])))
    assert once.rows.tolist() == [0, 0, 2, 3] and twice.rows.tolist() == [3, 0, 0, 0]
    assert twice.number_alive(np.zeros(4)) == 2 and twice.number_alive(np.array([-np.inf, 0, 0, 0])) == 1
    assert after_step(twice, told(happened=())) is twice
    assert after_step(twice, told()) is None, "parents that nobody tells"


@looped("method, knobs", [("pmd", {}), ("pmd", {"growth": "power"}), ("smc", {}), ("smc_mcmc", {})])
def test_a_run_composes_its_parents(method, knobs):
    """Against the parents of every step, followed backwards from the end; also after going back in time."""
    session, every = Session(Recipe("mixture", method, seed=3, num_particles=60, **knobs)), []
    counts = [session.frame.metrics["ancestors"]]
    while not session.done and session.frame.iteration < 20:
        every.append(session.advance().info.parents)
        counts.append(session.frame.metrics["ancestors"])
    rows = np.arange(len(session.frame.particles))
    for parents in reversed(every):
        rows = rows if parents is None else parents[rows]
    np.testing.assert_array_equal(session.frame.ancestry.rows, rows)
    assert any(parents is not None for parents in every)
    assert counts == sorted(counts, reverse=True) and counts[-1] < counts[0] == len(session.frame.ancestry.first)
    alive = session.frame.weights > 0
    assert counts[-1] == len(set(rows[alive].tolist()))
    if method == "smc_mcmc":  # which follows its families itself, for its caveat
        np.testing.assert_array_equal(session.frame.ancestry.rows, session.frame.state.ancestors)
    end, last = session.frame, session.frame.iteration
    session.seek(7)
    assert session.frame.metrics["ancestors"] == counts[7]
    session.seek(last)
    np.testing.assert_array_equal(session.frame.ancestry.rows, end.ancestry.rows)


def test_topics_have_ancestors_too():
    session = Session(Recipe("topics", "particle_lda", seed=0, num_particles=6))
    for _ in range(8):
        session.advance()
    assert Session(Recipe("mixture", "svgd", seed=0)).frame.ancestry is None
    assert session.frame.rejuvenations > 0 and 1 <= session.frame.metrics["ancestors"] < 6
