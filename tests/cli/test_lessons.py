"""`pmdviz lessons list | check`: what there is, what is wrong with a file, and how that ends."""

import json

import pytest

from pmdviz.cli import main
from pmdviz.lessons.catalogue import LESSONS
from tests.lessons.samples import SMALL, changed


def called(capsys, *arguments):
    status = main.main(["lessons", *map(str, arguments)])
    return status, *capsys.readouterr()


@pytest.fixture
def files(tmp_path):
    right, wrong, none = (tmp_path / name for name in ("right.md", "wrong.md", "none.md"))
    right.write_text(SMALL, encoding="utf-8")
    wrong.write_text(changed(("goal: tv < 0.05", "goal: tv < 0.0001"), ("trace: ess", "trace: es")), encoding="utf-8")
    none.write_text("a text", encoding="utf-8")
    return right, wrong, none


def test_they_are_listed_with_challenges_apart(capsys):
    status, out, err = called(capsys, "list")
    lessons, challenges = out.split("challenges:")
    assert (status, err) == (0, "") and lessons.startswith("lessons:\n  one_step: One step, opened up (10 minutes)\n")
    for name, lesson in LESSONS.items():
        assert f"  {name}: " in (challenges if lesson.is_challenge else lessons) and lesson.question in out


def test_they_are_listed_as_json(capsys, tmp_path, monkeypatch):
    status, out, _ = called(capsys, "list", "--json", "-")
    found = json.loads(out)
    assert status == 0 and [*found] == [*LESSONS] and found["five_passes"]["challenge"] is True
    assert found["one_step"]["steps"][0] == "Bayes' rule in one step"
    monkeypatch.setattr("pmdviz.cli.list.presets", dict)  # making all of their targets takes seconds
    assert main.main(["list", "--json", str(tmp_path / "all.json")]) == 0
    tables = json.loads((tmp_path / "all.json").read_text())
    assert tables["lessons"] == found and "what_dimension_does" in tables["experiment_presets"]


def test_a_check_says_what_is_wrong_and_ends_with_1(capsys, files):
    right, wrong, none = files
    status, out, err = called(capsys, "check", right)
    assert (status, out, err) == (0, f"{right}: nothing is wrong\n", "")
    status, out, err = called(capsys, "check", *files)
    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert lines[:2] == [f"{right}: nothing is wrong", f"{wrong}: 2 things are wrong"]
    assert lines[2].startswith("  step 'first': unknown trace 'es'")
    assert lines[3].startswith("  step 'second': the goal cannot be reached by its solution: tv < 0.0001 (tv = ")
    assert lines[4:] == [
        f"{none}: one thing is wrong",
        "  lesson 'none' must begin with a YAML block between two lines of three dashes",
    ]


def test_what_a_check_found_can_be_read_by_programs(capsys, files):
    status, out, _ = called(capsys, "check", files[0], files[2], "--json", "-")
    found = json.loads(out)
    assert status == 1 and found[str(files[0])] == [] and len(found[str(files[2])]) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "nowhere.md"], "'nowhere.md' cannot be opened: No such file or directory"),
        (["lists"], "unknown act of lessons: 'lists'; did you mean 'list'"),
        (["list", "--jsn"], "unknown option of lessons: '--jsn'; did you mean '--json'"),
        ([], "the following arguments are required"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(capsys, arguments, words):
    status, out, err = called(capsys, *arguments)
    assert (status, out) == (2, "") and words in err and err.count("\n") == 1 and err.startswith("pmdviz: ")
