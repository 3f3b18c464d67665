"""A sample of faults: statements drawn uniformly, changed by mutmut's operators.

Operators that alter the characters of a string are left out: only a test that pins wording would see them. Where mutmut
offers no change, the statement is deleted, its condition negated, or its loop skipped.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.faults.planting import DEFINITIONS, ROOT, dumped, header, parsed, places

FOLDERS = ("lab", "serve", "views", "scenes", "export", "experiments", "engine")
SEED, SIZE = 40, 120
NOT_DRAWN = (ast.Import, ast.ImportFrom, ast.Pass, ast.Global, ast.Nonlocal, ast.Try)


def draw(seed: int = SEED, size: int = SIZE, root: Path = ROOT) -> dict[str, dict[str, Any]]:
    """Draw `size` faults as entries of the data file."""
    rng = np.random.default_rng(seed)
    statements = [found for path in _files(root) for found in _statements(root, path)]
    faults: dict[str, dict[str, Any]] = {}
    for k in rng.permutation(len(statements)):
        module, definition, statement, tree = statements[k]
        changes = changed(header(statement))
        if not changes:
            continue
        find, replace = ast.unparse(header(statement)), changes[int(rng.integers(len(changes)))]
        same = [within for within, _ in places(tree, definition, parsed(find))]
        nth = {"nth": same.index(statement) + 1} if len(same) > 1 else {}
        faults[f"sample-{len(faults) + 1:03d}"] = {
            "where": f"{module}:{definition}",
            "find": find,
            "replace": replace,
            **nth,
        }
        if len(faults) == size:
            break
    return faults


def text(faults: dict[str, dict[str, Any]]) -> str:
    """The data file of faults, with how it was made."""
    about = f"# {len(faults)} faults drawn with seed {SEED} by `python -m benchmarks.faults draw` (see sample.py).\n"
    return about + yaml.safe_dump({"faults": faults}, sort_keys=False, width=118, allow_unicode=True)


def changed(statement: ast.stmt) -> list[str]:
    """The sources that mutmut makes of one statement, and if there are none what a fault of its kind would be."""
    original = dumped(statement)
    found = {dumped(parsed(text)): text for text in _mutations(ast.unparse(statement))}
    found.pop(original, None)
    return list(found.values()) or _plain(statement)


def _mutations(source: str) -> Iterator[str]:
    # Only here: drawing needs mutmut, planting does not.
    import libcst as cst
    from mutmut.mutation.mutators import mutation_operators, operator_string

    tree = cst.parse_module(source)

    def visit(node: cst.CSTNode) -> Iterator[str]:
        if isinstance(node, (cst.Annotation, cst.Decorator)):
            return
        for kind, operator in mutation_operators:
            if isinstance(node, kind) and operator is not operator_string:
                for made in operator(node):
                    yield tree.deep_replace(node, made).code.strip()
        for child in node.children:
            yield from visit(child)

    for text in visit(tree):
        try:
            yield ast.unparse(ast.parse(text))
        except SyntaxError:  # such as a keyword argument without its value
            continue


def _plain(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.If() | ast.While():
            return [
                ast.unparse(statement).replace(ast.unparse(statement.test), f"not ({ast.unparse(statement.test)})", 1)
            ]
        case ast.For():
            return [f"for {ast.unparse(statement.target)} in ():\n    ..."]
        case ast.Return(value=ast.expr()):
            return ["return None"] if ast.unparse(statement) != "return None" else ["return 0"]
        case _ if hasattr(statement, "body") or isinstance(statement, ast.Match):
            return []
    return ["pass"]


def _files(root: Path) -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((root / "pmdviz" / folder).rglob("*.py"))]


def _statements(root: Path, path: Path) -> list[tuple[str, str, ast.stmt, ast.Module]]:
    """Every statement that may be drawn: its module, the definition around it, itself, and the module's tree."""
    parts = path.relative_to(root / "pmdviz").with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []

    def visit(scope: ast.AST, definition: str) -> None:
        for node in ast.iter_child_nodes(scope):
            if isinstance(node, ast.stmt) and _may_be_drawn(node):
                found.append((module, definition, node, tree))
            visit(node, f"{definition}.{node.name}".strip(".") if isinstance(node, DEFINITIONS) else definition)

    visit(tree, "")
    return found


def _may_be_drawn(node: ast.stmt) -> bool:
    bare = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return not (bare or isinstance(node, NOT_DRAWN) or (isinstance(node, ast.AnnAssign) and node.value is None))
