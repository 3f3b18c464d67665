"""The script and the style that draw `scenes.inside`: the same for the page, a notebook and an exported player."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bokeh.events import Tap
from bokeh.models import CustomJS

from pmdviz.scenes import style
from pmdviz.scenes.style import Theme

_STATIC = Path(__file__).with_name("static")
SCRIPTS = "inside_words.js", "inside_paint.js", "inside_batch.js", "inside_theatre.js", "inside_parts.js", "inside.js"
GAIN, LOSS = {False: "#C24E00", True: "#FF9A4D"}, {False: "#0067A8", True: "#6CC3FF"}
MIDDLE, BARS = {False: "#c9c9c9", True: "#4a4a4a"}, {False: "#d2d2d2", True: "#4a4a4a"}


def _palette(theme: Theme, dark: bool) -> dict[str, object]:
    """Colours by what they are for."""
    return {
        **{"paper": theme.paper, "text": theme.text, "muted": theme.muted, "grid": theme.grid, **theme.layers},
        **{"gain": GAIN[dark], "loss": LOSS[dark], "middle": MIDDLE[dark], "bars": BARS[dark]},
        "terms": list(style.entrant_colours(dark)),
        "paths": [theme.layers[name] for name in style.PATH_COLOURS],
    }


def script() -> str:
    """JavaScript that defines `inside_view(host)`, and nothing else."""
    palettes = {name: _palette(style.theme(dark), dark) for name, dark in (("light", False), ("dark", True))}
    text = "".join((_STATIC / name).read_text(encoding="utf-8") for name in SCRIPTS)
    inner = f"const PALETTES = {json.dumps(palettes)}\n{text}\nreturn inside_view"
    return f"const inside_view = (() => {{\n{inner}\n}})()\n"


def pick_by_tap(figure: Any) -> None:
    """Have a tap on the stage pick a particle: its script tells the page where it was, and no server."""
    code = (_STATIC / "pick.js").read_text(encoding="utf-8")
    figure.js_on_event(Tap, CustomJS(args={"stage": figure}, code=code))


def stylesheet() -> str:
    """The style of what it makes."""
    return (_STATIC / "inside.css").read_text(encoding="utf-8")
