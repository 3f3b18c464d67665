import numpy as np
import pytest
from scipy.spatial import cKDTree

from pmdviz.densities.grid import Grid
from pmdviz.errors import InputError
from pmdviz.scenes.contours import density_levels, region_lines
from pmdviz.scenes.past import FINE_SIDE, coarse_lines, moved, moved_options
from pmdviz.targets import make_target
from tests.support.tables import looped


def farthest(one, other):
    """The largest distance of a point of one line to the nearest of the other, both ways."""
    a, b = (np.column_stack([lines["x"], lines["y"]]) for lines in (one, other))
    a, b = (points[np.isfinite(points).all(axis=1)] for points in (a, b))
    return max(cKDTree(x).query(y)[0].max() for x, y in ((a, b), (b, a)))


@looped("options", [{"num_data": 400, "sigma_x": 1.5}, {"num_data": 4_000}])
def test_coarse_regions_are_those_of_the_exact_posterior(options):
    target = make_target("mixture", **options)
    grid = Grid(target.view_box, FINE_SIDE)
    density = np.exp(target.exact.on_grid(grid))
    exact = region_lines(grid.axes, density)
    assert len(density_levels(density)) == 3
    cell = float(grid.extent.max()) / grid.side
    assert farthest(coarse_lines(target), exact) < 3 * cell


def test_a_dragged_mode_takes_the_posterior_along_up_to_the_bounds():
    lines = coarse_lines(make_target("bimodal1d"))
    assert np.trapezoid(lines["y"], lines["x"]) == pytest.approx(1.0, abs=1e-3)
    target = make_target("mixture", num_data=400, sigma_x=1.5)
    found = moved(target, 0, 2.0, -3.0)
    assert [handle.at for handle in found.handles] == [(2.0, -3.0), (-1.0, 3.0)]
    here = coarse_lines(make_target("mixture", num_data=400, sigma_x=1.5, theta1=2.0, theta2=-3.0))
    assert farthest(found.lines, here) == 0
    assert farthest(found.lines, coarse_lines(target)) > 0.5
    target = make_target("mixture")
    assert moved_options(target, 0, 99.0, -99.0) == {"theta1": 5.0, "theta2": -5.0}
    with pytest.raises(InputError, match="no such handle"):
        moved_options(target, 2, 0.0, 0.0)
