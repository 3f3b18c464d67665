"""The Methods page: what every method does in a step, in terms that they share; a cell runs its method in the lab."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import param
from panel.custom import JSComponent

from pmdviz.lab import css
from pmdviz.lab.loop.locked import soon
from pmdviz.lab.pages.opening import opening
from pmdviz.lab.pages.page import PlainPage, headed
from pmdviz.methods import METHODS, Method, by_family
from pmdviz.methods.grammar import COLUMNS

FIRST = "What does a step do? Press a cell: the lab runs that method and shows that part of it."
READ_IT = (
    "Read a row from left to right as one step of a method at its default settings; — means that it does nothing of "
    "the kind. The menus leave the methods that have what you choose."
)
TAU_M = "τ\N{NO-BREAK SPACE}m"


class MethodsTable(JSComponent):
    """The table; filters are the browser's own affair, and it says which cell was pressed."""

    columns = param.List(default=[], doc="Name, title and terms of each column; a term with its meaning.")
    families = param.List(default=[], doc="Title, and the rows: name, title and cells of each method.")

    _esm = css.static("make.js") + css.static("methods.js")
    _stylesheets = [css.static("methods.css")]

    def __init__(self, pick: Callable[[str, str], None], **params: Any) -> None:
        self._pick = pick
        super().__init__(**params)

    def _handle_msg(self, data: Mapping[str, Any]) -> None:
        """A method's name and a column's, "" for the method itself; anything else is what a browser made up."""
        method, column = data.get("method"), data.get("column")
        if isinstance(method, str) and isinstance(column, str) and method in METHODS and column in ("", *COLUMNS):
            soon(self._pick, method, column)


class MethodsPage(PlainPage):
    """The table of all methods; a page of the app."""

    def __init__(self) -> None:
        columns = [[name, column.title, [*map(list, column.terms.items())]] for name, column in COLUMNS.items()]
        families = [[title, [_row(method) for method in methods]] for title, methods in by_family().items()]
        self.table = MethodsTable(self.pick, columns=columns, families=families, sizing_mode="stretch_width", margin=0)
        about = "".join(headed(column.title, column.about) for column in COLUMNS.values())
        super().__init__(FIRST, self.table, headed("Methods", READ_IT) + about, "pmdviz-methods")

    def pick(self, method: str, column: str) -> None:
        """Run a method, with what shows a column of its grammar."""
        if self.on_open is not None:
            self.on_open("lab", opening(METHODS[method], column))


def _row(method: Method) -> list[Any]:
    """Name, title, and of each cell the terms and the remark."""
    cells = [[list(cell.terms), cell.remark.replace("τ m", TAU_M)] for _, cell in method.grammar]
    return [method.name, method.title, cells]
