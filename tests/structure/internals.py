"""A reader that finds where a text asks for private parts of a library, or puts something of its own in their place."""

import ast
from collections.abc import Iterator

LIBRARIES = {"bokeh", "panel", "panel_material_ui", "tornado", "joblib", "asyncio"}
GIVEN = {"_replace", "_fields", "_asdict", "_make"}  # of named tuples
BY_NAME = {"getattr", "hasattr", "setattr", "delattr"}
SELF = {"self", "cls"}


def is_private(name: str) -> bool:
    """Whether a name begins with one underscore."""
    return name.startswith("_") and not name.startswith("__") and name != "_"


def defined(tree: ast.Module) -> set[str]:
    """Private names that a text gives to its own functions, classes, variables, and attributes of `self`."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Attribute(value=ast.Name(id=owner), attr=name, ctx=ast.Store()) if owner in SELF:
                found.add(name)
    return {name for name in found if is_private(name)}


def asked_for(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Every private name that is asked of something: x._name, getattr(x, "_name")."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=owner, attr=name):
                pass
            case ast.Call(func=ast.Name(id=function), args=[owner, ast.Constant(value=str(name)), *_]) if (
                function in BY_NAME
            ):
                pass
            case _:
                continue
        if is_private(name):
            yield owner, name


def imported(tree: ast.Module) -> dict[str, str]:
    """Names that stand for a library or for a part of one -> the library."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {
                (alias.asname or alias.name).partition(".")[0]: alias.name.partition(".")[0] for alias in node.names
            }
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            library = (node.module or "").partition(".")[0]
            found |= {alias.asname or alias.name: library for alias in node.names}
    return {name: library for name, library in found.items() if library in LIBRARIES}


def private_imports(tree: ast.Module) -> Iterator[str]:
    """Private names and modules of the libraries that are imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            library, *parts = name.split(".")
            if library in LIBRARIES and any(map(is_private, parts)):
                yield name


def replaced(tree: ast.Module) -> Iterator[str]:
    """What is put in the place of a part of a library: x.name = ..., x[:] = ..., where x was imported from it."""
    libraries = imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            root: ast.expr = node
            while isinstance(root, (ast.Attribute, ast.Subscript)):
                root = root.value
            if isinstance(root, ast.Name) and root.id in libraries:
                yield ast.unparse(node)


def package_imports(source: str) -> set[str]:
    """Modules of the package that a text imports something from."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pmdviz"):
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def complaints(source: str, inherited: set[str] | frozenset[str] = frozenset()) -> list[str]:
    """Every private part that is not the text's own; of `self` it may be one of the names that are `inherited`."""
    tree = ast.parse(source)
    own = defined(tree)
    found = [f"imports {name}" for name in private_imports(tree)]
    found += [f"replaces {what}" for what in replaced(tree)]
    for owner, name in asked_for(tree):
        plain = ast.unparse(owner)
        given = isinstance(owner, ast.Name) and owner.id in SELF
        known = inherited if plain == "super()" else own | inherited if given else own
        if name not in GIVEN and name not in known:
            found.append(f"{plain}.{name}")
    return found
