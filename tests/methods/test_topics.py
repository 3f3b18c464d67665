"""Structured PMD, online VB, SVI-GP, SGRLD and the particle filter against exact answers on small problems."""

import numpy as np
import pytest

from pmdviz.methods import METHODS
from pmdviz.targets import make_target
from tests.support import topics
from tests.support.engine import advanced
from tests.support.tables import looped

TINY = {"data": "model", "num_topics": 2, "num_data": 2, "length": 4, "vocabulary": 3, "alpha": 0.6, "beta": 0.4}


def session_of(method, seed=0, options=None, **knobs):
    return advanced(method, 0, "topics", {**TINY, **(options or {})}, seed, **knobs)


def exact_of(target):
    o = target.options
    return topics.enumerate_all(topics.tokens_of(target), target.num_words, o.num_topics, o.alpha, o.beta)


def test_a_full_batch_at_step_size_1_weighs_draws_of_the_topics_to_the_exact_posterior():
    """Structured PMD is then importance sampling of z: evidence and posterior means by enumeration."""
    session = session_of("structured_pmd", num_particles=40_000, batch_size=2, eta=1.0, n0=0.0)
    frame, exact = session.advance(1), exact_of(session.target)
    assert abs(topics.evidence_errors(frame.info.terms["likelihood"], exact.log_evidence)) < 4.5
    found, beta = topics.same_topic(frame.state.conditionals.natural), session.target.options.beta
    assert topics.weighted_errors(found, frame.state.log_weights, topics.exact_same_topic(exact, beta)) < 4.5


def test_a_langevin_step_of_one_topic_is_its_formula():
    """theta' = abs(theta + eps/2 (beta - theta + N/B (n - n_total theta / sum theta)) + sqrt(eps theta) xi)."""
    options = {"num_topics": 1, "num_data": 4, "length": 5, "beta": 0.5}
    session = session_of("sgrld", 3, options, batch_size=2, a=0.02, g=0.0)
    target, theta = session.target, session.frame.state.expanded
    given = session.frame.state, target, target.data_rows[:2], session.knobs
    after, info = METHODS["sgrld"].move(np.random.default_rng(8), *given)
    counts = np.bincount(np.concatenate(topics.tokens_of(target)[:2]), minlength=3).reshape(theta.shape)
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
    exact = topics.exact_same_topic(exact_of(session.target), 1.5)
    slack = np.abs(np.mean(means, axis=0) - exact) - 4.5 * np.std(means, axis=0, ddof=1) / np.sqrt(len(means))
    assert (slack < 0.01).all()
    assert np.abs(exact - topics.same_topic(np.full((3, 2), 1.5))).max() > 0.05, "the data say something"


def test_a_batch_stands_for_all_data_and_batches_come_to_their_optimum():
    options = {"num_data": 12, "length": 5}
    session = session_of("online_vb", options=options, batch_size=3, eta=1.0, n0=0.0)
    natural, beta = session.advance(1).state.natural[0], session.target.options.beta
    assert (natural - beta).sum() == pytest.approx(12 * 5, rel=1e-9)
    whole = process_session("svi_gp", seed=3, batch_size=60, eta=1.0, n0=0.0).advance(1).state
    parts = process_session("svi_gp", seed=3, batch_size=10, eta=1.0, n0=0.0, kappa=1.0).advance(6).state
    assert np.array_equal(whole.particles, parts.particles)
    np.testing.assert_allclose(parts.conditionals.natural, whole.conditionals.natural, rtol=1e-9, atol=1e-6)


def test_the_filters_evidence_is_unbiased_and_its_posterior_exact():
    log_z, means, knobs = [], [], {"num_particles": 20, "batch_size": 1, "ess_threshold": 1.0}
    for seed in range(150):
        session = session_of("particle_lda", seed, {"num_data": 3, "length": 3}, **knobs)
        frame = session.advance(3)
        log_z.append(frame.metrics["log_z"])
        means.append(frame.density.weights @ topics.same_topic(frame.state.natural).reshape(20, -1))
    assert session.ended and "rejuvenated" in frame.info.events
    exact, log_z = exact_of(session.target), np.array(log_z)
    assert abs(topics.evidence_errors(log_z, exact.log_evidence)) < 4.5
    assert topics.weighted_errors(np.array(means), log_z, topics.exact_same_topic(exact, 0.4).ravel()) < 4.5


def process_session(method, num_data=60, seed=0, options=None, **knobs):
    return advanced(method, 0, "sparse_gp", {"num_data": num_data, "dim": 20, **(options or {})}, seed, **knobs)


def kernel(x, z, width):
    return np.exp(-0.5 * ((x[:, None] - z) / width) ** 2)


def whitened(natural):
    """Mean and covariance of the whitened values, from natural parameters of which the lower half counts."""
    cov = np.linalg.inv(natural[:, :-1] + np.tril(natural[:, :-1], -1).T)
    return cov @ natural[:, -1], cov


@looped("method", ["structured_pmd", "svi_gp"])
@looped("approximation", ["fitc", "dtc"])
def test_a_full_batch_at_step_size_1_is_the_exact_sparse_posterior(method, approximation):
    """Of every set of inducing inputs, by inverses; of SVI-GP the optimum of Titsias 2009, Eq. 10, as with DTC."""
    knobs = {"batch_size": 60, "eta": 1.0, "n0": 0.0, **({"num_particles": 3} if method == "structured_pmd" else {})}
    session = process_session(method, options={"approximation": approximation}, **knobs)
    state, target = session.advance(1).state, session.target
    noise, (x, y) = target.options.noise_variance, target.data.T
    for inputs, factor, natural in zip(*state.conditionals[:3], strict=True):
        across, inner = kernel(x, target.inducing_inputs(inputs)[:, 0], target.kernel_width), factor @ factor.T
        projected = across @ np.linalg.inv(inner)
        fitc = method == "structured_pmd" and approximation == "fitc"
        weight = projected / (noise + (1 - (projected * across).sum(axis=1) if fitc else 0 * x))[:, None]
        cov = np.linalg.inv(np.linalg.inv(inner) + weight.T @ projected)
        found, spread = whitened(natural)
        np.testing.assert_allclose(factor @ spread @ factor.T, cov, atol=1e-8)
        np.testing.assert_allclose(factor @ found, cov @ (weight.T @ y), atol=1e-6)


def test_the_weights_are_ratios_of_integrals_over_the_inducing_values():
    knobs = {"num_particles": 2, "batch_size": 5, "eta": 0.3, "n0": 0.0}
    session = process_session("structured_pmd", 5, options={"dim": 2, "width": 3.0, "noise_variance": 0.3}, **knobs)
    target, state, axis = session.target, session.frame.state, np.linspace(-9, 9, 601)
    (x, y), width = target.data.T, target.kernel_width
    v = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    prior = np.exp(-0.5 * (v**2).sum(axis=1)) / (2 * np.pi)
    log_weights, densities = np.zeros(2), [prior, prior]
    for step in (1, 2):
        gamma = 0.3 / np.sqrt(step)
        for j, (inputs, factor) in enumerate(zip(*state.conditionals[:2], strict=True)):
            a = np.linalg.solve(factor, kernel(inputs * width, x, width))
            variance = 0.3 + 1 - (a**2).sum(axis=0)
            log_rows = -0.5 * (y - v @ a) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
            product = densities[j] ** (1 - gamma) * prior**gamma * np.exp(gamma * log_rows.sum(axis=1))
            mass = product.sum() * (axis[1] - axis[0]) ** 2
            densities[j], log_weights[j] = product / mass, (1 - gamma) * log_weights[j] + np.log(mass)
        expected = np.exp(log_weights) / np.exp(log_weights).sum()
        np.testing.assert_allclose(session.advance(1).weights, expected, rtol=1e-6)


def test_a_process_has_the_posterior_of_its_log_joint_and_a_subset_that_of_its_rows():
    target = make_target("sparse_gp", dim=6, num_data=50)
    exact, rng = target.exact, np.random.default_rng(0)
    points = exact.sample(rng, 8)
    np.testing.assert_allclose(target.log_joint(points) - exact.log_density(points), exact.log_z, rtol=1e-9)
    session = process_session("subset_gp", options={"noise_variance": 0.1}, subset_size=25, batch_size=10)
    frame, target = session.advance(100), session.target
    inputs = target.inducing_inputs(frame.state.particles[0])[:, 0]
    rows = target.data[[int(np.abs(target.data[:, 0] - x).argmin()) for x in inputs]]
    assert len(np.unique(rows, axis=0)) == 25 and frame.visited == 25
    across = kernel(rows[:, 0], target.points[:, 0], target.kernel_width)
    both = kernel(rows[:, 0], rows[:, 0], target.kernel_width) + 0.1 * np.eye(25)
    expected = across.T @ np.linalg.solve(both, rows[:, 1])
    np.testing.assert_allclose(target.values(frame.density.mean[None])[0], expected, atol=1e-4)
