"""The compile decorators of the package, with the reason for every flag; exponentials that vectorise.

`jit` is strict IEEE arithmetic: use it wherever `-inf` or NaN may pass. `fast_jit` lets the compiler reorder sums so
that loops vectorise. It may assume that no NaN and no infinity occurs: under it `isnan(nan)` is False and `-inf -
-inf` is anything. Callers check first and use a finite "log 0" inside.

All are forced inline. Left as calls, a process that compiles them and one that loads them, or what calls them, from the
cache link different copies, which round differently: a run's first start and its second would differ.

Their results must not depend on earlier compilations either. What numba compiles for its own use (a number to an
integer power, the sum of an array) it keeps for the rest of the process, with the flags of the first caller, and the
cache then keeps that. So squares are written as products everywhere, and no sum of an array is asked for under
`fast_jit`.

None has `parallel=True`: with the thread layer that pip installs on macOS a second Python thread in a parallel
region kills the process, and OpenMP spins on cores that others need. Threads come from `pool.run_blocks`, hence
`nogil`.

The on-disk cache is keyed by the file of each function alone: after a change in this file the kernels that inline its
exponentials are still served from the old cache. Point `NUMBA_CACHE_DIR` at an empty folder to be sure of what runs.
"""

import hashlib
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

import numpy as np
from llvmlite import binding
from numba import config, njit, types
from numba.extending import overload
from threadpoolctl import threadpool_info

# Where compiled kernels are kept: numba's cache, or a temporary folder where it has no folder that it may write.

_temporary: list[tempfile.TemporaryDirectory] = []  # Python removes it at its end


def remove_temporary() -> None:
    """Remove the temporary folder, if there is one; for a process that ends without Python's own end."""
    for folder in _temporary:
        folder.cleanup()


def has_cache() -> bool:
    """Whether there is a folder for compiled kernels; if need be a temporary one, until this process ends."""
    try:
        njit(cache=True)(remove_temporary)  # for any function of this file
        return True
    except RuntimeError:  # numba finds none
        return _has_temporary_cache()


def _has_temporary_cache() -> bool:
    with suppress(OSError):
        _temporary.append(tempfile.TemporaryDirectory(prefix="pmdviz-kernels-", ignore_cleanup_errors=True))
        os.environ["NUMBA_CACHE_DIR"] = config.CACHE_DIR = _temporary[0].name  # also for processes that this one starts
    where = "in a temporary folder, which this process removes" if _temporary else "in memory"
    sys.stderr.write(
        f"pmdviz: no folder for compiled kernels can be written, so they are kept {where}. "
        "Set NUMBA_CACHE_DIR to a folder that you can write.\n"
    )
    return bool(_temporary)


# "numpy": x / 0 is inf, since a check would stop vectorising.
COMMON = {"nogil": True, "cache": has_cache(), "error_model": "numpy", "forceinline": True, "no_cfunc_wrapper": True}
FAST_FLAGS = {"reassoc", "contract", "nnan", "ninf", "nsz"}  # "arcp" and "afn" cost digits and buy nothing
EXP_FLAGS = {"contract", "nnan", "ninf", "nsz"}  # "reassoc" would fold the rounding step (t + MAGIC) - MAGIC to t

jit = njit(**COMMON)
fast_jit = njit(fastmath=FAST_FLAGS, **COMMON)
OVERLOAD = {name: value for name, value in COMMON.items() if name != "cache"}  # what calls it is cached
EXP_OPTIONS = {"fastmath": EXP_FLAGS, **OVERLOAD}
exp_jit = njit(fastmath=EXP_FLAGS, **COMMON)

DEFAULT = "default run"  # the mixture by pmd, its metrics, independent draws; every other run needs most of them too
WarmUps = Iterator[tuple]  # a group, words, and a kernel with arguments: tiny arrays of the types of a run


def in_dimensions(dim: int) -> str:
    """The group of densities in so many dimensions; from four on they share one kernel."""
    return DEFAULT if dim == 2 else f"densities in {min(dim, 4)} dimensions"


# Exponentials without a library call: loops over them vectorise.
#
# x = k + f with k whole and |f| <= 1/2, for exp(x) = 2^(x log2 e) likewise x = k ln 2 + r. A polynomial in f that is
# least off where it is most off (interpolation at Chebyshev nodes; degree 11 errs by 4e-18, degree 6 by 2.5e-9) gives
# 2^f, and k is added to the exponent bits of the result. Relative errors are
# of the size of rounding: 4e-16 in float64, 2e-7 in float32.
#
# Arguments are clamped at the last one with a normal result (2^-1021 = 4e-308, in float32 2^-125 = 2e-38), so "log 0"
# must be finite, and a sum of m terms means nothing below m times that. The base 2 is for callers who can scale their
# exponents beforehand: it is a third faster.

LOG2E = 1.4426950408889634
LOWEST = -708.0  # the clamp of exp64
LOWEST_2, LOWEST_2_SINGLE = -1021.0, np.float32(-125.0)
LN2_HI, LN2_LO = 0.6931471803691238, 1.9082149292705877e-10  # ln 2 in two pieces: k * LN2_HI is exact
MAGIC = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to a whole number, held in the low bits
MAGIC_SINGLE = np.float32(12582912.0)  # 1.5 * 2**23
S0, S1, S2, S3, S4, S5, S6 = (
    np.float32(c)
    for c in (1.0, 0.6931472067, 0.2402265092, 0.05550327227, 0.009618056679, 0.001340042818, 0.000154614447)
)


@exp_jit
def exp64(x):
    """exp(x) for a float64 x <= 0 (good up to about +700), clamped below -708."""
    x = max(x, LOWEST)
    t = x * LOG2E + MAGIC
    k = t - MAGIC
    r = (x - k * LN2_HI) - k * LN2_LO
    p = 2.51087857807841e-08
    p = p * r + 2.7632611359437596e-07
    p = p * r + 2.755724484341605e-06
    p = p * r + 2.4801485575955243e-05
    p = p * r + 1.9841269885553328e-04
    p = p * r + 1.3888888952203538e-03
    p = p * r + 8.333333333321842e-03
    p = p * r + 4.166666666648866e-02
    p = p * r + 1.6666666666666677e-01
    p = p * r + 0.5000000000000018
    p = p * r + 1.0
    p = p * r + 1.0
    return np.int64(np.float64(p).view(np.int64) + (np.float64(t).view(np.int64) << np.int64(52))).view(np.float64)


@exp_jit
def exp2_64(x):
    """2^x for a float64 x <= 0 (good up to about +1000), clamped below -1021."""
    x = max(x, LOWEST_2)
    t = x + MAGIC
    f = x - (t - MAGIC)
    p = 4.4556433403988256e-10
    p = p * f + 7.074192209639015e-09
    p = p * f + 1.0178058390428893e-07
    p = p * f + 1.3215432551928214e-06
    p = p * f + 1.5252733837988064e-05
    p = p * f + 1.5403530463679096e-04
    p = p * f + 1.3333558146410788e-03
    p = p * f + 9.618129107587314e-03
    p = p * f + 5.5504108664821604e-02
    p = p * f + 2.4022650695910158e-01
    p = p * f + 6.931471805599453e-01
    p = p * f + 1.0
    return np.int64(np.float64(p).view(np.int64) + (np.float64(t).view(np.int64) << np.int64(52))).view(np.float64)


@exp_jit
def exp2_32(x):
    """2^x for a float32 x <= 0 (good up to about +120), clamped below -125."""
    x = max(x, LOWEST_2_SINGLE)
    t = x + MAGIC_SINGLE
    f = x - (t - MAGIC_SINGLE)
    p = S6
    p = p * f + S5
    p = p * f + S4
    p = p * f + S3
    p = p * f + S2
    p = p * f + S1
    p = p * f + S0
    return np.int32(np.float32(p).view(np.int32) + (np.float32(t).view(np.int32) << np.int32(23))).view(np.float32)


# Under NUMBA_DISABLE_JIT a decorated function is the plain one itself.
_plain_32, _plain_64 = (getattr(function, "py_func", function) for function in (exp2_32, exp2_64))


def exp2(x):
    """2^x in the precision of x: `exp2_32` or `exp2_64`, chosen when the caller is compiled."""
    return (_plain_32 if isinstance(x, np.float32) else _plain_64)(x)


@overload(exp2, jit_options=EXP_OPTIONS)
def _exp2(x):
    return _plain_32 if x == types.float32 else _plain_64


# The parts of a computer on which the last digits of a run depend, besides the code and its versions.


@cache
def machine() -> dict[str, str]:
    """Runs have the same bits on computers for which these texts, and the versions of NumPy and numba, are the same.

    processor : the one that LLVM compiles kernels for, and a digest of its features (which tell AVX-512 and FMA)
    simd : vector instructions that NumPy chose at import, beyond those it was built for
    blas : NumPy's BLAS, its version, and the processor that its code was written for
    libc : the C library, which computes exp and log where NumPy and LLVM have no code of their own
    """
    features = config.CPU_FEATURES or binding.get_host_cpu_features().flatten()
    digest = hashlib.sha256(f"{features} {getattr(config, 'USING_SVML', False)}".encode()).hexdigest()[:8]
    return {
        "processor": f"{config.CPU_NAME or binding.get_host_cpu_name()} {digest}",
        "simd": " ".join(np.show_config("dicts")["SIMD Extensions"].get("found", [])),
        "blas": _blas(),
        "libc": " ".join(platform.libc_ver()).strip(),
    }


def _blas() -> str:
    """The first BLAS that was loaded is NumPy's: what loads another one, such as SciPy, imports NumPy before."""
    loaded = [library for library in threadpool_info() if library["user_api"] == "blas"]
    if loaded:
        return " ".join(str(loaded[0].get(key)) for key in ("internal_api", "version", "architecture"))
    built = np.show_config("dicts")["Build Dependencies"]["blas"]  # threadpoolctl does not see Apple's Accelerate
    return f"{built.get('name')} {built.get('version')}"
