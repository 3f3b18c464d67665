"""The compile decorators of the package, with the reason for every flag.

`jit` is strict IEEE arithmetic: use it wherever `-inf` or NaN may pass. `fast_jit` lets the compiler reorder sums so
that loops vectorise. It may assume that no NaN and no infinity occurs: under it `isnan(nan)` is False and `-inf -
-inf` is anything. Callers check first and use a finite "log 0" inside.

All are forced inline. Left as calls, a process that compiles them and one that loads them, or what calls them, from the
cache link different copies, which round differently: a run's first start and its second would differ.

Nor may what they compute depend on what was compiled before them. What numba compiles for its own use (a number to an
integer power, the sum of an array) it keeps for the rest of the process, with the flags of whoever asked first, and the
cache then keeps that. So squares are written as products everywhere, and no sum of an array is asked for under
`fast_jit`.

None has `parallel=True`: with the thread layer that pip installs on macOS a second Python thread in a parallel
region kills the process, and OpenMP spins on cores that others need. Threads come from `pool.run_blocks`, hence
`nogil`.

The on-disk cache is keyed by the file of each function alone: after a change in `exponential.py` the kernels that
inline it are still served from the old cache. Point `NUMBA_CACHE_DIR` at an empty folder to be sure of what runs.
"""

from numba import njit

from pmdviz.kernels.cache import has_cache

# "numpy": x / 0 is inf, since a check would stop vectorising.
COMMON = {
    "nogil": True,
    "cache": has_cache(),
    "error_model": "numpy",
    "forceinline": True,
    "no_cfunc_wrapper": True,
}
FAST_FLAGS = {"reassoc", "contract", "nnan", "ninf", "nsz"}  # "arcp" and "afn" cost digits and buy nothing
EXP_FLAGS = {"contract", "nnan", "ninf", "nsz"}  # "reassoc" would fold the rounding step (t + MAGIC) - MAGIC to t

jit = njit(**COMMON)
fast_jit = njit(fastmath=FAST_FLAGS, **COMMON)
OVERLOAD = {name: value for name, value in COMMON.items() if name != "cache"}  # what calls it is cached
EXP_OPTIONS = {"fastmath": EXP_FLAGS, **OVERLOAD}
exp_jit = njit(fastmath=EXP_FLAGS, **COMMON)
