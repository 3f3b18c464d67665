"""Pictures of a hidden path and of what a target reports, against quantiles and sums written out."""

import numpy as np

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes.stage import SCENES
from pmdviz.scenes.stage.series.hidden_path import weighted_quantiles
from pmdviz.scenes.stage.series.reported import CELLS, HIGH
from tests.support.tables import looped

OPTIONS = {"num_data": 12, "data_seed": 1}


def frame_of(method="pmfvb", steps=5, **options):
    recipe = Recipe("stochastic_volatility", method, target_options={**OPTIONS, **options}, budget=None)
    return Session(recipe, 10**9).advance(steps)


def curves(line, each):
    return line["y"][~np.isnan(line["y"])].reshape(-1, each)


@looped("shares", [(0.05, 0.5, 0.95), (0.0, 1.0)])
def test_weighted_quantiles_are_those_of_repeated_values(shares):
    rng = np.random.default_rng(0)
    values, counts = rng.normal(size=(30, 4)), rng.integers(1, 5, 30)
    expected = np.quantile(np.repeat(values, counts, axis=0), shares, axis=0, method="inverted_cdf")
    for weights in (counts / counts.sum(), 3.0 * counts):
        np.testing.assert_array_equal(weighted_quantiles(values, weights, shares), expected)


def test_the_bands_are_quantiles_and_the_true_path_is_drawn():
    frame = frame_of()
    found, target = SCENES["hidden_path"].columns(frame, (0, 1)), frame.target
    draws = target.reference().draws
    for line, points in ((found.exact, draws), (found.approximate, frame.particles)):
        expected = np.quantile(points[:, 3:], (0.05, 0.5, 0.95), axis=0, method="inverted_cdf")
        np.testing.assert_allclose(curves(line, 12), expected, atol=1e-5)
    np.testing.assert_allclose(found.prior["y"], target.true_path, atol=1e-6)
    np.testing.assert_array_equal(found.prior["x"], np.arange(1, 13))


def test_returns_of_a_file_have_no_true_path(tmp_path):
    path = tmp_path / "returns.csv"
    path.write_text("".join(f"{k},{y}\n" for k, y in enumerate((0.5, -1.0, 2.0, 0.25))))
    found = SCENES["hidden_path"].columns(frame_of(data=str(path), num_data=4), (0, 1))
    assert not len(found.prior["y"]) and curves(found.exact, 4).shape == (3, 4)


def test_of_a_single_gaussian_draws_stand_for_particles():
    frame = frame_of("npv", 1)
    found = curves(SCENES["hidden_path"].columns(frame, (0, 1)).approximate, 12)
    expected = np.quantile(frame.draws[:, 3:], (0.05, 0.5, 0.95), axis=0, method="inverted_cdf")
    np.testing.assert_allclose(found, expected, atol=1e-5)


@looped("method", ["pmfvb", "importance"])
def test_tiles_have_densities_of_equal_scale_and_moments_in_words(method):
    frame = frame_of(method, 3)
    scene = SCENES["reported"]
    found, names = scene.columns(frame, (0, 1)), frame.target.reported_names
    assert [text[0] for text in found.words.text[::5]] == [name[0] for name in names]
    values = frame.target.reported(frame.particles)
    for k in range(3):
        mean = float((frame.weights * values[:, k]).sum())
        sd = float(np.sqrt((frame.weights * (values[:, k] - mean) ** 2).sum()))
        assert found.words.text[5 * k + 1] == f"q {mean:.3g} ± {sd:.2g}"
    exact = curves(found.exact, CELLS)
    feet = np.array([0.1, 0.1, 0.1]) + found.words.y[2::5] - 0.03
    np.testing.assert_allclose(exact.max(axis=1) - feet, HIGH - 0.1, atol=1e-4)
    (x0, x1), (y0, y1) = scene.ranges(frame.target, (0, 1), np.nan)
    assert x0 <= np.nanmin(found.exact["x"]) and np.nanmax(found.approximate["y"]) <= y1 and y0 < y1 and x0 < x1
