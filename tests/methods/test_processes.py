"""Structured PMD, SVI-GP and the subset of data on the sparse Gaussian process, against exact answers."""

import numpy as np

from pmdviz.targets import make_target
from tests.support.engine import advanced
from tests.support.tables import looped


def session_of(method, num_data=60, seed=0, options=None, **knobs):
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
    """Of every set of inducing inputs, in the usual form with inverses; of SVI-GP the optimum of Titsias 2009, Eq. 10.

    That one is q(u) = N(K S^-1 K_un y / noise, K S^-1 K) with S = K + K_un K_nu / noise, as with DTC.
    """
    knobs = {"batch_size": 60, "eta": 1.0, "n0": 0.0, **({"num_particles": 3} if method == "structured_pmd" else {})}
    session = session_of(method, options={"approximation": approximation}, **knobs)
    state, target = session.advance(1).state, session.target
    noise, (x, y) = target.options.noise_variance, target.data.T
    for inputs, natural, factor in zip(state.particles, state.natural, state.constants, strict=True):
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
    session = session_of("structured_pmd", 5, options={"dim": 2, "width": 3.0, "noise_variance": 0.3}, **knobs)
    target, state, axis = session.target, session.frame.state, np.linspace(-9, 9, 601)
    (x, y), width = target.data.T, target.kernel_width
    v = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    prior = np.exp(-0.5 * (v**2).sum(axis=1)) / (2 * np.pi)
    log_weights, densities = np.zeros(2), [prior, prior]
    for step in (1, 2):
        gamma = 0.3 / np.sqrt(step)
        for j, (inputs, factor) in enumerate(zip(state.particles, state.constants, strict=True)):
            a = np.linalg.solve(factor, kernel(inputs * width, x, width))
            variance = 0.3 + 1 - (a**2).sum(axis=0)
            log_rows = -0.5 * (y - v @ a) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
            product = densities[j] ** (1 - gamma) * prior**gamma * np.exp(gamma * log_rows.sum(axis=1))
            mass = product.sum() * (axis[1] - axis[0]) ** 2
            densities[j], log_weights[j] = product / mass, (1 - gamma) * log_weights[j] + np.log(mass)
        expected = np.exp(log_weights) / np.exp(log_weights).sum()
        np.testing.assert_allclose(session.advance(1).weights, expected, rtol=1e-6)


def test_the_posterior_of_the_target_is_that_of_its_log_joint():
    target = make_target("sparse_gp", dim=6, num_data=50)
    exact, rng = target.exact, np.random.default_rng(0)
    points = exact.sample(rng, 8)
    np.testing.assert_allclose(target.log_joint(points) - exact.log_density(points), exact.log_z, rtol=1e-9)


def test_steps_on_batches_come_to_the_optimum_of_all_data():
    whole = session_of("svi_gp", seed=3, batch_size=60, eta=1.0, n0=0.0).advance(1).state
    parts = session_of("svi_gp", seed=3, batch_size=10, eta=1.0, n0=0.0, kappa=1.0).advance(6).state
    assert np.array_equal(whole.particles, parts.particles)
    np.testing.assert_allclose(parts.natural, whole.natural, rtol=1e-9, atol=1e-6)


def test_a_subset_is_the_process_of_its_rows():
    session = session_of("subset_gp", options={"noise_variance": 0.1}, subset_size=25, batch_size=10)
    frame, target = session.advance(100), session.target
    inputs = target.inducing_inputs(frame.state.particles[0])[:, 0]
    rows = target.data[[int(np.abs(target.data[:, 0] - x).argmin()) for x in inputs]]
    assert len(np.unique(rows, axis=0)) == 25 and frame.visited == 25
    across = kernel(rows[:, 0], target.points[:, 0], target.kernel_width)
    both = kernel(rows[:, 0], rows[:, 0], target.kernel_width) + 0.1 * np.eye(25)
    expected = across.T @ np.linalg.solve(both, rows[:, 1])
    np.testing.assert_allclose(target.values(frame.density.mean[None])[0], expected, atol=1e-4)
