"""A page of the app that computes nothing: something to choose from, and an explanation beside it."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import panel as pn

from pmdviz.lab import css
from pmdviz.scenes.glossary import marked

HEADING = '<div class="pmdviz-heading" role="heading" aria-level="2">{}</div>'
SENTENCE = '<div class="pmdviz-question" role="heading" aria-level="2">{}</div>'


class PlainPage:
    """A page with a sentence above a component and words (HTML) beside it; `name` is its class in style sheets."""

    def __init__(self, sentence: str, component: Any, words: str, name: str) -> None:
        self.on_presenter: Callable[[bool], None] = lambda on: None
        self.on_note: Callable[[str], None] = lambda words: None
        self.on_open: Callable[[str, Any], None] | None = None
        wide: dict[str, Any] = {"sizing_mode": "stretch_width"}
        text = pn.pane.HTML(words, stylesheets=[css.TEXT], margin=0, **wide)
        self.controls = pn.Column(text, margin=(8, 12), **wide)
        above = pn.pane.HTML(
            SENTENCE.format(html.escape(sentence)), stylesheets=[css.TEXT], margin=(10, 16, 0, 16), **wide
        )
        self.view = pn.Column(above, component, css_classes=[name], margin=0, **wide)
        self.foot = pn.Row(margin=0)  # nothing plays here

    def start(self, doc: Any = None) -> None:
        """Begin; everything is there already."""

    def look(self, on: bool) -> None:
        """The page is to be seen, or no longer."""

    def set_theme(self, dark: bool) -> None:
        """Its colours are those of the page around it."""

    def stop(self) -> None:
        """The page is closed."""


def headed(title: str, *sentences: str) -> str:
    """A heading with sentences below it, as HTML."""
    return HEADING.format(html.escape(title)) + "".join(f"<p>{marked(html.escape(words))}</p>" for words in sentences)
