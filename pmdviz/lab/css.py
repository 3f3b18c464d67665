"""Style sheets and scripts of the lab, one file each in `static/`; they go out with the widgets."""

from __future__ import annotations

from pathlib import Path

_STATIC = Path(__file__).with_name("static")


def static(name: str) -> str:
    """The text of a file in `static/`."""
    return (_STATIC / name).read_text(encoding="utf-8")


LAB = static("lab.css")
RACE = static("race.css")
TRANSPORT = static("transport.css")
STATUS = static("status.css")
NOTEBOOK = static("notebook.css")
FOLDED = static("folded.css")
HEADER_BUTTON = static("header.css")
TEXT = static("text.css")
BUTTON = static("button.css")
SELECT = static("select.css")
FILE = static("file.css")
TROUBLE = static("trouble.css")
BUSY = static("busy.css")
PART = static("part.css")
FOOT = static("foot.css")
LINK_BUILDER = static("link_builder.css")
