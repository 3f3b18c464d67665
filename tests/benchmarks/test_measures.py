"""Benches: what they measure, their problems, and the claims that the docs make of them."""

import json
import re
from collections import Counter
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks import charts, dimension, fit_and_aggregation, rows, silence, verdicts
from benchmarks.measuring import arrays_by_row, read_rows
from benchmarks.problems import KINDS, Problem, problem
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


ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MEASURED = DOCS / "measured"


def read(name):
    return json.loads((MEASURED / name).read_text(encoding="utf-8"))


def text(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_verdicts_tables_and_figures_are_those_of_what_was_measured():
    found, page = verdicts.judged(), text("replication/verdicts.md")
    assert text("measured/verdicts.csv") == verdicts.table(found), "run: python -m benchmarks.verdicts"
    assert verdicts.page(page, found) == page, "run: python -m benchmarks.verdicts"
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
    for items, figures, tables in zip(works.values(), (5, 34, 3), (1, 2, 3), strict=True):
        names = re.sub(r"\([^)]*\)", "", "; ".join(row["item"] for row in items)).replace(", Table", "; Table")
        for kind, last in (("Figure", figures), ("Table", tables)):
            found = re.findall(rf"{kind}s? ([\d, ]+)", names)
            assert {int(n) for part in found for n in re.findall(r"\d+", part)} == {*range(1, last + 1)}, kind


FEW = 20  # every variant of every kind is among the first ones
Z = 4.5
NU = 5  # degrees of freedom of the kernels around an answer's draws


@pytest.fixture(scope="module")
def few() -> list[Problem]:
    return [problem(1, number) for number in range(FEW)]


def near_zero(values: np.ndarray, weights: np.ndarray) -> None:
    """Weighted means (d,) are within Z standard errors of 0."""
    mean = weights @ values
    assert (np.abs(mean) < Z * np.sqrt(weights**2 @ (values - mean) ** 2)).all()


def agrees(one: Problem, points: np.ndarray, weights: np.ndarray) -> None:
    near_zero(points - one.answer.mean, weights)
    near_zero((points - one.answer.mean) ** 2 - one.answer.sd**2, weights)


def test_along_every_component_of_an_answer_the_targets_density_is_that_component(few):
    """log joint - log q is one constant at draws of an answer by quadrature, whose moments are those of its draws."""
    rng, checked = np.random.default_rng(0), Counter()
    for one in few:
        answer, d = one.answer, one.target.dim
        if answer.roots is None:
            continue
        free = d if answer.roots[0, -1].any() else d - 1  # without the coordinate that is summed over
        rows = rng.choice(len(answer.weights), 500, p=answer.weights)
        z, roots = rng.standard_normal((500, free)), answer.roots[rows][:, :, :free]
        points = answer.means[rows] + np.einsum("nij,nj->ni", roots, z)
        log_q = np.log(answer.weights[rows]) - 0.5 * (z**2).sum(axis=1) - np.linalg.slogdet(roots[:, :free])[1]
        # Components of a sum without such a coordinate overlap a little.
        assert_allclose(np.ptp(one.target.log_joint(points) - log_q), 0, atol=1e-4, err_msg=one.name)
        agrees(one, answer.sample(rng, 20_000), np.full(20_000, 1 / 20_000))
        checked[one.kind] += 1
    assert min(checked[kind] for kind in KINDS if kind != "heavy_tails") >= 2


def test_importance_sampling_around_an_answers_draws_gives_its_moments(few):
    rng, checked = np.random.default_rng(1), Counter()
    for one in few:
        if one.answer.roots is not None:
            continue
        centres, n = one.answer.sample(rng, 300), 10_000
        root = np.linalg.cholesky(0.3 * np.atleast_2d(np.cov(centres.T)))
        noise = rng.standard_normal((n, one.target.dim)) / np.sqrt(rng.chisquare(NU, (n, 1)) / NU)
        points = centres[rng.integers(300, size=n)] + noise @ root.T
        u, v = (np.linalg.solve(root, at.T).T for at in (points, centres))
        squares = (u**2).sum(axis=1)[:, None] + (v**2).sum(axis=1) - 2 * u @ v.T
        log_q = np.log(((1 + squares / NU) ** (-0.5 * (NU + one.target.dim))).sum(axis=1))
        log_weights = one.target.log_joint(points) - log_q
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        assert 1 / (weights**2).sum() > 1000, one.name
        agrees(one, points, weights)
        assert one.answer.error < 0.01
        checked[one.kind] += 1
    assert checked["heavy_tails"] == FEW // len(KINDS) and checked["modes"]


def test_problems_are_the_same_again_and_of_the_promised_sizes(few):
    assert {kind: sum(one.kind == kind for one in few) for kind in KINDS} == dict.fromkeys(KINDS, FEW // len(KINDS))
    again, other = problem(1, 7), problem(2, 7)
    assert_array_equal(again.target.data, few[7].target.data)
    assert_array_equal(again.answer.mean, few[7].answer.mean)
    assert other.target.fingerprint != again.target.fingerprint
    for one in few:
        assert 1 <= one.target.dim <= 10 and 8 <= one.target.num_data <= 500
        assert np.isfinite(one.answer.mean).all() and (one.answer.sd > 0).all() and "gradient" in one.target.offers


def test_wrong_is_wrong_and_silence_is_counted(few):
    one = few[0]
    for off, ratio, result in [(0.29, 1.0, "right"), (-0.31, 1.0, "wrong"), (0.0, 0.71, "right"), (0.0, 1.41, "wrong")]:
        mean, sd = one.answer.mean.copy(), one.answer.sd.copy()
        mean[-1] += off * one.answer.sd[-1]
        sd[0] *= ratio
        assert silence.judged(one, mean, sd, "").result == result
    endings = [("wrong", ""), ("wrong", "so"), ("wrong", "so"), ("right", "so"), ("right", ""), ("cut_off", "")]
    rows = [silence.Row("a", "modes", {"pmd": silence.Ending(*end)}) for end in endings]
    told = silence.summary(rows)
    counts = {"wrong": 3, "silent": 1, "right": 2, "false_alarms": 1, "cut_off": 1, "failed": 0}
    assert told["methods"]["pmd"] == told["kinds"]["modes"] == counts
    shares = (told["all"][name]["share"] for name in ("silent_among_wrong", "false_alarms_among_right"))
    assert tuple(shares) == (0.333, 0.5)


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
