"""Metrics of methods that estimate log Z, of processes, states and topics, and the gradient-free Stein discrepancy."""

import numpy as np
import pytest

import pmdviz
from pmdviz.densities.points import Points
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS
from pmdviz.metrics import METRICS
from pmdviz.metrics.states import total_variation_of_states
from pmdviz.metrics.stein import stein_matrix
from pmdviz.targets import make_target
from pmdviz.targets.reference.enumeration import numbers_of, states_of
from pmdviz.targets.space import Discrete

SMALL = {"num_data": 5, "dim": 1}


@pytest.mark.parametrize("method", ["importance", "smc_mcmc"])
def test_the_error_is_the_estimate_less_the_truth(method):
    run = pmdviz.run(target="gaussian", target_options=SMALL, method=method, seed=1, num_particles=4000, floor=False)
    final, truth = run.final, run.target.reference().log_z
    assert final.metrics["log_z"] == final.method.log_z(final.state, final.knobs, run.target)
    assert final.metrics["log_z_error"] == final.metrics["log_z"] - truth
    assert final.metrics["log_z_exact"] == truth and abs(final.metrics["log_z_error"]) < 0.1
    assert run.frames[0].metrics["log_z"] is None and run.frames[0].metrics["log_z_error"] is None
    assert np.isnan(run.history["log_z"][0]) and run.history["log_z"][-1] == final.metrics["log_z"]


def test_without_an_estimate_or_a_truth_there_is_no_metric():
    gaussian, logistic = make_target("gaussian"), make_target("logistic")
    assert not METRICS["log_z"].applies(gaussian, METHODS["pmd"])
    assert METRICS["log_z"].applies(logistic, METHODS["importance"])
    assert not METRICS["log_z_error"].applies(logistic, METHODS["importance"])


def test_no_method_tells_a_number_that_has_the_name_of_a_metric():
    assert not {scalar.name for method in METHODS.values() for scalar in method.scalars} & set(METRICS)


def process_frame(method="subset_gp", target="sparse_gp", steps=3, **options):
    return Session(Recipe(target, method, target_options=options, budget=None), 10**9).advance(steps)


def test_it_is_the_root_mean_squared_difference_of_the_means():
    frame = process_frame(num_data=100, dim=10, noise_variance=0.1)
    exact, draws = frame.target.exact_process[0], frame.target.values(frame.draws).mean(axis=0)
    expected = np.sqrt(((draws - exact) ** 2).mean())
    assert frame.metrics["process_error"] == pytest.approx(expected, abs=0.03) and expected > 0.05


def test_all_data_at_once_leave_none():
    frame = process_frame(num_data=40, dim=10, noise_variance=0.1, steps=10)
    assert frame.visited == 40 and frame.metrics["process_error"] < 1e-4


def test_it_applies_where_there_is_an_exact_process():
    assert "process_error" in process_frame(num_data=30, dim=5).metric_names
    assert "process_error" not in process_frame(num_data=5000, dim=5, steps=0).metric_names
    assert "process_error" not in process_frame("pmd", "linear", 0).metric_names


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


LINE = np.linspace(-9, 9, 600)
STEP = LINE[1] - LINE[0]


def normal(x, mean=0.0, variance=1.0):
    return np.exp(-0.5 * (x - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)


def test_its_mean_under_the_surrogate_is_zero():
    matrix = stein_matrix(LINE[:, None], -LINE[:, None])
    np.testing.assert_allclose(matrix @ normal(LINE) * STEP, 0, atol=1e-8)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)


OPTIONS = {"num_data": 40, "length": 12, "side": 3, "num_topics": 4}


def frame_of(method="structured_pmd", **knobs):
    recipe = Recipe("topics", method, target_options=OPTIONS, budget=None, batch_size=20, **knobs)
    return Session(recipe, 10**9).advance(6)


def naive(frame, sets):
    """Token by token, with shares by expected counts in which a token is left out of its own."""
    target, alpha, total, tokens = frame.target, frame.target.options.alpha, 0.0, 0
    corpus, weights = target.corpus, np.array([weight for weight, _ in sets])
    for first, middle, end in target.test_data:
        seen, unseen = (np.repeat(corpus.words[a:b], corpus.counts[a:b]) for a, b in ((first, middle), (middle, end)))
        predicted = np.zeros((len(sets), len(unseen)))
        for i, (_, phi) in enumerate(sets):
            belongs = phi[seen] / phi[seen].sum(axis=1, keepdims=True)
            for _ in range(60):
                for word in np.unique(seen):
                    same = np.flatnonzero(seen == word)
                    share = phi[word] * (belongs.sum(axis=0) - belongs[same[0]] + alpha)
                    belongs[same] = share / share.sum()
            theta = (belongs.sum(axis=0) + alpha) / (len(seen) + alpha * phi.shape[1])
            predicted[i] = phi[unseen] @ theta
        total += np.log(weights @ predicted).sum()
        tokens += len(unseen)
    return np.exp(-total / tokens)


def test_perplexity_is_that_of_the_naive_formula():
    frame = frame_of(num_particles=3)
    topics = frame.state.natural / frame.state.natural.sum(axis=1, keepdims=True)
    frame = frame.replaced(state=frame.state._replace(log_weights=np.log([0.2, 0.5, 0.3])))
    frame.__dict__.pop("densities", None), frame.__dict__.pop("_measured", None)
    expected = naive(frame, list(zip([0.2, 0.5, 0.3], topics, strict=True)))
    assert frame.metric("perplexity") == pytest.approx(expected, rel=1e-4)
    assert frame.metric("word_log_loss") == pytest.approx(np.log(expected), abs=1e-4)


def test_of_many_draws_sixteen_are_asked_evenly():
    frame = frame_of("sgrld", burn_in=0.0)
    draws = frame.target.topics(frame.density.particles)
    assert frame.metric("perplexity") == pytest.approx(naive(frame, [(1 / 6, phi) for phi in draws]), rel=1e-3)


def test_topics_that_know_nothing_have_as_many_words_as_there_are():
    session = Session(Recipe("topics", "structured_pmd", target_options=OPTIONS, num_particles=2), 10**9)
    assert session.frame.metric("perplexity") == pytest.approx(9)
    assert session.frame.metric("unigram") == pytest.approx(np.log(9), abs=0.1)


def test_it_is_the_metric_that_races_go_by():
    frame = frame_of(num_particles=2)
    assert {"perplexity", "word_log_loss", "unigram", "ess"} <= set(frame.metric_names)
    assert "rmse" not in frame.metric_names
