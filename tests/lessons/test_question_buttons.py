"""The buttons under a question store an answer, say which, and make room for it once the run is revealed."""

import IPython.display
import pytest
from IPython.core.formatters import DisplayFormatter

import pmdviz
from pmdviz import question_buttons


class Kernel:
    """Enough of IPython's shell to be taken for a notebook's."""

    kernel = object()

    def __init__(self):
        self.user_ns, self.display_formatter = {}, DisplayFormatter()


@pytest.fixture
def shown(monkeypatch):
    """What is displayed, one entry each; the last one of a place that is updated is what stands there."""
    there = []

    class Place:
        def update(self, what):
            there[-1] = what

    def display(what, **_):
        there.append(what)
        return Place()

    kernel = Kernel()
    monkeypatch.setattr(question_buttons, "_ipython", lambda: kernel)
    monkeypatch.setattr(IPython.display, "display", display)
    there.clear()
    return there, kernel.user_ns


def asked(shown, *text, **choices):
    question = pmdviz.Question(*text, **choices)
    shown[1]["guess"] = question
    question.ask()
    return question, question.buttons


def test_a_click_stores_and_says_so_and_may_be_changed(shown):
    question, buttons = asked(shown, "Does $TV$ fall?", a="yes", b="no")
    text, below = shown[0]
    assert text.data == question.words and below["text/markdown"].endswith('`guess.answer("a")`')
    assert "application/vnd.jupyter.widget-view+json" in below
    assert [button.description for button in buttons.answers] == ["a", "b"]
    buttons.answers[0].click()
    assert question.stored == "a" and "Stored: a." in buttons.said.value
    buttons.answers[1].click()
    assert question.stored == "b" and [button.icon for button in buttons.answers] == ["", "check"]


def test_a_number_is_typed_and_what_is_none_is_refused_beside_it(shown):
    question, buttons = asked(shown, "How many?", unit="particles")
    assert "particles" in buttons.field.description
    buttons.field.value = "1,000"
    assert question.stored == 1000.0
    buttons.field.value = "<many>"
    assert question.stored == 1000.0 and "Not stored: the answer is a number" in buttons.said.value
    assert "<many>" not in buttons.said.value


def test_the_reveal_puts_what_was_said_in_place_of_the_buttons(shown):
    question, buttons = asked(shown, "Well?", a="yes", b="no")
    buttons.answers[0].click()
    question.reveal()
    assert shown[0][-1].data == "Your answer is stored: **a**, yes."
    buttons.answers[1].click()  # a click that was under way
    assert question.stored == "a"


def test_without_widgets_the_text_says_how(shown, monkeypatch):
    monkeypatch.setattr(question_buttons.importlib.util, "find_spec", lambda name: None)
    question, buttons = asked(shown, "Well?", a="yes", b="no")
    assert buttons is None and 'guess.answer("a")' in shown[0][-1].data
    question.answer("a").reveal()
