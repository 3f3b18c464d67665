"""The headings of a long page, and its contents: links that go to them."""

from __future__ import annotations

import param
from panel.custom import JSComponent

from pmdviz.lab import css


class Section(JSComponent):
    """A heading, or the contents of the page where it has `places`."""

    key = param.String(default="", doc="By which the contents name it.")
    title = param.String(default="")
    opened = param.Boolean(default=False, doc="Whether the page is to be opened here.")
    places = param.List(default=[], doc="Pairs of key and title: then this is the contents.")

    _esm = css.static("sections.js")
    _stylesheets = [css.static("text.css"), css.static("sections.css")]


def contents(sections: list[Section]) -> Section:
    """Links to sections."""
    return Section(places=[[one.key, one.title] for one in sections], sizing_mode="stretch_width", margin=0)
