"""Arrays of pictures: contours, dots, images, charts, data and their regions, and numbers in words."""

import html
import json
import math
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial import cKDTree

import pmdviz
from pmdviz.data.tables import hold
from pmdviz.densities.density import Grid
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.experiments import Chart, Series
from pmdviz.export.films import RaceFilm
from pmdviz.export.options import RaceLook
from pmdviz.scenes import chart_columns as charts
from pmdviz.scenes import columns as arrays
from pmdviz.scenes import style
from pmdviz.scenes.chart_columns import chart_picture, span
from pmdviz.scenes.columns import density_levels, region_lines
from pmdviz.scenes.data_columns import BINS, FINE_SIDE, coarse_lines, ground_of, moment, moved, moved_options
from pmdviz.scenes.race import Difference, difference, difference_of, difference_picture, tile_columns
from pmdviz.scenes.stage import SCENES, square
from pmdviz.scenes.style import palette
from pmdviz.scenes.words import button, marked, number
from pmdviz.targets import make_target
from pmdviz.views.drawing import PictureFigure
from tests.support.tables import looped, refused


@pytest.fixture(scope="module")
def frame():
    return Session(Recipe(num_particles=300)).advance(3)


def test_contours_hold_the_stated_mass_and_are_circles_of_the_right_radius_in_one_line():
    axis = np.linspace(-6, 6, 400)
    z = np.exp(-0.5 * (axis[:, None] ** 2 + axis**2)) / (2 * np.pi)
    assert_allclose(arrays.density_levels(7 * z), 7 * arrays.density_levels(z), rtol=1e-12)
    line = arrays.contour_line(axis, axis, z, arrays.density_levels(z))
    assert line["x"].dtype == line["y"].dtype == np.float32
    breaks = np.flatnonzero(np.isnan(line["x"]))
    assert len(breaks) == 3
    start = 0
    for mass, end in zip(arrays.MASSES, breaks, strict=True):
        radius = np.hypot(line["x"][start:end], line["y"][start:end])
        assert_allclose(radius, np.sqrt(-2 * np.log(1 - mass)), atol=0.01)
        start = end + 1


def test_dots_have_areas_by_weight_and_the_heaviest_are_drawn():
    weights = np.array([0.001, 0.002, 0.007])
    sizes = arrays.dot_sizes(weights, 3)
    assert_allclose(sizes**2 / weights, arrays.INK, rtol=1e-5)
    for m in (100, 1000):
        assert_allclose((arrays.dot_sizes(np.full(m, 1 / m), m) ** 2).sum(), arrays.INK, rtol=1e-4)
    assert arrays.dot_sizes(np.array([0.5, 0.5]), 2).max() == arrays.LARGEST_DOT
    assert arrays.dot_sizes(np.array([0.5, 0.5]), 2, 7.0).max() == 7.0
    assert 0.85 >= arrays.dot_opacity(0.45, 2) > arrays.dot_opacity(0.45, 100) > arrays.dot_opacity(0.45, 1_500) == 0.45
    assert arrays.dot_opacity(0.45, 5_000) < 0.45
    rng = np.random.default_rng(0)
    one, two = rng.dirichlet(np.full(50_000, 0.1)), rng.dirichlet(np.full(50_000, 0.1))
    rows = arrays.drawn_rows(one)
    assert len(rows) == len(np.unique(rows)) == arrays.MAX_DRAWN
    assert set(np.argsort(one)[-400:]) <= set(rows)
    assert len(set(rows) & set(arrays.drawn_rows(two))) >= 4000
    rows = arrays.drawn_rows(np.full(50_000, 1 / 50_000))
    assert np.array_equal(rows, np.linspace(0, 49_999, arrays.MAX_DRAWN).astype(int))
    assert list(arrays.drawn_rows(np.full(7, 1 / 7))) == list(range(7))
    weights = np.zeros(100_000)
    weights[20_000:30_000] = 1e-4  # ten times the mean each: more than there is room for
    rows = arrays.drawn_rows(weights)
    chosen = rows[(rows >= 20_000) & (rows < 30_000)]
    assert len(rows) == arrays.MAX_DRAWN and len(chosen) == arrays.HEAVIEST + 500
    assert_allclose(np.histogram(chosen, 20, (20_000, 30_000))[0], 50, atol=2)
    behind = rows[rows >= 30_000]
    assert_allclose(np.histogram(behind, 20, (30_000, 100_000))[0], 4000 * 3.5 / 90, atol=3)  # gave way evenly, too


def test_the_hover_is_of_the_approximation_and_one_dimension_is_curves_over_a_rug(frame):
    shown = SCENES["posterior"].columns(frame, (0, 1)).particles["log_density"]
    exact = frame.density.log_density(frame.particles)
    near = exact > exact.max() - 5
    assert_allclose(shown[near], exact[near], atol=0.1)
    columns = SCENES["posterior"].columns(Session(Recipe("bimodal1d", num_particles=200)).frame, (0, 1))
    assert columns.top > 0 and np.isfinite(columns.top)
    assert (columns.particles["y"] < 0).all()
    assert_allclose(np.trapezoid(columns.approximate["y"], columns.approximate["x"]), 1, atol=0.01)


def test_columns_come_back_and_a_shared_array_is_packed_once():
    x, y = np.arange(3, dtype=np.float32), np.array([1.5, np.nan])
    packed, layout = arrays.pack([(0, {"x": x, "same": x}), (2, {"y": y, "none": np.empty(0, np.float32)})])
    assert len(packed) == 4 * 5
    numbers, parts = np.frombuffer(packed, "<f4"), dict(json.loads(layout))
    for source, expected in ((0, {"x": x, "same": x}), (2, {"y": y, "none": []})):
        for name, start, length in parts[source]:
            np.testing.assert_array_equal(numbers[start : start + length], expected[name])


def test_the_heat_is_brightest_at_the_peak_and_a_tile_of_a_race_goes_without_it(frame):
    grid = frame.grid
    image = arrays.heat_image(grid.q, grid.grid.box)
    assert image.values.shape == (arrays.SIDE, arrays.SIDE) and image.values.dtype == np.float32
    assert image.values.max() == 0.5 and image.values.min() == 0.0, "in the colour of the approximation alone"
    row, column = np.unravel_index(image.values.argmin(), image.values.shape)
    peak = np.unravel_index(grid.q.argmax(), grid.q.shape)
    assert np.abs(np.array([row, column]) - np.array(peak) * arrays.SIDE / grid.grid.side).max() <= 1.5
    assert (arrays.heat_image(0 * grid.q, grid.grid.box).values == 0.5).all()
    scene = SCENES["posterior"]
    assert scene.columns(frame, (0, 1)).image is None, "particles show it"
    parametric = Session(Recipe("mixture", "svi")).advance(3)
    assert scene.columns(parametric, (0, 1)).image is not None
    assert tile_columns(parametric, 4, scene, (0, 1)).image is None


def test_the_colours_of_the_difference_add_up_to_the_total_variation(frame):
    grid = frame.grid
    image = arrays.difference_image(grid.p, grid.q, grid.grid.box)
    cells = np.prod(grid.grid.extent) / arrays.SIDE**2
    signed = (2 * image.values - 1) * grid.p.max() * cells
    assert 0.5 * np.abs(signed).sum() == pytest.approx(frame.metrics["tv"], abs=0.06)
    assert abs(signed.sum()) < 0.06, "as much is missing as there is too much"
    p, q = (values.ravel() for values in (grid.p, grid.q))
    most = np.abs(p - q).argmax()
    row, column = (int(k * arrays.SIDE / grid.grid.side) for k in np.unravel_index(most, grid.p.shape))
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
    above = arrays.area_image(x, 0 * x, (0.0, 1.0), (0.0, 1.0)).values
    assert (above[:, -1] == 1).all() and above[-1, 3] == 0.5 and above[0, 3] == 1


def test_marginal_curves_stand_at_the_edges_and_the_exact_ones_fill_the_strips(frame):
    columns = SCENES["posterior"].columns(frame, (0, 1))
    x, y = square(frame.target.view_box)
    assert SCENES["posterior"].ranges(frame.target, (0, 1), np.nan) == arrays.with_strips(x, y)
    side = y[1] - y[0]
    over = columns.exact["y"] > y[1]
    heights = (columns.exact["y"][over] - y[1]) / (arrays.WIDE * side)
    assert heights.max() == pytest.approx(arrays.HIGH, abs=1e-4)
    grid = frame.grid
    curve, _ = arrays.marginals(grid.grid.axes, grid.p)
    at = columns.exact["x"][over]
    assert np.allclose(heights / arrays.HIGH, np.interp(at, grid.grid.axes[0], curve) / curve.max(), atol=1e-3)
    assert (columns.exact["x"] > x[1]).sum() > 50
    assert np.nanmax(columns.approximate["y"]) <= y[1] + arrays.WIDE * side + 1e-5
    assert np.trapezoid(curve, grid.grid.axes[0]) == pytest.approx(1, abs=0.01)


def chart(*series, **rest):
    return Chart(series, "particles m", "error", **rest)


def test_points_and_bands_lie_within_the_axes_and_what_has_no_place_is_left_out():
    x = np.geomspace(10, 10_000, 7)
    laws = [Series("mean", x, y, 0.7 * y, 1.3 * y) for y in (x**-0.5, 3.0 * x**-0.25)]
    picture = chart_picture(chart(*laws, levels=[("independent draws", 1e-3)]), {})
    for k in range(2):
        points, band = (picture.marks[f"{name}-{k}"].columns for name in ("line", "band"))
        for axis, values in ((picture.x, points["x"]), (picture.y, np.concatenate([band["low"], band["high"]]))):
            assert (axis.low < values).all() and (values < axis.high).all()
    assert picture.y.low < 1e-3
    series = Series("a", np.array([0.0, 1, 2, 3, 4]), np.array([1.0, np.nan, 0.0, -1.0, 5.0]))
    points = chart_picture(chart(series), {}).marks["line-0"].columns
    assert points["x"].tolist() == [4] and points["y"].tolist() == [5]
    straight = chart_picture(chart(series, x_log=False, y_log=False), {})
    assert straight.marks["line-0"].columns["x"].tolist() == [0, 2, 3, 4]
    series = Series("a", np.array([1.0, 2]), np.array([1.0, 2]), np.array([-1.0, 0.5]), np.array([3.0, 4.0]))
    picture = chart_picture(chart(series), {})
    assert picture.marks["band-0"].columns["low"][0] == picture.y.low and 0 < picture.y.low < 0.5
    assert chart_picture(chart(series, y_log=False), {}).marks["band-0"].columns["low"].tolist() == [-1, 0.5]
    for values, log in product(([], [np.nan], [0.0], [-2.0]), (False, True)):  # an axis without usable values is one
        low, high = span([np.array(values)], log)
        assert low < high and np.isfinite([low, high]).all(), values
    lows = [span([np.array([low, 1.0])], log=False, from_zero=True)[0] for low in (0.1, 0.9, -0.1)]
    assert lows[0] == 0 and lows[1] > 0.85 and lows[2] < -0.1


def test_a_guide_has_its_slope_goes_through_the_middle_of_the_points_and_stays_on_the_axes():
    x = np.geomspace(10, 10_000, 7)
    picture = chart_picture(chart(Series("mean", x, x**-0.5), slopes=[("own", -0.5), ("steep", 3.0)]), {})
    own, steep = (picture.marks[f"slope-{k}"].columns for k in range(2))
    assert own["y"] == pytest.approx(own["x"] ** -0.5) and own["x"][0] < 10 < 10_000 < own["x"][1]
    assert steep["y"] == pytest.approx([picture.y.low, picture.y.high])
    assert np.sqrt(steep["x"].prod()) == pytest.approx(np.sqrt(10 * 10_000))


def test_an_ellipse_holds_68_per_cent_of_its_gaussian():
    mean, cov = np.array([1.0, -2.0]), np.array([[4.0, 3.0], [3.0, 2.5]])
    line = charts.outlines(mean, cov)
    inside = np.column_stack([line["x"], line["y"]])[:-1] - mean
    radius2 = np.einsum("ni,ij,nj->n", inside, np.linalg.inv(cov), inside)
    np.testing.assert_allclose(1 - np.exp(-0.5 * radius2), charts.MASS, rtol=1e-6)


def test_the_difference_of_two_traces_says_who_is_closer_and_is_linear_in_between():
    made = pmdviz.race("pmd:num_particles=200,pmd:num_particles=400", "gaussian", budget=120)
    *_, scene = RaceFilm(made, RaceLook.checked({"every": 20})).scenes()
    found, (one, other) = difference_of(scene), (tile.trace for tile in scene.tiles)
    assert np.array_equal(one["visited"], other["visited"]) and len(found.x) == 7
    assert np.array_equal(found.x, one["visited"]) and np.array_equal(found.y, other["tv"] - one["tv"])
    lower = [tile.row["tv"] for tile in scene.tiles]
    assert found.closer == found.titles[int(lower[1] < lower[0])]
    assert found.closer in found.words and found.words.endswith("(at 120 observations)")
    same = Difference(np.array([0.0, 5]), np.zeros(2), found.metric, found.titles, "data")
    assert same.words == "TV is the same at 5 observations" and same.reach == 1.0
    nothing = Difference(np.empty(0), np.empty(0), found.metric, found.titles, "data")
    assert nothing.words == nothing.closer == "" and nothing.reach == 1.0
    view = PictureFigure("race-second", difference_picture(found, "visited", 204.0), "width")
    data, y = {name: source.data for name, source in view.sources.items()}, view.figure.y_range
    inside = np.clip(found.y, -found.reach, found.reach)
    assert np.array_equal(data["line"]["y"], inside) and np.array_equal(data["line"]["x"], found.x)
    assert np.array_equal(data["above"]["high"] + data["below"]["low"], inside) and (data["above"]["high"] >= 0).all()
    assert y.start == -y.end and list(data["zero"]["y"]) == [0, 0]
    assert [data[key]["text"] for key in ("first", "second")] == [[f"{title} closer"] for title in found.titles]
    assert [data[key]["y"] for key in ("first", "second")] == [[1.0], [0.0]]
    one = {"visited": np.array([0.0, 10, 30]), "tv": np.array([1.0, 0.5, 0.1])}
    other = {"visited": np.array([5.0, 20, 25, 40]), "tv": np.array([0.9, np.nan, 0.3, 0.2])}
    x, y = difference(one, other, "visited", "tv")
    assert x.tolist() == [5, 10, 25, 30]
    assert y == pytest.approx([0.9 - 0.75, 0.75 - 0.5, 0.3 - 0.2, 0.3 - 0.1 / 3 - 0.1])
    nothing = {"visited": np.array([0.0]), "tv": np.array([np.nan])}
    assert not len(difference(one, nothing, "visited", "tv")[0])


def test_numbers_in_words_and_words_of_the_glossary_as_buttons():
    said = {0.08721: "0.0872", 1234.5: "1,230", 12.345: "12.3", 0.0: "0", -2.5: "-2.50", 0.9996: "1.00"}
    said |= {1e-5: "below 0.0001", -1e-5: "just below 0", math.inf: "infinite", -math.inf: "minus infinite"}
    for value, words in {**said, math.nan: "not known", None: "not known"}.items():
        assert number(value) == words
    said = marked(html.escape("iteration 3, TV 0.087 < 1, independent draws 0.088, forward KL 2"))
    assert said == (
        f"iteration 3, {button('TV', 'tv')} 0.087 &lt; 1, {button('independent draws', 'independent-draws')} 0.088, "
        f"{button('forward KL', 'kl')} 2"
    )
    assert marked("ESSEX, TVs, batch of 100") == "ESSEX, TVs, batch of 100"


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


def drawn_of(picture, *names):
    return (picture.marks[name].columns for name in names)


def test_the_batch_is_a_part_of_the_bars():
    frame = frame_of(batch_size=200)
    every, bars = drawn_of(moment(frame), "data", "batch")
    assert len(bars["top"]) == BINS and area(every) == pytest.approx(1)
    assert area(bars) == pytest.approx(0.2) and (bars["top"] <= every["top"]).all()
    expected = np.histogram(frame.target.data[frame.batch_rows], np.append(bars["left"], bars["right"][-1]))
    assert_allclose(bars["top"] * np.diff(expected[1]) * frame.num_data, expected[0])
    for drawn, share in ((frame_of(iterations=0), 0), (frame_of(method="hmc", iterations=1), 1)):  # a step by all data
        (bars,) = drawn_of(moment(drawn), "batch")
        assert area(bars) == pytest.approx(share)


def test_the_predictive_density_is_the_one_on_paper_and_that_of_q_comes_to_it():
    frame = frame_of("gaussian", target_options={"dim": 1})
    exact, noise = frame.target.exact, frame.target.options.sigma_x
    variance = exact.cov[0, 0] + noise**2
    (line,) = drawn_of(moment(frame), "exact")
    paper = np.exp(-0.5 * (line["x"] - exact.mean[0]) ** 2 / variance) / np.sqrt(2 * np.pi * variance)
    assert_allclose(line["y"], paper, atol=0.03 * paper.max())  # of 300 draws
    for iterations, is_near in ((0, False), (200, True)):
        q, p = drawn_of(moment(frame_of("bimodal1d", iterations=iterations)), "approximate", "exact")
        assert (np.abs(q["y"] - p["y"]).max() < 0.1 * p["y"].max()) == is_near


def test_two_columns_are_dots_and_classes_have_a_line_between_them():
    seen = moment(frame_of("gaussian", batch_size=5))
    every, lit, line, bars = drawn_of(seen, "data dots", "batch dots", "approximate", "batch")
    assert len(every["x"]) == 20 and len(lit["x"]) == 5 and len(line["x"]) > 50 and not len(bars["top"])
    frame = frame_of("logistic")
    target, inputs = frame.target, finite(*drawn_of(moment(frame), "exact")).astype(float)
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
    dots, line = drawn_of(ground_of(target), "data dots", "exact")
    assert_allclose(dots["x"], x, rtol=1e-6)
    assert_allclose(line["y"], 1 + 2 * line["x"], atol=0.2)


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
