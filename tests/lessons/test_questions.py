"""A question opens what comes after it once an answer is stored, and not before. A verdict has a text for each."""

import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.lessons.questions import Unanswered

TEXTS = {"a": "That is the start.", "b": "It rises."}
SIDES = {"close": "m / (1 + chi2).", "low": "Some do count.", "high": "m says nothing."}


@pytest.fixture
def question():
    return pmdviz.Question("Does $TV$ fall?", a="yes", b="no")


@pytest.fixture
def number():
    return pmdviz.Question("How many count?", unit="particles")


def test_nothing_is_revealed_before_an_answer_is_stored(question):
    with pytest.raises(InputError, match=r'answer the question above first, .* question\.answer\("a"\)') as refused:
        question.reveal()
    assert refused.value._render_traceback_() == [f"Not yet: {refused.value}"]
    with pytest.raises(Unanswered):
        question.verdict("b", **TEXTS)
    assert question.stored is None and "You said" not in question._repr_markdown_()


def test_an_answer_of_zero_is_an_answer(number):
    number.answer(0).reveal()
    assert "**0**" in number.verdict(0.0, absolute=0.5, **SIDES)._repr_markdown_()


def test_an_answer_may_change_until_the_reveal(question):
    assert question.answer("a", "a guess").answer("b") is question
    assert (question.stored, question.confidence) == ("b", "")
    question.reveal()
    with pytest.raises(InputError, match="'b' is already revealed"):
        question.answer("a")
    assert question.stored == "b"


def test_a_refused_answer_changes_nothing(question, number):
    question.answer("a")
    for given, words in [
        (("c",), "unknown option 'c'; valid names: a, b"),
        ((["a"],), "unknown option"),
        (("b", "very"), "confidence"),
    ]:
        with pytest.raises(InputError, match=words):
            question.answer(*given)
        assert question.stored == "a"
    for given in ("many", None, float("nan"), True, ...):
        with pytest.raises(InputError, match="the answer is a number"):
            number.answer(given)
        assert number.stored is None


def test_it_shows_the_question_then_the_answer_then_the_verdict(question):
    shown = question._repr_markdown_()
    assert shown.splitlines() == ["**Question.** Does $TV$ fall?", "", "- **a**: yes", "- **b**: no"]
    assert question.answer("a")._repr_markdown_() == "Your answer is stored: **a**, yes."
    said = "You said **a**; it is **b**: no. That is the start.\n\nIt rises."  # the misconception first, then why not
    assert question.verdict("b", **TEXTS)._repr_markdown_() == said
    assert repr(question) == said.replace("**", "")


def test_a_number_is_told_where_it_lies():
    for given, said in [
        (4.7, "You said **4.7**; it is **3.7** particles: near enough. m / (1 + chi2)."),
        ("1,000", "You said **1,000**; it is **3.7** particles: too high. m says nothing."),
        (2.6, "You said **2.6**; it is **3.7** particles: too low. Some do count."),
    ]:
        number = pmdviz.Question("How many count?", unit="particles")
        assert number.answer(given).verdict(3.7, tolerance=0.28, **SIDES)._repr_markdown_() == said


def test_a_verdict_has_a_text_for_each_and_says_what_is_near_enough(question, number):
    question.answer("a"), number.answer(-0.4)
    assert "near enough" in repr(number.verdict(0.0, absolute=0.5, **SIDES))
    assert "too low" in repr(number.verdict(0.0, absolute=0.3, **SIDES))
    for asked, right, given, words in [
        (question, "x", TEXTS, "unknown option 'x'"),
        (question, "b", {"b": "It rises."}, "a text for each of a, b"),
        (question, "b", {**TEXTS, "c": "Why?"}, "a text for each of a, b"),
        (question, "b", {**TEXTS, "a": " "}, "a text for each of a, b"),
        (question, "b", {**TEXTS, "tolerance": 0.1}, "that on a choice neither"),
        (number, 0.0, {**SIDES, "tolerance": 0.5}, "give `absolute`"),
        (number, 3.7, {**SIDES}, "needs `tolerance` or `absolute`"),
        (number, 3.7, {**SIDES, "tolerance": 0.1, "absolute": 1.0}, "needs `tolerance` or `absolute`"),
        (number, 3.7, {**SIDES, "tolerance": -0.1}, "above 0"),
        (number, 3.7, {"close": "x", "low": "y", "tolerance": 0.1}, "a text for each of close, low, high"),
    ]:
        with pytest.raises(InputError, match=words):
            asked.verdict(right, **given)


def test_what_is_not_a_question_is_refused():
    for text, choices, words in [
        ("  ", {"a": "yes", "b": "no"}, "needs a text; given: '  '"),
        (3, {"a": "yes", "b": "no"}, "needs a text; given: 3"),
        ("Well?", {"a": "yes"}, "at least two choices"),
        ("Well?", {"a": "yes", "b": 2}, "at least two choices"),
        ("Well?", {"a": "yes", "b": "no", "unit": "nats"}, "or none and the unit of a number"),
        ("Well?", {"unit": 3}, "unit of a number"),
    ]:
        with pytest.raises(InputError, match=words):
            pmdviz.Question(text, **choices)
