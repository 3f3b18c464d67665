"""The command line: what its commands write and print, and what it cannot use."""

import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import pmdviz
from pmdviz import api
from pmdviz.cli import course as forms
from pmdviz.cli import main, recipe, tools
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.run import Run
from pmdviz.errors import InputError
from pmdviz.export.options import LAYER_LIST, SIZE, Look
from pmdviz.lessons.reading import LESSONS
from pmdviz.targets.mixture import Mixture
from tests.lessons.samples import SMALL as SMALL_LESSON
from tests.lessons.samples import changed

ROOT = Path(__file__).parents[2]
SMALL = ["run", "--target", "gaussian", "--knob", "num_particles=30", "--budget", "200"]


def called(capsys, *arguments):
    try:
        status = main.main([str(a) for a in arguments])
    except SystemExit as end:  # --help and --version
        status = end.code
    out, err = capsys.readouterr()
    return status, out, err


def json_of(capsys, *arguments):
    status, out, err = called(capsys, *arguments, "--json", "-")
    assert (status, err) == (0, ""), err
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_run_prints_one_object_the_same_as_from_python(capsys):
    found = json_of(capsys, *SMALL, "--seed", 3, "--target-option", "data_seed=2", "--method", "pmd")
    assert found.keys() == {"recipe", "final", "seconds", "versions"}
    recipe = Recipe.from_json(json.dumps(found["recipe"]))
    assert recipe == Recipe("gaussian", target_options={"data_seed": 2}, seed=3, num_particles=30, budget=200)
    final = found["final"]
    assert final["visited"] == 200 and final["iteration"] == 10
    assert final.keys() >= {"tv", "kl_forward", "kl_reverse", "cross_entropy", "ess", "mass_outside"}
    assert all(isinstance(final[name], float) for name in ("tv", "floor_tv", "floor_kl"))
    assert found["versions"].keys() >= {"pmdviz", "numpy", "numba", "processor", "blas"}
    found = json_of(capsys, *SMALL, "--history")
    assert found["history"]["iteration"][-1] == 10 and found["history"]["step_size"][0] is None
    assert json_of(capsys, *SMALL, "--history", "--metrics-every", 5)["history"]["iteration"] == [0, 5, 10]
    run = api.run(target="gaussian", num_particles=30, budget=200)
    assert found["final"]["tv"] == run.final.metrics["tv"]
    assert found["history"]["tv"] == run.history["tv"].tolist() and found["history"].keys() == run.history.keys()
    status, out, err = called(capsys, *SMALL)  # lines to read
    assert (status, err) == (0, "") and "visited: 200" in out and "tv: 0." in out


def test_a_recipe_from_a_file_from_standard_input_and_into_a_file(capsys, tmp_path, monkeypatch):
    recipe = Recipe("bimodal1d", num_particles=30, budget=200, changes=[(2, {"bandwidth": 0.5})])
    path = tmp_path / "recipe.json"
    path.write_text(recipe.to_json(), encoding="utf-8")
    one = json_of(capsys, "run", path, "--history")
    monkeypatch.setattr(sys, "stdin", io.StringIO(recipe.to_json()))
    two = json_of(capsys, "run", "-", "--history")
    assert called(capsys, "run", path, "--history", "--json", tmp_path / "out.json") == (0, "", "")
    for encoding in ("utf-8-sig", "utf-16"):  # as programs of Windows save it
        path.write_bytes(recipe.to_json().encode(encoding))
        again = json_of(capsys, "run", path, "--history")
        assert again["recipe"] == one["recipe"] and again["final"]["tv"] == one["final"]["tv"]
        assert Recipe.from_json(path.read_bytes()) == recipe
    assert Recipe.from_json("\ufeff" + recipe.to_json()) == recipe
    three = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    for found in (one, two, three):
        found["history"].pop("seconds"), found.pop("seconds")
    assert one == two == three
    assert one["recipe"]["changes"] == [[2, {"bandwidth": 0.5}]]
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".part"] == []


def process(arguments, stdout=subprocess.PIPE, **rest):
    command, pipes = f"{sys.executable} -m pmdviz {arguments}", {"stdout": stdout, "stderr": subprocess.PIPE}
    return subprocess.run(command, shell=True, text=True, timeout=600, cwd=ROOT, **pipes, **rest)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("arguments", ["--help", pytest.param("list", marks=pytest.mark.ci)])
def test_output_that_finds_no_room_is_one_line_and_status_one(arguments):
    with open("/dev/full", "w") as full:
        done = process(arguments, stdout=full)
    assert done.returncode == 1
    assert done.stderr == "pmdviz: cannot write to standard output: No space left on device; write to a file instead\n"


@pytest.mark.ci
def test_a_reader_that_goes_away_is_no_traceback_and_a_terminal_may_be_unable_to_write_greek():
    done = process("run --knob bandwidth=0")  # what is refused has a status of its own
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("pmdviz: bandwidth must be a number at")
    done = process("list | head -n 1")
    assert done.stdout and done.stderr == ""
    done = process("list --json -", env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "θ" in json.loads(done.stdout)["targets"]["bimodal1d"]["about"]


def test_a_preset_is_run_and_raced_by_its_name(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = json_of(capsys, "run", "algorithm_1")
    made = pmdviz.run("algorithm_1")
    assert one["recipe"] == made.recipe.to_dict() and one["final"]["tv"] == made.final.metrics["tv"]
    raced = json_of(capsys, "race", "algorithm_1", "--seeds", "2")["race"]
    assert [*raced["target_options"].items()] == [*made.recipe.target_options.items()]
    assert raced["budget"] == made.recipe.budget and raced["methods"][0].startswith(made.recipe.method)
    other = json_of(capsys, "race", "algorithm_1", "--methods", "smc", "--budget", "200")["race"]
    assert other["budget"] == 200 and other["methods"] == ["smc"]
    assert "did you mean 'algorithm_1'" in called(capsys, "run", "algoritm_1")[2]
    assert "leave --target and --target-option out" in called(capsys, "race", "algorithm_1", "--target", "gaussian")[2]
    (tmp_path / "algorithm_1").write_text(pmdviz.Recipe("gaussian", budget=40, num_particles=9).to_json())
    assert json_of(capsys, "run", "algorithm_1")["recipe"]["target"] == "gaussian"  # a file goes first


RUN = ["--target", "gaussian", "--knob", "num_particles=30", "--budget", "300"]
RACE = ["race", "--target-option", "num_data=200", "--target-option", "sigma_x=1.5", "--budget", "400"]


def test_a_recipe_from_standard_input_becomes_a_table(capsys, tmp_path, monkeypatch):
    recipe = pmdviz.Recipe("gaussian", num_particles=30, budget=300)
    monkeypatch.setattr(sys, "stdin", io.StringIO(recipe.to_json()))
    assert called(capsys, "export", "-", tmp_path / "p.csv", "--table", "particles")[0] == 0
    assert len((tmp_path / "p.csv").read_text(encoding="utf-8").splitlines()) == 32


def test_every_option_of_an_export_is_in_the_help_and_reaches_the_file(capsys, tmp_path, monkeypatch):
    status, out, _ = called(capsys, "export", "--help")
    assert status == 0 and ".gif" in out and ".parquet" in out
    assert all(f"--{name.replace('_', '-')}" in out for name in (SIZE, LAYER_LIST, *Look.specs()))
    seen = {}
    monkeypatch.setattr(Run, "export", lambda self, path, progress, **options: seen.update(options) or __file__)
    monkeypatch.setattr(sys.modules["pmdviz.cli.recipe"], "_size", lambda path: "")
    words = "--width 320 --height 180 --fps 7 --frames 3 --theme dark --no-exact --transparent --large-type"
    words += " --approximate --no-particles --traces ess --clock seconds"
    assert called(capsys, "export", tmp_path / "x.gif", *RUN, *words.split())[0] == 0
    assert seen == {
        "width": "320", "height": "180", "fps": "7", "frames": "3", "theme": "dark", "exact": False,
        "transparent": True, "large_type": True, "approximate": True, "particles": False, "traces": "ess",
        "clock": "seconds",
    }  # fmt: skip


def test_a_race_as_json_or_as_a_table_begins_with_the_best(capsys):
    methods = ["pmd:num_particles=60", "pmd:num_particles=60,warm_start=true", "sgld"]
    status, out, err = called(capsys, *RACE, "--methods", ",".join(methods), "--seeds", 2, "--json", "-")
    result = json.loads(out, parse_constant=lambda name: pytest.fail(name))
    assert (status, err) == (0, "")
    assert [(row["method"], row["seed"]) for row in result["rows"]] == [(m, seed) for m in methods for seed in (0, 1)]
    assert {"visited", "tv", "kl_forward", "mean_error", "gradient_evaluations", "seconds"} <= {*result["rows"][0]}
    assert result["summary"][0]["runs"] == 2 and 0 < result["summary"][0]["tv_mean"] < 1
    assert len(result["modes"]) == len(result["rows"][0]["mode_masses"]) == 2
    assert result["target"]["options"]["num_data"] == 200 and result["budget"] == 400
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


def test_a_fresh_process_writes_the_files_of_a_race(tmp_path):
    table = tmp_path / "rows.csv"
    made = process(f"race --target gaussian --methods importance --budget 100 --export {table}")
    assert made.returncode == 0 and f"{table}: " in made.stdout, made.stderr


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


def test_an_installed_package_takes_the_benches_of_the_checkout_around_it_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(tools, "CHECKOUT", tmp_path / "site-packages")  # as if it were in a folder of its own
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path and not Path(path, "benchmarks").is_dir()])
    monkeypatch.delitem(sys.modules, "benchmarks", raising=False)
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


def refused(capsys, *arguments):
    status, out, err = called(capsys, *arguments)
    assert (status, out) == (2, ""), (arguments, err)
    assert err.startswith("pmdviz: ") and err.count("\n") == 1 and err.endswith("\n"), (arguments, err)
    return err


TWICE = ["--knob", "eta=1", "--knob", "eta=2"]
OVER = ["sweep", "recipe.json", "--over", "num_particles=5"]
WRONG = [
    (["run", "--knob", "eta"], "--knob takes NAME=VALUE, such as --knob num_particles=500; got 'eta'"),
    (["run", "--metrics-every", "0"], "--metrics-every must be a whole number at least 1"),
    (["run", "nowhere.json"], "'nowhere.json' is neither a file nor a preset"),
    (["run", "."], "cannot read the recipe '.'"),
    (["run", "nowhere.json", "--seed", "3"], "a recipe file holds all of the run"),
    (["run", "/dev/zero"], "more than 4,000,000 bytes"),
    (["run", "--target", "gaussian", "--budget", "5", "--json", "/nowhere/at/all.json"], "cannot write"),
    (["run", "--json", ""], "a file needs a path that ends in its name"),
    (["run", *TWICE], "--knob gives eta twice, '1' and '2'; give it once"),
    (["run", "--sed", "3"], "--sed"),
    (["run", "--budget"], "expected one argument"),
    (["rnu"], "unknown command 'rnu'; did you mean 'run'?"),
    ([], " | ".join(main.COMMANDS)),
    (["list", "--json", f"{__file__}/x.json"], "no such folder"),
    (["bench", "nothing"], "'nothing'"),
    (["bench", "growth", "--sessions", "3"], "bench growth takes no --sessions"),
    (["bench", "live-page", "--beside", "nowhere"], "--beside needs a clone of github.com/chi-feng/mcmc-demo"),
    (["bench", "silence", "--only", "9:9"], "--only must be FROM:TO with 0 <= FROM < TO <= 60, such as 0:10; got"),
    (["bench", "soak", "--sessions", "many"], "--sessions must be a whole number at least 1 and at most 100,000"),
    (["export", "x.gif", "--frames", "two"], "frames must be a whole number"),
    (["export", "x.gif", "--thems", "dark"], "unknown option of export: '--thems'; did you mean '--theme'?"),
    (["race", "race.json", "--budget", "9"], "a race's file holds all of the race; leave --target, --target-option,"),
    (["race", "--methods", ",".join(["pmd"] * 9), "--export", "x.gif"], "at most 8 entrants"),
    (OVER[:2], "needs --over"),
    ([*OVER[:3], "num_particles"], "--over takes NAME=VALUE"),
    ([*OVER, "--over", "num_particles=6"], "gives num_particles twice"),
    ([*OVER, "--seeds", "few"], "--seeds must be a number of seeds"),
    ([*OVER, "--workers", "none"], "workers must be a whole number"),
    (["lessons", "check", "nowhere.md"], "'nowhere.md' cannot be opened: No such file or directory"),
    (["lessons", "lists"], "unknown subcommand of lessons: 'lists'; did you mean 'list'"),
    (["lessons"], "the following arguments are required"),
    (["notebooks", ""], "got ''"),
    (["docs", ""], "needs the name of a folder"),
    (["docs", "site", "--gallery", "two_mods"], "two_modes"),
    (["docs", "site", "--builder", "latex"], "html, linkcheck"),
]
FILES = {
    "recipe.json": Recipe("gaussian", target_options={"dim": 1}, batch_size=5, budget=100).to_json(),
    "race.json": '{"pmdviz_race": 4, "methods": ["pmd"], "budget": 400}',
}


def test_what_cannot_be_used_is_said_in_one_line_before_anything_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for place in ("pmdviz.api.race", "pmdviz.api.run"):
        monkeypatch.setattr(place, lambda *given, **more: pytest.fail("it ran"))
    for arguments, words in WRONG:
        assert words in refused(capsys, *arguments), arguments
    assert {path.name for path in tmp_path.iterdir()} == {*FILES}


def test_what_is_not_a_recipe(capsys, tmp_path, monkeypatch):
    path = tmp_path / "bad.json"
    path.write_bytes(b"\xff\xfe\x00")
    assert "not a recipe in JSON" in refused(capsys, "run", path)
    long = " " * (recipe.MAX_RECIPE_BYTES + 1)
    path.write_text(long, encoding="utf-8")
    assert "bytes" in refused(capsys, "run", path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(long))
    assert "'-' is not a recipe: it has more than" in refused(capsys, "run", "-")
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in refused(capsys, "run", "-")


def test_what_the_system_or_a_target_refuses_is_one_line_and_status_one(capsys, monkeypatch):
    def refusing():
        raise PermissionError(errno.EPERM, "Operation not permitted", "somewhere")

    with monkeypatch.context() as patch:
        patch.setattr(main, "_limit_blas", refusing)
        assert main.main(["list"]) == 1
    words = "pmdviz: cannot use 'somewhere': Operation not permitted; check the path and your rights\n"
    assert capsys.readouterr() == ("", words)
    options = ["--target-option", "data_seed=987", "--knob", "batch_size=7", "--knob", "num_particles=10"]
    for bad in (np.nan, np.inf, -np.inf):

        def failing(self, theta, batch, bad=bad):
            return np.full(len(theta), bad if len(batch) == 7 else -1.0)

        monkeypatch.setattr(Mixture, "_log_likelihood", failing)
        assert main.main(["run", *options, "--json", "-"]) == 1
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1
        assert "log_likelihood of target 'mixture' is " in err and "theta = (" in err


def test_an_export_that_fails_or_is_stopped_leaves_no_file(capsys, tmp_path, monkeypatch):
    small = ["export", tmp_path / "x.gif", "--target", "gaussian", "--knob", "num_particles=30", "--budget", "300"]
    assert "got 900" in refused(capsys, *small, "--frames", "900")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(Recipe("gaussian", budget=None).to_json()))
        assert "needs a budget" in refused(capsys, "export", "-", *small[1:2])

    def interrupted(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("pmdviz.export.writers._indexed", interrupted)
    assert main.main([*map(str, small), "--size", "160x160"]) == 130
    assert [*tmp_path.iterdir()] == []
