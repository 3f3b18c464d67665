from pathlib import Path

import pytest

from tests.structure.layers import LEVELS, complaints

PACKAGE = Path(__file__).parents[2] / "pmdviz"

PLANTED = {
    "plain": ("pmdviz.kernels.kde", "from pmdviz.targets import mixture\n"),
    "the module itself": ("pmdviz.methods.shared.schedules", "import numpy, pmdviz.engine.session\n"),
    "inside a function": ("pmdviz.targets.mixture", "def f():\n    from pmdviz.methods.pmd import step\n"),
    "relative": ("pmdviz.methods.pmd", "from ..session import Session\n"),
    "relative, a module": ("pmdviz.methods.pmd", "class A:\n    def f(self):\n        from .. import recipe\n"),
    "only for types": (
        "pmdviz.targets.base",
        "if TYPE_CHECKING:\n    from pmdviz.engine.recipe.recipe import Recipe\n",
    ),
    "a public name": ("pmdviz.engine.session", "from pmdviz import run\n"),
    "the package": ("pmdviz.engine.recipe.recipe", "import pmdviz\n"),
    "importlib": ("pmdviz.targets.mixture", "import importlib\nimportlib.import_module('pmdviz.views.stage')\n"),
    "importlib, renamed": (
        "pmdviz.densities.grid",
        "from importlib import import_module as load\nload('pmdviz.lab')\n",
    ),
    "importlib, relative": ("pmdviz.methods.pmd", "importlib.import_module('..views', package=__package__)\n"),
    "importlib, pieces": ("pmdviz.methods.base", "importlib.import_module(f'pmdviz.views.{name}')\n"),
    "importlib, unknown": ("pmdviz.methods.base", "importlib.import_module(name)\n"),
    "dunder": ("pmdviz.engine.history", "__import__('pmdviz.export')\n"),
    "numba outside": ("pmdviz.methods.pmd", "def f():\n    import numba\n"),
    "numba, one name": ("pmdviz.densities.density", "from numba.extending import overload\n"),
    "param in kernels": ("pmdviz.kernels.kde", "import param\n"),
    "bokeh in the engine": ("pmdviz.engine.session", "from bokeh.models import ColumnDataSource\n"),
    "matplotlib in the engine": ("pmdviz.engine.run", "def f():\n    from matplotlib import pyplot\n"),
    "panel in views": ("pmdviz.views.stage", "import panel as pn\n"),
    "material in the lab": ("pmdviz.lab.controls", "from panel_material_ui import Page\n"),
    "another toolkit": ("pmdviz.serve.pages", "import tkinter\n"),
}
ALLOWED = {
    "down": ("pmdviz.engine.session", "from pmdviz.methods import METHODS\nfrom .kernels import kde\n", False),
    "sideways": ("pmdviz.targets.mixture", "from .base import Target\nfrom pmdviz.knobs import Knobs\n", False),
    "numba at home": ("pmdviz.kernels.jit", "import numba\n", False),
    "discovery": ("pmdviz.targets", "importlib.import_module(f'{__name__}.{name}')\n", True),
    "discovery, relative": ("pmdviz.methods", "import_module('.' + name, __package__)\n", True),
    "discovery, pieces": ("pmdviz.methods.table", "import_module(f'pmdviz.targets.{name}')\n", False),
    "the top": ("pmdviz", "import_module(HOMES[name])\nfrom pmdviz.lab import Lab\n", True),
    "GUI where it belongs": ("pmdviz.views.stage", "from bokeh.plotting import figure\nimport contourpy\n", False),
    "pages": (
        "pmdviz.serve.pages",
        "import panel as pn\nimport panel_material_ui as pmui\nfrom .lab import Lab\n",
        False,
    ),
}


def dotted(path: Path) -> str:
    parts = ["pmdviz", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_imports_go_downward_only():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        found += complaints(path.read_text(encoding="utf-8"), dotted(path), path.name == "__init__.py")
    assert not found, "\n".join(found)


def test_every_part_of_the_package_has_a_level():
    parts = {p.stem for p in PACKAGE.glob("*.py")} | {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert parts <= LEVELS.keys(), f"no level in tests/structure/layers.py for {sorted(parts - LEVELS.keys())}"


@pytest.mark.parametrize(("module", "source"), PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_import_is_found(module, source):
    assert len(complaints(source, module)) == 1


@pytest.mark.parametrize(("module", "source", "is_package"), ALLOWED.values(), ids=ALLOWED.keys())
def test_an_honest_import_passes(module, source, is_package):
    assert complaints(source, module, is_package) == []
