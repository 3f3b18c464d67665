"""`functools.cached_property` without the lock that Python 3.11 holds while a value is computed.

The lock is one for all instances of a class, so the frames of two sessions waited for each other. Python 3.12 has none.
Two threads that ask at once may both compute a value; it must be the same one.
"""

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeVar

T = TypeVar("T")
Owner = TypeVar("Owner")


class cached_property(functools.cached_property[T]):  # noqa: N801, as in functools
    """A property that is computed once for an instance; without a lock."""

    def __init__(self, func: Callable[[Owner], T]) -> None:
        super().__init__(func)
        self.lock = nullcontext()
