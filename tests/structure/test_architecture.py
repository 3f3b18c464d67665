"""Rules about the sources, the wheel, the README, and parts of one file."""

import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from functools import partial
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
    given = [(path.name, given) for path in FILES for given in HANDLER.findall(path.read_text())]
    assert [hit for hit in given if not (HANDED.match(hit[1]) or OWN_WAY.match(hit[1]))] == []


PUBLIC = {
    "Frame", "InputError", "InputWarning", "Lab", "Question", "Race", "RaceRecipe", "RaceResult", "Recipe", "Run",
    "Session", "Sweep", "TargetError", "Discrete", "__version__", "check", "custom_target", "experiment",
    "list_experiments",
    "list_fit_tests", "list_methods", "list_targets", "points", "race", "read_table", "register_target", "report",
    "run", "sealed", "stein_mean", "sweep", "target", "test_fit",
}  # fmt: skip
HEAVY = {"numba", "llvmlite", "param", "bokeh", "panel", "panel_material_ui", "scipy", "pandas", "matplotlib", "joblib"}


def python(*arguments, place=ROOT, folder=ROOT):
    """What Python prints in a folder, with the package of a place."""
    env, command = {**os.environ, "PYTHONPATH": str(place)}, [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
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


CONTRACTS = (
    "tests/targets/test_targets.py",
    "tests/methods/test_contract.py",
    "tests/methods/test_terms.py::test_terms_add_up",
    "tests/experiments/test_contract.py",
)


@pytest.mark.parametrize(
    "words",
    [pytest.param(("tests/toys/shown.py",), marks=pytest.mark.ci), pytest.param(CONTRACTS, marks=pytest.mark.nightly)],
)
def test_toys_appear_everywhere_and_the_contract_tests_hold_with_them(words):
    options = "-q -n 0 -p tests.toys.plugin -p no:cacheprovider".split()
    command = [sys.executable, "-m", "pytest", *options, *words]
    alone = {**os.environ, "PYTEST_ADDOPTS": ""}
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=1200, env=alone)
    assert found.returncode == 0 and " passed" in found.stdout, found.stdout[-4000:] + found.stderr[-2000:]


README = (ROOT / "README.md").read_text(encoding="utf-8")
# What a line of the README is given more, so that it ends soon; a later option takes an earlier one's place.
SOONER = {
    "run": ("--budget", "300"),
    "race": ("--budget", "300", "--seeds", "1"),
    "sweep": ("--seeds", "1"),
    "export": ("--budget", "300", "--frames", "3"),
}
ELSEWHERE = ("docs", "essay")  # tests of their own write these files


def assert_serves(line: list[str]) -> None:
    environment = {**os.environ, "BROWSER": "no-such-browser", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    with subprocess.Popen([*line, "--port", "0"], env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            first, second = server.stdout.readline(), server.stdout.readline()
            assert first.startswith("pmdviz is at http://127.0.0.1:"), first
            assert second.startswith("no browser was found on this computer: open http://127.0.0.1:"), second
        finally:
            server.terminate()


@pytest.mark.ci
def test_the_lines_for_the_command_line_run_as_printed(tmp_path):
    (block,) = re.findall(r"^## On the command line\n.*?^```console\n(.*?)^```$", README, flags=re.M | re.S)
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert [(dollar, program) for dollar, program, *_ in lines] == [("$", ".venv/bin/pmdviz")] * len(lines)
    for _, _, command, *arguments in lines:
        line = [sys.executable, "-m", "pmdviz", command, *arguments, *SOONER.get(command, ())]
        if command in ELSEWHERE:
            continue
        if command == "serve":
            assert_serves(line)
            continue
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (line, done.stderr)
    assert {path.name for path in tmp_path.iterdir()} >= {"run.json", "table.csv", "film.gif", "course"}


def test_the_python_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```python\n(.*?)^```$", README, flags=re.M | re.S)
    exec(block, {})
    result, lines = capsys.readouterr().out.split("import pmdviz")
    tv, *_, visited = result.split()
    assert 0 < float(tv) < 0.2
    assert int(visited) == 1000
    assert "(10, {'bandwidth': 0.5})" in lines


LEFT_BY_TOOLS = {".pyc", ".nbi", ".nbc"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built in a folder that holds only what deploy/Containerfile copies, as its image is."""
    folder, source = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("source")
    for line in re.findall(r"^COPY (.+) \./", (ROOT / "deploy/Containerfile").read_text(encoding="utf-8"), re.M):
        for name in line.split():
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.ci
def test_the_wheel_holds_the_package_whole_and_alone(wheel):
    files = {p for p in (ROOT / "pmdviz").rglob("*") if p.is_file() and p.suffix not in LEFT_BY_TOOLS}
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {p.relative_to(ROOT).as_posix() for p in files} | {"pmdviz/py.typed"} <= packed
    assert {name.partition("/")[0] for name in packed} == {"pmdviz", wheel.name.rsplit("-", 3)[0] + ".dist-info"}


@pytest.mark.ci
def test_the_wheel_works_away_from_the_checkout_and_the_course_and_the_docs_come_out_of_it(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    installed = partial(python, place=tmp_path / "installed", folder="/")
    assert installed("-c", "import pmdviz; print(pmdviz.__file__)").startswith(str(tmp_path))
    small = ("--target", "mixture", "--budget", "300", "--knob", "num_particles=50", "--json", "-")
    assert "mixture" in installed("-m", "pmdviz", "run", *small)
    installed("-m", "pmdviz", "notebooks", tmp_path / "mine")
    copied = {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()}
    assert copied == {path.name: path.read_bytes() for path in (ROOT / "notebooks").glob("*.ipynb")}
    call = "import runpy, sys; from pathlib import Path; from pmdviz.cli.tools import folder_with; "
    call += "docs = folder_with('docs', 'conf.py'); write = runpy.run_path(docs / 'conf.py')['write_sources']; "
    call += "write(docs, Path(sys.argv[1]), dict.fromkeys(sys.argv[2:], ''))"
    pages = tmp_path / "pages"
    installed("-c", call, pages, "commands", "python", "glossary", "gallery", "grammar", "settings")
    written = {path.relative_to(pages).as_posix() for path in pages.rglob("*.md")}
    ours = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert written == ours | {"readme.md", "changelog.md"} and (pages / "files/deploy/nginx.conf").is_file()
    assert {*os.listdir(pages / "files/assets")} == {*os.listdir(ROOT / "assets")}
