"""The warm-up of a process: kernels are compiled once, in a thread, and whoever waits can say how far it is."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_lock = threading.Lock()
_ready = threading.Event()
_progress: tuple[float, str] = (0.0, "starting")
_thread: threading.Thread | None = None


def progress() -> tuple[float, str]:
    """Share done in [0, 1] and what is being compiled."""
    return _progress


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
        from pmdviz.kernels.warmup import warm_up

        warm_up(tell)
    except Exception:  # without a warm-up the first run compiles what it needs
        logging.getLogger(__name__).warning("the warm-up stopped early", exc_info=True)
    finally:
        _ready.set()
