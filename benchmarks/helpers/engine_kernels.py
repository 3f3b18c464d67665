"""Contests of the compiled kernels, one for each, with peers where somebody offers the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.helpers.contest import Contest, exponentials
from pmdviz.kernels.chains import hamiltonian, langevin, logistic_block_gradient, metropolis, uniforms_of
from pmdviz.kernels.clusters import clustered, median_distance, moments, pooled_local_covariance
from pmdviz.kernels.grid import kde_on_grid, kde_on_line
from pmdviz.kernels.kde import kde_log_density, kernels_of, leave_one_out
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


def contests(quick: bool) -> Iterator[Contest]:
    """Every kernel at the default size m = n = 1500; the density in other dimensions and sizes too."""
    rng = np.random.default_rng(0)
    exponents = np.linspace(-20.0, 0.0, 1536)
    yield Contest(
        name="exponentials alone, e^x",
        size=f"{M * 1536:,}",
        ours=lambda: exponentials(exponents, M, "e"),
        exponentials=M * 1536,
        note="the ceiling is that of 2^x, against which the densities are held",
    )
    for d in (2, 1, 3, 10, 50):
        yield density(rng, M, d)
    yield density(rng, M, 2, single=True)
    if not quick:
        for d in (2, 10):
            yield density(rng, 10_000, d)
        yield density(rng, 10_000, 2, single=True)
    yield from on_grids(rng)
    yield from likelihoods(rng)
    yield from choices(rng)
    yield from shapes(rng)
    yield from moves(rng)


def density(rng: np.random.Generator, m: int, d: int, single: bool = False) -> Contest:
    """log q of m weighted particles at m points."""
    particles, points = rng.standard_normal((m, d)), rng.standard_normal((m, d))
    weights, h = rng.dirichlet(np.full(m, 2.0)), (4 / (d + 2) / m) ** (1 / (d + 4))
    log_weights, cholesky = np.log(weights), h * np.eye(d)
    return Contest(
        name="KDE log density" + (", float32 inside" if single else ""),
        size=f"m = n = {m:,}, d = {d}",
        ours=lambda: kde_log_density(particles, log_weights, cholesky, points, single),
        exponentials=m * m,
        single=single,
    )


def on_grids(rng: np.random.Generator) -> Iterator[Contest]:
    """The density on the grid that metrics and pictures use, and on a line."""
    particles, weights, h = rng.standard_normal((M, 2)), rng.dirichlet(np.full(M, 2.0)), 0.2
    axis, cholesky = np.linspace(-5, 5, CELLS), np.array([[h, 0.0], [0.4 * h, 0.8 * h]])
    yield Contest(
        name="KDE on a grid",
        size=f"m = {M:,}, {CELLS} x {CELLS} cells, oblique kernel",
        ours=lambda: kde_on_grid(particles, np.log(weights), cholesky, axis, axis),
    )
    line, column = np.linspace(-5, 5, 1024), particles[:, :1].copy()
    yield Contest(
        name="KDE on a line",
        size=f"m = {M:,}, {line.size:,} cells",
        ours=lambda: kde_on_line(column, np.log(weights), np.array([[h]]), line),
        exponentials=M * min(line.size, 2 * 8.5 * h / (line[1] - line[0])),
        base="e",
    )


def likelihoods(rng: np.random.Generator) -> Iterator[Contest]:
    """log p(batch | theta) and its gradient for every particle."""
    theta, x = rng.standard_normal((M, 2)), rng.standard_normal(BATCH) * 2.5
    size, pairs = f"m = {M:,}, batch of {BATCH}", M * BATCH
    yield Contest(
        name="mixture log likelihood",
        size=size,
        ours=lambda: mixture_log_likelihood(theta, x, 2.5, 0.5),
        numpy=lambda: _mixture(theta, x),
        exponentials=pairs,
        base="e",
    )
    gradient = lambda: mixture_grad_log_likelihood(theta, x, 2.5, 0.5)  # noqa: E731
    yield Contest("mixture gradient", size, gradient, exponentials=pairs, base="e")
    own, others = rng.standard_normal((300, 2)), rng.standard_normal((10, 4))
    rows = np.column_stack([rng.standard_normal((200, 4)), rng.random(200) < 0.5])
    wide, line = x[:, None] * np.ones(2), theta[:, :1]
    yield Contest("Gaussian log likelihood", size, lambda: gaussian_log_likelihood(theta, wide, 2.5))
    yield Contest("Gaussian gradient", size, lambda: gaussian_grad_log_likelihood(theta, wide, 2.5))
    yield Contest("bimodal log likelihood", size, lambda: bimodal_log_likelihood(line, x, 2.5))
    yield Contest("bimodal gradient", size, lambda: bimodal_grad_log_likelihood(line, x, 2.5))
    yield Contest(
        "logistic regression by blocks",
        "m = 300 against 10 others, N = 200, d = 4",
        lambda: logistic_block_gradient(own, others, np.arange(2), rows),
        numpy=lambda: _block_gradient(own, others, rows),
    )
    yield Contest("banana log likelihood", size, lambda: banana_log_likelihood(theta, x, 2.5, 1.0))
    yield Contest("banana gradient", size, lambda: banana_grad_log_likelihood(theta, x, 2.5, 1.0))


def _block_gradient(own: np.ndarray, others: np.ndarray, rows: np.ndarray) -> np.ndarray:
    logits = (own @ rows[:, :2].T)[:, None] + others[:, 2:] @ rows[:, 2:4].T
    return (rows[:, 4] - (1 / (1 + np.exp(-logits))).mean(axis=1)) @ rows[:, :2]


def _mixture(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    first = -0.5 * ((x - theta[:, :1]) / 2.5) ** 2
    second = -0.5 * ((x - theta.sum(axis=1)[:, None]) / 2.5) ** 2
    constant = np.log(theta.dtype.type(0.5)) - np.log(2.5 * np.sqrt(8 * np.arctan(theta.dtype.type(1))))
    return (np.logaddexp(first, second) + constant).sum(axis=1)


def choices(rng: np.random.Generator) -> Iterator[Contest]:
    """Resampling and neighbourhoods."""
    particles, weights = rng.standard_normal((M, 2)), rng.dirichlet(np.full(M, 2.0))
    yield Contest(
        name="systematic resampling",
        size=f"m = n = {M:,}",
        ours=lambda: systematic(weights, M, 0.5),
        numpy=lambda: np.searchsorted(np.cumsum(weights), (np.arange(M) + 0.5) / M),
    )
    uniforms = rng.random(M)
    for way in (stratified, residual, multinomial):
        yield Contest(f"{way.__name__} resampling", f"m = n = {M:,}", lambda way=way: way(weights, uniforms))
    candidates = rng.standard_normal((16 * M, 2))
    yield Contest("thinning", f"{M:,} of {16 * M:,}, d = 2", lambda: thinned(candidates, M, uniforms))
    centres = systematic(weights, 60, 0.5)
    yield Contest(
        name="neighbourhood covariance",
        size=f"m = {M:,}, 60 centres, 150 neighbours",
        ours=lambda: pooled_local_covariance(particles, weights, centres, np.ones(2), 150),
    )


def shapes(rng: np.random.Generator) -> Iterator[Contest]:
    """What the shaped kernel is chosen by, and how far a step may go."""
    particles, weights = rng.standard_normal((M, 2)), rng.dirichlet(np.full(M, 2.0))
    judged, own = np.arange(400), np.arange(400)
    kernels = kernels_of(particles, np.log(weights), particles[judged], own)
    yield Contest(
        name="leave-one-out log density",
        size=f"m = {M:,}, {len(judged)} left out, d = 2",
        ours=lambda: leave_one_out(kernels, 0.5),
        exponentials=M * len(judged),
        single=True,
    )
    size, seeds = f"m = {M:,}, d = 2", systematic(weights, 30, 0.5)
    yield Contest("two clusters", size, lambda: clustered(particles, weights, seeds, 2))
    yield Contest(
        name="mean and covariance",
        size=size,
        ours=lambda: moments(particles, weights)[1],
        numpy=lambda: np.cov(particles.T, aweights=weights, ddof=0),
    )
    slope = -50.0 * (particles**2).sum(axis=1)
    yield Contest("largest step that keeps half of the ESS", f"m = {M:,}", lambda: _limited(weights, slope))


def _limited(weights: np.ndarray, slope: np.ndarray) -> float:
    return largest_step(np.log(weights), slope, 1.0, 0.5)


def moves(rng: np.random.Generator) -> Iterator[Contest]:
    """What methods besides PMD need: Stein's force, median distances, a Gibbs sweep."""
    m = 1000
    particles, scores = rng.standard_normal((m, 2)), rng.standard_normal((m, 2))
    yield Contest(
        name="Stein force",
        size=f"m = {m:,}, d = 2",
        ours=lambda: stein_force(particles, scores, 0.5),
        numpy=lambda: _force(particles, particles, scores, 0.5),
        exponentials=m * m,
    )
    size = f"m = {m:,}, d = 2"
    yield Contest("median distance, all pairs", size, lambda: median_distance(particles))
    yield Contest("median distance, 20,000 sampled pairs", size, lambda: sampled_median_distance(particles))
    theta, x, uniforms, normals = np.array([1.0, -2.0]), rng.standard_normal(M) * 2.5, rng.random(M), np.zeros(2)
    yield Contest(
        "Gibbs sweep of the mixture", f"N = {M:,}", lambda: mixture_sweep(theta, x, 2.5, 0.5, 1.0, uniforms, normals)
    )
    yield Contest("uniforms from normals", f"n = {M:,}", lambda: uniforms_of(x))
    yield from _chains(rng, theta, x)


def _chains(rng: np.random.Generator, theta: np.ndarray, x: np.ndarray) -> Iterator[Contest]:
    """Many steps of a chain in one call."""
    model, reach, steps, batch = mixture_model(1.0, M, 2.5, 0.5), np.full(2, 1e6), 1000, 10
    batches, noise = x[rng.integers(M, size=(steps, batch))], rng.standard_normal((steps, 2))
    yield Contest(
        name="Langevin steps on the mixture",
        size=f"batches of {batch}",
        ours=lambda: langevin(model, theta, batches, (1, 0.06, 100.0, 0.55), noise, reach),
        exponentials=steps * batch,
        calls=steps,
        note="a step; the randomness was drawn before",
    )
    start, num, lengths = (theta, 0.0, np.zeros(2)), 20, np.full(20, 10)
    yield Contest(
        name="trajectories of 10 leapfrog steps on the mixture",
        size=f"N = {M:,}",
        ours=lambda: hamiltonian(model, x, start, noise[:num], lengths, np.ones(num), 0.05, np.ones(2), reach, 10**9),
        exponentials=num * 11 * M,
        calls=num,
        note="a trajectory with its accept step; the randomness was drawn before",
    )
    tries, uniforms = 200, rng.random(200)
    yield Contest(
        name="random-walk proposals on the mixture",
        size=f"N = {M:,}",
        ours=lambda: metropolis(model, x, theta, -np.inf, 0.1 * noise[:tries], uniforms),
        exponentials=tries * M,
        calls=tries,
        note="a proposal with its accept step; the randomness was drawn before",
    )


def _force(rows: np.ndarray, particles: np.ndarray, scores: np.ndarray, h: float) -> np.ndarray:
    gaps = rows[:, None] - particles
    kernel = np.exp(-(gaps**2).sum(axis=2) / h)
    return (kernel[:, :, None] * (scores + 2.0 / h * gaps)).mean(axis=1)
