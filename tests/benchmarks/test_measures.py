"""What the benches measure with: known errors of known densities, and where a run is looked at."""

import json
import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from benchmarks import charts, dimension, silence, verdicts
from benchmarks.measuring import read_rows
from benchmarks.rows import tables_of
from benchmarks.statistics import End, described
from pmdviz.targets import make_target


def test_a_moved_and_stretched_density_has_the_errors_that_it_must_have():
    made, stretch = make_target("linear", dim=3, num_data=50).exact, np.array([0.5, 1.0, 2.0])
    still = dimension.distances(made.mean, made.cov, made)
    assert still["error_of_mean"] == 0 and still["sd_ratio"] == pytest.approx(1) and abs(still["kl"]) < 1e-9
    moved = made.mean + np.array([0.3, -0.4, 0.0]) * np.sqrt(np.diag(made.cov))
    covariance = made.cov * np.outer(stretch, stretch)
    found = dimension.distances(moved, covariance, made)
    assert found["error_of_mean"] == pytest.approx(np.sqrt(0.25 / 3))
    assert found["sd_ratio_least"] == pytest.approx(0.5) and found["sd_ratio_largest"] == pytest.approx(2)
    shift, inverse = moved - made.mean, np.linalg.inv(covariance)
    kl = 0.5 * (np.trace(inverse @ made.cov) + shift @ inverse @ shift - 3)  # the determinants are the same
    assert found["kl"] == pytest.approx(kl, rel=1e-9)


def test_a_weight_counts_as_so_many_points_and_weighted_draws_come_from_the_surrogate():
    row = next(row for row in tables_of("stein")["surrogates"][1] if row.knobs and not row.method)
    target, points = make_target("gmm", **row.options), np.array([[1.0, -2.0], [0.5, 3.0]])
    repeated = described(End(target, points[[0, 0, 1]], np.full(3, 1 / 3), 0))
    assert described(End(target, points, np.array([2, 1]) / 3, 0)) == pytest.approx(repeated, rel=1e-12)
    drawn = row._replace(knobs={"surrogate_mean": 0.0, "surrogate_sd": 1.0}, count=2000).measure(0)
    assert drawn["mmd2"] < 2e-3 and drawn["ratio"] == pytest.approx(1, abs=0.1), "all weights 1"


# Verdicts, tables and figures of the docs are what the measured files give.


ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MEASURED = DOCS / "measured"


def read(name):
    return json.loads((MEASURED / name).read_text(encoding="utf-8"))


def text(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_verdicts_are_those_of_what_was_measured():
    found, page = verdicts.judged(), text("replication/verdicts.md")
    assert text("measured/verdicts.csv") == verdicts.table(found), "run: python -m benchmarks.verdicts"
    assert verdicts.page(page, found) == page, "run: python -m benchmarks.verdicts"


def test_tables_and_figures_are_what_was_measured():
    told = silence.table(read("silence-3.json")["figures"]).splitlines()[-2:]
    assert "\n".join(told) in text("explanation/diagnostics.md")
    figures, drawn = read("dimension.json")["figures"], (ROOT / "assets/dimension.svg").read_text(encoding="utf-8")
    assert all(f">{name}</text>" in drawn for name in figures)
    made_here = f"Matplotlib v{matplotlib.__version__}," in drawn  # another version draws another text
    assert not made_here or drawn == charts.dimension_chart(figures)


def test_every_figure_and_table_of_the_works_is_listed_with_claims_that_there_are_or_a_state():
    """The works' last numbers; an item without a claim says why it was not tried, or where it is."""
    claims = [row["claim"] for row in read_rows(MEASURED / "verdicts.csv")]
    works: dict[str, list] = {}
    for row in read_rows(MEASURED / "items.csv"):
        works.setdefault(row["work"], []).append(row)
        begun = [words for words in row["claims"].split("; ") if words]
        assert all(any(claim.startswith(words) for claim in claims) for words in begun), row
        assert begun or (row["state"] and not row["state"].endswith("not tried")), row
        assert all((ROOT / path).is_file() for path in re.findall(r"docs/[\w/-]+\.md", row["state"])), row
    for rows, figures, tables in zip(works.values(), (5, 34, 3), (1, 2, 3), strict=True):
        names = re.sub(r"\([^)]*\)", "", "; ".join(row["item"] for row in rows)).replace(", Table", "; Table")
        for kind, last in (("Figure", figures), ("Table", tables)):
            found = re.findall(rf"{kind}s? ([\d, ]+)", names)
            assert {int(n) for part in found for n in re.findall(r"\d+", part)} == {*range(1, last + 1)}, kind
