"""The map in docs/contributing/architecture.md: every path in it exists, and every folder of the package is in it."""

import inspect
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pmdviz

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "contributing" / "architecture.md").read_text(encoding="utf-8")


def test_the_paths_exist_and_every_folder_is_named():
    paths = {*re.findall(r"`(pmdviz/[\w/]+\.py)`", TEXT)}
    assert paths and [path for path in paths if not (ROOT / path).is_file()] == []
    named = {*re.findall(r"\b(\w+)/", re.search(r"```\n(.*?)```", TEXT, re.DOTALL)[1])}
    folders = {path.parent.name for path in (ROOT / "pmdviz").rglob("__init__.py")}
    assert folders <= named


# Rules about the sources for which ruff has no rule; `S` of ruff covers eval, pickle, shells and the like.


PACKAGE = Path(pmdviz.__file__).parent
RUNS_TEXT = r"\beval\(|new Function\(|document\.write|insertAdjacentHTML|outerHTML\s*="
MARKUP = r"innerHTML\s*\+?=\s*(`[^`]*`|\S+)"
WALL_CLOCK = r"\btime\.time\(|\bdatetime\.(?:now|utcnow|today)\("
# From Bokeh 3.10 on events come in worker threads: every handler is handed over to the page's event loop.
FILES = [*PACKAGE.glob("lab/**/*.py"), PACKAGE / "serve/pages.py"]
HANDLER = re.compile(r"(?<!js_)(?<!remove_)(?:param\.watch|on_click|on_change|onload)\((?!\*)([^\n]*)")
HANDED = re.compile(r'(?:"\w+", )?(?:handed)\(')  # the name of a Bokeh property comes first
OWN_WAY = re.compile(r'"\w+", lambda attr, old, new: self\._on_loop\(')  # of the live loop: needs no lock


def found(pattern, *suffixes):
    files = [path for suffix in suffixes for path in PACKAGE.rglob(f"*{suffix}")]
    assert files
    return [(path.name, match) for path in files for match in re.findall(pattern, path.read_text(encoding="utf-8"))]


def test_no_script_makes_markup_of_a_text_no_clock_can_be_set_and_every_handler_is_handed_over():
    assert found(RUNS_TEXT, ".js", ".html") == []
    constant = re.compile(r'""|`[^$]*`|`(?:[^$]|\$(?!\{))*`')
    assert [hit for hit in found(MARKUP, ".js", ".html") if not constant.fullmatch(hit[1])] == []
    assert found(WALL_CLOCK, ".py") == []
    assert [(path.name, given) for path in FILES for given in not_handed(path.read_text())] == []


def not_handed(text):
    return [given for given in HANDLER.findall(text) if not (HANDED.match(given) or OWN_WAY.match(given))]


PUBLIC = {
    "Frame", "InputError", "InputWarning", "Lab", "Question", "Race", "RaceRecipe", "RaceResult", "Recipe", "Run",
    "Session", "Sweep", "TargetError", "Discrete", "__version__", "check", "custom_target", "experiment",
    "list_experiments",
    "list_fit_tests", "list_methods", "list_targets", "points", "race", "read_table", "register_target", "report",
    "run", "sealed", "stein_mean", "sweep", "target", "test_fit",
}  # fmt: skip
HEAVY = {"numba", "llvmlite", "param", "bokeh", "panel", "panel_material_ui", "scipy", "pandas", "matplotlib", "joblib"}

IN_ANY_ORDER = """
import importlib, json, sys
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
import pmdviz
assert all(callable(getattr(pmdviz, name)) or name == "__version__" for name in pmdviz.__all__)
assert "ksd" in pmdviz.list_fit_tests() and pmdviz.Lab(target="mixture").session.frame.iteration == 0
assert len(pmdviz.race(["pmd:num_particles=50", "smc:num_particles=50"], budget=100, seeds=2).rows) == 4
recipe = pmdviz.Recipe(target="mixture", method="pmd", seed=0, budget=300, num_particles=50)
assert len(pmdviz.sweep(recipe, over={"num_particles": [20, 30]}, seeds=1, workers=1)) == 2
print(*pmdviz.run(recipe).particles.shape)
"""


def python(*arguments):
    """Run Python in a fresh process; its standard output."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def modules() -> list[str]:
    files = [path.relative_to(ROOT).with_suffix("") for path in PACKAGE.rglob("*.py") if path.stem != "__main__"]
    return sorted(".".join(f.parts[:-1] if f.name == "__init__" else f.parts) for f in files)


def test_the_public_names_are_these_annotated_and_documented():
    assert set(pmdviz.__all__) == PUBLIC
    assert set(dir(pmdviz)) >= PUBLIC
    with pytest.raises(AttributeError, match="no attribute 'rnu'"):
        _ = pmdviz.rnu
    parts = {name.split(".")[1] for name in modules() if "." in name}
    assert not parts & PUBLIC
    for name in PUBLIC - {"__version__"}:
        thing = getattr(pmdviz, name)
        assert inspect.getdoc(thing), name
        if inspect.isfunction(thing):
            signature = inspect.signature(thing)
            bare = [p.name for p in signature.parameters.values() if p.annotation is p.empty]
            assert not bare and signature.return_annotation is not signature.empty, name


def test_import_loads_nothing_heavy():
    loaded = python("-c", "import json, sys, pmdviz; print(json.dumps(sorted(sys.modules)))")
    assert not HEAVY & set(json.loads(loaded))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [0, 1])
def test_the_package_works_after_imports_in_any_order(seed):
    names = modules()
    random.Random(seed).shuffle(names)
    assert python("-c", IN_ANY_ORDER, json.dumps(names)) == "50 2\n"
