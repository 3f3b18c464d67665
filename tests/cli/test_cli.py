"""The command line: one JSON object out, and one line on stderr for whatever cannot be used."""

import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pmdviz.cli import main, recipe
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.knobs import KnobSpec
from pmdviz.methods import METHODS
from pmdviz.targets import TARGETS, make_target
from pmdviz.targets.mixture import Mixture
from tests.support.engine import columns

SMALL = ["run", "--target", "gaussian", "--knob", "num_particles=30", "--budget", "200"]


def no_constant(name):
    raise AssertionError(f"{name} is not JSON")


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
    return json.loads(out, parse_constant=no_constant)


def refused(capsys, *arguments):
    """The one line with which a call is refused."""
    status, out, err = called(capsys, *arguments)
    assert (status, out) == (2, ""), err
    assert err.startswith("pmdviz: ") and err.count("\n") == 1 and err.endswith("\n")
    return err


# What comes out.


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


def test_the_history_comes_when_it_is_asked_for(capsys):
    found = json_of(capsys, *SMALL, "--history")["history"]
    assert found["iteration"][-1] == 10 and found["step_size"][0] is None
    assert json_of(capsys, *SMALL, "--history", "--metrics-every", 5)["history"]["iteration"] == [0, 5, 10]


def test_the_same_run_as_from_python(capsys):
    from pmdviz import api

    found = json_of(capsys, *SMALL, "--history")
    run = api.run(target="gaussian", num_particles=30, budget=200)
    assert found["final"]["tv"] == run.final.metrics["tv"]
    assert {k: v for k, v in found["history"].items() if k == "tv"} == {"tv": run.history["tv"].tolist()}
    assert found["history"].keys() == run.history.keys() and columns(run.history)


def test_a_recipe_from_a_file_from_standard_input_and_into_a_file(capsys, tmp_path, monkeypatch):
    recipe = Recipe("bimodal1d", num_particles=30, budget=200, changes=[(2, {"bandwidth": 0.5})])
    path = tmp_path / "recipe.json"
    path.write_text(recipe.to_json(), encoding="utf-8")
    one = json_of(capsys, "run", path, "--history")
    monkeypatch.setattr(sys, "stdin", io.StringIO(recipe.to_json()))
    two = json_of(capsys, "run", "-", "--history")
    assert called(capsys, "run", path, "--history", "--json", tmp_path / "out.json") == (0, "", "")
    three = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"), parse_constant=no_constant)
    for found in (one, two, three):
        found["history"].pop("seconds"), found.pop("seconds")
    assert one == two == three
    assert one["recipe"]["changes"] == [[2, {"bandwidth": 0.5}]]
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".part"] == []


def test_without_json_it_prints_lines_to_read(capsys):
    status, out, err = called(capsys, *SMALL)
    assert (status, err) == (0, "")
    assert "visited: 200" in out and "tv: 0." in out


def test_list_names_every_target_method_option_and_knob(capsys):
    found = json_of(capsys, "list")
    assert set(found["targets"]) == set(TARGETS) and set(found["methods"]) == set(METHODS)
    status, out, _ = called(capsys, "list")
    assert status == 0
    for table in (*(t.Options for t in TARGETS.values()), *(m.Knobs for m in METHODS.values())):
        assert all(name in out for name in table.specs())


@pytest.mark.parametrize("target", [name for name, target in TARGETS.items() if "num_data" in target.Options.specs()])
@pytest.mark.parametrize("m, n", [(1, 1), (1, 5), (20, 1)])
def test_one_particle_and_one_datum_are_legal(capsys, target, m, n):
    made, ways = make_target(target), ("pmd", "structured_pmd", "discrete_gf_svgd")
    method = next(way for way in ways if not METHODS[way].missing_in(made))
    arguments = ["--target", target, "--method", method, "--target-option", f"num_data={n}"]
    arguments += ["--knob", f"num_particles={m}"]
    found = json_of(capsys, "run", *arguments, "--budget", "20")
    assert found["final"]["visited"] == 20
    assert found["recipe"]["knobs"]["batch_size"] == n


def test_a_terminal_gets_a_bar(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    status, out, err = called(capsys, *SMALL, "--json", "-")
    assert status == 0 and json.loads(out)
    assert "200 of 200 data" in err


# What cannot be used.


def knob_cases():
    for option, tables in (("--knob", METHODS), ("--target-option", TARGETS)):
        for name, entry in tables.items():
            home = ["--method", name] if option == "--knob" else ["--target", name]
            table = entry.Knobs if option == "--knob" else entry.Options
            for spec in table.specs().values():
                yield pytest.param(option, home, spec, id=f"{name}: {spec.name}")


@pytest.mark.parametrize("option, home, spec", [*knob_cases()])
def test_every_knob_and_option_out_of_range_or_of_a_wrong_type(capsys, option, home, spec: KnobSpec):
    wrong = ["nan", "inf", "-inf", "x", "", "1e999", "0,05"]
    if spec.bounds:
        low, high = spec.bounds
        wrong += [str(low - 1), *([str(high + 1)] if high is not None else [])]
        wrong += [] if spec.inclusive[0] else [str(low)]
        wrong += ["1.5"] if spec.kind == "whole" else []
    for raw in wrong:
        line = refused(capsys, "run", *home, option, f"{spec.name}={raw}")
        assert spec.name in line and (repr(raw) in line or spec.kind == "formula")  # which names the part that is wrong
        said = {"choice": spec.choices, "formula": []}
        words = said.get(spec.kind, [spec.bounds_words])
        assert all(word in line for word in words)
    near = refused(capsys, "run", *home, option, f"{spec.name[0]}{spec.name}=1")
    assert f"did you mean {spec.name!r}?" in near


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["run", "--target", "mixtrue"], ["'mixtrue'", "did you mean 'mixture'?"]),
        (["run", "--method", "pdm"], ["'pdm'", "did you mean 'pmd'?"]),
        (["run", "--budget", "0"], ["budget must be a whole number at least 1", "given: '0'"]),
        (["run", "--budget", "x"], ["budget must be", "given: 'x'"]),
        (["run", "--budget", "1e14"], ["budget must be", "at most 1,000,000,000,000", "given: '1e14'"]),
        (["run", "--budget", "2,0"], ["budget must be", "given: '2,0'"]),
        (["run", "--seed", "-1"], ["seed must be a whole number at least 0", "given: '-1'"]),
        (["run", "--seed", "1.5"], ["seed must be", "given: '1.5'"]),
        (["run", "--target-option", "sigma_x=0"], ["sigma_x must be a number at least 0.05", "given: '0'"]),
        (["run", "--target-option", "num_data=5", "--knob", "batch_size=6"], ["batch_size", "at most 5", "given: 6"]),
        (["run", "--knob", "eta"], ["--knob takes NAME=VALUE", "given: 'eta'"]),
        (["run", "--knob", "=1"], ["--knob takes NAME=VALUE"]),
        (["run", "--metrics-every", "0"], ["--metrics-every must be a whole number at least 1", "given: '0'"]),
        (["run", "--metrics-every", "x"], ["given: 'x'"]),
        (["run", "--knob", "warm_start=true", "--knob", "batches=replacement"], ["warm_start", "'replacement'"]),
        (["run", "nowhere.json"], ["'nowhere.json'", "No such file"]),
        (["run", "."], ["cannot read the recipe '.'"]),
        (["run", "nowhere.json", "--seed", "3"], ["a recipe file says all of the run"]),
        (["run", "--target", "gaussian", "--budget", "5", "--json", "/nowhere/at/all.json"], ["cannot write"]),
        (["run", "--json", ""], ["a file needs a path that ends in its name", "given: ''"]),
        (["list", "--json", ""], ["a file needs a path that ends in its name", "given: ''"]),
        (["list", "--json", f"{__file__}/x.json"], ["cannot write", "test_cli.py/x.json': Not a directory"]),
        (["list", "--json", "n" * 300], ["cannot write 'nnn", ": File name too long"]),
        (["bench", "start", "--json", ""], ["a file needs a path that ends in its name", "given: ''"]),
        (["run", "--knob", "eta=1", "--knob", "eta=2"], ["--knob gives eta twice, '1' and '2'; give it once"]),
        (["run", "--target-option", "p=0.5", "--target-option", "p=0.5"], ["--target-option gives p twice"]),
        (["run", "--sed", "3"], ["--sed"]),
        (["run", "--budget"], ["--budget", "expected one argument"]),
        (["rnu"], ["unknown command 'rnu'", "did you mean 'run'?"]),
        ([], [" | ".join(main.COMMANDS)]),
        (["list", "--jsn", "-"], ["--jsn"]),
        (["bench", "nothing"], ["'nothing'"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_used_is_said_in_one_line(capsys, arguments, words):
    line = refused(capsys, *arguments)
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "NaN", '{"seed": NaN}', '{"pmdviz_recipe": 99}', '{"knobs": {"etta": 1}}', '{"budget": null}'],
)
def test_what_is_no_recipe_is_said_in_one_line(capsys, tmp_path, text):
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    refused(capsys, "run", path)


def test_a_closed_standard_input_is_said(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in refused(capsys, "run", "-")


def test_a_device_without_end_is_no_recipe(capsys):
    assert "more than 4,000,000 bytes" in refused(capsys, "run", "/dev/zero")


def test_what_the_system_refuses_is_one_line_and_status_one(capsys, monkeypatch):
    def refusing():
        raise PermissionError(errno.EPERM, "Operation not permitted", "somewhere")

    monkeypatch.setattr(main, "_limit_blas", refusing)
    status, out, err = called(capsys, "list")
    assert (status, out) == (1, "")
    assert err == "pmdviz: the system refused something: [Errno 1] Operation not permitted: 'somewhere'\n"


def test_a_file_of_no_text_or_of_any_size_is_no_recipe(capsys, tmp_path, monkeypatch):
    path = tmp_path / "bad.json"
    path.write_bytes(b"\xff\xfe\x00")
    assert "cannot read the recipe" in refused(capsys, "run", path)
    long = " " * (recipe.MAX_RECIPE_BYTES + 1)
    path.write_text(long, encoding="utf-8")
    assert "bytes" in refused(capsys, "run", path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(long))
    assert "'-' is not a recipe: it has more than" in refused(capsys, "run", "-")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_target_that_fails_on_the_way_is_one_line_and_status_one(capsys, monkeypatch, bad):
    def failing(self, theta, batch):
        return np.full(len(theta), bad if len(batch) == 7 else -1.0)

    monkeypatch.setattr(Mixture, "_log_likelihood", failing)
    options = ["--target-option", "data_seed=987", "--knob", "batch_size=7", "--knob", "num_particles=10"]
    status, out, err = called(capsys, "run", *options, "--json", "-")
    assert (status, out) == (1, "")
    assert err.count("\n") == 1 and "log_likelihood of target 'mixture' is " in err and "theta = (" in err


# In processes of their own.


def process(*arguments, **rest):
    command = [sys.executable, "-m", "pmdviz", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[2], **rest)


def test_the_module_runs_and_refuses_with_status_two():
    done = process(*SMALL, "--json", "-")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout, parse_constant=no_constant)["final"]["visited"] == 200
    done = process("run", "--knob", "bandwidth=0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pmdviz: bandwidth must be a number at least ")
    assert done.stderr.endswith("; given: '0'\n") and done.stderr.count("\n") == 1


def test_a_reader_that_goes_away_is_no_traceback():
    command, root = f"{sys.executable} -m pmdviz list | head -n 1", Path(__file__).parents[2]
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120, cwd=root)
    assert done.stdout and done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["list"], ["list", "--json", "-"], ["--help"]], ids=" ".join)
def test_output_that_finds_no_room_is_one_line_and_status_one(arguments, unbuffered):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "pmdviz", *arguments]
        root, environment = Path(__file__).parents[2], {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, cwd=root, env=environment
        )
    assert done.returncode == 1
    assert done.stderr == "pmdviz: the output could not be written: No space left on device\n"


def test_output_in_a_terminal_that_cannot_write_greek():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = process("list", "--json", "-", env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "θ" in json.loads(done.stdout)["targets"]["bimodal1d"]["about"]


def test_version_and_help(capsys):
    assert called(capsys, "--version")[:1] == (0,)
    status, out, _ = called(capsys, "run", "--help")
    assert status == 0 and "--target-option" in out
