"""Expressions of presets and formulas of densities, and what is wrong with a text."""

import builtins
import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmdviz import formulas
from pmdviz.errors import InputError
from pmdviz.expressions import LONGEST, Expression, Template
from pmdviz.formulas import CONSTANTS, FUNCTIONS, Formula
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


def test_everything_else_is_refused_and_names_and_numbers_are_in_sentences():
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
    expression = Expression('lowest(ess) < 0.1 * m and "x" in caveat and plain.tv > 0.123456')
    assert expression.names == {"ess", "m", "caveat", "plain.tv"}
    assert Expression("tv < 0.1").why(RUN) == "tv < 0.1 (tv = 0.25)" and Expression("1 < 2").why(RUN) == "1 < 2"
    template = Template("ESS fell to {100 * lowest(ess) / m:.0f} % at iteration {when(ess < 5)}, {{so}}.")
    assert template.words(RUN) == "ESS fell to 4 % at iteration 5, {so}."
    assert template.names == {"ess", "m"}
    for text in ("{tv", "tv}", "{}", "{tv[0]}", "{tv.a.b}", "{tv!r:>{m}}"):
        refused("", lambda text=text: Template(text).words(RUN))
    refused("'lost' is not known in this run", Template("TV is {lost:.2f}.").words, RUN)
    refused("'.2q' is not a format for", Template("TV is {tv:.2q}.").words, RUN)


@given(st.text(max_size=60))
def test_any_text_is_an_expression_or_a_sentence_says_why_not(text):
    try:
        expression = Expression(text)
    except InputError:
        return
    assert all(isinstance(name, str) for name in expression.names)


NAMES = {name: getattr(np, name) for name in FUNCTIONS} | {name: np.float64(x) for name, x in CONSTANTS.items()}
POINTS = np.random.default_rng(0).uniform(-2, 2, size=(40, 2))
LEAVES = st.sampled_from(["x", "y", "pi", "e"]) | st.sampled_from([0.5, 1.0, 2.0, 3.0, 0.25]).map(str)


def _inside(parts):
    one, two = (st.sampled_from([name for name, x in FUNCTIONS.items() if len(x.slopes) == k]) for k in (1, 2))
    between = st.builds("({} {} {})".format, parts, st.sampled_from(["+", "-", "*", "/", "**"]), parts)
    called = st.builds("{}({})".format, one, parts) | st.builds("{}({}, {})".format, two, parts, parts)
    return between | called | st.builds("-{}".format, parts)


TEXTS = st.recursive(LEAVES, _inside, max_leaves=8).filter(lambda text: len(text) <= formulas.LONGEST)


def computed(text, points):
    """What NumPy makes of it, with its own numbers: Python's would become complex or raise."""
    columns = {"x": points[:, 0], "y": points[:, 1], "float64": np.float64}
    code = re.sub(r"\d+\.\d+", r"float64(\g<0>)", text)
    with np.errstate(all="ignore"):
        return np.broadcast_to(eval(code, {"__builtins__": {}}, NAMES | columns), len(points))


@given(TEXTS)
@settings(max_examples=100)
def test_value_and_gradient_are_those_of_numpy_and_of_finite_differences(text):
    np.testing.assert_allclose(Formula(text).value(POINTS), computed(text, POINTS), rtol=1e-12, atol=0)
    formula = Formula(text)
    found = formula.gradient(POINTS)
    assert found.shape == (len(POINTS), formula.dim)
    for k in range(formula.dim):
        wide, narrow = (_difference(formula, k, step) for step in (2e-5, 1e-5))
        # Where the two differ there is a kink, an edge or a pole; of large values the digits of a difference are lost.
        with np.errstate(invalid="ignore"):  # of values beyond the largest number
            smooth = np.abs(wide - narrow) < 1e-6 * (1 + np.abs(narrow))
        smooth &= (np.abs(formula.value(POINTS)) < 1e3) & (np.abs(narrow) < 1e3)
        np.testing.assert_allclose(found[smooth, k], narrow[smooth], rtol=1e-4, atol=1e-4)


def _difference(formula, k, step):
    shift = step * np.eye(2)[k]
    with np.errstate(all="ignore"):
        return (formula.value(POINTS + shift) - formula.value(POINTS - shift)) / (2 * step)


def test_a_formula_has_one_form_and_slopes_also_at_special_points():
    formula = Formula("logaddexp(-(x - 2)**2, -x * y)")
    value, gradient = formula.value_and_gradient(POINTS)
    assert np.array_equal(value, formula.value(POINTS)) and np.array_equal(gradient, formula.gradient(POINTS))
    again = pickle.loads(pickle.dumps(formula))
    assert again == formula and np.array_equal(again.value(POINTS), value)
    assert Formula("x").dim == 1 and Formula("2").dim == 1 and Formula("y").dim == 2
    assert Formula("  -x \n *  2 ").text == Formula("-x\u00a0* 2\u2028").text == "-x * 2"
    assert Formula("1").value(np.zeros((4, 1))).tolist() == [1.0] * 4
    assert Formula("-y").gradient(np.zeros((2, 2))).tolist() == [[0.0, -1.0]] * 2
    for text, at, slope in [
        *(("abs(x)", 0.0, 0.0), ("hypot(x, 0)", 0.0, 0.0), ("sqrt(square(x))", 0.0, 0.0), ("maximum(x, 0)", 0.0, 0.5)),
        *(("minimum(x, 0)", 0.0, 0.5), ("x**0", 0.0, 0.0), ("x**1", 0.0, 1.0), ("x**2", 0.0, 0.0), ("x**x", 1.0, 1.0)),
        *(("(-2 * x)**2", 1.5, 12.0), ("3 / x", 2.0, -0.75)),
        *(("x ** maximum(x, 1.0)", -2.0, 1.0), ("x ** maximum(x, 1.0)", -0.5, 1.0)),
        *(("1.0 ** (x ** x)", -0.5, 0.0), ("1.0 ** (x ** x)", 2.0, 0.0)),  # 1 to the power of what is no number is 1
    ]:
        assert Formula(text).gradient(np.array([[at]]))[0, 0] == pytest.approx(slope, abs=1e-12), text


REFUSED = [
    # Names, attributes and what they lead to; calls of what is no function of ours.
    "__import__('os')", "__import__(x)", "__builtins__", "open(x)", "eval(x)", "os", "x.real", "x.__class__",
    "exp.__globals__", "().__class__", "np.exp(x)", "1.real", "1..real", "getattr(x, y)", "print(x)", "z", "E",
    "Exp(x)", "exp(x)(y)", "x(y)", "(x + y)(x)", "exp(exp)(x)", "exp(exp)", "exp", "exp()", "exp(x, y)",
    "hypot(x)", "hypot(x, y, x)", "pi(x)", "exp(*x)", "exp(**x)", "exp(x=x)", "exp((x, y))",
    # What else Python has.
    "lambda: x", "(lambda x: x)(y)", "[x for x in y]", "{x: y}", "exp(x for x in y)", "x if y else x", "x and y",
    "not x", "x < y", "x is y", "x in y", "(x := y)", "x = 1", "x += 1", "x; y", "x, y", "()", "[]", "{}", "x[0]",
    "x[:]", "...", "None", "True", "await x", "(yield)", "import os", "del x", "return x", "def f(x): return x",
    "with x: y", "@x", "x @ y", "x // y", "x % y", "x & y", "x << y", "~x", "x # y", "x \\ y", "*x", "x->y", "x!",
    "$x", "`x`", "x'", '"x"', "b'x'", "f'{exit()}'", "'''x'''", "'x' * 9", "'%s' % x", "'{}'.format(x)",
    # Numbers that are none.
    "1j", "0x10", "1_000", "1if x else y", "1/2x", "x / 2 (y)", "1e400", "9" * 400, "1.2.3", "1e", "٣", "１", "007",
    # Brackets and depth.
    "", "\n\t", "(", ")", "x)", "((x)", "x +", "* x", "x y", "exp(,)", "(" * 240 + "x", "-" * 480 + "x",
    "(" * 62 + "-x" + "*-x)" * 62, "exp(" * 61 + "x" + ")" * 61, "x" + "+x" * 100, "x" * (formulas.LONGEST + 1),
    # Look-alikes and what is not to be seen.
    "ｅxp(x)", "еxp(x)", "ｘ", "𝐞𝐱𝐩(x)", "ℯ", "x²", "x − y", "√x", "（x）", "x\u200b", "\u202ex", "x\x00", "\ufeffx",
    "\ud800", "x^^2", "|x|", "x≤y", "x\u037e y", "<script>alert(1)</script>", "{{7*7}}", "${x}", "%s%n",
]  # fmt: skip  # noqa: RUF001


def refusal(text, monkeypatch):
    """The sentence, while whatever would execute something fails."""

    def executed(*_args, **_more):
        raise AssertionError("something was executed")

    with monkeypatch.context() as patch:
        for name in ("eval", "exec", "open", "print", "input", "breakpoint", "__import__"):  # pytest imports till then
            patch.setattr(builtins, name, executed)
        try:
            Formula(text)
        except InputError as error:
            return str(error)
    return ""


def test_what_is_not_a_formula_gets_one_sentence_that_names_the_place(monkeypatch):
    for text in REFUSED:
        words = refusal(text, monkeypatch)
        assert words.count("\n") == 0 and 20 < len(words) < 330, (text, words)
    for other in [None, 3, 1.5, b"x", ["x"], {"x": 1}, True, np.array(1.0), object()]:
        refused(f"a formula is a text of 1 to {formulas.LONGEST} characters", Formula, other)
    for text, words in [
        ("x + foo", "'foo', at character 5, is not known: a formula is made of x, y, numbers, pi, e,"),
        ("x + cosine(x)", "'cosine', at character 5, is not a function of a formula"),
        ("x²", r"'²', at character 2, is not allowed; write a square \*\*2"),
        ("3 + 1_0", r"'1_', at character 5, is not a number; write a product as 2 \* x"),
        ("3 + 1/2x", r"'2x', at character 7, may be below the line or not: use brackets"),
        ("exp(x, y)", r"'exp\(x, y\)', at character 1, must have 1 value in its brackets, and has 2"),
        ("1 - hypot", r"'hypot', at character 5, is a function: write hypot\(x, y\)"),
        ("x + (y", "is not a formula: '\\(' was never closed, at character 5"),
        ("exp(" * 61 + "x" + ")" * 61, "at character 245, is more than 60 operations deep inside others"),
    ]:
        refused(words, Formula, text)


def test_texts_are_read_as_people_write_them_numbers_are_floats_and_undefined_values_nan():
    points = np.array([[0.5, -1.5], [2.0, 0.25]])
    for text, plain in {
        "-x^2 - 3y": "-x**2 - 3 * y",
        "2(x + 1) - 2pi * x^2": "2 * (x + 1) - 2 * pi * x**2",
        "1e3x": "1e3 * x",
        "3.5exp(-x)": "3.5 * exp(-x)",
        "0.5 y ^ 2 - 2 x": "0.5 * y ** 2 - 2 * x",
    }.items():
        found = Formula(text)
        np.testing.assert_array_equal(found.value(points), Formula(plain).value(points))
        assert Formula(found.text).text == found.text, text
    refused("at most 500 characters, written with", Formula, "+".join(["x^2"] * 124))
    assert Formula("9**9**9").value(np.zeros((1, 1)))[0] == math.inf
    assert Formula("exp(" * 59 + "-x" + ")" * 59).value(np.zeros((1, 1)))[0] == math.inf, "sixty deep is allowed"
    found = Formula("log(x) + 0 / x").value(np.array([[-1.0], [0.0], [1.0]]))  # any warning is an error here
    assert np.isnan(found[:2]).all() and found[2] == 0
    assert Formula("2**-1 + 7 / 2").value(np.zeros((1, 1)))[0] == 4.0
    assert Formula("1e3 + .5 + 2.").value(np.zeros((3, 1))).tolist() == [1002.5] * 3
