"""What the benches measure with: known errors of known densities, and where a run is looked at."""

import numpy as np
import pytest

from benchmarks import dimension, mean_of_runs
from benchmarks.helpers.gradient_free_rows import PLANE, PLANE_ROWS, described
from benchmarks.helpers.regressions import errors, linear
from pmdviz.densities.density import KernelDensity
from pmdviz.densities.grid import Grid
from pmdviz.engine.recipe import Recipe
from pmdviz.targets import make_target


def gaussian(mean, covariance):
    return KernelDensity(mean[None], np.zeros(1), np.linalg.cholesky(covariance))


def test_a_moved_and_stretched_density_has_the_errors_that_it_must_have():
    made, stretch = linear(3, 0, num_data=50), np.array([0.5, 1.0, 2.0])
    moved = made.mean + np.array([0.3, -0.4, 0.0]) * np.sqrt(np.diag(made.covariance))
    covariance = made.covariance * np.outer(stretch, stretch)
    for errors_of in (
        dimension.distances(made.mean, made.covariance, made),
        errors(gaussian(made.mean, made.covariance), made),
    ):
        assert (
            errors_of["error_of_mean"] == 0
            and errors_of["sd_ratio"] == pytest.approx(1)
            and abs(errors_of["kl"]) < 1e-9
        )
    found, drawn = dimension.distances(moved, covariance, made), errors(gaussian(moved, covariance), made)
    assert found["error_of_mean"] == pytest.approx(np.sqrt(0.25 / 3)) == pytest.approx(drawn["error_of_mean"])
    assert found["sd_ratio_least"] == pytest.approx(0.5) and found["sd_ratio_largest"] == pytest.approx(2)
    assert found["kl"] == pytest.approx(drawn["kl"], rel=0.1)
    shift, inverse = moved - made.mean, np.linalg.inv(covariance)
    kl = 0.5 * (np.trace(inverse @ made.covariance) + shift @ inverse @ shift - 3)  # the determinants are the same
    assert found["kl"] == pytest.approx(kl, rel=1e-9)


def test_a_weight_counts_as_so_many_points_and_weighted_draws_come_from_the_surrogate():
    target, points = make_target("gmm", **PLANE), np.array([[1.0, -2.0], [0.5, 3.0]])
    repeated = described(points[[0, 0, 1]], target)
    assert described(points, target, np.array([2, 1]) / 3) == pytest.approx(repeated, rel=1e-12)
    drawn = next(row for row in PLANE_ROWS if row.knobs and not row.method)._replace(
        knobs={"surrogate_mean": 0.0, "surrogate_sd": 1.0}, count=2000
    )
    assert drawn.measure(0)["mmd2"] < 2e-3 and drawn.measure(0)["ratio"] == pytest.approx(1, abs=0.1), "all weights 1"


def test_the_mean_of_the_densities_of_runs_integrates_to_one_and_is_nearer_than_the_runs():
    grid = Grid(((-8.0, 8.0),) * 2, 160)
    recipe = Recipe("mixture", "pmd", num_particles=100, budget=1000)
    every = mean_of_runs.densities([recipe.replaced(seed=seed) for seed in range(3)], grid)
    assert every.shape == (3, 160, 160) and not np.allclose(every[0], every[1])
    assert every.mean(axis=0).sum() * grid.cell_volume == pytest.approx(1, abs=1e-6)
    p = np.exp(recipe.make_target().exact.log_density(grid.points)).reshape(grid.shape)
    tvs = [mean_of_runs.distance(q, p, grid.cell_volume) for q in (*every, every.mean(axis=0), p)]
    assert tvs[3] <= np.mean(tvs[:3]) and tvs[4] == pytest.approx(0, abs=1e-6)
    assert mean_of_runs.distance(np.zeros_like(p), p, grid.cell_volume) == pytest.approx(1)
