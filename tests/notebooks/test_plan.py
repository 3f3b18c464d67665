"""The plan for ten sessions names lessons, presets and notebooks that are there, and each session has all its parts."""

import re
from pathlib import Path

import pytest

from pmdviz.cli.notebooks import course
from pmdviz.lessons.catalogue import LESSONS
from pmdviz.presets import PRESETS

PAGE = (Path(__file__).parents[2] / "docs" / "course-plan.md").read_text(encoding="utf-8")
SESSIONS = re.split(r"^## Session ", PAGE, flags=re.M)[1:]
PARTS = ["Aim", "Before", "In class", "After", "They get wrong"]
MINUTES = 90


def named(kind):
    return set(re.findall(rf"{kind} `(\w+)`", PAGE, flags=re.I))


def test_there_are_ten_sessions_in_order():
    assert [int(part.split(".")[0]) for part in SESSIONS] == [*range(1, 11)]


@pytest.mark.parametrize("session", SESSIONS, ids=lambda part: part.split(".")[0])
def test_a_session_has_all_its_parts_and_fills_its_time(session):
    rows = dict(re.findall(r"^\| ([A-Z][\w ]+) \| (.+) \|$", session, flags=re.M))
    assert [*rows] == PARTS and all(rows.values())
    assert sum(map(int, re.findall(r"(\d+) min:", rows["In class"]))) == MINUTES
    assert "notebook" in rows["Before"]


def test_what_it_names_is_there():
    assert len(named("lesson")) >= 8 and named("lesson") | named("challenge") <= {*LESSONS}
    assert len(named("preset")) >= 3 and named("preset") <= {*PRESETS}


def test_every_notebook_has_its_place():
    linked = set(re.findall(r"\.\./notebooks/([\w-]+)\.ipynb", PAGE))
    assert linked == {path.stem for path in course()}
