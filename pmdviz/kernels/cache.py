"""Where compiled kernels are kept: numba's cache, or a temporary folder where it has no folder that it may write."""

import atexit
import os
import shutil
import sys
import tempfile

from numba import config, njit

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
