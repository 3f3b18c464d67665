"""The temporary folder of a process: its own, gone with it, and removed later where it could not be."""

import os

import pytest

from pmdviz.lab.loop import work as temporary


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where temporary folders are made."""
    monkeypatch.setattr(temporary.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(temporary, "_folder", None)
    monkeypatch.setattr(temporary, "_owner", None)
    yield tmp_path
    temporary.remove()


def test_a_folder_is_removed_later_unless_its_owner_lives_or_is_another_user(place, monkeypatch):
    mine, stale = temporary.new_folder(), place / f"{temporary.PREFIX}stale"
    stale.mkdir()
    (stale / temporary.OWNER).touch()
    user = os.getuid()
    for owner, stays in ((user + 1, True), (user, False)):
        monkeypatch.setattr(temporary.os, "getuid", lambda owner=owner: owner)
        temporary.remove_stale()
        assert stale.exists() is stays and mine.is_dir()


def test_what_only_looks_like_one_of_ours_is_left_alone(place, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "owner").touch()
    (place / f"{temporary.PREFIX}link").symlink_to(elsewhere)
    (place / f"{temporary.PREFIX}empty").mkdir()
    (place / f"{temporary.PREFIX}file").touch()
    temporary.remove_stale()
    assert (elsewhere / "owner").exists() and len(os.listdir(place)) == 3
