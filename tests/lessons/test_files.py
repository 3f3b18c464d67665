"""The lessons and challenges of the package: each has its parts, and nothing is wrong with any.

Two are played by default, a few more before a change lands, all at night; `pmdviz lessons check` does the same.
"""

import re

import pytest

from pmdviz.errors import InputError
from pmdviz.lessons.playing import Player, check_lesson
from pmdviz.lessons.reading import LESSONS, find_lesson
from pmdviz.presets import scope_of

TIERS = {
    "one_step": (),
    "five_passes": (),
    **dict.fromkeys(("ancestors", "which_distance", "evidence"), pytest.mark.ci),
}
PLAYER = Player()
NAMES_A_SETTING = re.compile(r"""\b(?:set|try|take|such as)\b[^.?]*(?:["“]|\d)""", re.I)  # the check has to follow it


@pytest.mark.parametrize("name", [pytest.param(name, marks=TIERS.get(name, pytest.mark.nightly)) for name in LESSONS])
def test_nothing_is_wrong_with_it(name):
    assert check_lesson(LESSONS[name], PLAYER) == []


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
    with pytest.raises(InputError, match="unknown lesson 'one_stop'; did you mean 'one_step'"):
        find_lesson("one_stop")


@pytest.mark.nightly
def test_the_hopeful_answer_is_right_in_a_third_of_the_predictions():
    hopes = []
    for lesson in LESSONS.values():
        for step in lesson.steps:
            hope = next((one for one in step.question.options.values() if one.hope), None) if step.question else None
            if hope is not None and isinstance(hope.right, bool):
                hopes.append(hope.right)
            elif hope is not None:
                source = lesson.step(lesson.on_show(step)[0])
                shown = PLAYER.race(source.race) if source.race else PLAYER.run(source.recipe)
                hopes.append(hope.is_right(scope_of(shown)))
    assert len(hopes) > 20 and 0.33 <= sum(hopes) / len(hopes) <= 0.67
