"""Practice: the cases of a number come again, hide what would decide them, and have one right answer each."""

import pytest

from pmdviz.errors import InputError
from pmdviz.lessons.playing import Player, check_lesson
from pmdviz.lessons.reading import LESSONS, NUM_CASES, POOL, find_lesson, practice


def recipes(lesson):
    return [step.recipe for step in lesson.steps if step.recipe is not None]


def test_a_number_gives_the_same_twelve_cases_and_another_gives_others():
    one = practice(17)
    assert recipes(one) == recipes(find_lesson("practice-17")) and len(recipes(one)) == NUM_CASES < len(POOL)
    assert recipes(one) != recipes(practice(18))
    assert len({recipe.seed for recipe in recipes(one)}) > 6, "seeds of their own"
    drawn = {recipe.replaced(seed=0).to_json() for k in (5, 9) for recipe in recipes(practice(k))}
    assert len(drawn) == len(POOL), "tests/browser plays these two"
    assert {recipe.method for k in range(5) for recipe in recipes(practice(k))} >= {"pmd", "hmc", "sgld"}


def test_a_case_hides_the_exact_posterior_until_it_is_judged():
    for step in practice(3).steps[::2]:
        assert {*step.hide} == {"exact", "numbers"} and step.question is None and step.after is not None


def test_names_that_are_no_practice_are_unknown_lessons():
    for name in ("practice-", "practice-x", "practice-9999999999", "one_stop"):
        with pytest.raises(InputError, match="unknown lesson"):
            find_lesson(name)
    assert not any(name.startswith("practice") for name in LESSONS)


@pytest.mark.nightly
@pytest.mark.parametrize("number", (1, 2, 3))
def test_nothing_is_wrong_with_a_practice(number):
    """Exactly one option of each question is right of the run."""
    assert check_lesson(practice(number), Player()) == []
