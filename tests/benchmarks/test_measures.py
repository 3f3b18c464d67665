"""What the benches measure with: known errors of known densities, optima, exponents, and where a run is looked at."""

import numpy as np
import pytest

from benchmarks import dimension, mean_of_runs
from benchmarks.helpers.gradient_free_rows import PLANE, PLANE_ROWS, described
from benchmarks.helpers.regressions import errors, linear
from benchmarks.optima import Optimum, _above, gaussian_optima, mixture_optima, negative_elbo, nodes
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


def test_the_gradient_of_the_elbo_is_that_of_differences():
    target, (points, weights) = make_target("mixture", num_data=40, sigma_x=1.5), nodes()
    flat = np.array([0.4, -0.9, np.log(0.3), np.log(0.5), -0.2])
    _, gradient = negative_elbo(flat, target, points, weights)
    for k, step in enumerate(1e-5 * np.eye(5)):
        ahead, behind = (negative_elbo(flat + s, target, points, weights)[0] for s in (step, -step))
        assert gradient[k] == pytest.approx((ahead - behind) / 2e-5, rel=1e-5, abs=1e-5)


@pytest.mark.ci
def test_the_optimum_on_a_gaussian_is_the_posterior_and_the_best_climb_comes_first():
    target = make_target("gaussian", num_data=30)
    for optimum in gaussian_optima(target, 2):
        np.testing.assert_allclose(optimum.density.mean, target.exact.mean, atol=1e-5)
        np.testing.assert_allclose(optimum.density.cov, target.exact.cov, atol=1e-5)
        assert optimum.tv < 1e-3
    optima = mixture_optima(make_target("mixture", num_data=60, sigma_x=1.5), 2)
    assert optima[0].elbo >= optima[1].elbo and all(0 < optimum.tv < 1 for optimum in optima)


def test_runs_are_held_against_the_optimum_of_their_side():
    lower, upper = Optimum(2.0, None, 0.4, False), Optimum(1.0, None, 0.6, True)
    found = _above([[(0.41, False), (0.62, True)], [(0.4, False), (0.6, True)]], [[lower, upper]] * 2)
    assert found["tv"] == pytest.approx(0.5075, abs=1e-3)
    assert found["above_the_best_optimum"] == pytest.approx(0.1075, rel=0.01)
    assert found["above_the_optimum_of_its_mode"] == pytest.approx(0.0075, rel=0.01)
    assert found["largest_above_the_optimum_of_its_mode"] == pytest.approx(0.02, rel=0.01)


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
