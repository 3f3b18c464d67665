"""How buttons look: at least 40 px high in the transport bar, 32 px elsewhere, a visible focus."""

from __future__ import annotations

from typing import Any

import panel as pn

BUTTON_CSS = """
:host { margin: 0; }
.bk-btn-group { width: 100%; }
.bk-btn { font: 500 14px Roboto, system-ui, sans-serif !important; min-height: 40px; border-radius: 6px !important;
  padding: 0 8px !important; letter-spacing: 0 !important; text-transform: none !important; width: 100%; }
.bk-btn-primary { color: #fff !important; background: #0B5CAD !important; }
.bk-btn-primary:hover:not([disabled]) { background: #084B8F !important; }
.bk-btn-default { color: inherit !important; border: 1px solid #8a8a8a !important; background: transparent !important; box-shadow: none !important; }
.bk-btn-default:hover:not([disabled]) { background: #8882 !important; }
.bk-btn:focus-visible, a:focus-visible { outline: 3px solid var(--panel-primary-color, #0072B5); outline-offset: 2px; }
.bk-btn[disabled] { opacity: 0.4; }
"""
SMALL_CSS = BUTTON_CSS + ".bk-btn { min-height: 32px; font-size: 13px !important; }"
SELECT_CSS = """
select { appearance: auto !important; background-image: none !important; color: inherit !important; font-size: 13px !important; }
option { color: #1a1a1a; background: #fff; }
"""
SMALL: dict[str, Any] = {"variant": "outline", "margin": 0, "stylesheets": [SMALL_CSS]}


def small_button(label: str, **parameters: Any) -> pn.widgets.Button:
    """A plain button."""
    return pn.widgets.Button(label=label, **{**SMALL, **parameters})
