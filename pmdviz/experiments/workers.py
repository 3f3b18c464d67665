"""Work shared out to processes by joblib: results as they come, a heartbeat, and workers that may die.

By default the processes are loky's; inside `joblib.parallel_config` they are whatever that says, a cluster for
example. When a worker dies everything that was under way is done once more, one piece at a time, so that a second
death names the piece that kills.
"""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
import queue
import threading
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import joblib
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend.process import LokyProcess
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

from pmdviz.data.tables import Table as PersonsTable
from pmdviz.data.tables import tables_in, texts_in
from pmdviz.engine.recipe_parts import checked_whole
from pmdviz.errors import check_function, words_of
from pmdviz.experiments.table import Kinds, Row, Table
from pmdviz.kernels import pool

BEAT_S = 0.2
DISMISSAL_S = 2.0
CHUNK = 4  # pieces a worker in one call, for a backend that does not give results as they come
PULLER = "pmdviz-sweep-results"
_closed = threading.Event()  # the process is about to end: nothing is done once more

# loky starts a worker anew whose memory has grown; that loses nothing and is nothing for a person to act on.
warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given", category=UserWarning)


def results(
    work: Callable[[Any], Any], pieces: list[Any], workers: int | None, heartbeat: Callable[[], None]
) -> Iterator:
    """Yield (number of the piece, result, "") in any order; (number, None, why) where its worker died twice.

    `heartbeat` is called between results and every fifth of a second; what it raises stops the workers and goes to the
    caller. `work` must catch its own errors: any exception that comes out of a worker counts as its death.
    """
    left = dict(enumerate(pieces))
    while left:
        started: set[int] = set()
        try:
            for number, result in _attempt(work, left, started, workers, heartbeat):
                del left[number]
                yield number, result, ""
        except _Died as death:
            suspects = sorted(started & set(left))
            if not suspects or _closed.is_set():
                raise death.cause from death
            for number in suspects:
                yield number, *_retry_alone(work, number, left.pop(number), heartbeat)


def num_processes(workers: int | None) -> int:
    """How many pieces are under way at a time, on this machine or wherever `joblib.parallel_config` says."""
    return joblib.effective_n_jobs(_count(workers))


def _count(workers: int | None) -> int | None:
    """As joblib wants it: by default every core of this machine."""
    backend, count = get_active_backend()
    alone = _is_loky(backend) and count in (None, 1)
    return workers or (-1 if alone else count)


def _is_loky(backend: Any) -> bool:
    return type(backend).__name__ == "LokyBackend"


def shut_down() -> None:
    """End loky's workers and free what they share with this process, which is about to end."""
    _closed.set()
    _end_workers()
    for thread in threading.enumerate():
        if thread.name == PULLER:  # joblib sees the deaths before its executor is taken away
            thread.join(DISMISSAL_S)
    get_reusable_executor(reuse=True).shutdown(kill_workers=True)
    gc.collect()


def _end_workers() -> None:
    """Kill loky's workers: joblib sees that they died, and gives up what was under way.

    An executor that is shut down instead refuses the piece which joblib hands on when the last result comes in: a
    traceback in the log, and joblib waits for that piece for ever.
    """
    for process in multiprocessing.active_children():
        if isinstance(process, LokyProcess):
            process.terminate()


def _retry_alone(work: Callable[[Any], Any], number: int, piece: Any, heartbeat: Callable[[], None]) -> tuple[Any, str]:
    """Result of one piece that was under way when a worker died, and why there is none."""
    try:
        ((_, result),) = _attempt(work, {number: piece}, set(), 2, heartbeat)  # 1 would be this very process
    except _Died as death:
        return None, f"its worker died twice ({words_of(death.cause)[:200] or type(death.cause).__name__})"
    return result, ""


class _Died(Exception):
    """Something other than the work itself went wrong."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _attempt(
    work: Callable[[Any], Any],
    pieces: dict[int, Any],
    started: set[int],
    workers: int | None,
    heartbeat: Callable[[], None],
) -> Iterator[tuple[int, Any]]:
    """Yield (number, result) as they come; `started` holds what has been handed out. Raises _Died."""
    backend, count = get_active_backend()[0], _count(workers)
    stop = threading.Event()

    def tasks() -> Iterator[Any]:
        for number, piece in list(pieces.items()):
            if stop.is_set():
                return
            started.add(number)
            yield joblib.delayed(_numbered)(work, number, piece, tables_in(texts_in((work, piece))))

    as_they_come = {"return_as": "generator_unordered"} if backend.supports_return_generator else {}
    parallel = joblib.Parallel(n_jobs=count, batch_size=1, **as_they_come)
    source = (
        parallel(tasks()) if as_they_come else _in_chunks(parallel, tasks(), CHUNK * joblib.effective_n_jobs(count))
    )
    try:
        yield from _pulled(source, heartbeat)
    except BaseException as error:
        stop.set()
        if _is_loky(backend) and not isinstance(error, _Died):  # at once, instead of at the end of what is under way
            _end_workers()
        raise


def _numbered(work: Callable[[Any], Any], number: int, piece: Any, tables: tuple[PersonsTable, ...]) -> tuple[int, Any]:
    """The tables are held where they arrive, so that `work` finds those that the piece names."""
    return number, work(piece)


def _in_chunks(parallel: joblib.Parallel, tasks: Iterator[Any], size: int) -> Iterator[tuple[int, Any]]:
    while chunk := list(islice(tasks, size)):
        yield from parallel(chunk)


def _pulled(source: Iterable[Any], heartbeat: Callable[[], None]) -> Iterator[Any]:
    """The items of `source`, waited for in another thread so that the heart beats meanwhile."""
    box: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=_pull, args=(source, box), name=PULLER, daemon=True).start()
    del source
    while True:
        heartbeat()
        try:
            kind, item = box.get(timeout=BEAT_S)
        except queue.Empty:
            continue
        if kind == "end":
            return
        if kind == "death":
            raise _Died(item)
        yield item


def _pull(source: Iterable[Any], box: queue.SimpleQueue) -> None:
    try:
        for item in source:
            box.put(("item", item))
    except BaseException as error:
        box.put(("death", error))
    else:
        box.put(("end", None))


# What a worker process does first: one thread, give way to others, end with its parent.

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


# Cases computed in worker processes into a table on disk: with progress, cancel, and going on where one stopped.

FAILED = "failed"  # a column of every table: why a row has no numbers
NOTHING: dict[type, Any] = {int: 0, float: float("nan"), str: "", bool: False}  # in the other columns of such a row


def run_cases(
    cases: Mapping[Any, Any],
    work: Callable[[Any], list[Row]],
    *,
    kinds: Kinds,
    labels: Callable[[Any], Row],
    identity: Callable[[Row], Hashable],
    named: Callable[[Any], str],
    path: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    niceness: int = 0,
    on_row: Callable[[Row], object] = lambda row: None,
    before: Callable[[list[Any], int], object] = lambda cases, processes: None,
) -> tuple[list[Row], list[str], Path | None]:
    """The rows of all cases in their order, a sentence for each case whose worker died, and where the table is.

    Parameters
    ----------
    cases : key -> case
        Those that have rows in the table at `path` are not computed again.
    work : case -> rows
        Done in other processes, which give way by `niceness`. Whatever goes wrong in it becomes words in a row.
    kinds : column -> int, float, str or bool
    labels : case -> the columns that its rows have whatever comes of it
    identity : row -> the key of its case
    named : case -> words, for one that is lost
    progress : (done, all), called after each and a few times a second
        What it raises stops the workers, and the table keeps what was finished.
    on_row : called with every new row
    before : (cases that are missing, processes), called first; it may refuse them.
    """
    check_function("progress", progress)
    workers = None if workers is None else checked_whole("workers", workers, 1, 1000)
    table = Table(path, kinds) if path is not None else None
    with table or nullcontext():
        found: dict[Hashable, list[Row]] = {}
        for row in table.rows if table else ():
            found.setdefault(identity(row), []).append(row)
        missing, lost = {key: case for key, case in cases.items() if key not in found}, []
        keys, pieces = [*missing], [*missing.values()]

        def tell() -> None:
            if progress is not None:
                progress(sum(key in found for key in cases), len(cases))

        before(pieces, num_processes(workers))
        guarded = functools.partial(_rows_of, work, dict(kinds), labels, os.getpid(), niceness)
        for number, rows, why in results(guarded, pieces, workers, tell):
            if rows is None:
                lost.append(f"{named(pieces[number])} is missing: {why}")
                continue
            found[keys[number]] = rows
            for row in rows:
                on_row(row)
            if table:
                table.add(*rows)
        tell()
        if table:
            table.sort([*cases], identity)
    return [row for key in cases for row in found.get(key, ())], lost, table.path if table else None


def _rows_of(
    work: Callable[[Any], list[Row]],
    kinds: dict[str, type],
    labels: Callable[[Any], Row],
    home: int,
    niceness: int,
    case: Any,
) -> list[Row]:
    init_worker(home, niceness)
    always = {**labels(case), FAILED: ""}
    try:
        found = [{**always, **row} for row in work(case)]
        return [{name: kind(row[name]) for name, kind in kinds.items()} for row in found]
    except (Exception, SystemExit) as error:  # other cases go on
        empty = {name: NOTHING[kind] for name, kind in kinds.items()}
        return [{**empty, **always, FAILED: f"{type(error).__name__}: {words_of(error)}".strip()}]
