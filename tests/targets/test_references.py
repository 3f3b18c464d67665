"""What runs are judged by: enumeration against brute force, draws against closed forms, and their own errors."""

import itertools

import numpy as np
import pytest
from scipy import stats

from pmdviz.targets import make_target
from pmdviz.targets.reference.base import DrawsReference, has_density
from pmdviz.targets.reference.long_chains import hamiltonian_chains, peak


def test_a_lattice_is_enumerated():
    target = make_target("ising", size=3, coupling=0.3, field=-0.2)
    states = np.array(list(itertools.product([-1.0, 1.0], repeat=9)))
    weights = np.exp(target.log_joint(states))
    p, exact = weights / weights.sum(), target.exact
    assert exact.log_z == pytest.approx(np.log(weights.sum()))
    np.testing.assert_allclose(exact.mean, p @ states, atol=1e-12)
    np.testing.assert_allclose(exact.cov, np.cov(states.T, aweights=p, bias=True), atol=1e-12)
    np.testing.assert_allclose(np.exp(exact.log_density(states)), p, rtol=1e-10)
    draws = exact.sample(np.random.default_rng(0), 20_000)
    counts = np.unique(draws @ 2.0 ** np.arange(9), return_counts=True)[1]
    assert len(counts) <= 512 and abs(draws.mean() - (p @ states).mean()) < 5 / np.sqrt(20_000)


def test_log_z_of_a_linear_regression_is_the_density_of_its_outcomes():
    target = make_target("linear", dim=3, num_data=12)
    x, y, o = target.data[:, :-1], target.data[:, -1], target.options
    cov = o.sigma_y**2 * np.eye(12) + o.prior_sd**2 * x @ x.T
    assert target.exact.log_z == pytest.approx(stats.multivariate_normal(np.zeros(12), cov).logpdf(y))


@pytest.mark.ci
def test_long_chains_find_a_gaussian_and_tell_their_error():
    """On `linear`, whose posterior is known: means within what `mean_error` says, which is about right."""
    target = make_target("linear", dim=6, num_data=100, correlation=0.8)
    exact, found = target.exact, DrawsReference(hamiltonian_chains(target))
    centre, sd = peak(target)
    np.testing.assert_allclose(centre, exact.mean, atol=1e-5)
    np.testing.assert_allclose(sd, np.sqrt(np.diag(exact.cov)), rtol=1e-3)
    z = (found.mean - exact.mean) / found.mean_error
    assert np.abs(z).max() < 9 and 0.2 < np.sqrt((z**2).mean()) < 3, "four chains: t with 3 degrees of freedom"
    assert (found.mean_error < 0.05 * sd).all()
    np.testing.assert_allclose(np.diag(found.cov), np.diag(exact.cov), rtol=0.08)
    assert not has_density(found) and has_density(exact)


@pytest.mark.ci
def test_the_reference_of_the_logistic_repeats():
    one, two = (make_target("logistic", dim=4).make_reference() for _ in range(2))
    assert np.array_equal(one.draws, two.draws)
    sample = one.sample(np.random.default_rng(0), 1000)
    assert len(np.unique(sample, axis=0)) > 900, "of the draws, each at most once"
