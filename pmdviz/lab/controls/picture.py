"""What the stage shows: the scene, and which two coordinates of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pmdviz.lab import css
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.panel_internals import PatientSelect
from pmdviz.methods import Method
from pmdviz.scenes.stage import Pair, Scene, SceneChoice, applicable_scenes
from pmdviz.targets import Target


class PictureControls:
    """A select of the scenes that apply, where there are several, and the scene's own menus, such as two coordinates.

    `choose` hears of a person's choice.
    """

    def __init__(self, choose: Callable[[SceneChoice], None]) -> None:
        look: dict[str, Any] = {"margin": 0, "stylesheets": [css.SELECT], "visible": False}
        self.scene = PatientSelect(label="Picture", width=150, **look)
        self.pair = [PatientSelect(label=label, width=90, **look) for label in ("Horizontal", "Vertical")]
        self.widgets = [self.scene, *self.pair]
        self._choose, self._shown, self._busy = choose, None, False
        for widget in self.widgets:
            widget.param.watch(handed(self._chosen), "value")

    def show(self, target: Target, methods: Sequence[Method], scene: Scene, pair: Pair) -> None:
        """What is on the stage, and what else there is to choose."""
        now = target.key, tuple(method.name for method in methods), scene.name, pair
        if now == self._shown:
            return
        self._shown, self._busy = now, True
        titles = {each.title: name for name, each in applicable_scenes(target, *methods).items()}
        self.scene.param.update(options=titles, value=scene.name, visible=len(titles) > 1)
        menus = [*scene.choices(target).items()]
        for widget, k, (label, names) in zip(self.pair, pair, menus, strict=False):
            options = {name: number for number, name in enumerate(names)}
            widget.param.update(label=label, options=options, value=k if k < len(names) else 0)
        for number, widget in enumerate(self.pair):
            widget.visible = number < len(menus)
        self._busy = False

    def _chosen(self, event: Any) -> None:
        if self._busy:
            return
        # What the event says, not what its widget says by now: the picture of an earlier choice may have set it back.
        said = {widget: widget.value for widget in self.widgets} | {event.obj: event.new}
        scene, *pair = (said[widget] for widget in self.widgets)
        across, up = (0, 1) if pair[0] is None else pair
        if not self.pair[1].visible:
            up = int(across == 0)
        if across == up:  # the other axis takes over what this one had
            across, up = (event.old, up) if event.obj is self.pair[1] else (across, event.old)
        self._choose(SceneChoice(scene, (across, up)))
