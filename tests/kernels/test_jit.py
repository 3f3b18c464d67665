"""What every compiled function has in common."""

import ast
import inspect
import textwrap

import pytest
from numba.core.dispatcher import Dispatcher

from pmdviz.kernels.jit import EXP_OPTIONS, OVERLOAD
from pmdviz.kernels.models import GRADIENTS, LOG_JOINTS
from pmdviz.kernels.warmup import MODULES

COMPILED = {
    f"{item.__module__}.{name}": item
    for module in MODULES
    for name, item in vars(module).items()
    if isinstance(item, Dispatcher)
}


@pytest.mark.parametrize("name", sorted(COMPILED))
def test_a_compiled_function_is_inlined_where_another_calls_it(name):
    assert COMPILED[name].targetoptions.get("forceinline")


def test_so_are_the_functions_that_numba_picks_by_type():
    assert EXP_OPTIONS.get("forceinline")
    assert OVERLOAD.get("forceinline")


def syntax(function):
    return list(ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))))


def whole_powers(function):
    """The places where a whole number is an exponent: numba compiles them once a process, with anybody's flags."""
    powers = (node for node in syntax(function) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow))
    return [ast.unparse(node) for node in powers if isinstance(getattr(node.right, "value", 0.5), int)]


def reductions(function):
    """Sums and the like of arrays, which numba compiles in the same way."""
    called = [node.func for node in syntax(function) if isinstance(node, ast.Call)]
    names = {"sum", "mean", "prod", "var", "std", "min", "max", "cumsum", "dot"}
    return [ast.unparse(one) for one in called if isinstance(one, ast.Attribute) and one.attr in names]


@pytest.mark.parametrize("name", sorted(COMPILED))
def test_what_it_computes_does_not_depend_on_what_was_compiled_before(name):
    assert whole_powers(COMPILED[name].py_func) == []
    assert not COMPILED[name].targetoptions.get("fastmath") or reductions(COMPILED[name].py_func) == []


@pytest.mark.parametrize("function", [*LOG_JOINTS.values(), *GRADIENTS.values()], ids=lambda one: one.__module__)
def test_nor_does_a_model(function):
    assert whole_powers(function) == []


def test_powers_and_sums_are_found():
    assert whole_powers(lambda x: x**2 + x**0.5) == ["x ** 2"]
    assert reductions(lambda x: x.sum() + len(x)) == ["x.sum"]
