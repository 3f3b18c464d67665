"""Pictures of one coordinate of few values: bars of the right height, and quantile bins with what lies in them."""

import numpy as np

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS
from pmdviz.scenes.stage import SCENES
from pmdviz.scenes.stage.discrete.quantile_bins import BARS, TOP
from tests.support.tables import looped


def frame_of(method, steps=20, **knobs):
    return Session(Recipe("categorical", method, budget=None, **knobs), metrics_every=10**9).advance(steps)


def heights(line, count, foot=0.0):
    """Of the last `count` bars of a line, each of six points."""
    return line["y"][-6 * count :].reshape(count, 6)[:, 1] - foot


@looped("method", ["gibbs", "discrete_gf_svgd"])
def test_bars_are_probabilities_and_shares(method):
    frame = frame_of(method)
    columns = SCENES["value_bars"].columns(frame, (0, 1))
    target, q = frame.target, frame.density
    np.testing.assert_allclose(heights(columns.exact, 5), target.probabilities, rtol=1e-6)
    shares = [q.weights[q.particles[:, 0] == value].sum() for value in target.space.values]
    np.testing.assert_allclose(heights(columns.approximate, 5), shares, rtol=1e-6)
    assert columns.approximate["x"][-4] > columns.exact["x"][-4]  # side by side


@looped("knobs", [{}, {"bins_per_value": 2}, {"base_spread": 4.0}, {"clip": 1.0}])
def test_bins_hold_the_points_that_stand_in_them(knobs):
    frame = frame_of("discrete_gf_svgd", num_particles=40, **knobs)
    columns, bins = SCENES["quantile_bins"].columns(frame, (0, 1)), METHODS["discrete_gf_svgd"].bins
    gamma = bins(frame.target, frame.knobs)
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
