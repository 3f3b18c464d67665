"""Metrics of methods that estimate log Z, of processes, states and topics, and the gradient-free Stein discrepancy."""

import numpy as np
import pytest

import pmdviz
from pmdviz.densities.density import Points
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS
from pmdviz.metrics import METRICS
from pmdviz.metrics.distances import stein_matrix, total_variation_of_states
from pmdviz.targets import make_target
from pmdviz.targets.enumeration import numbers_of, states_of
from pmdviz.targets.space import Discrete
from tests.support.engine import advanced

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


def test_each_metric_is_there_where_it_can_be_had():
    assert not {scalar.name for method in METHODS.values() for scalar in method.scalars} & set(METRICS)
    gaussian, logistic = make_target("gaussian"), make_target("logistic")
    for metric, target, method, there in [
        ("log_z", gaussian, "pmd", False),
        ("log_z", logistic, "importance", True),
        ("log_z_error", logistic, "importance", False),  # no truth is known
        ("process_error", make_target("sparse_gp", num_data=30, dim=5), "subset_gp", True),
        ("process_error", make_target("sparse_gp", num_data=5000, dim=5), "subset_gp", False),
        ("process_error", make_target("linear"), "pmd", False),
        ("tv_states", make_target("ising", size=3), "gibbs", True),
        ("tv_states", make_target("ising", size=4), "gibbs", False),
        ("tv_states", gaussian, "gibbs", False),
    ]:
        assert METRICS[metric].applies(target, METHODS[method]) == there, (metric, target.name)


def test_it_is_the_root_mean_squared_difference_of_the_means():
    options = {"num_data": 100, "dim": 10, "noise_variance": 0.1}
    frame = advanced("subset_gp", 3, "sparse_gp", options).frame
    exact, draws = frame.target.exact_process[0], frame.target.values(frame.draws).mean(axis=0)
    expected = np.sqrt(((draws - exact) ** 2).mean())
    assert frame.metrics["process_error"] == pytest.approx(expected, abs=0.03) and expected > 0.05
    whole = advanced("subset_gp", 10, "sparse_gp", {**options, "num_data": 40}).frame
    assert whole.visited == 40 and whole.metrics["process_error"] < 1e-4


def test_it_is_half_the_sum_over_all_states():
    target, rng = make_target("ising", size=2), np.random.default_rng(0)
    q = Points(target.sample_prior(rng, 12), np.log(rng.dirichlet(np.ones(12))))
    states = states_of(target.space, np.arange(16))
    share = ((states[:, None] == q.particles).all(axis=2) * q.weights).sum(axis=1)
    space = Discrete((1, -1, 0.5), 4)
    np.testing.assert_array_equal(numbers_of(space, states_of(space, np.arange(81))), np.arange(81))
    expected = 0.5 * np.abs(share - target.exact.probabilities).sum()
    numbers = numbers_of(target.space, q.particles)
    assert total_variation_of_states(numbers, q.weights, target.exact.probabilities) == pytest.approx(expected)


LINE = np.linspace(-9, 9, 600)
STEP = LINE[1] - LINE[0]


def normal(x, mean=0.0, variance=1.0):
    return np.exp(-0.5 * (x - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)


def test_its_mean_under_the_surrogate_is_zero():
    matrix = stein_matrix(LINE[:, None], -LINE[:, None])
    np.testing.assert_allclose(matrix @ normal(LINE) * STEP, 0, atol=1e-8)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)


OPTIONS = {"num_data": 40, "length": 12, "side": 3, "num_topics": 4}


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
    frame = advanced("structured_pmd", 6, "topics", OPTIONS, batch_size=20, num_particles=3).frame
    assert {"perplexity", "word_log_loss", "unigram", "ess"} <= {
        *frame.metric_names
    } and "rmse" not in frame.metric_names
    topics = frame.state.natural / frame.state.natural.sum(axis=1, keepdims=True)
    frame = frame.replaced(state=frame.state._replace(log_weights=np.log([0.2, 0.5, 0.3])))
    frame.__dict__.pop("densities", None), frame.__dict__.pop("_measured", None)
    expected = naive(frame, list(zip([0.2, 0.5, 0.3], topics, strict=True)))
    assert frame.metric("perplexity") == pytest.approx(expected, rel=1e-4)
    assert frame.metric("word_log_loss") == pytest.approx(np.log(expected), abs=1e-4)


def test_of_many_draws_sixteen_are_asked_evenly():
    frame = advanced("sgrld", 6, "topics", OPTIONS, batch_size=20, burn_in=0.0).frame
    draws = frame.target.topics(frame.density.particles)
    assert frame.metric("perplexity") == pytest.approx(naive(frame, [(1 / 6, phi) for phi in draws]), rel=1e-3)


def test_topics_that_know_nothing_have_as_many_words_as_there_are():
    session = Session(Recipe("topics", "structured_pmd", target_options=OPTIONS, num_particles=2), 10**9)
    assert session.frame.metric("perplexity") == pytest.approx(9)
    assert session.frame.metric("unigram") == pytest.approx(np.log(9), abs=0.1)
