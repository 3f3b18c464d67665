"""What stands in the legend of an experiment's picture: words, each beside a sign that looks like what it names."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pmdviz.scenes import style

WIDTH, HEIGHT = 28, 12  # px, of a sign
NUMBER = len(style.ENTRANTS_LIGHT)  # of colours
MUTED = -1  # in place of a colour's number: that of what is no series
SLOPE_DASHES: tuple[tuple[int, ...], ...] = ((), (6, 3), (2, 3), (8, 3, 2, 3))  # () is solid


class Entry(NamedTuple):
    """One of the legend's words; `sign` is line, points, dashes, slope, mark, outline, bold, dots or colours."""

    words: str
    sign: str
    colour: int = 0  # number of a colour of `style.entrant_colours`, or MUTED
    dash: tuple[int, ...] = ()


def colour_numbers(names: Sequence[str], known: Mapping[str, int]) -> dict[str, int]:
    """A number for each name of a picture: that which it has in another one, or the next that nobody has."""
    found = {name: known[name] for name in names if name in known}
    for name in names:
        if name not in found:
            free = [k for k in range(len(known) + len(names) + 1) if k not in found.values()]
            found[name] = next((k for k in free if k not in known.values() and k < NUMBER), free[0])
    return found


def legend_html(title: str, entries: Sequence[Entry], dark: bool) -> str:
    """Title and legend over a picture; words wrap where the picture is narrow."""
    head = f'<div role="heading" aria-level="3" class="title">{html.escape(title)}</div>' if title else ""
    words = "".join(f"<span>{sign_svg(entry, dark)}{html.escape(entry.words)}</span>" for entry in entries)
    return head + (f'<p class="legend">{words}</p>' if words else "")


def colour_of(number: int, dark: bool) -> str:
    """The colour of a series, as text."""
    colours = style.entrant_colours(dark)
    return style.theme(dark).muted if number == MUTED else colours[number % len(colours)]


def sign_svg(entry: Entry, dark: bool) -> str:
    """The sign of an entry as SVG."""
    colour, theme = colour_of(entry.colour, dark), style.theme(dark)
    parts = {"c": colour, "d": _dashes(entry.dash), "paper": theme.paper}
    parts |= {"below": theme.layers["exact"], "above": theme.layers["approximate"]}
    drawn = "".join(part.format(**parts) for part in SIGNS[entry.sign])
    return f'<svg width="{WIDTH}" height="{HEIGHT}" aria-hidden="true">{drawn}</svg>'


def _dashes(dash: tuple[int, ...]) -> str:
    return f' stroke-dasharray="{" ".join(map(str, dash))}"' if dash else ""


_LINE = '<path d="M1 6H27" stroke="{c}" stroke-width="2" fill="none"{d}/>'
_DOT = '<circle cx="14" cy="6" r="3.5" fill="{c}"/>'
SIGNS = {
    "line": (_LINE, _DOT),
    "dashes": (_LINE,),
    "mark": (_LINE,),
    "points": (_DOT,),
    "dots": ('<circle cx="14" cy="6" r="2.5" fill="{c}" opacity="0.6"/>',),
    "slope": ('<path d="M2 1L26 11" stroke="{c}" stroke-width="1.6" fill="none"{d}/>',),
    "colours": (
        '<rect x="2" y="1" width="8" height="10" fill="{below}"/>',
        '<rect x="10" y="1" width="8" height="10" fill="{paper}" stroke="#8888"/>',
        '<rect x="18" y="1" width="8" height="10" fill="{above}"/>',
    ),
    "outline": ('<ellipse cx="14" cy="6" rx="11" ry="4.5" stroke="{c}" stroke-width="1.4" fill="none"{d}/>',),
    "bold": ('<ellipse cx="14" cy="6" rx="11" ry="4.5" stroke="{c}" stroke-width="3" fill="none"{d}/>',),
}
