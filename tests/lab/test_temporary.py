"""The temporary folder of a process: its own, gone with it, and removed later where it could not be."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pmdviz.lab.loop import temporary
from pmdviz.serve import server

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


def test_all_files_lie_in_one_folder_that_only_its_user_can_read(place):
    one, two = temporary.new_folder(), temporary.new_folder()
    assert one != two and one.parent == two.parent and [one.parent] == list(place.iterdir())
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (one, two, one.parent)} == {0o700}
    (one / "film.gif").write_bytes(b"GIF89a")
    temporary.remove()
    assert list(place.iterdir()) == []
    assert temporary.new_folder().is_dir(), "and there may be another"


def test_a_process_that_is_killed_leaves_a_folder_that_the_next_one_removes(place):
    process, folder = another("import time; time.sleep(600)")
    temporary.remove_stale()
    assert (folder / "owner").exists(), "its owner lives"
    process.kill()
    process.communicate()
    mine = temporary.new_folder()
    temporary.remove_stale()
    assert not folder.exists() and mine.is_dir()


def test_a_process_that_ends_takes_its_folder_along(place):
    process, folder = another("input()")
    process.communicate(b"\n", timeout=60)
    assert process.returncode == 0 and not folder.exists()


def test_what_only_looks_like_one_of_ours_is_left_alone(place, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "owner").touch()
    (place / f"{temporary.PREFIX}link").symlink_to(elsewhere)
    (place / f"{temporary.PREFIX}empty").mkdir()
    (place / f"{temporary.PREFIX}file").touch()
    temporary.remove_stale()
    assert (elsewhere / "owner").exists() and len(os.listdir(place)) == 3


def test_a_server_that_ends_takes_its_folder_along(place, monkeypatch):
    """It ends at once by `os._exit`, whatever its threads are at: nothing that is registered for the end is called."""

    def end(status):
        raise SystemExit(status)

    monkeypatch.setattr(server.os, "_exit", end)
    monkeypatch.delitem(sys.modules, "pmdviz.experiments.workers", raising=False)  # or this process would sweep no more
    monkeypatch.setattr(server.signal, "signal", lambda *given: None)
    served = SimpleNamespace(io_loop=SimpleNamespace(start=lambda: None), stop=lambda wait: None)
    temporary.new_folder()
    with pytest.raises(SystemExit):
        server._run(served)
    assert list(place.iterdir()) == []
