"""Style sheets and scripts of the lab; they go out with the widgets. A file of `static/` is a page or a component."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from pmdviz.files import static_text
from pmdviz.scenes.words import GLOSSARY
from pmdviz.views import figures

HIDDEN = "pmdviz-hidden"  # the class of hidden elements; a change of it lays out the page again

_STATIC = Path(__file__).with_name("static")


def static(name: str, *parts: str) -> str:
    """The text of a file in `static/`, or of its named parts; a style sheet begins with what all of them share."""
    shared = static_text(_STATIC / "lab.css", "base") if name.endswith(".css") else ""
    return shared + static_text(_STATIC / name, *parts)


def component(name: str, part: str) -> str:
    """The style sheet of a component with buttons and fields of its own, which look alike everywhere."""
    return static("lab.css", "controls") + static_text(_STATIC / name, part)


_lab = partial(static, "lab.css")
_of_body = partial(static_text, _STATIC / "lab.css")  # of all outside of shadow roots
TERM, TEXT = _lab("term"), _lab("text", "term")
BUTTON, HEADER_BUTTON, SELECT, FILE = _lab("button"), _lab("button", "header"), _lab("select"), _lab("file")
FOLDED, PLAIN_FOLD, LEGEND, LAYER = _lab("fold", "framed"), _lab("fold"), _lab("legend"), _lab("sample", "layer")
BUSY, TROUBLE, LINK_BUILDER = _lab("busy"), _lab("trouble"), _lab("link_builder")
LAB, PART, FOOT, TRANSPORT = _lab("lab"), _lab("part"), _lab("foot"), _lab("transport")
TRACES, NUMBER, TITLE, KEY = _lab("traces"), _lab("number"), _lab("title"), _lab("sample", "key")
OPENERS, TOAST = _lab("openers"), _lab("toast")
SHEET, VERDICT, WHY = _lab("sheet"), _lab("verdict"), _lab("text", "term", "why")
IN_TRANSPORT = _lab("status", "in_transport") + TERM
CELL = _lab("cell")
STATUS = _lab("status") + TERM
RACE = static("pages.css", "race")
MAKE = figures.elements_script()  # before a script that makes elements
DIALOG = MAKE + static("lists.js", "dialog").replace("STYLE", json.dumps(_of_body("dialog")), 1)


def _explain() -> str:
    """The script that explains knobs and words, with the glossary in it; it goes before one that needs it."""
    glossary = {key: term._asdict() for key, term in GLOSSARY.items()}
    style = _of_body("explain", "term")
    script = static("page.js", "explain").replace("GLOSSARY", json.dumps(glossary, ensure_ascii=False), 1)
    return MAKE + script.replace("STYLE", json.dumps(style), 1)


EXPLAIN = _explain()
