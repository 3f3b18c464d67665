"""How a fault is anchored and planted: by module, definition and syntax, so that no rewording of the lines matters."""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Fault:
    """One planted fault: what is changed, where ("engine.session:Session.set"), and the tests that must then fail.

    Where is a module of the package, or of `benchmarks`, and in it, perhaps after dots, a function, class or assigned name. What to find
    there is an expression or a statement as source text, which is compared as syntax.
    """

    name: str
    where: str
    find: str
    replace: str
    tests: tuple[str, ...]

    @classmethod
    def of(cls, name: str, where: str, find: str, replace: str, *tests: str) -> "Fault":
        """A fault and the tests that see it, as "kernels/test_kde" or "test_knobs::test_one"."""
        parts = [test.partition("::") for test in tests]
        return cls(name, where, find, replace, tuple(f"tests/{path}.py{mark}{test}" for path, mark, test in parts))

    def file(self, root: Path = ROOT) -> Path:
        """Return the file of the module; a module may have become a package."""
        parts = self.where.partition(":")[0].split(".")
        path = root.joinpath(*parts) if parts[0] == "benchmarks" else root.joinpath("pmdviz", *parts)
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def planted(text: str, fault: Fault) -> str:
    """Return the module's text with the fault in it; ValueError unless that has exactly one place."""
    tree = ast.parse(text)
    scope: ast.AST = tree
    for name in fault.where.partition(":")[2].split("."):
        scope = _only(list(_named(scope, name)), fault, name)
    swap = _Swap(*_parsed(fault.find, fault.replace))
    swap.generic_visit(scope)
    _only(swap.found, fault, fault.find)
    return ast.unparse(ast.fix_missing_locations(tree))


def _parsed(find: str, replace: str) -> tuple[ast.AST, ast.AST]:
    """Both as expressions, or else both as statements."""
    try:
        return ast.parse(find, mode="eval").body, ast.parse(replace, mode="eval").body
    except SyntaxError:
        return ast.parse(find).body[0], ast.parse(replace).body[0]


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


def _only(found: list[ast.AST], fault: Fault, wanted: str) -> ast.AST:
    if len(found) != 1:
        raise ValueError(f"{fault.name}: {wanted!r} is found {len(found)} times in {fault.where}, not once")
    return found[0]


class _Swap(ast.NodeTransformer):
    """Puts one piece of syntax in the place of another."""

    def __init__(self, find: ast.AST, replace: ast.AST) -> None:
        self.wanted, self.replace, self.found = ast.dump(find), replace, []

    def visit(self, node: ast.AST) -> ast.AST:
        if ast.dump(node) != self.wanted:
            return self.generic_visit(node)
        self.found.append(node)
        return copy.deepcopy(self.replace)
