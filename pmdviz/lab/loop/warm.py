"""The warm-up of a process: kernels are compiled once, and whoever waits can say how far it is.

A compiler in a thread of this process would hold up its event loop; other processes fill numba's cache on the disk
instead, and this one only loads it. What the first picture needs comes first, and is to be seen while they go on.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

_lock = threading.Lock()
_first, _ready, _compiling = threading.Event(), threading.Event(), threading.Event()
_progress: tuple[float, str] = (0.0, "starting")
_thread: threading.Thread | None = None
ELSEWHERE = 0.9  # share of the bar for the other processes; the rest is loading
MOST_PROCESSES = 2  # what compiles alone at the end, and what both need, leaves a third one little to do


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


def can_draw() -> bool:
    """Whether those of the usual run's first picture are."""
    return _first.is_set()


def wait(first_picture: bool = False) -> None:
    """Block (a worker thread, never the event loop) until the process is warm, or for the first picture enough."""
    begin()
    (_first if first_picture else _ready).wait()


def after(act: Callable[..., Any]) -> Callable[..., Any]:
    """`act` as soon as a warm-up that has begun is over: what compiles in this process holds up its pages."""
    if _thread is None or _ready.is_set():
        return act

    def later(*args: Any) -> Any:
        _ready.wait()
        return act(*args)

    return later


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
        from pmdviz.kernels import warmup

        begun = 0.0
        if not warmup.is_cached():
            begun = ELSEWHERE
            _compiling.set()
            _compile_elsewhere(lambda share, words: tell(begun * share, words), _load_first)
        _load_first()
        warmup.call_each(warmup.other_calls(), lambda share, words: tell(begun + (1 - begun) * share, words))
        tell(1.0, "ready")
    except Exception:  # without a warm-up the first run compiles what it needs
        logging.getLogger(__name__).warning("the warm-up stopped early", exc_info=True)
    finally:
        _first.set()
        _ready.set()


def _load_first() -> None:
    from pmdviz.kernels import warmup

    if not _first.is_set():
        warmup.call_each(warmup.first_calls(), lambda share, words: None)
        _first.set()


def _compile_elsewhere(tell: Callable[[float, str], object], first_done: Callable[[], object]) -> None:
    """Fill the cache in other processes; where that fails, this one compiles what is missing."""
    from pmdviz.kernels import warmup

    parts = min(MOST_PROCESSES, os.cpu_count() or 1)
    total, done, firsts = len(warmup.first_calls()) + len(warmup.other_calls()), 0, 0
    try:
        with ExitStack() as stack:
            for line in stack.enter_context(_lines_of_parts(parts, stack)):
                if line.strip() == warmup.FIRST:
                    firsts += 1
                    if firsts == parts:
                        first_done()
                else:
                    tell(done / total, line.strip())
                    done += 1
    except OSError:
        logging.getLogger(__name__).info("kernels are compiled in this process", exc_info=True)


def _lines_of_parts(parts: int, stack: ExitStack) -> Any:
    """What the processes write, in one file; the stack waits for them."""
    reads, writes = os.pipe()
    lines = os.fdopen(reads, encoding="utf-8")
    try:
        for part in range(parts):
            command = [sys.executable, "-m", "pmdviz.kernels.warmup", str(part), str(parts)]
            stack.enter_context(subprocess.Popen(command, stdout=writes, stderr=subprocess.DEVNULL))
    except OSError:
        lines.close()
        raise
    finally:
        os.close(writes)
    return lines
