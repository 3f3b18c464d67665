"""Edit the data in their picture: a click adds a datum or removes one, and fields do the same by the keyboard."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import param
from bokeh.core.property.descriptors import UnsetValueError
from panel.custom import JSComponent

from pmdviz.data.tables import Table
from pmdviz.knobs import real_number
from pmdviz.lab import css
from pmdviz.lab.loop.locked import handed, soon
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.panels.own_data.edits import (
    ADD,
    LAST,
    POINT,
    RUG_SHARE,
    Edit,
    can_be_edited,
    edited,
    edited_options,
    row_names,
    rug,
    tidy,
)
from pmdviz.scenes.columns import EMPTY_LINE
from pmdviz.scenes.data_columns import plane
from pmdviz.targets import Target
from pmdviz.views import DataView

EDITING = "edited data"  # what the live loop calls it
REACH_PX = 9.0  # of a click around a datum
MOST_WAITING = 50  # edits; more are not taken before the run has followed
USUAL_PX = 400.0  # of a figure that has not said how large it is


class EditDataView(JSComponent):
    """A switch, and while it is on fields for a datum with two buttons."""

    editing = param.Boolean(default=False, doc="Whether clicks edit the data.")
    names = param.List(default=[], doc="What the numbers of a datum are called.")
    classed = param.Boolean(default=False, doc="Whether the last of them is a class, 0 or 1.")
    said = param.String(default="", doc="How many data there are, or what cannot be done.")

    _esm = css.static("make.js") + css.static("edit_data.js")
    _stylesheets = [css.static("edit_data.css")]

    def __init__(self, act: Callable[[Mapping[str, Any]], None], **params: Any) -> None:
        self._act = act
        super().__init__(sizing_mode="stretch_width", margin=0, visible=False, **params)

    def _handle_msg(self, data: Any) -> None:
        if isinstance(data, Mapping):
            soon(self._act, data)


class DataEditing:
    """`begin(EDITING, options=...)` starts the run with the edited data."""

    def __init__(self, begin: Callable[..., None]) -> None:
        self._begin = begin
        self._target: Target | None = None
        self._edits: deque[Edit] = deque(maxlen=MOST_WAITING)
        self._asked = False  # whether a run that takes what waits has been asked for
        self._table: Table | None = None  # keeps it held until the run does
        self._data_shown, self._class = False, 0.0
        self._picture: DataView | None = None
        self.view = EditDataView(self._hear)

    def look(self, on: bool) -> None:
        """Whether the picture of the data is shown."""
        self._data_shown = on
        self._offer()

    def watch(self, picture: DataView) -> None:
        """Hear of clicks on the picture, which has just been made."""
        self._picture = picture
        picture.figure.on_event("tap", handed(self._tapped))

    def show(self, snapshot: Snapshot) -> None:
        """Follow the run."""
        self._asked = False
        if snapshot.frame.target is not self._target:
            self._target = snapshot.frame.target
            self._offer()

    def forget(self) -> None:
        """What was asked for last did not come: the data are as they were."""
        self._edits.clear()
        self._asked = False

    def _offer(self) -> None:
        """The switch where there is something to edit, with the fields of a datum."""
        target = self._target
        can = self._data_shown and target is not None and can_be_edited(target)
        if not can or target is None:
            self.view.param.update(visible=False, editing=False)
        else:
            names, n = row_names(target), target.num_data
            said = f"{n:,} data" if n != 1 else "1 datum"
            self.view.param.update(visible=True, names=[*names], classed=target.predicts == "class", said=said)
        self._draw_rug()

    def _draw_rug(self) -> None:
        if self._picture is not None and self._target is not None:
            on = self.view.editing and self._data_shown
            self._picture.show_rug(rug(self._target, self._picture.figure.y_range.end) if on else EMPTY_LINE)

    def _hear(self, data: Mapping[str, Any]) -> None:
        if "on" in data:
            self.view.editing = data["on"] is True
            self._draw_rug()
        elif "class" in data:
            self._class = float(data["class"] == 1)
        elif "add" in data:
            self._add(data["add"])
        elif data.get("last"):
            self._ask(Edit(LAST))

    def _add(self, given: Any) -> None:
        numbers = [real_number(each) for each in given] if isinstance(given, list) else []
        if len(numbers) != len(self.view.names) or None in numbers:
            self.view.said = f"Give a number for {' and '.join(self.view.names)}."
            return
        self._ask(Edit(ADD, tuple(float(number) for number in numbers if number is not None)))

    def _tapped(self, event: Any) -> None:
        """A click on the picture, in the numbers of its axes."""
        at = real_number(event.x), real_number(event.y)
        if not self.view.editing or self._picture is None or self._target is None or at[0] is None or at[1] is None:
            return
        f = self._picture.figure
        spans = f.x_range.end - f.x_range.start, f.y_range.end - f.y_range.start
        sizes = _size(f, "inner_width"), _size(f, "inner_height")
        x, y = (tidy(value, span) for value, span in zip(at, spans, strict=True))
        reach = tuple(REACH_PX * span / size for span, size in zip(spans, sizes, strict=True))
        if plane(self._target, self._target.data_rows[:1]).shape[1] == 1:
            low = at[1] <= RUG_SHARE * f.y_range.end
            self._ask(Edit(POINT, (x,), reach[:1] if low else ()))
        else:
            values = (x, y, self._class) if self.view.classed else (x, y)
            self._ask(Edit(POINT, values, reach))

    def _ask(self, edit: Edit) -> None:
        """Have a run take it, together with what else waits by then."""
        if self._target is None or not self.view.visible or len(self._edits) == MOST_WAITING:
            return
        self._edits.append(edit)
        if not self._asked:
            self._asked = True
            self._begin(EDITING, options=self._options, keep=True)

    def _options(self, target: Target) -> dict[str, Any]:
        """Runs in the worker: the options with all edits that wait."""
        edits = [self._edits.popleft() for _ in range(len(self._edits))]
        self._asked = False
        if not edits or not can_be_edited(target):
            return {}
        self._table = edited(target, edits)
        return edited_options(target, self._table)


def _size(figure: Any, name: str) -> float:
    """Pixels, as soon as the browser has said them."""
    try:
        return float(getattr(figure, name) or USUAL_PX)
    except UnsetValueError:
        return USUAL_PX
