"""Rules that refuse a claim or leave it open, on made-up runs; those that it holds by are seen in test_pages.py."""

import json
from pathlib import Path

import numpy as np

from benchmarks.helpers import fit_bars, mean_field_bars
from benchmarks.helpers.claims_gp_page import RMSE
from benchmarks.helpers.claims_gp_page import falls as gp_falls
from benchmarks.helpers.claims_rules import NO, OPEN
from benchmarks.helpers.claims_runs import read_rows
from benchmarks.helpers.claims_topics_page import lower as lower_perplexity
from benchmarks.helpers.fit_rules import (
    better_held_out,
    comes_near,
    ever_rejects,
    far_above,
    keeps_level,
    no_less_power,
    power_of,
    slope_within,
    still_far,
)
from benchmarks.helpers.mean_field_rules import alike, fits, one_answer, same_mean, same_sd, too_narrow, within
from benchmarks.helpers.rows_page import arrays_by_row
from benchmarks.helpers.stein_rules import as_good, falls, inverse_in_number, keeps_variance, lower, unbiased
from pmdviz.experiments.aggregation.combine import COMBINERS

MEASURED = Path(__file__).parents[2] / "docs" / "measured"


def some(mean, sd=0.01, n=8):
    """n values of this mean and standard deviation, evenly spread."""
    spread = np.linspace(-1, 1, n)
    return mean + sd * (spread - spread.mean()) / spread.std(ddof=1)


def looks(*values, sd, name):
    """Five data sets, two runs each, by look."""
    return {"best": {name: np.array(values) + sd * np.random.default_rng(0).standard_normal((5, 2, len(values)))}}


def check(table, runs_with):
    for k, (rule, values, verdict) in enumerate(table):
        answer = rule(runs_with(values))
        assert answer.verdict == verdict and answer.said and answer.figures, (k, answer)


def rate(test, rejected, perturbation=0.1, half=0.05):
    interval = {"rejected": rejected, "low": rejected - half, "high": rejected + half}
    return {"test": test, "num_points": 100, "perturbation": perturbation, **interval}


def level(combiner, at, error, gap=(0.0, 0.01)):
    return {"combiner": combiner, "level": at, "error": error, "gap": gap}


def slope(combiner, value):
    return {"what": f"{COMBINERS[combiner].title}: error against n", "slope": value, "standard_error": 0.05}


def apart(mean):
    return [{"combiner": "c", "K": 5, "mean": mean, "standard error": 0.01}]


def test_rules_about_tests_and_combined_models():
    check(
        [
            (no_less_power("x", "a", "b"), [rate("a", 0.3), rate("b", 0.5)], NO),
            (no_less_power("x", "a", "b", strictly=True), [rate("a", 0.5), rate("b", 0.5)], OPEN),
            (keeps_level("x", "a"), [rate("a", 0.3, 0.0)], NO),
            (keeps_level("x", "a"), [rate("a", 0.15, 0.0)], OPEN),
            (ever_rejects("x", "a"), [rate("a", 0.0, 0.1, 0.01)], NO),
            (ever_rejects("x", "a"), [rate("a", 0.08)], OPEN),
            (slope_within("x", "naive", -1.3, -0.7), [slope("naive", -0.5)], NO),
            (slope_within("x", "naive", -1.3, -0.7), [slope("naive", -0.65)], OPEN),
            (still_far("x", "c", 0.5), apart(0.2), NO),
            (comes_near("x", "c", 0.25), apart(0.8), NO),
        ],
        lambda summary: {"x": {"summary": summary}},
    )
    check(
        [
            (power_of("x", "a", -1.3, -0.7), [level("a", 5, (0.4, 0.01)), level("a", 40, (0.4, 0.01))], NO),
            (power_of("x", "a", -1.3, -0.7), [level("a", 5, (0.4, 0.4)), level("a", 40, (0.4, 0.4))], OPEN),
            (far_above("x", "a", "b", 10), [level("a", 0, (0.05, 0.01)), level("b", 0, (0.01, 0.001))], NO),
            (better_held_out("x", "a", "b"), [level("a", 9, None, (0.2, 0.01)), level("b", 9, None, (0.1, 0.01))], NO),
            (better_held_out("x", "a", "b"), [level("a", 9, None, (0.1, 0.1)), level("b", 9, None, (0.2, 0.1))], OPEN),
        ],
        lambda levels: {"x": {"levels": levels}},
    )


def test_rules_about_mean_field_particles():
    exact = {"exact": {"x": some(1.0), "x_sd": some(0.5)}}
    check(
        [
            (within("a", "x", 0.1), {"x": some(0.2)}, NO),
            (within("a", "x", 0.1), {"x": some(0.11, 0.2)}, OPEN),
            (alike("a", ("x", "y")), {"x": some(1.05), "y": some(0.7)}, NO),
            (alike("a", ("x", "y")), {"x": some(1.05), "y": some(0.88, 0.2)}, OPEN),
            (same_mean("a", "exact", "x"), {"x": some(0.5)}, NO),
            (same_mean("a", "exact", "x"), {"x": some(1.2, 0.5)}, OPEN),
            (same_sd("a", "exact", "x"), {"x_sd": some(0.3)}, NO),
            (too_narrow("a", "exact", "x"), {"x_sd": some(0.7)}, NO),
            (too_narrow("a", "exact", "x"), {"x_sd": some(0.49, 0.2)}, OPEN),
            (one_answer("a", "exact", "x"), {"x": some(-1.0)}, NO),
            (fits("a"), {"mse": some(9.0), "var_y": some(9.0)}, NO),
        ],
        lambda values: {"a": values, **exact},
    )


def test_rules_about_stein_methods_and_annealing():
    check(
        [
            (lower("a", "b", "x"), {"a": some(2), "b": some(1)}, NO),
            (lower("a", "b", "x"), {"a": some(1, 3), "b": some(2, 3)}, OPEN),
            (as_good("a", "b", "x"), {"a": some(2), "b": some(1)}, NO),
            (unbiased("a", "x"), {"a": some(-0.5)}, NO),
            (unbiased("a", "x"), {"a": some(0.2, 1)}, OPEN),
            (falls("abc", "x"), {"a": some(3), "b": some(1), "c": some(2)}, NO),
            (falls("abc", "x"), {"a": some(3), "b": some(2), "c": some(2)}, OPEN),
            (inverse_in_number("a", "b", 16, "x"), {"a": some(4, 0.2), "b": some(1, 0.1)}, NO),
            (keeps_variance("a"), {"a": some(0.4)}, NO),
        ],
        lambda values: {name: {"x": one, "value": one} for name, one in values.items()},
    )


def test_rules_about_gaussian_processes_and_topics():
    check(
        [
            (gp_falls("a"), looks(300, 40, 50, sd=1, name=RMSE), NO),
            (gp_falls("a"), looks(300, 50, 50, sd=1, name=RMSE), OPEN),
        ],
        lambda values: {"a": values},
    )
    found = {
        "a": looks(9, 5, sd=0.1, name="perplexity"),
        "b": looks(8, 7, sd=0.1, name="perplexity"),
        "c": looks(8, 5.0, sd=3, name="perplexity"),
    }
    check(
        [
            (lower_perplexity(("a", 0), ("b", 0)), found, NO),
            (lower_perplexity(("a", -1), ("c", -1)), found, OPEN),
        ],
        lambda runs: runs,
    )


def test_bars_are_met_by_what_was_measured_and_missed_by_other_figures():
    measured = json.loads((MEASURED / "fit-and-aggregation.json").read_text(encoding="utf-8"))["figures"]["measured"]
    assert {bar: found["met"] for bar, found in fit_bars.judged(measured).items()} == dict.fromkeys(fit_bars.BARS, True)
    for one in measured.values():
        for entry in one["summary"]:
            entry |= {name: 5.0 for name in ("rejected", "slope") if name in entry}
    assert not any(found["met"] for found in fit_bars.judged(measured).values())
    runs = arrays_by_row(read_rows(MEASURED / "pmfvb.csv"))
    met = {bar: found["met"] for bar, found in mean_field_bars.judged(runs).items()}
    assert met == dict.fromkeys(mean_field_bars.BARS, True)
    spoilt = {row: {name: values + 30 for name, values in numbers.items()} for row, numbers in runs.items()}
    assert not any(found["met"] for bar, found in mean_field_bars.judged(spoilt).items() if "as printed" not in bar)
