"""`pmdviz export`, `race`, `sweep`, `lessons`, `notebooks` and `bench`: what they write and print."""

import io
import json
import sys
from pathlib import Path

import pytest
from PIL import Image

import pmdviz
from pmdviz import api
from pmdviz.cli import course as forms
from pmdviz.cli import tools
from pmdviz.engine.run import Run
from pmdviz.errors import InputError
from pmdviz.export.options import LAYER_LIST, SIZE, Look
from pmdviz.lessons.reading import LESSONS
from tests.cli.test_cli import called
from tests.lessons.samples import SMALL as SMALL_LESSON
from tests.lessons.samples import changed

ROOT = Path(__file__).parents[2]
RUN = ["--target", "gaussian", "--knob", "num_particles=30", "--budget", "300"]
RACE = ["race", "--target-option", "num_data=200", "--target-option", "sigma_x=1.5", "--budget", "400"]


def test_a_recipe_becomes_a_film_or_a_table(capsys, tmp_path, monkeypatch):
    recipe = pmdviz.Recipe("gaussian", num_particles=30, budget=300)
    given, film = tmp_path / "recipe.json", tmp_path / "out.gif"
    given.write_text(recipe.to_json(), encoding="utf-8")
    look = ["--size", "160x160", "--fps", "10", "--theme", "dark", "--large-type"]
    status, out, err = called(capsys, "export", given, film, *look)
    assert (status, err) == (0, "") and out.startswith(f"{film}: ") and out.endswith("kB\n")
    with Image.open(film) as image:
        assert image.size == (160, 160) and image.n_frames == api.run(recipe, floor=False).final.iteration + 1
    monkeypatch.setattr(sys, "stdin", io.StringIO(recipe.to_json()))
    assert called(capsys, "export", "-", tmp_path / "p.csv", "--table", "particles")[0] == 0
    assert len((tmp_path / "p.csv").read_text(encoding="utf-8").splitlines()) == 32


def test_every_option_of_an_export_is_in_the_help_and_reaches_the_file(capsys, tmp_path, monkeypatch):
    status, out, _ = called(capsys, "export", "--help")
    assert status == 0 and ".gif" in out and ".parquet" in out
    assert all(f"--{name.replace('_', '-')}" in out for name in (SIZE, LAYER_LIST, *Look.specs()))
    seen = {}
    monkeypatch.setattr(Run, "export", lambda self, path, **options: seen.update(options) or __file__)
    monkeypatch.setattr(sys.modules["pmdviz.cli.recipe"], "_size", lambda path: "")
    words = "--width 320 --height 180 --fps 7 --frames 3 --theme dark --no-exact --transparent --large-type"
    words += " --approximate --no-particles --traces ess --clock seconds"
    assert called(capsys, "export", tmp_path / "x.gif", *RUN, *words.split())[0] == 0
    assert seen == {
        "width": "320", "height": "180", "fps": "7", "frames": "3", "theme": "dark", "exact": False,
        "transparent": True, "large_type": True, "approximate": True, "particles": False, "traces": "ess",
        "clock": "seconds",
    }  # fmt: skip


def test_a_race_as_json_has_rows_summary_and_modes(capsys):
    methods = ["pmd:num_particles=60", "pmd:num_particles=60,warm_start=true", "sgld"]
    status, out, err = called(capsys, *RACE, "--methods", ",".join(methods), "--seeds", 2, "--json", "-")
    result = json.loads(out, parse_constant=lambda name: pytest.fail(name))
    assert (status, err) == (0, "")
    assert [(row["method"], row["seed"]) for row in result["rows"]] == [(m, seed) for m in methods for seed in (0, 1)]
    assert {"visited", "tv", "kl_forward", "mean_error", "gradient_evaluations", "seconds"} <= {*result["rows"][0]}
    assert result["summary"][0]["runs"] == 2 and 0 < result["summary"][0]["tv_mean"] < 1
    assert len(result["modes"]) == len(result["rows"][0]["mode_masses"]) == 2
    assert result["target"]["options"]["num_data"] == 200 and result["budget"] == 400


def test_the_table_of_a_race_begins_with_the_best_and_has_the_metrics_that_all_have(capsys):
    _, out, _ = called(capsys, *RACE, "--methods", "sgld,pmd:num_particles=400")
    lines = out.splitlines()
    assert lines[0].startswith("method") and "tv_mean" in lines[0] and "unavailable" in lines[1]
    assert [line.split()[0] for line in lines[1:]] == ["pmd:num_particles=400", "sgld"]
    linear = ["race", "--target", "linear", "--target-option", "dim=5", "--budget", "40000", "--clock", "evaluations"]
    head, *lines = called(capsys, *linear, "--methods", "pmd:num_particles=50,svi")[1].splitlines()
    assert {"mean_error_mean", "kl_moments_mean", "runs_with_caveat"} <= {*head.split()} and "tv_mean" not in head
    assert {line.split()[0] for line in lines} == {"pmd:num_particles=50", "svi"}


def rows(path):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in json.loads(path.read_text())["rows"]]


@pytest.mark.ci
def test_a_race_is_exported_and_run_again(capsys, tmp_path):
    film, recipe, out, again = (tmp_path / name for name in ("race.gif", "race.json", "out.json", "again.json"))
    files = ["--export", film, "--export", recipe, "--json", out]
    methods = "pmd:num_particles=60,smc:num_particles=60"
    status, said, _ = called(capsys, *RACE, "--methods", methods, "--seeds", "7,3", *files)
    assert status == 0 and said.startswith(f"{film}: ") and f"{recipe}: " in said
    with Image.open(film) as image:
        assert image.size == (960, 540) and image.n_frames == 5
    for given in (recipe, out):
        assert called(capsys, "race", given, "--json", again)[0] == 0
        assert rows(again) == rows(out) and [row["seed"] for row in rows(out)] == [7, 3] * 2
    histories = tmp_path / "histories.csv"
    assert called(capsys, "export", recipe, histories, "--table", "histories")[0] == 0
    assert len(histories.read_text().splitlines()) == 2 + 2 * (5 + 21)  # steps of 100 and of 10 data, twice
    _, out, err = called(capsys, *RACE, "--methods", "sgld", "--export", tmp_path / "rows.csv", "--json", "-")
    assert json.loads(out)["race"]["methods"] == ["sgld"] and err.startswith(f"{tmp_path / 'rows.csv'}: ")


def test_a_sweep_as_json_and_in_lines(capsys, tmp_path):
    plain = {"target": "gaussian", "target_options": {"dim": 1}, "knobs": {"batch_size": 5}, "budget": 100}
    recipe, table = tmp_path / "recipe.json", tmp_path / "table.csv"
    recipe.write_text(json.dumps(plain))
    sweep = ["sweep", recipe, "--workers", 1, "--over"]
    _, out, _ = called(capsys, *sweep, "num_particles=20,40,80", "--seeds", 2, "--out", table, "--json", "-")
    printed, recipe = json.loads(out), pmdviz.Recipe.from_dict(plain)
    found = pmdviz.sweep(recipe, {"num_particles": [20, 40, 80]}, seeds=2, workers=1, path=table)
    assert [row["tv"] for row in printed["rows"]] == found.rows["tv"].tolist()
    assert printed["fit"]["slope"] == found.fit().slope and printed["fit"]["x"] == "num_particles"
    assert printed["summary"] == found.summary() and printed["failed"] == []
    lines = called(capsys, *sweep, "num_particles=20,40", "--seeds", "3,5", "--error", "bounded")[1].splitlines()
    assert lines[0].startswith("num_particles = 20: bounded 0.") and "(2 runs)" in lines[0]
    assert lines[2].startswith("bounded ~ num_particles^slope: slope")
    together = ["--over", "budget=50,100", "--together", "--seeds", 1, "--json", "-"]
    rows = json.loads(called(capsys, *sweep, "num_particles=20,40", *together)[1])["rows"]
    assert [(row["num_particles"], row["visited"]) for row in rows] == [(20, 50), (40, 100)]


def test_lessons_are_listed_with_challenges_apart(capsys, tmp_path, monkeypatch):
    status, out, err = called(capsys, "lessons", "list")
    lessons, challenges = out.split("challenges:")
    assert (status, err) == (0, "") and lessons.startswith("lessons:\n")
    for name, lesson in LESSONS.items():
        assert f"  {name}: " in (challenges if lesson.is_challenge else lessons) and lesson.question in out
    found = json.loads(called(capsys, "lessons", "list", "--json", "-")[1])
    assert [*found] == [*LESSONS] and found["five_passes"]["challenge"] is True
    monkeypatch.setattr("pmdviz.cli.lists.presets", dict)  # making all of their targets takes seconds
    assert called(capsys, "list", "--json", tmp_path / "all.json")[0] == 0
    tables = json.loads((tmp_path / "all.json").read_text())
    assert tables["lessons"] == found and "what_dimension_does" in tables["experiment_presets"]


def test_a_check_of_lessons_says_what_is_wrong_and_ends_with_1(capsys, tmp_path):
    right, wrong, none = (tmp_path / name for name in ("right.md", "wrong.md", "none.md"))
    right.write_text(SMALL_LESSON, encoding="utf-8")
    wrong.write_text(changed(("goal: tv < 0.05", "goal: tv < 0.0001"), ("trace: ess", "trace: es")), encoding="utf-8")
    none.write_text("a text", encoding="utf-8")
    assert called(capsys, "lessons", "check", right) == (0, f"{right}: nothing is wrong\n", "")
    status, out, err = called(capsys, "lessons", "check", wrong, none)
    lines = out.splitlines()
    assert (status, err) == (1, "") and lines[0] == f"{wrong}: 2 things are wrong"
    assert lines[1].startswith("  step 'first': unknown trace 'es'")
    assert lines[2].startswith("  step 'second': the goal cannot be reached by its solution: tv < 0.0001 (tv = ")
    assert lines[3] == f"{none}: one thing is wrong" and "must begin with a YAML block" in lines[4]
    status, out, _ = called(capsys, "lessons", "check", none, "--json", "-")
    assert status == 1 and len(json.loads(out)[str(none)]) == 1


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_course_is_copied_whole_and_never_over_a_file(capsys, tmp_path):
    folder, course = tmp_path / "mine" / "course", {path.name: path.read_bytes() for path in forms.course()}
    words = f"{len(course)} notebooks in {folder}; open them with: jupyter lab {folder}\n"
    assert called(capsys, "notebooks", folder) == (0, words, "") and contents(folder) == course
    other, mine = tmp_path / "other", tmp_path / "other" / [*course][3]
    other.mkdir()
    mine.write_text("my notes")
    (other / "notes.txt").write_text("mine")
    status, out, err = called(capsys, "notebooks", other)
    assert (status, out) == (2, "") and len(contents(other)) == 2 and mine.read_text() == "my notes"
    assert err == f"pmdviz: {mine} is there already; --force writes over it, or name another folder\n"
    assert called(capsys, "notebooks", other, "--force")[0] == 0
    assert contents(other) == {**course, "notes.txt": b"mine"}


# Benches: those of the checkout, beside the package or around the current folder.


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """As if the package were in a folder of its own, and nothing of the checkout had been imported from there."""
    monkeypatch.setattr(tools, "CHECKOUT", tmp_path / "site-packages")
    without = [path for path in sys.path if path and not Path(path, "benchmarks").is_dir()]
    monkeypatch.setattr(sys, "path", without)
    monkeypatch.delitem(sys.modules, "benchmarks", raising=False)
    monkeypatch.chdir(tmp_path)


def test_an_installed_package_takes_the_benches_of_the_checkout_around_it_alone(installed, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    assert Path(tools._benchmarks().__file__).parent == ROOT / "benchmarks"
    assert sys.path[-1] == str(ROOT), "last: the installed package is what is measured"
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "benchmarks")
    sys.path.pop()
    with pytest.raises(InputError, match="change to the checkout's folder"):
        tools._benchmarks()
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__init__.py").write_text("raise SystemExit")
    with pytest.raises(InputError):
        tools._benchmarks()
