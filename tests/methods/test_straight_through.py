"""Straight-through estimation against a step written out, and what bootstrap samples change."""

import numpy as np

from pmdviz.methods import METHODS
from pmdviz.methods.ensembles import nearest
from pmdviz.targets import make_target
from pmdviz.targets.space import Discrete

METHOD = METHODS["straight_through"]
SMALL = {"num_data": 50, "hidden": 4}


def set_up(**given):
    target = make_target("binary_net", **SMALL)
    knobs = METHOD.Knobs.checked({"num_particles": 3, "batch_size": 20, **given})
    return target, knobs, METHOD.init(np.random.default_rng(0), target, knobs)


def test_a_step_is_adam_along_the_gradient_at_the_states_of_own_rows():
    target, knobs, state = set_up()
    for _ in range(3):
        after, info = METHOD.step(np.random.default_rng(7), state, target, target.data, knobs)
        places = np.random.default_rng(7).integers(50, size=(3, 20))
        for i in range(3):
            rows = target.data[state.rows[i][places[i]]]
            gradient = target.grad_straight_through(state.particles[i : i + 1], rows)[0]
            first = 0.9 * state.first[i] + 0.1 * gradient
            second = 0.99 * state.second[i] + 0.01 * gradient**2
            t = state.iteration + 1
            move = first / (1 - 0.9**t) / (np.sqrt(second / (1 - 0.99**t)) + 1e-8)
            np.testing.assert_allclose(after.latent[i], np.clip(state.latent[i] + 0.05 * move, -1, 1), atol=1e-12)
        np.testing.assert_array_equal(after.particles, np.where(after.latent >= 0, 1.0, -1.0))
        assert info.visited == info.gradient_evaluations == 60
        state = after


def test_each_learns_from_a_bootstrap_sample_of_its_own():
    _, _, state = set_up()
    assert state.rows.shape == (3, 50) and state.rows.min() >= 0 and state.rows.max() < 50
    shares = [len(set(rows)) / 50 for rows in state.rows]
    assert all(0.45 < share < 0.8 for share in shares)  # about 1 - 1/e
    assert len({tuple(np.sort(rows)) for rows in state.rows}) == 3
    _, _, every = set_up(bootstrap=False)
    np.testing.assert_array_equal(every.rows, np.tile(np.arange(50), (3, 1)))


def test_the_nearest_value_and_of_two_the_higher():
    space = Discrete((3.0, -1.0, 0.0), 1)
    found = nearest(np.array([[-5.0, -0.6, -0.5, 0.1, 1.5, 1.4]]), space)
    np.testing.assert_array_equal(found, [[-1.0, -1.0, 0.0, 0.0, 3.0, 0.0]])
