"""The two legs of `.ci/run`: which command each begins with, and on which Python."""

import os
import subprocess
import sys

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
