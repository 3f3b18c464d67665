"""What can be exported: ten lines of Python, a picture, the history as a table."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import panel as pn
from bokeh.models import CustomJS

from pmdviz.export.writers.csv import table_csv
from pmdviz.lab.controls.buttons import SMALL, small_button
from pmdviz.lab.controls.clipboard import Clipboard
from pmdviz.lab.css import static
from pmdviz.lab.loop.acknowledge import Acknowledge
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.runner import Snapshot


class Actions(Clipboard):
    """Copy Python, Save PNG, Download CSV, and the line that confirms."""

    def __init__(self, ack: Acknowledge, stage: Any, last: Callable[[], Snapshot | None]) -> None:
        super().__init__(ack)
        self._last = last
        self.copy = small_button("Copy Python")
        self.copy.on_click(handed(lambda event: self.put_on_clipboard(self._python())))
        self.share = small_button("Share")
        self.save = small_button("Save PNG")
        self.save.on_click(handed(lambda event: self._save()))
        # By way of the model: Panel keeps the arguments of a button's own script, and all they depend on, for ever.
        ack.js_on_change("saves", CustomJS(args={"stage": stage}, code=static("save_png.js")))
        self.download = pn.widgets.FileDownload(
            callback=self._csv, filename="pmdviz-history.csv", label="Download CSV", **SMALL
        )

    def row(self, *first: Any) -> Any:
        """The buttons in a row, after some others."""
        buttons = *first, self.share, self.copy, self.save, self.download
        return pn.FlexBox(*buttons, gap="6px", margin=(4, 0), sizing_mode="stretch_width")

    def _save(self) -> None:
        self._ack.saves += 1

    def _python(self) -> str:
        last = self._last()
        if last is None:
            return ""
        return last.run.to_python()

    def _csv(self) -> io.StringIO:
        last = self._last()
        return io.StringIO(table_csv(last.history) if last else "")
