"""Path integration: the discrepancy is the sum over pairs, the area its sum over steps, and both statistics miss."""

import numpy as np
import pytest

import pmdviz
from pmdviz.errors import TargetError
from pmdviz.kernels.stein import transport_diagonal
from pmdviz.methods.stein import leaders_width
from pmdviz.methods.stein.steinis import squared_discrepancy, start_gap
from pmdviz.scenes.stage.ladder import start_divergence
from pmdviz.targets import make_target
from tests.support.engine import advanced
from tests.support.own import own_target


def kappa(x, s, h):
    """k [s.s' + (s - s').(x - x') 2/h + 2d/h - 4 |x - x'|^2 / h^2] for all pairs."""
    u, d = x[:, None] - x, x.shape[1]
    squares = (u**2).sum(axis=2)
    cross = ((s[:, None] - s) * u).sum(axis=2)
    return np.exp(-squares / h) * (s @ s.T + 2 / h * cross + 2 * d / h - 4 / h**2 * squares)


@pytest.mark.parametrize("dim, m", [(1, 30), (2, 50), (4, 20), (2, 2)])
def test_the_discrepancy_is_the_mean_over_pairs(dim, m):
    rng, h = np.random.default_rng(dim), 1.7
    x, s = rng.normal(size=(m, dim)), rng.normal(size=(m, dim))
    pairs, found = kappa(x, s, h), transport_diagonal(x, x, s, h)
    assert squared_discrepancy(s, *found, h) == pytest.approx(pairs.mean(), rel=1e-12)
    apart = pairs.sum() - np.trace(pairs)
    assert squared_discrepancy(s, *found, h, "u") == pytest.approx(apart / (m * (m - 1)), rel=1e-10)


@pytest.mark.parametrize("statistic", ["v", "u"])
@pytest.mark.parametrize("target, options", [("gmm", {}), ("linear", {"dim": 3})])
def test_a_step_adds_to_the_area_what_the_particles_say_where_they_stand(target, options, statistic):
    knobs = {"num_particles": 40, "statistic": statistic, "eta": 0.01, "start_draws": 500}
    session = advanced("path_integration", 2, target, options, **knobs)
    before, after, target = session.frame.state, session.advance().state, session.target
    x, s = before.particles / target.scale, target.grad_log_joint(before.particles) * target.scale
    h = leaders_width(x, 1.0)
    pairs = kappa(x, s, h)
    if statistic == "u":
        np.fill_diagonal(pairs, 0.0)
        pairs *= 40 / 39
    assert after.areas[-1] - before.areas[-1] == pytest.approx(0.01 * pairs.mean(), rel=1e-9)
    force, _ = transport_diagonal(x, x, s, h)
    np.testing.assert_allclose(after.particles, before.particles + 0.01 * target.scale * force, rtol=1e-12)
    assert len(after.areas) == 4 and np.array_equal(after.areas[:3], before.areas)


def test_what_it_starts_from_is_kl_less_log_z():
    """On the conjugate Gaussian in closed form: N d / 2 log(2 pi s^2) + (sum x^2 + N d t^2) / 2 s^2."""
    target = make_target("gaussian", num_data=4)
    o, x, d = target.options, target.data, target.dim
    exact = 2 * d * np.log(2 * np.pi * o.sigma_x**2)
    exact += ((x**2).sum() + 4 * d * o.prior_sd**2) / (2 * o.sigma_x**2)
    found = [start_gap(np.random.default_rng(seed), target, target.data, 5_000) for seed in range(20)]
    assert abs(np.mean(found) - exact) < 4 * np.std(found, ddof=1) / np.sqrt(20)
    assert start_divergence(target) == pytest.approx(exact + target.exact.log_z, abs=0.05)


def test_steps_are_shortened_where_the_posterior_is_much_narrower_than_the_prior(target="mixture"):
    """As scheduled they diverge there: |theta| is above 1e100 after fewer than 100 steps."""
    session = advanced("path_integration", 0, target, num_particles=40, start_draws=500)
    infos = [session.advance().info for _ in range(10)]
    assert min(info.scalars["step_size"] for info in infos) < 0.125
    assert "a longer step would fold space" in infos[0].words
    frame = session.advance(90)
    assert np.abs(frame.particles / frame.target.scale).max() < 10


def test_particles_that_fly_off_end_the_run_with_a_sentence():
    steep = own_target(
        2,
        "steep",
        grad_log_prior=lambda theta: -theta,
        log_likelihood=lambda theta, rows: -1e4 * len(rows) * (theta**4).sum(axis=1),
        grad_log_likelihood=lambda theta, rows: -4e4 * len(rows) * theta**3,
        data=np.zeros((1, 1)),
    )
    with pytest.raises(TargetError, match="particles diverged on target 'steep'; use a step size smaller than"):
        pmdviz.run(target=steep, method="path_integration", num_particles=20, budget=100_000)
