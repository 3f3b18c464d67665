"""How claims about topics are judged, on made-up measurements whose answer is known, and the page."""

import json
from pathlib import Path

import numpy as np

from benchmarks.claims_topics import ENTRANTS, HELD_OUT, PASSES, RUNS, SEARCH_DATA, SEARCH_RUNS, measured
from benchmarks.helpers.claims_rules import NO, OPEN, YES
from benchmarks.helpers.claims_runs import read_rows
from benchmarks.helpers.claims_topics_page import lower, page

DOCS = Path(__file__).parents[2] / "docs"
SMALL = {"data": "bars", "num_topics": 4, "num_data": 200, "side": 3, "length": 20}


def ends(*perplexities, sd=0.1):
    """Five data sets, two runs each, by pass."""
    rng = np.random.default_rng(0)
    return {"best": {"perplexity": np.array(perplexities) + sd * rng.standard_normal((5, 2, len(perplexities)))}}


def test_a_clear_lead_an_unclear_one_and_none():
    found = {"a": ends(9, 5), "b": ends(8, 7), "c": ends(8, 5.0, sd=3)}
    assert lower(("a", -1), ("b", -1))(found).verdict == YES
    assert lower(("a", 0), ("b", 0))(found).verdict == NO
    assert lower(("a", -1), ("c", -1))(found).verdict == OPEN
    answer = lower(("a", 1), ("a", 0))(found)
    assert answer.verdict == YES and "perplexity of a after pass 1 minus that of a after pass 2 3.9" in answer.said


def test_a_run_is_asked_after_every_pass_and_one_pass_smc_stays_where_it_is():
    rows = measured(ENTRANTS["pmd 1"], SMALL, {}, 3, 4)
    assert [row["pass"] for row in rows] == [1, 2, 3, 4, 5] and [row["visited"] for row in rows] == [
        200,
        400,
        600,
        800,
        1000,
    ]
    assert rows[-1]["perplexity"] < rows[0]["perplexity"] < 9 and rows[0]["unigram"] == rows[-1]["unigram"]
    rows = measured(ENTRANTS["smc 1"], SMALL, {}, 3, 4)
    assert len(rows) == PASSES and len({row["perplexity"] for row in rows}) == 1 and rows[-1]["visited"] == 200


def test_seeds_that_choose_do_not_judge():
    assert not set(SEARCH_DATA) & set(HELD_OUT) and not set(SEARCH_RUNS) & set(RUNS)


def test_the_page_says_what_was_measured():
    result = json.loads((DOCS / "measured" / "claims-topics.json").read_text(encoding="utf-8"))
    rows = read_rows(DOCS / "measured" / "claims-topics.csv")
    words = "python -m benchmarks.helpers.claims_topics_page docs/measured/claims-topics.json > docs/claims-topics.md"
    assert (DOCS / "claims-topics.md").read_text(encoding="utf-8") == page(result, rows), words
