"""The warm-up of a process: kernels are compiled once, and whoever waits can say how far it is.

A compiler in a thread of this process would hold up its event loop; another process fills numba's cache on the disk
instead, and this one only loads it.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Callable

_lock = threading.Lock()
_ready, _compiling = threading.Event(), threading.Event()
_progress: tuple[float, str] = (0.0, "starting")
_thread: threading.Thread | None = None
ELSEWHERE = 0.9  # share of the bar for the other process; the rest is loading


def progress() -> tuple[float, str]:
    """Share done in [0, 1] and what is being compiled."""
    return _progress


def words() -> str:
    """What to say to somebody who waits."""
    share = _progress[0]
    compiling = "compiling the mathematics for this computer, once"
    return f"Preparing the lab: {compiling if _compiling.is_set() else 'loading the mathematics'}. {100 * share:.0f} %"


def is_ready() -> bool:
    """Whether every kernel is compiled."""
    return _ready.is_set()


def wait() -> None:
    """Block (a worker thread, never the event loop) until the process is warm."""
    begin()
    _ready.wait()


def begin(report: Callable[[float, str], object] | None = None) -> None:
    """Start the warm-up once per process; `report` is told of every step."""
    global _thread
    with _lock:
        if _thread is None:
            _thread = threading.Thread(target=_warm, args=(report,), name="pmdviz-warm-up", daemon=True)
            _thread.start()


def _warm(report: Callable[[float, str], object] | None) -> None:
    def tell(share: float, words: str) -> None:
        global _progress
        _progress = (share, words)
        if report is not None:
            report(share, words)

    try:
        from pmdviz.kernels.warmup import is_cached, warm_up

        begun = 0.0
        if not is_cached():
            begun = ELSEWHERE
            _compiling.set()
            _compile_elsewhere(lambda share, words: tell(begun * share, words))
        warm_up(lambda share, words: tell(begun + (1 - begun) * share, words))
    except Exception:  # without a warm-up the first run compiles what it needs
        logging.getLogger(__name__).warning("the warm-up stopped early", exc_info=True)
    finally:
        _ready.set()


def _compile_elsewhere(tell: Callable[[float, str], object]) -> None:
    """Fill the cache in another process; where that fails, this one compiles what is missing."""
    command = [sys.executable, "-m", "pmdviz.kernels.warmup"]
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as other:
            for line in other.stdout:
                share, words = line.strip().split(" ", 1)
                tell(float(share), words)
    except (OSError, ValueError):
        logging.getLogger(__name__).info("kernels are compiled in this process", exc_info=True)
