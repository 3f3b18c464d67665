"""Expressions about a run: they compute what Python would, and read nothing but their own small language."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmdviz.errors import InputError
from pmdviz.expressions import LONGEST, Expression, Template
from tests.support.tables import refused


class Values:
    """A scope of plain values and rows."""

    def __init__(self, rows=(), constants=(), **values):
        self._values = values
        self.rows, self.constant = lambda: rows, lambda name: name in constants

    def value(self, name):
        if name not in self._values:
            raise InputError(f"unknown: {name}")
        return self._values[name]


ROWS = [
    {"iteration": 0, "visited": 0, "ess": 100.0, "tv": math.nan},
    {"iteration": 5, "visited": 50, "ess": 4.0, "tv": 0.5},
    {"iteration": 9, "visited": 90, "ess": 60.0, "tv": 0.25},
]
RUN = Values(ROWS, constants={"m"}, ess=60.0, tv=0.25, visited=90, m=100, caveat="all descend from 2", lost=None)


def value_of(text, scope=RUN):
    return Expression(text).value(scope)


numbers = st.integers(-9, 9) | st.floats(-9, 9, allow_nan=False).map(lambda x: round(x, 3))
leaves = numbers.map(lambda x: f"({x!r})") | st.sampled_from(["a", "b"])


def larger(inner):
    """Arithmetic made of arithmetic."""
    two = st.tuples(inner, st.sampled_from("+-*/"), inner).map("({0[0]} {0[1]} {0[2]})".format)
    called = st.tuples(st.sampled_from(["max", "min"]), inner, inner).map("{0[0]}({0[1]}, {0[2]})".format)
    return two | called | inner.map("abs({})".format) | inner.map("(-{})".format)


arithmetic = st.recursive(leaves, larger, max_leaves=8)
compared = st.tuples(arithmetic, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), arithmetic).map(" ".join)
logic = st.tuples(compared, st.sampled_from(["and", "or", "and not", "or not"]), compared).map(" ".join)


@given(arithmetic | logic, numbers, numbers)
def test_it_computes_what_python_would(text, a, b):
    if len(text) > LONGEST:
        return
    try:
        expected = eval(text, {"__builtins__": {}}, {"a": a, "b": b, "abs": abs, "max": max, "min": min})
    except ZeroDivisionError:
        expected = None
    assert value_of(text, Values(a=a, b=b)) == expected


def test_values_and_functions_over_the_history():
    for text, expected in [
        ("2 ** 3 - 1", 7.0),
        ("0.9 <= tv or 0.2 < tv <= 0.25", True),
        ("sqrt(16) + log(exp(2)) + round(1.6)", 8.0),
        ('"descend" in caveat and "zebra" not in caveat', True),
        ("not caveat", False),
        ("ess < 0.5 * m", False),
    ]:
        assert value_of(text) == pytest.approx(expected), text
    for text, expected in [
        ("lowest(ess)", 4.0),
        ("highest(ess)", 100.0),
        ("first(tv)", 0.5),  # at iteration 0 there is none
        ("ever(ess < 5)", True),
        ("always(ess > 5)", False),
        ("when(ess < 0.1 * m)", 5),
        ("when(ess < 1)", None),
        ("tv < 0.3 before visited 80", False),
        ("tv < 0.3 before visited 1_000", True),
        ("ess < 5 and tv > 0.4 before iteration 5", True),
    ]:
        assert value_of(text) == expected and Expression(text).over_history, text


def test_what_is_not_known_is_none_and_what_the_history_lacks_is_not_taken_for_every_frame():
    """The present value of a name without a column would make any goal reached at the start."""
    scope = Values(ROWS, constants={"m"}, lightest_mode=0.4, m=100)
    for text in ("lightest_mode > 0.3 before visited 10", "highest(lightest_mode)"):
        refused("the history has no lightest_mode", value_of, text, scope)
    assert not Expression("lightest_mode > 0.3").over_history
    for text in ("lost < 1", "1 / (m - 100)", "exp(1000)", "m ** 65", "log(m - 100)", "(-8) ** 0.5", "lowest(nothing)"):
        scope = Values([{"iteration": 0, "nothing": math.nan}], lost=None, m=100, nothing=1.0)
        assert value_of(text, scope) is None and not Expression(text).holds(scope)
    assert value_of("tv > 1 and lost < 1") is False  # where it does not matter it is not asked for
    assert value_of("x < 1", Values(x=math.nan)) is None


def test_everything_else_is_refused():
    for text in [
        "", "   ", "tv <", "tv = 1", "tv; ess", "import os", "lambda: 1", "[t for t in (1, 2)]", "{1: 2}", "(1, 2)",
        "tv[0]", "tv.real.imag", "().__class__", "'a'.upper()", "f'{tv}'", "tv if ess else 1", "(x := 1)", "*tv",
        "tv // 2", "tv % 2", "~ess", "tv is None", "None", "b'a'", "1j", "__import__('os')",
        "open('x')", "max()", "max(1, key=2)", "lowest(ess, tv)", "lowest()",
        "lowest(highest(ess))", "ever(when(tv < 1) > 2)", "ever(tv < 1) before visited 3",
        "lowest(ess) < 1 before visited 9",
        "+" * 300 + "1", "1 +" * 133, "9" * (LONGEST + 1), 7, None, "\x00",
    ]:  # fmt: skip
        refused("", Expression, text)
    for text in ("tw < 1", "__class__", "tv.__class__ < 1", "__name__.__dict__ == 1"):
        refused("unknown: (tw|.*__)", value_of, text, Values(tv=1))
    for text in ('"ab" * 3', '"a" + "b"', "caveat * 1000", "-caveat", '"a" ** 2', "sqrt(caveat)", "caveat < 1"):
        refused("cannot be computed", value_of, text)


@given(st.text(max_size=60))
def test_any_text_is_an_expression_or_a_sentence_says_why_not(text):
    try:
        expression = Expression(text)
    except InputError:
        return
    assert all(isinstance(name, str) for name in expression.names)


def test_names_why_and_a_sentence_with_its_numbers():
    expression = Expression('lowest(ess) < 0.1 * m and "x" in caveat and plain.tv > 0.123456')
    assert expression.names == {"ess", "m", "caveat", "plain.tv"}
    assert Expression("tv < 0.1").why(RUN) == "tv < 0.1 (tv = 0.25)" and Expression("1 < 2").why(RUN) == "1 < 2"
    template = Template("ESS fell to {100 * lowest(ess) / m:.0f} % at iteration {when(ess < 5)}, {{so}}.")
    assert template.words(RUN) == "ESS fell to 4 % at iteration 5, {so}."
    assert template.names == {"ess", "m"} and template.over_history and not Template("TV {tv}").over_history
    for text in ("{tv", "tv}", "{}", "{tv[0]}", "{tv.a.b}", "{tv!r:>{m}}"):
        refused("", lambda text=text: Template(text).words(RUN))
    refused("'lost' is not known in this run", Template("TV is {lost:.2f}.").words, RUN)
    refused("'.2q' is not a format for", Template("TV is {tv:.2q}.").words, RUN)
