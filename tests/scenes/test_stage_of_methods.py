import numpy as np
import pytest

from pmdviz.scenes.columns import CORNERS
from pmdviz.scenes.stage import SCENES, components, ladder, square
from tests.support.frames import frame_of
from tests.support.tables import looped

# Blocks: ticks at each block's own particles, q against the joint, correlations.

BLOCKS = SCENES["blocks"]


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


# Components: ellipses where the Gaussians are, stronger for heavier ones.

COMPONENTS = SCENES["components"]


@looped("target, dim, pair", [("gaussian", 2, (0, 1)), ("linear", 3, (2, 0))])
def test_the_ellipses_lie_one_and_two_sds_from_the_means_stronger_the_heavier(target, dim, pair):
    frame = frame_of(target, "adaptive_is", 4, dim=dim, num_components=6, num_particles=300)
    columns, mixture = COMPONENTS.columns(frame, pair), frame.densities["mixture"]
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


# Lines of descent: from the first particles that still have descendants to these.

DESCENT = SCENES["descent"]


def test_lines_lead_from_ancestors_to_particles_darker_the_heavier_the_family():
    frame = frame_of("mixture", "pmd", 12, num_particles=200)
    drawn = DESCENT.columns(frame, (0, 1))
    starts = np.stack([drawn.paths["x0"], drawn.paths["y0"]], axis=1)
    ends = np.stack([drawn.paths["x1"], drawn.paths["y1"]], axis=1)
    np.testing.assert_array_equal(ends, frame.particles.astype(np.float32))
    np.testing.assert_array_equal(starts, frame.ancestry.first[frame.ancestry.rows].astype(np.float32))
    assert len(drawn.others["x"]) == len(np.unique(frame.ancestry.rows)) < 200
    assert not len(drawn.approximate["x"]) and len(drawn.exact["x"])
    opacity = components.line_opacity(np.array([0, 0, 2]), np.array([0.4, 0.4, 0.2]), 3)
    np.testing.assert_allclose(opacity, [1.0, components.DESCENT_FAINTEST, 0.5 + 0.5 * components.DESCENT_FAINTEST])


# Leaders and followers: dots by log weight, leaders where they stand, cells by how the last step stretches space.

FOLLOWERS = SCENES["followers"]


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


# The ladder: rows are densities of their temperatures, particles stand at theirs.

LADDER = SCENES["ladder"]


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


def test_particles_stand_at_their_temperature_and_every_weight_is_counted():
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


def test_on_the_way_back_and_above_two_dimensions():
    frame = of_ladder(25, sandwich=True)
    assert frame.state.returning and ladder.temperature_of(frame) == pytest.approx((15 / 20) ** 3)
    columns = LADDER.columns(frame, (0, 1))
    assert np.array_equal(columns.particles["x"], frame.state.walkers.points[:, 0].astype(np.float32))
    frame = of_ladder(target="linear", dim=3, num_data=40)
    columns = LADDER.columns(frame, (1, 0))
    y = columns.exact["y"]
    assert not len(columns.prior["y"]) and not ((y > 1) & (y < ladder.ROWS)).any()
    assert np.nanmin(y) >= 0 and np.nanmax(y) == pytest.approx(ladder.ROWS + ladder.HIGH, rel=1e-6)


# Weights before and after: a dot's area is the weight now, a ring's the importance weight, around the same point.

REWEIGHTING = SCENES["reweighting"]


@looped("dim, pair", [(1, (0, 1)), (2, (0, 1)), (4, (3, 1))])
def test_rings_are_importance_weights_around_the_dots_and_areas_are_weights_up_to_the_largest(dim, pair):
    areas = [0, 0.1 * components.INK**0.5, 0.2 * components.INK**0.5, components.LARGEST_RING]
    np.testing.assert_allclose(components.diameters(np.array([0.0, 0.01, 0.04, 1.0])), areas, rtol=1e-6)
    frame = frame_of("gmm", "black_box_is", 3, dim=dim, num_particles=40)
    columns = REWEIGHTING.columns(frame, pair)
    wanted = components.diameters(frame.method.before(frame.state))
    kept, corners = wanted > 0, components.RING_CORNERS
    x, y = (columns.paths[name].reshape(-1, corners) for name in ("x0", "y0"))
    dots = columns.particles
    wide, high = (b - a for a, b in REWEIGHTING.ranges(frame.target, pair, columns.top))
    for found, name, side in ((x, "x", wide), (y, "y", high)):
        np.testing.assert_allclose(found.mean(axis=1), dots[name][kept], atol=1e-4 * side)
        np.testing.assert_allclose(np.ptp(found, axis=1), wanted[kept] * side / components.FRAME, atol=1e-4 * side)
    np.testing.assert_array_equal(dots["size"], components.diameters(frame.weights))
    np.testing.assert_array_equal(columns.paths["x1"].reshape(-1, corners)[:, :-1], x[:, 1:])


# The surrogate: dashes against the formula, dots by their weight, and targets on the way.

SURROGATE = SCENES["surrogate"]


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
    columns, ratios = SURROGATE.columns(frame, (0, 1)), frame.method.ratios(frame.state)
    np.testing.assert_allclose(columns.particles["weight"], ratios, rtol=1e-6)
    between = (columns.particles["size"] > ladder.SMALLEST) & (columns.particles["size"] < 20)
    squares = columns.particles["size"][between] ** 2 / ratios[between]
    np.testing.assert_allclose(squares, squares.mean(), rtol=1e-4)
    assert columns.words.text == (f"ESS of ρ/p: {1 / (ratios**2).sum():.3g} of 50",)
    for kind in ("prior", "moments", "kernels", "flat"):  # above two dimensions it is a marginal
        lines = SURROGATE.columns(of_surrogate(dim=4, surrogate=kind), (2, 0)).approximate
        assert (len(lines["x"]) == 0) == (kind == "flat")
