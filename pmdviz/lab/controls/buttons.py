"""How buttons look: at least 40 px high in the playback bar, 32 px elsewhere, a visible focus."""

from __future__ import annotations

from typing import Any

import panel as pn

from pmdviz.lab import css

SMALL_CSS = css.BUTTON + ".bk-btn { min-height: 32px; font-size: 13px !important; }"
SMALL: dict[str, Any] = {"variant": "outline", "margin": 0, "stylesheets": [SMALL_CSS]}


def small_button(label: str, **parameters: Any) -> pn.widgets.Button:
    """A plain button."""
    return pn.widgets.Button(label=label, **{**SMALL, **parameters})
