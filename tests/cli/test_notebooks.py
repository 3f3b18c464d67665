"""`pmdviz notebooks DIR`: the whole course or nothing, and never over a file that is there."""

import pytest

from pmdviz.cli import main, notebooks


def called(capsys, *arguments):
    status = main.main(["notebooks", *map(str, arguments)])
    return status, *capsys.readouterr()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_course_is_copied_into_a_new_folder(capsys, tmp_path):
    folder = tmp_path / "mine" / "course"
    status, out, err = called(capsys, folder)
    assert (status, err) == (0, "")
    assert out == f"{len(notebooks.course())} notebooks in {folder}; open them with: jupyter lab {folder}\n"
    assert contents(folder) == {path.name: path.read_bytes() for path in notebooks.course()}
    assert len(contents(folder)) == len(notebooks.course())


def test_a_file_that_is_there_is_kept_unless_forced(capsys, tmp_path):
    mine = tmp_path / notebooks.course()[3].name
    mine.write_text("my notes")
    status, out, err = called(capsys, tmp_path)
    assert (status, out) == (2, "")
    assert err == f"pmdviz: {mine} is there already; --force writes over it, or name another folder\n"
    assert contents(tmp_path) == {mine.name: b"my notes"}
    assert called(capsys, tmp_path, "--force")[0] == 0
    assert len(contents(tmp_path)) == len(notebooks.course())
    assert mine.read_bytes() == notebooks.course()[3].read_bytes()


def test_other_files_in_the_folder_are_left_alone(capsys, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert called(capsys, tmp_path)[0] == 0
    assert (tmp_path / "notes.txt").read_text() == "mine" and len(contents(tmp_path)) == len(notebooks.course()) + 1


def test_what_cannot_be_written_is_said(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    status, out, err = called(capsys, tmp_path / "file")
    assert (status, out) == (2, "") and err.startswith("pmdviz: cannot write to") and err.count("\n") == 1


@pytest.mark.parametrize(("folder", "words"), [("", "given: ''"), ("n" * 300, "File name too long")])
def test_what_is_no_folder_is_refused(capsys, tmp_path, monkeypatch, folder, words):
    monkeypatch.chdir(tmp_path)
    status, out, err = called(capsys, folder)
    assert (status, out) == (2, "") and words in err and err.count("\n") == 1 and contents(tmp_path) == {}


def test_a_copy_that_fails_leaves_no_half_file(capsys, tmp_path, monkeypatch):
    def full(source, goal):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    status, _, err = called(capsys, tmp_path)
    assert status == 2 and "the disk is full" in err and contents(tmp_path) == {}


def test_the_folder_must_be_named(capsys):
    status, _, err = called(capsys)
    assert status == 2 and "DIR" in err


def test_an_installation_without_notebooks_says_so(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "PLACES", (tmp_path / "nowhere", tmp_path))
    status, _, err = called(capsys, tmp_path / "mine")
    assert status == 2 and "holds no notebooks" in err and not (tmp_path / "mine").exists()
