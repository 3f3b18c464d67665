import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import linregress, norm

import pmdviz
from pmdviz import Recipe, Session
from pmdviz.experiments import sweep as measures
from pmdviz.experiments.sweep import BOUNDED, bounded_error, chosen_error, exact_values, fitted, measured, planned
from tests.support.own import own_target
from tests.support.tables import refused

GAUSSIAN = Recipe("gaussian", num_particles=50, batch_size=5, budget=100)


def test_every_combination_times_every_seed_in_order_or_side_by_side(monkeypatch):
    both = {"num_particles": [20, 30], "budget": [100, 200]}
    jobs = planned(GAUSSIAN, both, 3)
    found = [(job.recipe.knobs["num_particles"], job.recipe.budget, job.recipe.seed) for job in jobs]
    assert found == [(m, budget, seed) for m in (20, 30) for budget in (100, 200) for seed in range(3)]
    assert len({job.identity for job in jobs}) == 12
    jobs = planned(GAUSSIAN, both, 1, together=True)
    assert [job.values for job in jobs] == [{"num_particles": 20, "budget": 100}, {"num_particles": 30, "budget": 200}]
    (job,) = planned(GAUSSIAN, {"num_data": [10], "policy": ["never"]}, [7])
    assert (job.recipe.target_options["num_data"], job.recipe.knobs["policy"], job.recipe.seed) == (10, "never", 7)
    assert len(planned(GAUSSIAN, {"num_particles": [20, 20, 20.0, "20"]}, [1, 1])) == 1
    (one,) = planned(GAUSSIAN, {"num_particles": [20]}, 1)
    (further,) = planned(GAUSSIAN.replaced(knobs={"eta": 3.0}), {"num_particles": [20]}, 1)
    monkeypatch.setattr("pmdviz.engine.recipe.versions", lambda: {"pmdviz": "another"})
    (other,) = planned(GAUSSIAN, {"num_particles": [20]}, 1)
    assert other.recipe.made_with == {"pmdviz": "another"}
    assert one.identity == other.identity
    assert one.identity[0] != further.identity[0]


def test_what_cannot_be_used_is_one_sentence():
    few = {"num_particles": [5]}
    for over, seeds, together, words in [
        ({"num_particls": [1]}, 1, False, "did you mean 'num_particles'"),
        ({"num_particles": []}, 1, False, "at least one value"),
        ({"num_particles": "50"}, 1, False, "must be a list"),
        ({}, 1, False, "over must name"),
        (few, 0, False, "seeds must be a whole number"),
        (few, [-1], False, "a seed must be a whole number"),
        (few, [], False, "seeds must be at least 1"),
        ({"num_particles": range(1, 2000)}, 1000, False, "at most 1,000,000 runs"),
        ({"num_particles": [5], "budget": [1, 2]}, 1, True, "num_particles has 1, budget has 2"),
    ]:
        refused(words, planned, GAUSSIAN, over, seeds, together)
    refused("needs a budget", planned, GAUSSIAN.limited(None), few, 1)
    assert planned(GAUSSIAN.limited(None), {"budget": [50]}, 1)[0].recipe.budget == 50


def test_slope_and_standard_error_are_those_of_scipy_and_need_points():
    rng = np.random.default_rng(0)
    x = np.repeat([64, 256, 1024, 4096], 10)
    y = 3 * x**-0.5 * np.exp(0.3 * rng.standard_normal(len(x)))
    fit, theirs = fitted(x, y), linregress(np.log(x), np.log(y))
    found = (fit.slope, fit.standard_error, fit.intercept)
    assert found == pytest.approx((theirs.slope, theirs.stderr, theirs.intercept), rel=1e-12) and fit.left_out == 0
    assert fit.at(100) == pytest.approx(np.exp(theirs.intercept) * 100**theirs.slope)
    fit = fitted([1, 2, 4, 8, 16, 0], [1, 0.5, 0.25, np.nan, 0.0, 1])
    assert fit.slope == pytest.approx(-1) and (fit.num_points, fit.left_out) == (3, 3)
    for x, y in [([1, 2], [1, 2]), ([5, 5, 5], [1, 2, 3]), ([], []), ([1, 2, 3], [0, 0, 0])]:
        refused("three points", fitted, x, y)


def expectations(density, scale):
    """Of the bounded functions under each coordinate of a Gaussian, by SciPy's quadrature."""

    def one(f, mean, sd):
        ends = mean - 10 * sd, mean + 10 * sd
        return quad(lambda z: f(np.array(z / scale)) * norm.pdf(z, mean, sd), *ends, limit=400, points=[0.5 * scale])[0]

    sds = np.sqrt(np.diag(density.cov))
    return [[one(f, m, s) for f, _ in BOUNDED.values()] for m, s in zip(density.mean, sds, strict=True)]


def test_antiderivatives_and_exact_values_of_a_mixture_and_of_a_gaussian():
    u, step = np.linspace(-3, 3, 61) + 1e-3, 1e-6
    for f, antiderivative in BOUNDED.values():
        slope = (antiderivative(u + step) - antiderivative(u - step)) / (2 * step)
        np.testing.assert_allclose(slope, f(u), atol=1e-6)
        assert np.abs(f(u)).max() <= 1
    target = pmdviz.target("mixture", num_data=400, sigma_x=1.5)
    draws = target.exact.sample(np.random.default_rng(0), 200_000)
    wanted = np.array([[f(draws[:, k]).mean() for f, _ in BOUNDED.values()] for k in range(2)])
    np.testing.assert_allclose(exact_values(target), wanted, atol=4 / np.sqrt(200_000))
    for dim in (1, 2):
        target = pmdviz.target("gaussian", dim=dim, prior_sd=2.0)
        np.testing.assert_allclose(exact_values(target), expectations(target.exact, 2.0), atol=1e-4)


def test_bounded_errors_are_of_the_points_or_of_the_density_of_a_gaussian_family():
    frame = Session(Recipe("gaussian", target_options={"dim": 1}, num_particles=300, budget=200)).advance(20)
    values = [frame.weights @ f(frame.particles[:, 0]) for f, _ in BOUNDED.values()]
    assert bounded_error(frame) == pytest.approx(np.abs(values - exact_values(frame.target)[0]).mean())
    frame = Session(Recipe("gaussian", "svi", target_options={"dim": 2}, budget=100)).advance(3)
    error = np.abs(np.array(expectations(frame.density, 1.0)) - exact_values(frame.target)).mean()
    assert bounded_error(frame) == pytest.approx(error, abs=1e-4)


def test_which_errors_can_be_asked_for_and_those_that_cannot_be_had_are_nan():
    def own(frame):
        return 0.0

    def mean_error(frame):
        return 0.0

    assert chosen_error("bounded") == ("bounded", {}) and chosen_error(own) == ("own", {"own": own})
    for wrong, words in [
        ("tvv", "did you mean 'tv'"),
        (lambda frame: 0.0, "not a lambda"),
        (5, "must be one of"),
        (mean_error, "'mean_error' is the name of a metric"),
    ]:
        refused(words, chosen_error, wrong)
    found = measured(Session(Recipe(own_target(dim=3), num_particles=20, budget=10)).advance(1), {})
    assert set(found) == set(measures.ERRORS) and np.isnan([*found.values()]).all()
    frame = Session(Recipe("linear", target_options={"dim": 4}, num_particles=50, budget=100)).advance()
    assert measured(frame, chosen_error("mean_error")[1])["mean_error"] == frame.metrics["mean_error"] > 0
    words = "error 'perplexity' is unavailable for method 'pmd' on target 'linear'; available: .*mean_error"
    refused(words, measured, frame, chosen_error("perplexity")[1])
