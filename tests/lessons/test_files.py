"""The lessons, challenges, demos and practice of the package: each has its parts, and nothing is wrong with any.

Three are played by default, a few more before a change lands, all at night; `pmdviz lessons check` does the same.
"""

import re
from pathlib import Path

import pytest

from pmdviz.cli import course as teach
from pmdviz.lessons.playing import Player, check_lesson
from pmdviz.lessons.practice import NUM_CASES, POOL, practice
from pmdviz.lessons.reading import DEMOS, LESSONS, find_lesson, following
from tests.cli.test_cli import called
from tests.support.tables import refused

TIERS = {
    "one_step": (),
    "five_passes": (),
    "demo_one_step": (),
    **dict.fromkeys(("ancestors", "which_distance", "evidence"), pytest.mark.ci),
}
PLAYER = Player()
DOCS = Path(__file__).parents[2] / "docs"
NAMES_A_SETTING = re.compile(r"""\b(?:set|try|take|such as)\b[^.?]*(?:["“]|\d)""", re.I)  # the check has to follow it


PLAYED = [*LESSONS, *DEMOS, "practice-1", "practice-2", "practice-3"]


@pytest.mark.parametrize("name", [pytest.param(name, marks=TIERS.get(name, pytest.mark.nightly)) for name in PLAYED])
def test_nothing_is_wrong_with_it(name):
    assert check_lesson(find_lesson(name), PLAYER) == []


def test_a_lesson_asks_first_and_has_something_to_work_for():
    challenges = [lesson.is_challenge for lesson in LESSONS.values()]
    assert challenges == sorted(challenges), "challenges come last"
    for name, lesson in LESSONS.items():
        assert lesson.is_challenge or (lesson.question and lesson.text and lesson.steps[0].asks), name
        for step in lesson.steps:
            assert step.hints and step.text and (step.asks or step.goal), (name, step.name)
            for hint in step.hints if step.goal else ():
                assert hint.settings or not NAMES_A_SETTING.search(hint.say), (name, step.name, hint.say)
            assert step.score is None or "seed" not in step.controls, "the seed of a score is given"
    refused("unknown lesson 'one_stop'; did you mean 'one_step'", find_lesson, "one_stop")


# The ten demos


def test_there_are_ten_of_five_minutes_with_a_sentence_a_question_and_what_comes_next():
    assert len(DEMOS) == 10 and not {*DEMOS} & {*LESSONS}
    for name, demo in DEMOS.items():
        (step,) = demo.steps
        (ask,) = step.asks.values()
        assert find_lesson(name) is demo and demo.minutes == 5 and demo.text and step.reveal and len(ask.options) >= 2
    assert following(DEMOS["demo_one_step"]).name == "demo_particles_die" and following(DEMOS["demo_two_modes"]) is None
    page = (DOCS / "teach" / "ten-demos.md").read_text(encoding="utf-8")
    assert teach.demos_markdown() in page and page.count("**Ask:**") == 10 and "**Answer:**" not in page


def test_the_list_links_to_presenter_mode_and_the_page_has_a_code_and_a_measured_answer(capsys, tmp_path, monkeypatch):
    status, out, _ = called(capsys, "demos", "--server", "https://lab.example.org/")
    found = re.findall(r"https://lab\.example\.org/\?lesson=(\w+)&presenter=1$", out, re.M)
    assert status == 0 and found == [*DEMOS]
    monkeypatch.setattr("pmdviz.lessons.reading.DEMOS", {"demo_one_step": DEMOS["demo_one_step"]})
    assert called(capsys, "demos", tmp_path / "demos.html", "--server", "http://lab")[0] == 0
    page = (tmp_path / "demos.html").read_text(encoding="utf-8")
    assert page.count('src="data:image/png;base64,') == 1 and 'href="http://lab/?lesson=demo_one_step' in page
    assert re.search(r"Answer:</strong> a\) Yes, .* TV is 0\.0\d\d after 1 step", page)
    assert called(capsys, "demos", tmp_path / "demos.txt")[0] == 2


# Practice: the cases of a number come again, hide what would decide them, and have one right answer each.


def recipes(lesson):
    return [step.recipe for step in lesson.steps if step.recipe is not None]


def test_a_number_gives_the_same_twelve_cases_and_another_gives_others():
    one = practice(17)
    assert recipes(one) == recipes(find_lesson("practice-17")) and len(recipes(one)) == NUM_CASES < len(POOL)
    assert recipes(one) != recipes(practice(18))
    assert len({recipe.seed for recipe in recipes(one)}) > 6, "seeds of their own"
    drawn = {recipe.replaced(seed=0).to_json() for k in (5, 9) for recipe in recipes(practice(k))}
    assert len(drawn) == len(POOL), "tests/browser plays these two"
    for step in one.steps[::2]:
        assert {*step.hide} == {"exact", "numbers"} and step.question is None and step.after is not None
    for name in ("practice-", "practice-x", "practice-9999999999", "one_stop"):
        refused("unknown lesson", find_lesson, name)


# docs/tutorials/write-a-lesson.md, followed to the letter: after each change the file is a lesson without a fault.


def stages(page):
    """The file after each change: a step is put in place of the one of its name, or at the end, or after another."""
    head, steps, found = "", {}, []
    for after, block in re.findall(r"(?:<!-- after (\S+) -->\n)?````markdown\n(.*?)````", page, re.S):
        name = re.search(r"^```\{step\} (\S+)$", block, re.M)[1]
        before, step = block[: block.index("```{step}")], block[block.index("```{step}") :]
        head = before or head
        place = [*steps].index(after) + 1 if after else len(steps)
        steps = dict([*[*steps.items()][:place], (name, step), *[*steps.items()][place:]]) | {name: step}
        found.append(head + "\n".join(steps.values()))
    return found


def test_each_change_leaves_a_lesson_that_the_check_has_nothing_against(tmp_path, capsys):
    files = []
    for k, text in enumerate(stages((DOCS / "tutorials" / "write-a-lesson.md").read_text(encoding="utf-8"))):
        (tmp_path / str(k)).mkdir()
        files.append(tmp_path / str(k) / "few_particles.md")
        files[-1].write_text(text, encoding="utf-8")
    status, out, _ = called(capsys, "lessons", "check", *files)
    assert files and status == 0 and out.count("nothing is wrong") == len(files)
