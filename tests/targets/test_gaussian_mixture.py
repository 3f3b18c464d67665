"""The exact mixture of Gaussians against SciPy, quadrature and draws; the target `gmm` and its bad options."""

import numpy as np
import pytest
from scipy import integrate, stats

from pmdviz.densities.grid import Grid
from pmdviz.targets.reference.gaussian_mixture import GaussianMixtureExact

WEIGHTS, MEANS = np.array([0.2, 0.5, 0.3]), np.array([[-1.0, 0.5], [1.5, 0.0], [0.0, -2.0]])
OBLIQUE = np.array([[1.0, 0.6], [0.6, 0.5]])
EACH = np.array([OBLIQUE, 0.3 * np.eye(2), np.diag([0.2, 1.5])])


@pytest.fixture(params=["one covariance", "one diagonal covariance", "one covariance each"])
def mixture(request):
    covs = {"one covariance": OBLIQUE, "one diagonal covariance": np.diag([0.5, 2.0]), "one covariance each": EACH}
    return GaussianMixtureExact(2 * WEIGHTS, MEANS, covs[request.param])


def test_the_density_is_the_sum_of_scipys(mixture):
    x = 3 * np.random.default_rng(0).standard_normal((600, 2))
    covs = np.broadcast_to(mixture.covs, (3, 2, 2))
    parts = [w * stats.multivariate_normal(m, c).pdf(x) for w, m, c in zip(WEIGHTS, MEANS, covs, strict=True)]
    np.testing.assert_allclose(mixture.log_density(x), np.log(np.sum(parts, axis=0)), rtol=1e-10)


def test_moments_and_mass_are_those_of_a_fine_grid(mixture):
    grid = Grid(mixture.box, 901)
    p = np.exp(mixture.on_grid(grid)).ravel() * grid.cell_volume
    mean = p @ grid.points
    assert p.sum() == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(mixture.mean, mean, atol=1e-9)
    np.testing.assert_allclose(mixture.cov, ((grid.points - mean) * p[:, None]).T @ (grid.points - mean), atol=1e-8)
    box = ((-1.2, 2.0), (-2.5, 0.7))
    share = p[Grid(box, 1).holds(grid.points)].sum()
    if (mixture.covs == mixture.covs * np.eye(2)).all():
        assert mixture.mass_in(box) == pytest.approx(share, abs=0.01)
    else:
        assert mixture.mass_in(box) < share, "a lower bound where coordinates are correlated"
    assert mixture.mass_in(mixture.box) == pytest.approx(1, abs=1e-9)


def test_a_marginal_is_what_is_left_when_the_other_coordinate_is_integrated_out(mixture):
    marginal = mixture.marginal_log_density([1])
    for y in (-2.0, 0.3):
        density = lambda x, y=y: float(np.exp(mixture.log_density(np.array([[x, y]])))[0])  # noqa: E731
        expected, _ = integrate.quad(density, *mixture.box[0], limit=200)
        assert np.exp(marginal(np.array([[y]]))) == pytest.approx(expected, rel=1e-6)


def test_components_that_stand_apart_have_boxes_of_their_own():
    apart = GaussianMixtureExact([0.5, 0.5], [[-10.0, 0.0], [10.0, 0.0]], 0.25 * np.eye(2))
    assert apart.boxes == (((-14.0, -6.0), (-4.0, 4.0)), ((6.0, 14.0), (-4.0, 4.0)))
    assert apart.box == ((-14.0, 14.0), (-4.0, 4.0))
    far = [[20.0 * k, 0.0] for k in range(12)]
    assert len(GaussianMixtureExact(np.ones(12), far, 0.25 * np.eye(2)).boxes) == 1, "too many to measure one by one"


def test_a_weight_of_zero_is_no_component():
    without = GaussianMixtureExact([1.0], MEANS[:1], OBLIQUE)
    x = np.random.default_rng(0).standard_normal((5, 2))
    for covs in (OBLIQUE, np.array([OBLIQUE, OBLIQUE])):
        found = GaussianMixtureExact([1.0, 0.0], MEANS[:2], covs)
        np.testing.assert_allclose(found.log_density(x), without.log_density(x), rtol=1e-12)


# The target.
