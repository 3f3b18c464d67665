"""The picture of a function of one input: both bands, the true function, the data, and the inducing inputs."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes.stage import SCENES, applicable_scenes
from pmdviz.scenes.stage.band import POINTS
from pmdviz.targets.sparse_gp import truth
from tests.support.tables import looped

OPTIONS = {"num_data": 200, "dim": 30, "noise_variance": 0.01}


def frame_of(method="structured_pmd", steps=3, **options):
    made = {**OPTIONS, **options}
    return Session(Recipe("sparse_gp", method, target_options=made, budget=None), 10**9).advance(steps)


def curves(line):
    """Mean, lower and upper curve of a band, each (POINTS,)."""
    y = line["y"][~np.isnan(line["x"])]
    return y.reshape(3, POINTS)


def test_the_exact_band_is_the_process_of_all_data_whatever_the_inducing_inputs_are():
    frame = frame_of(dim=3)
    found = SCENES["band"].columns(frame, (0, 1))
    x, y = frame.target.data.T
    at = np.linspace(x.min(), x.max(), POINTS)
    width = frame.target.kernel_width
    across, both = (np.exp(-0.5 * ((z[:, None] - x) / width) ** 2) for z in (at, x))
    solved = np.linalg.solve(both + 0.01 * np.eye(len(x)), np.column_stack([y, across.T]))
    mean, sd = across @ solved[:, 0], np.sqrt(1 - np.einsum("ij,ji->i", across, solved[:, 1:]))
    np.testing.assert_allclose(curves(found.exact), [mean, mean - 2 * sd, mean + 2 * sd], atol=1e-5)


def test_beyond_the_exact_process_it_is_the_sparse_posterior():
    frame = frame_of(num_data=5000, dim=12)
    mean, low, high = curves(SCENES["band"].columns(frame, (0, 1)).exact)
    assert frame.target.process_at(np.zeros((1, 1))) is None
    reference = frame.target.row_mean(frame.target.exact.mean[None], frame.target.rows_at(np.zeros((1, 1))))
    assert mean[POINTS // 2] == pytest.approx(reference[0, 0], abs=0.01) and (low < mean).all() and (mean < high).all()


def test_the_true_function_and_the_data():
    found = SCENES["band"].columns(frame_of(), (0, 1))
    np.testing.assert_allclose(found.prior["y"], truth(found.prior["x"].astype(float)), atol=1e-5)
    assert len(found.others["x"]) == 200


@looped("method, number", [("structured_pmd", 30), ("svi_gp", 30), ("subset_gp", 48), ("pmd", 0)])
def test_the_rug_is_the_inducing_inputs_where_a_method_has_such(method, number):
    frame = frame_of(method)
    assert "band" in applicable_scenes(frame.target, frame.method)
    rug = SCENES["band"].columns(frame, (0, 1)).particles
    assert len(rug["x"]) == number and set(rug["y"]) <= {rug["y"][0]} if number else True
    assert np.isin(rug["x"], frame.target.data[:, 0].astype(np.float32)).all() or number == 0
