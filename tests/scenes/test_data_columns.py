import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial import cKDTree

import pmdviz
from pmdviz.data.tables import hold
from pmdviz.densities.density import Grid
from pmdviz.engine.session import Session
from pmdviz.scenes.columns import density_levels, region_lines
from pmdviz.scenes.data_columns import BINS, FINE_SIDE, coarse_lines, ground_of, moment, moved, moved_options
from pmdviz.targets import make_target
from tests.support.tables import looped, refused


def frame_of(target="mixture", iterations=3, **parts):
    session = Session(pmdviz.Recipe(target, **parts))
    session.advance(iterations)
    return session.frame


def finite(lines):
    """The points of lines, without the gaps between them."""
    points = np.column_stack([lines["x"], lines["y"]])
    return points[np.isfinite(points).all(axis=1)]


def area(bars):
    return float((bars["top"] * (bars["right"] - bars["left"])).sum())


def test_the_batch_is_a_part_of_the_bars():
    frame = frame_of(batch_size=200)
    seen = moment(frame)
    assert len(seen.bars["top"]) == BINS and area(seen.ground.bars) == pytest.approx(1)
    assert area(seen.bars) == pytest.approx(0.2) and (seen.bars["top"] <= seen.ground.bars["top"]).all()
    expected = np.histogram(frame.target.data[frame.batch_rows], np.append(seen.bars["left"], seen.bars["right"][-1]))
    assert_allclose(seen.bars["top"] * np.diff(expected[1]) * frame.num_data, expected[0])
    assert area(moment(frame_of(iterations=0)).bars) == 0
    assert area(moment(frame_of(method="hmc", iterations=1)).bars) == pytest.approx(1)  # a step by all data


def test_the_predictive_density_is_the_one_on_paper_and_that_of_q_comes_to_it():
    frame = frame_of("gaussian", target_options={"dim": 1})
    exact, noise = frame.target.exact, frame.target.options.sigma_x
    variance = exact.cov[0, 0] + noise**2
    line = moment(frame).ground.exact
    paper = np.exp(-0.5 * (line["x"] - exact.mean[0]) ** 2 / variance) / np.sqrt(2 * np.pi * variance)
    assert_allclose(line["y"], paper, atol=0.03 * paper.max())  # of 300 draws
    for iterations, is_near in ((0, False), (200, True)):
        seen = moment(frame_of("bimodal1d", iterations=iterations))
        away = np.abs(seen.approximate["y"] - seen.ground.exact["y"]).max()
        assert (away < 0.1 * seen.ground.exact["y"].max()) == is_near


def test_two_columns_are_dots_and_classes_have_a_line_between_them():
    seen = moment(frame_of("gaussian", batch_size=5))
    assert len(seen.ground.dots["x"]) == 20 and len(seen.dots["x"]) == 5 and not len(seen.bars["top"])
    assert len(seen.approximate["x"]) > 50
    frame = frame_of("logistic")
    target, inputs = frame.target, finite(moment(frame).ground.exact).astype(float)
    draws = target.reference().sample(np.random.default_rng(0), 300)
    assert_allclose(target.row_mean(draws, target.rows_at(inputs)).mean(axis=0), 0.5, atol=0.02)


def test_reading_it_changes_no_run_and_a_persons_table_is_drawn_by_its_feature():
    looked, alone = (Session(pmdviz.Recipe(num_particles=200)) for _ in range(2))
    for _ in range(6):
        moment(looked.advance(1))
    alone.advance(6)
    assert looked.frame.particles.tobytes() == alone.frame.particles.tobytes()
    assert looked._rng.bit_generator.state == alone._rng.bit_generator.state
    x = np.linspace(0, 4, 40)
    table = hold("line.csv", ["x", "y"], np.column_stack([x, 1 + 2 * x]))
    target = make_target("linear", data=table.pin, num_data=40, dim=2, sigma_y=0.1, prior_sd=10.0)
    ground = ground_of(target)
    assert_allclose(ground.dots["x"], x, rtol=1e-6)
    assert_allclose(ground.exact["y"], 1 + 2 * ground.exact["x"], atol=0.2)


def farthest(one, other):
    """The largest distance of a point of one line to the nearest of the other, both ways."""
    a, b = finite(one), finite(other)
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
    refused("no such handle", moved_options, target, 2, 0.0, 0.0)
