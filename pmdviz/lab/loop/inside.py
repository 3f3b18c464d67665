"""What a run's last step is made of, told a few times a second while somebody looks."""

from __future__ import annotations

import json
import time
from typing import Any

from pmdviz.engine.frame import Frame
from pmdviz.engine.session import Session
from pmdviz.scenes.columns import StageColumns
from pmdviz.scenes.inside import inside
from pmdviz.scenes.stage import Pair, Scene

EVERY_S = 0.5  # while it plays: the stage comes first, and nobody reads numbers that change more often
REST = 10.0  # times as long as it took, where that is more


class InsideWatch:
    """Knows the frame before the last step, and says what the step did as JSON."""

    def __init__(self) -> None:
        self.on = False
        self._before: Frame | None = None
        self._state: Any = None  # that the step led to: frames of other knobs have the same one
        self._due = 0.0

    def passed(self, before: Frame, after: Frame) -> None:
        """A step led from one frame to the other."""
        if self.on:
            self._before, self._state = before, after.state

    def told(self, session: Session, scene: Scene, pair: Pair, columns: StageColumns, playing: bool) -> str:
        """JSON of the step that led to the present frame; "" where nobody looks, or while it plays not yet again."""
        began = time.monotonic()
        if not self.on or (playing and began < self._due):
            return ""
        before, after = self._step(session)
        drawn = columns if after is session.frame else None
        text = json.dumps(inside(before, after, scene, pair, columns=drawn).payload(), separators=(",", ":"))
        now = time.monotonic()
        self._due = now + max(EVERY_S, REST * (now - began))
        return text

    def _step(self, session: Session) -> tuple[Frame, Frame]:
        """The frames before and after the last step; where they are not at hand it is done again by a copy."""
        now = session.frame
        if now.iteration == 0:
            return now, now
        whole = now.info is not None and now.method.update_of(now.info) is not None
        if not (whole and self._before is not None and self._state is now.state):
            twin = session.copy()
            self._before, self._state = twin.seek(now.iteration - 1), now.state
            now = now if whole else twin.advance(1)
        return self._before, now
