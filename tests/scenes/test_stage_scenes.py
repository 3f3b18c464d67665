import numpy as np
import pytest

from pmdviz.densities.density import Grid
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS
from pmdviz.scenes.stage import SCENES, SceneChoice, applicable_scenes
from pmdviz.scenes.stage.components import RUNS, frames_of
from pmdviz.targets import TARGETS, make_target
from tests.support.engine import Unmeasured, default_target, fitting, short_chains, small_knobs
from tests.support.tables import looped, refused


def frame_of(target, method, steps=3, **options):
    made = make_target(target, **options)
    knobs = small_knobs(METHODS[method], made.num_data)
    return Unmeasured(Recipe(target, method, target_options=options, budget=5_000, **knobs)).advance(steps)


def assert_pictures(target, method, **options):
    """Every scene of a frame draws float32 columns, twice the same, within ranges, and leaves the frame as it is."""
    frame = frame_of(target, method, **options)
    before = frame.particles.tobytes(), frame.weights.tobytes()
    found = applicable_scenes(frame.target, frame.method)
    assert found and SceneChoice().of(frame.target, frame.method)[0] is next(iter(found.values()))
    for scene in found.values():
        one, two = (scene.columns(frame, (0, 1)) for _ in range(2))
        for layer in (one.exact, one.approximate, one.particles, one.others, one.prior, one.paths):
            assert all(values.dtype == np.float32 and values.ndim == 1 for values in layer.values())
            assert len({len(values) for values in layer.values()}) == 1
        assert one.exact is two.exact or np.array_equal(one.exact["x"], two.exact["x"], equal_nan=True)
        assert (one.image is None) == (two.image is None) and one.drawn <= one.num_particles
        (x0, x1), (y0, y1) = scene.ranges(frame.target, (0, 1), one.top)
        assert x0 < x1 and y0 < y1 and all(axis.label for axis in scene.axes(frame.target, (0, 1), one.top))
        assert set(scene.words(frame.method)) <= {"exact", "approximate", "particles", "prior", "paths", "others"}
        assert all(scene.words(frame.method).values())
    assert before == (frame.particles.tobytes(), frame.weights.tobytes())
    return [*found]


SMALL = {
    "stochastic_volatility": {"num_data": 12, "data_seed": 7},
    "gp_classification": {"num_rows": 20},
    "logistic": {"num_data": 60},
    "binary_net": {"num_data": 40, "hidden": 11},
    "regression_net": {"num_data": 40},
}
FIRST = {
    ("mixture", "pmd"): "posterior", ("correlated_gaussian", "pmfvb"): "blocks", ("gmm", "steinis"): "followers",
    ("gmm", "black_box_is"): "reweighting", ("gmm", "gf_svgd"): "surrogate", ("logistic", "pmd"): "decision_lines",
    ("stochastic_volatility", "pmfvb"): "hidden_path", ("regression_net", "pmfvb_nn"): "predictive_band",
    ("topics", "structured_pmd"): "topics", ("categorical", "discrete_gf_svgd"): "quantile_bins",
    ("categorical", "gibbs"): "value_bars", ("ising", "gibbs"): "lattice", ("ising", "ais"): "lattice_strip",
    ("binary_net", "straight_through"): "weight_signs", ("gmm", "path_integration"): "area",
    ("gmm", "adaptive_is"): "posterior", ("ppca", "adam_sgld"): "reconstruction",
    ("gp_classification", "adaptive_is"): "class_map",
}  # fmt: skip


def test_every_scene_draws_a_frame_and_the_first_is_the_one_that_shows_the_method_or_the_target(monkeypatch):
    short_chains(monkeypatch)
    seen = set()
    for (target, method), name in FIRST.items():
        first, *others = assert_pictures(target, method, **SMALL.get(target, {}))
        assert first == name, (target, method)
        seen |= {first, *others}
    assert seen == SCENES.keys() - {"top_words"}  # whose words a corpus of a file has: test_topics
    none = "blocks followers reweighting surrogate hidden_path weight_signs components descent"
    assert not any(SCENES[name].applies(make_target("gmm"), METHODS["svgd"]) for name in none.split())
    assert not SCENES["ladder"].applies(make_target("gmm"), METHODS["hmc"])


@pytest.mark.nightly
@pytest.mark.parametrize("target", TARGETS)
def test_every_frame_of_every_method_has_pictures(target):
    for method in fitting(default_target(target)):
        assert_pictures(target, method, **({"num_data": 60} if target == "stochastic_volatility" else {}))


@looped("method", ["pmd", "svi", "npv", "hmc"])
def test_marginals_of_an_approximation_are_integrals_of_it(method):
    """In two dimensions against the sum over the other coordinate of a grid."""
    density = frame_of("gaussian", method, dim=2).density
    mean, sds = density.mean, np.sqrt(np.diag(density.cov))
    box = tuple((float(m - 8 * s), float(m + 8 * s)) for m, s in zip(mean, sds, strict=True))
    plane = density.on_grid(grid := Grid(box, 640))
    for k in (0, 1):
        line = Grid((box[k],), 640)
        width = (box[1 - k][1] - box[1 - k][0]) / grid.side
        expected = plane.sum(axis=0 if k == 0 else 1) * width
        np.testing.assert_allclose(density.marginal((k,)).on_grid(line), expected, atol=2e-3 * expected.max())
    swapped = density.marginal((1, 0)).on_grid(Grid(box[::-1], 640))
    np.testing.assert_allclose(swapped, plane.T, rtol=1e-9, atol=1e-11)


def test_marginals_stand_one_above_the_other():
    frame = frame_of("linear", "pmd", 20, dim=3)
    columns = SCENES["marginals"].columns(frame, (0, 1))
    gaps = np.flatnonzero(np.isnan(columns.exact["x"]))
    rows = [slice(a + 1, b) for a, b in zip(gaps[:-1], gaps[1:], strict=True)]
    assert len(rows) == 3
    for k, row in enumerate(rows):
        x, y = columns.exact["x"][row].astype(float), columns.exact["y"][row].astype(float) - (2 - k)
        assert y.max() == pytest.approx(0.85, abs=1e-3) and abs(x[y.argmax()]) < 0.05
        np.testing.assert_allclose(y / y.max(), np.exp(-0.5 * x**2), atol=0.01)


def test_the_probability_of_a_class_is_the_mean_over_draws_and_lines_are_where_it_is_a_half():
    frame = frame_of("logistic", "pmd", 20)
    columns = SCENES["decision_lines"].columns(frame, (0, 1))
    image = columns.image
    side = len(image.values)
    low, high = image.x
    axis = low + (high - low) * (np.arange(side) + 0.5) / side
    draws = frame.draws[np.linspace(0, len(frame.draws) - 1, 200).astype(int)]
    for row, column in ((0, 0), (3, 40), (side - 1, side - 1)):
        logits = draws @ np.array([1.0, axis[column], axis[row]])
        assert image.values[row, column] == pytest.approx((1 / (1 + np.exp(-logits))).mean(), abs=1e-5)
    mean = frame.target.reference().mean
    x, y = (columns.exact[name].astype(float) for name in ("x", "y"))
    inside = np.isfinite(x)
    cell = axis[1] - axis[0]
    distance = np.abs(mean[0] + mean[1] * x[inside] + mean[2] * y[inside]) / np.hypot(*mean[1:])
    assert inside.sum() > 20 and distance.max() < 0.2 * cell
    data, ones = frame.target.data.astype(np.float32), frame.target.data[:, -1] == 1
    np.testing.assert_array_equal(np.sort(columns.particles["x"]), np.sort(data[ones, 1]))
    assert len(columns.others["x"]) == (~ones).sum()


def test_the_mean_of_runs_is_of_ten_seeds_at_the_same_iteration_also_after_going_back():
    recipe = Recipe(num_particles=80, budget=3_000)
    session = Session(recipe.replaced(seed=77))
    for iteration in (6, 2):
        frames = frames_of(session.seek(iteration))
        assert [each.iteration for each in frames] == [iteration] * RUNS
        assert np.array_equal(frames[4].particles, Session(recipe.replaced(seed=4)).advance(iteration).particles)
    assert len({frame.particles.tobytes() for frame in frames}) == RUNS
    flat = Session(Recipe("bimodal1d", num_particles=80, budget=3_000)).advance(4)
    for frame, is_flat in ((session.frame, False), (flat, True)):
        columns = SCENES["mean_of_runs"].columns(frame, (0, 1))
        assert (columns.image is None) == is_flat and len(columns.approximate["x"])
    assert np.trapezoid(columns.approximate["y"], columns.approximate["x"]) == pytest.approx(1, abs=0.05)


def test_a_lattice_and_a_strip_show_states_over_the_mean_and_the_exact_mean():
    frame = frame_of("ising", "gibbs", 50)
    cells = SCENES["lattice"].columns(frame, (0, 1)).image.values
    assert cells.shape == (4, 14) and np.isnan(cells[:, [4, 9]]).all()
    newest, mean, exact = (cells[::-1, k : k + 4].ravel() for k in (0, 5, 10))
    np.testing.assert_allclose(newest, (frame.particles[-1] + 1) / 2)
    np.testing.assert_allclose(mean, (frame.particles.mean(axis=0) + 1) / 2, rtol=1e-6)
    np.testing.assert_allclose(exact, (frame.target.exact.mean + 1) / 2, rtol=1e-6)
    frame, scene = frame_of("ising", "discrete_gf_svgd", 5, size=3), SCENES["lattice_strip"]
    cells = scene.columns(frame, (0, 1)).image.values[::-1]
    assert cells.shape == (14, 15)
    for place in range(8):
        row, column = 4 * (place // 4), 4 * (place % 4)
        shown = cells[row : row + 3, column : column + 3]
        np.testing.assert_array_equal(shown, (frame.particles[place].reshape(3, 3) + 1) / 2)
    for left, mean in ((0, frame.density.mean), (8, frame.target.exact.mean)):
        expected = ((mean.reshape(3, 3) + 1) / 2).repeat(2, axis=0).repeat(2, axis=1)
        np.testing.assert_allclose(cells[8:, left : left + 6], expected, rtol=1e-6)
    frame = frame_of("ising", "ais", 5, size=3)
    heaviest, lightest = (frame.particles[k].reshape(3, 3) for k in (frame.weights.argmax(), frame.weights.argmin()))
    assert (heaviest != lightest).any()
    np.testing.assert_array_equal(scene.columns(frame, (0, 1)).image.values[::-1][:3, :3], (heaviest + 1) / 2)
    few = Session(Recipe("ising", "discrete_gf_svgd", num_particles=3, target_options={"size": 11})).frame
    cells = scene.columns(few, (0, 1)).image.values[::-1]
    assert np.isfinite(cells[:11, :35]).sum() == 3 * 121 and np.isnan(cells[:23, 36:]).all()
    assert "exact" not in scene.axes(few.target, (0, 1), np.nan)[0].label
    assert not scene.applies(make_target("ising"), METHODS["gibbs"])


def test_a_wish_that_cannot_be_had_falls_back_or_is_said():
    target, method = make_target("mixture"), METHODS["pmd"]
    scene, pair = SceneChoice("lattice", (5, 1)).of(target, method)
    assert (scene.name, pair) == ("posterior", (0, 1))
    words = "scene 'lattice' cannot be drawn of method 'pmd' on target 'mixture'; these"
    refused(words, SceneChoice("lattice").check, target, method)
    refused("numbered 1 to 2; got 6", SceneChoice("posterior", (5, 1)).check, target, method)
    refused("did you mean 'lattice'", SceneChoice, "lattices")
    refused("two different coordinates", SceneChoice, "", (1, 1))
