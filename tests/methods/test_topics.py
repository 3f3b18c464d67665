"""Structured PMD, online VB, SGRLD and the particle filter on topics: their laws on tiny corpora, by enumeration."""

import numpy as np
import pytest

from pmdviz.methods import METHODS
from tests.support.engine import advanced
from tests.support.topics import (
    enumerate_all,
    evidence_errors,
    exact_same_topic,
    same_topic,
    tokens_of,
    weighted_errors,
)

TINY = {"data": "model", "num_topics": 2, "num_data": 2, "length": 4, "vocabulary": 3, "alpha": 0.6, "beta": 0.4}


def session_of(method, seed=0, options=None, **knobs):
    return advanced(method, 0, "topics", {**TINY, **(options or {})}, seed, **knobs)


def exact_of(target):
    o = target.options
    return enumerate_all(tokens_of(target), target.num_words, o.num_topics, o.alpha, o.beta)


def test_a_full_batch_at_step_size_1_weighs_draws_of_the_topics_to_the_exact_posterior():
    """Structured PMD is then importance sampling of z: evidence and posterior means by enumeration."""
    session = session_of("structured_pmd", num_particles=40_000, batch_size=2, eta=1.0, n0=0.0)
    frame, exact = session.advance(1), exact_of(session.target)
    assert abs(evidence_errors(frame.info.terms["likelihood"], exact.log_evidence)) < 4.5
    found, beta = same_topic(frame.state.natural), session.target.options.beta
    assert weighted_errors(found, frame.state.log_weights, exact_same_topic(exact, beta)) < 4.5


def test_a_langevin_step_of_one_topic_is_its_formula():
    """theta' = abs(theta + eps/2 (beta - theta + N/B (n - n_total theta / sum theta)) + sqrt(eps theta) xi)."""
    options = {"num_topics": 1, "num_data": 4, "length": 5, "beta": 0.5}
    session = session_of("sgrld", 3, options, batch_size=2, a=0.02, g=0.0)
    target, theta = session.target, session.frame.state.expanded
    given = session.frame.state, target, target.data_rows[:2], session.knobs
    after, info = METHODS["sgrld"].move(np.random.default_rng(8), *given)
    counts = np.bincount(np.concatenate(tokens_of(target)[:2]), minlength=3).reshape(theta.shape)
    drift, step_size = 0.5 - theta + 4 / 2 * (counts - counts.sum() * theta / theta.sum()), info.scalars["step_size"]
    noise = np.sqrt(step_size * theta) * np.random.default_rng(8).standard_normal(theta.shape)
    np.testing.assert_allclose(after.expanded, np.abs(theta + step_size / 2 * drift + noise), rtol=1e-12)


def test_langevin_draws_of_two_topics_have_the_posteriors_means():
    means, options = [], {"beta": 1.5, "alpha": 1.0}
    knobs = {"batch_size": 2, "a": 0.05, "g": 0.0, "burn_in": 100, "sweeps": 10}
    for seed in range(16):
        session = session_of("sgrld", seed, options, **knobs)
        phi = session.target.topics(session.advance(600).density.particles)
        means.append(np.einsum("nwk,nvk->wv", phi, phi) / len(phi))
    exact = exact_same_topic(exact_of(session.target), 1.5)
    slack = np.abs(np.mean(means, axis=0) - exact) - 4.5 * np.std(means, axis=0, ddof=1) / np.sqrt(len(means))
    assert (slack < 0.01).all()
    assert np.abs(exact - same_topic(np.full((3, 2), 1.5))).max() > 0.05, "the data say something"


def test_a_batch_of_online_vb_stands_for_all_documents():
    options = {"num_data": 12, "length": 5}
    session = session_of("online_vb", options=options, batch_size=3, eta=1.0, n0=0.0)
    natural, beta = session.advance(1).state.natural[0], session.target.options.beta
    assert (natural - beta).sum() == pytest.approx(12 * 5, rel=1e-9)


def test_the_filters_evidence_is_unbiased_and_its_posterior_exact():
    log_z, means, knobs = [], [], {"num_particles": 20, "batch_size": 1, "ess_threshold": 1.0}
    for seed in range(150):
        session = session_of("particle_lda", seed, {"num_data": 3, "length": 3}, **knobs)
        frame = session.advance(3)
        log_z.append(frame.metrics["log_z"])
        means.append(frame.density.weights @ same_topic(frame.state.natural).reshape(20, -1))
    assert session.ended and any(event.kind == "rejuvenated" for event in frame.info.events)
    exact, log_z = exact_of(session.target), np.array(log_z)
    assert abs(evidence_errors(log_z, exact.log_evidence)) < 4.5
    assert weighted_errors(np.array(means), log_z, exact_same_topic(exact, 0.4).ravel()) < 4.5
