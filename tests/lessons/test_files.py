"""The lessons and challenges of the package: enough of them, written alike, and nothing wrong with any.

Their runs are played by a test of each, most of them marked slow; `pmdviz lessons check` does the same.
"""

import pytest

from pmdviz.errors import InputError
from pmdviz.lessons.catalogue import LESSONS, find_lesson
from pmdviz.lessons.check import check_lesson
from pmdviz.lessons.playing import Player

QUICK = ("one_step", "ancestors", "which_distance", "evidence", "five_passes")  # a second or two each
PLAYER = Player()
TAUGHT = [lesson for lesson in LESSONS.values() if not lesson.is_challenge]
CHALLENGES = [lesson for lesson in LESSONS.values() if lesson.is_challenge]
STEPS = [(lesson, step) for lesson in LESSONS.values() for step in lesson.steps]


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in LESSONS])
def test_nothing_is_wrong_with_it(name):
    assert check_lesson(LESSONS[name], PLAYER) == []


def test_there_are_enough_and_each_is_of_one_kind():
    assert len(TAUGHT) >= 8 and len(CHALLENGES) >= 3
    assert [*LESSONS.values()] == [*TAUGHT, *CHALLENGES], "challenges come last"
    assert len({lesson.title for lesson in LESSONS.values()}) == len(LESSONS)
    assert sum(any(option.to for step in lesson.steps for ask in step.asks.values() for option in ask.options.values())
               for lesson in TAUGHT) >= 2, "branches by answer"  # fmt: skip
    for part in ("race", "experiment", "after"):
        assert any(getattr(step, part) for _, step in STEPS), part


@pytest.mark.parametrize("lesson", TAUGHT, ids=lambda lesson: lesson.name)
def test_it_asks_first_and_has_something_to_work_for(lesson):
    assert 3 <= len(lesson.steps) <= 6 and lesson.question.endswith("?") and 5 <= lesson.minutes <= 15
    assert lesson.steps[0].question is not None and lesson.text
    assert any(step.goal for step in lesson.steps) or lesson.name == "which_distance"


@pytest.mark.parametrize(("lesson", "step"), STEPS, ids=lambda one: one.name)
def test_a_step_has_hints_and_says_why(lesson, step):
    assert step.hints and step.text and (step.question or step.goal), "nothing is asked"
    for ask in step.asks.values():
        says = [option.say for option in ask.options.values()]
        assert len(set(says)) == len(says) and all(not say.endswith(".") for say in says)
        assert all(option.because.text.endswith((".", "?")) for option in ask.options.values())
    if step.score is not None:
        assert "seed" not in step.controls and "seed" in step.text.lower(), "which seed counts must be said"


def test_an_unknown_name_names_the_nearest():
    with pytest.raises(InputError, match="unknown lesson 'one_stop'; did you mean 'one_step'"):
        find_lesson("one_stop")
