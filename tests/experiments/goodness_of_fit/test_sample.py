import numpy as np
import pytest

import pmdviz
from pmdviz.experiments.fit_testing import longest_correlation_time, points_of
from pmdviz.experiments.goodness_of_fit import SCENARIOS, GoodnessOfFit, GoodnessOfFitKnobs, samples_of
from tests.support.tables import refused

PLANE = {"dim": 2}


def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def gibbs():
    ising = {"target": "ising", "target_options": {"size": 3}}
    return pmdviz.run(**ising, method="gibbs", budget=800, floor=False, metrics_every=10**6)


def test_a_run_a_session_and_a_frame_are_tested_alike(gibbs):
    session = pmdviz.Session(gibbs.recipe, metrics_every=10**6)
    while not session.done:
        session.advance(10**9)
    found = [pmdviz.test_fit(gibbs.target, one, "dksd") for one in (gibbs, session, gibbs.final)]
    assert len({(one.p_value, one.statistic, one.num_points, one.note) for one in found}) == 1
    one = found[0]
    assert "one draw in" in one.note and 10 <= one.num_points <= 640 and 0 < one.p_value <= 1
    assert one.rejected == (one.p_value <= 0.05) and one.bootstrap.shape == (500,)
    assert one.kernel.shape == (one.num_points, one.num_points)


def test_a_result_is_a_function_of_the_seed(monkeypatch):
    monkeypatch.setattr("pmdviz.experiments.fit_testing.MOST", 40)
    points = rng().standard_normal((1500, 2))
    one, two, other = (pmdviz.test_fit("correlated_gaussian", points, draws=50, seed=seed) for seed in (1, 1, 2))
    assert one.p_value == two.p_value and np.array_equal(one.bootstrap, two.bootstrap)
    assert not np.array_equal(one.bootstrap, other.bootstrap)
    assert one.num_points == 40 and one.note == "40 of 1,500 points, at random"


def test_p_value_and_statistic_are_those_of_the_kernel_of_the_bandwidth():
    points = rng().standard_normal((30, 2))
    for bandwidth in ("median", "aggregated", 0.5):
        found = pmdviz.test_fit("correlated_gaussian", points, bandwidth=bandwidth, draws=50)
        assert found.note == "" and found.bandwidth > 0 and (bandwidth != 0.5 or found.bandwidth == 0.5)
        assert found.p_value == pytest.approx((1 + (found.bootstrap >= found.statistic).sum()) / 51), bandwidth
        off = found.kernel[~np.eye(30, dtype=bool)]
        assert bandwidth == "aggregated" or found.statistic == pytest.approx(off.mean(), rel=1e-6), bandwidth


def test_chains_are_thinned_by_twice_their_correlation_time_also_of_their_squares():
    """An AR(1) with coefficient r has tau = (1 + r) / (1 - r); of draws of random sign the size may stay."""
    r, noise, chains = 0.8, rng().standard_normal((4, 4000, 2)), np.zeros((4, 4000, 2))
    for t in range(1, 4000):
        chains[:, t, 0] = r * chains[:, t - 1, 0] + np.sqrt(1 - r * r) * noise[:, t, 0]
        chains[:, t, 1] = noise[:, t, 1]
    assert longest_correlation_time(chains, False) == pytest.approx(9.0, rel=0.25)
    assert longest_correlation_time(noise, False) < 1.3
    assert longest_correlation_time(np.ones((2, 50, 3)), True) == 50

    sizes = np.repeat(np.abs(rng().standard_normal((2, 200, 1))), 10, axis=1)
    assert longest_correlation_time(sizes * np.where(rng().random(sizes.shape) < 0.5, -1, 1), False) > 5


def test_points_are_taken_by_weight_from_a_fitted_density_or_tested_with_a_note():
    run = pmdviz.run(target="gaussian", target_options=PLANE, method="importance", floor=False, budget=400)
    points, words = points_of(run.final, rng())
    assert "w / max w" in words and 10 < len(points) < len(run.particles)
    assert len(points) == pytest.approx(1 / run.weights.max(), rel=0.4)
    exact = run.target.reference()
    error = (points.mean(axis=0) - exact.mean) / np.sqrt(np.diag(exact.cov) / len(points))
    assert np.abs(error).max() < 4
    run = pmdviz.run(target="gaussian", target_options=PLANE, method="gaussian_vb", floor=False, budget=2000)
    points, words = points_of(run.final, rng())
    assert points.shape == (1000, 2) and "independent draws" in words
    q = run.final.density
    assert np.abs((points.mean(axis=0) - q.mean) / np.sqrt(np.diag(q.cov) / 1000)).max() < 4
    run = pmdviz.run(target="gaussian", target_options=PLANE, method="smc_mcmc", num_particles=400, floor=False)
    assert run.final.rejuvenations
    points, words = points_of(run.final, rng())
    assert len(points) <= 40 and "share ancestors" in words
    run = pmdviz.run(target="gaussian", target_options=PLANE, method="svgd", num_particles=30, floor=False, budget=200)
    found = pmdviz.test_fit(run.target, run)
    assert found.num_points == 30 and "push one another apart" in found.note


def test_points_that_vary_less_by_design_and_short_chains_are_refused():
    small = {"target": "gaussian", "target_options": PLANE, "budget": 60, "floor": False}
    for method, words in [
        ("pmd", "drawn evenly spread.*draws = 'independent'"),
        ("black_box_is", "weights that make errors cancel"),
    ]:
        run = pmdviz.run(method=method, num_particles=60, **small)
        refused(words, pmdviz.test_fit, run.target, run)
    run = pmdviz.run(method="pmd", draws="independent", num_particles=300, **small)
    assert pmdviz.test_fit(run.target, run).num_points >= 10
    run = pmdviz.run(target="ising", target_options={"size": 3}, method="gibbs", budget=8, floor=False)
    refused("at least 10 independent points.*run it longer", pmdviz.test_fit, run.target, run, "dksd")


def test_what_cannot_be_used_is_said_and_the_size_is_predicted():
    for sample, words in [
        (np.zeros((5, 2)), "at least 10 independent points; the sample has 5: give more"),
        (np.zeros((50, 3)), r"must have shape \(m, 2\)"),
        (np.full((50, 2), np.nan), "finite numbers"),
    ]:
        refused(words, pmdviz.test_fit, "correlated_gaussian", sample)
    for given, words in [
        ({"alpha": 0.001}, "draws must be at least 999"),
        ({"bandwidth": "wide"}, "'median', 'aggregated' or a number above 0; got 'wide'"),
        ({"test": "ksdd"}, "did you mean 'ksd'"),
    ]:
        refused(words, pmdviz.test_fit, "correlated_gaussian", np.zeros((20, 2)), **given)
    refused("theta must be one of", pmdviz.test_fit, "ising", np.zeros((20, 16)), "dksd")
    for values, words in [
        ({"scenario": "gaussian_mean", "test": "dksd"}, "needs discrete states.*apply to it: .*ksd, mmd"),
        ({"scenario": "ising_4x4", "test": "chi_square"}, "4,096 states or fewer"),
        ({"alpha": 0.01}, "draws must be at least 99"),
    ]:
        refused(words, lambda values=values: MADE.cases(knobs(**values)))
    small, large = (MADE.cases(knobs(num_points=n, repetitions=20, test="dksd"))[0] for n in (50, 1000))
    one, other = MADE.size(small), MADE.size(large)
    assert 0.1 < one.seconds < other.seconds < 10 and one.megabytes < other.megabytes < 1000


MADE = GoodnessOfFit()


def knobs(**values):
    return GoodnessOfFitKnobs.checked({"num_points": 40, "repetitions": 25, "draws": 40, **values})


SIZES = [name if name != "ising_10x10" else pytest.param(name, marks=pytest.mark.ci) for name in SCENARIOS]


@pytest.mark.parametrize("name", SIZES)
def test_a_scenario_draws_points_of_its_target(name):
    scenario, n = SCENARIOS[name], 2000
    target = scenario.target(10.0)
    assert scenario.levels[0] == 0.0
    for level in (0.0, scenario.at):
        points = scenario.draws(10.0, level)(np.random.default_rng(0), n)
        assert points.shape == (n, target.dim)
        np.testing.assert_array_equal(target.space.check(points), points)
        if level == 0.0 and name != "ising_10x10":  # which has no exact moments
            exact = target.reference()
            assert np.abs((points.mean(axis=0) - exact.mean) / np.sqrt(np.diag(exact.cov) / n)).max() < 4.5


def test_cases_are_blocks_of_at_most_20_samples_along_the_axis_and_rates_have_intervals():
    mine = [case for case in MADE.cases(knobs()) if case["first"] == 0 and case["perturbation"] == 0]
    assert len({case["test"] for case in mine}) == len(mine) >= 5
    samples = [np.array(samples_of(case)) for case in mine]
    assert all(np.array_equal(samples[0], each) for each in samples)
    assert not np.array_equal(samples[0][0], samples[0][1])
    off = next(case for case in MADE.cases(knobs()) if case["first"] == 0 and case["perturbation"] > 0)
    assert not np.array_equal(samples[0], np.array(samples_of(off)))
    cases = MADE.cases(knobs(test="dksd"))
    assert [(case["first"], case["count"]) for case in cases[:2]] == [(0, 20), (20, 5)]
    rows = [row for case in cases[:2] for row in MADE.run(case)]
    assert [row["seed"] for row in rows] == list(range(25)) and {row["test"] for row in rows} == {"dksd"}

    def along(**values):
        return list(dict.fromkeys((case["perturbation"], case["num_points"]) for case in MADE.cases(knobs(**values))))

    assert along(strength=2.0) == [(0.0, 40), (0.1, 40), (0.2, 40), (0.3, 40)] and along(strength=0.0) == [(0.0, 40)]
    assert along(varied="num_points", num_points=200) == [(0.1, n) for n in (25, 50, 100, 200)]
    usual = {"test": "dksd", "num_points": 40, "perturbation": 0.1, "seconds": 0.01}
    rows = [{**usual, "rejected": k < 6} for k in range(20)]
    (found,), (chart,) = MADE.summary(rows, knobs()), MADE.pictures(rows, knobs())
    assert found["rejected"] == 0.3 and 0.14 < found["low"] < 0.3 < found["high"] < 0.53 and found["samples"] == 20
    assert chart.levels == [("α = 0.05", 0.05)] and chart.series[0].y == [0.3] and chart.series[0].low < 0.3
