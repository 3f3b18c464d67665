"""Metrics in any dimension, of chains, of methods that estimate log Z, of processes, states and topics."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.stats import multivariate_normal, norm, wasserstein_distance

import pmdviz
from pmdviz.densities.bandwidth import chosen_shape, local, shaped_density
from pmdviz.densities.chains import bulk_ess, normal_scores, rhat
from pmdviz.densities.density import KernelDensity, Points
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels.resampling import thinned
from pmdviz.methods import METHODS, usual_target
from pmdviz.metrics import METRICS, distances, perfect_draws
from pmdviz.metrics.diagnostics import LAGS, autocorrelation
from pmdviz.metrics.distances import stein_matrix, total_variation_of_states
from pmdviz.metrics.divergences import compare, picture
from pmdviz.metrics.perfect_draws import floor, known_floor
from pmdviz.streams import stream
from pmdviz.targets import make_target
from pmdviz.targets.enumeration import numbers_of, states_of
from pmdviz.targets.normal_noise import Linear
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


def test_process_error_is_of_the_means_and_tv_of_states_half_the_sum_over_all():
    options = {"num_data": 100, "dim": 10, "noise_variance": 0.1}
    frame = advanced("subset_gp", 3, "sparse_gp", options).frame
    exact, draws = frame.target.exact_process[0], frame.target.values(frame.draws).mean(axis=0)
    expected = np.sqrt(((draws - exact) ** 2).mean())
    assert frame.metrics["process_error"] == pytest.approx(expected, abs=0.03) and expected > 0.05
    whole = advanced("subset_gp", 10, "sparse_gp", {**options, "num_data": 40}).frame
    assert whole.visited == 40 and whole.metrics["process_error"] < 1e-4
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
    assert {"perplexity", "word_log_loss", "unigram", "ess"} <= {*frame.metric_names} - {"rmse"}
    natural = frame.state.conditionals.natural
    topics = natural / natural.sum(axis=1, keepdims=True)
    frame = frame.replaced(state=frame.state._replace(log_weights=np.log([0.2, 0.5, 0.3])))
    frame.__dict__.pop("densities", None), frame.__dict__.pop("_measured", None)
    expected = naive(frame, list(zip([0.2, 0.5, 0.3], topics, strict=True)))
    assert frame.metric("perplexity") == pytest.approx(expected, rel=1e-4)
    assert frame.metric("word_log_loss") == pytest.approx(np.log(expected), abs=1e-4)
    frame = advanced("sgrld", 6, "topics", OPTIONS, batch_size=20, burn_in=0.0).frame
    draws = [(1 / 6, phi) for phi in frame.target.topics(frame.density.particles)]
    assert frame.metric("perplexity") == pytest.approx(naive(frame, draws), rel=1e-3)
    frame = advanced("structured_pmd", 0, "topics", OPTIONS, num_particles=2).frame  # topics that know nothing
    assert frame.metric("perplexity") == pytest.approx(9)
    assert frame.metric("unigram") == pytest.approx(np.log(9), abs=0.1)


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


def gaussian(mean, cov):
    return KernelDensity(np.array(mean, float)[None], np.zeros(1), np.linalg.cholesky(cov))


def mmd_by_loops(x, y, k):
    within = [np.mean([k(z[i], z[j]) for i in range(len(z)) for j in range(len(z)) if i != j]) for z in (x, y)]
    return np.sqrt(max(sum(within) - 2 * np.mean([k(a, b) for a in x for b in y]), 0))


@pytest.mark.parametrize("dim", [2, 8, 50])
def test_moments_against_closed_forms(dim):
    exact = make_target("linear", dim=dim).exact
    rng, sd = np.random.default_rng(dim), np.sqrt(np.diag(exact.cov))
    mean, factor = exact.mean + 0.3 * sd, rng.normal(size=(dim, dim))
    cov = exact.cov + 0.1 * np.outer(sd, sd) * np.cov(factor) + np.diag(0.1 * sd**2)
    assert distances.mean_error(mean, exact) == pytest.approx(0.3)
    np.testing.assert_allclose(distances.sd_ratios(cov, exact), np.sqrt(np.diag(cov)) / sd)
    inverse = np.linalg.inv(cov)
    logdet = np.linalg.slogdet(cov)[1] - np.linalg.slogdet(exact.cov)[1]
    naive = 0.5 * (np.trace(inverse @ exact.cov) + (mean - exact.mean) @ inverse @ (mean - exact.mean) - dim + logdet)
    assert distances.kl_of_moments(mean, cov, exact) == pytest.approx(naive, rel=1e-8)
    assert distances.kl_of_moments(exact.mean, exact.cov, exact) == pytest.approx(0.0, abs=1e-9)
    draws = exact.sample(rng, 20_000)
    q = multivariate_normal(mean, cov)
    gaps = exact.log_density(draws) - q.logpdf(draws)
    assert abs(gaps.mean() - naive) < 4.5 * gaps.std() / np.sqrt(len(gaps)), "it is E_p log p/q"


def test_mmd_against_loops_and_sliced_wasserstein_against_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 3)) + 0.7, rng.normal(size=(9, 3))
    pairs = [np.sum((a - b) ** 2) for i, a in enumerate(y) for b in y[i + 1 :]]
    expected = mmd_by_loops(x, y, lambda a, b: np.exp(-np.sum((a - b) ** 2) / (2 * np.median(pairs))))
    assert distances.mmd(x, y, distances.scaled_by(y)) == pytest.approx(expected, rel=1e-12)
    same, other = np.full((50, 4), 196.3), np.full((50, 4), -196.3)  # a reference that is one state
    scaled = distances.scaled_by(same)
    assert distances.mmd(same, same, scaled) == 0.0
    assert distances.mmd(other, same, scaled) == pytest.approx(np.sqrt(2), abs=1e-12)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 4)), 1 + 2 * rng.normal(size=(40, 4))
    directions = stream("directions").standard_normal((4, distances.DIRECTIONS))
    directions /= np.linalg.norm(directions, axis=0)
    naive = np.mean([wasserstein_distance(x @ u, y @ u) for u in directions.T])
    assert distances.sliced_wasserstein(x, y) == pytest.approx(naive, rel=1e-10)


@looped("dim", [3, 16, 21])
def test_mmd_of_discrete_states_against_loops(dim):
    """exp(-share of coordinates that differ), whatever the values are, also where they fill more than one word."""
    rng, values = np.random.default_rng(2), (-3.0, 0.5, 1.0, 40.0)
    x, y = rng.choice(values, size=(11, dim)), rng.choice(values[:3], size=(8, dim))
    k = lambda a, b: np.exp(-np.mean(a != b))  # noqa: E731
    found = np.exp(-distances.differing(x, y, values))
    np.testing.assert_allclose(found, [[k(a, b) for b in y] for a in x], rtol=1e-14)
    found = distances.mmd(x, y, partial(distances.differing, values=values))
    assert found == pytest.approx(mmd_by_loops(x, y, k), rel=1e-10)


def test_ksd_against_loops():
    rng, h = np.random.default_rng(0), 1e-4
    x, score = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))

    def k(a, b):
        return (1 + np.sum((a - b) ** 2)) ** -0.5

    def stein(a, b, s, t):
        eye = h * np.eye(2)
        by_a = [(k(a + e, b) - k(a - e, b)) / (2 * h) for e in eye]
        by_b = [(k(a, b + e) - k(a, b - e)) / (2 * h) for e in eye]
        both = [(k(a + e, b + e) - k(a + e, b - e) - k(a - e, b + e) + k(a - e, b - e)) / (4 * h * h) for e in eye]
        return s @ t * k(a, b) + s @ by_b + t @ by_a + sum(both)

    for other in (score, rng.normal(size=(6, 2))):
        pairs = np.array([stein(x[i], x[j], score[i], other[j]) for j in range(6) for i in range(6) if i != j])
        value, noise = distances.squared_ksd(x, score, other)
        assert value == pytest.approx(pairs.mean(), rel=1e-6)
        assert noise == pytest.approx(np.sqrt(2 / 30 * (pairs**2).mean()), rel=1e-6)


@looped("num_data", [400, 20_000])
def test_the_ksd_is_near_0_for_draws_of_the_posterior_alone_and_never_costs_more_rows_than_2000(num_data):
    asked = []

    class Counting(Linear):
        def _grad_log_likelihood(self, theta, batch):
            asked.append((len(theta), len(batch)))
            return super()._grad_log_likelihood(theta, batch)

    target = Counting(dim=3, num_data=num_data, data_seed=5)
    exact = target.reference()
    draws = exact.sample(np.random.default_rng(3), 500)
    clouds = {"exact": draws, "wide": 2 * draws - exact.mean, "point": np.tile(exact.mean, (500, 1))}
    for name, cloud in clouds.items():
        value, noise = distances._measured(SimpleNamespace(target=target, draws=cloud))
        assert (abs(value) < 4 * noise) == (name == "exact"), (name, value, noise)
    assert max(rows for points, rows in asked if points > 1) <= 2000


@pytest.mark.parametrize("dim", [2, 8])
def test_marginal_tv_of_a_gaussian(dim):
    """A shift of half an sd along one coordinate, over twenty bins of equal mass."""
    target = make_target("linear", dim=dim)
    exact, edges = target.exact, norm.ppf(np.arange(1, 20) / 20)
    shift = 0.5 * np.sqrt(exact.cov[1, 1]) * np.eye(dim)[1]
    expected = 0.5 * np.abs(np.diff(norm.cdf(edges - 0.5), prepend=0.0, append=1.0) - 0.05).sum()
    assert distances.marginal_tv(gaussian(exact.mean + shift, exact.cov), target) == pytest.approx(expected, abs=0.01)
    assert distances.marginal_tv(gaussian(exact.mean, exact.cov), target) < 0.02


@looped("method", ["hmc", "pmd", "svi"])
def test_what_a_run_tells_is_what_its_approximation_has(method):
    knobs = {"num_particles": 200} if "num_particles" in METHODS[method].Knobs.specs() else {}
    options = {"dim": 8, "num_data": 100}
    run = pmdviz.run(target="linear", method=method, target_options=options, budget=1500, seed=0, floor=False, **knobs)
    exact, found, mean, cov = run.target.exact, run.final.metrics, run.final.density.mean, run.final.density.cov
    assert found["mean_error"] == pytest.approx(np.abs((mean - exact.mean) / np.sqrt(np.diag(exact.cov))).max())
    assert found["sd_ratio_min"] == pytest.approx(np.sqrt(np.diag(cov) / np.diag(exact.cov)).min())
    assert found["kl_moments"] == pytest.approx(distances.kl_of_moments(mean, cov, exact))
    of_the_plane = {"tv", "kl_forward", "kl_reverse", "cross_entropy", "mass_outside"}
    assert {name for name, value in found.items() if value is None} >= of_the_plane
    assert run.history["mean_error"][-1] == found["mean_error"]


def test_accuracy_and_log_loss_by_hand():
    run = pmdviz.run(target="logistic", method="pmd", seed=0, budget=500, num_particles=200, floor=False)
    rows, draws = run.target.test_data, run.final.draws
    p = (1 / (1 + np.exp(-draws @ rows[:, :-1].T))).mean(axis=0)
    y = rows[:, -1]
    assert run.final.metrics["accuracy"] == pytest.approx(((p > 0.5) == (y == 1)).mean())
    assert run.final.metrics["log_loss"] == pytest.approx(-np.log(np.where(y == 1, p, 1 - p)).mean())


def test_a_dear_metric_is_computed_when_it_is_asked_for():
    run = pmdviz.run(seed=0, budget=500, num_particles=100, floor=False)
    found = run.final.metrics
    assert "mmd" not in found and "mmd" not in run.history
    assert 0 <= found["mmd"] < 1 and found.get("mmd") == found["mmd"]
    with pytest.raises(KeyError):
        found["no_such_metric"]
    assert found.get("no_such_metric", 3.0) == 3.0
    one, two = (pmdviz.Session(pmdviz.Recipe("linear", "smc", seed=3, num_particles=100)) for _ in range(2))
    for _ in range(3):
        dict(one.advance().metrics), one.frame.metrics["ksd"]
    assert dict(two.advance(3).metrics) == dict(one.frame.metrics), "whenever they are looked at"


def test_a_point_without_weight_is_no_scale_for_the_others():
    """One of two particles has weight 0 to double precision, and predicts better by more than 745 nats."""
    options = {"data": "curve", "response": "real", "num_data": 1, "layers": 1, "hidden": 1, "units": "tanh"}
    options |= {"scale_shape": np.e, "scale_rate": 1.0, "data_seed": 0}
    knobs = {"adaptation": "m_pmc", "num_components": 1, "num_particles": 2, "defensive": 0.02, "smallest_ess": 0.05}
    frame = advanced("adaptive_is", 1, "regression_net", options, seed=1, **knobs).frame
    rows = frame.target.row_log_likelihood(frame.particles, frame.target.test_data)
    assert frame.weights.min() == 0 and np.ptp(rows, axis=0).max() > 745
    assert frame.metrics["nlpd"] == pytest.approx(-rows[int(np.argmax(frame.weights))].mean())


def autoregressive(rng, count, n, rho):
    noise, x = rng.normal(size=(count, n)), np.empty((count, n))
    x[:, 0] = noise[:, 0]
    for t in range(1, n):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * noise[:, t]
    return x


@looped("rho", [-0.6, 0.0, 0.5, 0.97])
@looped("count, n", [(1, 4), (1, 5), (1, 200), (1, 1001), (4, 7), (4, 150), (3, 1000)])
def test_both_are_those_of_another_implementation(rho, count, n):
    for seed in range(3):
        chains = autoregressive(np.random.default_rng([seed, count, n]), count, n, rho)
        chains[0] += 0.3 * seed * (count > 1)
        chains = np.round(chains, 3 - seed)  # the last with many ties
        if np.ptp(chains) == 0:
            continue
        assert bulk_ess(chains) == pytest.approx(float(array_stats.ess(chains, method="bulk")), rel=1e-9)
        if count > 1:
            assert rhat(chains) == pytest.approx(float(array_stats.rhat(chains)), rel=1e-9, nan_ok=True)


def test_one_chain_is_judged_by_its_halves_and_chains_apart_have_a_large_rhat():
    for seed in range(5):
        chain = autoregressive(np.random.default_rng(seed), 1, 200, 0.8)
        split = chain.reshape(2, 100)
        scores = [normal_scores(values) for values in (split, np.abs(split - np.median(split)))]
        expected = max(float(array_stats.rhat(each, method="identity")) for each in scores)
        assert rhat(chain) == pytest.approx(expected, rel=1e-12)
    rng = np.random.default_rng(0)
    assert rhat(np.zeros((2, 100))) is None is bulk_ess(np.zeros((2, 100))), "none that differ"
    assert rhat(rng.normal(size=(2, 3))) is None is bulk_ess(np.ones((2, 3))), "too few"
    same = rng.normal(size=(4, 500))
    assert rhat(same) < 1.01 < 1.5 < rhat(same + np.array([[0], [0], [0], [5]]))
    assert rhat(same * np.array([[1], [1], [1], [5]])) > 1.2, "the tail's, where the middles agree"
    assert rhat(same[:1]) < 1.02 < 1.2 < rhat(same[:1] + np.linspace(0, 3, 500))


@looped("method", [name for name, one in METHODS.items() if one.family == "chain" and usual_target(name) == "mixture"])
def test_a_frame_of_chains_has_both_and_the_worst_coordinate_counts(method):
    frame = advanced(method, 60, "banana" if method != "gibbs" else "gaussian", num_chains=3, burn_in=0.5).frame
    assert frame.chains.shape == (3, 30, 2)
    for name, of, worst in (("rhat", rhat, max), ("bulk_ess", bulk_ess, min)):
        assert frame.metrics[name] == worst(of(frame.chains[:, :, k]) for k in range(2))


def test_autocorrelations_are_those_of_another_implementation_and_of_an_autoregression():
    rng = np.random.default_rng(4)
    chain = autoregressive(rng, 1, 400, 0.8)
    for lag in LAGS:
        assert autocorrelation(chain, lag) == pytest.approx(float(array_stats.autocorr(chain[0])[lag]), rel=1e-9)
    long = autoregressive(rng, 4, 20_000, 0.8)
    assert autocorrelation(long, 1) == pytest.approx(0.8, abs=0.02)
    assert autocorrelation(long, 10) == pytest.approx(0.8**10, abs=0.05)
    assert autocorrelation(np.zeros((2, 100)), 1) is None is autocorrelation(chain[:, :40], 50)
