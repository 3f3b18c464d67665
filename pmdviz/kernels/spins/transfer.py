"""Sums over the states of columns of spins -1 and +1, one column after the other (Kramers & Wannier 1941).

A state of a column of n spins is a number below 2^n, whose highest bit is the first spin: 1 is up. Two columns side by
side are joined by K(y, z) = exp(b sum_r y_r z_r - n |b|), a Kronecker product of n matrices of 2 x 2: it is applied
spin by spin, in n 2^n operations.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import matrix, vector
from pmdviz.kernels.jit import jit
from pmdviz.kernels.pool import run_blocks

COLUMNS = 32  # at once: 256 kB for ten spins, which a core's own cache holds


class PairSums(NamedTuple):
    """Of the states y and x of two columns."""

    rows: np.ndarray  # (2^n,) sum over x
    columns: np.ndarray  # (2^n,) sum over y
    products: np.ndarray  # (n, n) sum over both of y_r x_s


def column_states(spins: int) -> np.ndarray:
    """The spins (2^n, n) of every state of a column."""
    bits = np.arange(2**spins)[:, None] >> np.arange(spins - 1, -1, -1)
    return 2.0 * (bits & 1) - 1.0


def through_bonds(values: np.ndarray, weights: np.ndarray, bond: float) -> np.ndarray:
    """K @ (weights[:, None] * values), (2^n, k) and (2^n,) -> (2^n, k). ValueError unless 2^n is a power of two."""
    values = matrix(values, "values")
    weights = vector(weights, "weights", len(values))
    if len(values) & (len(values) - 1) or not len(values):
        raise ValueError(f"values must have a power of two rows, not {len(values)}")
    out = np.empty(values.shape)
    like, unlike = np.exp(bond - abs(bond)), np.exp(-bond - abs(bond))

    def work(start: int, stop: int) -> None:
        _through_bonds(values, weights, like, unlike, start, stop, out)

    run_blocks(work, values.shape[1], COLUMNS, values.size * len(values).bit_length())
    return out


def pair_sums(one: np.ndarray, other: np.ndarray, of_rows: np.ndarray, of_columns: np.ndarray) -> PairSums:
    """Sums over P(y, x) = of_rows[y] of_columns[x] one[y, x] other[y, x], all at least 0, not normalised.

    one, other (2^n, 2^n); of_rows, of_columns (2^n,).
    """
    one, other = matrix(one, "one"), matrix(other, "other", one.shape[1])
    of_rows, of_columns = vector(of_rows, "of_rows", len(one)), vector(of_columns, "of_columns", one.shape[1])
    spins = one.shape[1].bit_length() - 1
    found = np.zeros(len(one)), np.zeros((COLUMNS, one.shape[1])), np.empty((len(one), spins))
    block = -(-len(one) // COLUMNS)

    def work(start: int, stop: int) -> None:
        _pair_sums(one, other, of_rows, of_columns, start, stop, found[0], found[1][start // block], found[2])

    run_blocks(work, len(one), block, 4 * one.size)
    return PairSums(found[0], found[1].sum(axis=0), np.einsum("yr,ys->rs", column_states(spins), found[2]))


def drawn_columns(
    first: np.ndarray, starts: np.ndarray, weights: np.ndarray, bond: float, uniforms: np.ndarray
) -> np.ndarray:
    """States (n, 1 + k) of columns drawn from left to right, P(y_c | y_{c-1}) proportional to K(y_{c-1}, y_c) w_c(y_c).

    first (n,) are the states of the leftmost columns, and `weights` (k, f, 2^s) has f rows for each of the k others, of
    which draw i takes number starts[i]; `uniforms` (n, k).
    """
    first, starts = np.ascontiguousarray(first, np.int64), np.ascontiguousarray(starts, np.int64)
    uniforms = matrix(uniforms, "uniforms", len(weights))
    spins = weights.shape[2].bit_length() - 1
    unlike = np.arange(spins + 1)
    bonds = vector(np.exp(bond * (spins - 2 * unlike) - spins * abs(bond)), "bonds")
    out = np.empty((len(first), 1 + len(weights)), np.int64)
    _draw(first, starts, np.ascontiguousarray(weights), bonds, uniforms, out)
    return out


@jit
def _through_bonds(values, weights, like, unlike, start, stop, out):
    held = np.empty((values.shape[0], stop - start))
    for y in range(held.shape[0]):
        for k in range(held.shape[1]):
            held[y, k] = weights[y] * values[y, start + k]
    half = 1
    while half < held.shape[0]:
        for base in range(0, held.shape[0], 2 * half):
            for y in range(base, base + half):
                for k in range(held.shape[1]):
                    down, up = held[y, k], held[y + half, k]
                    held[y, k] = like * down + unlike * up
                    held[y + half, k] = unlike * down + like * up
        half *= 2
    for y in range(held.shape[0]):
        for k in range(held.shape[1]):
            out[y, start + k] = held[y, k]


@jit
def _pair_sums(one, other, of_rows, of_columns, start, stop, rows, columns, signed):
    """signed[y, s] is the sum over x of P(y, x) x_s: the row is folded at the highest spin first."""
    held = np.empty(one.shape[1])
    for y in range(start, stop):
        for x in range(held.size):
            held[x] = of_rows[y] * of_columns[x] * (one[y, x] * other[y, x])
            columns[x] += held[x]
        half, s = held.size // 2, 0
        while half > 0:
            total = 0.0
            for x in range(half):
                total += held[half + x] - held[x]
                held[x] += held[half + x]
            signed[y, s] = total
            half //= 2
            s += 1
        rows[y] = held[0]


@jit
def _draw(first, starts, weights, bonds, uniforms, out):
    sums, counts = np.empty(weights.shape[2]), np.zeros(weights.shape[2], np.int64)
    for y in range(1, counts.size):
        counts[y] = counts[y >> 1] + (y & 1)
    for i in range(first.size):
        out[i, 0] = first[i]
        for c in range(weights.shape[0]):
            total = 0.0
            for y in range(sums.size):
                total += bonds[counts[out[i, c] ^ y]] * weights[c, starts[i], y]
                sums[y] = total
            found, beyond = 0, sums.size - 1  # the first whose sum is above the place, or the last
            while found < beyond:
                middle = (found + beyond) // 2
                if sums[middle] > uniforms[i, c] * total:
                    beyond = middle
                else:
                    found = middle + 1
            out[i, c + 1] = found


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    two, ones, zero = np.ones((2, 2)), np.ones(2), np.zeros(1, np.int64)
    yield "transfer", "transfer matrix", lambda: through_bonds(two, ones, 0.3)
    yield "transfer", "sums over pairs of columns", lambda: pair_sums(two, two, ones, ones)
    yield (
        "transfer",
        "draws of columns",
        lambda: drawn_columns(zero, zero, np.ones((1, 1, 2)), 0.3, np.full((1, 1), 0.5)),
    )
