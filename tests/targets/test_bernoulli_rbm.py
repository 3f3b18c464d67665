"""The Bernoulli RBM against sums over all states of both layers, and its block Gibbs sweep against the conditionals."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from pmdviz.targets import make_target
from pmdviz.targets.reference.base import DrawsReference
from pmdviz.targets.reference.enumeration import Enumeration
from pmdviz.targets.reference.gibbs_chains import chains_disagree
from pmdviz.targets.reference.hidden_units import HiddenEnumeration
from tests.support.tables import looped

SETTINGS = [{"visible": 5, "hidden": 3, "weight_sd": 0.8}, {"visible": 1, "hidden": 4}, {"visible": 4, "hidden": 1}]


def states(count):
    return np.array(list(itertools.product([-1.0, 1.0], repeat=count)))


def both_layers(target):
    """Unnormalised log p(z, h), (2^d, 2^M), and the visible states."""
    o = target.options
    z, h = states(o.visible), states(o.hidden)
    return z @ target.weights @ h.T + (z @ target.visible_bias)[:, None] + h @ target.hidden_bias, z, h


@pytest.mark.parametrize("options", SETTINGS, ids=str)
def test_hidden_units_are_summed_over(options):
    target = make_target("bernoulli_rbm", **options)
    joint, z, _ = both_layers(target)
    np.testing.assert_allclose(target.log_joint(z), logsumexp(joint, axis=1), rtol=1e-12)
    assert np.exp(target.log_prior(z)).sum() == pytest.approx(1)


@looped("options", SETTINGS)
@looped("by", ["visible", "hidden"])
def test_the_reference_is_the_sum_over_all_states(options, by):
    target = make_target("bernoulli_rbm", **options)
    joint, z, _ = both_layers(target)
    parts = target.weights, target.visible_bias, target.hidden_bias, target.log_joint
    found = target.exact if by == "visible" else HiddenEnumeration(*parts)
    p = np.exp(logsumexp(joint, axis=1) - logsumexp(joint))
    assert found.log_z == pytest.approx(logsumexp(joint), rel=1e-12)
    np.testing.assert_allclose(found.mean, p @ z, atol=1e-12)
    np.testing.assert_allclose(found.cov, np.atleast_2d(np.cov(z.T, aweights=p, bias=True)), atol=1e-12)
    np.testing.assert_allclose(np.exp(found.log_density(z)), p, rtol=1e-10)
    draws = found.sample(np.random.default_rng(0), 40_000)
    counts = (draws[:, None, :] == z).all(axis=2).sum(axis=0)
    assert ((counts - 40_000 * p) ** 2 / (40_000 * p)).sum() < len(z) + 5 * np.sqrt(2 * len(z))


def test_the_smaller_layer_is_visited_and_too_large_ones_are_not():
    kinds = {(16, 20): Enumeration, (17, 14): HiddenEnumeration, (17, 15): DrawsReference, (400, 3): HiddenEnumeration}
    for (visible, hidden), kind in kinds.items():
        assert type(make_target("bernoulli_rbm", visible=visible, hidden=hidden).reference()) is kind
    assert np.isfinite(make_target("bernoulli_rbm", visible=400, hidden=3, weight_sd=5.0).exact.log_z)


def test_chains_that_stay_where_they_began_are_no_reference():
    target = make_target("bernoulli_rbm", visible=17, hidden=15, weight_sd=2.0)
    assert target.reference() is None and "Gibbs chains from different starts disagree" in target.no_reference
    agree = np.random.default_rng(0).choice([-1.0, 1.0], size=(500, 20, 3))
    agree[:, :, 2] = 1.0
    assert not chains_disagree(agree)
    agree[:250, :, 0] = 1.0
    assert chains_disagree(agree)
