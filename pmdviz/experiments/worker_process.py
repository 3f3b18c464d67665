"""What a worker process does first: one thread, give way to others, end with its parent."""

from __future__ import annotations

import functools
import os
import threading
import time

from threadpoolctl import threadpool_limits

from pmdviz.kernels import pool

LOOK_S = 1.0  # how often a worker looks whether its parent is there


def init_worker(home: int, niceness: int) -> None:
    """In a worker process of `home`: one thread, give way by `niceness`, end with the parent. Done once a process."""
    if os.getpid() != home:
        _settled(home, niceness)


@functools.cache
def _settled(home: int, niceness: int) -> None:
    pool.set_threads(1)
    threadpool_limits(1)
    if niceness:
        os.nice(max(0, niceness - os.nice(0)))
    if os.getppid() == home:
        threading.Thread(target=_leave_with, args=(home,), name="pmdviz-sweep-parent", daemon=True).start()


def _leave_with(parent: int) -> None:
    """End this process when its parent is gone: after `kill -9` of it loky's workers would idle on for minutes."""
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    os._exit(1)
