"""A sample of faults: statements of the present code, drawn uniformly, each with one small change."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import numpy as np

from benchmarks.faults.planting import DEFINITIONS, ROOT, Fault, dumped, header, parsed, places

FOLDERS = ("lab", "serve", "views", "scenes", "export", "experiments", "engine")
SEED, SIZE = 40, 120
NOT_DRAWN = (ast.Import, ast.ImportFrom, ast.Pass, ast.Global, ast.Nonlocal, ast.Try)
PAIRS = (
    *((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq)),
    *((ast.And, ast.Or), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
)
OTHER = dict(PAIRS) | {after: before for before, after in PAIRS}  # an operator in place of another


def drawn(seed: int = SEED, size: int = SIZE) -> list[Fault]:
    """So many faults; of a statement one of its changes."""
    rng = np.random.default_rng(seed)
    files = (path for folder in FOLDERS for path in sorted((ROOT / "pmdviz" / folder).rglob("*.py")))
    statements = [found for path in files for found in _statements(path)]
    faults: list[Fault] = []
    for k in rng.permutation(len(statements)):
        module, definition, statement, tree = statements[k]
        if changes := [*changed(header(statement))]:
            find = ast.unparse(header(statement))
            same = [within for within, _ in places(tree, definition, parsed(find))]
            nth, change = same.index(statement) + 1, changes[int(rng.integers(len(changes)))]
            faults.append(Fault(f"sample-{len(faults) + 1:03d}", f"{module}:{definition}", find, change, nth=nth))
        if len(faults) == size:
            break
    return faults


def changed(statement: ast.stmt) -> Iterator[str]:
    """Sources that differ in an operator, a number or a truth value; without any the statement does nothing.

    The characters of a string stay: only a test that pins wording would see them.
    """
    spots, original = [*ast.walk(statement)], dumped(statement)
    for k in range(len(spots)):
        copy = deepcopy(statement)
        _change([*ast.walk(copy)][k])
        if dumped(copy) != original:
            yield ast.unparse(copy)
    match statement:
        case ast.If() | ast.While():
            yield ast.unparse(statement).replace(ast.unparse(statement.test), f"not ({ast.unparse(statement.test)})", 1)
        case ast.For():
            yield f"for {ast.unparse(statement.target)} in ():\n    ..."
        case ast.Return(value=ast.expr()):
            yield "return None" if ast.unparse(statement) != "return None" else "return 0"
        case ast.Expr() | ast.AugAssign() | ast.Delete() | ast.Raise() | ast.Assert() | ast.Continue() | ast.Break():
            yield "pass"
        case ast.Assign():
            yield f"{' = '.join(map(ast.unparse, statement.targets))} = None"


def _change(node: ast.AST) -> None:
    match node:
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp() if type(node.op) in OTHER:
            node.op = OTHER[type(node.op)]()
        case ast.Compare() if type(node.ops[0]) in OTHER:
            node.ops[0] = OTHER[type(node.ops[0])]()
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant(value=int() | float()):
            node.value += 1


def _statements(path: Path) -> Iterator[tuple[str, str, ast.stmt, ast.Module]]:
    """Every statement that may be drawn: its module, the definition around it, itself, and the module's tree."""
    module = ".".join(path.relative_to(ROOT / "pmdviz").with_suffix("").parts).removesuffix(".__init__")
    tree = ast.parse(path.read_text(encoding="utf-8"))

    def visit(scope: ast.AST, definition: str) -> Iterator[tuple[str, str, ast.stmt, ast.Module]]:
        for node in ast.iter_child_nodes(scope):
            bare = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            declared = isinstance(node, ast.AnnAssign) and node.value is None
            if isinstance(node, ast.stmt) and not (bare or declared or isinstance(node, NOT_DRAWN)):
                yield module, definition, node, tree
            inner = f"{definition}.{node.name}".strip(".") if isinstance(node, DEFINITIONS) else definition
            yield from visit(node, inner)

    return visit(tree, "")
