"""The levels of the package, and a reader of imports that holds a source text against them."""

import ast
from typing import NamedTuple

LEVELS = {
    "errors": 0, "kernels": 0, "upward": 0, "version": 0, "writing": 0,
    "bandwidths": 1, "batches": 1, "densities": 1, "divergences": 1, "draws": 1, "floors": 1, "grids": 1, "knobs": 1,
    "pareto": 1, "questions": 1, "schedules": 1, "shaped_density": 1, "shapes": 1, "serve_limits": 1, "targets": 1,
    "methods": 2,
    "checkpoints": 3, "frame": 3, "history": 3, "recipe": 3, "recipe_given": 3, "recipe_input": 3, "recipe_link": 3,
    "recipe_formats": 3, "recipe_python": 3, "result": 3, "session": 3,
    "links": 4, "presets": 4, "racing": 4, "sweeping": 4, "theory": 4,
    "views": 5,
    "export": 6,
    "lab": 7,
    "__init__": 8, "__main__": 8, "api": 8, "app": 8, "bench": 8, "browser_messages": 8, "cli": 8, "cli_export": 8,
    "cli_list": 8, "cli_notebooks": 8, "cli_race": 8, "cli_run": 8, "cli_recipe": 8, "cli_sweep": 8, "connections": 8,
    "handlers": 8, "headers": 8, "model_defaults": 8, "pages": 8, "panel_plugin": 8, "processes": 8, "refusals": 8,
    "resource_bundle": 8, "serving": 8, "spare": 8, "tabs": 8, "trim": 8, "turns": 8,
}  # fmt: skip
TOP = 8

# The lowest level at which a library of others may appear. The engine (levels 0 to 4) knows no GUI.
LOWEST = {
    "param": 1,
    "bokeh": 5, "contourpy": 5,
    "PIL": 6, "imageio_ffmpeg": 6, "matplotlib": 6,
    "IPython": 7, "anywidget": 7, "ipywidgets": 7, "jupyter_bokeh": 7, "panel": 7, "pyviz_comms": 7, "tornado": 7,
    "panel_material_ui": 8, "playwright": 8,
    "PyQt5": 9, "PyQt6": 9, "PySide6": 9, "tkinter": 9,
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
    if root == "pmdviz" and level_of(name) > here:
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
