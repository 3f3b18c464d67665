"""The map in docs/architecture.md: every path in it is there, and every folder of the package is in it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TREE = re.search(r"```\n(.*?)```", TEXT, re.DOTALL)[1]
PATHS = sorted({*re.findall(r"`(pmdviz/[\w/]+\.py)`", TEXT)})
MAX_FILES, MAX_AT_THE_TOP = 26, 16


def folders():
    return [path.parent for path in (ROOT / "pmdviz").rglob("__init__.py")]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_that_answers_a_question_is_there(path):
    assert (ROOT / path).is_file()


def test_it_answers_ten_questions():
    assert len(PATHS) >= 10


def test_the_tree_has_every_folder_and_no_other():
    assert len(TREE.splitlines()) <= 30
    named = {*re.findall(r"\b(\w+)/", TREE)} - {"pmdviz"}
    there = {path.name for path in folders()} - {"pmdviz"}
    beside = {"benchmarks", "tests", "support", "mutants", "notebooks", "docs", "deploy", "assets", "static"}
    assert named == there | beside


def test_no_folder_is_crowded():
    for folder in folders():
        files = len([*folder.glob("*.py")])
        assert files <= (MAX_AT_THE_TOP if folder.name == "pmdviz" else MAX_FILES), folder
