"""One experiment of the Theory page under way: what it has found so far, drawn in the thread that measures."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pmdviz.errors import InputError
from pmdviz.experiments.base import Row
from pmdviz.experiments.pictures import Picture
from pmdviz.experiments.running import FAILED, ExperimentResult, find_experiment, run_experiment
from pmdviz.kernels.cancel import Cancelled
from pmdviz.lab.loop.pool import GIVES_WAY
from pmdviz.lab.loop.work.theory import LOOK_EVERY_S

WORKERS = 2
SHARE = 4.0  # so many times what pictures took goes by before the next ones

log = logging.getLogger(__name__)


class Found(NamedTuple):
    """What there is: pictures and what comes out belong together."""

    pictures: Sequence[Picture] = ()
    summary: Sequence[Mapping[str, Any]] = ()
    examples: Sequence[Picture] = ()


NOTHING_YET = Found()


class ExperimentWork:
    """Rows, and what was last made of them; `act` is called by one thread, all else from anywhere."""

    def __init__(self, name: str, knobs: Mapping[str, Any], insist: bool = False) -> None:
        self.experiment, self.insist = find_experiment(name), insist
        self.knobs = self.experiment.Knobs.checked(dict(knobs))
        self.rows: list[Row] = []
        self.found = NOTHING_YET
        self._result: ExperimentResult | None = None
        self._next = 0.0

    def act(self, tell: Callable[[int, int], None]) -> ExperimentResult:
        """Measure, draw meanwhile, and in the end see what comes out. Raises Cancelled and InputError."""

        def told(done: int, total: int) -> None:
            tell(done, total)
            self._draw_if_due()

        name, knobs, way = self.experiment.name, self.knobs.as_dict(), {"workers": WORKERS, "niceness": GIVES_WAY}
        try:
            result = run_experiment(name, knobs, progress=told, on_row=self.rows.append, insist=self.insist, **way)
        except BaseException:
            with contextlib.suppress(Exception):  # the reason to stop is the one that is said
                self._draw(self.result)
            raise
        self._result = result
        self._draw(result)
        examples = result.examples()
        self.found = self.found._replace(examples=tuple(examples))
        return result

    @property
    def result(self) -> ExperimentResult:
        """The rows so far, or all of them in the order of the cases."""
        if self._result is not None:
            return self._result
        rows = [row for row in [*self.rows] if not row[FAILED]]
        return ExperimentResult(self.experiment.name, self.knobs.as_dict(), rows)

    def _draw_if_due(self) -> None:
        """Pictures of the first rows too; one that fails then is no reason to stop."""
        began = time.monotonic()
        if began < self._next or not self.rows:
            return
        try:
            self.found = self.found._replace(pictures=tuple(self.result.pictures) if self.result.rows else ())
        except Cancelled:
            raise
        except Exception:
            log.warning("no pictures of the first rows", exc_info=True)
        now = time.monotonic()
        self._next = now + max(LOOK_EVERY_S, SHARE * (now - began))

    def _draw(self, result: ExperimentResult) -> None:
        if result.rows:
            self.found = Found(tuple(result.pictures), tuple(_summary(result)))


def _summary(result: ExperimentResult) -> list[dict[str, Any]]:
    try:
        return result.summary
    except InputError:  # too few rows for a slope
        return []
