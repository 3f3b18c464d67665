"""The card of a lesson in the browser: it shows what it is told, and sends what a person does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import param
from panel.custom import Child, JSComponent

from pmdviz.lab import css
from pmdviz.lab.loop.locked import soon


class LessonCard(JSComponent):
    """`do(message)` hears of what a person does: a mapping with `act`, as the browser sends it."""

    told = param.Dict(default={}, doc="What is shown, in plain values.")
    form = Child(doc="The settings of the step.")
    asked = param.Dict(default={}, doc="The lesson whose progress the browser is asked for, and how often it was.")
    kept = param.Dict(default={}, doc="Lesson and progress: for the browser to keep.")
    before = param.String(default="", doc="Query of the run that the lesson took the place of.")

    _esm = "".join(map(css.static, ("make.js", "lesson_parts.js", "lesson_memory.js", "lesson_keys.js", "lesson.js")))
    _stylesheets = [css.static("lesson.css") + css.TERM]

    def __init__(self, do: Callable[[Mapping[str, Any]], None], **params: Any) -> None:
        self._do = do
        super().__init__(**{"sizing_mode": "stretch_width", "margin": 0, "css_classes": ["pmdviz-lesson"], **params})

    def _handle_msg(self, data: Any) -> None:
        """Input from the browser: anything at all."""
        if isinstance(data, Mapping):
            soon(self._do, data)

    def ask(self, lesson: str) -> None:
        """Ask the browser for what it keeps of a lesson."""
        self.asked = {"lesson": lesson, "serial": self.asked.get("serial", 0) + 1}
