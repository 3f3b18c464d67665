"""How claims about mean-field particles are judged, on made-up runs whose answer is known, and the page."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.helpers.claims_rules import NO, OPEN, YES
from benchmarks.helpers.claims_runs import read_rows
from benchmarks.helpers.mean_field_bars import BARS, judged
from benchmarks.helpers.mean_field_rules import alike, fits, one_answer, same_mean, same_sd, too_narrow, within
from benchmarks.helpers.pmfvb_claims import CLAIMS
from benchmarks.helpers.pmfvb_page import page
from benchmarks.helpers.rows_page import arrays_by_row
from benchmarks.helpers.seeded_rows import QUICK
from benchmarks.pmfvb import SEEDS, rows

DOCS = Path(__file__).parents[2] / "docs"


def some(mean, sd=0.01, n=8):
    """n values of this mean and standard deviation, evenly spread."""
    spread = np.linspace(-1, 1, n)
    return mean + sd * (spread - spread.mean()) / spread.std(ddof=1)


EXACT = {"exact": {"x": some(1.0), "x_sd": some(0.5)}}


@pytest.mark.parametrize(
    ("rule", "values", "verdict"),
    [
        (within("a", "x", 0.1), {"x": some(0.09)}, YES),
        (within("a", "x", 0.1), {"x": some(0.2)}, NO),
        (within("a", "x", 0.1), {"x": some(0.11, 0.2)}, OPEN),
        (alike("a", ("x", "y")), {"x": some(1.05), "y": some(0.95)}, YES),
        (alike("a", ("x", "y")), {"x": some(1.05), "y": some(0.7)}, NO),
        (alike("a", ("x", "y")), {"x": some(1.05), "y": some(0.88, 0.2)}, OPEN),
        (same_mean("a", "exact", "x"), {"x": some(1.1)}, YES),
        (same_mean("a", "exact", "x"), {"x": some(0.5)}, NO),
        (same_mean("a", "exact", "x"), {"x": some(1.2, 0.5)}, OPEN),
        (same_sd("a", "exact", "x"), {"x_sd": some(0.48)}, YES),
        (same_sd("a", "exact", "x"), {"x_sd": some(0.3)}, NO),
        (too_narrow("a", "exact", "x"), {"x_sd": some(0.1)}, YES),
        (too_narrow("a", "exact", "x"), {"x_sd": some(0.7)}, NO),
        (too_narrow("a", "exact", "x"), {"x_sd": some(0.49, 0.2)}, OPEN),
        (one_answer("a", "exact", "x"), {"x": some(1.001)}, YES),
        (one_answer("a", "exact", "x"), {"x": some(-1.0)}, NO),
        (fits("a"), {"mse": some(1.0), "var_y": some(9.0)}, YES),
        (fits("a"), {"mse": some(9.0), "var_y": some(9.0)}, NO),
    ],
)
def test_a_rule_says_yes_no_or_open_and_with_which_figures(rule, values, verdict):
    answer = rule({"a": values, **EXACT})
    assert answer.verdict == verdict and answer.said and answer.figures


def test_no_two_rows_have_one_name_and_what_is_specified_is_measured():
    words = [row.words for row in rows()]
    assert len({*words}) == len(words)
    assert all(len(SEEDS[row.table]) > QUICK for row in rows())
    runs = arrays_by_row(read_rows(DOCS / "measured" / "pmfvb.csv"))
    for row in rows():
        assert {*row.specified} <= {*runs[row.words]}, row.words


def test_every_claim_is_judged_by_rows_that_there_are():
    runs = arrays_by_row(read_rows(DOCS / "measured" / "pmfvb.csv"))
    for _, cases in CLAIMS:
        for rule in cases.values():
            answer = rule(runs)
            assert answer.verdict in (YES, NO, OPEN) and answer.said and answer.figures


def test_bars_are_met_by_the_measured_rows_and_missed_by_others():
    runs = arrays_by_row(read_rows(DOCS / "measured" / "pmfvb.csv"))
    assert {bar: found["met"] for bar, found in judged(runs).items()} == dict.fromkeys(BARS, True)
    spoilt = {row: {name: values + 30 for name, values in numbers.items()} for row, numbers in runs.items()}
    assert not any(found["met"] for bar, found in judged(spoilt).items() if "as printed" not in bar)


def test_the_page_says_what_was_measured():
    words = "python -m benchmarks.helpers.pmfvb_page docs/measured/pmfvb.json > docs/claims-pmfvb.md"
    written = (DOCS / "claims-pmfvb.md").read_text(encoding="utf-8")
    assert written == page(DOCS / "measured" / "pmfvb.json"), words
