"""The picture of a net's predictions: the band with its noise, the curve of the mean of theta, and the function."""

import numpy as np

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes.stage import SCENES
from pmdviz.scenes.stage.band import POINTS
from pmdviz.targets.networks.regression_rows import curve

OPTIONS = {"num_data": 60, "hidden": 5}


def frame_of(method="pmfvb_nn", steps=20, **options):
    recipe = Recipe("regression_net", method, target_options=OPTIONS | options, budget=None, batch_size=30)
    return Session(recipe, 10**9).advance(steps)


def curves(line):
    return line["y"][~np.isnan(line["x"])].reshape(3, POINTS)


def test_the_band_is_that_of_y_over_the_nets_themselves():
    frame = frame_of()
    target, theta, found = frame.target, frame.particles, SCENES["predictive_band"].columns(frame, (0, 1))
    x = np.linspace(target.data[:, 0].min(), target.data[:, 0].max(), POINTS)
    each = target.row_mean(theta, target.rows_at(x[:, None]))
    mean, sd = each.mean(axis=0), np.sqrt(each.var(axis=0) + target.noise_variance(theta).mean())
    np.testing.assert_allclose(curves(found.approximate), [mean, mean - 2 * sd, mean + 2 * sd], atol=1e-5)
    function = curves(SCENES["band"].columns(frame, (0, 1)).approximate)
    np.testing.assert_allclose(function[2], mean + 2 * each.std(axis=0), atol=1e-5)


def test_the_path_is_the_function_of_the_mean_net():
    frame = frame_of(steps=0)
    target, found = frame.target, SCENES["predictive_band"].columns(frame, (0, 1))
    start, end = (
        np.append(found.paths["x0"], found.paths["x1"][-1]),
        np.append(found.paths["y0"], found.paths["y1"][-1]),
    )
    expected = target.row_mean(frame.particles.mean(axis=0)[None], target.rows_at(start[:, None].astype(float)))[0]
    np.testing.assert_allclose(end, expected, atol=1e-4)
    np.testing.assert_allclose(found.paths["x0"][1:], found.paths["x1"][:-1])
    np.testing.assert_allclose(found.prior["y"], curve(found.prior["x"][:, None].astype(float)), atol=1e-5)
