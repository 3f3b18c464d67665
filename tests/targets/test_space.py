"""What a point is, and what a custom target on discrete states or without data does."""

import numpy as np
import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.targets.space import Discrete, Reals


@pytest.mark.parametrize("theta, words", [([[1j, 0]], "real numbers"), ([1, 2, 3], "shape"), ("ab", "real numbers")])
def test_reals_refuse(theta, words):
    with pytest.raises(InputError, match=words):
        Reals(("a", "b")).check(theta)


def test_discrete():
    space = Discrete((-1, 1), (2, 2))
    assert (space.dim, space.num_states, space.names[0]) == (4, 16, "x₁")
    assert space.check([[1, -1, 1, 1]]).tolist() == [[1.0, -1.0, 1.0, 1.0]]
    assert space.words(np.array([1.0, -1.0, 1.0, 1.0])) == "+-++"
    with pytest.raises(InputError, match=r"one of -1, 1 in every coordinate; given: 3.225"):
        space.check([[1, -1, 3.225, 1]])


@pytest.mark.parametrize("values, shape", [((1,), 2), ((1, 1), 2), ((0, 1), 0), ((0, 1), ())])
def test_discrete_refuses(values, shape):
    with pytest.raises(InputError):
        Discrete(values, shape)


def coins(**changes):
    """Three coins that like to agree, without data."""
    parts = {
        "space": Discrete((0, 1), 3),
        "log_prior": lambda s: np.full(len(s), -3 * np.log(2)),
        "sample_prior": lambda rng, m: rng.integers(0, 2, size=(m, 3)),
        "log_likelihood": lambda s, rows: 1.5 * (np.ptp(s, axis=1) == 0) * len(rows),
        "data": None,
        "name": "coins",
    }
    return pmdviz.custom_target(**(parts | changes))


def flips(rng, state, data):
    """A Gibbs sweep of the coins."""
    state = state.copy()
    for k in range(3):
        others = np.delete(state, k)
        agree = [1.5 * (np.ptp([*others, value]) == 0) for value in (0, 1)]
        state[k] = rng.random() < 1 / (1 + np.exp(agree[0] - agree[1]))
    return state


def test_a_custom_target_on_states_is_enumerated_and_sampled_by_gibbs():
    target = coins(gibbs_sweep=flips)
    agree = 2 * np.exp(1.5) / (2 * np.exp(1.5) + 6)
    assert np.exp(target.exact.log_density([[1, 1, 1]]))[0] == pytest.approx(agree / 2)
    assert target.exact.log_z == pytest.approx(np.log((2 * np.exp(1.5) + 6) / 8))
    run = pmdviz.run(target=target, method="gibbs", seed=0, budget=2000, metrics_every=1000)
    assert set(np.unique(run.particles)) == {0.0, 1.0}
    found = (np.ptp(run.particles, axis=1) == 0).mean()
    assert abs(found - agree) < 5 * np.sqrt(agree * (1 - agree) / 500)  # a sweep's draws are correlated: 4 times fewer
    assert run.final.metrics["marginal_tv"] < 0.1 and run.final.metrics["tv"] is None


def test_a_sweep_that_leaves_the_states_is_named():
    target = coins(gibbs_sweep=lambda rng, state, data: state + 0.5)
    with pytest.raises(InputError, match="one of 0, 1"):
        target.gibbs_sweep(np.random.default_rng(0), np.zeros(3), target.data_rows)


def test_states_that_pass_for_real_numbers_are_found_out():
    with pytest.raises(InputError, match=r"only the values 0, 1; .*space=pmdviz.Discrete\(\[0, 1\], 3\)"):
        coins(space=None, dim=3)
