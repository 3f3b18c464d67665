"""Where arithmetic ends, and what must hold for every density whatever its numbers are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmdviz.densities.bandwidth import local
from pmdviz.densities.density import KernelDensity, normalise
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.metrics.divergences import measure, picture
from pmdviz.targets import make_target
from tests.support.own import own_target
from tests.support.tables import looped

seeds = st.integers(0, 2**32 - 1)


def some_density(seed, d, m=30, size=1.0):
    rng = np.random.default_rng(seed)
    particles, weights = size * rng.standard_normal((m, d)), normalise(rng.standard_normal(m) * 2)
    return KernelDensity(particles, weights, local(particles, np.exp(weights), 0.75, np.full(d, size)))


@given(seeds, st.sampled_from([1, 2, 3]), st.floats(-1e3, 1e3), st.floats(-3, 3))
def test_moved_and_stretched_particles_have_the_moved_and_stretched_density(seed, d, shift, log_stretch):
    """The rule `local` included: q(a x + b) = q(x) / a^d."""
    stretch, density = 10.0**log_stretch, some_density(seed, d)
    moved = stretch * density.particles + shift
    cholesky = local(moved, density.weights, 0.75, np.full(d, stretch))
    np.testing.assert_allclose(cholesky, stretch * density.cholesky, rtol=1e-6, atol=1e-8 * stretch)
    points = density.sample(np.random.default_rng(0), 7)
    found = KernelDensity(moved, density.log_weights, cholesky).log_density(stretch * points + shift)
    np.testing.assert_allclose(found, density.log_density(points) - d * np.log(stretch), rtol=1e-5, atol=1e-5)


@settings(max_examples=10, deadline=None)
@given(seeds, st.sampled_from(["bimodal1d", "gaussian", "mixture"]), st.floats(-2, 1), st.floats(-1.5, 1.5))
def test_metrics_stay_where_they_must(seed, name, log_width, log_size):
    """TV in [0, 1], KL >= 0 up to the error of the sums, for kernels of any width on particles of any spread."""
    target, rng = make_target(name), np.random.default_rng(seed)
    particles = 10.0**log_size * rng.standard_normal((25, target.dim))
    density = KernelDensity(particles, normalise(rng.standard_normal(25)), 10.0**log_width * np.eye(target.dim))
    found = measure(density, target.exact, picture(density, target.exact, target.view_box))
    assert -1e-9 <= found["tv"] <= 1 + 1e-9
    assert -1e-9 <= found["mass_outside"] <= 1 + 1e-9
    assert found["kl_forward"] >= -2e-3
    assert found["kl_reverse"] is None or found["kl_reverse"] >= -2e-3 - 2 * found["mass_outside"]


def target_of(log_likelihood, data=np.zeros(20), **parts):  # noqa: B008
    return own_target(2, "edge", log_likelihood=log_likelihood, data=data, bounds=[(-5, 5)] * 2, **parts)


def sound(session):
    frame = session.frame
    assert np.isfinite(frame.particles).all() and frame.weights.sum() == pytest.approx(1, abs=1e-9)
    assert 1 - 1e-9 <= frame.metrics["ess"] <= len(frame.particles) * (1 + 1e-9)
    assert np.isfinite(frame.density.choleskys).all()
    assert (np.diagonal(frame.density.choleskys, axis1=1, axis2=2) > 0).all()
    return frame


def run_soundly(target, **knobs):
    """The last frame; every one is finite, and its weights are weights."""
    session = Session(Recipe(target, **{"batch_size": 5, **knobs}))
    while not session.done:
        session.advance()
        sound(session)
    return session.frame


@looped("policy, nats", [("never", 690.8), ("always", 1e5), ("ess", 1e150)])
def test_likelihoods_of_1e_300_and_far_below(policy, nats):
    """Every datum has likelihood e^-nats times something that differs between particles."""
    target = target_of(lambda theta, batch: -len(batch) * (nats + (theta**2).sum(axis=1)))
    run_soundly(target, num_particles=60, policy=policy, budget=100)


@pytest.mark.parametrize("policy", ["always", "ess"])
def test_a_single_particle_with_likelihood_survives_and_multiplies(policy):
    def only_near_the_best(theta, batch):
        squares = (theta**2).sum(axis=1)
        return np.where(squares <= squares.min(), 0.0, -np.inf)

    target = target_of(only_near_the_best, data=np.zeros(1))
    session = Session(Recipe(target, num_particles=40, batch_size=1, policy=policy, budget=3))
    session.advance(1)
    frame = sound(session)
    assert frame.metrics["ess"] == pytest.approx(1) and np.count_nonzero(frame.weights) == 1
    session.advance(1)
    sound(session)


@looped("rule", ["local", "isotropic"])
def test_particles_that_coincide_come_apart_at_the_first_rejuvenation(rule):
    """A prior whose few draws all coincide, though the many that find its scale do not."""
    prior = lambda rng, n: np.full((n, 2), 0.5) if n < 1000 else rng.standard_normal((n, 2))  # noqa: E731
    target = target_of(lambda theta, batch: -len(batch) * (theta**2).sum(axis=1), sample_prior=prior)
    knobs = {"num_particles": 30, "policy": "always", "bandwidth_rule": rule, "draws": "independent"}
    assert len(np.unique(run_soundly(target, budget=40, **knobs).particles, axis=0)) == 30


@looped("distance", [1e4, 1e8])
def test_particles_that_start_far_away_keep_weights_that_are_weights(distance):
    target = target_of(
        lambda theta, batch: -0.5 * len(batch) * ((theta - distance) ** 2).sum(axis=1),
        sample_prior=lambda rng, n: distance + rng.standard_normal((n, 2)),
    )
    run_soundly(target, num_particles=50, policy="always", budget=50)
