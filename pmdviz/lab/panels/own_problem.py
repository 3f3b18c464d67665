"""A person's own problem in the pictures: data that are edited by clicks, handles on the stage, and the dialog.

A click on the picture of the data adds an observation or removes one, and fields do the same by the keyboard.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import param
from bokeh.core.property.descriptors import UnsetValueError
from bokeh.events import Tap
from bokeh.models import Plot

from pmdviz.data.cells import MOST_ROWS
from pmdviz.data.tables import Table, held, hold
from pmdviz.errors import InputError
from pmdviz.files import Json
from pmdviz.knobs import Value, real_number
from pmdviz.lab import css
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.loop.task import TaskSlot, pool_for
from pmdviz.lab.panel_internals import handed
from pmdviz.lab.panels.own_data import OwnDataDialog
from pmdviz.lab.panels.screen import Screen
from pmdviz.lab.panels.widgets import Component
from pmdviz.scenes import data_columns
from pmdviz.scenes.columns import EMPTY_LINE
from pmdviz.scenes.data_columns import Moved, moved, moved_options
from pmdviz.scenes.stage import Pair, Scene
from pmdviz.targets import Target
from pmdviz.targets.exact import Handle
from pmdviz.targets.options import SCALED_TO
from pmdviz.views import DataView, StageView

# Data added and taken away one by one: from the present data to an own table; plain values, no page.

ADD, LAST, POINT = "add", "last", "point"
EDITED = "edited"  # at the end of the table's name
RUG_SHARE = 0.06  # of the height of a histogram: a click below it is on the data, one above it adds


class Edit(NamedTuple):
    """An observation to be added, the last one to be removed, or a click on the picture."""

    kind: str
    values: tuple[float, ...] = ()  # of a row, its outcome last; to add, in the units the table had at first
    reach: tuple[float, ...] = ()  # of a click: what lies as near is removed instead, in the units of the axes


def can_be_edited(target: Target) -> bool:
    """Whether the data of a target can be drawn, and a table of them would leave it the parameters that it has."""
    form = target.table
    if form is None or not data_columns.applies(target):
        return False
    options = edited_sizes(target, target.num_data + form.held_out, table_rows(target).shape[1])
    return form.dim_beyond is None or options[form.inputs_option] == getattr(target.options, form.inputs_option)


def edited_sizes(target: Target, rows: int, columns: int) -> dict[str, int]:
    """The options with which the target takes all rows of a table of this size that it may."""
    return target.table.options(type(target.options).specs(), rows, columns) if target.table else {}


def row_names(target: Target) -> tuple[str, ...]:
    """What the columns of a target's table are called, the outcome last."""
    source = getattr(target.options, "data", "")
    if table := held(source):
        return table.columns
    width = table_rows(target).shape[1]
    if target.predicts:
        inputs = target.input_names or tuple(f"x{k + 1}" if width > 2 else "x" for k in range(width - 1))
        return (*inputs, "class" if target.predicts == "class" else "y")
    return tuple(f"x{k + 1}" if width > 1 else "x" for k in range(width))


def table_rows(target: Target) -> np.ndarray:
    """The data as rows of a table (n, k); with one held-out row at the end where the target must have some."""
    rows = target.data_rows
    if target.table is not None and target.table.held_out and target.test_data is not None:
        rows = np.concatenate([rows, target.test_data[:1]])
    if target.predicts == "class":
        return np.column_stack([target.inputs(rows), target.outcomes(rows) > 0]).astype(float)
    return data_columns.without_ones(target, rows.reshape(len(rows), -1))


def edited(target: Target, edits: Iterable[Edit]) -> Table:
    """The table of a target's data after the edits. Raises InputError where one cannot be made."""
    rows = table_rows(target)
    for edit in edits:
        rows = _after(target, rows, edit)
    return hold(_name(target), row_names(target), rows, "", _units(target))


def edited_options(target: Target, table: Table) -> dict[str, Value]:
    """The options with which the target takes the table of `edited`."""
    return {"data": table.pin, **edited_sizes(target, *table.rows.shape)}


def _after(target: Target, rows: np.ndarray, edit: Edit) -> np.ndarray:
    if edit.kind == LAST:
        return _without(rows, len(rows) - 1 - _extra(target))
    if len(edit.values) != rows.shape[1]:
        example = ", ".join(("1.5", *["0"] * (rows.shape[1] - 1)))
        raise InputError(f"an observation has {rows.shape[1]} numbers here, such as {example}; got {len(edit.values)}")
    if edit.kind == POINT and (at := _nearest(target, rows, edit)) is not None:
        return _without(rows, at)
    if len(rows) >= MOST_ROWS:
        raise InputError(f"a table may have {MOST_ROWS:,} rows, and this one has them: remove some first")
    values, units = edit.values, _units(target)
    if edit.kind == ADD and units:  # fields take the table's original numbers
        scaled = zip(values, units, strict=True)
        values = tuple(round((value - mean) / sd, SCALED_TO) for value, (mean, sd) in scaled)
    return np.insert(rows, len(rows) - _extra(target), values, axis=0)


def _units(target: Target) -> tuple[tuple[float, float], ...]:
    """Mean and sd that the columns of the target's table had before it was standardised; () where it was not."""
    table = held(getattr(target.options, "data", ""))
    return table.units if table else ()


def _extra(target: Target) -> int:
    """How many rows of `table_rows` are not among the data that are seen."""
    return len(table_rows(target)) - target.num_data


def _without(rows: np.ndarray, at: int) -> np.ndarray:
    if len(rows) < 2:
        raise InputError("the last observation stays: a run needs one")
    return np.delete(rows, at, axis=0)


def _nearest(target: Target, rows: np.ndarray, edit: Edit) -> int | None:
    """The row of the observation that a click is on."""
    if not edit.reach:
        return None
    seen = rows[: len(rows) - _extra(target), : len(edit.reach)]
    away = np.abs(seen - np.array(edit.values[: len(edit.reach)])) / np.array(edit.reach)
    distance = np.sqrt((away**2).sum(axis=1))
    at = int(distance.argmin())
    return at if distance[at] <= 1.0 else None


def _name(target: Target) -> str:
    source = getattr(target.options, "data", "")
    stem = source.partition("#")[0].rsplit(".", 1)[0] if held(source) is not None else target.name
    return f"{stem}.csv" if stem.endswith(EDITED) else f"{stem[:32]} {EDITED}.csv"


def tidy(value: float, span: float) -> float:
    """A place on an axis of this length, to about a thousandth of it."""
    return round(value, max(0, 3 - math.floor(math.log10(max(span, 1e-300))))) if span > 0 else value


def rug(target: Target, top: float) -> dict[str, np.ndarray]:
    """Dots for the data of a histogram, at its foot; none where the data lie in a plane."""
    points = data_columns.plane(target, target.data_rows)
    if points.shape[1] != 1:
        return {"x": np.empty(0), "y": np.empty(0)}
    at = np.linspace(0, len(points) - 1, min(len(points), data_columns.MAX_DOTS)).astype(np.int64)
    return {"x": points[at, 0], "y": np.full(len(at), top * RUG_SHARE / 3)}


EDITING = "edited data"  # what the live loop calls it
REACH_PX = 9.0  # of a click around an observation
MOST_WAITING = 50  # edits; more are not taken before the run has followed
USUAL_PX = 400.0  # of a figure that has not said how large it is


class EditDataView(Component):
    """A switch, and while it is on fields for an observation with two buttons."""

    editing = param.Boolean(default=False, doc="Whether clicks edit the data.")
    names = param.List(default=[], doc="The names of an observation's numbers.")
    classed = param.Boolean(default=False, doc="Whether the last of them is a class, 0 or 1.")
    said = param.String(default="", doc="How many data there are, or what cannot be done.")

    _esm = css.MAKE + css.static("own_data.js", "edit_data")
    _stylesheets = [css.component("pages.css", "edit_data")]


class DataEditing:
    """`begin(EDITING, options=...)` starts the run with the edited data."""

    def __init__(self, begin: Callable[..., None]) -> None:
        self._begin = begin
        self._target: Target | None = None
        self._edits: deque[Edit] = deque(maxlen=MOST_WAITING)
        self._asked = False  # whether a run with the waiting changes was requested
        self._table: Table | None = None  # keeps it held until the run does
        self._data_shown, self._class = False, 0.0
        self._picture: DataView | None = None
        self.view = EditDataView(self._hear, visible=False)

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
        """The last request failed: the data are as they were."""
        self._edits.clear()
        self._asked = False

    def _offer(self) -> None:
        """The switch where there is something to edit, with the fields of an observation."""
        target = self._target
        if not self._data_shown or target is None or not can_be_edited(target):
            self.view.param.update(visible=False, editing=False)
        else:
            said = f"{target.num_data:,} data" if target.num_data != 1 else "1 observation"
            names, classed = [*row_names(target)], target.predicts == "class"
            self.view.param.update(visible=True, names=names, classed=classed, said=said)
        self._draw_rug()

    def _draw_rug(self) -> None:
        if self._picture is not None and self._target is not None:
            on = self.view.editing and self._data_shown
            self._picture.show_rug(rug(self._target, self._picture.figure.y_range.end) if on else EMPTY_LINE)

    def _hear(self, data: Mapping[str, Json]) -> None:
        if "on" in data:
            self.view.editing = data["on"] is True
            self._draw_rug()
        elif "class" in data:
            self._class = float(data["class"] == 1)
        elif "add" in data:
            self._add(data["add"])
        elif data.get("last"):
            self._ask(Edit(LAST))

    def _add(self, given: Json) -> None:
        numbers = [real_number(each) for each in given] if isinstance(given, list) else []
        if len(numbers) != len(self.view.names) or None in numbers:
            self.view.said = f"Give a number for {' and '.join(self.view.names)}."
            return
        self._ask(Edit(ADD, tuple(float(number) for number in numbers if number is not None)))

    def _tapped(self, event: Tap) -> None:
        """A click on the picture, in the numbers of its axes."""
        at = real_number(event.x), real_number(event.y)
        if not self.view.editing or self._picture is None or self._target is None or at[0] is None or at[1] is None:
            return
        f = self._picture.figure
        spans = f.x_range.end - f.x_range.start, f.y_range.end - f.y_range.start
        sizes = _size(f, "inner_width"), _size(f, "inner_height")
        x, y = (tidy(value, span) for value, span in zip(at, spans, strict=True))
        reach = tuple(REACH_PX * span / size for span, size in zip(spans, sizes, strict=True))
        if data_columns.plane(self._target, self._target.data_rows[:1]).shape[1] == 1:
            self._ask(Edit(POINT, (x,), reach[:1] if at[1] <= RUG_SHARE * f.y_range.end else ()))
        else:
            self._ask(Edit(POINT, (x, y, self._class) if self.view.classed else (x, y), reach))

    def _ask(self, edit: Edit) -> None:
        """Have a run take it, together with what else waits by then."""
        if self._target is None or not self.view.visible or len(self._edits) == MOST_WAITING:
            return
        self._edits.append(edit)
        if not self._asked:
            self._asked = True
            self._begin(EDITING, options=self._options, keep=True)

    def _options(self, target: Target) -> dict[str, Value]:
        """Runs in the worker: the options with all edits that wait."""
        edits = [self._edits.popleft() for _ in range(len(self._edits))]
        self._asked = False
        if not edits or not can_be_edited(target):
            return {}
        self._table = edited(target, edits)
        return edited_options(target, self._table)


def _size(figure: Plot, name: str) -> float:
    """Pixels, as soon as the browser has said them."""
    try:
        return float(getattr(figure, name) or USUAL_PX)
    except UnsetValueError:
        return USUAL_PX


# Handles on the stage: true parameters and modes that can be dragged, and the exact posterior that follows.

MOVING = "a moved target"  # what the live loop calls it
QUICK_S = 0.05  # CPU seconds of the lines
FARTHEST = 1e6  # a browser may say any number
PLANE = (0, 1)  # the pair of coordinates that handles lie in


class HandlesView(Component):
    """The handles over the stage; their moves come as messages."""

    stage = param.String(default="", doc="Id of the figure.")
    handles = param.List(default=[], doc="Name and place of each.")
    axes = param.List(default=["", ""], doc="What the coordinates are called; the second is empty in one dimension.")
    answer = param.Dict(default={}, doc="Where the handles of the moved target are, and which move this answers.")
    again = param.Integer(default=0, doc="Raised by the server: the dragged handle goes back to its place.")

    _esm = css.MAKE + css.static("own_data.js", "handles")
    _stylesheets = [css.static("pages.css", "handles")]


class Handles:
    """`begin(MOVING, options=...)` starts the run of a target that was moved; `pause` stops what plays."""

    def __init__(self, stage: StageView, begin: Callable[..., None], pause: Callable[[], None]) -> None:
        self._begin, self._pause = begin, pause
        self._seen: tuple[Target, Scene, Pair, bool] | None = None
        self._target: Target | None = None
        self.hidden = False  # by a lesson: they are where the posterior is
        self._draw_moved = partial(stage.draw_below, "moved")
        self.work = TaskSlot(queues=True)
        self.view = HandlesView(self._hear, stage=stage.figure.id, css_classes=["pmdviz-handles"], sizing_mode=None)

    def show(self, snapshot: Snapshot) -> None:
        """Follow the run: another target has other handles, and another picture may have none."""
        target = snapshot.frame.target
        if (seen := (target, snapshot.scene, snapshot.pair, self.hidden)) == self._seen:
            return
        self._seen, self._target = seen, target
        there = snapshot.scene.shows_theta and snapshot.pair == PLANE and not self.hidden
        self.work.let_go()
        self._draw_moved()
        flat, names = target.dim == 1, target.parameter_names
        handles = _plain(target.handles()) if there else []
        axes = [names[0], "" if flat else names[1]] if there else ["", ""]
        self.view.param.update(handles=handles, axes=axes, again=self.view.again + 1)

    def forget(self) -> None:
        """The dragged handle goes back: the request was dropped."""
        self.work.let_go()
        self._draw_moved()
        self.view.again += 1

    def _hear(self, data: Mapping[str, Json]) -> None:
        if data.get("cancel"):
            self.forget()
            return
        at, serial = data.get("at"), data.get("serial")
        x, y = (real_number(data.get(axis)) for axis in ("x", "y"))
        if self._target is None or x is None or y is None or type(at) is not int or type(serial) is not int:
            return
        x, y = (min(max(value, -FARTHEST), FARTHEST) for value in (x, y))
        if data.get("drop"):
            self._begin(MOVING, options=lambda target: moved_options(target, at, x, y), keep=True)
        else:
            self._drag(at, x, y, serial)

    def _drag(self, at: int, x: float, y: float, serial: int) -> None:
        self._pause()
        act, told = partial(moved, self._target, at, x, y), partial(self._follow, serial)
        self.work.compute(pool_for(QUICK_S), act, told, lambda words: self.forget())

    def _follow(self, serial: int, found: Moved) -> None:
        self._draw_moved(found.lines)
        self.view.answer = {"serial": serial, "handles": _plain(found.handles)}


def _plain(handles: tuple[Handle, ...]) -> list[dict[str, Json]]:
    return [{"name": handle.name, "x": float(handle.at[0]), "y": float(handle.at[1])} for handle in handles]


IN_THE_PICTURE = (EDITING, MOVING)  # settings without a control next to which a refusal could appear


class OwnProblem:
    """`begin(what, options=..., keep=True)` starts a run that Undo takes back; `pause` stops what plays."""

    def __init__(self, begin: Callable[..., None], screen: Screen, pause: Callable[[], None]) -> None:
        self.dialog = OwnDataDialog(begin)
        self.handles = Handles(screen.stage, begin, pause)
        self.editing = DataEditing(begin)
        screen.view.append(self.handles.view)
        screen.options.insert(1, self.editing.view)
        screen.on_data, screen.on_data_view = self.editing.look, self.editing.watch

    def stop(self) -> None:
        """The page is closed."""
        self.dialog.work.let_go()
        self.handles.work.let_go()

    def show(self, snapshot: Snapshot) -> None:
        """Follow the run."""
        for part in (self.dialog, self.handles, self.editing):
            part.show(snapshot)

    def refuse(self, sentence: str) -> bool:
        """The drag or click had no effect, because no run came of it; whether the dialog says why."""
        self.handles.forget()
        self.editing.forget()
        return self.dialog.refuse(sentence)
