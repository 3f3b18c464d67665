"""A question opens what comes after it once an answer is stored; what is computed is told right, or how far off."""

from types import SimpleNamespace

import IPython.display
import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter

import pmdviz
from pmdviz import question_buttons
from pmdviz.lessons.questions import Unanswered
from tests.support.tables import refused

TEXTS = {"a": "That is the start.", "b": "It rises."}
SIDES = {"close": "m / (1 + chi2).", "low": "Some do count.", "high": "m says nothing."}


@pytest.fixture
def question():
    return pmdviz.Question("Does $TV$ fall?", a="yes", b="no")


@pytest.fixture
def number():
    return pmdviz.Question("How many count?", unit="particles")


def test_nothing_is_revealed_before_an_answer_is_stored_which_may_change_until_then(question, number):
    with pytest.raises(Unanswered, match=r'answer the question above first, .* question\.answer\("a"\)') as error:
        question.reveal()
    assert error.value._render_traceback_() == [f"Not yet: {error.value}"]
    with pytest.raises(Unanswered):
        question.verdict("b", **TEXTS)
    assert question.stored is None
    number.answer(0).reveal()
    assert "**0**" in number.verdict(0.0, absolute=0.5, **SIDES)._repr_markdown_()
    assert question.answer("a", "a guess").answer("b") is question
    assert (question.stored, question.confidence) == ("b", "")
    question.reveal()
    refused("'b' is already revealed", question.answer, "a")
    assert question.stored == "b"


def test_a_refused_answer_changes_nothing_and_the_cell_shows_question_answer_and_verdict(question, number):
    shown = question._repr_markdown_()
    assert shown.splitlines() == ["**Question.** Does $TV$ fall?", "", "- **a**: yes", "- **b**: no"]
    assert question.answer("a")._repr_markdown_() == "Your answer is stored: **a**, yes."
    for given, words in [(("c",), "unknown option 'c'; valid names: a, b"), (("b", "very"), "confidence")]:
        refused(words, question.answer, *given)
        assert question.stored == "a"
    for given in ("many", None, float("nan"), True, ...):
        refused("the answer is a number", number.answer, given)
        assert number.stored is None
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
        (question, "b", {**TEXTS, "tolerance": 0.1}, "that on a choice neither"),
        (number, 0.0, {**SIDES, "tolerance": 0.5}, "give `absolute`"),
        (number, 3.7, {**SIDES}, "needs `tolerance` or `absolute`"),
        (number, 3.7, {**SIDES, "tolerance": -0.1}, "above 0"),
        (number, 3.7, {"close": "x", "low": "y", "tolerance": 0.1}, "a text for each of close, low, high"),
    ]:
        refused(words, asked.verdict, right, **given)
    for text, choices, words in [
        ("  ", {"a": "yes", "b": "no"}, "needs a text; got '  '"),
        ("Well?", {"a": "yes"}, "at least two choices"),
        ("Well?", {"a": "yes", "b": "no", "unit": "nats"}, "or none and the unit of a number"),
        ("Well?", {"unit": 3}, "unit of a number"),
    ]:
        refused(words, pmdviz.Question, text, **choices)


SD = 6**-0.5
SLIP = {SD: "That is the sd."}


def test_a_number_and_an_array_are_judged():
    for mine, words in [
        (..., "Nothing to check yet: put your value in `mine`."),
        (1 / 6, "**Right**: 0.167."),
        (np.float64(0.16), "**Right**: 0.16."),
        (SD, "Not yet: That is the sd."),
        (0.25, "Not yet: yours, 0.25, is 50 % too high."),
        (0.1, "Not yet: yours, 0.1, is 40 % too low."),
        (-0.2, "Not yet: yours, -0.2, is too low: it has the wrong sign."),
        (1e6, "Not yet: yours, 1,000,000, is far too high."),
        *((mine, f"Not yet: numbers are needed; yours is {mine!r}.") for mine in (None, "many", float("nan"), [])),
        ([0.1, 0.2], "Not yet: yours is an array of shape (2,), and one number is wanted."),
        (lambda: 3, "Not yet: "),
    ]:
        found = pmdviz.check(mine, 1 / 6, wrong=SLIP)
        assert found._repr_markdown_().startswith(words) and found.right == words.startswith("**Right"), mine
        assert repr(found) == found.words.replace("**", "")
    assert pmdviz.check(104.9, 100).right and not pmdviz.check(105.1, 100).right
    assert pmdviz.check(109, 100, tolerance=0.1).right
    assert pmdviz.check(0.1, 0, absolute=0.2).right and not pmdviz.check(0.3, 0, absolute=0.2).right
    assert pmdviz.check(0.3, 0, absolute=0.2).words == "Not yet: yours, 0.3, is too high by 0.3."
    assert not pmdviz.check(101, 100, absolute=0.5).right  # it takes the place of the relative one
    refused("this slip is within the tolerance", pmdviz.check, ..., 0.4, wrong={0.41: "That is the sd."})
    refused("`on=\\[...\\]`", pmdviz.check, ..., np.exp)
    refused("must be a number", pmdviz.check, ..., "b")
    wanted = [0.0, 10.0]
    assert pmdviz.check([0.4, 10.4], wanted).right
    assert pmdviz.check([0.0, 15.0], wanted).words == "Not yet: farthest off at entry 1: 50 % too high."
    assert pmdviz.check(wanted[::-1], wanted, wrong=[(wanted[::-1], "The order!")]).words == "Not yet: The order!"
    assert "shape (1,), and an array of shape (2,)" in pmdviz.check([1.0], wanted).words


def test_a_function_is_tried_at_its_places():
    def square(x):
        return x**2

    assert pmdviz.check(lambda x: x * x, square, on=[1, 2, 3]).words == "**Right**."
    assert pmdviz.check(lambda x: x, square, on=[1, 3]).words == "Not yet: farthest off at 3: 67 % too low."
    slip = {lambda x: 2 * x: "That is the derivative."}
    assert pmdviz.check(lambda x: x + x, square, on=[1, 3], wrong=slip).words == "Not yet: That is the derivative."
    assert pmdviz.check(lambda a, b: a * b, lambda a, b: b * a, on=[(1, 2), (3, 4)]).right
    assert "does it `return`?" in pmdviz.check(lambda x: None, square, on=[1]).words
    failed = pmdviz.check(lambda x: 1 / 0, square, on=[1])
    assert failed.words == "Not yet: your function fails with ZeroDivisionError: division by zero." and not failed.right
    assert "should be a function; yours is 9" in pmdviz.check(9, square, on=[3]).words


@pytest.fixture
def shown(monkeypatch):
    """What is displayed, one entry each; the last one of a place that is updated is what stands there."""
    there, kernel = [], SimpleNamespace(kernel=object(), user_ns={}, display_formatter=DisplayFormatter())
    place = SimpleNamespace(update=lambda what: there.__setitem__(-1, what))
    monkeypatch.setattr(question_buttons, "_ipython", lambda: kernel)
    monkeypatch.setattr(IPython.display, "display", lambda what, **_: there.append(what) or place)
    return there, kernel.user_ns


def asked(shown, *text, **choices):
    shown[1]["guess"] = question = pmdviz.Question(*text, **choices)
    question.ask()
    return question, question.buttons


def test_a_click_stores_and_says_so_may_be_changed_and_the_reveal_takes_the_place_of_the_buttons(shown):
    question, buttons = asked(shown, "Does $TV$ fall?", a="yes", b="no")
    text, below = shown[0]
    assert text.data == question.words and below["text/markdown"].endswith('`guess.answer("a")`')
    assert "application/vnd.jupyter.widget-view+json" in below
    assert [button.description for button in buttons.answers] == ["a", "b"]
    buttons.answers[0].click()
    assert question.stored == "a" and "Stored: a." in buttons.said.value
    buttons.answers[1].click()
    assert question.stored == "b" and [button.icon for button in buttons.answers] == ["", "check"]
    question.reveal()
    assert shown[0][-1].data == "Your answer is stored: **b**, no."
    buttons.answers[0].click()  # a click that was under way
    assert question.stored == "b"


def test_a_number_is_typed_and_what_is_none_is_refused_beside_it(shown, monkeypatch):
    question, buttons = asked(shown, "How many?", unit="particles")
    assert "particles" in buttons.field.description
    buttons.field.value = "1,000"
    assert question.stored == 1000.0
    buttons.field.value = "<many>"
    assert question.stored == 1000.0 and "Not stored: the answer is a number" in buttons.said.value
    assert "<many>" not in buttons.said.value
    monkeypatch.setattr(question_buttons.importlib.util, "find_spec", lambda name: None)  # then the text says how
    question, buttons = asked(shown, "Well?", a="yes", b="no")
    assert buttons is None and 'guess.answer("a")' in shown[0][-1].data
    question.answer("a").reveal()
