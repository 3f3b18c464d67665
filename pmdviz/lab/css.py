"""Style sheets and scripts of the lab, one file each in `static/`; they go out with the widgets."""

from __future__ import annotations

import json
from pathlib import Path

from pmdviz.scenes.words import GLOSSARY

HIDDEN = "pmdviz-hidden"  # the class of what is not there to be seen; a change of it lays out the page anew

_STATIC = Path(__file__).with_name("static")


def static(name: str) -> str:
    """The text of a file in `static/`."""
    return (_STATIC / name).read_text(encoding="utf-8")


TERM = static("term.css")
LAB = static("lab.css")
RACE = static("race.css")
TRANSPORT = static("transport.css")
STATUS = static("status.css") + TERM
NOTEBOOK = static("notebook.css")
FOLDED = static("folded.css")
PLAIN_FOLD = static("plain_fold.css")
HEADER_BUTTON = static("header.css")
TEXT = static("text.css") + TERM
BUTTON = static("button.css")
SELECT = static("select.css")
LEGEND = static("legend.css")
LAYER = static("layer.css")
FILE = static("file.css")
TROUBLE = static("trouble.css")
BUSY = static("busy.css")
PART = static("part.css")
FOOT = static("foot.css")
LINK_BUILDER = static("link_builder.css")


def _explain() -> str:
    """The script that explains knobs and words, with the glossary in it; it goes before one that asks for it."""
    glossary = {key: term._asdict() for key, term in GLOSSARY.items()}
    style = static("explain.css") + TERM
    script = static("explain.js").replace("GLOSSARY", json.dumps(glossary, ensure_ascii=False), 1)
    return script.replace("STYLE", json.dumps(style), 1)


EXPLAIN = _explain()
