"""What the sources must not contain: ways by which a text from outside could be run, or become markup."""

import ast
import re
from pathlib import Path

import pytest

import pmdviz

ROOT = Path(pmdviz.__file__).parent
PYTHON = sorted(ROOT.rglob("*.py"))
SCRIPTS = sorted([*ROOT.rglob("*.js"), *ROOT.rglob("*.html")])
BUILTINS = {"eval", "exec", "compile", "__import__"}
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "jsonpickle", "xmlrpc"}
# A sweep shares its work out to its own processes; nothing that joblib or cloudpickle wrote is ever read from a file.
ALLOWED = {"experiments/workers.py": {"joblib"}, "experiments/sweep/job.py": {"cloudpickle"}}
CALLS = {
    ("joblib", "load"),
    ("cloudpickle", "load"),
    ("cloudpickle", "loads"),
    ("yaml", "load"),
    ("yaml", "unsafe_load"),
    ("yaml", "full_load"),
    ("os", "system"),
    ("os", "popen"),
}
IN_SCRIPTS = r"\beval\(|new Function\(|document\.write|insertAdjacentHTML|outerHTML\s*="


def complaints(source, allowed=frozenset()):
    """Each way found in a Python text, with its line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found += [(node.lineno, name) for name in names if name.split(".")[0] in MODULES - allowed]
        if isinstance(node, ast.Call):
            found += [(node.lineno, word) for word in called(node)]
    return found


def called(node):
    function = node.func
    if isinstance(function, ast.Name) and function.id in BUILTINS:
        yield function.id
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        pair = (function.value.id, function.attr)
        if pair in CALLS:
            yield ".".join(pair)
    for keyword in node.keywords:
        if keyword.arg in ("shell", "allow_pickle") and getattr(keyword.value, "value", None) is not False:
            yield f"{keyword.arg}=..."


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_is_run(path):
    allowed = ALLOWED.get(path.relative_to(ROOT).as_posix(), frozenset())
    assert complaints(path.read_text(encoding="utf-8"), allowed) == []


@pytest.mark.parametrize(
    "source",
    ["eval('1')", "import pickle", "from joblib import load", "yaml.load(x)", "run('ls', shell=True)", "os.system('x')",
     "np.load(f, allow_pickle=True)", "__import__('os')"],
)  # fmt: skip
def test_the_reader_sees_what_it_looks_for(source):
    assert complaints(source)


def test_there_are_sources_to_read():
    assert len(PYTHON) > 50 and len(SCRIPTS) > 5


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_script_makes_markup_of_a_text(path):
    text = path.read_text(encoding="utf-8")
    assert re.findall(IN_SCRIPTS, text) == []
    for markup in re.findall(r"innerHTML\s*\+?=\s*(`[^`]*`|\S+)", text):  # only a constant may be markup
        assert markup == '""' or (markup.startswith("`") and "${" not in markup)


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_clock_that_a_person_can_set_measures_a_time(path):
    called = re.findall(r"\btime\.time\(|\bdatetime\.(?:now|utcnow|today)\(", path.read_text(encoding="utf-8"))
    assert called == []
