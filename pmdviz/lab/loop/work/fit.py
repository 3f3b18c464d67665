"""A goodness-of-fit test of a run's sample, in the background: nothing of a page waits for it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from pmdviz.engine.frame import Frame
from pmdviz.errors import InputError, TargetError
from pmdviz.experiments.goodness_of_fit.testing import FitResult, tested
from pmdviz.kernels.cancel import Cancelled
from pmdviz.kernels.compiling import compiler
from pmdviz.kernels.groups import DEFAULT, FIT_GROUPS
from pmdviz.lab.loop.background import Background, OneAtATime
from pmdviz.lab.loop.pool import Slices
from pmdviz.lab.loop.recorded import as_live

TELL_S = 0.5
ALPHA, DRAWS = 0.05, 500  # level, and draws of the null distribution
_pool = Slices("pmdviz-fit")

log = logging.getLogger(__name__)


class FitOutcome(NamedTuple):
    """What came out of a test: a result, or a sentence on why there is none."""

    frame: Frame  # the moment that was tested
    result: FitResult | None
    refusal: str


class FitWork(OneAtATime):
    """At most one test at a time for a lab; `tell` is called when it is over, and every half second until then."""

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__(tell, TELL_S)
        self.frame: Frame | None = None
        self.outcome: FitOutcome | None = None  # None: none yet, under way, or cancelled

    def ask(self, frame: Frame, test: str) -> None:
        """Have the sample of a frame tested by the test of that name; one under way is let go of."""
        self.let_go()
        self.frame, self.outcome = frame, None
        act = partial(_compiled_test, frame, test)
        self.follow(Background().begin(_pool, act))

    def forget(self) -> None:
        """Let go of the one under way, and of what came out of the last."""
        self.let_go()
        self.frame = self.outcome = None

    def ended(self, work: Background) -> None:
        """Keep what came out; nothing where it was cancelled."""
        try:
            self.outcome = FitOutcome(self.frame, work.result(), "")
        except Cancelled:
            self.outcome = None
        except InputError as error:
            self.outcome = FitOutcome(self.frame, None, error.on_page)
        except TargetError as error:
            self.outcome = FitOutcome(self.frame, None, str(error))
        except Exception as error:  # a target's own function may raise anything
            log.info("a test of fit stopped", exc_info=True)
            self.outcome = FitOutcome(self.frame, None, f"It stopped: {error}")


def _compiled_test(frame: Frame, test: str, tell: Callable[..., object]) -> FitResult:
    compiler.wait((DEFAULT, *FIT_GROUPS))
    return tested(frame.target, as_live(frame), test, 0, ALPHA, DRAWS, "median")
