"""A log density typed as a formula, such as `-hypot(x, y)**2 / 2`: parsed by a whitelist, computed with its gradient.

There are the coordinates x and y, numbers, pi and e, + - * / ** (or ^), 3y for 3 * y, and NumPy's functions of
FUNCTIONS. Nothing else is read, and nothing is executed: the tree is walked, and each function says its own derivative.
Every number is a float, so 9**9**9 is infinite at once.
"""

from __future__ import annotations

import ast
import difflib
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pmdviz.errors import InputError, shown

Values = np.ndarray | np.float64


class Function(NamedTuple):
    """A function of one or two numbers, and its partial derivatives by the arguments and the value."""

    value: Callable[..., Values]
    slopes: tuple[Callable[..., Values | float], ...]  # each of (arguments ..., value)


def _or_zero(zero: Values, otherwise: Values) -> Values:
    return np.where(zero, 0.0, otherwise)


def _first_is_larger(a: Values, b: Values, _: Values) -> Values:
    return np.where(a == b, 0.5, a > b)


def _second_is_larger(a: Values, b: Values, value: Values) -> Values:
    return 1 - _first_is_larger(a, b, value)


FUNCTIONS: dict[str, Function] = {
    "exp": Function(np.exp, (lambda a, v: v,)),
    "expm1": Function(np.expm1, (lambda a, v: v + 1,)),
    "log": Function(np.log, (lambda a, v: 1 / a,)),
    "log1p": Function(np.log1p, (lambda a, v: 1 / (1 + a),)),
    "sqrt": Function(np.sqrt, (lambda a, v: _or_zero(v == 0, 0.5 / v),)),
    "square": Function(np.square, (lambda a, v: 2 * a,)),
    "sin": Function(np.sin, (lambda a, v: np.cos(a),)),
    "cos": Function(np.cos, (lambda a, v: -np.sin(a),)),
    "tan": Function(np.tan, (lambda a, v: 1 + v**2,)),
    "sinh": Function(np.sinh, (lambda a, v: np.cosh(a),)),
    "cosh": Function(np.cosh, (lambda a, v: np.sinh(a),)),
    "tanh": Function(np.tanh, (lambda a, v: 1 - v**2,)),
    "arctan": Function(np.arctan, (lambda a, v: 1 / (1 + a**2),)),
    "abs": Function(np.abs, (lambda a, v: np.sign(a),)),
    "hypot": Function(np.hypot, (lambda a, b, v: _or_zero(v == 0, a / v), lambda a, b, v: _or_zero(v == 0, b / v))),
    "maximum": Function(np.maximum, (_first_is_larger, _second_is_larger)),
    "minimum": Function(np.minimum, (_second_is_larger, _first_is_larger)),
    "logaddexp": Function(np.logaddexp, (lambda a, b, v: np.exp(a - v), lambda a, b, v: np.exp(b - v))),
}


def _slope_of_base(a: Values, b: Values, _: Values) -> Values:
    return _or_zero(b == 0, b * np.power(a, b - 1))


def _slope_of_exponent(a: Values, _: Values, value: Values) -> Values:
    return _or_zero(value == 0, value * np.log(a))


NEGATIVE = Function(np.negative, (lambda a, v: -1.0,))
OPERATORS: dict[type, Function] = {
    ast.Add: Function(np.add, (lambda a, b, v: 1.0, lambda a, b, v: 1.0)),
    ast.Sub: Function(np.subtract, (lambda a, b, v: 1.0, lambda a, b, v: -1.0)),
    ast.Mult: Function(np.multiply, (lambda a, b, v: b, lambda a, b, v: a)),
    ast.Div: Function(np.divide, (lambda a, b, v: 1 / b, lambda a, b, v: -v / b)),
    ast.Pow: Function(np.power, (_slope_of_base, _slope_of_exponent)),
}


LONGEST = 500  # characters
DEEPEST = 60  # operations inside one another
COORDINATES = ("x", "y")
CONSTANTS = {"pi": math.pi, "e": math.e}
STRANGE = re.compile(r"[^A-Za-z0-9_.+\-*/(), ]")  # whatever else Python may read, such as quotes and other alphabets
WRITTEN = {"[": "brackets ( )", "{": "brackets ( )", "π": "pi as pi", "²": "a square **2"}
WRITTEN |= dict.fromkeys("−–", "a minus -") | dict.fromkeys("×·⋅", "a product *") | {"=": "the value alone"}  # noqa: RUF001
TOKENS = re.compile(r"[A-Za-z_]\w*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
MADE_OF = f"a formula is made of x, y, numbers, pi, e, + - * / ** or ^, brackets and {', '.join(FUNCTIONS)}"


class Dual(NamedTuple):
    """A value, and its derivative by each coordinate; None where it does not depend on it."""

    value: Values
    slopes: tuple[Values | None, ...]


@dataclass(frozen=True)
class Formula:
    """A function of x, or of x and y, with its gradient. Raises InputError for any other text.

    Parameters
    ----------
    text : str
        Such as `logaddexp(-(x - 2)**2, -(x + 2)**2)`; kept with single spaces.
    """

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip() or len(self.text) > LONGEST:
            raise InputError(f"a formula is a text of 1 to {LONGEST} characters; got {shown(self.text)}")
        text = " ".join(self.text.split()).replace("^", "**")
        _check_characters(text)
        text = TOKENS.sub(_with_product, text)
        if len(text) > LONGEST:
            raise InputError(f"a formula has at most {LONGEST} characters, written with * and **; this one {len(text)}")
        object.__setattr__(self, "text", text)
        _check(self.tree, self.text, 0)

    @cached_property
    def tree(self) -> ast.expr:
        """The parsed tree; a page interprets the same tree."""
        try:
            return ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            raise InputError(f"{shown(self.text)} is not a formula: {error.msg}{_at(error.offset)}") from None
        except (ValueError, RecursionError, MemoryError):
            raise InputError(f"{shown(self.text)} is not a formula: use fewer brackets inside brackets") from None

    @cached_property
    def dim(self) -> int:
        """2 where y is in it, else 1."""
        names = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        return 2 if "y" in names else 1

    def value(self, points: np.ndarray) -> np.ndarray:
        """(m, d) -> (m,); NaN where it is undefined."""
        return self._walked(points, 0).value + np.zeros(len(points))

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """(m, d) -> (m, d)."""
        return self.value_and_gradient(points)[1]

    def value_and_gradient(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(m, d) -> (m,) and (m, d), in one walk."""
        found, zeros = self._walked(points, self.dim), np.zeros(len(points))
        return found.value + zeros, np.column_stack([zeros if s is None else s + zeros for s in found.slopes])

    def _walked(self, points: np.ndarray, slopes: int) -> Dual:
        """With the derivatives by the first coordinates, so many of them."""
        points, ones = np.asarray(points, dtype=float), np.ones(len(points))
        columns = {
            name: Dual(points[:, k], tuple(ones if j == k else None for j in range(slopes)))
            for k, name in enumerate(COORDINATES[: self.dim])
        }
        with np.errstate(all="ignore"):
            return _computed(self.tree, columns, slopes)


def _at(offset: int | None) -> str:
    return f", at character {offset}" if offset else ""


def _check_characters(text: str) -> None:
    found = STRANGE.search(text)
    if found is not None:
        advice = f"write {WRITTEN[found[0]]}" if found[0] in WRITTEN else MADE_OF
        raise InputError(f"{shown(found[0])}{_at(found.start() + 1)}, is not allowed; {advice}")


def _with_product(found: re.Match[str]) -> str:
    """A number before a name or a bracket times it: 3y is 3 * y. Raises InputError for 1/2x, which has two readings."""
    before, after = found.string[: found.start()].rstrip(), found.string[found.end() :]
    number = found[0][0] in ".0123456789"
    if number and re.match(r"[_.]|[eE]\b", after):  # Python would read 1_000
        words = f"{shown(found[0] + after[:1])}{_at(found.start() + 1)}, is not a number; write a product as 2 * x"
        raise InputError(words)
    after = after.lstrip()
    follows = after[:1] == "(" or (after[:1].isalpha() and not re.match(r"[eE]\b", after))  # 1e wants its exponent
    if not number or not follows:
        return found[0]
    if before.endswith("/"):
        words = f"{shown(found[0] + after[:1])}{_at(found.start() + 1)}, may be below the line or not: use brackets"
        raise InputError(words)
    return f"{found[0]} * " if found.string[found.end()] != " " else f"{found[0]} *"


def _check(node: ast.expr, text: str, depth: int) -> None:
    """Refuse whatever is not in the language."""
    if depth > DEEPEST:
        raise _refused(node, text, f"is more than {DEEPEST} operations deep inside others")
    children: Sequence[ast.expr] = ()
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            if abs(value) > sys.float_info.max:
                raise _refused(node, text, "is too large a number: it must be below 1e308")
        case ast.Name(id=name) if name in FUNCTIONS:
            given = ", ".join(COORDINATES[: len(FUNCTIONS[name].slopes)])
            raise _refused(node, text, f"is a function: write {name}({given})")
        case ast.Name(id=name):
            if name not in COORDINATES and name not in CONSTANTS:
                raise _refused(node, text, f"is not known: {MADE_OF}")
        case ast.BinOp(op=op, left=left, right=right) if type(op) in OPERATORS:
            children = [left, right]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            children = [operand]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            wanted, children = len(FUNCTIONS[name].slopes), args
            if len(args) != wanted:
                words = f"must have {wanted} value{'s' * (wanted > 1)} in its brackets, and has {len(args)}"
                raise _refused(node, text, words)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name not in (*COORDINATES, *CONSTANTS):
            near = difflib.get_close_matches(name, FUNCTIONS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the functions are {', '.join(FUNCTIONS)}"
            raise _refused(node.func, text, f"is not a function of a formula; {hint}")
        case ast.Call(keywords=[]):
            raise _refused(node, text, "is not a product: write * between the two")
        case _:
            raise _refused(node, text, f"is not allowed: {MADE_OF}")
    for child in children:
        _check(child, text, depth + 1)


def _refused(node: ast.expr, text: str, why: str) -> InputError:
    part = text[node.col_offset : node.end_col_offset]
    return InputError(f"{shown(part)}{_at(node.col_offset + 1)}, {why}")


def _computed(node: ast.expr, columns: dict[str, Dual], slopes: int) -> Dual:
    match node:
        case ast.Constant(value=int() | float() as value):
            return Dual(np.float64(value), (None,) * slopes)
        case ast.Name(id=name):
            return columns[name] if name in columns else Dual(np.float64(CONSTANTS[name]), (None,) * slopes)
        case ast.UnaryOp(op=op, operand=operand):
            inner = _computed(operand, columns, slopes)
            return inner if isinstance(op, ast.UAdd) else _chained(NEGATIVE, [inner])
        case ast.BinOp(op=op, left=left, right=right):
            return _chained(OPERATORS[type(op)], [_computed(left, columns, slopes), _computed(right, columns, slopes)])
        case ast.Call(func=ast.Name(id=name), args=args):
            return _chained(FUNCTIONS[name], [_computed(each, columns, slopes) for each in args])
    raise AssertionError(f"checked before: {ast.dump(node)}")


def _chained(function: Function, arguments: list[Dual]) -> Dual:
    """The chain rule: the slope by a coordinate is the sum over the arguments of partial derivative times slope."""
    values = [argument.value for argument in arguments]
    value = function.value(*values)
    slopes: list[Values | None] = [None] * len(arguments[0].slopes)
    for argument, partial in zip(arguments, function.slopes, strict=True):
        if any(slope is not None for slope in argument.slopes):
            by_argument = partial(*values, value)
            for k, slope in enumerate(argument.slopes):
                if slope is not None:
                    # A factor of 0 leaves nothing, even where the other factor does not exist.
                    nothing = np.equal(slope, 0) | np.equal(by_argument, 0)
                    part, before = np.where(nothing, 0.0, by_argument * slope), slopes[k]
                    slopes[k] = part if before is None else before + part
    return Dual(value, tuple(slopes))
