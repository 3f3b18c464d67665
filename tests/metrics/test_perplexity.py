"""Perplexity by the split of documents, against a naive formula."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session

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
