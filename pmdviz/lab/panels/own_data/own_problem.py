"""All of a person's own problem on a lab's page: the dialog, the handles on the stage, and data that are edited."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import param
from panel.custom import JSComponent

from pmdviz.errors import InputError
from pmdviz.knobs import real_number
from pmdviz.lab import css
from pmdviz.lab.loop.locked import soon
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.loop.task import TaskSlot, pool_for
from pmdviz.lab.panels.own_data.dialog import OwnDataDialog
from pmdviz.lab.panels.own_data.editing import EDITING, DataEditing
from pmdviz.lab.panels.screen import Screen
from pmdviz.scenes.data_columns import Moved, moved, moved_options
from pmdviz.targets import Target
from pmdviz.targets.mass import Handle
from pmdviz.views.stage import LinesBelow

# Handles on the stage: true parameters and modes that can be dragged, and the exact posterior that follows.

MOVING = "a moved target"  # what the live loop calls it
QUICK_S = 0.05  # CPU seconds of the lines
FARTHEST = 1e6  # a browser may say any number
PLANE = (0, 1)  # the pair of coordinates that handles lie in


class HandlesView(JSComponent):
    """The handles over the stage; what is done to them comes as messages."""

    stage = param.String(default="", doc="Id of the figure.")
    handles = param.List(default=[], doc="Name and place of each.")
    axes = param.List(default=["", ""], doc="What the coordinates are called; the second is empty in one dimension.")
    answer = param.Dict(default={}, doc="Where the handles of the moved target are, and which move this answers.")
    again = param.Integer(default=0, doc="Raised by the server: what was dragged goes back to its place.")

    _esm = css.static("handles.js")
    _stylesheets = [css.static("handles.css")]

    def __init__(self, act: Callable[[Mapping[str, Any]], None], **params: Any) -> None:
        self._act = act
        super().__init__(css_classes=["pmdviz-handles"], margin=0, **params)

    def _handle_msg(self, data: Any) -> None:
        if isinstance(data, Mapping):
            soon(self._act, data)


class Handles:
    """`begin(MOVING, options=...)` starts the run of a target that was moved; `pause` stops what plays."""

    def __init__(self, figure: Any, begin: Callable[..., None], pause: Callable[[], None]) -> None:
        self._begin, self._pause = begin, pause
        self._seen: tuple[Any, ...] = ()
        self._target: Target | None = None
        self.lines = LinesBelow(figure, "moved", "exact")
        self._work = TaskSlot(queues=True)
        self.view = HandlesView(self._hear, stage=figure.id)

    def start(self, doc: Any) -> None:
        """The page's document."""
        self._work.doc = doc

    def stop(self) -> None:
        """The page is closed."""
        self._work.let_go()

    def show(self, snapshot: Snapshot) -> None:
        """Follow the run: another target has other handles, and another picture may have none."""
        target = snapshot.frame.target
        seen = target, snapshot.scene, snapshot.pair
        if len(self._seen) == 3 and all(a is b or a == b for a, b in zip(seen, self._seen, strict=True)):
            return
        self._seen, self._target = seen, target
        there = snapshot.scene.shows_theta and snapshot.pair == PLANE
        self._work.let_go()
        self.lines.show()
        flat, names = target.dim == 1, target.parameter_names
        self.view.param.update(
            handles=_plain(target.handles()) if there else [],
            axes=[names[0], "" if flat else names[1]] if there else ["", ""],
            again=self.view.again + 1,
        )

    def forget(self) -> None:
        """What was dragged goes back: nothing comes of it."""
        self._work.let_go()
        self.lines.show()
        self.view.again += 1

    def set_theme(self, dark: bool) -> None:
        """Colours of the light or the dark theme."""
        self.lines.set_theme(dark)

    def _hear(self, data: Mapping[str, Any]) -> None:
        if data.get("cancel"):
            self.forget()
            return
        at, serial = data.get("at"), data.get("serial")
        x, y = (real_number(data.get(axis)) for axis in ("x", "y"))
        if self._target is None or x is None or y is None or type(at) is not int or type(serial) is not int:
            return
        x, y = (min(max(value, -FARTHEST), FARTHEST) for value in (x, y))
        if data.get("drop"):
            self._drop(at, x, y)
        else:
            self._drag(at, x, y, serial)

    def _drag(self, at: int, x: float, y: float, serial: int) -> None:
        self._pause()
        act, told = partial(moved, self._target, at, x, y), partial(self._follow, serial)
        self._work.compute(pool_for(QUICK_S), act, told, lambda words: self.forget())

    def _follow(self, serial: int, found: Moved) -> None:
        self.lines.show(found.lines)
        self.view.answer = {"serial": serial, "handles": _plain(found.handles)}

    def _drop(self, at: int, x: float, y: float) -> None:
        self._begin(MOVING, options=lambda target: moved_options(target, at, x, y), keep=True)


def _plain(handles: tuple[Handle, ...]) -> list[dict[str, Any]]:
    return [{"name": handle.name, "x": float(handle.at[0]), "y": float(handle.at[1])} for handle in handles]


IN_THE_PICTURE = (EDITING, MOVING)  # what has no control beside which a refusal could stand


class OwnProblem:
    """`begin(what, options=..., keep=True)` starts a run that Undo takes back; `pause` stops what plays."""

    def __init__(self, begin: Callable[..., None], screen: Screen, pause: Callable[[], None]) -> None:
        self.dialog = OwnDataDialog(begin)
        self.handles = Handles(screen.stage.figure, begin, pause)
        self.editing = DataEditing(begin)
        screen.view.append(self.handles.view)
        screen.options.insert(1, self.editing.view)
        screen.on_data, screen.on_data_view = self.editing.look, self.editing.watch

    def start(self, doc: Any) -> None:
        """The page's document."""
        self.dialog.start(doc)
        self.handles.start(doc)

    def stop(self) -> None:
        """The page is closed."""
        self.dialog.stop()
        self.handles.stop()

    def show(self, snapshot: Snapshot) -> None:
        """Follow the run."""
        self.dialog.show(snapshot)
        self.handles.show(snapshot)
        self.editing.show(snapshot)

    def set_theme(self, dark: bool) -> None:
        """Colours of the light or the dark theme."""
        self.handles.set_theme(dark)

    def cancelled(self) -> None:
        """What was asked for was cancelled."""
        self._take_back()
        self.dialog.cancelled()

    def failed(self, error: Exception) -> bool:
        """A run failed; whether the dialog says why."""
        self._take_back()
        return self.dialog.refuse(str(error))

    def refused(self, error: InputError) -> bool:
        """A run was refused; whether the dialog says why."""
        self._take_back()
        return self.dialog.refuse(error.on_page)

    def _take_back(self) -> None:
        """What was dragged or clicked came to nothing."""
        self.handles.forget()
        self.editing.forget()
