"""Rules by which claims are judged, on made-up runs; test_pages.py has them on what was measured."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import fit_and_aggregation, rows
from benchmarks.contests import LOGISTIC, PASSES
from benchmarks.measuring import arrays_by_row, read_rows
from benchmarks.rules import NO, OPEN, YES, Answer, judge, lead, verdict_of

PAPERS = ("smc", "gibbs", "sgld", "svi", "npv")
SVI, RIVALS = "jaakkola_jordan", ("pmd", "pmd, paper's steps", "pmd as printed", "sgld", "smc", "npv")
TITLES = [*LOGISTIC.entrants]


def asked(rule, *arguments):
    """A rule with its arguments, to be asked of runs."""
    return lambda runs: judge(runs, rule, *arguments)


VALUES = {"pmd": 0.08, "smc": 0.3, "gibbs": 0.5, "sgld": 0.6, "svi": 0.45, "npv": 0.2}


def ends(tv, sd=0.002, seed=0):
    return {"tv": tv + sd * np.random.default_rng(seed).standard_normal((5, 8, 6))}


@pytest.fixture
def measured():
    return {name: {"best": ends(tv, seed=k), "paper": ends(tv + 0.1, seed=k + 50)}
            for k, (name, tv) in enumerate(VALUES.items())}  # fmt: skip


def test_lowest_of_all(measured):
    judge = asked("lowest", "pmd", PAPERS, "tv")
    assert judge(measured).verdict == YES
    measured["npv"]["best"] = ends(0.07)
    assert judge(measured).verdict == NO
    assert asked("lowest", "pmd", PAPERS, "tv", "paper")(measured).verdict == YES


def test_a_lead_within_its_error_is_open(measured):
    rival = ends(0.08, seed=9)
    rival["tv"] += np.array([0.03, 0.01, -0.02, -0.015, 0.01])[:, None, None]
    measured["npv"]["best"] = rival
    mean, error = lead(measured, "pmd", "npv", "tv")
    assert 0 < mean < error
    assert asked("lowest", "pmd", PAPERS, "tv")(measured).verdict == OPEN


def test_a_verdict_asks_for_every_condition():
    yes, no, undecided = (Answer(verdict, "") for verdict in (YES, NO, OPEN))
    assert verdict_of([yes, yes]) == "holds"
    assert verdict_of([yes, no, undecided]) == "holds under some conditions"
    assert verdict_of([no, no]) == verdict_of([no, undecided]) == "does not hold"
    assert verdict_of([undecided, undecided]) == "neither shown nor refuted"


def runs_at(accuracy, loss, seed=0, apart=0.0):
    """Runs on four data sets, which differ by so much to either side."""
    rng = np.random.default_rng(seed)
    noise = 1e-4 * rng.standard_normal((4, 2, len(PASSES))) + apart * np.array([-1, 1, -1, 1])[:, None, None]
    return {"best": {"accuracy": accuracy + noise, "log_loss": loss + noise}}


@pytest.fixture
def on_digits():
    found = {key: runs_at(0.98, 0.3, seed=k) for k, key in enumerate(TITLES)}
    return found | {SVI: runs_at(0.985, 0.1, seed=90), "reference": runs_at(0.985, 0.05)}


def test_rules_ask_for_a_clear_lead_a_hundredth_or_the_paper_s_accuracy(on_digits):
    best, near, reached = asked("best_at_first", SVI, RIVALS), asked("comparable", "pmd", SVI), asked("reaches", "pmd")
    assert [rule(on_digits).verdict for rule in (best, near, reached)] == [YES, YES, NO]
    for rule, name, runs, verdict in (
        (best, "smc", runs_at(0.98, 0.11, seed=5, apart=0.05), OPEN),
        (best, "smc", runs_at(0.98, 0.05, seed=5), NO),
        (near, "pmd", runs_at(0.95, 0.3), NO),
        (near, "pmd", runs_at(0.97, 0.3, apart=0.05), OPEN),
        (reached, "pmd", runs_at(0.99, 0.3), YES),
        (reached, "pmd", runs_at(0.98, 0.3, apart=0.05), OPEN),
    ):
        assert rule({**on_digits, name: runs}).verdict == verdict, (name, verdict)


MEASURED = Path(__file__).parents[2] / "docs" / "measured"


def test_bars_are_met_by_what_was_measured_and_missed_by_other_figures():
    measured = json.loads((MEASURED / "fit-and-aggregation.json").read_text(encoding="utf-8"))["figures"]["measured"]
    met = {bar: found["met"] for bar, found in fit_and_aggregation.bars(measured).items()}
    assert met == dict.fromkeys(fit_and_aggregation.GIVEN["bars"], True)
    for one in measured.values():
        for entry in one["summary"]:
            entry |= {name: 5.0 for name in ("rejected", "slope") if name in entry}
    assert not any(found["met"] for found in fit_and_aggregation.bars(measured).values())
    runs, bars = arrays_by_row(read_rows(MEASURED / "pmfvb.csv")), rows.given("claims-pmfvb")["bars"]
    assert {bar: found["met"] for bar, found in rows.bars(bars, runs).items()} == dict.fromkeys(bars, True)
    spoilt = {row: {name: values + 30 for name, values in numbers.items()} for row, numbers in runs.items()}
    assert not any(found["met"] for bar, found in rows.bars(bars, spoilt).items() if "as printed" not in bar)
