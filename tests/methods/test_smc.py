"""One-pass SMC and importance sampling from the prior: exact weights, and what a resampling does to the moments."""

import numpy as np
import pytest

from pmdviz.densities.density import effective_sample_size, normalise
from pmdviz.engine.recipe import Recipe
from pmdviz.methods.smc import shrunk
from tests.support.engine import Unmeasured, advanced, errors_from
from tests.support.tables import looped

NEVER = 1e-12  # an ESS threshold that is never reached


def run(target="gaussian", **parts):
    return ended("smc", target, **parts)


def ended(method, target="gaussian", **parts):
    session = advanced(method, target=target, **parts)
    assert session.ended == "one pass only"
    return session


def test_without_resampling_the_weights_are_the_likelihood():
    session = run(num_particles=100, ess_threshold=NEVER)
    expected = normalise(session.target.log_likelihood(session.frame.particles, session.target.data))
    np.testing.assert_allclose(np.log(session.frame.weights), expected, atol=1e-9)
    assert session.frame.rejuvenations == 0


def test_each_datum_is_visited_once_whatever_the_budget():
    session = run(target_options={"num_data": 37}, budget=20_000)
    assert session.frame.visited == 37 and session.frame.iteration == 4
    assert session.advance(5).iteration == 4


@looped("method, threshold", [("pmd", 0.1), ("pmd", 0.9), ("smc", 0.5)])
def test_it_resamples_exactly_below_its_threshold(method, threshold):
    session = Unmeasured(Recipe("mixture", method, num_particles=100, ess_threshold=threshold, budget=2000))
    times = 0
    while not session.done:
        ess = effective_sample_size(np.log(session.frame.weights))
        session.advance()
        assert bool(session.frame.info.rejuvenated) == (ess < threshold * 100)
        times += ess < threshold * 100
    assert session.frame.rejuvenations == times > 0


def moments(particles, weights):
    mean = weights @ particles
    return mean, np.cov(particles.T, aweights=weights, ddof=0).reshape(len(mean), -1)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_shrinkage_makes_room_for_the_kernel(dim):
    """A V A' + L L' = V and the mean stays, for a kernel of any shape narrower than the particles."""
    rng = np.random.default_rng(dim)
    particles, weights = rng.normal(size=(300, dim)) @ rng.normal(size=(dim, dim)), rng.dirichlet(np.ones(300))
    mean, covariance = moments(particles, weights)
    kernel = 0.3 * np.linalg.cholesky(np.cov(rng.normal(size=(dim, 50))).reshape(dim, dim) * np.trace(covariance) / 50)
    found, left = moments(shrunk(particles, weights, kernel, np.ones(dim)), weights)
    np.testing.assert_allclose(found, mean, atol=1e-12)
    np.testing.assert_allclose(left + kernel @ kernel.T, covariance, rtol=1e-6, atol=1e-8)


# Statistics on the conjugate Gaussian, in standard errors over independent runs.

ONE_DIMENSION = {"target_options": {"dim": 1, "num_data": 20}, "batch_size": 4, "num_particles": 2000}


@pytest.mark.ci
@looped("knobs", [{"ess_threshold": 0.5}, {"ess_threshold": 1.0, "jitter_rule": "isotropic", "jitter": 0.1}])
def test_with_shrinkage_mean_and_variance_are_those_of_the_posterior(knobs):
    means, variances = [], []
    for seed in range(40):
        session = run(seed=seed, **ONE_DIMENSION, **knobs)
        q, exact = session.frame.density, session.target.exact
        centred = q.particles[:, 0] - exact.mean[0]
        means.append(q.weights @ centred)
        variances.append(q.weights @ centred**2)
    assert abs(errors_from(means, 0.0)) < 4 and abs(errors_from(variances, 1 / (1 + 20 / 4))) < 4


@looped("target", ["gaussian", "mixture", "logistic", "sparse_gp"])
def test_after_its_pass_the_weights_are_the_likelihood_of_all_data(target):
    session = ended("importance", target, target_options={"num_data": 20}, num_particles=200, batch_size=7)
    expected = normalise(session.target.log_likelihood(session.frame.particles, session.target.data))
    np.testing.assert_allclose(session.frame.state.log_weights, expected, atol=1e-9)
    assert (session.frame.iteration, session.frame.visited) == (3, 20), "batches of 7, 7 and 6"
    assert session.frame.info.words.startswith("batch of 6 · 20 of 20 data seen · ESS ")
