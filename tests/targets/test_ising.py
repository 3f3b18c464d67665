"""The transfer matrix against a visit of all states, Kaufman's formula, and what a field does to it."""

import numpy as np
import pytest

from pmdviz.methods import METHODS
from pmdviz.scenes.introduction import explanation, sentence
from pmdviz.targets import make_target
from pmdviz.targets.reference.enumeration import Enumeration
from pmdviz.targets.reference.transfer import TransferMatrix
from tests.support.tables import looped

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


@pytest.mark.parametrize("options", [CASES[2], CASES[5]], ids=str)
def test_its_draws_are_of_the_exact_probabilities(options):
    target, n = make_target("ising", **options), 40_000
    exact, draws = target.exact, transferred(target).sample(np.random.default_rng(0), n)
    size = target.dim if target.dim < 10 else 9  # of 16 spins: the states of the last nine
    numbers = ((draws[:, -size:] + 1) / 2 @ 2 ** np.arange(size - 1, -1, -1)).astype(int)
    expected = n * exact.probabilities.reshape(-1, 2**size).sum(axis=0)
    counts = np.bincount(numbers, minlength=2**size)
    assert ((counts - expected) ** 2 / expected).sum() < 2**size + 5 * np.sqrt(2 * 2**size)


def kaufman(size, coupling):
    """log Z of the torus without a field (Kaufman 1949)."""
    k = np.arange(2 * size)
    with np.errstate(invalid="ignore"):
        gamma = np.arccosh(np.cosh(2 * coupling) / np.tanh(2 * coupling) - np.cos(np.pi * k / size))
    gamma[0] = 2 * coupling + np.log(np.tanh(coupling))
    odd, even = size * gamma[1::2] / 2, size * gamma[::2] / 2
    products = (np.prod(2 * f(each)) for each in (odd, even) for f in (np.cosh, np.sinh))
    return np.log(0.5 * sum(products)) + size**2 / 2 * np.log(2 * np.sinh(2 * coupling))


@pytest.mark.parametrize("size, coupling", [(4, 0.3), (7, 0.44), (10, 0.1)])
def test_kaufmans_formula(size, coupling):
    target = make_target("ising", size=size, coupling=coupling, field=0.0)
    assert target.exact.log_z == pytest.approx(kaufman(size, coupling), abs=1e-9)
    np.testing.assert_allclose(target.exact.mean, 0.0, atol=1e-12), "up and down are alike"


def test_a_lattice_that_is_too_wide_says_so():
    target, method = make_target("ising", size=11), METHODS["gibbs"]
    assert target.reference() is None and "11 × 11 spins is too wide for the transfer matrix" in target.no_reference
    assert target.no_reference in sentence(method, method.Knobs.defaults(), target)
    assert target.no_reference in explanation(method, target).sentences
    near = make_target("ising", size=10, field=0.0)
    assert near.no_reference == "" and "too wide" not in sentence(method, method.Knobs.defaults(), near)
