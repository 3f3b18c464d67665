"""Style sheets and scripts of the lab; they go out with the widgets. A file of `static/` is a page or a component."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from pmdviz.files import static_text
from pmdviz.scenes.words import GLOSSARY

HIDDEN = "pmdviz-hidden"  # the class of hidden elements; a change of it lays out the page again

_STATIC = Path(__file__).with_name("static")


def static(name: str, *parts: str) -> str:
    """The text of a file in `static/`, or of its named parts."""
    return static_text(_STATIC / name, *parts)


_widget, _lab = partial(static, "widgets.css"), partial(static, "lab.css")
TERM, TEXT = _widget("term"), _widget("text", "term")
BUTTON, HEADER_BUTTON, SELECT, FILE = _widget("button"), _widget("header"), _widget("select"), _widget("file")
FOLDED, PLAIN_FOLD, LEGEND, LAYER = _widget("folded"), _widget("plain_fold"), _widget("legend"), _widget("layer")
BUSY, TROUBLE, LINK_BUILDER = _widget("busy"), _widget("trouble"), _widget("link_builder")
LAB, PART, FOOT, TRANSPORT = _lab("lab"), _lab("part"), _lab("foot"), _lab("transport")
TRACES, NUMBER, TITLE, KEY = _lab("traces"), _lab("number"), _widget("title"), _widget("key")
OPENERS, TOAST = _lab("openers"), _lab("toast")
SHEET, VERDICT = _lab("sheet"), _lab("verdict")
IN_TRANSPORT = _lab("status", "in_transport") + TERM
CELL = _lab("cell")
STATUS = _lab("status") + TERM
RACE = static("pages.css", "race")
MAKE = static("lists.js", "make")  # before a script that makes elements
DIALOG = MAKE + static("lists.js", "dialog").replace("STYLE", json.dumps(_widget("dialog")), 1)


def _explain() -> str:
    """The script that explains knobs and words, with the glossary in it; it goes before one that needs it."""
    glossary = {key: term._asdict() for key, term in GLOSSARY.items()}
    style = _widget("explain", "term")
    script = static("explain.js").replace("GLOSSARY", json.dumps(glossary, ensure_ascii=False), 1)
    return MAKE + script.replace("STYLE", json.dumps(style), 1)


EXPLAIN = _explain()
