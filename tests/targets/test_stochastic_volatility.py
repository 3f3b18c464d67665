"""Stochastic volatility: density, closed forms and chains against formulas and integrals; returns from files."""

import functools

import numpy as np
import pytest
from scipy import stats

from pmdviz.densities.density import normalise
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods.vi import of_a_point
from pmdviz.targets import make_target


@functools.cache
def made(**options):
    return make_target("stochastic_volatility", **options)


NODES, SHARES = np.polynomial.hermite_e.hermegauss(3)  # of integrals over a Gaussian mu, in which all is quadratic
SHARES = SHARES / SHARES.sum()


def at_nodes(particles, closed, log_s2):
    for z, share in zip(NODES, SHARES, strict=True):
        at = particles.copy()
        at[:, 0], at[:, 1] = closed["μ"][0] + np.sqrt(closed["μ"][1]) * z, log_s2
        yield share, at


def prior(target, n, seed=0):
    return target.sample_prior(np.random.default_rng(seed), n)


def log_joint(target, theta):
    """The model as it stands in the paper, with the densities of psi and log s2 by the change of variables."""
    mu, log_s2, psi, x = theta[0], theta[1], theta[2], theta[3:]
    phi, s2 = np.tanh(psi), np.exp(log_s2)
    total = stats.norm.logpdf(mu, 0, np.sqrt(10)) + stats.invgamma.logpdf(s2, 2.5, scale=0.025) + log_s2
    total += stats.beta.logpdf((1 + phi) / 2, 20, 1.5) - np.log(2) + np.log(1 - phi**2)
    total += stats.norm.logpdf(x[0], mu, np.sqrt(s2 / (1 - phi**2)))
    total += stats.norm.logpdf(x[1:], mu + phi * (x[:-1] - mu), np.sqrt(s2)).sum()
    return total + stats.norm.logpdf(target.returns, 0, np.exp(x / 2)).sum()


def test_the_joint_density_is_the_model():
    target = made(num_data=7)
    theta = prior(target, 5)
    np.testing.assert_allclose(target.log_joint(theta), [log_joint(target, each) for each in theta], rtol=1e-10)


@pytest.fixture(params=[1, 6])
def given(request):
    target = made(num_data=request.param, data_seed=2)
    return target, prior(target, 50, 3), {"μ": np.array([0.4, 0.3]), "σ²": np.array([3.0, 1.5])}


def test_the_best_qs_of_mean_and_variance_and_the_gradient_are_averages_over_the_others(given):
    target, particles, closed = given
    mean, variance = target.closed_form(target.blocks[0], particles, closed)
    at, q = particles.copy(), stats.norm(mean, np.sqrt(variance))
    at[:, 1] = np.log(closed["σ²"][1] / closed["σ²"][0])

    def average(mu):
        at[:, 0] = mu
        return target.log_joint(at).mean()

    for mu in (-2.0, 0.5, 3.0):
        assert average(mu) - average(0.0) == pytest.approx(q.logpdf(mu) - q.logpdf(0), rel=1e-8)
    shape, scale = target.closed_form(target.blocks[1], particles, closed)

    def average(s2):  # of s2, not of its log
        parts = at_nodes(particles, closed, np.log(s2))
        return sum(share * target.log_joint(at).mean() for share, at in parts) - np.log(s2)

    q = stats.invgamma(shape, scale=scale)
    for s2 in (0.1, 2.0):
        assert average(s2) - average(0.5) == pytest.approx(q.logpdf(s2) - q.logpdf(0.5), rel=1e-8)
    parts = at_nodes(particles, closed, np.log(closed["σ²"][1] / closed["σ²"][0]))
    expected = sum(share * target.grad_log_joint(at)[:, 2:] for share, at in parts)
    found = target.block_gradient(target.blocks[2], particles[:, 2:], particles[:10], closed)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_with_two_factors_no_block_has_a_closed_form():
    options = {"num_data": 6, "data_seed": 2, "factors": "two"}
    session = Session(Recipe("stochastic_volatility", "pmfvb", target_options=options, num_particles=40))
    session.advance(5)
    assert [block.coordinates for block in session.target.blocks] == [(0, 1, 2), tuple(range(3, 9))]
    assert np.isfinite(session.frame.particles).all() and not session.frame.state.closed


@pytest.mark.ci
def test_long_chains_have_the_posterior_of_three_returns():
    """Against draws of the prior weighted by the likelihood, in the standard errors of both."""
    target = made(num_data=3, data_seed=1)
    draws, reference = prior(target, 300_000, 5), target.reference()
    w = np.exp(normalise(target.log_likelihood(draws, target.data)))
    mean = w @ draws
    error = np.sqrt(((w[:, None] * (draws - mean)) ** 2).sum(axis=0))
    assert 1 / (w**2).sum() > 20_000
    assert (np.abs(reference.mean - mean) < 4 * np.hypot(error, reference.mean_error)).all()
    assert (reference.mean_error < 0.1 * target.scale).all()
    np.testing.assert_allclose(np.diag(reference.cov), w @ (draws - mean) ** 2, rtol=0.12)


@pytest.mark.nightly
def test_a_gaussian_has_shrunk_to_a_point_where_its_widest_direction_is_a_billionth_of_its_mean():
    assert "shrunk to a point" in of_a_point(np.array([1e3, 1.0]), np.array([0.9e-6, 1e-12]))
    assert of_a_point(np.array([1e3, 1.0]), np.array([1.1e-6, 1e-12])) == ""
    assert of_a_point(np.zeros(2), np.array([0.0, 1e-12])) == "", "around zero any width is one"
    frame = Session(Recipe("stochastic_volatility", "svi", target_options={"num_data": 500}), 10**9).frame
    assert frame.caveat == ""
    narrow = frame.state._replace(cholesky=1e-12 * frame.state.cholesky)
    assert "shrunk to a point" in frame.replaced(state=narrow).caveat


GIVEN = np.array([0.5, -1.0, 2.0, 0.25, -0.75])


@pytest.mark.filterwarnings("ignore::pmdviz.errors.InputWarning")
def test_the_last_returns_of_the_last_column_less_their_mean_and_only_a_count_numbers_them(tmp_path):
    path = tmp_path / "returns.csv"
    path.write_text("day,close,return\n" + "".join(f"{k + 3},{k * 7.5},{y}\n" for k, y in enumerate(GIVEN)))
    target = make_target("stochastic_volatility", data=str(path), num_data=4)
    np.testing.assert_allclose(target.returns, GIVEN[1:] - GIVEN[1:].mean())
    np.testing.assert_array_equal(target.data, np.column_stack([np.arange(4), target.returns]))
    assert target.true_path is None and target.dim == 7
    path.write_text("close,return\n" + "".join(f"{k * 7.5},{y}\n" for k, y in enumerate(GIVEN)))
    unnumbered = make_target("stochastic_volatility", data=str(path), num_data=5)
    np.testing.assert_allclose(unnumbered.returns, GIVEN - GIVEN.mean())


def test_simulated_returns_are_of_the_path_that_is_kept():
    target = made(num_data=2600, persistence=0.8, shock=0.5, mean=1.0)
    standard, away = target.returns / np.exp(target.true_path / 2), target.true_path - 1
    assert stats.kstest(standard, stats.norm.cdf).pvalue > 1e-3
    residual = (away[1:] - 0.8 * away[:-1]) / 0.5
    assert stats.kstest(residual, stats.norm.cdf).pvalue > 1e-3
    assert away.std() == pytest.approx(0.5 / 0.6, rel=0.15)
