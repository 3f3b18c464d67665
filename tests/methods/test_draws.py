"""Balanced draws are distributed as independent ones, and their sums vary less."""

import numpy as np
import pytest

from pmdviz.densities.bandwidth import Shape, shaped_density
from pmdviz.densities.density import KernelDensity, normalise
from pmdviz.methods.particles import DRAWS, RESAMPLERS, from_density
from pmdviz.targets import make_target
from tests.support.engine import advanced, errors_from
from tests.support.tables import looped


def some(d=2, m=60, seed=0):
    rng = np.random.default_rng([d, m, seed])
    cholesky = np.tril(0.2 * rng.standard_normal((d, d)))
    np.fill_diagonal(cholesky, 0.2 + 0.3 * rng.random(d))
    return KernelDensity(rng.standard_normal((m, d)), normalise(rng.standard_normal(m)), cholesky)


def means(values_of, density, n, draws, resampler="systematic", runs=80):
    drawn = (from_density(np.random.default_rng(seed), density, n, draws, resampler) for seed in range(runs))
    return np.array([values_of(points).mean() for points in drawn])


def shaped():
    rng, second = np.random.default_rng(0), np.arange(200) >= 100
    x = rng.standard_normal((200, 2)) @ np.array([[1.0, 0.8], [0.0, 0.3]]) + 6 * second[:, None]
    return shaped_density(x, np.full(200, -np.log(200)), Shape(second.astype(int), 0.6), 1.0, np.ones(2))


@looped("draws", DRAWS)
@looped("resampler", RESAMPLERS)
@looped("density", [some(1), some(3), shaped()])
def test_draws_have_the_moments_of_the_density(draws, resampler, density):
    for k in range(len(density.mean)):
        second = density.cov[k, -1] + density.mean[k] * density.mean[-1]
        for values, expected in (
            (lambda x, k=k: x[:, k], density.mean[k]),
            (lambda x, k=k: x[:, k] * x[:, -1], second),
        ):
            assert abs(errors_from(means(values, density, 40, draws, resampler), expected)) < 4.5


@pytest.mark.parametrize("d, most", [(1, 0.12), (2, 0.15), (3, 0.3)])
def test_sums_over_balanced_draws_vary_less(d, most):
    values = lambda x: np.cos(x).sum(axis=1)  # noqa: E731
    found = {draws: means(values, some(d), 256, draws, "multinomial", runs=150).var() for draws in DRAWS}
    assert found["independent"] / 25 < found["balanced"] < most * found["independent"]


RESIZED = [("svgd", "mixture"), ("gf_svgd", "mixture"), ("steinis", "gaussian"), ("pmfvb", "correlated_gaussian"),
           ("pmfvb_nn", "regression_net")]  # fmt: skip


@pytest.mark.parametrize("method, target", RESIZED)
def test_another_number_of_particles_takes_effect_at_the_next_step_and_replays(method, target):
    session = advanced(method, 4, target, num_particles=40)
    for before, m in ((40, 15), (15, 90)):
        session.set(num_particles=m)
        frame = session.advance()
        assert len(frame.particles) == len(frame.weights) == m == len(np.unique(frame.particles, axis=0))
        assert frame.info.words.startswith(f"particles {before} → {m}, ")
        session.advance(3)
    again = type(session)(session.recipe).advance(session.frame.iteration)
    assert again.particles.tobytes() == session.frame.particles.tobytes()
    assert again.weights.tobytes() == session.frame.weights.tobytes()


def test_more_followers_leave_the_estimate_of_z_unbiased():
    truth, found = make_target("gaussian").reference().log_z, []
    for seed in range(24):
        session = advanced("steinis", 12, num_particles=60, seed=seed)
        session.set(num_particles=400)
        found.append(np.exp(session.advance().metrics["log_z"] - truth))
    assert abs(errors_from(np.array(found), 1.0)) < 4
