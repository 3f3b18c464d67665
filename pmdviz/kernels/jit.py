"""The compile decorators of the package, with the reason for every flag.

`jit` is strict IEEE arithmetic: use it wherever `-inf` or NaN may pass. `fast_jit` lets the compiler reorder sums so
that loops vectorise. It may assume that no NaN and no infinity occurs: under it `isnan(nan)` is False and `-inf -
-inf` is anything. Callers check first and use a finite "log 0" inside.

All are forced inline. Left as calls, a process that compiles them and one that loads them, or what calls them, from the
cache link different copies, which round differently: a run's first start and its second would differ.

Nor may what they compute depend on what was compiled before them. What numba compiles for its own use (a number to an
integer power, the sum of an array) it keeps for the rest of the process, with the flags of the first caller, and the
cache then keeps that. So squares are written as products everywhere, and no sum of an array is asked for under
`fast_jit`.

None has `parallel=True`: with the thread layer that pip installs on macOS a second Python thread in a parallel
region kills the process, and OpenMP spins on cores that others need. Threads come from `pool.run_blocks`, hence
`nogil`.

The on-disk cache is keyed by the file of each function alone: after a change in `exponential.py` the kernels that
inline it are still served from the old cache. Point `NUMBA_CACHE_DIR` at an empty folder to be sure of what runs.
"""

import atexit
import hashlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import cache

import numpy as np
from llvmlite import binding
from numba import config, njit
from threadpoolctl import threadpool_info

# Where compiled kernels are kept: numba's cache, or a temporary folder where it has no folder that it may write.

_temporary: list[str] = []


def remove_temporary() -> None:
    """Remove the temporary folder, if there is one; for a process that ends without Python's own end."""
    for folder in _temporary:
        shutil.rmtree(folder, ignore_errors=True)


def has_cache() -> bool:
    """Whether there is a folder for compiled kernels; if need be a temporary one, until this process ends."""
    try:
        njit(cache=True)(_nothing)
        return True
    except RuntimeError:  # numba finds none
        return _has_temporary_cache()


def _nothing() -> None:
    pass


def _has_temporary_cache() -> bool:
    try:
        folder = tempfile.mkdtemp(prefix="pmdviz-kernels-")
    except OSError:
        folder = ""
    where = "in a temporary folder, which this process removes" if folder else "in memory"
    sys.stderr.write(
        f"pmdviz: no folder for compiled kernels can be written, so they are kept {where}. "
        "Set NUMBA_CACHE_DIR to a folder that you can write.\n"
    )
    if folder:
        os.environ["NUMBA_CACHE_DIR"] = config.CACHE_DIR = folder  # also for processes that this one starts
        _temporary.append(folder)
        atexit.register(remove_temporary)
    return bool(folder)


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
