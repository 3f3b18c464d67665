"""Metrics above the plane, against closed forms and plain loops; and where each of them is to be had."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm, wasserstein_distance

import pmdviz
from pmdviz.densities.density import KernelDensity
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS
from pmdviz.metrics import distances
from pmdviz.streams import stream
from pmdviz.targets import make_target
from pmdviz.targets.normal_noise import Linear
from tests.support.tables import looped


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


def test_mmd_against_loops():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 3)) + 0.7, rng.normal(size=(9, 3))
    pairs = [np.sum((a - b) ** 2) for i, a in enumerate(y) for b in y[i + 1 :]]
    expected = mmd_by_loops(x, y, lambda a, b: np.exp(-np.sum((a - b) ** 2) / (2 * np.median(pairs))))
    assert distances.mmd(x, y) == pytest.approx(expected, rel=1e-12)
    same, other = np.full((50, 4), 196.3), np.full((50, 4), -196.3)  # a reference that is one state
    assert distances.mmd(same, same) == 0.0 and distances.mmd(other, same) == pytest.approx(np.sqrt(2), abs=1e-12)


@looped("dim", [3, 16, 21])
def test_mmd_of_discrete_states_against_loops(dim):
    """exp(-share of coordinates that differ), whatever the values are, also where they fill more than one word."""
    rng, values = np.random.default_rng(2), (-3.0, 0.5, 1.0, 40.0)
    x, y = rng.choice(values, size=(11, dim)), rng.choice(values[:3], size=(8, dim))
    k = lambda a, b: np.exp(-np.mean(a != b))  # noqa: E731
    found = np.exp(-distances.differing(x, y, values))
    np.testing.assert_allclose(found, [[k(a, b) for b in y] for a in x], rtol=1e-14)
    assert distances.hamming_mmd(x, y, values) == pytest.approx(mmd_by_loops(x, y, k), rel=1e-10)


def test_sliced_wasserstein_against_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 4)), 1 + 2 * rng.normal(size=(40, 4))
    directions = stream("directions").standard_normal((4, distances.DIRECTIONS))
    directions /= np.linalg.norm(directions, axis=0)
    naive = np.mean([wasserstein_distance(x @ u, y @ u) for u in directions.T])
    assert distances.sliced_wasserstein(x, y) == pytest.approx(naive, rel=1e-10)


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
    assert (
        "mmd" not in found and "mmd" not in run.history and 0 <= found["mmd"] < 1 and found.get("mmd") == found["mmd"]
    )
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
    frame = Session(
        Recipe("regression_net", "adaptive_is", target_options=options, seed=1, budget=1, **knobs)
    ).advance()
    rows = frame.target.row_log_likelihood(frame.particles, frame.target.test_data)
    assert frame.weights.min() == 0 and np.ptp(rows, axis=0).max() > 745
    assert frame.metrics["nlpd"] == pytest.approx(-rows[int(np.argmax(frame.weights))].mean())
