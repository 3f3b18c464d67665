"""Narrow kernels, of any weights: TV and the reverse KL against a million draws of q."""

import numpy as np
import pytest

from pmdviz.densities.density import KernelDensity, normalise
from pmdviz.metrics import divergences as quasi_draws
from pmdviz.metrics.divergences import by_points, measure, picture
from pmdviz.targets import make_target

FAR = {"num_data": 400, "sigma_x": 1.5}  # modes that stand apart
TARGETS = [("mixture", {}), ("gaussian", {}), ("banana", {}), ("bimodal1d", {}), ("mixture", FAR)]
# Bandwidth, particles, sd of the log weights: equal weights, or a few particles that hold most of the weight.
KERNELS = [
    (0.002, 300, 0.0),
    (0.005, 1500, 0.0),
    (0.01, 1500, 3.0),
    (0.01, 600, 1.5),
    (0.02, 600, 0.5),
    (0.007, 4000, 2.0),
]
CASES = [(*target, *kernel, seed) for seed, target in enumerate(TARGETS) for kernel in KERNELS]
QUICK = [CASES[k] for k in (15, 22)]
DRAWS, BLOCK = 1_000_000, 100_000


def case(name, options, bandwidth, m, spread, seed):
    """The target, and a kernel density estimate of exact draws with weights of a log-normal."""
    target, rng = make_target(name, **options), np.random.default_rng([seed, m])
    draws = target.exact.sample(rng, m)
    return target, KernelDensity(draws, normalise(spread * rng.standard_normal(m)), bandwidth * np.eye(target.dim))


def by_draws(density, exact):
    """TV and reverse KL from a million independent draws of q, each with its standard error."""
    rng, values = np.random.default_rng(1), []
    for _ in range(DRAWS // BLOCK):
        parents = rng.choice(len(density.weights), BLOCK, p=density.weights / density.weights.sum())
        points = density.particles[parents] + rng.standard_normal((BLOCK, len(density.cholesky))) @ density.cholesky.T
        log_ratio = exact.log_density(points) - density.log_density(points)
        values.append([-np.expm1(np.minimum(log_ratio, 0.0)), -log_ratio])
    values = np.concatenate(values, axis=1)
    return values.mean(axis=1), values.std(axis=1) / np.sqrt(DRAWS)


def check(*parts):
    """TV and the reverse KL of what is measured, and of the points alone."""
    target, density = case(*parts)
    (tv, reverse), (_, error) = by_draws(density, target.exact)
    points = by_points(density, target.exact)
    found = measure(density, target.exact, picture(density, target.exact, target.view_box))
    assert abs(found["tv"] - tv) < 0.003 and abs(points["tv"] - tv) < 0.003
    for kl in (found["kl_reverse"], points["kl_reverse"]):
        assert abs(kl - reverse) < 5 * error + 0.01


@pytest.mark.parametrize("parts", QUICK, ids=str)
def test_narrow_kernels_agree_with_draws(parts):
    check(*parts)


def test_the_points_are_shared_out_by_weight_and_fill_each_kernel():
    _, density = case("mixture", {}, 0.01, 4, 1.0, 0)
    points, parents = quasi_draws.quasi_draws(density)
    for k, weight in enumerate(density.weights):
        noise = (points[parents == k] - density.particles[k]) / 0.01
        assert len(noise) == pytest.approx(weight * quasi_draws.NUM_POINTS, abs=1)
        assert np.abs(noise.mean(axis=0)).max() < 10 / len(noise), "far below the 1/sqrt(n) of draws"
        assert np.cov(noise.T) == pytest.approx(np.eye(2), abs=0.02)
