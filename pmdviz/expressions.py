"""Expressions about a run, such as `tv < 0.2 before visited 3000`: a small language of its own, read by a safe parser.

Presets and lessons state with them what a run shows. There are numbers, names, arithmetic, comparisons, `and`, `or`,
`not`, a text that is `in` another one, and the functions of FUNCTIONS and OVER_HISTORY. Nothing else is read, and
nothing is executed.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from pmdviz.errors import InputError, check_known, shown

EXAMPLE = "tv < 0.1"
LONGEST = 400  # characters: a person reads them
MOST_POWER = 64
BY_NAME: list[Callable[..., float]] = [abs, max, min, round, math.exp, math.log, math.sqrt]
FUNCTIONS = {function.__name__: function for function in BY_NAME}
Known = bool | float | str  # a value of an expression
Tree = list[Any]  # [operator or function, Tree, ...], ["name", name] or ["value", value]
SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.And: "and", ast.Or: "or",
    ast.Not: "not", ast.USub: "negative", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
    ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in",  # codespell:ignore
}  # fmt: skip


def _power(base: float, power: float) -> float:
    if abs(power) > MOST_POWER or (base < 0 and power != int(power)):
        raise NotKnown
    return float(base) ** power


OF_NUMBERS: dict[str, Callable[..., float]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": _power},
    **{"negative": operator.neg, **FUNCTIONS},
}
COMPARISONS: dict[str, Callable[..., bool]] = {
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne},
    **{"in": lambda a, b: str(a) in str(b), "not in": lambda a, b: str(a) not in str(b)},
}
BEFORE = re.compile(r"^(?P<goal>.+)\bbefore\s+(?P<clock>\w+)\s+(?P<number>[\d_]+)\s*$", re.S)


class NotKnown(Exception):
    """A value that the run does not have, such as TV without an exact posterior."""


class Scope(Protocol):
    """The values of the names in an expression."""

    def value(self, name: str) -> Known | None:
        """The value now: a number, a text, or None where the run has none. Raises InputError for an unknown name."""

    def rows(self) -> Iterable[Mapping[str, float]]:
        """The history: a mapping of names to numbers for each measured frame, the present one last."""

    def constant(self, name: str) -> bool:
        """Whether the value of a name that no row has is the same in the whole history."""


def _when(values: list[tuple[float, float]]) -> float:
    found = [iteration for iteration, holds in values if holds]
    if not found:
        raise NotKnown
    return found[0]


# Functions of a whole run; each is given pairs of iteration and value, one for every row that has a value.
OVER_HISTORY: dict[str, Callable[[list[tuple[float, float]]], float]] = {
    "lowest": lambda values: min(value for _, value in values),
    "highest": lambda values: max(value for _, value in values),
    "first": lambda values: values[0][1],
    "ever": lambda values: any(holds for _, holds in values),
    "always": lambda values: all(holds for _, holds in values),
    "when": _when,  # the first iteration at which it holds
}


@dataclass(frozen=True)
class Expression:
    """One expression, parsed. Raises InputError for a text that is not in the language.

    Parameters
    ----------
    text : str
        Such as `lowest(ess) < 0.1 * num_particles and tv > 0.3`. `GOAL before CLOCK NUMBER` is short for
        `ever((GOAL) and CLOCK <= NUMBER)`.
    """

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not 0 < len(self.text.strip()) <= LONGEST:
            raise InputError(f"an expression is a text of at most {LONGEST} characters; got {shown(self.text)}")
        _ = self.tree

    @cached_property
    def tree(self) -> Tree:
        """The expression as nested lists, which a page evaluates too."""
        found = BEFORE.match(self.text)
        text = f"ever(({found['goal']}) and {found['clock']} <= {found['number']})" if found else self.text
        try:
            parsed = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            at = f", column {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
            words = f"invalid expression: {self.text!r} ({error.args[0]}{at})"
            raise InputError(f"{words}; write one such as {EXAMPLE!r}") from None
        return _tree(parsed, self.text, inside=False)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that it uses."""
        return frozenset(parts[0] for head, *parts in _branches(self.tree) if head == "name")

    @property
    def over_history(self) -> bool:
        """Whether it is about more than the last frame."""
        return any(head in OVER_HISTORY for head, *_ in _branches(self.tree))

    def value(self, scope: Scope) -> Known | None:
        """Its value; None where the run lacks one that it needs. Raises InputError for an unknown name."""
        try:
            return _value(self.tree, scope, None)
        except NotKnown:
            return None
        except InputError:
            raise
        except (ZeroDivisionError, OverflowError, ValueError):  # the logarithm of 0
            return None
        except TypeError as error:
            raise InputError(f"{self.text!r} cannot be computed: {error}; write one such as {EXAMPLE!r}") from None

    def holds(self, scope: Scope) -> bool:
        """Whether it is true; not where it is unknown."""
        return bool(self.value(scope))

    def why(self, scope: Scope) -> str:
        """Itself and the values of its names, for a message: "tv < 0.1 (tv = 0.31)"."""
        values = ((name, scope.value(name)) for name in sorted(self.names))
        told = ", ".join(f"{name} = {f'{v:.4g}' if isinstance(v, float) else repr(v)}" for name, v in values)
        return f"{self.text} ({told})" if told else self.text


@dataclass(frozen=True)
class Template:
    """A sentence with expressions in braces: "ESS fell to {100 * lowest(ess) / num_particles:.0f} %"."""

    text: str

    def __post_init__(self) -> None:
        _ = self._parts

    @cached_property
    def _parts(self) -> list[tuple[str, str, Expression | None]]:
        try:
            parsed = [*string.Formatter().parse(self.text)]
        except ValueError as error:
            words = f"the braces of this sentence do not match: {self.text!r} ({error})"
            raise InputError(f"{words}; write each name as {{name}}, and a brace as {{{{ or }}}}") from None
        return [(words, spec or "", None if name is None else Expression(name)) for words, name, spec, _ in parsed]

    @property
    def names(self) -> frozenset[str]:
        """The names that it uses."""
        return frozenset().union(*(expression.names for _, _, expression in self._parts if expression))

    def words(self, scope: Scope) -> str:
        """The sentence with its numbers. Raises InputError where one is unknown or its format is none."""
        return "".join(words + self._number(spec, expression, scope) for words, spec, expression in self._parts)

    def _number(self, spec: str, expression: Expression | None, scope: Scope) -> str:
        if expression is None:
            return ""
        value = expression.value(scope)
        if value is None:
            words = f"{expression.text!r} is not known in this run, and the sentence needs it: {self.text!r}"
            raise InputError(f"{words}; use a name that the method has")
        try:
            return format(value, spec)
        except ValueError:
            raise InputError(f"{spec!r} is not a format for {shown(value)}, in {self.text!r}") from None


def _branches(tree: Tree) -> Iterator[Tree]:
    """A tree and every one in it."""
    yield tree
    if tree[0] not in ("name", "value"):
        for part in tree[1:]:
            yield from _branches(part)


def _tree(node: ast.expr, text: str, inside: bool) -> Tree:
    """The tree of a part of `text`, refused where it is not in the language.

    `inside` a function over the history another one is refused too.
    """
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return ["value", value]
        case ast.Name() | ast.Attribute(value=ast.Name()):  # the latter of one of several runs
            return ["name", ast.unparse(node)]
        case ast.BinOp(op=op, left=left, right=right) if type(op) in SIGNS:
            head, parts = SIGNS[type(op)], [left, right]
        case ast.UnaryOp(op=ast.USub() | ast.Not() as op, operand=operand):
            head, parts = SIGNS[type(op)], [operand]
        case ast.BoolOp(op=op, values=parts):
            head = SIGNS[type(op)]
        case ast.Compare(left=left, ops=ops, comparators=rest) if all(type(op) in SIGNS for op in ops):
            sides = [_tree(each, text, inside) for each in (left, *rest)]
            return ["and", *map(list, zip([SIGNS[type(op)] for op in ops], sides[:-1], sides[1:], strict=True))]
        case ast.Call(func=ast.Name(id=head), args=parts, keywords=[]):
            check_known("function of an expression", [head], [*FUNCTIONS, *OVER_HISTORY])
            if head in OVER_HISTORY and (inside or len(parts) != 1):
                words = f"{head}(...) takes one expression without another function over the history"
                raise InputError(f"{words}; got {text!r}")
            if not parts:
                raise InputError(f"{head}(...) needs a value; got {text!r}")
            inside = inside or head in OVER_HISTORY
        case _:
            raise InputError(f"{ast.unparse(node)!r} is not allowed in an expression; got {text!r}")
    return [head, *(_tree(part, text, inside) for part in parts)]


def _value(tree: Tree, scope: Scope, row: Mapping[str, float] | None) -> Known:
    head, *parts = tree
    if head == "value":
        return parts[0]
    if head == "name":
        return _named(parts[0], scope, row)
    if head in OVER_HISTORY:
        return OVER_HISTORY[head](_over(parts[0], scope))
    if head in OF_NUMBERS:
        return OF_NUMBERS[head](*(_number(part, scope, row) for part in parts))
    values = (_value(part, scope, row) for part in parts)
    if head in COMPARISONS:
        return COMPARISONS[head](*values)
    return not next(values) if head == "not" else all(values) if head == "and" else any(values)


def _number(tree: Tree, scope: Scope, row: Mapping[str, float] | None) -> float:
    """A value to compute with: of a text in a product a short expression could make a very long one."""
    value = _value(tree, scope, row)
    if isinstance(value, str):
        raise TypeError(f"{value!r} is a text, not a number")
    return value


def _over(tree: Tree, scope: Scope) -> list[tuple[float, float]]:
    """The values of an expression in every row that has what it needs, each with its iteration."""
    found = []
    for row in scope.rows():
        try:
            found.append((row["iteration"], _number(tree, scope, row)))
        except NotKnown:
            continue
    if not found:
        raise NotKnown
    return found


def _named(name: str, scope: Scope, row: Mapping[str, float] | None) -> Known:
    given = row or {}
    value = given[name] if name in given else scope.value(name)
    if row is not None and name not in row and not scope.constant(name):  # it would be called for every frame
        outside = f"{', '.join(OVER_HISTORY)} and `before`"
        raise InputError(f"the history has no {name}: move it outside {outside}, of the last frame")
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise NotKnown
    return value
