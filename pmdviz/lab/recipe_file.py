"""A recipe out of a file: what Export, the command line or Python wrote opens in the lab."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import panel as pn

from pmdviz.errors import InputError
from pmdviz.lab import css
from pmdviz.lab.locked import handed
from pmdviz.recipe import Recipe

LABEL = "Open a recipe (JSON)"


class RecipeFile:
    """A box for a file; a recipe begins a new run by `begin(what, recipe=...)`, anything else gets a sentence."""

    def __init__(self, begin: Callable[..., None]) -> None:
        self._begin = begin
        wide: dict[str, Any] = {"sizing_mode": "stretch_width"}
        self.box = pn.widgets.FileInput(
            label=LABEL, accept=".json", margin=(8, 0, 4, 0), stylesheets=[css.FILE], **wide
        )
        self.said = pn.pane.HTML("", margin=0, stylesheets=[css.TEXT], **wide)
        self.view = pn.Column(self.box, self.said, margin=0, **wide)
        self.box.param.watch(handed(lambda event: self._take(event.new)), "value")

    def _take(self, content: bytes | None) -> None:
        if not content:
            return
        try:
            recipe = Recipe.from_json(content)
        except InputError as error:
            self._say(str(error))
        else:
            self._say("")
            self._begin("start recipe", recipe=recipe)

    def _say(self, sentence: str) -> None:
        with pn.io.hold():
            self.said.object = f'<span class="pmdviz-file-words" role="alert">{html.escape(sentence)}</span>'
