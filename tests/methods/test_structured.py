"""Structured PMD on the sparse Gaussian process: its laws, and what it reaches."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.targets import make_target


def session_of(num_data=200, seed=0, options=None, **knobs):
    made = {"num_data": num_data, "dim": 20, **(options or {})}
    return Session(Recipe("sparse_gp", "structured_pmd", target_options=made, seed=seed, budget=None, **knobs), 10**9)


@pytest.mark.parametrize("approximation", ["fitc", "dtc"])
def test_a_full_batch_at_step_size_1_is_the_exact_sparse_posterior(approximation):
    """Of every set of inducing inputs, in the usual form with inverses."""
    session = session_of(
        num_data=60, options={"approximation": approximation}, num_particles=3, batch_size=60, eta=1.0, n0=0.0
    )
    state, target = session.advance(1).state, session.target
    width, noise = target.kernel_width, target.options.noise_variance
    x, y = target.data.T
    for inputs, natural, factor in zip(state.particles, state.natural, state.constants, strict=True):
        z = inputs * width
        across = np.exp(-0.5 * ((x[:, None] - z) / width) ** 2)
        inner = factor @ factor.T
        projected = across @ np.linalg.inv(inner)
        left = 1 - (projected * across).sum(axis=1) if approximation == "fitc" else np.zeros(len(x))
        weight = projected / (noise + left)[:, None]
        cov = np.linalg.inv(np.linalg.inv(inner) + weight.T @ projected)
        whitened = np.linalg.inv(natural[:, :-1] + np.tril(natural[:, :-1], -1).T)
        np.testing.assert_allclose(factor @ whitened @ factor.T, cov, atol=1e-8)
        np.testing.assert_allclose(factor @ whitened @ natural[:, -1], cov @ (weight.T @ y), atol=1e-8)


def test_inducing_inputs_at_the_data_are_the_exact_process():
    options = {"dim": 40, "noise_variance": 0.1}
    session = session_of(num_data=40, options=options, num_particles=1, batch_size=40, eta=1.0, n0=0.0)
    frame, target = session.advance(1), session.target
    mean, sd = target.exact_process
    found = target.values(frame.density.mean[None])[0]
    np.testing.assert_allclose(found, mean, atol=1e-4)
    factor = target.values(np.eye(40)).T
    np.testing.assert_allclose(np.sqrt(np.diag(factor @ frame.density.cov @ factor.T)), sd, atol=1e-5)


def test_the_weights_are_ratios_of_integrals_over_the_inducing_values():
    """Two inducing inputs, five data, two steps: the integrals as sums over a fine grid of u."""
    knobs = {"num_particles": 2, "batch_size": 5, "eta": 0.3, "n0": 0.0}
    session = session_of(num_data=5, options={"dim": 2, "width": 3.0, "noise_variance": 0.3}, **knobs)
    target = session.target
    x, y = target.data.T
    axis = np.linspace(-9, 9, 1201)
    v = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    cell = (axis[1] - axis[0]) ** 2
    prior = np.exp(-0.5 * (v**2).sum(axis=1)) / (2 * np.pi)
    state, log_weights = session.frame.state, np.zeros(2)
    densities = [prior, prior]
    for step in (1, 2):
        gamma = 0.3 / np.sqrt(step)
        for j, (inputs, factor) in enumerate(zip(state.particles, state.constants, strict=True)):
            z = inputs * target.kernel_width
            a = np.linalg.solve(factor, np.exp(-0.5 * ((z[:, None] - x) / target.kernel_width) ** 2))
            variance = 0.3 + 1 - (a**2).sum(axis=0)
            log_rows = -0.5 * (y - v @ a) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
            product = densities[j] ** (1 - gamma) * prior**gamma * np.exp(gamma * log_rows.sum(axis=1))
            mass = product.sum() * cell
            densities[j], log_weights[j] = product / mass, (1 - gamma) * log_weights[j] + np.log(mass)
        frame = session.advance(1)
        expected = np.exp(log_weights) / np.exp(log_weights).sum()
        np.testing.assert_allclose(frame.weights, expected, rtol=1e-6)


def test_the_posterior_of_the_target_is_that_of_its_log_joint():
    target = make_target("sparse_gp", dim=6, num_data=50)
    exact, rng = target.exact, np.random.default_rng(0)
    points = exact.sample(rng, 8)
    np.testing.assert_allclose(target.log_joint(points) - exact.log_density(points), exact.log_z, rtol=1e-9)
