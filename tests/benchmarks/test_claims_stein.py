"""How claims about SVGD, SteinIS and annealing are judged, on made-up runs whose answer is known, and the page."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.helpers import adaptive_rows, stein_rows
from benchmarks.helpers.claims_rules import NO, OPEN, YES
from benchmarks.helpers.claims_runs import read_rows
from benchmarks.helpers.seeded_rows import QUICK, described
from benchmarks.helpers.stein_claims import CLAIMS
from benchmarks.helpers.stein_page import page, runs_of
from benchmarks.helpers.stein_rules import (
    as_good,
    falls,
    inverse_in_number,
    keeps_variance,
    lower,
    unbiased,
)
from benchmarks.stein import SEEDS, rows
from pmdviz.targets import make_target

DOCS = Path(__file__).parents[2] / "docs"
FEW = 8


def some(mean, sd=0.01, n=FEW):
    """n values of this mean and standard deviation, evenly spread."""
    spread = np.linspace(-1, 1, n)
    return mean + sd * (spread - spread.mean()) / spread.std(ddof=1)


def of(**values):
    return {name: {"x": value} for name, value in values.items()}


@pytest.mark.parametrize(
    ("rule", "runs", "verdict"),
    [
        (lower("a", "b", "x"), of(a=some(1), b=some(2)), YES),
        (lower("a", "b", "x"), of(a=some(2), b=some(1)), NO),
        (lower("a", "b", "x"), of(a=some(1, 3), b=some(2, 3)), OPEN),
        (lower("a", "b", "x", np.abs), of(a=some(-1), b=some(2)), YES),
        (lower("a", "b", "x", np.abs), of(a=some(-3), b=some(2)), NO),
        (as_good("a", "b", "x"), of(a=some(1, 3), b=some(1, 3)), YES),
        (as_good("a", "b", "x"), of(a=some(2), b=some(1)), NO),
        (unbiased("a", "x"), of(a=some(0.01)), YES),
        (unbiased("a", "x"), of(a=some(-0.5)), NO),
        (unbiased("a", "x"), of(a=some(0.2, 1)), OPEN),
        (falls("abc", "x"), of(a=some(3), b=some(2), c=some(1)), YES),
        (falls("abc", "x"), of(a=some(3), b=some(1), c=some(2)), NO),
        (falls("abc", "x"), of(a=some(3), b=some(2), c=some(2)), OPEN),
        (inverse_in_number("a", "b", 16, "x"), of(a=some(16, 2), b=some(1, 0.1)), YES),
        (inverse_in_number("a", "b", 16, "x"), of(a=some(4, 0.2), b=some(1, 0.1)), NO),
    ],
)
def test_a_rule_says_yes_no_or_open_and_with_which_figures(rule, runs, verdict):
    answer = rule(runs)
    assert answer.verdict == verdict and answer.said and answer.figures


def test_a_collapsed_variance_is_not_kept():
    assert keeps_variance("a")({"a": {"value": some(0.9)}}).verdict == YES
    assert keeps_variance("a")({"a": {"value": some(0.4)}}).verdict == NO


def test_a_row_is_within_two_standard_errors_of_both():
    (row,) = (row for row in rows() if row.words == "Importance sampling, 50 draws")
    wanted, error = row.specified["z"]
    near, far = ({"z": some(wanted + k * error, 1e-9)} for k in (1.9, 2.1))
    assert described(row, near)["within_two_standard_errors"] == {"z": True}
    assert described(row, far)["within_two_standard_errors"] == {"z": False}


def test_what_is_specified_belongs_to_a_row_and_no_two_rows_have_one_name():
    words = [row.words for row in rows()]
    assert len({*words}) == len(words) and {*stein_rows.SPECIFIED} <= {*words}
    assert all(len(SEEDS[row.table]) > QUICK for row in rows())


def test_means_of_the_ten_gaussians_by_many_draws():
    target = make_target("gmm")
    draws = target.reference().sample(np.random.default_rng(0), 200_000)
    (w, b), (first, second, cosine) = stein_rows.cosine_at(5, 2), stein_rows.truths(target, 5)
    np.testing.assert_allclose(draws.mean(axis=0), first, atol=0.02)  # 4 standard errors
    np.testing.assert_allclose((draws**2).mean(axis=0), second, atol=0.04)
    np.testing.assert_allclose(np.cos(draws @ w + b).mean(), cosine, atol=0.008)


def test_a_row_is_measured_by_its_seed():
    row = stein_rows.Row("few", "steinis", "gmm", {}, {"num_particles": 20}, stein_rows.divergence, steps=5)
    found = row.measure(3)
    assert found == row.measure(3) != row.measure(4) and set(found) == {
        "log_z_error", "z", "ess", "kl", "evaluations",
    }  # fmt: skip
    assert found["kl"] >= 0 < found["ess"] <= 1


def test_kl_of_a_fitted_mixture_is_positive_both_ways():
    run = adaptive_rows.run_of(adaptive_rows.Row("few", {"num_components": 5}, 3, np.nan), 1)
    found = adaptive_rows.statistics(run)
    assert found["kl_forward"] > 0 < found["kl_reverse"]


def test_every_claim_is_judged_by_rows_that_there_are():
    runs = runs_of(*(read_rows(DOCS / "measured" / f"{name}.csv") for name in ("stein", "annealing")))
    for _, cases in CLAIMS:
        for rule in cases.values():
            answer = rule(runs)
            assert answer.verdict in (YES, NO, OPEN) and answer.said and answer.figures


def test_the_page_says_what_was_measured():
    words = "python -m benchmarks.helpers.stein_page docs/measured > docs/claims-stein.md"
    assert (DOCS / "claims-stein.md").read_text(encoding="utf-8") == page(DOCS / "measured"), words
