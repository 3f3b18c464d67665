"""The served pages: a lab inside panel-material-ui's chrome. Nothing here asks any other server for anything."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from pmdviz.lab import Lab
from pmdviz.lab.help import HELP_JS

FIGURE_MODELS = ["Axis", "Legend", "Grid", "Plot", "Figure", "Title"]  # dressed by our own table of colours
PAGE_CSS = """
:root { --pmdviz-accent: #A34700; --pmdviz-error: #b00020; }
.mui-dark { --pmdviz-accent: #FFB570; --pmdviz-error: #ff8a80; }
"""


def lab_page(**parameters: Any) -> pmui.Page:
    """The Lab page of one browser session; parameters are those of `pmdviz.Lab`."""
    lab = Lab(keyboard=True, **parameters)
    help_button = pn.widgets.Button(label="?", width=40, margin=0, css_classes=["pmdviz-help"])
    help_button.js_on_click(code=HELP_JS)
    page = pmui.Page(
        title="pmdviz",
        main=[lab.screen.view],
        sidebar=[lab.setup.view],
        header=[pn.Spacer(sizing_mode="stretch_width"), help_button],
        sidebar_width=320,
        busy_indicator=None,
        raw_css=[PAGE_CSS],
        meta_name="pmdviz",
        _custom_theme=FIGURE_MODELS,
    )
    page.param.watch(lambda event: lab.dress(dark=event.new), "dark_theme")
    lab.on_presenter = lambda on: page.param.update(sidebar_open=not on)
    doc = pn.state.curdoc
    if doc is not None:
        pn.state.onload(lambda: lab.start(doc))
        pn.state.on_session_destroyed(lambda context: lab.stop())
    return page


def serve_lab() -> None:
    """What the served script calls."""
    pn.extension(notifications=False)
    lab_page().servable(title="pmdviz")
