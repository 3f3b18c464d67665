"""Formulas: they are what NumPy computes of the same text, with its slopes; all else is refused and never executed."""

import builtins
import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmdviz.errors import InputError
from pmdviz.formulas import CONSTANTS, FUNCTIONS, LONGEST, Formula
from tests.support.tables import refused

NAMES = {name: getattr(np, name) for name in FUNCTIONS} | {name: np.float64(x) for name, x in CONSTANTS.items()}
POINTS = np.random.default_rng(0).uniform(-2, 2, size=(40, 2))
LEAVES = st.sampled_from(["x", "y", "pi", "e"]) | st.sampled_from([0.5, 1.0, 2.0, 3.0, 0.25]).map(str)


def _inside(parts):
    one, two = (st.sampled_from([name for name, x in FUNCTIONS.items() if len(x.slopes) == k]) for k in (1, 2))
    between = st.builds("({} {} {})".format, parts, st.sampled_from(["+", "-", "*", "/", "**"]), parts)
    called = st.builds("{}({})".format, one, parts) | st.builds("{}({}, {})".format, two, parts, parts)
    return between | called | st.builds("-{}".format, parts)


TEXTS = st.recursive(LEAVES, _inside, max_leaves=8).filter(lambda text: len(text) <= LONGEST)


def computed(text, points):
    """What NumPy makes of it, with its own numbers: Python's would become complex or raise."""
    columns = {"x": points[:, 0], "y": points[:, 1], "float64": np.float64}
    code = re.sub(r"\d+\.\d+", r"float64(\g<0>)", text)
    with np.errstate(all="ignore"):
        return np.broadcast_to(eval(code, {"__builtins__": {}}, NAMES | columns), len(points))


@given(TEXTS)
@settings(max_examples=100)
def test_the_value_is_that_of_numpy(text):
    np.testing.assert_allclose(Formula(text).value(POINTS), computed(text, POINTS), rtol=1e-12, atol=0)


@given(TEXTS)
@settings(max_examples=100)
def test_the_gradient_is_that_of_finite_differences(text):
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


def test_a_formula_is_kept_in_one_form_and_value_and_gradient_come_from_one_walk():
    formula = Formula("logaddexp(-(x - 2)**2, -x * y)")
    value, gradient = formula.value_and_gradient(POINTS)
    assert np.array_equal(value, formula.value(POINTS)) and np.array_equal(gradient, formula.gradient(POINTS))
    again = pickle.loads(pickle.dumps(formula))
    assert again == formula and np.array_equal(again.value(POINTS), value)
    assert Formula("x").dim == 1 and Formula("2").dim == 1 and Formula("y").dim == 2
    assert Formula("  -x \n *  2 ").text == Formula("-x\u00a0* 2\u2028").text == "-x * 2"
    assert Formula("1").value(np.zeros((4, 1))).tolist() == [1.0] * 4
    assert Formula("-y").gradient(np.zeros((2, 2))).tolist() == [[0.0, -1.0]] * 2


def test_slopes_at_special_points_and_where_nothing_changes():
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
    "(" * 62 + "-x" + "*-x)" * 62, "exp(" * 61 + "x" + ")" * 61, "x" + "+x" * 100, "x" * (LONGEST + 1),
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


def test_what_is_not_a_formula_gets_one_sentence_and_is_not_executed(monkeypatch):
    for text in REFUSED:
        words = refusal(text, monkeypatch)
        assert words.count("\n") == 0 and 20 < len(words) < 330, (text, words)
    for other in [None, 3, 1.5, b"x", ["x"], {"x": 1}, True, np.array(1.0), object()]:
        refused(f"a formula is a text of 1 to {LONGEST} characters", Formula, other)


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


def test_the_sentence_names_the_place():
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
