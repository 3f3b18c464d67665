"""Targets on discrete states against visits of all states, and corpora: drawn, of a package, and from files."""

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
from pmdviz.targets.topics import NUM_TEST
from tests.support.tables import looped, refused
from tests.support.topics import tokens_of

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


def test_the_smaller_layer_is_visited_too_large_ones_are_not_and_stuck_chains_are_no_reference():
    kinds = {(16, 20): Enumeration, (17, 14): HiddenEnumeration, (17, 15): DrawsReference, (400, 3): HiddenEnumeration}
    for (visible, hidden), kind in kinds.items():
        assert type(make_target("bernoulli_rbm", visible=visible, hidden=hidden).reference()) is kind
    assert np.isfinite(make_target("bernoulli_rbm", visible=400, hidden=3, weight_sd=5.0).exact.log_z)
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
    none = {f"weight_{k}": 0 for k in range(1, 5)}
    refused("above 0 for at least two", make_target, "categorical", table="own", **none)


def test_words_of_a_drawn_corpus_follow_its_topics_and_belong_together():
    target = make_target("topics", num_data=4000, length=30, num_topics=3, data="model", vocabulary=6, beta=0.5)
    found = np.bincount(np.concatenate(tokens_of(target)), minlength=6) / (4000 * 30)
    assert np.abs(found - target.true_topics.mean(axis=0)).max() < 4.5 * np.sqrt(0.25 / 4000)
    first = np.array([np.mean(words == words[0]) for words in tokens_of(target)])
    assert first.mean() > (found**2).sum() + 1 / 30 + 0.02


def test_the_unigram_entropy_is_of_the_held_out_words_which_are_not_learnt_from():
    target = make_target("topics", num_data=50, length=30)
    assert len(target.test_data) == NUM_TEST and {len(words) for words in tokens_of(target)} == {30}
    assert target.test_data[:, 0].min() >= target.data[:, 2].max()
    corpus, o = target.corpus, target.options
    halves = [[corpus.counts[a:b].sum(), corpus.counts[b:c].sum()] for a, b, c in target.test_data]
    assert halves == [[15, 15]] * NUM_TEST
    seen = np.bincount(np.concatenate(tokens_of(target)), minlength=25) + o.beta
    words = np.concatenate([np.repeat(corpus.words[a:b], corpus.counts[a:b]) for _, a, b in target.test_data])
    assert target.unigram_nats == pytest.approx(-np.log(seen / seen.sum())[words].mean())


def test_files_of_both_kinds_hold_the_same_corpus(tmp_path):
    table = np.zeros((4, 8), int)
    table[0, [0, 4, 7]], table[1, [1, 2]], table[2, 3], table[3, [0, 7]] = (2, 1, 3), (1, 2), 4, (1, 2)
    lines = [",".join(f"word{k}" for k in range(8)), *(",".join(map(str, row)) for row in table)]
    texts = {
        "corpus.csv": "\n".join(lines),
        "corpus.ldac": "3 0:2 4:1 7:3\n2 1:1 2:2\n1 3:4\n2 0:1 7:2\n",
        "corpus.tokens": "\n".join(f"name{k}" for k in range(8)),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    paths = (str(tmp_path / f"corpus.{kind}") for kind in ("csv", "ldac"))
    one, two = (make_target("topics", data=path, num_data=3, num_topics=2) for path in paths)
    for mine, other in zip(one.corpus[:4], two.corpus[:4], strict=True):
        np.testing.assert_array_equal(mine, other)
    assert one.dim == 16 and one.word_names[3] == "word3" and two.word_names[7] == "name7"
    assert len(one.test_data) == 1 and one.image_shape is None and one.true_topics is None
