"""Where notebooks are opened: badges for Colab, and the files of Binder."""

import tomllib
from pathlib import Path

from pmdviz.cli.course import course, read
from tests.cli.test_cli import called

ROOT = Path(__file__).parents[2]


def test_copies_with_a_badge_open_in_colab_from_the_repository_that_is_named(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("pmdviz.cli.course.course", lambda: course()[:1])
    assert called(capsys, "notebooks", tmp_path, "--student", "--colab", "ada/course")[0] == 0
    first = read(tmp_path / "01-bayes-as-optimisation.ipynb").cells[0].source
    assert "(https://colab.research.google.com/github/ada/course/blob/main/01-bayes-as-optimisation.ipynb)" in first
    status, _, err = called(capsys, "notebooks", tmp_path, "--force", "--colab", "ada")
    assert status == 2 and "owner/name" in err
    assert called(capsys, "notebooks", tmp_path, "--student", "--instructor")[0] == 2


def test_binder_installs_extras_that_there_are():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (line,) = (ROOT / ".binder" / "requirements.txt").read_text().splitlines()
    assert {*line.removeprefix(".[").removesuffix("]").split(",")} <= {*extras}
    assert (ROOT / ".binder" / "postBuild").stat().st_mode & 0o111
