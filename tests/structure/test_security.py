"""Rules about the sources for which ruff has no rule; `S` of ruff covers eval, pickle, shells and the like."""

import re
from pathlib import Path

import pmdviz

ROOT = Path(pmdviz.__file__).parent
RUNS_TEXT = r"\beval\(|new Function\(|document\.write|insertAdjacentHTML|outerHTML\s*="
MARKUP = r"innerHTML\s*\+?=\s*(`[^`]*`|\S+)"
WALL_CLOCK = r"\btime\.time\(|\bdatetime\.(?:now|utcnow|today)\("
# From Bokeh 3.10 on events come in worker threads: every handler is handed over to the page's event loop.
FILES = [*ROOT.glob("lab/**/*.py"), ROOT / "serve/pages.py"]
HANDLER = re.compile(r"(?<!js_)(?<!remove_)(?:param\.watch|on_click|on_change|onload)\((?!\*)([^\n]*)")
HANDED = re.compile(r'(?:"\w+", )?(?:handed)\(')  # the name of a Bokeh property comes first
OWN_WAY = re.compile(r'"\w+", lambda attr, old, new: self\._on_loop\(')  # of the live loop: needs no lock


def found(pattern, *suffixes):
    files = [path for suffix in suffixes for path in ROOT.rglob(f"*{suffix}")]
    assert files
    return [(path.name, match) for path in files for match in re.findall(pattern, path.read_text(encoding="utf-8"))]


def test_no_script_runs_a_text_or_makes_markup_of_one():
    assert found(RUNS_TEXT, ".js", ".html") == []
    constant = re.compile(r'""|`[^$]*`|`(?:[^$]|\$(?!\{))*`')
    assert [hit for hit in found(MARKUP, ".js", ".html") if not constant.fullmatch(hit[1])] == []


def test_no_clock_that_a_person_can_set_measures_a_time():
    assert found(WALL_CLOCK, ".py") == []


def not_handed(text):
    return [given for given in HANDLER.findall(text) if not (HANDED.match(given) or OWN_WAY.match(given))]


def test_every_handler_is_handed_over():
    assert [(path.name, given) for path in FILES for given in not_handed(path.read_text())] == []
