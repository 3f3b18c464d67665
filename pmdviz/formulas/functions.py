"""The functions of a formula (`pmdviz.formulas`): NumPy's, each with its partial derivatives.

Where a function has a kink its slope is the middle of those beside it, and where that is infinite it is 0, so that a
density with a peak at a kink has a gradient at its peak.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Values = np.ndarray


class Function(NamedTuple):
    """A function of one or two numbers, and its partial derivatives by the arguments and the value."""

    value: Callable[..., Values]
    slopes: tuple[Callable[..., Values], ...]  # each of (arguments ..., value)


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
