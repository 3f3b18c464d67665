"""The kernels that the page calls: the one place that names them, with the types of their arguments.

A type is `f8`, `i8` or `f4` for a number and the same with one `,` a dimension in brackets for an array: `f8[,]` has
two. `>` before it marks an array that the kernel writes to, and `none` leaves an optional argument out.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numba import types
from numba.np.random._constants import fi_double, ki_double, wi_double, ziggurat_nor_inv_r, ziggurat_nor_r
from numba.types import Type

from pmdviz.kernels import chains, clusters, factors, grid, kde, likelihoods, mixture, resampling, stein
from pmdviz.kernels.jit import jit

# NumPy's random numbers for the page: PCG64, uniforms, normals by the ziggurat, whole numbers, shuffles.
# The same streams as `numpy.random.Generator(PCG64)`: equal bits, but for the tail of the normals (one draw in 3,700),
# whose logarithm is the page's. A stream is an array of six uint64: state (high, low), increment (high, low), whether
# half of a number is left, and that half. Source: NumPy's `distributions.c`; O'Neill 2014 (PCG).

HIGH, LOW = np.uint64(2549297995355413924), np.uint64(4865540595714422341)  # of the multiplier
MASK, HALF, ONE, ZERO = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(1), np.uint64(0)
ROTATE, WHOLE = np.uint64(58), np.uint64(63)
MANTISSA, LEFT = np.uint64(0x000FFFFFFFFFFFFF), np.uint64(11)
BYTE, EIGHT = np.uint64(0xFF), np.uint64(8)
TWO_53 = 1.0 / 9007199254740992.0


@jit
def _high_product(a, b):
    """The upper 64 bits of a b."""
    a0, a1, b0, b1 = a & MASK, a >> HALF, b & MASK, b >> HALF
    low = a0 * b0
    middle = a1 * b0 + (low >> HALF)
    other = a0 * b1 + (middle & MASK)
    return a1 * b1 + (middle >> HALF) + (other >> HALF)


@jit
def _next(stream):
    """64 random bits: state <- state * multiplier + increment, then XSL-RR."""
    high, low = stream[0], stream[1]
    product = low * LOW
    upper = _high_product(low, LOW) + high * LOW + low * HIGH
    low = product + stream[3]
    carry = ONE if low < product else ZERO
    high = upper + stream[2] + carry
    stream[0], stream[1] = high, low
    value, turn = high ^ low, high >> ROTATE
    return (value >> turn) | (value << ((ZERO - turn) & WHOLE))


@jit
def _next_half(stream):
    """32 random bits: the low half of a number first."""
    if stream[4] != ZERO:
        stream[4] = ZERO
        return stream[5]
    value = _next(stream)
    stream[4], stream[5] = ONE, value >> HALF
    return value & MASK


@jit
def _uniform(stream):
    return np.float64(_next(stream) >> LEFT) * TWO_53


@jit
def uniforms(stream, out):
    """`Generator.random`, out (n,)."""
    for i in range(out.size):
        out[i] = _uniform(stream)


@jit
def normals(stream, out):
    """`Generator.standard_normal`, out (n,)."""
    for i in range(out.size):
        out[i] = _normal(stream)


@jit
def _normal(stream):
    while True:
        bits = _next(stream)
        at = np.int64(bits & BYTE)
        bits >>= EIGHT
        sign = bits & ONE
        size = (bits >> ONE) & MANTISSA
        x = np.float64(size) * wi_double[at]
        if sign:
            x = -x
        if size < ki_double[at]:
            return x
        if at == 0:
            while True:
                away = -ziggurat_nor_inv_r * np.log1p(-_uniform(stream))
                height = -np.log1p(-_uniform(stream))
                if height + height > away * away:
                    far = ziggurat_nor_r + away
                    return -far if (size >> EIGHT) & ONE else far
        elif (fi_double[at - 1] - fi_double[at]) * _uniform(stream) + fi_double[at] < np.exp(-0.5 * x * x):
            return x


@jit
def whole_numbers(stream, most, out):
    """`Generator.integers(most)` for 1 <= most <= 2^32, out (n,) int64: Lemire's way."""
    for i in range(out.size):
        out[i] = 0 if most <= 1 else _below(stream, np.uint64(most))


@jit
def _below(stream, most):
    """A whole number below `most`, from 32 bits."""
    product = _next_half(stream) * most
    rest = product & MASK
    if rest < most:
        least = (MASK + ONE - most) % most
        while rest < least:
            product = _next_half(stream) * most
            rest = product & MASK
    return np.int64(product >> HALF)


@jit
def shuffled(stream, out):
    """`Generator.shuffle` of 0 .. n - 1, out (n,) int64."""
    for i in range(out.size):
        out[i] = i
    for i in range(out.size - 1, 0, -1):
        j = _interval(stream, np.uint64(i))
        out[i], out[j] = out[j], out[i]


@jit
def _interval(stream, most):
    """A whole number from 0 to `most` below 2^32, by a mask and rejection."""
    mask = most
    for shift in (1, 2, 4, 8, 16):
        mask |= mask >> np.uint64(shift)
    value = _next_half(stream) & mask
    while value > most:
        value = _next_half(stream) & mask
    return np.int64(value)


# The table.

KINDS = {"f8": types.float64, "f4": types.float32, "i8": types.int64, "u8": types.uint64, "b1": types.boolean}

Part = TypeVar("Part")


@dataclass(frozen=True)
class Entry:
    """A kernel for the page: the function, its arguments in words, and how many of them make a tuple."""

    function: Any
    arguments: str
    tuples: tuple[tuple[int, int], ...] = ()  # (place of the first argument, how many are one tuple)

    @property
    def words(self) -> list[str]:
        """One word an argument."""
        return self.arguments.split()

    def grouped(self, flat: Sequence[Part]) -> Iterator[Sequence[Part]]:
        """The arguments one by one; a tuple's come together."""
        sizes, at = dict(self.tuples), 0
        while at < len(flat):
            yield flat[at : at + sizes.get(at, 1)]
            at += sizes.get(at, 1)

    def signature(self) -> tuple[Type, ...]:
        """The types as the kernel takes them."""
        groups = self.grouped([type_of(word) for word in self.words])
        return tuple(types.UniTuple(kind, 1 + len(rest)) if rest else kind for kind, *rest in groups)


def type_of(word: str) -> Type:
    """The numba type of a word."""
    if word == "none":
        return types.none
    kind, _, dimensions = word.lstrip(">").partition("[")
    return KINDS[kind] if not dimensions else types.Array(KINDS[kind], dimensions.count(",") + 1, "C")


PLACED = "f8[,] f8[] i8[,] f8 f8 f8 f8[] f8[] >f8[,] i8 i8"
PAIRS = "f8[] f8[] f8[] f8 f8 f8"
KERNELS: dict[str, Entry] = {
    # random numbers
    "uniforms": Entry(uniforms, ">u8[] >f8[]"),
    "normals": Entry(normals, ">u8[] >f8[]"),
    "whole_numbers": Entry(whole_numbers, ">u8[] i8 >i8[]"),
    "shuffled": Entry(shuffled, ">u8[] >i8[]"),
    "uniforms_of": Entry(chains._uniforms_of, "f8[]"),
    # how particles lie
    "clustered": Entry(clusters._clustered, "f8[,] f8[] i8[] i8"),
    "assigned": Entry(clusters._assigned, "f8[,] f8[,] f8[] i8[] i8"),
    "moments": Entry(clusters._moments, "f8[,] f8[] f8 >f8[] >f8[,]"),
    "distances": Entry(clusters._distances, "f8[,] i8[]"),
    "nearest": Entry(clusters._nearest, "f8[] f8 i8"),
    "extent": Entry(clusters._extent, "f8[] f8 f8"),
    "covariance": Entry(clusters._covariance, "f8[,] f8[] i8[] f8[] >f8[,]"),
    "squared_distances": Entry(clusters._squared_distances, "f8[,]"),
    "squared_at_steps": Entry(stein._squared_at_steps, "f8[,] i8[]"),
    # resampling
    "search": Entry(resampling._search, "f8[] f8[]"),
    "thinned": Entry(resampling._thinned, "f8[,] i8 f8[]"),
    "largest_step": Entry(resampling._largest_step, "f8[] f8[] f8 f8"),
    # small matrices
    "factorise": Entry(factors._factorise, ">f8[,,]"),
    "solve": Entry(factors._solve, "f8[,] >f8[,]"),
    # density estimates
    "whiten": Entry(kde._forward_substitution, "f8[,] f8[] f8[,] >f8[,]"),
    "add_rows": Entry(kde.add_rows, "f8[,] f8[] f8[,] >f8[] i8 i8 none"),
    "add_rows_single": Entry(kde.add_rows, "f4[,] f4[] f4[,] >f8[] i8 i8 none"),
    "add_rows_many": Entry(kde.add_rows, "f8[,] f8[] f8[,] >f8[] i8 i8 f8[,]"),
    "redo_faint": Entry(kde.redo_faint, "f8[,] f8[] f8[,] >f8[] >f8[] i8 i8"),
    "times": Entry(kde._times, "f8[,] f8 >f8[,]"),
    "times_single": Entry(kde._times, "f8[,] f8 >f4[,]"),
    "left_out": Entry(kde._sums, "f4[,] f4[] f4[,] i8[] >f8[] none"),
    "left_out_many": Entry(kde._sums, "f4[,] f4[] f4[,] i8[] >f8[] f4[,]"),
    "left_out_exactly": Entry(kde._exact_sums, "f8[,] f8[] f8[,] i8[] >f8[] >f8[]"),
    "rows_reached": Entry(grid._rows_reached, "f8[,] f8 f8[]"),
    "scatter_blocks": Entry(grid._scatter_blocks, PLACED, ((3, 3),)),
    "scatter_rows": Entry(grid._scatter_rows, PLACED, ((3, 3),)),
    "scatter_line": Entry(grid._scatter_line, "f8[] f8[] f8 f8[] >f8[]"),
    # Stein forces
    "stein_rows": Entry(stein._rows, "f8[,] f8[,] >f8[,] >f8[] i8 i8"),
    "imq_rows": Entry(stein._imq_rows, "f8[,] f8[,] f8[,] >f8[,] >f8[,] >f8[] i8 i8"),
    # targets
    "mixture": Entry(mixture._log_likelihood, PAIRS + " >f8[]", ((3, 3),)),
    "mixture_few": Entry(mixture._log_likelihood_few, PAIRS + " >f8[]", ((3, 3),)),
    "mixture_slopes": Entry(mixture._gradient, PAIRS + " >f8[,]", ((3, 3),)),
    "mixture_slopes_few": Entry(mixture._gradient_few, PAIRS + " >f8[,]", ((3, 3),)),
    "gaussian": Entry(likelihoods._gaussian, "f8[,] f8[] f8 f8"),
    "banana": Entry(likelihoods._banana, "f8[,] f8 f8 f8 f8"),
    "banana_slopes": Entry(likelihoods._banana_pulls, "f8[,] f8 f8 f8"),
    "bimodal": Entry(likelihoods._bimodal, "f8[,] f8 f8 f8"),
    "bimodal_slopes": Entry(likelihoods._bimodal_pulls, "f8[,] f8 f8"),
    "gaussians": Entry(mixture._log_density, "f8[,] f8[,] f8[] f8 >f8[]"),
    "gaussians_slopes": Entry(mixture._density_gradient, "f8[,] f8[,] f8[] f8 >f8[,]"),
}


def plain(function: Any) -> Any:
    """The Python function of a kernel, None for anything else."""
    found = getattr(function, "py_func", function)
    return found if inspect.isfunction(found) and found.__module__.startswith("pmdviz.") else None


def sources() -> Iterator[str]:
    """What the compiled code depends on: each kernel, what it calls, and the numbers that it uses."""
    yield from (f"{name} {entry.arguments} {entry.tuples}" for name, entry in KERNELS.items())
    waiting, seen = [plain(entry.function) for entry in KERNELS.values()], set()
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        (defined,) = tree.body
        if isinstance(defined, ast.FunctionDef) and ast.get_docstring(defined) is not None:
            del defined.body[0]
        yield ast.dump(tree)  # without words and blanks: where a kernel is makes no difference
        for name in sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}):
            value = function.__globals__.get(name)
            if isinstance(value, int | float | str | np.number | np.ndarray):
                yield f"{name} {np.asarray(value).tolist()}"
            elif plain(value) is not None:
                waiting.append(plain(value))


def digest() -> str:
    """A hash of the sources: the committed module has the hash of its own."""
    return hashlib.sha256("\n".join(sorted(sources())).encode()).hexdigest()


def declared() -> dict[str, list[str]]:
    """For the page: each kernel's arguments in words, and what it returns."""
    found = {}
    for name, entry in KERNELS.items():
        entry.function.compile(entry.signature())
        returned = entry.function.overloads[entry.signature()].signature.return_type
        found[name] = [entry.arguments, _word(returned)]
    return found


def _word(kind: types.Type) -> str:
    if kind == types.none:
        return ""
    if isinstance(kind, types.Array):
        return f"{_word(kind.dtype)}[{',' * (kind.ndim - 1)}]"
    return next((word for word, known in KINDS.items() if known == kind), "i8")
