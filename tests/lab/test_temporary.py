"""The temporary folder of a process: its own, gone with it, and removed later where it could not be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pmdviz.lab.loop import temporary

MAKE = "from pmdviz.lab.loop import temporary; print(temporary.new_folder(), flush=True); "


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where temporary folders are made, here and in processes that are started."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(temporary.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(temporary, "_folder", None)
    monkeypatch.setattr(temporary, "_owner", None)
    yield tmp_path
    temporary.remove()


def another(then):
    """A process that has made its folder and a file in it; `then` is what it does next."""
    process = subprocess.Popen([sys.executable, "-c", MAKE + then], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    line = process.stdout.readline().decode().strip()
    assert line, "the process ended before it had a folder"
    folder = Path(line)
    (folder / "part.gif").write_bytes(b"GIF89a")
    return process, folder.parent


@pytest.mark.ci
def test_a_process_that_is_killed_leaves_a_folder_that_the_next_one_removes(place):
    process, folder = another("import time; time.sleep(600)")
    temporary.remove_stale()
    assert (folder / "owner").exists(), "its owner lives"
    process.kill()
    process.communicate()
    mine = temporary.new_folder()
    temporary.remove_stale()
    assert not folder.exists() and mine.is_dir()


def test_what_only_looks_like_one_of_ours_is_left_alone(place, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "owner").touch()
    (place / f"{temporary.PREFIX}link").symlink_to(elsewhere)
    (place / f"{temporary.PREFIX}empty").mkdir()
    (place / f"{temporary.PREFIX}file").touch()
    temporary.remove_stale()
    assert (elsewhere / "owner").exists() and len(os.listdir(place)) == 3
