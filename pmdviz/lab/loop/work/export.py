"""A file being made for one visitor: in the background, into a folder that goes with it, to be cancelled."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pmdviz.engine.run import Run
from pmdviz.errors import InputError
from pmdviz.experiments.forecast import in_time, most_seconds
from pmdviz.experiments.race import RaceResult
from pmdviz.export import export
from pmdviz.lab.loop.background import Background, Tell
from pmdviz.lab.loop.pool import Slices
from pmdviz.lab.loop.temporary import new_folder
from pmdviz.scenes.words import count, duration

SURE = 5  # frames after which the pace so far is that of all
_pool = Slices("pmdviz-export")  # behind everybody's steps


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
        self.begin(_pool, lambda tell: export(what, self.path, progress=self._within_limit(tell), **self._options))

    def _within_limit(self, tell: Tell) -> Tell:
        """`tell`; it raises InputError where the pace of the first frames says that all of them take too long."""
        most, began = most_seconds(), time.thread_time()

        def told(done: int, total: int) -> None:
            tell(done, total)
            seconds = (time.thread_time() - began) * total / max(done, 1)
            if most is not None and SURE <= done < total and seconds > most:
                words = f"this file would take about {in_time(seconds)} of computing"
                raise InputError(
                    f"{words}, and {in_time(most)} is the most here: choose fewer frames or a smaller size"
                )

        return told

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
