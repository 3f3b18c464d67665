"""TV of weighted states: against a sum over all of them."""

import numpy as np
import pytest

from pmdviz.densities.points import Points
from pmdviz.methods import METHODS
from pmdviz.metrics.base import METRICS
from pmdviz.metrics.states import total_variation_of_states
from pmdviz.targets import make_target
from pmdviz.targets.reference.enumeration import numbers_of, states_of
from pmdviz.targets.space import Discrete


def test_numbers_and_states_are_one_another_s_inverse():
    space = Discrete((1, -1, 0.5), 4)
    np.testing.assert_array_equal(numbers_of(space, states_of(space, np.arange(81))), np.arange(81))


def test_it_is_half_the_sum_over_all_states():
    target, rng = make_target("ising", size=2), np.random.default_rng(0)
    q = Points(target.sample_prior(rng, 12), np.log(rng.dirichlet(np.ones(12))))
    states = states_of(target.space, np.arange(16))
    share = ((states[:, None] == q.particles).all(axis=2) * q.weights).sum(axis=1)
    expected = 0.5 * np.abs(share - target.exact.probabilities).sum()
    numbers = numbers_of(target.space, q.particles)
    assert total_variation_of_states(numbers, q.weights, target.exact.probabilities) == pytest.approx(expected)


def test_it_is_there_where_there_are_few_states():
    metric, method = METRICS["tv_states"], METHODS["gibbs"]
    assert metric.applies(make_target("ising", size=3), method)
    assert not metric.applies(make_target("ising", size=4), method)
    assert not metric.applies(make_target("gaussian"), method)
