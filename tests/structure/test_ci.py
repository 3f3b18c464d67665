"""The two legs of `.ci/run`: what each runs, and on which Python."""

import os
import subprocess
import sys
import tomllib

import pytest

from tests.conftest import HERE, touches_platform
from tests.structure.test_readme import COMMANDS, ROOT


def shown(what, **environment):
    command = ["bash", ".ci/run", what]
    env = {**os.environ, **environment}
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, env=env).stdout


def fake_python(folder, minor):
    """An executable that says it is a Python 3 of that minor version."""
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"python3.{minor}"
    made.write_text(f'#!/bin/sh\ncase "$2" in *executable*) echo "$0" ;; *) echo {minor} ;; esac\n')
    made.chmod(0o755)
    return made


def test_leg_2_begins_with_the_first_command_word_for_word():
    assert shown("--show-run") == COMMANDS[0]
    text = (ROOT / ".ci/run").read_text()
    assert '.ci/serve_and_play.py "$run_command"' in text
    assert '-m pytest -m "platform and not slow"' in text


def test_what_one_leg_leaves_out_in_a_browser_the_other_one_does():
    text = (ROOT / ".ci/run").read_text()
    assert '[ -z "$newest" ] || once+=" and not (browser and platform)"' in text
    files = {path.name for path in (HERE / "browser").glob("test_*.py")}
    in_leg_2 = {name for name in files if touches_platform(HERE / "browser" / name)}
    assert {"test_transport.py", "test_race.py", "test_jupyter.py"} <= in_leg_2 < files


def test_the_newest_python_is_the_highest_on_the_path_or_of_pyenv(tmp_path):
    on_path, pyenv = fake_python(tmp_path / "bin", 98), tmp_path / "pyenv"
    of_pyenv = fake_python(pyenv / "versions/3.99.1/bin", 99).rename(pyenv / "versions/3.99.1/bin/python3")
    path = f"{on_path.parent}:{os.environ['PATH']}"
    assert shown("--show-newest", PATH=path, PYENV_ROOT=str(tmp_path / "none")).strip() == str(on_path)
    assert shown("--show-newest", PATH=path, PYENV_ROOT=str(pyenv)).strip() == str(of_pyenv)


def test_without_a_newer_python_it_fails_unless_that_is_said(tmp_path):
    here = tmp_path / "bin"
    here.mkdir()
    for name in ("bash", "sed", "grep", "sort", "dirname"):
        where = subprocess.run(["which", name], check=True, capture_output=True, text=True).stdout.strip()
        (here / name).symlink_to(where)
    (here / "python3").symlink_to(sys.executable)
    env = {"PATH": str(here), "PYENV_ROOT": str(tmp_path), "HOME": str(tmp_path)}
    run = subprocess.run([str(here / "bash"), ".ci/run"], cwd=ROOT, capture_output=True, text=True, env=env)
    assert run.returncode == 1
    assert "set PMDVIZ_ONE_PYTHON=1" in run.stderr


@pytest.mark.parametrize(
    ("name", "touches"),
    [
        ("browser/test_race.py", True),
        ("lab/test_of_tomorrow.py", True),
        ("serve/test_pages.py", True),
        ("views/test_stage.py", True),
        ("scenes/test_words.py", False),
        ("test_fuzz.py", True),
        ("test_isolation.py", True),
        ("serve/test_doors.py", True),
        ("browser/test_film_likeness.py", False),
        ("engine/test_history.py", False),
        ("kernels/test_kde.py", False),
    ],
)
def test_test_files_fall_into_leg_2_by_themselves(name, touches):
    assert touches_platform(HERE / name) is touches


def test_lower_bounds_are_full_enough_to_be_installed_as_they_stand():
    """`.ci/lowest` takes them word for word; a pytest before 8.4 has no `TerminalReporter`, which conftest names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "pyyaml>=6.0.1" in project["project"]["dependencies"], "6.0 has no wheel for Python 3.12"
    assert "pytest>=8.4" in project["project"]["optional-dependencies"]["test"]
    assert project["tool"]["pytest"]["ini_options"]["minversion"] == "8.4"
