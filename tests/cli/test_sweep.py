import json

import pytest

import pmdviz
from pmdviz.cli import main

RECIPE = {"target": "gaussian", "target_options": {"dim": 1}, "knobs": {"batch_size": 5}, "budget": 100}


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(RECIPE))
    return str(path)


def test_a_sweep_as_json(recipe, tmp_path, capsys):
    out = str(tmp_path / "table.csv")
    given = ["sweep", recipe, "--over", "num_particles=20,40,80", "--seeds", "2", "--workers", "1", "--out", out]
    assert main.main([*given, "--json", "-"]) == 0
    printed = json.loads(capsys.readouterr().out)
    found = pmdviz.sweep(pmdviz.Recipe.from_dict(RECIPE), {"num_particles": [20, 40, 80]}, seeds=2, workers=1, path=out)
    assert [row["tv"] for row in printed["rows"]] == found.rows["tv"].tolist()
    assert printed["fit"]["slope"] == found.fit().slope and printed["fit"]["x"] == "num_particles"
    assert printed["summary"] == found.summary() and printed["failed"] == []
    assert printed["recipe"]["target"] == "gaussian" and printed["versions"]["pmdviz"]


def test_what_a_person_reads(recipe, capsys):
    given = ["sweep", recipe, "--over", "num_particles=20,40", "--seeds", "3,5", "--workers", "1"]
    assert main.main([*given, "--error", "bounded"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("num_particles = 20: bounded 0.") and "(2 runs)" in lines[0]
    assert lines[2].startswith("bounded ~ num_particles^slope: slope")


def test_lists_side_by_side(recipe, capsys):
    given = ["sweep", recipe, "--over", "num_particles=20,40", "--over", "budget=50,100", "--together"]
    assert main.main([*given, "--seeds", "1", "--workers", "1", "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["num_particles"], row["visited"]) for row in rows] == [(20, 50), (40, 100)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "needs --over"),
        (["--over", "num_particles"], "--over takes NAME=VALUE"),
        (["--over", "num_particles="], "--over takes NAME=VALUE"),
        (["--over", "num_particls=5"], "did you mean 'num_particles'"),
        (["--over", "num_particles=5", "--over", "num_particles=6"], "names num_particles twice"),
        (["--over", "num_particles=x"], "num_particles must be a whole number"),
        (["--over", "num_particles=5", "--seeds", "few"], "--seeds takes"),
        (["--over", "num_particles=5", "--seeds", "0"], "seeds must be a number"),
        (["--over", "num_particles=5", "--workers", "none"], "workers must be a whole number"),
        (["--over", "num_particles=5", "--error", "tvv"], "did you mean 'tv'"),
        (["--over", "num_particles=5", "--out", "table.txt"], ".parquet or .csv"),
        (["--over", "num_particles=5", "--out", ""], "a file needs a path that ends in its name"),
        (["--over", "num_particles=5", "--json", ""], "a file needs a path that ends in its name"),
        (["--over", "num_particles=5", "--outt", "t.csv"], "did you mean '--out'"),
        (["--over", "num_particles=5", "--budget", "5"], "a recipe file says all of the run"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_status_2(recipe, arguments, words, capsys):
    assert main.main(["sweep", recipe, *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1 and said.startswith("pmdviz: ")
