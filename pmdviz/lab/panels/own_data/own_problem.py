"""All of a person's own problem on a lab's page: the dialog, the handles on the stage, and data that are edited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pmdviz.errors import InputError
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.panels.own_data.dialog import OwnDataDialog
from pmdviz.lab.panels.own_data.editing import EDITING, DataEditing
from pmdviz.lab.panels.own_data.handles import MOVING, Handles
from pmdviz.lab.panels.screen import Screen

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
