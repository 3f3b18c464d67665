"""The paper's claims about Gaussian processes: the rules on made-up runs, the page, and the plain NumPy form."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.claims_gp import ENTRANTS, HELD_OUT, PROBLEMS, RUNS, SEARCH_DATA, SEARCH_RUNS, measured
from benchmarks.gaussian_process import _batches, _ours, _plain
from benchmarks.helpers.claims_gp_page import CLAIMS, RMSE, falls, in_thousandths, page
from benchmarks.helpers.claims_rules import NO, OPEN, YES
from benchmarks.helpers.claims_runs import read_rows
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.targets import make_target

DOCS = Path(__file__).parents[2] / "docs"


def runs(*looks, sd=0.001):
    noise = sd * np.random.default_rng(0).standard_normal((5, 2, len(looks)))
    values = np.array(looks) + noise
    return {"best": {"rmse": values, RMSE: 1000 * values}}


def test_a_mean_that_comes_closer_with_every_look():
    judge = falls("pmd 16")
    assert judge({"pmd 16": runs(0.3, 0.1, 0.05)}).verdict == YES
    assert judge({"pmd 16": runs(0.3, 0.04, 0.05)}).verdict == NO
    assert judge({"pmd 16": runs(0.3, 0.05, 0.05)}).verdict == OPEN


def test_every_claim_is_judged_in_words_and_numbers():
    made = {name: runs(0.3, 0.2, 0.1 + 0.01 * k) for k, name in enumerate(ENTRANTS)}
    for _, cases in CLAIMS:
        for rule in cases.values():
            answer = rule(made)
            assert answer.verdict in (YES, NO, OPEN) and answer.said and answer.figures


def test_thousandths():
    values = in_thousandths({"songs": {"svi": {"best": {"rmse": np.array([0.0125])}}}})["songs"]["svi"]["best"]
    assert values[RMSE] == pytest.approx(12.5)


def test_no_seed_both_chooses_and_judges():
    assert not {*SEARCH_DATA} & {*HELD_OUT} and not {*SEARCH_RUNS} & {*RUNS}


@pytest.mark.parametrize("name", ["svi", "subset"])
def test_a_run_is_looked_at_after_each_number_of_batches(name, monkeypatch):
    small = PROBLEMS["function"]._replace(options={"num_data": 256, "dim": 20}, steps=(1, 2))
    monkeypatch.setitem(PROBLEMS, "function", small)
    rows = measured(ENTRANTS[name], "function", {}, 0, 0)
    assert [row["budget"] for row in rows] == [128, 256]
    assert [row["visited"] for row in rows] == ([128, 256] if name == "svi" else [128, 128])
    assert rows[0]["rmse"] < 1


def test_the_plain_form_ends_where_ours_does():
    target = make_target("sparse_gp", num_data=300, dim=16)
    knobs = Recipe("sparse_gp", "structured_pmd").start_knobs()
    batches = _batches(target, knobs)[:6]
    np.testing.assert_allclose(_ours(target, knobs, batches), _plain(target, batches), atol=1e-8)


def test_the_page_of_the_docs_is_what_was_measured():
    result = json.loads((DOCS / "measured/claims-gp.json").read_text(encoding="utf-8"))
    words = (
        "write it again: python -m benchmarks.helpers.claims_gp_page docs/measured/claims-gp.json > docs/claims-gp.md"
    )
    assert (DOCS / "claims-gp.md").read_text(encoding="utf-8") == page(
        result, read_rows(DOCS / "measured/claims-gp.csv")
    ), words
