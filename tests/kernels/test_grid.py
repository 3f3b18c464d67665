import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pmdviz.kernels import grid
from pmdviz.kernels.grid import kde_on_grid, kde_on_line
from pmdviz.kernels.kde import kde_log_density
from tests.kernels.naive import random_kernel, weighted
from tests.support.tables import looped

GX, GY = np.linspace(-3, 3, 90), np.linspace(-2, 4, 101)  # 101 rows: the last block has 5
KERNELS = {
    "narrow": np.eye(2) * 0.05,
    "one cell": np.eye(2) * 0.01,
    "wide": np.eye(2) * 2.0,
    "full": np.array([[0.3, 0], [0.24, 0.18]]),
    "full, wide": np.array([[2.0, 0], [-1.6, 1.2]]),
    "long, oblique": np.array([[0.4, 0], [0.38, 0.02]]),
    "long, other way": np.array([[0.4, 0], [-0.38, 0.02]]),
    "flat": np.array([[1.0, 0], [0.0, 0.01]]),
    "upright": np.array([[0.01, 0], [0.0, 1.0]]),
}


def exact(particles, log_weights, cholesky, gx, gy):
    points = np.stack(np.meshgrid(gx, gy), axis=-1).reshape(-1, 2)
    return np.exp(kde_log_density(particles, log_weights, cholesky, points)).reshape(gy.size, gx.size)


def assert_exact(result, truth, log_weights, cholesky):
    """Relative 1e-12, and what the skipped cells may lack: 2.1e-16 of each particle's own peak."""
    left_out = 2.1e-16 * np.exp(log_weights).sum() / (2 * np.pi * np.diagonal(cholesky).prod())
    np.testing.assert_allclose(result, truth, rtol=1e-12, atol=left_out)


WAYS = {"as chosen": grid.MAX_FACTOR, "rows": -1.0, "blocks": np.inf}
# The factors of a long oblique kernel overflow: it is never given to the blocks.
CASES = [(kernel, way) for kernel in KERNELS for way in WAYS if not ("long" in kernel and way == "blocks")]


@looped("kernel, way", CASES)
@looped("num", [1, 65, 600])
def test_against_the_log_density(kernel, way, num, rng, monkeypatch):
    monkeypatch.setattr(grid, "MAX_FACTOR", WAYS[way])
    particles, log_weights = weighted(rng, num, 2)
    particles = particles * 1.5 + 0.5  # some lie outside the box
    truth = exact(particles, log_weights, KERNELS[kernel], GX, GY)
    assert_exact(kde_on_grid(particles, log_weights, KERNELS[kernel], GX, GY), truth, log_weights, KERNELS[kernel])


@given(st.integers(0, 2**32 - 1), st.floats(-2.5, 1), st.sampled_from([1, 16, 17, 40]), st.sampled_from([1, 9, 33]))
def test_any_kernel_on_any_grid(seed, log_size, columns, rows):
    rng = np.random.default_rng(seed)
    particles, log_weights = weighted(rng, 12, 2)
    cholesky = random_kernel(rng, 2, 10**log_size)
    gx, gy = np.linspace(-2, 1.5, columns), np.linspace(-1, 2.5, rows)
    truth = exact(particles, log_weights, cholesky, gx, gy)
    assert_exact(kde_on_grid(particles, log_weights, cholesky, gx, gy), truth, log_weights, cholesky)


@looped("num", [1, 2, 65, 1500])
@looped("sd", [0.01, 0.3, 5.0])
def test_line_against_the_log_density(num, sd, rng):
    particles, log_weights = weighted(rng, num, 1)
    gx, cholesky = np.linspace(-2, 3, 257), np.array([[sd]])
    truth = np.exp(kde_log_density(particles, log_weights, cholesky, gx[:, None]))
    result = kde_on_line(particles, log_weights, cholesky, gx)
    np.testing.assert_allclose(result, truth, rtol=1e-12, atol=2.1e-16 / (np.sqrt(2 * np.pi) * sd))
