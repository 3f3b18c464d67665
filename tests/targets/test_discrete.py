"""Targets on discrete states against visits of all states: the transfer matrix, hidden units, tables of values."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from pmdviz.methods import METHODS
from pmdviz.scenes.words import sentence
from pmdviz.targets import make_target
from pmdviz.targets.discrete import TABLES
from pmdviz.targets.enumeration import Enumeration, HiddenEnumeration, TransferMatrix, chains_disagree
from pmdviz.targets.exact import DrawsReference
from tests.support.tables import looped, refused

CASES = [
    {"size": 2, "coupling": 0.4},
    {"size": 2, "coupling": 0.4, "field_sd": 0.5, "boundary": "open"},
    {"size": 3, "coupling": 0.3, "field": -0.2},
    {"size": 3, "coupling": -0.6, "field": 0.1, "boundary": "open"},
    {"size": 4, "coupling": 0.5, "field": 0.05, "field_sd": 0.4, "target_seed": 2},
    {"size": 4, "coupling": 0.3, "field_sd": 0.4, "boundary": "open"},
    {"size": 4, "coupling": 2.0, "field": -2.0, "field_sd": 2.0},
]


def transferred(target):
    o = target.options
    fields = (o.field + target.offsets).reshape(o.size, o.size)
    return TransferMatrix(o.coupling, fields, o.boundary == "closed", target.log_joint)


@looped("options", CASES)
def test_the_transfer_matrix_finds_what_a_visit_of_all_states_finds(options):
    target = make_target("ising", **options)
    found, exact = transferred(target), target.exact
    assert isinstance(exact, Enumeration) and found.log_z == pytest.approx(exact.log_z, abs=1e-10)
    np.testing.assert_allclose(found.mean, exact.mean, atol=1e-11)
    np.testing.assert_allclose(found.cov, exact.cov, atol=1e-11)
    states = target.sample_prior(np.random.default_rng(0), 5)
    np.testing.assert_allclose(found.log_density(states), exact.log_density(states), atol=1e-9)


@looped("options", [CASES[2], CASES[5]])
def test_its_draws_are_of_the_exact_probabilities(options):
    target, n = make_target("ising", **options), 20_000
    exact, draws = target.exact, transferred(target).sample(np.random.default_rng(0), n)
    size = target.dim if target.dim < 10 else 9  # of 16 spins: the states of the last nine
    numbers = ((draws[:, -size:] + 1) / 2 @ 2 ** np.arange(size - 1, -1, -1)).astype(int)
    expected = n * exact.probabilities.reshape(-1, 2**size).sum(axis=0)
    counts = np.bincount(numbers, minlength=2**size)
    assert ((counts - expected) ** 2 / expected).sum() < 2**size + 5 * np.sqrt(2 * 2**size)


def test_a_lattice_that_is_too_wide_says_so():
    target, method = make_target("ising", size=11), METHODS["gibbs"]
    assert target.reference() is None and "11 × 11 spins is too wide for the transfer matrix" in target.no_reference
    assert target.no_reference in sentence(method, method.Knobs.defaults(), target)
    near = make_target("ising", size=7, field=0.0)
    np.testing.assert_allclose(near.exact.mean, 0.0, atol=1e-12), "up and down are alike"
    assert near.no_reference == "" and "too wide" not in sentence(method, method.Knobs.defaults(), near)


SETTINGS = [{"visible": 5, "hidden": 3, "weight_sd": 0.8}, {"visible": 1, "hidden": 4}, {"visible": 4, "hidden": 1}]


@looped("options", SETTINGS)
@looped("by", ["visible", "hidden"])
def test_the_reference_is_the_sum_over_all_states(options, by):
    target = make_target("bernoulli_rbm", **options)
    o, parts = target.options, (target.weights, target.visible_bias, target.hidden_bias)
    z, h = (np.array(list(itertools.product([-1.0, 1.0], repeat=count))) for count in (o.visible, o.hidden))
    log_p = logsumexp(z @ parts[0] @ h.T + (z @ parts[1])[:, None] + h @ parts[2], axis=1)
    found = target.exact if by == "visible" else HiddenEnumeration(*parts, target.log_joint)
    np.testing.assert_allclose(target.log_joint(z), log_p, rtol=1e-12)
    assert np.exp(target.log_prior(z)).sum() == pytest.approx(1)
    p = np.exp(log_p - logsumexp(log_p))
    assert found.log_z == pytest.approx(logsumexp(log_p), rel=1e-12)
    np.testing.assert_allclose(found.mean, p @ z, atol=1e-12)
    np.testing.assert_allclose(found.cov, np.atleast_2d(np.cov(z.T, aweights=p, bias=True)), atol=1e-12)
    np.testing.assert_allclose(np.exp(found.log_density(z)), p, rtol=1e-10)
    draws = found.sample(np.random.default_rng(0), 10_000)
    counts = (draws[:, None, :] == z).all(axis=2).sum(axis=0)
    assert ((counts - 10_000 * p) ** 2 / (10_000 * p)).sum() < len(z) + 5 * np.sqrt(2 * len(z))


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


@looped("table", TABLES)
def test_the_probabilities_are_those_of_the_table(table):
    target = make_target("categorical", table=table)
    values, probabilities = TABLES[table]
    np.testing.assert_allclose(np.exp(target.log_joint(np.array(values)[:, None])), probabilities, rtol=1e-12)
    assert sum(probabilities) == pytest.approx(1) and target.exact.log_z == pytest.approx(0, abs=1e-12)
    assert target.exact.mean[0] == pytest.approx(np.dot(values, probabilities))


def test_weights_of_one_s_own_are_divided_by_their_sum():
    target = make_target("categorical", table="own", weight_2=0, weight_4=6)
    assert target.space.values == (1.0, 3.0, 4.0, 5.0)
    np.testing.assert_allclose(target.probabilities, np.array([1, 1, 6, 1]) / 9)
    refused(
        "above 0 for at least two", make_target, "categorical", table="own", **{f"weight_{k}": 0 for k in range(1, 5)}
    )
