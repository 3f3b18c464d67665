"""Where a target's points lie: real coordinates, or states of which there are finitely many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from pmdviz.errors import InputError, shown

MAX_WORDS = 6  # coordinates that are written out in a sentence
CLOSE = 1e-6  # to 1, of a sum of probabilities
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def numbered(letter: str, count: int) -> tuple[str, ...]:
    """Names of `count` coordinates: the letter alone, or with a subscript from 1 on."""
    return (letter,) if count == 1 else tuple(f"{letter}{str(k + 1).translate(SUBSCRIPTS)}" for k in range(count))


class Space:
    """What a point is: `check` it, and write it in `words`. Points of a target are arrays (m, d).

    Attributes
    ----------
    names : tuple of str
        One a coordinate.
    """

    names: Sequence[str]

    @property
    def dim(self) -> int:
        """d, how many coordinates a point has."""
        return len(self.names)

    def check(self, theta: ArrayLike) -> np.ndarray:
        """`theta` as an array (m, d) of this space's points. Raises InputError."""
        try:
            if np.iscomplexobj(theta):  # NumPy would drop the imaginary part
                raise TypeError("complex")
            points = np.asarray(theta, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"theta must be real numbers of shape (m, {self.dim}); given: {shown(theta)}") from error
        if points.ndim == 1 and self.dim == 1:
            points = points[:, None]
        if points.ndim != 2 or points.shape[1] != self.dim:
            raise InputError(f"theta must have shape (m, {self.dim}); given: shape {shown(points.shape)}")
        return points

    def words(self, point: np.ndarray) -> str:
        """A point (d,) for a sentence."""
        return "(" + ", ".join(f"{v:.6g}" for v in point[:MAX_WORDS]) + (", …)" if len(point) > MAX_WORDS else ")")


class Reals(Space):
    """R^d."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def __repr__(self) -> str:
        return f"Reals({self.dim})"


class Discrete(Space):
    """All arrays of `shape` whose entries are among `values`; a point is such an array in one row (C order).

    Points are floats, as everywhere, that equal one of the values.
    """

    def __init__(self, values: Sequence[float], shape: int | Sequence[int], names: Sequence[str] | None = None) -> None:
        self.values = tuple(float(value) for value in values)
        self.shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(side) for side in shape)
        if len(set(self.values)) < 2 or len(set(self.values)) < len(self.values):
            raise InputError(f"values must be at least two different numbers; given: {shown(values)}")
        if not self.shape or min(self.shape) < 1:
            raise InputError(f"shape must be whole numbers at least 1; given: {shown(shape)}")
        self.names = tuple(names) if names is not None else numbered("x", int(np.prod(self.shape)))

    @property
    def num_states(self) -> int:
        """How many points there are."""
        return len(self.values) ** self.dim

    def check(self, theta: ArrayLike) -> np.ndarray:
        """`theta` as an array (m, d) whose entries are all among the values. Raises InputError."""
        points = super().check(theta)
        known_ones = points == self.values[0]
        for value in self.values[1:]:  # of the few that there are in a third of the time of `np.isin`
            known_ones |= points == value
        if not known_ones.all():
            wrong = ~known_ones
            known = ", ".join(f"{value:g}" for value in self.values)
            raise InputError(f"theta must be one of {known} in every coordinate; given: {points[wrong][0]:.6g}")
        return points

    def words(self, point: np.ndarray) -> str:
        """A point (d,) for a sentence; of two values as signs, - the lower one."""
        if len(self.values) != 2:
            return super().words(point)
        signs = "".join("+" if value == max(self.values) else "-" for value in point[: 8 * MAX_WORDS])
        return signs + ("…" if len(point) > 8 * MAX_WORDS else "")

    def __repr__(self) -> str:
        return f"Discrete({self.values}, {self.shape})"


class SimplexNames(Sequence[str]):
    """phi with the number of the distribution and of the thing, from 1 on; there may be a million."""

    def __init__(self, num: int, size: int) -> None:
        self.num, self.size = num, size

    def __len__(self) -> int:
        return self.num * self.size

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        if isinstance(at, slice):
            return tuple(self[k] for k in range(*at.indices(len(self))))
        k, w = divmod(range(len(self))[at], self.size)
        return f"φ{str(k + 1).translate(SUBSCRIPTS)}({w + 1})"


class Simplices(Space):
    """K probability distributions on W things; a point is an array (K, W) in one row, each of its rows of sum 1."""

    def __init__(self, num: int, size: int) -> None:
        self.num, self.size = num, size
        self.names = SimplexNames(num, size)

    def check(self, theta: ArrayLike) -> np.ndarray:
        """`theta` as an array (m, K W) of probabilities that sum to 1 in each distribution. Raises InputError."""
        points = super().check(theta)
        sums = points.reshape(-1, self.num, self.size).sum(axis=2)
        wrong = ~(np.abs(sums - 1) < CLOSE)
        if wrong.any() or points.size and points.min() < 0:
            given = f"sum {sums[wrong][0]:.6g}" if wrong.any() else f"{points.min():.6g}"
            raise InputError(f"theta must hold {self.num} distributions, not negative and of sum 1; given: {given}")
        return points

    def __repr__(self) -> str:
        return f"Simplices({self.num}, {self.size})"
