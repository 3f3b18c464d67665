"""The private part of panel-material-ui that the served app asks for: it needs panel-material-ui~=0.16.6.

`Page._render_esm`.
"""

from __future__ import annotations

import panel_material_ui as pmui


def page_script() -> str:
    """Address of the script that draws a page."""
    return pmui.Page._render_esm(server=True)
