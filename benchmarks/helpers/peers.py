"""Kernel density estimates of other libraries, on the same particles, weights, kernel and points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.helpers.contest import Peer
from benchmarks.measuring import Call, needed, race


class Work(NamedTuple):
    """A density to be evaluated: round kernels of sd h, so that every library can."""

    particles: np.ndarray  # (m, d)
    weights: np.ndarray  # (m,) sum 1
    bandwidth: float
    points: np.ndarray  # (n, d)


def density_peers(work: Work, slow: bool, in_jax: bool = True) -> tuple[Peer, ...]:
    """All that can do it; the `slow` ones (above 100 ms at m = n = 1500) where asked for."""
    quick = [
        Peer("scipy gaussian_kde.logpdf", lambda: _scipy(work, "logpdf")),
        Peer("scipy gaussian_kde.pdf", lambda: _scipy(work, "pdf")),
    ]
    jax = [Peer("jax, best of 4 jitted forms", lambda: _jax(work))] if in_jax else []
    slower = [
        Peer("scikit-learn KernelDensity", lambda: _sklearn(work)),
        Peer("KDEpy NaiveKDE", lambda: _kdepy(work)),
    ]
    return tuple(quick + jax + (slower if slow else []))


def _scipy(work: Work, function: str) -> Call:
    (stats,) = needed("scipy.stats")

    class Fixed(stats.gaussian_kde):
        """The estimate with a kernel that is given instead of found."""

        def _compute_covariance(self) -> None:
            self.factor = work.bandwidth
            self.covariance = work.bandwidth**2 * np.eye(self.d)
            self.cho_cov = work.bandwidth * np.eye(self.d)
            self.log_det = 2 * np.log(np.diag(self.cho_cov * np.sqrt(2 * np.pi))).sum()

    kde, points = Fixed(work.particles.T, weights=work.weights), work.points.T.copy()
    if function == "pdf":
        return lambda: np.log(kde.pdf(points))
    return lambda: kde.logpdf(points)


def _sklearn(work: Work) -> Call:
    (neighbors,) = needed("sklearn.neighbors")
    kde = neighbors.KernelDensity(bandwidth=work.bandwidth, rtol=1e-12, atol=0.0)
    kde.fit(work.particles, sample_weight=work.weights * len(work.weights))
    return lambda: kde.score_samples(work.points)


def _kdepy(work: Work) -> Call:
    (kdepy,) = needed("KDEpy")
    kde = kdepy.NaiveKDE(kernel="gaussian", bw=work.bandwidth).fit(work.particles, weights=work.weights)
    return lambda: np.log(kde.evaluate(work.points))


def _jax(work: Work) -> Call:
    """The fastest of four ways to write it: compiled by XLA in float64, one thread."""
    calls = {name: _jax_call(form, work) for name, form in jax_forms().items()}
    times = race(calls, 5)
    return calls[min(times, key=times.__getitem__)]


def one_thread_jax() -> Any:
    """jax in float64 on one thread of the processor."""
    import os

    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    (jax,) = needed("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


def _jax_call(form: Callable[..., Any], work: Work) -> Call:
    jax = one_thread_jax()
    d, numpy = work.particles.shape[1], jax.numpy
    constant = -d * np.log(work.bandwidth) - d / 2 * np.log(2 * np.pi)
    u, v = numpy.asarray(work.particles / work.bandwidth), numpy.asarray(work.points / work.bandwidth)
    log_w = numpy.asarray(np.log(work.weights))
    compiled = jax.jit(lambda u, log_w, v: form(u, log_w, v) + constant)
    return lambda: compiled(u, log_w, v).block_until_ready()


def jax_forms() -> dict[str, Callable[..., Any]]:
    """Ways to write log sum_j w_j exp(-|u_j - v|^2 / 2) for rows v."""
    jax = one_thread_jax()
    jnp, logsumexp = jax.numpy, jax.scipy.special.logsumexp

    def differences(u: Any, log_w: Any, v: Any) -> Any:
        return logsumexp(log_w - 0.5 * ((v[:, None] - u) ** 2).sum(-1), axis=1)

    def product(u: Any, log_w: Any, v: Any) -> Any:
        exponents = (log_w - 0.5 * (u**2).sum(1)) + v @ u.T - 0.5 * (v**2).sum(1)[:, None]
        return logsumexp(exponents, axis=1)

    def bounded(u: Any, log_w: Any, v: Any) -> Any:
        squares = sum((v[:, k, None] - u[:, k]) ** 2 for k in range(u.shape[1]))
        return jnp.log(jnp.exp(log_w - 0.5 * squares).sum(axis=1))

    def in_blocks(u: Any, log_w: Any, v: Any) -> Any:
        return jax.lax.map(lambda row: jnp.log(jnp.exp(log_w - 0.5 * ((row - u) ** 2).sum(-1)).sum()), v, batch_size=64)

    return {"differences": differences, "product": product, "bounded": bounded, "in blocks": in_blocks}
