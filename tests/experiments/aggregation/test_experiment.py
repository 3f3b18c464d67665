import sys

import numpy as np
import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.experiments.aggregation import VARIED, Aggregation, Block, principal_scores, read_points
from pmdviz.experiments.base import TooMuch
from pmdviz.experiments.mixtures import MODELS
from pmdviz.targets import rows as data_rows
from tests.support.tables import looped

MADE = Aggregation()
SMALL = {"num_data": 2000, "num_shards": 4, "lowest": 50, "highest": 200, "num_levels": 2, "repetitions": 2}
MIXTURE = {**SMALL, "model": "gmm", "dim": 2, "components": 2}


def rows_of(knobs):
    chosen = MADE.Knobs.checked(knobs)
    return chosen, [row for case in MADE.cases(chosen) for row in MADE.run(case)]


def test_one_repetition_has_all_numbers_of_draws_and_each_value_is_a_case():
    chosen, rows = rows_of(SMALL)
    assert [case["draws"] for case in MADE.cases(chosen)] == [[50, 200]] * 2
    mine = [(row["combiner"], row["num_draws"]) for row in rows if row["seed"] == 1]
    assert mine == [
        ("naive", 50), ("control", 50), ("control_fresh", 50), ("weighted", 50), ("weighted_printed", 50),
        ("naive", 200), ("control", 200), ("control_fresh", 200), ("weighted", 200), ("weighted_printed", 200),
        ("linear", 0), ("exact", 0), ("mle", 0),
    ]  # fmt: skip
    by_name = {(row["combiner"], row["num_draws"]): row for row in rows if row["seed"] == 1}
    assert by_name["exact", 0]["error"] == 0 and by_name["mle", 0]["gap"] == by_name["mle", 0]["error_mle"] == 0
    assert by_name["naive", 200]["error_truth"] > by_name["mle", 0]["error_truth"] > 0
    assert by_name["naive", 50]["gap"] > by_name["linear", 0]["gap"]
    keys = {"K": "num_shards", "K_total": "num_shards", "N": "num_data", "dim": "dim"}
    assert {*keys} == {*VARIED} - {"n", "alpha"}
    for varied, key in keys.items():
        chosen = MADE.Knobs.checked({"varied": varied, "num_draws": 120, "num_shards": 6, "repetitions": 1})
        cases = MADE.cases(chosen)
        assert [case[key] for case in cases] == chosen.levels and len(cases) == 4, varied
        draws = [case["draws"][0] * (case["num_shards"] if varied == "K_total" else 1) for case in cases]
        assert np.allclose(draws, 720 if varied == "K_total" else 120, rtol=0.05), varied
    chosen = MADE.Knobs.checked({"varied": "alpha", "lowest": 50, "num_levels": 2, "num_data": 40_000, "num_shards": 4})
    assert [case["draws"] for case in MADE.cases(chosen)] == [[100, 1585]] * 10  # 10,000 to the power 0.5, and 0.8


def test_the_slopes_stand_beside_theory():
    chosen = MADE.Knobs.checked(SMALL)
    rows = [
        {"combiner": name, "num_draws": n, "error": 5.0 * n**-power, "gap": 0.1 / n, "note": "odd" if n == 50 else ""}
        for name, power in (("naive", 1), ("weighted", 2))
        for n in (50, 100, 200)
    ]
    plain, noted, by_weights, _ = MADE.summary(rows, chosen)
    assert plain["slope"] == pytest.approx(-1) == plain["theory"] and by_weights["slope"] == pytest.approx(-2)
    assert noted == {"what": "KL, plain draws: 1 of 3 rows", "note": "odd"}
    errors, gaps = MADE.pictures(rows, chosen)
    assert [slope for _, slope in errors.slopes] == [-1, -2] and errors.y_log and gaps.y_log
    assert [series.name for series in errors.series] == ["KL, plain draws", "KL, weighted draws"]
    assert all(len(series.low) == 3 for series in gaps.series)
    rows[2]["gap"] = -0.1  # better than the fit to all data: no place on a log axis
    gaps = MADE.pictures(rows, chosen)[1]
    assert not gaps.y_log and gaps.series[0].y[-1] == -0.1


@pytest.mark.ci
def test_components_counted_on_each_machine():
    chosen, rows = rows_of({**MIXTURE, "count": "bic", "num_data": 1200, "repetitions": 1})
    case = MADE.cases(chosen)[0]
    counts = [len(each.shares) for each in Block(case).machines.params]
    assert counts.count(2) >= 3
    assert {row["components"] for row in rows if row["combiner"] == "weighted"} == {2}
    assert all(row["error"] < 1 for row in rows if row["combiner"] == "weighted" and row["num_draws"] == 200)


@pytest.mark.parametrize(
    "source, most, columns",
    [("breast_cancer", 455, 30), pytest.param("digits", 1437, 61, marks=pytest.mark.ci),
     pytest.param("randhie", 16_152, 9, marks=pytest.mark.ci)],
)  # fmt: skip
def test_carried_tables(source, most, columns):
    chosen, rows = rows_of({"data": source, "repetitions": 1, "num_levels": 1, "lowest": 300, "num_shards": 2,
                            "dim": 5})  # fmt: skip
    assert {row["num_data"] for row in rows} == {most} and np.isnan(rows[0]["error_truth"])
    scores = principal_scores(source)
    assert scores.shape[1] == columns and scores[:, 0].std() == pytest.approx(1)
    cov = scores.T @ scores / len(scores)
    assert np.abs(cov - np.diag(np.diag(cov))).max() < 1e-9 and (np.diff(np.diag(cov)) < 1e-9).all()
    points = read_points(source, MODELS["gaussian"](5), 10**9, 3)
    together = np.concatenate([points.train, points.test])
    assert len(points.test) == len(scores) - most
    np.testing.assert_allclose(np.sort(together, axis=0), np.sort(scores[:, :5], axis=0))
    assert MADE.size(MADE.cases(chosen)[0]).megabytes < 50


@pytest.mark.filterwarnings("ignore::pmdviz.errors.InputWarning")
@looped("suffix", ["csv", "libsvm"])
def test_a_file_of_ones_own(tmp_path, suffix):
    rng = np.random.default_rng(0)
    table = np.column_stack(
        [rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4)), np.ones(500), rng.integers(0, 7, 500)]
    )
    path = tmp_path / f"covtype.{suffix}"
    if suffix == "libsvm":
        cells = [[f"{k + 1}:{x!r}" for k, x in enumerate(row[:-1].tolist())] for row in table]
        path.write_text("\n".join(f"{row[-1]:g} {' '.join(each)}" for row, each in zip(table, cells, strict=True)))
    else:
        np.savetxt(path, table, delimiter=",")
    found = pmdviz.experiment("aggregation", data=str(path), dim=4, num_shards=3, repetitions=1, workers=1)
    assert not found.failed and found.rows[0]["num_data"] == 400 and found.knobs["data"].startswith(str(path))
    with pytest.raises(InputError, match="dim must be at most 4 with data"):  # the fifth column does not vary
        pmdviz.experiment("aggregation", data=str(path), dim=5, num_shards=3, repetitions=1, workers=1)


def test_what_cannot_be_used_is_said():
    for knobs, words in [
        ({"lowest": 2000}, "lowest must be at most highest, 1,000; got 2,000"),
        ({"model": "ppca", "latent": 3}, "latent must be below the dimension, 3; got 3"),
        ({"model": "ppca", "varied": "dim"}, "latent must be below the dimension, 2; got 2"),
        ({"num_data": 50}, "num_data must be at least 100: then each of 10 machines has more data than its model"),
        ({"data": "breast_cancer", "model": "gmm"}, "num_data must be at least 1,980: .*; got 455"),
        ({"data": "digits", "against": "truth"}, "a table has no true parameters; set against to exact or mle"),
        ({"data": "nowhere.csv"}, "cannot be read"),
        ({"data": "covtype"}, "data must be simulated, digits"),
    ]:
        with pytest.raises(InputError, match=words):
            pmdviz.experiment("aggregation", **knobs)


@pytest.mark.parametrize("source, hidden, pip", [("digits", "sklearn.datasets", r"pmdviz\[data\]"),
                                                 ("randhie", "statsmodels", r"pmdviz\[tables\]")])  # fmt: skip
def test_a_package_that_is_missing_is_said(source, hidden, pip, monkeypatch):
    def clear():
        for cached in (principal_scores, data_rows._digits, data_rows._of_statsmodels):
            cached.cache_clear()

    clear()
    monkeypatch.setitem(sys.modules, hidden, None)
    monkeypatch.setattr(data_rows, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=pip):
        pmdviz.experiment("aggregation", data=source)
    clear()


def test_what_is_too_large_is_refused_and_cases_that_choose_cost_more(monkeypatch):
    monkeypatch.setattr(Aggregation, "run", lambda self, case: pytest.fail("it has begun"))
    monkeypatch.setattr("pmdviz.experiments.base.free_megabytes", lambda: 16_000.0)
    for knobs in ({"num_data": 10**9}, {"num_data": 10**12, "model": "gmm"}, {"varied": "N", "highest": 10**10}):
        with pytest.raises(TooMuch, match="of memory, and 16 GB are free; make it smaller$"):
            pmdviz.experiment("aggregation", **knobs, workers=1, insist=True)
    for knobs in ({}, {"model": "gmm"}, {"model": "gmm", "num_data": 1_000_000}, {"model": "ppca"}):
        cases = MADE.cases(MADE.Knobs.checked(knobs))
        assert sum(MADE.size(case).seconds for case in cases) < 1000, knobs
        assert max(MADE.size(case).megabytes for case in cases) < 500, knobs
    case = MADE.cases(MADE.Knobs.checked({"model": "gmm"}))[0]
    known, chosen = (MADE.size(case | {"count": count, "components": 1}) for count in ("known", "bic"))
    assert known.seconds < chosen.seconds and known.megabytes < chosen.megabytes


def test_what_is_no_density_has_a_note_and_no_likelihood():
    _, rows = rows_of({**MIXTURE, "components": 3, "num_data": 3000, "num_shards": 2, "lowest": 12, "highest": 12,
                       "num_levels": 1, "repetitions": 3})  # fmt: skip
    odd = [row for row in rows if np.isnan(row["gap"])]
    assert odd and all(row["note"] and row["combiner"].startswith("control") for row in odd)
