import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes import style
from pmdviz.scenes.columns import HIGH, SIDE, WIDE, area_image, difference_image, heat_image, marginals, with_strips
from pmdviz.scenes.race import tile_columns
from pmdviz.scenes.stage import SCENES, square
from pmdviz.scenes.style import palette


@pytest.fixture(scope="module")
def frame():
    return Session(Recipe(num_particles=300)).advance(3)


def test_the_heat_is_brightest_at_the_peak_and_a_tile_of_a_race_goes_without_it(frame):
    grid = frame.grid
    image = heat_image(grid.q, grid.grid.box)
    assert image.values.shape == (SIDE, SIDE) and image.values.dtype == np.float32
    assert image.values.max() == 0.5 and image.values.min() == 0.0, "in the colour of the approximation alone"
    row, column = np.unravel_index(image.values.argmin(), image.values.shape)
    peak = np.unravel_index(grid.q.argmax(), grid.q.shape)
    assert np.abs(np.array([row, column]) - np.array(peak) * SIDE / grid.grid.side).max() <= 1.5
    assert (heat_image(0 * grid.q, grid.grid.box).values == 0.5).all()
    scene = SCENES["posterior"]
    assert scene.columns(frame, (0, 1)).image is None, "particles show it"
    parametric = Session(Recipe("mixture", "svi")).advance(3)
    assert scene.columns(parametric, (0, 1)).image is not None
    assert tile_columns(parametric, 4, scene, (0, 1)).image is None


def test_the_colours_of_the_difference_add_up_to_the_total_variation(frame):
    grid = frame.grid
    image = difference_image(grid.p, grid.q, grid.grid.box)
    cells = np.prod(grid.grid.extent) / SIDE**2
    signed = (2 * image.values - 1) * grid.p.max() * cells
    assert 0.5 * np.abs(signed).sum() == pytest.approx(frame.metrics["tv"], abs=0.06)
    assert abs(signed.sum()) < 0.06, "as much is missing as there is too much"
    p, q = (values.ravel() for values in (grid.p, grid.q))
    most = np.abs(p - q).argmax()
    row, column = (int(k * SIDE / grid.grid.side) for k in np.unravel_index(most, grid.p.shape))
    assert (image.values[row, column] > 0.5) == (p[most] > q[most])
    assert image.ends == ("approximate", "exact")
    shades, layers = palette(False, image.ends), style.LIGHT.layers
    assert shades[0].startswith(layers["approximate"]) and shades[-1].startswith(layers["exact"])
    frame = Session(Recipe("bimodal1d", num_particles=300)).advance(3)
    columns = SCENES["difference"].columns(frame, (0, 1))
    values, (low, high), (bottom, top) = columns.image[:3]
    cell = (high - low) / values.shape[1] * (top - bottom) / values.shape[0]
    assert 0.5 * (values != 0.5).sum() * cell == pytest.approx(frame.metrics["tv"], abs=0.03)
    x = np.linspace(0, 1, 11)
    above = area_image(x, 0 * x, (0.0, 1.0), (0.0, 1.0)).values
    assert (above[:, -1] == 1).all() and above[-1, 3] == 0.5 and above[0, 3] == 1


def test_marginal_curves_stand_at_the_edges_and_the_exact_ones_fill_the_strips(frame):
    columns = SCENES["posterior"].columns(frame, (0, 1))
    x, y = square(frame.target.view_box)
    assert SCENES["posterior"].ranges(frame.target, (0, 1), np.nan) == with_strips(x, y)
    side = y[1] - y[0]
    over = columns.exact["y"] > y[1]
    heights = (columns.exact["y"][over] - y[1]) / (WIDE * side)
    assert heights.max() == pytest.approx(HIGH, abs=1e-4)
    grid = frame.grid
    curve, _ = marginals(grid.grid.axes, grid.p)
    at = columns.exact["x"][over]
    assert np.allclose(heights / HIGH, np.interp(at, grid.grid.axes[0], curve) / curve.max(), atol=1e-3)
    assert (columns.exact["x"] > x[1]).sum() > 50 and np.nanmax(columns.approximate["y"]) <= y[1] + WIDE * side + 1e-5
    weights = np.trapezoid(curve, grid.grid.axes[0])
    assert weights == pytest.approx(1, abs=0.01)
