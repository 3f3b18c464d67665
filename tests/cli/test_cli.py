"""`pmdviz run` and `list`: one JSON object or lines to read, also in a process of its own."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pmdviz
from pmdviz import api
from pmdviz.cli import main
from pmdviz.engine.recipe import Recipe

SMALL = ["run", "--target", "gaussian", "--knob", "num_particles=30", "--budget", "200"]


def called(capsys, *arguments):
    """Exit status, standard output and standard error of a call in this process."""
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


def test_run_prints_one_object_with_recipe_and_result(capsys):
    found = json_of(capsys, *SMALL, "--seed", 3, "--target-option", "data_seed=2", "--method", "pmd")
    assert found.keys() == {"recipe", "final", "seconds", "versions"}
    recipe = Recipe.from_json(json.dumps(found["recipe"]))
    assert recipe == Recipe("gaussian", target_options={"data_seed": 2}, seed=3, num_particles=30, budget=200)
    final = found["final"]
    assert final["visited"] == 200 and final["iteration"] == 10
    assert final.keys() >= {"tv", "kl_forward", "kl_reverse", "cross_entropy", "ess", "mass_outside"}
    assert all(isinstance(final[name], float) for name in ("tv", "floor_tv", "floor_kl"))
    assert found["versions"].keys() >= {"pmdviz", "numpy", "numba", "processor", "blas"}


def test_the_same_run_as_from_python_with_its_history_where_it_is_asked_for(capsys):
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
    """A call in a process of its own."""
    command, pipes = f"{sys.executable} -m pmdviz {arguments}", {"stdout": stdout, "stderr": subprocess.PIPE}
    return subprocess.run(command, shell=True, text=True, timeout=600, cwd=Path(__file__).parents[2], **pipes, **rest)


def test_the_module_refuses_with_status_two():
    done = process("run --knob bandwidth=0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pmdviz: bandwidth must be a number at least ")
    assert done.stderr.endswith("; got '0'\n") and done.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("arguments", ["--help", pytest.param("list", marks=pytest.mark.ci)])
def test_output_that_finds_no_room_is_one_line_and_status_one(arguments):
    with open("/dev/full", "w") as full:
        done = process(arguments, stdout=full)
    assert done.returncode == 1
    assert done.stderr == "pmdviz: cannot write to standard output: No space left on device; write to a file instead\n"


@pytest.mark.ci
def test_a_reader_that_goes_away_is_no_traceback_and_a_terminal_may_be_unable_to_write_greek():
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
