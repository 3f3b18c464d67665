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

ALWAYS = {"tv", "kl_forward", "kl_reverse", "cross_entropy", "mass_outside", "ess"}


def gaussian(mean, cov):
    return KernelDensity(np.array(mean, float)[None], np.zeros(1), np.linalg.cholesky(cov))


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
    k = lambda a, b: np.exp(-np.sum((a - b) ** 2) / (2 * np.median(pairs)))  # noqa: E731
    xx = np.mean([k(x[i], x[j]) for i in range(12) for j in range(12) if i != j])
    yy = np.mean([k(y[i], y[j]) for i in range(9) for j in range(9) if i != j])
    xy = np.mean([k(a, b) for a in x for b in y])
    assert distances.mmd(x, y) == pytest.approx(np.sqrt(xx + yy - 2 * xy), rel=1e-12)
    same, other = np.full((50, 4), 196.3), np.full((50, 4), -196.3)  # a reference that is one state
    assert distances.mmd(same, same) == 0.0 and distances.mmd(other, same) == pytest.approx(np.sqrt(2), abs=1e-12)


def test_mmd_of_discrete_states_against_loops():
    """exp(-share of coordinates that differ), whatever the values are, also where they fill more than one word."""
    rng, values = np.random.default_rng(2), (-3.0, 0.5, 1.0, 40.0)
    for dim in (3, 16, 21):
        x, y = rng.choice(values, size=(11, dim)), rng.choice(values[:3], size=(8, dim))
        k = lambda a, b: np.exp(-np.mean(a != b))  # noqa: E731
        np.testing.assert_allclose(
            np.exp(-distances.differing(x, y, values)), [[k(a, b) for b in y] for a in x], rtol=1e-14
        )
        xx = np.mean([k(x[i], x[j]) for i in range(11) for j in range(11) if i != j])
        yy = np.mean([k(y[i], y[j]) for i in range(8) for j in range(8) if i != j])
        xy = np.mean([k(a, b) for a in x for b in y])
        assert distances.hamming_mmd(x, y, values) == pytest.approx(np.sqrt(max(xx + yy - 2 * xy, 0)), rel=1e-10)


def test_sliced_wasserstein_against_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 4)), 1 + 2 * rng.normal(size=(40, 4))
    directions = stream("directions").standard_normal((4, distances.DIRECTIONS))
    directions /= np.linalg.norm(directions, axis=0)
    naive = np.mean([wasserstein_distance(x @ u, y @ u) for u in directions.T])
    assert distances.sliced_wasserstein(x, y) == pytest.approx(naive, rel=1e-10)


def test_ksd_against_loops():
    """k_p from finite differences of the kernel itself."""
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


def test_the_noise_of_the_squared_ksd_is_its_standard_deviation_for_exact_draws():
    rng = np.random.default_rng(3)
    found = np.array([distances.squared_ksd(x, -x) for x in rng.standard_normal((400, 100, 2))])
    squared, noise = found[:, 0], found[:, 1].mean()
    assert abs(squared.mean()) < 4 * noise / 20
    assert squared.std() == pytest.approx(noise, rel=0.2)  # four standard errors of an sd, whose tail is that of chi^2


def test_the_ksd_is_near_0_for_draws_of_the_posterior_alone_and_never_costs_more_rows_than_2000():
    """In posterior units: all points at the mean, or draws twice too wide, are far above the noise of exact draws."""
    asked = []

    class Counting(Linear):
        def _grad_log_likelihood(self, theta, batch):
            asked.append((len(theta), len(batch)))
            return super()._grad_log_likelihood(theta, batch)

    for num_data in (400, 20_000):
        target = Counting(dim=3, num_data=num_data, data_seed=5)
        exact = target.reference()
        draws = exact.sample(np.random.default_rng(3), 500)
        clouds = {"exact": draws, "wide": 2 * draws - exact.mean, "point": np.tile(exact.mean, (500, 1))}
        found = {
            name: distances._measured(SimpleNamespace(target=target, draws=cloud)) for name, cloud in clouds.items()
        }
        for name, (value, noise) in found.items():
            assert (abs(value) < 4 * noise) == (name == "exact"), (num_data, name, value, noise)
        assert max(rows for points, rows in asked if points > 1) <= 2000


@pytest.mark.parametrize("dim", [2, 8])
def test_marginal_tv_of_a_gaussian(dim):
    """A shift of half an sd along one coordinate, over twenty bins of equal mass."""
    target = make_target("linear", dim=dim)
    exact = target.exact
    shift = np.zeros(dim)
    shift[1] = 0.5 * np.sqrt(exact.cov[1, 1])
    edges = norm.ppf(np.arange(1, 20) / 20)
    mass = np.diff(norm.cdf(edges - 0.5), prepend=0.0, append=1.0)
    expected = 0.5 * np.abs(mass - 0.05).sum()
    assert distances.marginal_tv(gaussian(exact.mean + shift, exact.cov), target) == pytest.approx(expected, abs=0.01)
    assert distances.marginal_tv(gaussian(exact.mean, exact.cov), target) < 0.02


@looped("method", ["hmc", "pmd", "svi"])
def test_what_a_run_tells_is_what_its_approximation_has(method):
    """The metrics of its last frame from its own mean, covariance and draws."""
    knobs = {"num_particles": 200} if "num_particles" in METHODS[method].Knobs.specs() else {}
    options = {"dim": 8, "num_data": 100}
    parts = {"target": "linear", "method": method, "target_options": options, "budget": 1500, "seed": 0, **knobs}
    run = pmdviz.run(floor=False, **parts)
    frame, exact, found = run.final, run.target.exact, run.final.metrics
    mean, cov = frame.density.mean, frame.density.cov
    assert found["mean_error"] == pytest.approx(np.abs((mean - exact.mean) / np.sqrt(np.diag(exact.cov))).max())
    assert found["sd_ratio_min"] == pytest.approx(np.sqrt(np.diag(cov) / np.diag(exact.cov)).min())
    assert found["kl_moments"] == pytest.approx(distances.kl_of_moments(mean, cov, exact))
    loss = [frame.target.row_mean(theta[None], frame.target.test_data)[0] for theta in frame.draws[:200]]
    assert found["rmse"] > 0.9 * frame.target.options.sigma_y and len(loss) == 200
    assert {name for name, value in found.items() if value is None} >= ALWAYS - {"ess"}
    assert run.history["mean_error"][-1] == found["mean_error"]


def test_nlpd_and_rmse_of_the_exact_posterior_are_those_of_the_noise():
    """As q is the exact Gaussian, E_q p(y) is N(x.mean, sigma^2 + x'Sx): held-out rows against that."""
    run = pmdviz.run(target="linear", method="svi", seed=0, budget=3000, floor=False)
    target, q = run.target, run.final.density
    x, y = target.test_data[:, :-1], target.test_data[:, -1]
    sd = np.sqrt(target.options.sigma_y**2 + np.einsum("ni,ij,nj->n", x, q.cov, x))
    assert run.final.metrics["nlpd"] == pytest.approx(-norm.logpdf(y, x @ q.mean, sd).mean(), abs=2e-3)
    assert run.final.metrics["rmse"] == pytest.approx(np.sqrt(np.mean((y - x @ q.mean) ** 2)), abs=2e-3)


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
    assert "mmd" not in found and "mmd" not in run.history and 0 <= found["mmd"] < 1
    with pytest.raises(KeyError):
        found["no_such_metric"]
    one, two = (pmdviz.Session(pmdviz.Recipe("linear", "smc", seed=3, num_particles=100)) for _ in range(2))
    for _ in range(3):
        dict(one.advance().metrics), one.frame.metrics["ksd"]
    assert dict(two.advance(3).metrics) == dict(one.frame.metrics), "whenever they are looked at"


def test_a_point_without_weight_is_no_scale_for_the_others():
    """One of two particles has weight 0 to double precision, and predicts better by more than 745 nats."""
    options = {"data": "curve", "response": "real", "num_data": 1, "layers": 1, "hidden": 1}
    options |= {"units": "tanh", "scale_shape": np.e, "scale_rate": 1.0, "data_seed": 0}
    knobs = {"adaptation": "m_pmc", "num_components": 1, "num_particles": 2, "defensive": 0.02, "smallest_ess": 0.05}
    recipe = Recipe("regression_net", "adaptive_is", target_options=options, seed=1, budget=1, **knobs)
    frame = Session(recipe).advance()
    rows = frame.target.row_log_likelihood(frame.particles, frame.target.test_data)
    assert frame.weights.min() == 0 and np.ptp(rows, axis=0).max() > 745
    alive = int(np.argmax(frame.weights))
    name = next(name for name in frame.metric_names if name in ("nlpd", "log_loss"))
    assert frame.metrics[name] == pytest.approx(-rows[alive].mean())
