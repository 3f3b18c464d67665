"""The spaces of theta: real coordinates, or finitely many states."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pmdviz.errors import InputError, shown
from pmdviz.kernels.checks import Array, Rng

MAX_WORDS = 6  # coordinates that are written out in a sentence
CLOSE = 1e-6  # to 1, of a sum of probabilities
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def numbered(letter: str, count: int) -> tuple[str, ...]:
    """Names of `count` coordinates: the letter alone, or with a subscript from 1 on."""
    return (letter,) if count == 1 else tuple(f"{letter}{str(k + 1).translate(SUBSCRIPTS)}" for k in range(count))


class Space:
    """The set of valid points: `check` them, and write one in `words`. Points of a target are arrays of shape (m, d).

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

    def check(self, theta: ArrayLike) -> Array:
        """`theta` as an array (m, d) of this space's points. Raises InputError."""
        try:
            if np.iscomplexobj(theta):  # NumPy would drop the imaginary part
                raise TypeError("complex")
            points = np.asarray(theta, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"theta must be real numbers of shape (m, {self.dim}); got {shown(theta)}") from error
        if points.ndim == 1 and self.dim == 1:
            points = points[:, None]
        if points.ndim != 2 or points.shape[1] != self.dim:
            raise InputError(f"theta must have shape (m, {self.dim}); got shape {shown(points.shape)}")
        return points

    def words(self, point: Array) -> str:
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
            raise InputError(f"values must be at least two different numbers; got {shown(values)}")
        if not self.shape or min(self.shape) < 1:
            raise InputError(f"shape must be whole numbers at least 1; got {shown(shape)}")
        self.names = tuple(names) if names is not None else numbered("x", int(np.prod(self.shape)))

    @property
    def num_states(self) -> int:
        """How many points there are."""
        return len(self.values) ** self.dim

    def check(self, theta: ArrayLike) -> Array:
        """`theta` as an array (m, d) whose entries are all among the values. Raises InputError."""
        points = super().check(theta)
        known_ones = points == self.values[0]
        for value in self.values[1:]:  # of the few that there are in a third of the time of `np.isin`
            known_ones |= points == value
        if not known_ones.all():
            wrong = ~known_ones
            known = ", ".join(f"{value:g}" for value in self.values)
            raise InputError(f"theta must be one of {known} in every coordinate; got {points[wrong][0]:.6g}")
        return points

    def words(self, point: Array) -> str:
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

    def __getitem__(self, at: Any) -> Any:  # of a slice a tuple
        if isinstance(at, slice):
            return tuple(self[k] for k in range(*at.indices(len(self))))
        k, w = divmod(range(len(self))[at], self.size)
        return f"φ{str(k + 1).translate(SUBSCRIPTS)}({w + 1})"


class Simplices(Space):
    """K probability distributions on W things; a point is an array (K, W) in one row, each of its rows of sum 1."""

    def __init__(self, num: int, size: int) -> None:
        self.num, self.size = num, size
        self.names = SimplexNames(num, size)

    def check(self, theta: ArrayLike) -> Array:
        """`theta` as an array (m, K W) of probabilities that sum to 1 in each distribution. Raises InputError."""
        points = super().check(theta)
        sums = points.reshape(-1, self.num, self.size).sum(axis=2)
        wrong = ~(np.abs(sums - 1) < CLOSE)
        if wrong.any() or points.size and points.min() < 0:
            given = f"sum {sums[wrong][0]:.6g}" if wrong.any() else f"{points.min():.6g}"
            raise InputError(f"theta must hold {self.num} distributions, not negative and of sum 1; got {given}")
        return points

    def __repr__(self) -> str:
        return f"Simplices({self.num}, {self.size})"


# Blocks of parameters, and what targets with structure hand to methods.

AT_ONCE = 4096  # points whose gradient is asked for in one call


@dataclass(frozen=True)
class Block:
    """Coordinates of theta that belong together."""

    name: str
    coordinates: tuple[int, ...]
    closed: bool = False  # whether the best q of the block is known in closed form, given the others'
    pace: float | tuple[float, ...] = 1.0  # times as long as h are its Langevin steps, (k,) of each coordinate

    @cached_property
    def columns(self) -> slice | list[int]:
        """Its columns of an array (m, d): a slice where they are a run, which makes a view and no copy."""
        first, last = self.coordinates[0], self.coordinates[-1]
        run = self.coordinates == tuple(range(first, last + 1))
        return slice(first, last + 1) if run else list(self.coordinates)

    @cached_property
    def paces(self) -> Array:
        """`pace` of each coordinate, (k,)."""
        return np.broadcast_to(np.asarray(self.pace, float), len(self.coordinates))


class InBlocks:
    """Mix-in of a target that declares "blocks": `blocks`, and what a mean-field method asks of each of them.

    A subclass sets `blocks` in `build`. One that can do better than the default gives `_block_gradient`; one with
    blocks in closed form gives the three methods that speak of those.
    """

    blocks: tuple[Block, ...]
    grad_log_joint: Callable[..., Array]
    sample_prior: Callable[..., Array]

    def block_gradient(self, block: Block, own: Array, others: Array, closed: Mapping[str, Array]) -> Array:
        """E over q of the other blocks of the gradient of `log_joint` in the block's coordinates, at `own`: (M, k).

        q belongs to the rows of `others` (m, d), whose coordinates of the block itself are not looked at; of a block
        in closed form it is given by its parameters, `closed[name]`, and where all others are there is but one row.
        For this all data are visited once.
        """
        columns, total, (m, k) = block.columns, np.zeros(own.shape), own.shape
        at_once = max(1, AT_ONCE // m)
        for start in range(0, len(others), at_once):  # a few at a time: memory as for a few thousand points at most
            some = others[start : start + at_once]
            points = np.repeat(some[:, None], m, axis=1)  # (rows, m, d)
            points[:, :, columns] = own
            gradients = self.grad_log_joint(points.reshape(-1, points.shape[2]))[:, columns]
            total += gradients.reshape(len(some), m, k).sum(axis=0)
        return total / len(others)

    def first_particles(self, rng: Rng, n: int) -> Array:
        """n points (n, d) to begin with: draws from the prior, unless a subclass knows better."""
        return self.sample_prior(rng, n)

    def closed_start(self, block: Block) -> Array:
        """Parameters (p,) of the q that a block in closed form begins with."""
        raise NotImplementedError

    def closed_form(self, block: Block, particles: Array, closed: Mapping[str, Array]) -> Array:
        """Parameters (p,) of the best q of a block in closed form, given particles (M, d) and the other blocks'."""
        raise NotImplementedError

    def closed_draws(self, block: Block, parameters: Array, rng: Rng, n: int) -> Array:
        """n draws (n, k) of the coordinates of a block in closed form."""
        raise NotImplementedError


def coordinate_blocks(names: Sequence[str]) -> tuple[Block, ...]:
    """Every coordinate a block of its own."""
    return tuple(Block(name, (k,)) for k, name in enumerate(names))


def checked_blocks(groups: Sequence[Sequence[int]], names: Sequence[str]) -> tuple[Block, ...]:
    """Blocks of the coordinates in `groups`, numbers from 0, named after them; a block's coordinates in their order.

    Raises InputError unless every coordinate is in exactly one of them.
    """
    try:
        numbers = [sorted(_whole(number) for number in group) for group in groups]
    except TypeError:
        words = "blocks must be lists of numbers of coordinates, such as [[0, 1], [2]]"
        raise InputError(f"{words}; got {shown(groups)}") from None
    if any(not group for group in numbers):
        raise InputError(f"blocks must not be empty; got {shown(groups)}")
    found = sorted(number for group in numbers for number in group)
    if found != list(range(len(names))):
        raise InputError(_partition_words(found, names))
    return tuple(Block(", ".join(names[k] for k in group), tuple(group)) for group in numbers)


def _whole(number: float) -> int:
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise TypeError
    return int(number)


def _partition_words(found: list[int], names: Sequence[str]) -> str:
    """Which coordinates are in no block, in several, or do not exist."""
    wrong = [(f"{names[k]} is in none", k not in found) for k in range(len(names))]
    wrong += [(f"{names[k]} is in several", found.count(k) > 1) for k in range(len(names))]
    wrong += [(f"unknown coordinate {k}", not 0 <= k < len(names)) for k in sorted({*found})]
    said = [words for words, holds in wrong if holds][:3]
    held = f"each of the {len(names)} coordinates (0 to {len(names) - 1})"
    return f"blocks must hold {held} exactly once: {'; '.join(said)}"


# Values that structured targets hand to methods: a closed form given some of the unknowns, and documents of words.


class Conditionals(NamedTuple):
    """m particles Z_j, and q(u | Z_j) of each as natural parameters of an exponential family.

    With the density exp(natural . statistics - partition) in u; `prior_partitions` belong to p(u | Z_j). Unknowns
    that are drawn when their row is visited are not kept: p is 0 without others.
    """

    particles: Array  # (m, p)
    constants: Array  # (m, ...) what follows from the particles alone, computed once
    natural: Array  # (m, ...)
    partitions: Array  # (m,)
    prior_partitions: Array  # (m,)


Tilted = tuple[Conditionals, Array]  # with log (m,) of what does not depend on u


class Documents(NamedTuple):
    """Documents as sparse word counts under latent Dirichlet allocation with K topics on W words."""

    rows: Array  # (B, 3) first, middle, end: the pairs of a document, and from where on they are held out
    words: Array  # (pairs,) of the whole corpus
    counts: Array  # (pairs,)
    alpha: float  # of the documents' topic shares
    beta: float  # of the topics' words
    shape: tuple[int, int]  # W, K

    @property
    def sparse(self) -> tuple[Array, Array, Array]:
        """Rows, words and counts."""
        return self.rows, self.words, self.counts
