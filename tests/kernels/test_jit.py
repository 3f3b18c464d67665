"""What every compiled function has in common."""

import ast
import inspect
import textwrap

from numba.core.dispatcher import Dispatcher

from pmdviz.kernels.groups import compiled_modules
from pmdviz.kernels.jit import EXP_OPTIONS, OVERLOAD
from pmdviz.kernels.models import GRADIENTS, LOG_JOINTS

REDUCTIONS = {"sum", "mean", "prod", "var", "std", "min", "max", "cumsum", "dot"}


def whole_powers(nodes):
    """The places where a whole number is an exponent: numba compiles them once a process, with anybody's flags."""
    powers = (node for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow))
    return [ast.unparse(node) for node in powers if isinstance(getattr(node.right, "value", 0.5), int)]


def reductions(nodes):
    """Sums and the like of arrays, which numba compiles in the same way."""
    called = (node.func for node in nodes if isinstance(node, ast.Call))
    return [ast.unparse(one) for one in called if isinstance(one, ast.Attribute) and one.attr in REDUCTIONS]


def faults_of(source, options):
    nodes = list(ast.walk(ast.parse(textwrap.dedent(source))))
    faults = [] if options.get("forceinline") else ["not inlined where another function calls it"]
    return faults + whole_powers(nodes) + (reductions(nodes) if options.get("fastmath") else [])


def test_no_compiled_function_depends_on_what_was_compiled_before():
    found = {
        f"{item.__module__}.{item.__name__}": (item.py_func, item.targetoptions)
        for module in compiled_modules()
        for item in vars(module).values()
        if isinstance(item, Dispatcher)
    }
    found |= {
        f"{one.__module__}.{one.__name__}": (one, OVERLOAD) for one in (*LOG_JOINTS.values(), *GRADIENTS.values())
    }
    assert len(found) > 200
    faults = {name: faults_of(inspect.getsource(function), options) for name, (function, options) in found.items()}
    assert {name: words for name, words in faults.items() if words} == {}
    assert EXP_OPTIONS["forceinline"]
