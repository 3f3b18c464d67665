"""A question opens what comes after it once an answer is stored, and not before."""

import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.lessons.questions import Unanswered


@pytest.fixture
def question():
    return pmdviz.Question("Does $TV$ fall?", a="yes", b="no")


def test_nothing_is_revealed_before_an_answer_is_stored(question):
    with pytest.raises(InputError, match=r"store your answer first: \.answer\('a'\) or \.answer\('b'\)") as refused:
        question.reveal()
    assert refused.value._render_traceback_() == [f"Not yet: {refused.value}"]
    with pytest.raises(Unanswered):
        question.verdict("b")
    assert question.stored == "" and "You said" not in question._repr_markdown_()


def test_an_answer_may_change_until_the_reveal(question):
    assert question.answer("a").answer("b") is question
    assert question.stored == "b"
    question.reveal()
    with pytest.raises(InputError, match="'b' is already revealed"):
        question.answer("a")
    assert question.stored == "b"


def test_a_refused_answer_changes_nothing(question):
    question.answer("a")
    with pytest.raises(InputError, match="unknown choice 'c'; valid names: a, b"):
        question.answer("c")
    assert question.stored == "a"


def test_it_shows_the_question_then_the_answer_then_the_verdict(question):
    shown = question._repr_markdown_()
    assert shown.splitlines() == ["**Question.** Does $TV$ fall?", "", "- **a**: yes", "- **b**: no"]
    assert question.answer("a")._repr_markdown_() == "Your answer is stored: **a**, yes."
    assert question.verdict("b", "It rises.")._repr_markdown_() == "You said **a**; it is **b**: no. It rises."
    assert repr(question) == "You said a; it is b: no. It rises."


def test_a_right_answer_is_told_so(question):
    assert question.answer("b").verdict("b")._repr_markdown_() == "You said **b**, and so it is: no."


def test_the_right_choice_must_be_one(question):
    question.answer("a")
    with pytest.raises(InputError, match="unknown choice 'x'"):
        question.verdict("x")


@pytest.mark.parametrize(
    ("text", "choices", "words"),
    [
        ("  ", {"a": "yes", "b": "no"}, "needs a text; given: '  '"),
        (3, {"a": "yes", "b": "no"}, "needs a text; given: 3"),
        ("Well?", {"a": "yes"}, "at least two choices"),
        ("Well?", {"a": "yes", "b": 2}, "at least two choices"),
    ],
)
def test_what_is_no_question(text, choices, words):
    with pytest.raises(InputError, match=words):
        pmdviz.Question(text, **choices)
