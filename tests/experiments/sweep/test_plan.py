import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import linregress, norm

import pmdviz
from pmdviz import InputError, Recipe, Session
from pmdviz.experiments import sweep as measures
from pmdviz.experiments.sweep import BOUNDED, bounded_error, chosen_error, exact_values, fitted, measured, planned
from tests.support.own import own_target
from tests.support.tables import refused

GAUSSIAN = Recipe("gaussian", num_particles=50, batch_size=5, budget=100)


def test_every_combination_times_every_seed_in_order_or_side_by_side():
    jobs = planned(GAUSSIAN, {"num_particles": [20, 30], "budget": [100, 200]}, 3)
    assert [(j.recipe.knobs["num_particles"], j.recipe.budget, j.recipe.seed) for j in jobs[:4]] == [
        (20, 100, 0), (20, 100, 1), (20, 100, 2), (20, 200, 0),
    ]  # fmt: skip
    assert len({job.identity for job in jobs}) == len(jobs) == 12
    jobs = planned(GAUSSIAN, {"num_particles": [20, 30], "budget": [100, 200]}, 1, together=True)
    assert [job.values for job in jobs] == [{"num_particles": 20, "budget": 100}, {"num_particles": 30, "budget": 200}]
    jobs = planned(GAUSSIAN, {"num_data": [10, 40], "policy": ["never", "ess"]}, [7])
    assert [(j.recipe.target_options["num_data"], j.recipe.knobs["policy"]) for j in jobs] == [
        (10, "never"), (10, "ess"), (40, "never"), (40, "ess"),
    ]  # fmt: skip
    assert {j.recipe.seed for j in jobs} == {7}
    assert len(planned(GAUSSIAN, {"num_particles": [20, 20, 20.0, "20"]}, [1, 1])) == 1


def test_identity_is_of_all_that_decides_but_not_of_the_versions(monkeypatch):
    (one,) = planned(GAUSSIAN, {"num_particles": [20]}, 1)
    (further,) = planned(GAUSSIAN.replaced(knobs={"eta": 3.0}), {"num_particles": [20]}, 1)
    monkeypatch.setattr("pmdviz.engine.recipe.versions", lambda: {"pmdviz": "another"})
    (other,) = planned(GAUSSIAN, {"num_particles": [20]}, 1)
    assert other.recipe.made_with == {"pmdviz": "another"}
    assert one.identity == other.identity
    assert one.identity[0] != further.identity[0]


def test_what_cannot_be_used_is_one_sentence():
    for over, seeds, together, words in [
        ({"num_particls": [1]}, 1, False, "did you mean 'num_particles'"),
        ({"num_particles": []}, 1, False, "at least one value"),
        ({"num_particles": "50"}, 1, False, "must be a list"),
        ({}, 1, False, "over must name"),
        ({"num_particles": [5]}, 0, False, "seeds must be a whole number"),
        ({"num_particles": [5]}, [-1], False, "a seed must be a whole number"),
        ({"num_particles": [5]}, [], False, "seeds must be at least 1"),
        ({"num_particles": [5]}, 2_000_000, False, "seeds must be a whole number"),
        ({"num_particles": range(1, 2000)}, 1000, False, "at most 1,000,000 runs"),
        ({"num_particles": [5], "budget": [1, 2]}, 1, True, "num_particles has 1, budget has 2"),
    ]:
        refused(words, planned, GAUSSIAN, over, seeds, together)
    refused("needs a budget", planned, GAUSSIAN.limited(None), {"num_particles": [5]}, 1)
    assert planned(GAUSSIAN.limited(None), {"budget": [50]}, 1)[0].recipe.budget == 50


def test_slope_and_standard_error_are_those_of_scipy_and_need_points():
    rng = np.random.default_rng(0)
    x = np.repeat([64, 256, 1024, 4096], 10)
    y = 3 * x**-0.5 * np.exp(0.3 * rng.standard_normal(len(x)))
    fit, theirs = fitted(x, y), linregress(np.log(x), np.log(y))
    assert fit.slope == pytest.approx(theirs.slope, rel=1e-12)
    assert fit.standard_error == pytest.approx(theirs.stderr, rel=1e-12)
    assert fit.intercept == pytest.approx(theirs.intercept, rel=1e-12)
    assert (fit.num_points, fit.left_out) == (40, 0)
    assert fit.at(100) == pytest.approx(np.exp(theirs.intercept) * 100**theirs.slope)
    fit = fitted([1, 2, 4, 8, 16, 0], [1, 0.5, 0.25, np.nan, 0.0, 1])
    assert fit.slope == pytest.approx(-1)
    assert (fit.num_points, fit.left_out) == (3, 3)
    for x, y in [([1, 2], [1, 2]), ([5, 5, 5], [1, 2, 3]), ([], []), ([1, 2, 3], [0, 0, 0])]:
        refused("three points", fitted, x, y)


def expectation(f, mean, sd, scale):
    """By SciPy's quadrature."""
    return quad(lambda z: f(np.array(z / scale)) * norm.pdf(z, mean, sd), mean - 10 * sd, mean + 10 * sd,
                limit=400, points=[0.5 * scale])[0]  # fmt: skip


@pytest.mark.parametrize("dim", [1, 2])
def test_exact_values_of_the_gaussian(dim):
    target = pmdviz.target("gaussian", dim=dim, prior_sd=2.0)
    sds = np.sqrt(np.diag(target.exact.cov))
    wanted = [
        [expectation(f, m, s, 2.0) for f, _ in BOUNDED.values()] for m, s in zip(target.exact.mean, sds, strict=True)
    ]
    np.testing.assert_allclose(exact_values(target), wanted, atol=1e-4)


def test_antiderivatives_and_exact_values_of_the_mixture_against_draws():
    u, step = np.linspace(-3, 3, 61) + 1e-3, 1e-6
    for f, antiderivative in BOUNDED.values():
        slope = (antiderivative(u + step) - antiderivative(u - step)) / (2 * step)
        np.testing.assert_allclose(slope, f(u), atol=1e-6)
        assert np.abs(f(u)).max() <= 1
    target = pmdviz.target("mixture", num_data=400, sigma_x=1.5)
    draws = target.exact.sample(np.random.default_rng(0), 200_000)
    wanted = np.array([[f(draws[:, k]).mean() for f, _ in BOUNDED.values()] for k in range(2)])
    np.testing.assert_allclose(exact_values(target), wanted, atol=4 / np.sqrt(200_000))


def test_bounded_errors_are_of_the_points_or_of_the_density_of_a_gaussian_family():
    frame = Session(Recipe("gaussian", target_options={"dim": 1}, num_particles=300, budget=200)).advance(20)
    values = [frame.weights @ f(frame.particles[:, 0]) for f, _ in BOUNDED.values()]
    assert bounded_error(frame) == pytest.approx(np.abs(values - exact_values(frame.target)[0]).mean())
    frame = Session(Recipe("gaussian", "svi", target_options={"dim": 2}, budget=100)).advance(3)
    sds = np.sqrt(np.diag(frame.density.cov))
    wanted = [
        [expectation(f, m, s, 1.0) for f, _ in BOUNDED.values()] for m, s in zip(frame.density.mean, sds, strict=True)
    ]
    error = np.abs(np.array(wanted) - exact_values(frame.target)).mean()
    assert bounded_error(frame) == pytest.approx(error, abs=1e-4)


def test_which_errors_can_be_asked_for_and_those_that_cannot_be_had_are_nan():
    def own(frame):
        return 0.0

    def mean_error(frame):
        return 0.0

    assert chosen_error("bounded") == ("bounded", {})
    assert chosen_error(own) == ("own", {"own": own})
    named = (mean_error, "'mean_error' is the name of a metric")
    for wrong, words in [
        ("tvv", "did you mean 'tv'"),
        (lambda frame: 0.0, "not a lambda"),
        (5, "must be one of"),
        named,
    ]:
        refused(words, chosen_error, wrong)
    found = measured(Session(Recipe(own_target(dim=3), num_particles=20, budget=10)).advance(1), {})
    assert set(found) == set(measures.ERRORS) and np.isnan([*found.values()]).all()
    frame = Session(Recipe("linear", target_options={"dim": 4}, num_particles=50, budget=100)).advance()
    name, own = chosen_error("mean_error")
    assert name == "mean_error" and measured(frame, own)["mean_error"] == frame.metrics["mean_error"] > 0
    with pytest.raises(
        InputError,
        match="error 'perplexity' is unavailable for method 'pmd' on target 'linear'; available: .*mean_error",
    ):
        measured(frame, chosen_error("perplexity")[1])
