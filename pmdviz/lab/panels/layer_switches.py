"""The legend of the stage, which switches its layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import panel as pn

from pmdviz.lab import css
from pmdviz.lab.loop.locked import handed
from pmdviz.scenes import style
from pmdviz.scenes.stage import LAYERS, LEGEND_ORDER

GHOST = "ghost"  # of another run, which no scene knows of
SAMPLES = {"exact": "line", "approximate": "dashes", "prior": "points", "paths": "line", "ghost": "ghost"}  # else a dot
COLOURS = {"paths": style.PATH_COLOURS[0], "others": "ink"}  # else the layer's own


class LayerSwitches:
    """A check box for each layer that the scene draws, which looks like the layer: for pointer, finger and keyboard.

    Each is a group of one, since Bokeh's lone check box has no label that a screen reader would know of.
    `show` hears which layers are to be seen. A layer that another scene does not draw stays as it was. Options are a
    list, the words themselves: Panel takes the labels that a browser tells back for options, and those of a mapping
    would then be lost.
    """

    def __init__(self, show: Callable[[list[str]], None]) -> None:
        self._show = show
        self.boxes = {name: self._box(name) for name in (*LEGEND_ORDER, GHOST)}
        self.view = pn.Row(*self.boxes.values(), css_classes=["pmdviz-legend"], margin=0, stylesheets=[css.LEGEND])
        for box in self.boxes.values():
            box.param.watch(handed(lambda event: show(self.seen)), "value")

    def _box(self, name: str) -> Any:
        sample = f"sample-{SAMPLES.get(name, 'dot')}"
        look: dict[str, Any] = {"margin": 0, "css_classes": [sample], "stylesheets": [css.LAYER]}
        return pn.widgets.CheckBoxGroup(options=[name], value=[name], inline=True, visible=False, **look)

    @property
    def seen(self) -> list[str]:
        """The layers that are to be seen."""
        return [name for name in LAYERS if self.boxes[name].value]

    def name(self, words: Mapping[str, str]) -> None:
        """Take the words of a legend; what has none is not drawn."""
        for name, box in self.boxes.items():
            options = [words[name]] if name in words else box.options
            if (box.options, box.visible) != (options, name in words):
                box.param.update(options=options, value=options if box.value else [], visible=name in words)

    def set_theme(self, dark: bool, presenter: bool) -> None:
        """Colours and size of the letters."""
        colours = style.theme(dark)
        px = style.PRESENTER_PX if presenter else style.TEXT_PX
        self.view.styles = {"--text": colours.text, "--px": f"{px}px"}
        for name, box in self.boxes.items():
            box.styles = {"--colour": colours.layers[COLOURS.get(name, name)]}
