"""The levels of the package, and a reader of imports that holds a source text against them."""

import ast
from typing import NamedTuple

LEVELS = {
    "data": 0, "errors": 0, "files": 0, "kernels": 0, "version": 0,
    "densities": 1, "expressions": 1, "formulas": 1, "knobs": 1, "limits": 1, "targets": 1,
    "methods": 2,
    "metrics": 3,
    "engine": 4,
    "experiments": 5, "presets": 5,
    "lessons": 6, "scenes": 6,
    "views": 7,
    "export": 8,
    "essay": 9, "lab": 9, "question_buttons": 9,
    "__init__": 10, "__main__": 10, "api": 10, "app": 10, "cli": 10, "docs_site": 10, "panel_plugin": 10, "serve": 10,
}  # fmt: skip
TOP = 10
# What a lower level may ask of a higher one, when it is called: `run.export` and its like.
EXCEPTIONS = {
    ("pmdviz.engine.run", "pmdviz.export.export"),
    ("pmdviz.experiments.race.result", "pmdviz.export.export"),
    ("pmdviz.lessons.questions", "pmdviz.question_buttons.show"),
}

# The lowest level at which a library of others may appear. The engine (levels 0 to 6) knows no GUI.
LOWEST = {
    "param": 1,
    "contourpy": 6,
    "bokeh": 7,
    "PIL": 8, "imageio_ffmpeg": 8, "matplotlib": 8,
    "IPython": 9, "anywidget": 9, "ipywidgets": 9, "jupyter_bokeh": 9, "panel": 9, "pyviz_comms": 9, "tornado": 9,
    "panel_material_ui": 10, "playwright": 10,
    "PyQt5": 11, "PyQt6": 11, "PySide6": 11, "tkinter": 11,
}  # fmt: skip
HOME_ONLY = {"numba": "kernels", "llvmlite": "kernels"}


class Import(NamedTuple):
    """One import: the dotted name asked for (None where the text does not tell), and its line."""

    name: str | None
    line: int


def level_of(module: str) -> int:
    """Level of `pmdviz.x.y`; a name that is no module of the table comes out of `pmdviz/__init__.py`."""
    parts = module.split(".")
    return LEVELS.get(parts[1], TOP) if len(parts) > 1 else TOP


def absolute(dots: int, name: str, package: str) -> str:
    """Dotted name of a relative import of `dots` dots, written in `package`."""
    if dots == 0:
        return name
    base = package.split(".")
    return ".".join([*base[: len(base) - dots + 1], *filter(None, [name])])


def known_text(node: ast.expr, names: dict[str, str]) -> tuple[str, bool]:
    """Leading part of a string expression that can be read off, and whether that is the whole of it."""
    match node:
        case ast.Constant(value=str(text)):
            return text, True
        case ast.Name(id=name) if name in names:
            return names[name], True
        case ast.FormattedValue(value=value):
            return known_text(value, names)
        case ast.JoinedStr(values=parts):
            return joined_text(parts, names)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return joined_text([left, right], names)
    return "", False


def joined_text(parts: list[ast.expr], names: dict[str, str]) -> tuple[str, bool]:
    """Known leading part of several strings written one after the other."""
    text = ""
    for part in parts:
        more, whole = known_text(part, names)
        text += more
        if not whole:
            return text, False
    return text, True


class ImportReader(ast.NodeVisitor):
    """Collects every import of a module, also inside functions and those made by name."""

    def __init__(self, module: str, is_package: bool):
        self.package = module if is_package else module.rpartition(".")[0]
        self.texts = {"__name__": module, "__package__": self.package}
        self.importers = {"import_module", "__import__"}
        self.found: list[Import] = []

    def visit_Import(self, node: ast.Import) -> None:
        self.found += [Import(alias.name, node.lineno) for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        source = absolute(node.level, node.module or "", self.package)
        self.found += [Import(f"{source}.{alias.name}", node.lineno) for alias in node.names]
        if source == "importlib":
            self.importers |= {alias.asname or alias.name for alias in node.names if alias.name == "import_module"}

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in self.importers:
            self.found.append(Import(self.named_by(node), node.lineno))
        self.generic_visit(node)

    def named_by(self, call: ast.Call) -> str | None:
        """Dotted name that a call of `import_module` asks for, or None."""
        given = {word.arg: word.value for word in call.keywords}
        first = call.args[0] if call.args else given.get("name")
        if first is None:
            return None
        text, whole = known_text(first, self.texts)
        name = text.lstrip(".")
        dots = len(text) - len(name)
        anchor = call.args[1] if len(call.args) > 1 else given.get("package")
        package = known_text(anchor, self.texts)[0] if anchor is not None and dots else self.package
        full = absolute(dots, name, package)
        # A name that goes on with an unknown part is known well enough once its first folder is: `pmdviz.targets.`
        settled = whole or full.count(".") >= 2 or (dots > 0 and package.count(".") >= dots)
        return full if settled else None


def imports_of(source: str, module: str, is_package: bool = False) -> list[Import]:
    """All imports of a source text that stands at `module`."""
    reader = ImportReader(module, is_package)
    reader.visit(ast.parse(source))
    return reader.found


def complaint(name: str | None, module: str) -> str | None:
    """Say what is wrong with `module` importing `name`; None where nothing is."""
    here = level_of(f"{module}.__init__" if module == "pmdviz" else module)
    folder = module.split(".")[1] if "." in module else "__init__"
    if name is None:
        return None if here == TOP else "imports by a name that the text does not tell"
    root = name.partition(".")[0]
    if root == "pmdviz" and level_of(name) > here and (module, name) not in EXCEPTIONS:
        return f"imports {name} of level {level_of(name)} from level {here}"
    if HOME_ONLY.get(root, folder) != folder:
        return f"imports {root}, which belongs to {HOME_ONLY[root]}/ alone"
    if LOWEST.get(root, 0) > here:
        return f"imports {root} at level {here}, below its level {LOWEST[root]}"
    return None


def complaints(source: str, module: str, is_package: bool = False) -> list[str]:
    """Every broken rule of a source text, one sentence each."""
    checked = ((found.line, complaint(found.name, module)) for found in imports_of(source, module, is_package))
    return [f"{module}, line {line}: {words}" for line, words in checked if words]
