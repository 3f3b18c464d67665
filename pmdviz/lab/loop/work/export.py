"""A file being made for one visitor: in the background, into a folder that goes with it, to be cancelled."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pmdviz.engine.run import Run
from pmdviz.experiments.race import RaceResult
from pmdviz.export import export
from pmdviz.lab.loop.background import Background
from pmdviz.lab.loop.pool import GIVES_WAY, DaemonPool
from pmdviz.lab.loop.temporary import new_folder
from pmdviz.scenes.words import count, duration

_pool = DaemonPool(1, "pmdviz-export", GIVES_WAY)  # one file at a time on a server, behind everybody's steps


class Work(Background):
    """One export: `make` by the thread that holds the session, everything else from anywhere."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.name, self._options = name, dict(options)
        self._folder = new_folder()

    @property
    def path(self) -> Path:
        """Where the file will be."""
        return self._folder / self.name

    def make(self, what: Run | RaceResult) -> None:
        """Have the file made from a run or a race, when those before it are done."""
        self.begin(_pool, lambda tell: export(what, self.path, progress=tell, **self._options))

    def words(self) -> str:
        """How far it is."""
        if not self.running:
            return "Waiting for another step or export ..."
        share = f"{count(self.done)} of {count(self.total)} frames" if self.total else "Beginning"
        return f"{share}, {duration(self.seconds)} so far"

    def cancel(self) -> None:
        """End it at the next iteration or frame, and throw away what there is."""
        super().cancel()
        self.clear()

    def ended(self) -> None:
        """A thread that was cancelled may have written until now."""
        if self.watch.cancelled:
            self.clear()

    def clear(self) -> None:
        """Delete the file and its folder."""
        shutil.rmtree(self._folder, ignore_errors=True)
