"""Black-box importance sampling: its matrix is the formula, its weights are optimal, and means come nearer by them."""

import numpy as np
import pytest

from pmdviz.kernels.clusters import median_distance
from pmdviz.methods import METHODS
from pmdviz.methods.stein.black_box_is import discrepancy_matrix, informed
from pmdviz.targets import make_target
from tests.support.engine import advanced, errors_from

METHOD = METHODS["black_box_is"]

OFF = {"num_components": 1, "spread": 0.0, "variance": 1.0, "q0_sd": 2**0.5, "q0_mean": 0.5}


def known(target, **knobs):
    knobs = METHOD.Knobs.checked({"num_particles": 30, **knobs})
    state = METHOD.init(np.random.default_rng(0), target, knobs)
    return informed(state, target, target.data_rows, knobs)[0], knobs


@pytest.mark.parametrize("score", ["gradient", "gradient_free"])
@pytest.mark.parametrize("proposal, mean, variance", [("q0", 0.3, 4.0), ("gaussian", -0.2, 6.25)])
def test_the_matrix_is_the_formula(score, proposal, mean, variance):
    target = make_target("gmm", q0_mean=0.3)
    state, knobs = known(target, score=score, proposal=proposal, proposal_mean=-0.2, proposal_sd=2.5)
    x = state.particles
    s = target.grad_log_joint(x) if score == "gradient" else (mean - x) / variance
    w = np.exp(-0.5 * ((x - mean) ** 2).sum(axis=1) / variance - target.log_joint(x))
    w = w / w.mean() if score == "gradient_free" else np.ones(30)
    h, gap, turn = median_distance(x) ** 2 / np.log(31), x[:, None] - x, s[:, None] - s
    r = (gap**2).sum(axis=2)
    kappa = np.exp(-r / h) * (s @ s.T + 2 / h * (turn * gap).sum(axis=2) + 4 / h - 4 / h**2 * r)
    rows, K = discrepancy_matrix(state, target, knobs)
    np.testing.assert_array_equal(rows, np.arange(30))
    np.testing.assert_allclose(K, w[:, None] * kappa * w * (1 + 1e-6 * np.eye(30)), rtol=1e-8, atol=1e-12)
    _, plain = discrepancy_matrix(state, target, knobs.replaced(scaling="none"))
    ridge = 1e-6 * np.trace(kappa * w**2) / 30
    np.testing.assert_allclose(np.diag(plain), np.diag(kappa) * w**2 + ridge, rtol=1e-8)


def test_powers_of_the_target_in_the_kernel():
    """(0.103), each term by itself; its mean under p is 0 whatever the power."""
    target = make_target("gmm", q0_mean=0.3)
    state, knobs = known(target, score="gradient", alpha=0.5)
    x, s = state.particles, target.grad_log_joint(state.particles)
    h, weights = median_distance(x) ** 2 / np.log(31), np.sqrt(np.exp(target.log_joint(x)))
    u = x[:, None] - x
    r = (u**2).sum(axis=2)
    cross = 2 / h * (np.einsum("ik,ijk->ij", s, u) - np.einsum("jk,ijk->ij", s, u))
    terms = np.exp(-r / h) * (1.5**2 * (s @ s.T) + 1.5 * cross + 4 / h - 4 * r / h**2)
    expected = np.outer(weights, weights) * terms * (1 + 1e-6 * np.eye(30)) / weights.max() ** 2
    np.testing.assert_allclose(discrepancy_matrix(state, target, knobs)[1], expected, rtol=1e-8, atol=1e-12)


def test_importance_weights_are_what_they_were():
    given = {"num_particles": 50, "proposal": "gaussian", "proposal_mean": 0.2, "proposal_sd": 1.3}
    frame = advanced("black_box_is", target="gmm", options=OFF, **given).frame
    x = frame.particles
    w = np.exp(-0.5 * (x**2).sum(axis=1) + 0.5 * ((x - 0.2) ** 2).sum(axis=1) / 1.69)
    np.testing.assert_allclose(METHOD.before(frame.state), w / w.sum(), rtol=1e-9)
    assert abs(errors_from(x[:, 0], 0.2)) < 4 and x.std() == pytest.approx(1.3, rel=0.2)


def test_steps_go_on_where_the_last_one_stopped():
    frames = [advanced("black_box_is", 100 // n, "gmm", seed=1, iterations=n).frame for n in (10, 100)]
    few, many = frames
    assert few.state.iterations == many.state.iterations == 100
    np.testing.assert_allclose(few.weights, many.weights, rtol=1e-9)
    gaps = [frame.info.scalars["duality_gap"] for frame in frames]
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-6) and gaps[1] > 1e-6
