"""The colours of a scene's image: from one layer's colour over nothing to another's, muted."""

from __future__ import annotations

from functools import lru_cache

from pmdviz.scenes.style import theme

STEPS = 256
STRENGTH = 0.45  # of the colours at both ends: lines and dots stand out on them
USUAL = ("approximate", "particles")


@lru_cache(8)
def palette(dark: bool, ends: tuple[str, str] = USUAL) -> tuple[str, ...]:
    """`STEPS` colours for values 0 to 1, which are those of two layers at the `ends`; a half is the paper's."""
    colours = theme(dark)
    low, paper, high = (_rgb(colour) for colour in (colours.layers[ends[0]], colours.paper, colours.layers[ends[1]]))
    return tuple(_hex(paper, low if k < STEPS / 2 else high, abs(2 * k / (STEPS - 1) - 1)) for k in range(STEPS))


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5))


def _hex(paper: tuple[int, ...], end: tuple[int, ...], share: float) -> str:
    mixed = (round(a + STRENGTH * share * (b - a)) for a, b in zip(paper, end, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
