"""The ten demos: nothing is wrong with any, and the page of the docs has them all."""

import re
from pathlib import Path

import pytest

from pmdviz.cli import course as teach
from pmdviz.lessons.playing import Player, check_lesson
from pmdviz.lessons.reading import DEMOS, LESSONS, find_lesson, following
from tests.cli.test_cli import called

PAGE = Path(__file__).parents[2] / "docs" / "teach" / "ten-demos.md"
PLAYER = Player()


def test_there_are_ten_of_five_minutes_with_a_sentence_a_question_and_what_comes_next():
    assert len(DEMOS) == 10 and not {*DEMOS} & {*LESSONS}
    for name, demo in DEMOS.items():
        (step,) = demo.steps
        assert find_lesson(name) is demo and demo.minutes == 5 and demo.text and step.reveal, name
        (ask,) = step.asks.values()
        assert len(ask.options) >= 2, name
    assert following(DEMOS["demo_one_step"]).name == "demo_particles_die" and following(DEMOS["demo_two_modes"]) is None


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "demo_one_step" else pytest.mark.nightly) for name in DEMOS],
)
def test_nothing_is_wrong_with_it(name):
    assert check_lesson(DEMOS[name], PLAYER) == []


def test_the_list_has_a_link_to_presenter_mode_for_each(capsys):
    status, out, err = called(capsys, "demos", "--server", "https://lab.example.org/")
    assert (status, err) == (0, "")
    found = re.findall(r"https://lab\.example\.org/\?lesson=(\w+)&presenter=1$", out, re.M)
    assert found == [*DEMOS]


def test_the_page_has_a_code_and_a_measured_answer(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("pmdviz.lessons.reading.DEMOS", {"demo_one_step": DEMOS["demo_one_step"]})
    assert called(capsys, "demos", tmp_path / "demos.html", "--server", "http://lab")[0] == 0
    page = (tmp_path / "demos.html").read_text(encoding="utf-8")
    assert page.count('src="data:image/png;base64,') == 1 and 'href="http://lab/?lesson=demo_one_step' in page
    assert re.search(r"Answer:</strong> a\) Yes, .* TV is 0\.0\d\d after 1 step", page)
    assert called(capsys, "demos", tmp_path / "demos.txt")[0] == 2


def test_the_page_of_the_docs_has_each_demo_and_no_answer():
    page = PAGE.read_text(encoding="utf-8")
    assert teach.demos_markdown() in page and page.count("**Ask:**") == 10 and "**Answer:**" not in page
