"""Structured PMD, online VB, SGRLD and the particle filter on topics: their laws on tiny corpora, by enumeration."""

import numpy as np
import pytest
from scipy.special import logsumexp

from pmdviz.methods import METHODS
from tests.support.engine import advanced, errors_from
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
    made = {**TINY, **(options or {})}
    return advanced(method, 0, "topics", made, seed, **knobs)


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


def test_one_topic_is_known_on_paper_to_every_method():
    """With K = 1 the posterior is Dir(β + n); SGRLD's draws have its means."""
    options = {"num_topics": 1, "num_data": 4, "length": 5, "beta": 0.5}
    for method, knobs in (
        ("structured_pmd", {"num_particles": 2, "eta": 1.0, "n0": 0.0, "batch_size": 4}),
        ("online_vb", {"eta": 1.0, "n0": 0.0, "batch_size": 4}),
        ("particle_lda", {"num_particles": 2, "batch_size": 4}),
    ):
        session = session_of(method, options=options, **knobs)
        counts = np.bincount(np.concatenate(tokens_of(session.target)), minlength=3)
        exact = 0.5 + counts
        np.testing.assert_allclose(session.advance(1).state.natural[0, :, 0], exact, rtol=1e-12)
    chains = []
    for seed in range(12):
        session = session_of("sgrld", seed, options, batch_size=4, a=0.02, g=0.0, burn_in=100, sweeps=1)
        chains.append(session.advance(900).density.particles)
    means = np.array([[draws.mean(axis=0), (draws**2).mean(axis=0)] for draws in chains])
    total = exact.sum()
    moments = np.array([exact / total, exact * (exact + 1) / (total * (total + 1))])
    errors = np.abs(means.mean(axis=0) - moments) - 4.5 * means.std(axis=0, ddof=1) / np.sqrt(len(means))
    assert (errors < 0.003).all()  # of the step size: 0.02


def test_a_langevin_step_of_one_topic_is_its_formula():
    """theta' = abs(theta + eps/2 (beta - theta + N/B (n - n_total theta / sum theta)) + sqrt(eps theta) xi)."""
    options = {"num_topics": 1, "num_data": 4, "length": 5, "beta": 0.5}
    session = session_of("sgrld", 3, options, batch_size=2, a=0.02, g=0.0)
    state, target, batch = session.frame.state, session.target, session.target.data_rows[:2]
    after, info = METHODS["sgrld"].move(np.random.default_rng(8), state, target, batch, session.knobs)
    theta, noise = state.expanded, np.random.default_rng(8).standard_normal(state.expanded.shape)
    counts = np.bincount(np.concatenate(tokens_of(target)[:2]), minlength=3).reshape(theta.shape)
    drift = 0.5 - theta + 4 / 2 * (counts - counts.sum() * theta / theta.sum())
    step_size = info.scalars["step_size"]
    expected = np.abs(theta + step_size / 2 * drift + np.sqrt(step_size * theta) * noise)
    np.testing.assert_allclose(after.expanded, expected, rtol=1e-12)


def test_langevin_draws_of_two_topics_have_the_posteriors_means():
    """A function of the topics that does not depend on their order, by enumeration."""
    session = session_of("sgrld", options={"beta": 1.5, "alpha": 1.0})
    exact = exact_same_topic(exact_of(session.target), 1.5)
    means = []
    for seed in range(16):
        session = session_of(
            "sgrld", seed, {"beta": 1.5, "alpha": 1.0}, batch_size=2, a=0.05, g=0.0, burn_in=100, sweeps=10
        )
        phi = session.target.topics(session.advance(600).density.particles)
        means.append(np.einsum("nwk,nvk->wv", phi, phi) / len(phi))
    slack = np.abs(np.mean(means, axis=0) - exact) - 4.5 * np.std(means, axis=0, ddof=1) / np.sqrt(len(means))
    assert (slack < 0.01).all()
    prior = same_topic(np.full((3, 2), 1.5))
    assert np.abs(exact - prior).max() > 0.05, "the data say something"


def test_a_batch_of_online_vb_stands_for_all_documents():
    """At step size 1 the Dirichlet parameters count as many tokens as the corpus has, whatever the batch."""
    options = {"num_data": 12, "length": 5}
    session = session_of("online_vb", options=options, batch_size=3, eta=1.0, n0=0.0)
    natural, beta = session.advance(1).state.natural[0], session.target.options.beta
    assert (natural - beta).sum() == pytest.approx(12 * 5, rel=1e-9)


def test_the_filters_evidence_is_unbiased_and_its_posterior_exact():
    """One document after the other, with resampling between them; means over runs."""
    runs = []
    for seed in range(150):
        session = session_of(
            "particle_lda", seed, {"num_data": 3, "length": 3}, num_particles=20, batch_size=1, ess_threshold=1.0
        )
        frame = session.advance(3)
        runs.append((frame.metrics["log_z"], frame.density.weights @ same_topic(frame.state.natural).reshape(20, -1)))
    assert session.ended and any(event.kind == "rejuvenated" for event in frame.info.events)
    exact = exact_of(session.target)
    log_z = np.array([run[0] for run in runs])
    assert abs(evidence_errors(log_z, exact.log_evidence)) < 4.5
    means = np.array([run[1] for run in runs])
    assert weighted_errors(means, log_z, exact_same_topic(exact, 0.4).ravel()) < 4.5
    assert abs(errors_from(np.exp(log_z - logsumexp(log_z)) * len(log_z), 1)) < 1e-6
