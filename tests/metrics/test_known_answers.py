"""Metrics of methods that estimate log Z, of processes, states and topics, and the gradient-free Stein discrepancy."""

import numpy as np
import pytest

import pmdviz
from pmdviz.densities.bandwidth import chosen_shape, local, shaped_density
from pmdviz.densities.density import KernelDensity, Points
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels.resampling import thinned
from pmdviz.methods import METHODS
from pmdviz.metrics import METRICS, perfect_draws
from pmdviz.metrics.distances import stein_matrix, total_variation_of_states
from pmdviz.metrics.divergences import compare, picture
from pmdviz.metrics.perfect_draws import floor, known_floor
from pmdviz.targets import make_target
from pmdviz.targets.enumeration import numbers_of, states_of
from pmdviz.targets.space import Discrete
from tests.support.engine import advanced
from tests.support.tables import looped
from tests.targets.test_custom import custom, sample_prior


@pytest.mark.parametrize("method", ["importance", "smc_mcmc"])
def test_the_error_is_the_estimate_less_the_truth(method):
    options = {"num_data": 5, "dim": 1}
    run = pmdviz.run(target="gaussian", target_options=options, method=method, seed=1, num_particles=4000, floor=False)
    final, truth = run.final, run.target.reference().log_z
    log_z = final.method.log_z(final.state, final.knobs, run.target)
    expected = {"log_z": log_z, "log_z_error": log_z - truth, "log_z_exact": truth}
    assert {name: final.metrics[name] for name in expected} == expected and abs(log_z - truth) < 0.1
    assert run.frames[0].metrics["log_z"] is None and run.frames[0].metrics["log_z_error"] is None
    assert np.isnan(run.history["log_z"][0]) and run.history["log_z"][-1] == log_z


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
    target, rng, space = make_target("ising", size=2), np.random.default_rng(0), Discrete((1, -1, 0.5), 4)
    q = Points(target.sample_prior(rng, 12), np.log(rng.dirichlet(np.ones(12))))
    share = ((states_of(target.space, np.arange(16))[:, None] == q.particles).all(axis=2) * q.weights).sum(axis=1)
    np.testing.assert_array_equal(numbers_of(space, states_of(space, np.arange(81))), np.arange(81))
    found = total_variation_of_states(numbers_of(target.space, q.particles), q.weights, target.exact.probabilities)
    assert found == pytest.approx(0.5 * np.abs(share - target.exact.probabilities).sum())


def test_the_gradient_free_discrepancy_has_mean_zero_under_the_surrogate():
    line = np.linspace(-9, 9, 600)[:, None]
    matrix, density = stein_matrix(line, -line), np.exp(-0.5 * line[:, 0] ** 2)
    np.testing.assert_allclose(matrix @ density * (line[1] - line[0]), 0, atol=1e-8)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)


OPTIONS = {"num_data": 40, "length": 12, "side": 3, "num_topics": 4}


def naive(frame, sets):
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
    frame = advanced("sgrld", 6, "topics", OPTIONS, batch_size=20, burn_in=0.0).frame
    draws = [(1 / 6, phi) for phi in frame.target.topics(frame.density.particles)]
    assert frame.metric("perplexity") == pytest.approx(naive(frame, draws), rel=1e-3)
    frame = advanced("structured_pmd", 0, "topics", OPTIONS, num_particles=2).frame  # topics that know nothing
    assert frame.metric("perplexity") == pytest.approx(9) and frame.metric("unigram") == pytest.approx(
        np.log(9), abs=0.1
    )


SEPARATE = {"num_data": 400, "sigma_x": 1.5}


@looped("rule, options, each", [("local", {}, 1), ("shaped", SEPARATE, 1), ("shaped", SEPARATE, 16), ("local", {}, 16)])
def test_other_draws_agree_within_their_error(rule, options, each):
    """The mean over draws of another generator, at the width that was found best; a shaped one has none to search."""
    target, weights, tvs = make_target("mixture", **options), np.full(300, 1 / 300), []
    found = floor(target, 300, rule=rule, each=each)
    for seed in range(16):
        rng = np.random.default_rng([99, seed])
        draws = target.exact.sample(rng, 300 * each)
        draws = draws[thinned(draws, 300, rng.random(300))]  # of one candidate each: all of them
        if rule == "shaped":
            q = shaped_density(draws, np.log(weights), chosen_shape(draws, weights, each), 1.0, target.scale)
        else:
            q = KernelDensity(draws, np.log(weights), local(draws, weights, found.tv_factor, target.scale))
        tvs.append(compare(picture(q, target.exact, target.view_box))["tv"])
    assert abs(np.mean(tvs) - found.tv) < 4.5 * np.hypot(found.tv_se, np.std(tvs, ddof=1) / 4)
    assert found.tv_se == pytest.approx(np.std(tvs, ddof=1) / 4, rel=0.8)
    if rule == "shaped":
        assert found.tv_factor == found.kl_factor == 1.0
        assert known_floor(target, 300, "shaped", each) is found and known_floor(target, 300, "shaped", 7) is None
        way = {"bandwidth_rule": rule, "draws": "balanced" if each == 16 else "independent"}
        session = Session(Recipe("mixture", target_options=options, num_particles=300, budget=100, **way))
        assert session.advance().metrics["floor_tv"] == found.tv
        assert session.set(bandwidth_rule="isotropic").drawn_as == {"rule": "local", "each": each}


def test_the_floor_is_computed_once_for_a_target_and_a_number_and_frames_show_it_once_it_is_known(monkeypatch):
    target = make_target("bimodal1d", data_seed=77)
    assert known_floor(target, 31) is None
    first = floor(target, 31)
    session = Session(Recipe("gaussian", target_options={"data_seed": 123}, num_particles=21, budget=50))
    frame = session.advance()
    assert frame.metrics["floor_tv"] is None and frame.metrics["floor_kl"] is None
    found = floor(session.target, 21, **frame.drawn_as)
    assert (frame.metrics["floor_tv"], frame.metrics["floor_kl"]) == (found.tv, found.kl)
    monkeypatch.setattr(perfect_draws, "_computed", None)
    assert floor(make_target("bimodal1d", data_seed=77), 31) is first is known_floor(target, 31)
    assert floor(custom(dim=3, sample_prior=lambda rng, m: sample_prior(rng, m, 3)), 10) is None, "no exact posterior"
    assert known_floor(target, 32) is None and known_floor(make_target("bimodal1d", data_seed=78), 31) is None
