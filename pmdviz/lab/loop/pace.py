"""How fast a run is shown: which iteration belongs to which second of playing. It changes nothing that is computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

FIRST_S = 0.5  # seconds from one iteration to the next at the very start of a slow one
GENTLE = 6  # iterations after which it goes twice as fast as at first


class Pace(NamedTuple):
    """A schedule of iterations, of a race a schedule of rounds.

    Attributes
    ----------
    name : str
        Its key in a menu.
    per_second : float
        Iterations a second; infinite where the next frame comes as soon as the last one has been drawn.
    a_frame : int
        Iterations of one frame: where there is a rate those that a slow browser may leave out at once, else all.
    slow_start : bool
        Whether playing time grows like the logarithm of the iteration, until every frame that can be drawn comes.
    """

    name: str
    per_second: float = math.inf
    a_frame: int = 1
    slow_start: bool = False

    def seconds(self, iteration: int) -> float:
        """Seconds of playing from iteration 0 until this one is shown."""
        if self.slow_start:
            return FIRST_S * GENTLE * math.log1p(iteration / GENTLE)
        return iteration / self.per_second

    def words(self, count: Callable[[int], str]) -> str:
        """What a menu says; `count` says a number of iterations: "3 iterations" a second."""
        if self.slow_start:
            return "slow at first"
        if math.isfinite(self.per_second):
            return f"{count(int(self.per_second))} a second"
        return "as fast as it goes" if self.a_frame == 1 else f"{count(self.a_frame)} a frame"


SLOW, FAST = Pace("slow", slow_start=True), Pace("fast")
RATES = Pace("1", 1), Pace("3", 3), Pace("10", 10, a_frame=3), Pace("30", 30, a_frame=8)
PACES = {pace.name: pace for pace in (SLOW, *RATES, FAST, *(Pace(f"x{n}", a_frame=n) for n in (5, 20, 50)))}


def menu(count: Callable[[int], str]) -> dict[str, str]:
    """Words -> name of every pace; the usual one comes first."""
    return {pace.words(count): name for name, pace in PACES.items()}


class Beat:
    """When the next iterations of a run that plays are due. The first is due at once.

    Time that went by in a long step, or out of sight, is not made up for beyond one frame.
    """

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self._due, self._begun = 0.0, False

    def wait(self, now: float) -> float:
        """Seconds until something is due."""
        return max(0.0, self._due - now) if self._begun else 0.0

    def take(self, now: float, iteration: int) -> int:
        """How many iterations are due of a run that stands at `iteration`; they count as made."""
        due, taken, pause = (self._due if self._begun else now), 0, 0.0
        while taken < self.pace.a_frame and due <= now:
            taken += 1
            pause = self.pace.seconds(iteration + taken + 1) - self.pace.seconds(iteration + taken)
            due += pause
        if taken:  # after a long step the next two do not come in one breath
            due = max(due, now + pause / (2 * self.pace.a_frame))
        self._due, self._begun = due, True
        return taken


class Throttle:
    """What is done with every change at rest, and at most once in so many seconds while a run plays."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._last = seconds, -math.inf

    def is_due(self, now: float, playing: bool) -> bool:
        """Whether it is due; it counts as done then."""
        if playing and now - self._last < self._seconds:
            return False
        self._last = now
        return True
