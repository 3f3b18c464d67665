"""From Bokeh 3.10 on events come in worker threads: every handler is handed over to the page's event loop."""

import re
from pathlib import Path

import pmdviz

HERE = Path(pmdviz.__file__).parent
FILES = [*HERE.glob("lab/**/*.py"), HERE / "serve/pages.py", HERE / "serve/tabs.py"]
HANDLER = re.compile(r"(?<!js_)(?<!remove_)(?:param\.watch|on_click|on_change|onload)\((?!\*)([^\n]*)")
HANDED = re.compile(r'(?:"\w+", )?(?:handed)\(')  # the name of a Bokeh property comes first
OWN_WAY = re.compile(r'"\w+", lambda attr, old, new: self\._on_loop\(')  # of the live loop: needs no lock


def not_handed(text):
    return [given for given in HANDLER.findall(text) if not (HANDED.match(given) or OWN_WAY.match(given))]


def test_every_handler_is_handed_over():
    assert [(path.name, given) for path in FILES for given in not_handed(path.read_text())] == []
