import json

import pytest

import pmdviz
from pmdviz.experiments import HeatMap, Histogram
from pmdviz.experiments.running import EXPERIMENTS, run_experiment
from pmdviz.experiments.theory import Convergence
from pmdviz.knobs import table
from tests.support.tables import refused

SMALL = {  # knobs that make one quick
    "convergence": {"varied": "m", "seeds": 1},
    "recurrence": {"runs": 2, "steps": 3},
    "costs": {"rounds": 1},
    "goodness_of_fit": {"scenario": "categorical", "repetitions": 2, "num_points": 20, "draws": 30},
    "dimension": {"methods": "pmd", "largest_dim": 2, "num_particles": 50, "num_data": 50, "seeds": 1},
    "aggregation": {"num_data": 300, "dim": 2, "num_shards": 3, "repetitions": 2,
                    "lowest": 60, "highest": 90, "num_levels": 2},
    "sharded_posterior": {"sampler": "exact", "num_data": 60, "num_particles": 60, "most_shards": 2, "seeds": 1,
                          "combiners": "consensus"},
    "descent": {"runs": 1, "num_steps": 2, "looks": 8, "num_particles": 200},
}  # fmt: skip
TIMED = {"costs"}  # rows hold seconds of this machine: no two alike


def small(name):
    return EXPERIMENTS[name].Knobs.checked(SMALL.get(name, {}))


def check_pictures(pictures):
    for picture in pictures:
        assert picture.x_label and picture.y_label
        for series in getattr(picture, "series", ()):
            assert series.name and len(series.x) == len(series.y) and series.look in {"line", "points", "dashes"}
            assert series.low is None or (series.low <= series.high + 1e-12).all()
        if isinstance(picture, Histogram):
            assert len(picture.edges) == len(picture.counts) + 1
        assert not isinstance(picture, HeatMap) or (picture.values.ndim == 2 and picture.value_label)
        for group in getattr(picture, "groups", ()):
            assert group.covs.shape == (len(group.means), 2, 2)


def test_it_says_what_it_is_and_its_cases_and_rows_are_plain_values():
    for name, made in EXPERIMENTS.items():
        assert made.title and made.about and made.source and made.name == name
        assert pmdviz.list_experiments()[name]["knobs"] == table(made.Knobs), name
        cases = made.cases(small(name))
        texts = [json.dumps(case, sort_keys=True, allow_nan=False) for case in cases]
        assert len(set(texts)) == len(texts) >= 2, name
        assert [json.loads(text) for text in texts] == cases, name
    for name in TIMED:
        made, knobs = EXPERIMENTS[name], small(name)
        rows = made.run(made.cases(knobs)[0])
        assert rows and all(set(made.columns(knobs)) <= set(row) for row in rows)


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name not in TIMED])
def test_a_table_is_resumed_and_workers_change_nothing(name, tmp_path):
    path, knobs = tmp_path / "rows.csv", SMALL.get(name, {})
    told = []

    def enough(done, total):
        told.append((done, total))
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(name, knobs, path=path, workers=1, progress=enough)
    begun = path.read_text().count("\n") - 1
    assert 0 < begun and told[-1][0] < told[-1][1]
    computed = []
    processes = 2 if name == "recurrence" else 1  # which take seconds to start
    whole = run_experiment(name, knobs, path=path, workers=processes, on_row=computed.append)
    assert 0 < len(computed) < len(whole.rows) == len(path.read_text().splitlines()) - 1
    alone = run_experiment(name, knobs, workers=1)
    strip = lambda rows: repr([{k: v for k, v in row.items() if k != "seconds"} for row in rows])  # noqa: E731
    assert strip(whole.rows) == strip(alone.rows) and not whole.failed
    assert all(set(EXPERIMENTS[name].columns(small(name))) <= set(row) for row in alone.rows)
    assert isinstance(whole.summary, list) and all(isinstance(entry, dict) for entry in whole.summary)
    check_pictures(EXPERIMENTS[name].examples(small(name)))
    check_pictures([*whole.pictures, *EXPERIMENTS[name].pictures(whole.rows[:1], small(name))])
    for kind in ("json", "csv"):
        assert whole.export(tmp_path / f"out.{kind}").stat().st_size > 100
    json.loads((tmp_path / "out.json").read_text(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    (other := tmp_path / "report.xlsx").write_text("of another program")
    refused(r"\.parquet or \.csv", whole.export, other)
    assert other.read_text() == "of another program"


def test_the_slope_of_rows_with_a_known_law_is_found_and_a_case_that_fails_is_said(monkeypatch):
    made, knobs = Convergence(), Convergence.Knobs.checked({"varied": "mT"})
    for slope in (-0.5, -0.25):
        rows = [{"num_particles": m, "bounded": 3.0 * m**slope} for m in (64, 256, 1024)]
        first, *bounds = made.summary(rows, knobs)
        assert first["slope"] == pytest.approx(slope, rel=1e-12) and first["standard_error"] < 1e-9
        assert any(bound["slope"] == -0.5 for bound in bounds)
    made = EXPERIMENTS["recurrence"]
    right = type(made).run
    monkeypatch.setattr(type(made), "run", lambda self, case: 1 / 0 if case["seed"] == 1 else right(self, case))
    from joblib import parallel_config

    with parallel_config("threading"):
        found = run_experiment("recurrence", {"runs": 3, "steps": 2}, workers=1)
    assert len(found.rows) == 4 and len(found.failed) == 1 and "ZeroDivisionError" in found.failed[0]


def test_what_cannot_be_used_is_said():
    for name, knobs, words in [
        ("convergense", {}, "did you mean 'convergence'"),
        ("convergence", {"sedes": 3}, "did you mean 'seeds'"),
        ("recurrence", {"runs": 0}, "runs must be"),
        ("recurrence", {"target": "ising"}, "which target 'ising' does not offer"),
        ("recurrence", {"target": "linear"}, "with an exact posterior"),
        (5, {}, "unknown experiment"),
    ]:
        refused(words, pmdviz.experiment, name, **knobs)
