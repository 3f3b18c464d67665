"""How claims about tests and combined models are judged, on made-up summaries whose answer is known, and the page."""

import json
from pathlib import Path

import pytest

from benchmarks.helpers.claims_rules import NO, OPEN, YES
from benchmarks.helpers.fit_bars import BARS, judged
from benchmarks.helpers.fit_claims import CLAIMS
from benchmarks.helpers.fit_configurations import CONFIGURATIONS, QUICK
from benchmarks.helpers.fit_page import page
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
from pmdviz.experiments.aggregation.combine import COMBINERS
from pmdviz.experiments.catalogue import EXPERIMENTS

DOCS = Path(__file__).parents[2] / "docs"
FILE = DOCS / "measured" / "fit-and-aggregation.json"


def rate(test, rejected, perturbation=0.1, half=0.05):
    interval = {"rejected": rejected, "low": rejected - half, "high": rejected + half}
    return {"test": test, "num_points": 100, "perturbation": perturbation, **interval}


def level(combiner, at, error, gap=(0.0, 0.01)):
    return {"combiner": combiner, "level": at, "error": error, "gap": gap}


def slope(combiner, value):
    return {"what": f"{COMBINERS[combiner].title}: error against n", "slope": value, "standard_error": 0.05}


@pytest.mark.parametrize(
    ("rule", "summary", "verdict"),
    [
        (no_less_power("x", "a", "b"), [rate("a", 0.5), rate("b", 0.5)], YES),
        (no_less_power("x", "a", "b"), [rate("a", 0.3), rate("b", 0.5)], NO),
        (no_less_power("x", "a", "b", strictly=True), [rate("a", 0.5), rate("b", 0.5)], OPEN),
        (no_less_power("x", "a", "b", strictly=True), [rate("a", 0.8), rate("b", 0.5)], YES),
        (
            no_less_power("x", "a", "b"),
            [rate("a", 0.3), rate("b", 0.5), rate("a", 0.9, 0.2), rate("b", 0.5, 0.2)],
            OPEN,
        ),
        (keeps_level("x", "a"), [rate("a", 0.05, 0.0), rate("a", 0.9)], YES),
        (keeps_level("x", "a"), [rate("a", 0.3, 0.0)], NO),
        (keeps_level("x", "a"), [rate("a", 0.15, 0.0)], OPEN),
        (ever_rejects("x", "a"), [rate("a", 0.0, 0.0), rate("a", 0.8)], YES),
        (ever_rejects("x", "a"), [rate("a", 0.0, 0.1, 0.01)], NO),
        (ever_rejects("x", "a"), [rate("a", 0.08)], OPEN),
        (slope_within("x", "naive", -1.3, -0.7), [slope("naive", -1.0)], YES),
        (slope_within("x", "naive", -1.3, -0.7), [slope("naive", -0.5)], NO),
        (slope_within("x", "naive", -1.3, -0.7), [slope("naive", -0.65)], OPEN),
        (still_far("x", "c", 0.5), [{"combiner": "c", "K": 5, "mean": 0.8, "standard error": 0.01}], YES),
        (still_far("x", "c", 0.5), [{"combiner": "c", "K": 5, "mean": 0.2, "standard error": 0.01}], NO),
        (comes_near("x", "c", 0.25), [{"combiner": "c", "K": 5, "mean": 0.2, "standard error": 0.01}], YES),
        (comes_near("x", "c", 0.25), [{"combiner": "c", "K": 5, "mean": 0.8, "standard error": 0.01}], NO),
    ],
)
def test_a_rule_says_yes_no_or_open_of_a_summary(rule, summary, verdict):
    answer = rule({"x": {"summary": summary}})
    assert answer.verdict == verdict and answer.said and answer.figures


@pytest.mark.parametrize(
    ("rule", "levels", "verdict"),
    [
        (power_of("x", "a", -1.3, -0.7), [level("a", 5, (0.4, 0.01)), level("a", 40, (0.05, 0.001))], YES),
        (power_of("x", "a", -1.3, -0.7), [level("a", 5, (0.4, 0.01)), level("a", 40, (0.4, 0.01))], NO),
        (power_of("x", "a", -1.3, -0.7), [level("a", 5, (0.4, 0.4)), level("a", 40, (0.4, 0.4))], OPEN),
        (far_above("x", "a", "b", 10), [level("a", 0, (1.0, 0.01)), level("b", 0, (0.01, 0.001))], YES),
        (far_above("x", "a", "b", 10), [level("a", 0, (0.05, 0.01)), level("b", 0, (0.01, 0.001))], NO),
        (better_held_out("x", "a", "b"), [level("a", 9, None, (0.1, 0.01)), level("b", 9, None, (0.2, 0.01))], YES),
        (better_held_out("x", "a", "b"), [level("a", 9, None, (0.2, 0.01)), level("b", 9, None, (0.1, 0.01))], NO),
        (better_held_out("x", "a", "b"), [level("a", 9, None, (0.1, 0.1)), level("b", 9, None, (0.2, 0.1))], OPEN),
    ],
)
def test_a_rule_says_yes_no_or_open_of_levels(rule, levels, verdict):
    assert rule({"x": {"levels": levels}}).verdict == verdict


def test_every_configuration_can_be_run():
    for name, knobs in CONFIGURATIONS.values():
        for chosen in (knobs, {**knobs, **QUICK[name]}):
            assert EXPERIMENTS[name].Knobs.checked(dict(chosen)).as_dict()


def test_every_claim_is_judged_by_what_was_measured():
    figures = json.loads(FILE.read_text(encoding="utf-8"))["figures"]
    assert {words: (one["experiment"], one["knobs"]) for words, one in figures["measured"].items()} == CONFIGURATIONS
    for _, cases in CLAIMS:
        for rule in cases.values():
            answer = rule(figures["measured"])
            assert answer.verdict in (YES, NO, OPEN) and answer.said and answer.figures


def test_bars_are_met_and_missed_by_other_figures():
    measured = json.loads(FILE.read_text(encoding="utf-8"))["figures"]["measured"]
    assert {bar: found["met"] for bar, found in judged(measured).items()} == dict.fromkeys(BARS, True)
    for one in measured.values():
        for entry in one["summary"]:
            entry |= {name: 5.0 for name in ("rejected", "slope") if name in entry}
    assert not any(found["met"] for found in judged(measured).values())


def test_the_page_says_what_was_measured():
    words = "python -m benchmarks.helpers.fit_page docs/measured/fit-and-aggregation.json > docs/claims-fit.md"
    assert (DOCS / "claims-fit.md").read_text(encoding="utf-8") == page(FILE), words
