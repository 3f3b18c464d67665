"""What a live page needs in a browser that has nothing of ours, out of the installed packages."""

from __future__ import annotations

import base64
import gzip
import re
from functools import cache
from pathlib import Path

import bokeh
import panel

BOKEH = Path(bokeh.__file__).parent / "server" / "static" / "js"
PANEL = Path(panel.__file__).parent / "dist"
COMPRESSION = 6
VERSION = f"{bokeh.__version__}+{panel.__version__}"
SHEET = re.compile(r'"https://cdn\.holoviz\.org/panel/[^/"]+/dist/([^"?]+\.css)[^"]*"')
IN_A_CELL = {  # what of our own style sheets is meant for a window of its own
    "@media (max-width: 900px)": "@container (max-width: 720px)",  # 1,050 less the controls, see notebook.css
    "100vw": "100cqw",
    "position: fixed !important": "position: static !important",  # each cell has its own buttons
    "padding: 4px 4px 130px": "padding: 4px",
}


@cache
def scripts() -> list[bytes]:
    """BokehJS with its widgets, a loader of modules, and Panel's models, each zipped, in the order of their use."""
    (shims,) = PANEL.glob("bundled/reactiveesm/*/dist/es-module-shims.min.js")
    parts = [BOKEH / f"{name}.min.js" for name in ("bokeh", "bokeh-widgets", "bokeh-tables")]
    files = *parts, shims, PANEL / "panel.min.js"
    return [gzip.compress(file.read_bytes(), COMPRESSION, mtime=0) for file in files]


def self_contained(text: str) -> str:
    """A document's JSON that asks no other server for anything and is as narrow as its cell, not as the window."""
    text = SHEET.sub(lambda found: f'"{_sheet(found[1])}"', text)
    for window, cell in IN_A_CELL.items():
        text = text.replace(window, cell)
    return text


@cache
def _sheet(name: str) -> str:
    """A style sheet of Panel as an address that holds it."""
    return "data:text/css;base64," + base64.b64encode((PANEL / name).read_bytes()).decode()
