"""The colours of a scene's image: from one layer's colour over nothing to another's, muted."""

from __future__ import annotations

from functools import lru_cache

from pmdviz.scenes.style import theme

STEPS = 256
STRENGTH = 0.45  # of the colours at both ends: lines and dots stand out on them
USUAL = ("approximate", "particles")


@lru_cache(8)
def palette(dark: bool, ends: tuple[str, str] = USUAL) -> tuple[str, ...]:
    """`STEPS` colours for values 0 to 1, those of two layers at the `ends`; a half is nothing at all."""
    colours = theme(dark).layers
    return tuple(
        colours[ends[0] if k < STEPS / 2 else ends[1]] + f"{round(255 * STRENGTH * abs(2 * k / (STEPS - 1) - 1)):02x}"
        for k in range(STEPS)
    )
