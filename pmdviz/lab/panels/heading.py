"""What stands above the picture: title, question and one sentence; what it is, the tour, the exports."""

from __future__ import annotations

from typing import Any

import param
from panel.custom import JSComponent

from pmdviz.lab import css
from pmdviz.presets import PRESETS
from pmdviz.scenes import introduction


class Heading(JSComponent):
    """The words above a lab; `tour` says whether the page has all the parts that the buttons lead to."""

    title = param.String(default="")
    question = param.String(default="", doc="Of the preset, or of the teacher.")
    watch = param.String(default="", doc="What to look at, of the preset.")
    sentence = param.String(default="")
    told = param.Dict(default={}, doc='What "What is this?" opens.')
    tour = param.Boolean(default=False)
    essay = param.String(default="", doc="Where the essay is served; nowhere by default.")

    _esm = css.static("heading.js") + css.static("tour.js")
    _stylesheets = [css.static("heading.css")]

    def __init__(self, **params: Any) -> None:
        super().__init__(margin=0, sizing_mode="stretch_width", css_classes=["pmdviz-heading"], **params)
        self._shown: tuple[Any, ...] = ()

    def show(self, method: Any, knobs: Any, target: Any, preset: str = "") -> None:
        """The words on a method, its knobs and a target, with the question of a preset; nothing where they stay."""
        shown = method, knobs, target, preset
        if len(self._shown) and all(a is b or a == b for a, b in zip(shown, self._shown, strict=True)):
            return
        self._shown = shown
        told = introduction.explanation(method, target)
        words, asked = introduction.sentence(method, knobs, target), PRESETS.get(preset)
        self.param.update(
            title=method.title,
            question=asked.question if asked else "",
            watch=f"Watch: {asked.watch}" if asked else "",
            sentence=f"{words} {introduction.PLAY}",
            told={**told._asdict(), "sentences": list(told.sentences)},
        )
