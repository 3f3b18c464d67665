"""Anchoring a fault by module, definition and syntax, and planting it without touching any other line."""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list")


class PlaceGone(ValueError):
    """The code that a fault changes is no longer there."""


@dataclass(frozen=True)
class Fault:
    """One planted fault.

    `where` is "engine.session:Session.set": a module of the package or of `benchmarks`, and in it a function, class or
    assigned name (nothing: the whole module). `find` is the source of an expression or of a statement, compared as
    syntax; a compound statement is written with the body `...`, which matches any body. `nth` counts equal places.
    """

    name: str
    where: str
    find: str
    replace: str
    tests: tuple[str, ...] = ()
    nth: int | None = None

    @property
    def path(self) -> str:
        """The file of the module, from the root of the checkout; a package has its code in __init__.py."""
        parts = self.where.partition(":")[0].split(".")
        path = Path(*parts) if parts[0] == "benchmarks" else Path("pmdviz", *parts)
        return str(path / "__init__.py" if (ROOT / path).is_dir() else path.with_suffix(".py"))

    @property
    def folder(self) -> str:
        """The first folder or module in `where`."""
        return self.where.partition(":")[0].partition(".")[0]


def listed() -> list[Fault]:
    """The faults of the data file."""
    entries = yaml.safe_load(Path(__file__).with_name("listed.yaml").read_text(encoding="utf-8"))["faults"]
    return [Fault(name, **{**entry, "tests": tuple(entry.get("tests", ()))}) for name, entry in entries.items()]


def plant(text: str, fault: Fault) -> str:
    """The module's text with the fault in it; raises PlaceGone."""
    statement, node = place(ast.parse(text), fault)
    replace = parsed(fault.replace)
    if node is statement:
        changed = with_header(statement, replace)
    else:
        changed = _Swap(node, replace).visit(copy.deepcopy(statement))
    return _spliced(text, statement, ast.unparse(ast.fix_missing_locations(changed)))


def place(tree: ast.Module, fault: Fault) -> tuple[ast.stmt, ast.AST]:
    """The innermost statement around what a fault changes, and that node."""
    found = places(tree, fault.where.partition(":")[2], parsed(fault.find))
    if len(found) < (fault.nth or 1) or (fault.nth is None and len(found) > 1):
        raise PlaceGone(f"{fault.name}: {fault.find!r} is found {len(found)} times in {fault.where}")
    return found[(fault.nth or 1) - 1]


def places(tree: ast.Module, definition: str, wanted: ast.AST) -> list[tuple[ast.stmt, ast.AST]]:
    """All such nodes in a definition, each with the innermost statement around it."""
    scopes: list[ast.AST] = [tree]
    for name in filter(None, definition.split(".")):
        scopes = [inner for scope in scopes for inner in _named(scope, name)]
    return [pair for scope in scopes for pair in _matching(scope, dumped(wanted))]


def parsed(source: str) -> ast.AST:
    """An expression, or else a statement."""
    node = ast.parse(source).body[0]
    return node.value if isinstance(node, ast.Expr) else node


def dumped(node: ast.AST) -> str:
    """A node as text to compare; of a compound statement the header alone."""
    return ast.dump(header(node) if isinstance(node, ast.stmt) else node)


def header(statement: ast.stmt) -> ast.stmt:
    """A statement without the statements and decorators within it."""
    blocks = {name: [] for name in BLOCKS if getattr(statement, name, None) is not None}
    if "body" in blocks:
        blocks["body"] = [ast.Expr(ast.Constant(...))]
    return with_fields(statement, blocks)


def with_header(statement: ast.stmt, changed: ast.AST) -> ast.AST:
    """The changed header with the statement's own blocks, if it still is a statement that has them."""
    if not hasattr(changed, "body") or not isinstance(changed, ast.stmt):
        return changed if isinstance(changed, ast.stmt) else ast.Expr(changed)
    return with_fields(changed, {name: getattr(statement, name) for name in BLOCKS if hasattr(statement, name)})


def with_fields(node: Any, values: dict[str, Any]) -> Any:
    """A copy of a node with other fields."""
    return type(node)(**{**dict(ast.iter_fields(node)), **values}, lineno=getattr(node, "lineno", 1), col_offset=0)


def _named(scope: ast.AST, name: str) -> Iterator[ast.AST]:
    """The definitions and assignments of a name in a scope, those inside of other definitions left out."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, DEFINITIONS):
            names = [node.name]
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            names = [ast.unparse(one) for one in getattr(node, "targets", None) or [node.target]]
        else:
            yield from _named(node, name)
            continue
        if name in names:
            yield node


def _matching(scope: ast.AST, wanted: str, statement: ast.stmt | None = None) -> Iterator[tuple[ast.stmt, ast.AST]]:
    inside = scope if isinstance(scope, ast.stmt) else statement
    for node in ast.iter_child_nodes(scope):
        within = node if isinstance(node, ast.stmt) else inside
        if within is not None and dumped(node) == wanted:
            yield within, node
        else:
            yield from _matching(node, wanted, within)


class _Swap(ast.NodeTransformer):
    """Replaces the node at one position, which a copy of the tree keeps."""

    def __init__(self, find: ast.AST, replace: ast.AST) -> None:
        self.find, self.replace = ast.dump(find, include_attributes=True), replace

    def visit(self, node: ast.AST) -> ast.AST:
        same = ast.dump(node, include_attributes=True) == self.find
        return self.replace if same else self.generic_visit(node)


def _spliced(text: str, statement: ast.stmt, source: str) -> str:
    """The text with other source for one statement, which begins at its first decorator."""
    lines = text.splitlines(keepends=True)
    begin = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", []))]) - 1
    end = (statement.end_lineno or statement.lineno) - 1
    line = lines[begin].encode()
    before, after = line[: statement.col_offset].decode(), lines[end].encode()[statement.end_col_offset :].decode()
    if line[statement.col_offset :].startswith(b"elif"):
        source = "el" + source
    indented = textwrap.indent(source, " " * statement.col_offset).lstrip()
    return "".join([*lines[:begin], before, indented, after, *lines[end + 1 :]])
