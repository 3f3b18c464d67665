"""Memory of ended sessions goes back to the system; by itself glibc keeps most of it in pieces, ever more of them."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading

EVERY_S = 10.0  # at most; a page takes some seconds until nothing refers to it any more

_waiting = False


def schedule_trim() -> None:
    """Have free memory given back in a while; many calls until then are one."""
    global _waiting
    if _waiting or sys.platform != "linux":
        return
    _waiting = True
    timer = threading.Timer(EVERY_S, _begin)  # a thread of its own: it takes tens of milliseconds
    timer.name, timer.daemon = "pmdviz-trim", True
    timer.start()


def _begin() -> None:
    global _waiting
    _waiting = False
    release_free_memory()


def release_free_memory() -> bool:
    """Give free memory back now; whether the C library can (musl cannot)."""
    gc.collect()  # a page is full of circles
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return trim is not None
