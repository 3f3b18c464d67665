"""One table of colours, dashes and sizes for every picture, in the app and in the film (Okabe and Ito's palette).

Blue is the truth: the exact posterior and independent draws. Orange is what the method believes: its density and its
particles. Grey is the prior and all else. In a race each method has a hue, and the truth is grey.

Colours differ together with dashes: a grey projector still separates the lines. The forward KL averages over
the exact posterior and bears its colour; the reverse KL averages over the approximation and bears that one's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

FONT = "Roboto, system-ui, -apple-system, 'Segoe UI', sans-serif"


@dataclass(frozen=True)
class Theme:
    """Colours of one theme: the surroundings and one a layer. All text reaches a contrast of 4.5 on `paper`."""

    paper: str
    text: str
    muted: str
    grid: str
    dots: float  # opacity of a particle
    layers: Mapping[str, str]


def _theme(paper: str, text: str, muted: str, grid: str, dots: float, **layers: str) -> Theme:
    return Theme(paper, text, muted, grid, dots, MappingProxyType(layers))


LIGHT = _theme(
    "#ffffff", "#1a1a1a", "#595959", "#e4e4e4", 0.35,
    exact="#0072B2", approximate="#D55E00", particles="#D55E00", prior="#8a8a8a", ghost="#595959",
    ink="#000000", floor="#595959", first_path="#7B3294", second_path="#9A6B00",
)  # fmt: skip
DARK = _theme(
    "#121212", "#f2f2f2", "#b3b3b3", "#2e2e2e", 0.45,
    exact="#56B4E9", approximate="#E69F00", particles="#E69F00", prior="#8a8a8a", ghost="#b3b3b3",
    ink="#ffffff", floor="#b3b3b3", first_path="#D19BE8", second_path="#F0E442",
)  # fmt: skip
DASHES = MappingProxyType(
    {
        "exact": (),  # solid
        "approximate": (7, 3),
        "prior": (2, 3),
        "ghost": (7, 3, 2, 3),  # dots alone are the prior's
        "moved": (4, 2),
        "paths": (),
        "floor": (4, 4),
    }
)
PATH_COLOURS = ("ink", "approximate", "first_path", "second_path")  # of the kinds of segments in `scenes.columns`
PATH_WIDTH = 1.6  # px
# No greys among them: the exact posterior is neutral in a race.
ENTRANTS_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#B5538F", "#5D3A9B", "#C98500", "#3A9BD1", "#7A4A1E")
ENTRANTS_DARK = ("#56B4E9", "#FF8A3D", "#2BB98F", "#DD96BD", "#B79CF0", "#E69F00", "#A6D8F5", "#C49A6C")
ENTRANT_DASHES = ((), (9, 4), (2, 3), (9, 3, 2, 3), (5, 2), (14, 4), (2, 6), (9, 3, 2, 3, 2, 3))  # () is solid
ENTRANT_MARKERS = ("circle", "triangle", "square", "diamond", "inverted_triangle", "star", "hex", "plus")
MOST_ENTRANTS = len(ENTRANTS_LIGHT)  # that can be told apart
LINE_WIDTH, AREA_ALPHA = 2.0, 0.16  # of lines and areas that do not say it
TEXT_PX, PRESENTER_PX = 13, 19
# px; 64 + 36 = 48 + 52: a square outside is a square inside. The top holds a legend of two lines; borders that change
# with the width are not laid out again on every side.
BORDERS = {"left": 64, "right": 36, "bottom": 48, "top": 52}
PRESENTER_BORDERS = {"left": 92, "right": 36, "bottom": 68, "top": 60}  # the same for large labels
LEGEND: Mapping[str, Any] = MappingProxyType(
    {
        "orientation": "horizontal",
        "location": "center",
        "padding": 0,
        "margin": 2,
        "spacing": 12,
        "glyph_width": 22,
        "glyph_height": 14,
    }
)


def entrant_colours(dark: bool) -> tuple[str, ...]:
    """Colours of the entrants of a race, in their order; orange, sky blue and purple are darker on white paper."""
    return ENTRANTS_DARK if dark else ENTRANTS_LIGHT


@lru_cache(2)
def colours(dark: bool) -> Mapping[str, str]:
    """The colour of every role of a mark: the layers, "muted", "text", "paper", and "entrant-0" and further ones."""
    own, table = theme(dark), {f"entrant-{k}": colour for k, colour in enumerate(entrant_colours(dark))}
    return MappingProxyType({**own.layers, "muted": own.muted, "text": own.text, "paper": own.paper, **table})


def dash(pattern: str | Sequence[float]) -> Sequence[float]:
    """Lengths in px, of a line that is named in the table or says them itself; none of a solid one."""
    return DASHES.get(pattern, ()) if isinstance(pattern, str) else pattern


def tile_layers(dark: bool, with_particles: bool) -> dict[str, str]:
    """Colours of the first tile: the exact posterior grey, the approximation and its particles in the method's colour.

    Dots that are data, not particles, keep the colour they have on the stage.
    """
    layers, own = theme(dark).layers, entrant_colours(dark)[0]
    dots = own if with_particles else layers["particles"]
    return {**layers, "exact": layers["floor"], "approximate": own, "particles": dots}


def theme(dark: bool) -> Theme:
    """The colours of the dark or the light theme."""
    return DARK if dark else LIGHT


# The colours of a scene's image: from one layer's colour over nothing to another's, muted.

STEPS = 256
STRENGTH = 0.45  # of the colours at both ends: lines and dots stand out on them
USUAL = ("ink", "particles")


@lru_cache(8)
def palette(dark: bool, ends: tuple[str, str] = USUAL) -> tuple[str, ...]:
    """`STEPS` colours for values 0 to 1, the colours of two layers at the `ends`; a half is nothing at all."""
    colours = theme(dark).layers
    return tuple(
        colours[ends[0] if k < STEPS / 2 else ends[1]] + f"{round(255 * STRENGTH * abs(2 * k / (STEPS - 1) - 1)):02x}"
        for k in range(STEPS)
    )


SHADES = 255  # odd: 0 is a shade of its own


def mixed(one: str, other: str, share: float) -> str:
    """A colour between two of the form #rrggbb."""
    parts = [tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5)) for colour in (one, other)]
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(*parts, strict=True))


def diverging(paper: str, below: str, above: str) -> list[str]:
    """Colours from `below` over the paper's to `above`."""
    half = SHADES // 2
    shares = np.abs(np.arange(SHADES) - half) / half
    return [mixed(paper, below if k < half else above, float(share)) for k, share in enumerate(shares)]
