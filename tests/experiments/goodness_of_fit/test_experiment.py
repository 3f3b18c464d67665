"""The experiment: the same samples for all tests, cases in blocks, rates with intervals, what is drawn."""

import numpy as np
import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.experiments.goodness_of_fit.experiment import GoodnessOfFit, GoodnessOfFitKnobs, samples_of
from pmdviz.experiments.goodness_of_fit.scenarios import SCENARIOS
from pmdviz.experiments.pictures import HeatMap, Histogram

MADE = GoodnessOfFit()


def knobs(**values):
    return GoodnessOfFitKnobs.checked({"num_points": 40, "repetitions": 25, "draws": 40, **values})


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_draws_points_of_its_target(name):
    scenario, n = SCENARIOS[name], 2000
    target = scenario.target(10.0)
    for level in (scenario.levels[0], scenario.at):
        points = scenario.draws(10.0, level)(np.random.default_rng(0), 30)
        assert points.shape == (30, target.dim)
        np.testing.assert_array_equal(target.space.check(points), points)
    assert scenario.levels[0] == 0.0
    if name != "ising_10x10":  # which has no exact moments
        points, exact = scenario.draws(10.0, 0.0)(np.random.default_rng(0), n), target.reference()
        error = (points.mean(axis=0) - exact.mean) / np.sqrt(np.diag(exact.cov) / n)
        assert np.abs(error).max() < 4.5


def test_all_tests_of_a_block_see_the_same_samples():
    mine = [case for case in MADE.cases(knobs()) if case["first"] == 0 and case["perturbation"] == 0]
    assert len({case["test"] for case in mine}) == len(mine) >= 5
    samples = [np.array(samples_of(case)) for case in mine]
    assert all(np.array_equal(samples[0], each) for each in samples)
    assert not np.array_equal(samples[0][0], samples[0][1])


def test_cases_are_blocks_of_at_most_20_samples():
    cases = MADE.cases(knobs(test="dksd"))
    assert [(case["first"], case["count"]) for case in cases[:2]] == [(0, 20), (20, 5)]
    rows = [row for case in cases[:2] for row in MADE.run(case)]
    assert [row["seed"] for row in rows] == list(range(25)) and {row["test"] for row in rows} == {"dksd"}


def test_points_along_the_axis():
    def along(**values):
        return list(dict.fromkeys((case["perturbation"], case["num_points"]) for case in MADE.cases(knobs(**values))))

    assert along(strength=2.0) == [(0.0, 40), (0.1, 40), (0.2, 40), (0.3, 40)]
    assert along(strength=0.0) == [(0.0, 40)]
    assert along(varied="num_points", num_points=200) == [(0.1, n) for n in (25, 50, 100, 200)]


def test_rates_come_with_their_intervals():
    rows = [
        {"test": "dksd", "num_points": 40, "perturbation": 0.1, "rejected": k < 6, "seconds": 0.01} for k in range(20)
    ]
    (found,) = MADE.summary(rows, knobs())
    assert found["rejected"] == 0.3 and 0.14 < found["low"] < 0.3 < found["high"] < 0.53 and found["samples"] == 20
    (chart,) = MADE.pictures(rows, knobs())
    assert chart.levels == [("α = 0.05", 0.05)] and chart.series[0].y == [0.3] and chart.series[0].low < 0.3


def test_the_power_of_a_run_grows_with_the_perturbation():
    found = pmdviz.experiment(
        "goodness_of_fit",
        scenario="categorical",
        test="chi_square",
        num_points=150,
        repetitions=40,
        draws=60,
        workers=1,
    )
    rates = [entry["rejected"] for entry in found.summary]
    assert rates[0] <= 0.15 and rates[-1] > 0.6 and not found.failed


def test_examples_show_kernels_and_null_distributions():
    pictures = MADE.examples(knobs(test="dksd", num_points=150))
    matrix, histogram = pictures
    assert isinstance(matrix, HeatMap) and matrix.values.shape == (100, 100)
    np.testing.assert_allclose(matrix.values, matrix.values.T)
    assert isinstance(histogram, Histogram) and histogram.counts.sum() == 40 and len(histogram.marks) == 1


def test_what_does_not_go_together_is_said():
    for values, words in [
        ({"scenario": "gaussian_mean", "test": "dksd"}, "needs discrete states.*tests that apply to it: ksd, mmd"),
        ({"scenario": "ising_4x4", "test": "chi_square"}, "4,096 states or fewer"),
        ({"alpha": 0.01}, "draws must be at least 99"),
    ]:
        with pytest.raises(InputError, match=words):
            MADE.cases(knobs(**values))


def test_the_size_is_predicted_from_what_was_measured():
    small, large = (MADE.cases(knobs(num_points=n, repetitions=20, test="dksd"))[0] for n in (50, 1000))
    one, other = MADE.size(small), MADE.size(large)
    assert 0.1 < one.seconds < other.seconds < 10 and one.megabytes < other.megabytes < 1000


def test_bandwidths_of_a_case():
    for bandwidth, width in (("aggregated", 1.0), ("own", 0.7)):
        case = MADE.cases(knobs(bandwidth=bandwidth, width=width, test="dksd"))[0]
        assert len(MADE.run({**case, "count": 2})) == 2
