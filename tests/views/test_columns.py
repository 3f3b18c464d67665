import numpy as np
import pytest
from numpy.testing import assert_allclose

from pmdviz.recipe import Recipe
from pmdviz.session import Session
from pmdviz.views.columns import INK, MAX_DRAWN, dot_sizes, drawn_rows, stage_columns
from pmdviz.views.contours import MASSES, contour_line, density_levels


@pytest.fixture(scope="module")
def frame():
    session = Session(Recipe("mixture", num_particles=300, batch_size=50))
    return session.advance(3)


def gaussian(side=400, sd=1.0):
    axis = np.linspace(-6, 6, side)
    z = np.exp(-0.5 * (axis[:, None] ** 2 + axis**2) / sd**2) / (2 * np.pi * sd**2)
    return axis, z


def test_levels_hold_the_stated_mass():
    axis, z = gaussian()
    cell = (axis[1] - axis[0]) ** 2
    for mass, level in zip(MASSES, density_levels(z), strict=True):
        assert_allclose(z[z >= level].sum() * cell, mass, atol=0.002)


def test_levels_are_of_the_density_s_own_mass():
    _, z = gaussian()
    assert_allclose(density_levels(7 * z), 7 * density_levels(z), rtol=1e-12)


def test_levels_of_nothing_are_none():
    assert len(density_levels(np.zeros((5, 5)))) == 0


def test_contours_are_circles_of_the_right_radius_in_one_line():
    axis, z = gaussian()
    line = contour_line(axis, axis, z, density_levels(z))
    assert line["x"].dtype == line["y"].dtype == np.float32
    breaks = np.flatnonzero(np.isnan(line["x"]))
    assert len(breaks) == 3
    start = 0
    for mass, end in zip(MASSES, breaks, strict=True):
        radius = np.hypot(line["x"][start:end], line["y"][start:end])
        assert_allclose(radius, np.sqrt(-2 * np.log(1 - mass)), atol=0.01)
        start = end + 1


def test_area_is_proportional_to_weight_and_the_ink_is_the_same_for_any_number():
    weights = np.array([0.1, 0.2, 0.7])
    sizes = dot_sizes(weights, 3)
    assert_allclose(sizes**2 / weights, INK, rtol=1e-5)
    for m in (10, 1000):
        assert_allclose((dot_sizes(np.full(m, 1 / m), m) ** 2).sum(), INK, rtol=1e-4)


def test_at_most_5000_are_drawn_with_the_heaviest_and_otherwise_the_same_rows():
    rng = np.random.default_rng(0)
    one, two = rng.dirichlet(np.full(50_000, 0.1)), rng.dirichlet(np.full(50_000, 0.1))
    rows = drawn_rows(one)
    assert len(rows) == len(np.unique(rows)) == MAX_DRAWN
    assert set(np.argsort(one)[-400:]) <= set(rows)
    assert len(set(rows) & set(drawn_rows(two))) >= 4500
    assert list(drawn_rows(np.full(7, 1 / 7))) == list(range(7))


def test_columns_of_a_frame_are_float32_and_reading_them_changes_nothing(frame):
    before = frame.particles.copy()
    columns = stage_columns(frame)
    for source in columns[:3]:
        assert {array.dtype for array in source.values()} == {np.dtype(np.float32)}
    assert columns.drawn == columns.num_particles == 300
    assert_allclose(columns.particles["weight"].sum(), 1, rtol=1e-5)
    assert np.array_equal(frame.particles, before)


def test_log_density_of_the_hover_is_that_of_the_approximation(frame):
    shown = stage_columns(frame).particles["log_density"]
    exact = frame.density.log_density(frame.particles)
    near = exact > exact.max() - 5
    assert_allclose(shown[near], exact[near], atol=0.1)


def test_the_exact_lines_are_the_same_arrays_while_the_grid_stays(frame):
    assert stage_columns(frame).exact is stage_columns(frame).exact


def test_one_dimension_is_curves_over_a_rug():
    columns = stage_columns(Session(Recipe("bimodal1d", num_particles=200)).frame)
    assert columns.top > 0 and np.isfinite(columns.top)
    assert (columns.particles["y"] < 0).all()
    assert_allclose(np.trapezoid(columns.approximate["y"], columns.approximate["x"]), 1, atol=0.01)
