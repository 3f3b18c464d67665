"""Scenes of one target or one method each: functions, states, weights, topics; blocks, ladders, rings."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods.stein.discrete_gf_svgd import quantile_bins
from pmdviz.scenes.columns import CORNERS
from pmdviz.scenes.stage import SCENES, applicable_scenes, components, ladder, square
from pmdviz.scenes.stage.discrete import BARS, FAINT, NEUTRAL, TOP
from pmdviz.scenes.stage.predictions import CELLS as TILE_CELLS
from pmdviz.scenes.stage.predictions import HIGH as TILE_HIGH
from pmdviz.scenes.stage.predictions import POINTS, _curve, weighted_quantiles
from pmdviz.targets.gaussian_process import truth
from pmdviz.targets.rows import curve as net_curve
from tests.support.engine import frame_of, short_chains
from tests.support.tables import looped

NAMES = "blocks followers ladder reweighting surrogate weight_signs"
BLOCKS, FOLLOWERS, LADDER, REWEIGHTING, SURROGATE, WEIGHTS = (SCENES[name] for name in NAMES.split())


def curves(line, each):
    """The curves of a line, without the gaps between them: (number, each)."""
    return line["y"][~np.isnan(line["x"])].reshape(-1, each)


def of_process(method="structured_pmd", **options):
    return frame_of("sparse_gp", method, 3, **{"num_data": 200, "dim": 30, "noise_variance": 0.01, **options})


def test_the_exact_band_is_the_process_of_all_data_and_beyond_it_the_sparse_posterior():
    frame = of_process(dim=3)
    found = SCENES["band"].columns(frame, (0, 1))
    x, y = frame.target.data.T
    at = np.linspace(x.min(), x.max(), POINTS)
    width = frame.target.kernel_width
    across, both = (np.exp(-0.5 * ((z[:, None] - x) / width) ** 2) for z in (at, x))
    solved = np.linalg.solve(both + 0.01 * np.eye(len(x)), np.column_stack([y, across.T]))
    mean, sd = across @ solved[:, 0], np.sqrt(1 - np.einsum("ij,ji->i", across, solved[:, 1:]))
    np.testing.assert_allclose(curves(found.exact, POINTS), [mean, mean - 2 * sd, mean + 2 * sd], atol=1e-5)
    np.testing.assert_allclose(found.prior["y"], truth(found.prior["x"].astype(float)), atol=1e-5)
    assert len(found.others["x"]) == 200
    frame = of_process(num_data=5000, dim=12)
    mean, low, high = curves(SCENES["band"].columns(frame, (0, 1)).exact, POINTS)
    assert frame.target.process_at(np.zeros((1, 1))) is None
    reference = frame.target.row_mean(frame.target.exact.mean[None], frame.target.rows_at(np.zeros((1, 1))))
    assert mean[POINTS // 2] == pytest.approx(reference[0, 0], abs=0.01) and (low < mean).all() and (mean < high).all()


@looped("method, number", [("structured_pmd", 30), ("svi_gp", 30), ("subset_gp", 48), ("pmd", 0)])
def test_the_rug_is_the_inducing_inputs_where_a_method_has_such(method, number):
    frame = of_process(method)
    assert "band" in applicable_scenes(frame.target, frame.method)
    rug = SCENES["band"].columns(frame, (0, 1)).particles
    assert len(rug["x"]) == number and len({*rug["y"]}) <= 1
    assert np.isin(rug["x"], frame.target.data[:, 0].astype(np.float32)).all()


def test_the_band_is_that_of_y_over_the_nets_themselves():
    frame = frame_of("regression_net", "pmfvb_nn", 20, num_data=60, hidden=5, batch_size=30)
    target, theta, found = frame.target, frame.particles, SCENES["predictive_band"].columns(frame, (0, 1))
    x = np.linspace(target.data[:, 0].min(), target.data[:, 0].max(), POINTS)
    each = target.row_mean(theta, target.rows_at(x[:, None]))
    mean, sd = each.mean(axis=0), np.sqrt(each.var(axis=0) + target.noise_variance(theta).mean())
    np.testing.assert_allclose(curves(found.approximate, POINTS), [mean, mean - 2 * sd, mean + 2 * sd], atol=1e-5)
    function = curves(SCENES["band"].columns(frame, (0, 1)).approximate, POINTS)
    np.testing.assert_allclose(function[2], mean + 2 * each.std(axis=0), atol=1e-5)
    expected = target.row_mean(theta.mean(axis=0)[None], target.rows_at(found.paths["x0"][:, None].astype(float)))[0]
    np.testing.assert_allclose(found.paths["y0"], expected, atol=1e-4)
    np.testing.assert_allclose(found.paths["x0"][1:], found.paths["x1"][:-1])
    np.testing.assert_allclose(found.prior["y"], net_curve(found.prior["x"][:, None].astype(float)), atol=1e-5)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    short_chains(monkeypatch)


def of_path(method="pmfvb", steps=5, **options):
    return frame_of("stochastic_volatility", method, steps, **{"num_data": 12, "data_seed": 7, **options})


@looped("shares", [(0.05, 0.5, 0.95), (0.0, 1.0)])
def test_weighted_quantiles_are_those_of_repeated_values_and_curves_densities_of_weighted_ones(shares):
    rng = np.random.default_rng(0)
    values, counts = rng.normal(size=(30, 4)), rng.integers(1, 5, 30)
    expected = np.quantile(np.repeat(values, counts, axis=0), shares, axis=0, method="inverted_cdf")
    for weights in (counts / counts.sum(), 3.0 * counts):
        np.testing.assert_array_equal(weighted_quantiles(values, weights, shares), expected)
    weights, y = counts / counts.sum(), values[:, 0]
    x, density = _curve(y, weights, (-8.0, 8.0))
    np.testing.assert_allclose(np.trapezoid([density, x * density], x), [1, weights @ y], atol=1e-3)


def test_the_bands_are_quantiles_also_of_a_file_without_a_true_path_and_of_draws(tmp_path):
    frame = of_path()
    found, target = SCENES["hidden_path"].columns(frame, (0, 1)), frame.target
    draws = target.reference().draws
    for line, points in ((found.exact, draws), (found.approximate, frame.particles)):
        expected = np.quantile(points[:, 3:], (0.05, 0.5, 0.95), axis=0, method="inverted_cdf")
        np.testing.assert_allclose(curves(line, 12), expected, atol=1e-5)
    assert found.drawn == found.num_particles == 0  # the bands have no particles
    np.testing.assert_allclose(found.prior["y"], target.true_path, atol=1e-6)
    np.testing.assert_array_equal(found.prior["x"], np.arange(1, 13))
    path = tmp_path / "returns.csv"
    path.write_text("0.5\n-1.0\n2.0\n0.25\n")
    found = SCENES["hidden_path"].columns(of_path(data=str(path), num_data=4), (0, 1))
    assert not len(found.prior["y"]) and curves(found.exact, 4).shape == (3, 4)
    frame = of_path("npv", 1)
    found = curves(SCENES["hidden_path"].columns(frame, (0, 1)).approximate, 12)
    expected = np.quantile(frame.draws[:, 3:], (0.05, 0.5, 0.95), axis=0, method="inverted_cdf")
    np.testing.assert_allclose(found, expected, atol=1e-5)


@looped("method", ["pmfvb", "importance"])
def test_tiles_have_densities_of_equal_scale_and_moments_in_words(method):
    frame = of_path(method, 3)
    scene = SCENES["reported"]
    found, names = scene.columns(frame, (0, 1)), frame.target.reported_names
    assert [text[0] for text in found.words.text[::5]] == [name[0] for name in names]
    values = frame.target.reported(frame.particles)
    for k in range(3):
        mean = float((frame.weights * values[:, k]).sum())
        sd = float(np.sqrt((frame.weights * (values[:, k] - mean) ** 2).sum()))
        assert found.words.text[5 * k + 1] == f"q {mean:.3g} ± {sd:.2g}"
    exact = curves(found.exact, TILE_CELLS)
    feet = np.array([0.1, 0.1, 0.1]) + found.words.y[2::5] - 0.03
    np.testing.assert_allclose(exact.max(axis=1) - feet, TILE_HIGH - 0.1, atol=1e-4)
    (x0, x1), (y0, y1) = scene.ranges(frame.target, (0, 1), np.nan)
    assert x0 <= np.nanmin(found.exact["x"]) and np.nanmax(found.approximate["y"]) <= y1 and y0 < y1 and x0 < x1


def heights(line, count, foot=0.0):
    """Of the last `count` bars of a line, each of six points."""
    return line["y"][-6 * count :].reshape(count, 6)[:, 1] - foot


@looped("method", ["gibbs", "discrete_gf_svgd"])
def test_bars_are_probabilities_and_shares(method):
    frame = frame_of("categorical", method, 20)
    columns = SCENES["value_bars"].columns(frame, (0, 1))
    target, q = frame.target, frame.density
    np.testing.assert_allclose(heights(columns.exact, 5), target.probabilities, rtol=1e-6)
    shares = [q.weights[q.particles[:, 0] == value].sum() for value in target.space.values]
    np.testing.assert_allclose(heights(columns.approximate, 5), shares, rtol=1e-6)
    assert columns.approximate["x"][-4] > columns.exact["x"][-4]  # side by side


@looped("knobs", [{}, {"bins_per_value": 2}, {"base_spread": 4.0}, {"clip": 1.0}])
def test_bins_hold_the_points_that_stand_in_them(knobs):
    frame = frame_of("categorical", "discrete_gf_svgd", 20, num_particles=40, **knobs)
    columns, gamma = SCENES["quantile_bins"].columns(frame, (0, 1)), quantile_bins(frame.target, frame.knobs)
    count = gamma.num_bins
    shown = heights(columns.approximate, count, BARS)
    inside = np.bincount(np.searchsorted(gamma.edges, frame.state.latent[:, 0]), minlength=count) / 40
    np.testing.assert_allclose(shown / shown.sum(), inside, atol=1e-5)
    exact = heights(columns.exact, count, BARS)
    probabilities = frame.target.probabilities[np.arange(count) % 5]
    np.testing.assert_allclose(exact / exact.sum(), probabilities / probabilities.sum(), rtol=1e-5)
    assert max(columns.exact["y"][~np.isnan(columns.exact["y"])].max(), shown.max() + BARS) <= TOP
    start = int(np.isnan(columns.exact["y"][0]))
    steps = columns.exact["y"][start : start + len(columns.prior["y"])] / columns.prior["y"]
    np.testing.assert_allclose(np.unique(np.round(steps, 3)), np.sort(5 * frame.target.probabilities))
    assert len(columns.particles["x"]) == 40 and len(columns.words.text) == count


def test_an_image_is_the_weights_of_one_unit_and_the_words_are_the_accuracies():
    options = {"num_data": 60, "hidden": 11}
    recipe = Recipe("binary_net", "straight_through", target_options=options, num_particles=3)
    frame = Session(recipe).advance(3)
    columns = WEIGHTS.columns(frame, (0, 1))
    cells = columns.image.values[::-1]
    assert cells.shape == (2 * 17 + 6, 71)  # two rows of eight images of 8 x 8, and as many below them
    mean = 0.5 * (1 + frame.density.mean[: 64 * 11].reshape(8, 8, 11))
    for unit in (0, 1, 7, 8, 10):
        row, column = 9 * (unit // 8), 9 * (unit % 8)
        np.testing.assert_allclose(cells[row : row + 8, column : column + 8], mean[:, :, unit], atol=1e-6)
        one = frame.particles[-1][: 64 * 11].reshape(8, 8, 11)[:, :, unit]
        below = cells[23 + row : 23 + row + 8, column : column + 8]
        np.testing.assert_array_equal(below, (one > 0).astype(np.float32))
    assert np.isnan(cells[8]).all() and np.isnan(cells[9:17, 27:71]).all()
    words, ((left, right), (low, high)) = columns.words, WEIGHTS.ranges(frame.target, (0, 1), 0)
    together, alone = frame.metrics["accuracy"], frame.metrics["single_accuracy"]
    assert words.text == (f"together {together:.1%} right", f"each alone {alone:.1%}")
    assert (left < words.x).all() and (words.x < right).all() and (low < words.y).all() and (words.y < high).all()


def tile(cells, number, columns=3, side=3, gap=1):
    """The cells of a tile, its top row first; six tiles in two rows."""
    rows = len(cells) // (side + 2 * gap)
    bottom, left = (rows - 1 - number // columns) * (side + 2 * gap) + 2 * gap, number % columns * (side + gap)
    return cells[bottom : bottom + side, left : left + side][::-1].ravel()


def test_tiles_are_the_topics_of_the_heaviest_particle_and_lines_the_shares_of_the_document():
    options = {"num_data": 60, "num_topics": 5, "side": 3}
    recipe = Recipe("topics", "structured_pmd", target_options=options, batch_size=20, num_particles=3)
    frame, scene = Session(recipe, 10**9).advance(4), SCENES["topics"]
    image = scene.columns(frame, (2, 0)).image.values
    best = frame.particles[[int(np.argmax(frame.weights))]]
    topics = best.reshape(5, 9)
    for number, topic in enumerate(topics):
        shown = NEUTRAL + FAINT + (NEUTRAL - FAINT) * topic / topic.max()
        np.testing.assert_allclose(tile(image, number), shown, rtol=1e-5)
    first, _, end = frame.target.test_data[2]
    corpus = frame.target.corpus
    counts = np.bincount(corpus.words[first:end], corpus.counts[first:end], 9)
    np.testing.assert_allclose(tile(image, 5), NEUTRAL - FAINT - (NEUTRAL - FAINT) * counts / counts.max(), rtol=1e-5)
    topics, lengths = frame.target.topics(best), []
    for document in (0, 4):
        line = scene.columns(frame, (document, 1)).approximate["x"]
        ends = line[np.isfinite(line)].reshape(5, 2)
        lengths.append(np.diff(ends, axis=1)[:, 0] / 3)
        shares = frame.target.shares(topics, frame.target.test_data[[document]])[0, 0]
        np.testing.assert_allclose(lengths[-1], shares, atol=1e-5)
    assert not np.allclose(*lengths)


def of_blocks(steps=30, **parts):
    return frame_of("correlated_gaussian", "pmfvb", steps, num_particles=60, **parts)


@looped("pair", [(0, 1), (1, 2), (2, 1)])
def test_ticks_stand_at_the_particles_of_each_block_on_its_own_axis(pair):
    frame = of_blocks(dim=3, grouping="single", step_size=0.1)
    (left, right), (low, high) = square(frame.target.view_box, pair)
    paths = BLOCKS.columns(frame, pair).paths
    length = 0.03 * (high - low)
    upright = paths["x0"] == paths["x1"]
    np.testing.assert_array_equal(paths["x0"][upright], frame.particles[:, pair[0]].astype(np.float32))
    np.testing.assert_array_equal(paths["y0"][~upright], frame.particles[:, pair[1]].astype(np.float32))
    np.testing.assert_allclose(paths["y1"][upright] - low, length, rtol=1e-5)
    np.testing.assert_allclose(paths["x1"][~upright] - left, length, rtol=1e-5)
    assert (paths["y0"][upright] == np.float32(low)).all() and (paths["x0"][~upright] == np.float32(left)).all()


def test_ticks_are_left_out_beyond_the_box_and_words_tell_what_is_lost_between_blocks():
    frame = of_blocks(1, grouping="single", step_size=10.0)
    box = np.array(square(frame.target.view_box, (0, 1)))
    inside = (frame.particles >= box[:, 0]) & (frame.particles <= box[:, 1])
    assert 0 < inside.sum() < 120
    assert len(BLOCKS.columns(frame, (0, 1)).paths["x0"]) == inside.sum()
    frame = of_blocks(dim=4, correlation=0.8)
    assert BLOCKS.columns(frame, (0, 2)).words.text == ("correlation 0.00; two blocks, 0 under q",)
    within, cov = BLOCKS.columns(frame, (0, 1)), frame.density.cov
    found = cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1])
    assert within.words.text == (f"correlation 0.80; one block, {found:.2f} under q",)
    assert len(within.paths["x0"]) == 0, "its dots are its particles"


@looped("target, dim, pair", [("gaussian", 2, (0, 1)), ("linear", 3, (2, 0))])
def test_the_ellipses_lie_one_and_two_sds_from_the_means_stronger_the_heavier(target, dim, pair):
    frame = frame_of(target, "adaptive_is", 4, dim=dim, num_components=6, num_particles=300)
    columns, mixture = SCENES["components"].columns(frame, pair), frame.densities["mixture"]
    rows = np.argsort(-mixture.weights, kind="stable")[: components.MOST]
    x, y = (columns.paths[name].reshape(2, len(rows), CORNERS) for name in ("x0", "y0"))
    sds = np.diagonal(mixture.choleskys, axis1=1, axis2=2)[rows][:, list(pair)]
    mean = mixture.particles[rows][:, list(pair)]
    for k, radius in enumerate((1.0, 2.0)):
        z = np.hypot((x[k] - mean[:, :1]) / sds[:, :1], (y[k] - mean[:, 1:]) / sds[:, 1:])
        np.testing.assert_allclose(z, radius, rtol=2e-3)
    alpha = columns.paths["alpha"].reshape(2, -1, CORNERS)[0, :, 0]
    assert alpha[0] == 1.0 and (np.diff(alpha) <= 0).all() and alpha.min() >= components.FAINTEST
    assert columns.words.text and columns.words.text[0] == f"{mixture.weights.max():.0%}"


def test_lines_lead_from_ancestors_to_particles_darker_the_heavier_the_family():
    frame = frame_of("mixture", "pmd", 12, num_particles=200)
    drawn = SCENES["descent"].columns(frame, (0, 1))
    starts = np.stack([drawn.paths["x0"], drawn.paths["y0"]], axis=1)
    ends = np.stack([drawn.paths["x1"], drawn.paths["y1"]], axis=1)
    np.testing.assert_array_equal(ends, frame.particles.astype(np.float32))
    np.testing.assert_array_equal(starts, frame.ancestry.first[frame.ancestry.rows].astype(np.float32))
    assert len(drawn.others["x"]) == len(np.unique(frame.ancestry.rows)) < 200
    assert not len(drawn.approximate["x"]) and len(drawn.exact["x"])
    opacity = components.line_opacity(np.array([0, 0, 2]), np.array([0.4, 0.4, 0.2]), 3)
    np.testing.assert_allclose(opacity, [1.0, components.DESCENT_FAINTEST, 0.5 + 0.5 * components.DESCENT_FAINTEST])


def of_followers(steps=6, **parts):
    return frame_of("gmm", "steinis", steps, num_particles=50, num_leaders=30, num_pilots=20, **parts)


def test_cells_are_the_determinants_of_the_last_step_and_dots_as_wide_as_log_weights_say():
    small, large = components.SMALLEST_DOT, components.LARGEST_DOT
    weights = np.exp(-components.NATS * np.array([0.0, 0.5, 1.0, 3.0, np.inf]))
    expected = [large, (small + large) / 2, small, small, small]
    np.testing.assert_allclose(components.log_sizes(weights), expected, rtol=1e-6)
    frame = of_followers()
    image = FOLLOWERS.columns(frame, (0, 1)).image
    (left, right), (low, high) = image.x, image.y
    for row, column in ((0, 0), (20, 30), (47, 5)):
        across, up = (column + 0.5) / components.SIDE, (row + 0.5) / components.SIDE
        point = np.array([[left + (right - left) * across, low + (high - low) * up]])
        log_det = frame.method.stretch(frame.state, frame.knobs, frame.target, point)[0]
        assert np.sign(np.rint(1e3 * (image.values[row, column] - 0.5))) in (0.0, np.sign(log_det))
    assert np.abs(image.values - 0.5).max() == pytest.approx(0.5)
    for other in (of_followers(0), of_followers(dim=3)):
        assert FOLLOWERS.columns(other, (0, 1)).image is None


@looped("dim, pair", [(1, (0, 1)), (2, (0, 1)), (4, (3, 1))])
def test_leaders_stand_where_they_are(dim, pair):
    frame = of_followers(dim=dim)
    columns, leaders = FOLLOWERS.columns(frame, pair), frame.state.leaders.astype(np.float32)
    np.testing.assert_array_equal(columns.others["x"], leaders[:, pair[0]])
    np.testing.assert_array_equal(columns.others["y"], leaders[:, pair[1]] if dim > 1 else 0 * leaders[:, 0])
    np.testing.assert_array_equal(columns.particles["size"], components.log_sizes(frame.weights.astype(np.float32)))
    assert len(columns.paths["x0"]) or dim == 1


def of_ladder(steps=12, target="gaussian", **parts):
    return frame_of(target, "ais", steps, num_particles=100, num_temperatures=20, **parts)


@looped("dim", [1, 2])
def test_a_row_is_the_density_of_its_temperature(dim):
    """Of Gaussians it has the precision 1/v + β N/s²."""
    frame = of_ladder(dim=dim, num_data=6)
    target, k = frame.target, dim - 1
    columns = LADDER.columns(frame, (k, 1 - k))
    for row in (0, 3, ladder.ROWS):
        beta = (row / ladder.ROWS) ** 3
        variance = 1 / (1 / target.prior_sd**2 + beta * 6 / 4.0)
        mean = variance * beta * target.data[:, k].sum() / 4.0
        start = 1 + row * (ladder.SIDE[dim] + 1)
        x, y = (columns.exact[axis][start : start + ladder.SIDE[dim]] for axis in "xy")
        np.testing.assert_allclose((y - row) / ladder.HIGH, np.exp(-0.5 * (x - mean) ** 2 / variance), atol=0.02)


def test_particles_stand_at_their_temperature_also_on_the_way_back_and_above_two_dimensions():
    frame = of_ladder()
    columns, beta = LADDER.columns(frame, (0, 1)), (12 / 20) ** 3
    row = ladder.ROWS * beta ** (1 / 3)
    np.testing.assert_allclose(columns.particles["y"], row - 0.08, rtol=1e-6)
    assert np.array_equal(columns.particles["x"], frame.particles[:, 0].astype(np.float32))
    assert columns.prior["y"].max() == pytest.approx(row + ladder.HIGH, rel=1e-6)
    assert columns.words.text[:2] == ("0", "0.016")
    start = 1 + ladder.SIDE[1] + 1  # the histogram, behind the curve and its gap
    heights = columns.approximate["y"][start:-1][1:-1:2]
    shares, counts = heights / heights.sum(), np.log(frame.weights * 100)
    edges = np.linspace(-8, 8, 33)
    np.testing.assert_allclose(shares, np.histogram(counts, edges)[0] / 100, atol=1e-6)
    frame = of_ladder(25, sandwich=True)
    assert frame.state.returning and ladder.temperature_of(frame) == pytest.approx((15 / 20) ** 3)
    columns = LADDER.columns(frame, (0, 1))
    assert np.array_equal(columns.particles["x"], frame.state.walkers.points[:, 0].astype(np.float32))
    frame = of_ladder(target="linear", dim=3, num_data=40)
    columns = LADDER.columns(frame, (1, 0))
    y = columns.exact["y"]
    assert not len(columns.prior["y"]) and not ((y > 1) & (y < ladder.ROWS)).any()
    assert np.nanmin(y) >= 0 and np.nanmax(y) == pytest.approx(ladder.ROWS + ladder.HIGH, rel=1e-6)


@looped("dim, pair", [(1, (0, 1)), (2, (0, 1)), (4, (3, 1))])
def test_rings_are_importance_weights_around_the_dots_and_areas_are_weights_up_to_the_largest(dim, pair):
    areas = [0, 0.1 * components.INK**0.5, 0.2 * components.INK**0.5, components.LARGEST_RING]
    np.testing.assert_allclose(components.diameters(np.array([0.0, 0.01, 0.04, 1.0])), areas, rtol=1e-6)
    frame = frame_of("gmm", "black_box_is", 3, dim=dim, num_particles=40)
    columns = REWEIGHTING.columns(frame, pair)
    wanted = components.diameters(np.exp(frame.state.importance))
    kept, corners = wanted > 0, components.RING_CORNERS
    x, y = (columns.paths[name].reshape(-1, corners) for name in ("x0", "y0"))
    dots = columns.particles
    wide, high = (b - a for a, b in REWEIGHTING.ranges(frame.target, pair, columns.top))
    for found, name, side in ((x, "x", wide), (y, "y", high)):
        np.testing.assert_allclose(found.mean(axis=1), dots[name][kept], atol=1e-4 * side)
        np.testing.assert_allclose(np.ptp(found, axis=1), wanted[kept] * side / components.FRAME, atol=1e-4 * side)
    np.testing.assert_array_equal(dots["size"], components.diameters(frame.weights))
    np.testing.assert_array_equal(columns.paths["x1"].reshape(-1, corners)[:, :-1], x[:, 1:])


def of_surrogate(steps=3, **parts):
    return frame_of("gmm", "gf_svgd", steps, num_particles=50, **parts)


def test_the_surrogate_is_dashes_and_a_dot_s_area_its_weight():
    annealed = {"surrogate": "gaussian", "surrogate_sd": 0.5, "annealing": "on", "num_temperatures": 9}
    frame = of_surrogate(dim=1, q0_sd=3.0, **annealed)
    columns = SURROGATE.columns(frame, (0, 1))
    x, y = columns.approximate["x"].astype(float), columns.approximate["y"]
    np.testing.assert_allclose(y, np.exp(-0.5 * (x / 1.5) ** 2) / np.sqrt(2 * np.pi * 1.5**2), atol=1e-3)
    assert np.isnan(columns.prior["x"]).sum() >= 8 and "β = 0.33" in columns.words.text[0]
    rows = np.split(columns.prior["y"], np.flatnonzero(np.isnan(columns.prior["y"])))
    curves = [curve[~np.isnan(curve)] for curve in rows if len(curve) > 2]
    assert not np.allclose(curves[0], curves[-1])
    frame = of_surrogate(surrogate="prior")
    columns, ratios = SURROGATE.columns(frame, (0, 1)), np.exp(frame.state.log_ratios)
    np.testing.assert_allclose(columns.particles["weight"], ratios, rtol=1e-6)
    between = (columns.particles["size"] > ladder.SMALLEST) & (columns.particles["size"] < 20)
    squares = columns.particles["size"][between] ** 2 / ratios[between]
    np.testing.assert_allclose(squares, squares.mean(), rtol=1e-4)
    assert columns.words.text == (f"ESS of ρ/p: {1 / (ratios**2).sum():.3g} of 50",)
    for kind in ("prior", "moments", "kernels", "flat"):  # above two dimensions it is a marginal
        lines = SURROGATE.columns(of_surrogate(dim=4, surrogate=kind), (2, 0)).approximate
        assert (len(lines["x"]) == 0) == (kind == "flat")
