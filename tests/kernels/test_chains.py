"""Where compiled chains stop, refuse a trajectory, or begin no other; their steps are tested with the methods."""

from statistics import NormalDist

import numpy as np

from pmdviz.kernels.chains import hamiltonian, langevin, uniforms_of
from pmdviz.targets import make_target

SCHEDULE = (3, 0.02, 5.0, 0.55)  # t of the first step, a, b, g
FAR = 1e6


def test_langevin_steps_stop_where_one_goes_too_far():
    target, noise = make_target("bimodal1d", num_data=5), np.zeros((9, 1))
    noise[6] = 1e4
    batches, reach = np.tile(target.data, (9, 1)), np.full(1, 5.0)
    draws, _, made = langevin(target.model, np.ones(1), batches, SCHEDULE, noise, reach)
    assert made == 6 and (np.abs(draws[:6]) <= 5).all() and abs(draws[6, 0]) > 5
    noise[2] = np.nan
    assert langevin(target.model, np.ones(1), batches, SCHEDULE, noise, reach)[2] == 2


def start_of(target, theta):
    return theta, target.log_joint(theta[None])[0], target.grad_log_joint(theta[None])[0]


def test_a_trajectory_that_diverges_is_refused_and_the_next_starts_where_it_was(rng):
    target = make_target("gaussian", num_data=30)
    start, ones, momenta = start_of(target, np.zeros(2)), np.ones(2), np.array([[1e9, 0.0], [0.1, 0.1]])
    found = hamiltonian(target.model, target.data, start, momenta, np.array([4, 4]), np.zeros(2), 0.05, ones,
                        FAR * ones, 10**9)  # fmt: skip
    assert found.diverged.tolist() == [True, False] == (found.chances == 0).tolist()
    assert found.num_gradients.tolist() == [0, 4] and found.num_values.tolist() == [0, 1]
    alone = hamiltonian(target.model, target.data, start, momenta[1:], np.array([4]), np.zeros(1), 0.05, ones,
                        FAR * ones, 10**9)  # fmt: skip
    assert np.array_equal(found.draws[0], start[0]) and np.array_equal(found.draws[1], alone.draws[0])


def test_normals_become_uniforms(rng):
    normals = np.concatenate([rng.standard_normal(100), [-40.0, 40.0, 0.0]])
    np.testing.assert_allclose(uniforms_of(normals), [NormalDist().cdf(z) for z in normals], rtol=1e-9, atol=1e-300)
