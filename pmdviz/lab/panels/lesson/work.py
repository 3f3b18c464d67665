"""What a run says of a lesson's step, found in a thread: a density on a grid is not for the event loop."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from typing import Any

from pmdviz.kernels.cancel import Cancelled
from pmdviz.lab.loop.background import Background, OneAtATime
from pmdviz.lab.loop.pool import pool_for
from pmdviz.lessons.judging import Judgement

TELL_S = 60.0  # nobody asks how far it is
FAILED = "this run could not be judged; the server's log says why"

log = logging.getLogger(__name__)
Asked = tuple[Hashable, Callable[[], Judgement]]


class JudgeWork(OneAtATime):
    """At most one judgement at a time; what is asked meanwhile comes next, the newest alone.

    `accept(key, judgement)` is called on the event loop.
    """

    def __init__(self, accept: Callable[[Hashable, Judgement], None]) -> None:
        super().__init__(self._go_on, TELL_S)
        self._accept = accept
        self._key: Hashable = None
        self._waiting: Asked | None = None

    def ask(self, key: Hashable, act: Callable[[], Judgement]) -> None:
        """Judge what `key` stands for, unless it was the last to be judged."""
        if self.running:
            self._waiting = key, act
        elif key != self._key:
            self._key = key
            self.follow(Background().begin(pool_for(0.0), lambda tell: act()))

    def forget(self) -> None:
        """Nothing that was asked is of interest any more."""
        self.let_go()
        self._key = self._waiting = None

    def ended(self, work: Background) -> None:
        """Hand on what was found."""
        try:
            found: Any = work.result()
        except Cancelled:
            return
        except Exception:  # of a target's own function
            log.info("a lesson's step could not be judged", exc_info=True)
            found = Judgement(trouble=FAILED)
        self._accept(self._key, found)

    def _go_on(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not self.running:
            self.ask(*waiting)
