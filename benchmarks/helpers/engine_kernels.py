"""Contests of the compiled kernels, one for each, with peers where somebody offers the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.helpers.contest import Contest, exponentials
from pmdviz.kernels.chains import hamiltonian, langevin, logistic_block_gradient, metropolis, uniforms_of
from pmdviz.kernels.clusters import clustered, median_distance, moments, pooled_local_covariance
from pmdviz.kernels.grid import kde_on_grid, kde_on_line
from pmdviz.kernels.kde import kde_log_density, kernels_of, leave_one_out, whiten
from pmdviz.kernels.likelihoods import (
    banana_grad_log_likelihood,
    banana_log_likelihood,
    bimodal_grad_log_likelihood,
    bimodal_log_likelihood,
    gaussian_grad_log_likelihood,
    gaussian_log_likelihood,
)
from pmdviz.kernels.mixture import mixture_grad_log_likelihood, mixture_log_likelihood, mixture_model
from pmdviz.kernels.resampling import largest_step, multinomial, residual, stratified, systematic, thinned
from pmdviz.kernels.spins import mixture_sweep
from pmdviz.kernels.stein import sampled_median_distance, stein_force

M, CELLS, BATCH = 1500, 160, 100
DRAWN_BEFORE = "the randomness was drawn before"


def contests(quick: bool) -> Iterator[Contest]:
    """Every kernel at the default size m = n = 1500; the density in other dimensions and sizes too."""
    rng = np.random.default_rng(0)
    x, note = np.linspace(-20.0, 0.0, 1536), "the ceiling is that of 2^x, against which the densities are held"
    yield Contest("exponentials alone, e^x", f"{M * 1536:,}", lambda: exponentials(x, M, "e"), M * 1536, note=note)
    large = [] if quick else [(10_000, 2, False), (10_000, 10, False), (10_000, 2, True)]
    for m, d, single in [*((M, d, False) for d in (2, 1, 3, 10, 50)), (M, 2, True), *large]:
        yield density(rng, m, d, single)
    for some in (on_grids, likelihoods, choices, shapes, moves):
        yield from some(rng)


def density(rng: np.random.Generator, m: int, d: int, single: bool) -> Contest:
    """log q of m weighted particles at m points."""
    particles, points = rng.standard_normal((m, d)), rng.standard_normal((m, d))
    weights, h = rng.dirichlet(np.full(m, 2.0)), (4 / (d + 2) / m) ** (1 / (d + 4))
    log_weights, cholesky = np.log(weights), h * np.eye(d)
    name, size = "KDE log density" + (", float32 inside" if single else ""), f"m = n = {m:,}, d = {d}"
    ours = partial(kde_log_density, particles, log_weights, cholesky, points, single)
    return Contest(name, size, ours, m * m, single=single)


def on_grids(rng: np.random.Generator) -> Iterator[Contest]:
    """The density on the grid that metrics and pictures use, and on a line."""
    particles, weights, h = rng.standard_normal((M, 2)), rng.dirichlet(np.full(M, 2.0)), 0.2
    axis, cholesky = np.linspace(-5, 5, CELLS), np.array([[h, 0.0], [0.4 * h, 0.8 * h]])
    size = f"m = {M:,}, {CELLS} x {CELLS} cells, oblique kernel"
    yield Contest("KDE on a grid", size, lambda: kde_on_grid(particles, np.log(weights), cholesky, axis, axis))
    line, column, size = np.linspace(-5, 5, 1024), particles[:, :1].copy(), f"m = {M:,}, 1,024 cells"
    ours = partial(kde_on_line, column, np.log(weights), np.array([[h]]), line)
    yield Contest("KDE on a line", size, ours, M * min(line.size, 2 * 8.5 * h / (line[1] - line[0])), "e")


def likelihoods(rng: np.random.Generator) -> Iterator[Contest]:
    """log p(batch | theta) and its gradient for every particle."""
    theta, x = rng.standard_normal((M, 2)), rng.standard_normal(BATCH) * 2.5
    size, pairs = f"m = {M:,}, batch of {BATCH}", M * BATCH
    ours, gradient = (partial(f, theta, x, 2.5, 0.5) for f in (mixture_log_likelihood, mixture_grad_log_likelihood))
    yield Contest("mixture log likelihood", size, ours, pairs, "e", numpy=lambda: _mixture(theta, x))
    yield Contest("mixture gradient", size, gradient, pairs, "e")
    own, others = rng.standard_normal((300, 2)), rng.standard_normal((10, 4))
    rows = np.column_stack([rng.standard_normal((200, 4)), rng.random(200) < 0.5])
    wide, line = x[:, None] * np.ones(2), theta[:, :1]
    yield Contest("Gaussian log likelihood", size, partial(gaussian_log_likelihood, theta, wide, 2.5))
    yield Contest("Gaussian gradient", size, partial(gaussian_grad_log_likelihood, theta, wide, 2.5))
    yield Contest("bimodal log likelihood", size, partial(bimodal_log_likelihood, line, x, 2.5))
    yield Contest("bimodal gradient", size, partial(bimodal_grad_log_likelihood, line, x, 2.5))
    few = "m = 300 against 10 others, N = 200, d = 4"
    ours = partial(logistic_block_gradient, own, others, np.arange(2), rows)
    yield Contest("logistic regression by blocks", few, ours, numpy=lambda: _blocks(own, others, rows))
    yield Contest("banana log likelihood", size, partial(banana_log_likelihood, theta, x, 2.5, 1.0))
    yield Contest("banana gradient", size, partial(banana_grad_log_likelihood, theta, x, 2.5, 1.0))


def _blocks(own: np.ndarray, others: np.ndarray, rows: np.ndarray) -> np.ndarray:
    logits = (own @ rows[:, :2].T)[:, None] + others[:, 2:] @ rows[:, 2:4].T
    return (rows[:, 4] - (1 / (1 + np.exp(-logits))).mean(axis=1)) @ rows[:, :2]


def _mixture(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    first = -0.5 * ((x - theta[:, :1]) / 2.5) ** 2
    second = -0.5 * ((x - theta.sum(axis=1)[:, None]) / 2.5) ** 2
    constant = np.log(theta.dtype.type(0.5)) - np.log(2.5 * np.sqrt(8 * np.arctan(theta.dtype.type(1))))
    return (np.logaddexp(first, second) + constant).sum(axis=1)


def choices(rng: np.random.Generator) -> Iterator[Contest]:
    """Resampling and neighbourhoods."""
    particles, weights, size = rng.standard_normal((M, 2)), rng.dirichlet(np.full(M, 2.0)), f"m = n = {M:,}"
    uniforms, ours, bare = rng.random(M), partial(systematic, weights, M, 0.5), partial(_systematic, weights)
    yield Contest("systematic resampling", size, ours, numpy=bare)
    for way in (stratified, residual, multinomial):
        yield Contest(f"{way.__name__} resampling", size, partial(way, weights, uniforms))
    candidates = rng.standard_normal((16 * M, 2))
    yield Contest("thinning", f"{M:,} of {16 * M:,}, d = 2", partial(thinned, candidates, M, uniforms))
    centres, size = systematic(weights, 60, 0.5), f"m = {M:,}, 60 centres, 150 neighbours"
    ours = partial(pooled_local_covariance, particles, weights, centres, np.ones(2), 150)
    yield Contest("neighbourhood covariance", size, ours)


def _systematic(weights: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.cumsum(weights), (np.arange(M) + 0.5) / M)


def shapes(rng: np.random.Generator) -> Iterator[Contest]:
    """What the shaped kernel is chosen by, and how far a step may go."""
    particles, weights = rng.standard_normal((M, 2)), rng.dirichlet(np.full(M, 2.0))
    judged, size = np.arange(400), f"m = {M:,}, d = 2"
    columns = whiten(particles, np.zeros(2), np.eye(2))
    kernels = kernels_of(columns, np.log(weights), columns[:, judged], judged)
    left_out = f"m = {M:,}, 400 left out, d = 2"
    yield Contest("leave-one-out log density", left_out, partial(leave_one_out, kernels, 0.5), M * 400, single=True)
    seeds = systematic(weights, 30, 0.5)
    yield Contest("two clusters", size, partial(clustered, particles, weights, seeds, 2))
    ours, bare = partial(moments, particles, weights), partial(np.cov, particles.T, aweights=weights, ddof=0)
    yield Contest("mean and covariance", size, ours, numpy=bare)
    name, slope = "largest step that keeps half of the ESS", -50.0 * (particles**2).sum(axis=1)
    yield Contest(name, f"m = {M:,}", lambda: largest_step(np.log(weights), slope, 1.0, 0.5))


def moves(rng: np.random.Generator) -> Iterator[Contest]:
    """What methods besides PMD need: Stein's force, median distances, a Gibbs sweep, many steps of a chain."""
    m, size = 1000, "m = 1,000, d = 2"
    particles, scores = rng.standard_normal((m, 2)), rng.standard_normal((m, 2))
    ours, bare = (partial(force, particles, scores, 0.5) for force in (stein_force, _force))
    yield Contest("Stein force", size, ours, m * m, numpy=bare)
    yield Contest("median distance, all pairs", size, partial(median_distance, particles))
    yield Contest("median distance, 20,000 sampled pairs", size, partial(sampled_median_distance, particles))
    theta, x, uniforms, normals = np.array([1.0, -2.0]), rng.standard_normal(M) * 2.5, rng.random(M), np.zeros(2)
    whole, sweep = f"N = {M:,}", partial(mixture_sweep, theta, x, 2.5, 0.5, 1.0, uniforms, normals)
    yield Contest("Gibbs sweep of the mixture", whole, sweep)
    yield Contest("uniforms from normals", f"n = {M:,}", partial(uniforms_of, x))
    model, reach, steps, batch = mixture_model(1.0, float(M), 2.5, 0.5), np.full(2, 1e6), 1000, 10
    batches, noise = x[rng.integers(M, size=(steps, batch))], rng.standard_normal((steps, 2))
    ours = partial(langevin, model, theta, batches, (1, 0.06, 100.0, 0.55), noise, reach)
    note = f"a step; {DRAWN_BEFORE}"
    yield Contest("Langevin steps on the mixture", "batches of 10", ours, steps * batch, calls=steps, note=note)
    name, num, start = "trajectories of 10 leapfrog steps on the mixture", 20, (theta, 0.0, np.zeros(2))
    given = (np.full(num, 10), np.ones(num), 0.05, np.ones(2), reach, 10**9)
    ours = partial(hamiltonian, model, x, start, noise[:num], *given)
    note = f"a trajectory with its accept step; {DRAWN_BEFORE}"
    yield Contest(name, whole, ours, num * 11 * M, calls=num, note=note)
    name, tries, of_tries = "random-walk proposals on the mixture", 200, rng.random(200)
    ours = partial(metropolis, model, x, theta, -np.inf, 0.1 * noise[:tries], of_tries)
    note = f"a proposal with its accept step; {DRAWN_BEFORE}"
    yield Contest(name, whole, ours, tries * M, calls=tries, note=note)


def _force(particles: np.ndarray, scores: np.ndarray, h: float) -> np.ndarray:
    gaps = particles[:, None] - particles
    kernel = np.exp(-(gaps**2).sum(axis=2) / h)
    return (kernel[:, :, None] * (scores + 2.0 / h * gaps)).mean(axis=1)
