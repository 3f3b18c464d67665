import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes.columns import (
    HEAVIEST,
    INK,
    LARGEST_DOT,
    MASSES,
    MAX_DRAWN,
    contour_line,
    density_levels,
    dot_opacity,
    dot_sizes,
    drawn_rows,
    pack,
)
from pmdviz.scenes.stage.posterior import stage_columns


@pytest.fixture(scope="module")
def frame():
    session = Session(Recipe("mixture", num_particles=300, batch_size=50))
    return session.advance(3)


def gaussian(side=400, sd=1.0):
    axis = np.linspace(-6, 6, side)
    z = np.exp(-0.5 * (axis[:, None] ** 2 + axis**2) / sd**2) / (2 * np.pi * sd**2)
    return axis, z


def test_contours_hold_the_stated_mass_and_are_circles_of_the_right_radius_in_one_line():
    axis, z = gaussian()
    cell = (axis[1] - axis[0]) ** 2
    for mass, level in zip(MASSES, density_levels(z), strict=True):
        assert_allclose(z[z >= level].sum() * cell, mass, atol=0.002)
    _, z = gaussian()
    assert_allclose(density_levels(7 * z), 7 * density_levels(z), rtol=1e-12)
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


def test_area_is_proportional_to_weight_up_to_the_largest_dot():
    weights = np.array([0.001, 0.002, 0.007])
    sizes = dot_sizes(weights, 3)
    assert_allclose(sizes**2 / weights, INK, rtol=1e-5)
    for m in (100, 1000):
        assert_allclose((dot_sizes(np.full(m, 1 / m), m) ** 2).sum(), INK, rtol=1e-4)
    assert dot_sizes(np.array([0.5, 0.5]), 2).max() == LARGEST_DOT
    assert dot_sizes(np.array([0.5, 0.5]), 2, 7.0).max() == 7.0
    assert 0.85 >= dot_opacity(0.45, 2) > dot_opacity(0.45, 100) > dot_opacity(0.45, 1_500) == 0.45
    assert dot_opacity(0.45, 5_000) < 0.45


def test_the_heaviest_are_drawn_and_of_equally_heavy_ones_none_for_its_place():
    rng = np.random.default_rng(0)
    one, two = rng.dirichlet(np.full(50_000, 0.1)), rng.dirichlet(np.full(50_000, 0.1))
    rows = drawn_rows(one)
    assert len(rows) == len(np.unique(rows)) == MAX_DRAWN
    assert set(np.argsort(one)[-400:]) <= set(rows)
    assert len(set(rows) & set(drawn_rows(two))) >= 4000
    assert np.array_equal(drawn_rows(np.full(50_000, 1 / 50_000)), np.linspace(0, 49_999, MAX_DRAWN).astype(int))
    assert list(drawn_rows(np.full(7, 1 / 7))) == list(range(7))
    weights = np.zeros(100_000)
    weights[20_000:30_000] = 1e-4  # ten times the mean each: more than there is room for
    rows = drawn_rows(weights)
    chosen = rows[(rows >= 20_000) & (rows < 30_000)]
    assert len(rows) == MAX_DRAWN and len(chosen) == HEAVIEST + 500
    assert_allclose(np.histogram(chosen, 20, (20_000, 30_000))[0], 50, atol=2)
    behind = rows[rows >= 30_000]
    assert_allclose(np.histogram(behind, 20, (30_000, 100_000))[0], 4000 * 3.5 / 90, atol=3)  # gave way evenly, too


def test_the_hover_is_of_the_approximation_and_one_dimension_is_curves_over_a_rug(frame):
    shown = stage_columns(frame).particles["log_density"]
    exact = frame.density.log_density(frame.particles)
    near = exact > exact.max() - 5
    assert_allclose(shown[near], exact[near], atol=0.1)
    columns = stage_columns(Session(Recipe("bimodal1d", num_particles=200)).frame)
    assert columns.top > 0 and np.isfinite(columns.top)
    assert (columns.particles["y"] < 0).all()
    assert_allclose(np.trapezoid(columns.approximate["y"], columns.approximate["x"]), 1, atol=0.01)


def test_columns_come_back_and_a_shared_array_is_packed_once():
    x, y = np.arange(3, dtype=np.float32), np.array([1.5, np.nan])
    packed, layout = pack([(0, {"x": x, "same": x}), (2, {"y": y, "none": np.empty(0, np.float32)})])
    assert len(packed) == 4 * 5
    numbers = np.frombuffer(packed, "<f4")
    found = {
        (source, name): numbers[start : start + length]
        for source, columns in json.loads(layout)
        for name, start, length in columns
    }
    np.testing.assert_array_equal(found[0, "x"], x)
    np.testing.assert_array_equal(found[0, "same"], x)
    np.testing.assert_array_equal(found[2, "y"], y.astype(np.float32))
    assert len(found[2, "none"]) == 0
