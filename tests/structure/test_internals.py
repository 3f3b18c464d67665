"""Private parts of Panel, Bokeh, tornado and panel-material-ui stand in one file a library, with its versions."""

import ast
import importlib
import inspect
import pkgutil
import tomllib
from pathlib import Path

import pytest

import pmdviz
from tests.structure.internals import LIBRARIES, complaints, defined, package_imports

ROOT = Path(pmdviz.__file__).parent
HOMES = {
    "lab/panel_internals.py": "panel",
    "serve/bokeh_internals.py": "bokeh",
    "serve/material_internals.py": "panel-material-ui",
    "serve/tornado_internals.py": "tornado",
}
EXCEPTIONS = {  # of the standard library, and of ours
    ("cli/main.py", "parser.commands.choices[options.command]._option_string_actions"),
    ("docs_site/commands.py", "parser._actions"),
    ("engine/run.py", "self.target._points"),
    *((name, "os._exit") for name in ("experiments/worker_process.py", "serve/processes.py", "serve/server.py")),
}
DOCUMENTED = {"_esm", "_stylesheets", "_handle_msg"}  # what Panel asks a component of one's own to define
SOURCES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}


def module_of(name):
    return f"pmdviz.{name.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"


OWN = {module_of(name): defined(ast.parse(source)) for name, source in SOURCES.items()}


def found_in(name):
    inherited = {word for module in package_imports(SOURCES[name]) for word in OWN.get(module, ())}
    return [words for words in complaints(SOURCES[name], inherited) if (name, words) not in EXCEPTIONS]


def test_no_other_file_asks_for_a_private_part():
    assert {name: words for name in SOURCES.keys() - HOMES.keys() if (words := found_in(name))} == {}


def test_no_exception_has_outlived_its_reason():
    for name, words in EXCEPTIONS:
        assert words in complaints(SOURCES[name])


def overridden():
    """(file, class, name) of every private name of a library that a class of ours writes anew."""
    for module in pkgutil.walk_packages(pmdviz.__path__, "pmdviz."):
        if module.name.rpartition(".")[2] in ("app", "__main__"):  # these act when they are imported
            continue
        for kind in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(kind):
                yield from overridden_by(kind.__mro__)


def overridden_by(order):
    for place, kind in enumerate(order):
        for name in vars(kind).keys() & OWN.get(kind.__module__, set()):
            others = (other for other in order[place + 1 :] if name in vars(other))
            if any(other.__module__.partition(".")[0] in LIBRARIES for other in others):
                yield kind.__module__, kind.__qualname__, name


def test_no_other_class_overrides_a_private_part():
    found = {(module, kind, name) for module, kind, name in overridden() if name not in DOCUMENTED}
    assert {(module, kind) for module, kind, _ in found} == {
        ("pmdviz.lab.panel_internals", "LabelledSelect"),
        ("pmdviz.lab.panel_internals", "PatientSelect"),
        ("pmdviz.serve.bokeh_internals", "MessageHooks"),
    }


@pytest.mark.parametrize(("name", "library"), HOMES.items(), ids=HOMES.values())
def test_the_file_names_the_versions_that_may_be_installed(name, library):
    needs = tomllib.loads((ROOT.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    (need,) = [need for need in needs if need.removeprefix(library)[:1] in (">", "~") and need.startswith(library)]
    assert "<" in need or "~=" in need, f"nothing keeps a new {library} out"
    assert f"it needs {need}" in ast.get_docstring(ast.parse(SOURCES[name])).replace("\n", " ")
    assert complaints(SOURCES[name]), "nothing private is left here"


PLANTED = {
    "an attribute": "def f(server):\n    return server._tornado",
    "of self": "class A(Handler):\n    def f(self):\n        return self._finished",
    "of what is above": "class A(Handler):\n    def _handle(self):\n        return super()._handle()",
    "by its name": "hasattr(doc, '_roots')",
    "set by its name": "setattr(doc, '_roots', [])",
    "far away": "f(a)[0].b._session.c",
    "taken away": "del session._token",
    "imported": "from bokeh.util.token import _base64_decode",
    "a module": "import panel.io._server",
    "a private module": "from tornado._locale_data import LOCALE_NAMES",
    "a public part replaced": "from panel.io import server\nserver.bundle_resources = mine",
    "a list replaced": "def f():\n    from bokeh.server.urls import per_app_patterns\n    per_app_patterns[:] = []",
}
HONEST = {
    "one's own": "class A:\n    def __init__(self, other):\n        self._x = other._x",
    "a class variable": "class A:\n    _x = 1\n    def f(self):\n        return self._x",
    "a named tuple": "state._replace(x=1)._fields",
    "dunder": "type(x).__name__, x.__dict__",
    "public": "from panel.io import server\nserver.serve(app)\nlocal = {}\nlocal['x'] = 1",
}


@pytest.mark.parametrize("source", PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_private_part_is_found(source):
    assert len(complaints(source)) == 1


@pytest.mark.parametrize("source", HONEST.values(), ids=HONEST.keys())
def test_an_honest_text_passes(source):
    assert complaints(source) == []


def test_what_is_inherited_passes():
    source = "class A(Base):\n    def _f(self):\n        return self._x + super()._f()"
    assert complaints(source, {"_x", "_f"}) == [] and len(complaints(source)) == 2
