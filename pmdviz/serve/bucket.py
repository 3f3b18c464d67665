"""Buckets of tokens: how much somebody may have at once, and how much a second from then on."""

from __future__ import annotations

import time


class Bucket:
    """`burst` tokens at the start, `rate` more per second until it is full again."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst, self._left, self._at = rate, burst, burst, time.monotonic()

    def owed(self, cost: float = 1.0) -> float:
        """Pay `cost`, on credit too: the seconds to wait until the bucket is out of debt."""
        self._fill()
        self._left -= cost
        return max(0.0, -self._left / self._rate)

    def take(self, cost: float = 1.0) -> bool:
        """Pay `cost` if there is so much; whether it was."""
        self._fill()
        paid = self._left >= cost
        self._left -= cost * paid
        return paid

    def _fill(self) -> None:
        now = time.monotonic()
        self._left, self._at = min(self._burst, self._left + self._rate * (now - self._at)), now
