"""The HTML canvas renderer: its script, and pictures as JSON for it."""

from __future__ import annotations

import base64
import hashlib
import json
import string
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pmdviz.files import static_text
from pmdviz.pictures import Axis, Mark, Picture
from pmdviz.scenes import style
from pmdviz.scenes.columns import OPACITY_DOTS, OPACITY_POWER, OPAQUE

SCRIPT = Path(__file__).with_name("canvas.js")
MARKS = static_text(SCRIPT, "marks")  # what paints marks at places that are pixels already
MOTION = static_text(SCRIPT, "motion")
SHEETS = Path(__file__).with_name("pages.css")


def canvas_script() -> str:
    """JavaScript that defines `pmdvizDraw`, `pmdvizWatch` and `pmdvizMerged`; its head documents them."""
    values = {
        "PALETTES": {name: _palette(dark) for name, dark in (("light", False), ("dark", True))},
        "BORDERS": {"usual": dict(style.BORDERS), "large": dict(style.PRESENTER_BORDERS)},
        "TEXT_PX": style.TEXT_PX,
        "LARGE_PX": style.PRESENTER_PX,
        "FONT": style.FONT,
        "PATHS": style.PATH_COLOURS,
        "PATH_WIDTH": style.PATH_WIDTH,
        "OPAQUE": OPAQUE,
        "STRENGTH": style.STRENGTH,
    }
    shared = "\n".join(f"const {name} = {json.dumps(value)}" for name, value in values.items())
    inner = "\n".join([shared, MARKS, MOTION, static_text(SCRIPT, "picture")])
    names = "{pmdvizDraw, pmdvizWatch, pmdvizMerged}"
    return f"const {names} = (() => {{\n{inner}\nreturn {names}\n}})()\n"


def _palette(dark: bool) -> dict[str, Any]:
    theme = style.theme(dark)
    own = {"paper": theme.paper, "text": theme.text, "muted": theme.muted, "grid": theme.grid, "dots": theme.dots}
    return {**own, "roles": dict(style.colours(dark))}


def page_css(page: str) -> str:
    """The style sheet of a page that is a file: "player", "live" or "essay"; the page sets its colours as variables."""
    return static_text(SHEETS, "page", page)


def policy_hashes(*texts: str) -> str:
    """Scripts or style sheets as a Content-Security-Policy names them."""
    found = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{each}'" for each in found)


def css_variables() -> str:
    """Rules that give a page the colours of both themes as variables: the reader's theme, or one that is chosen."""
    light, dark = (_variables(style.theme(dark)) for dark in (False, True))
    return (
        f":root {{ color-scheme: light; {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {dark} }} }}\n"
        f':root[data-theme="light"] {{ color-scheme: light; {light} }}\n'
        f':root[data-theme="dark"] {{ color-scheme: dark; {dark} }}\n'
    )


def _variables(theme: style.Theme) -> str:
    own = {"paper": theme.paper, "text": theme.text, "muted": theme.muted, "grid": theme.grid}
    return " ".join(f"--{name.replace('_', '-')}: {value};" for name, value in {**own, **theme.layers}.items())


Column = Callable[[str, Any, Axis | None], Any]  # name, values, and their axis -> JSON
Keyed = Callable[[str, str, Any, Axis | None], Any]  # the same of the mark with a key


def numbers(key: str, name: str, values: Any, axis: Axis | None) -> list[Any]:
    """A column as JSON numbers; null is a gap."""
    flat = np.asarray(values, float).ravel()
    return [float(value) if finite else None for value, finite in zip(flat, np.isfinite(flat), strict=True)]


def picture_json(picture: Picture, column: Keyed = numbers) -> dict[str, Any]:
    """A picture as the script reads it, with the ticks and the words next to them; `column` writes an array."""
    return {
        "x": _axis(picture.x),
        "y": _axis(picture.y),
        "marks": {key: _mark(mark, picture, partial(column, key)) for key, mark in picture.marks.items()},
        "legend": dict(picture.legend),
        **{name: getattr(picture, name) for name in ("middle", "corner", "note", "title", "about", "equal")},
    }


def _axis(axis: Axis) -> dict[str, Any]:
    ticks = axis.ticks
    ends = {"low": float(axis.low), "high": float(axis.high), "log": axis.log}
    units = {"origin": float(axis.origin), "unit": float(axis.unit)} if axis.rescaled else {}
    return {"label": axis.label, **ends, **units, "ticks": ticks, "words": [axis.words(tick) for tick in ticks]}


ALONG_X, ALONG_Y = ("x", "x0", "x1", "left", "right"), ("y", "y0", "y1", "low", "high", "top", "bottom")


def _mark(mark: Mark, picture: Picture, column: Column) -> dict[str, Any]:
    look = {name: value for name, value in mark.look.items() if name not in ("drawn", "shared") and value != np.inf}
    if "dash" in look:
        look["dash"] = [*map(float, style.dash(look["dash"]))]
    if "drawn" in mark.look:  # how many times the usual opacity such dots have
        look["thin"] = round((OPACITY_DOTS / max(mark.look["drawn"], 1)) ** OPACITY_POWER, 4)
    told = {name for form in mark.hover.values() for _, name, *_ in string.Formatter().parse(form) if name}
    needed = {look.get(name, name) for name in (*NEEDED[mark.kind], mark.ids)} | told
    given = mark.columns.items()
    columns = {name: _column(name, values, mark, picture, column) for name, values in given if name in needed}
    if mark.kind == "image":
        columns["shape"] = np.shape(mark.columns["values"])
    more = {"hover": dict(mark.hover)} if mark.hover else {}
    more |= {name: value for name in ("ids", "drags", "layer") if (value := getattr(mark, name))}
    return {"kind": mark.kind, "role": mark.role, "columns": columns, "look": look, **more}


NEEDED = {
    "line": ("x", "y"),
    "areas": ("x", "y", "level"),
    "band": ("x", "low", "high"),
    "bars": ("left", "right", "bottom", "top"),
    "dots": ("x", "y", "size"),
    "signs": ("x", "y", "marker", "role"),
    "segments": ("x0", "y0", "x1", "y1", "alpha", "kind"),
    "image": ("values", "x", "y", "ends"),
    "words": ("x", "y", "text"),
}


def _column(name: str, values: Any, mark: Mark, picture: Picture, column: Column) -> Any:
    if name in ("text", "ends", "marker", "role") or (mark.kind == "image" and name in ("x", "y")):
        return list(values)
    if mark.kind == "image":
        return column("values", np.ravel(values), None)
    both = (ALONG_X, picture.x), (ALONG_Y, picture.y)
    sides = {mark.look.get(side, side): axis for along, axis in both for side in along}
    on_edge = mark.look.get("edge") and name == mark.look.get("y", "y")
    return column(name, values, None if on_edge else sides.get(name))


def changes(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of `new` that differ from `old`, for `pmdvizMerged`: None for a part that is gone."""
    found: dict[str, Any] = dict.fromkeys(name for name in old if name not in new)
    for name, value in new.items():
        before = old.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if inner := changes(value, before):
                found[name] = inner
        elif name not in old or value != before:
            found[name] = value
    return found
