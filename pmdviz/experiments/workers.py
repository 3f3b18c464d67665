"""Cases computed in worker processes by joblib into one table on disk, with progress, cancel and resume.

The processes are loky's unless `joblib.parallel_config` names another backend, such as a cluster. When a worker dies,
the pieces under way are computed again one at a time: a second death then names the piece that kills its worker.
"""

from __future__ import annotations

import csv
import fcntl
import functools
import gc
import importlib.util
import io
import multiprocessing
import os
import queue
import threading
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypedDict, TypeVar

import joblib
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend.process import LokyProcess
from joblib.parallel import LokyBackend, get_active_backend
from threadpoolctl import threadpool_limits

from pmdviz.data.tables import Table as PersonsTable
from pmdviz.data.tables import tables_in, texts_in
from pmdviz.engine.recipe import checked_whole
from pmdviz.errors import InputError, check_function, shown, words_of
from pmdviz.experiments import Row
from pmdviz.files import atomic_write, file_path, real_path
from pmdviz.kernels import pool
from pmdviz.knobs import Value

C = TypeVar("C")  # a piece of work
R = TypeVar("R")  # its result

# A table of finished runs on disk. It is whole at every moment, because each state is written aside and moved in place.

SHARE = 10.0  # the next write waits for this many times the duration of the last one
SUFFIXES = (".parquet", ".csv")
Kinds = Mapping[str, type]  # column -> int, float, str or bool


@contextmanager
def table_at(path: str | os.PathLike[str], kinds: Kinds) -> Iterator[Table]:
    """The table in `path` (.parquet, .csv, or neither: Parquet where pyarrow is there).

    Meanwhile no other process can write it. Raises InputError for a file that cannot be read or written, or that has
    other columns.
    """
    table = Table(table_path(path), dict(kinds))
    with _locked(table.path):
        table.rows = table.read() if table.path.exists() else []
        table.write()  # a table that cannot be written fails before hours of work
        try:
            yield table
        finally:
            table.write()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a table; a killed process's lock goes with it. Raises InputError."""
    place = real_path(path)  # one lock, whatever links lead to the table
    lock_path = place.with_name(place.name + ".lock")
    with ExitStack() as held:
        try:
            while True:
                lock = held.enter_context(lock_path.open("ab"))
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if lock_path.exists() and os.stat(lock_path).st_ino == os.fstat(lock.fileno()).st_ino:
                    break  # otherwise another process took the file away between the two lines
        except BlockingIOError as error:
            words = f"{str(path)!r} is being written by another process"
            raise InputError(f"{words}; wait for it, or give another path") from error
        except OSError as error:
            raise InputError(f"cannot write {str(path)!r}: {error}; give another path") from error
        held.callback(lock_path.unlink, missing_ok=True)
        yield


@dataclass
class Table:
    """Rows on disk, while `table_at` holds them."""

    path: Path
    kinds: Kinds
    rows: list[Row] = field(default_factory=list)
    next_write: float = 0.0  # not before this time

    def add(self, *rows: Row) -> None:
        """Add rows together; they are on disk at once, or soon where writing has become slow."""
        self.rows += rows
        if time.monotonic() >= self.next_write:
            self.write()

    def sort(self, wanted: Iterable[Hashable], identity: Callable[[Row], Hashable]) -> None:
        """Put the rows whose `identity(row)` is in `wanted` last, in that order; the others stay before them."""
        place = {name: k for k, name in enumerate(wanted)}
        self.rows.sort(key=lambda row: place.get(identity(row), -1))

    def write(self) -> None:
        """Write all rows aside and move them in place."""
        began = time.monotonic()
        content = table_bytes(self.path, self.rows, self.kinds)
        with atomic_write(self.path) as part:
            part.write_bytes(content)
        now = time.monotonic()
        self.next_write = now + SHARE * (now - began)

    def read(self) -> list[Row]:
        """The rows of the file. Raises InputError."""
        try:
            if not self.path.is_file():  # reading a FIFO would wait forever
                raise ValueError("it is not a regular file")
            columns, rows = (_from_parquet if self.path.suffix == ".parquet" else _from_csv)(self.path)
            if twice := [name for name in self.kinds if columns.count(name) > 1]:
                raise ValueError(f"its header names the column {twice[0]!r} twice (line 1)")
            if set(columns) != set(self.kinds):
                words = f"{str(self.path)!r} is another table: its columns are {', '.join(columns) or 'none'}"
                raise InputError(f"{words}; this sweep's are {', '.join(self.kinds)}. Give another path")
            return [{name: _parsed(row[name], kind) for name, kind in self.kinds.items()} for row in rows]
        except (OSError, ValueError, TypeError, KeyError, csv.Error) as error:
            if isinstance(error, InputError):
                raise
            words = f"cannot read {str(self.path)!r} as a table of a sweep: {error}"
            raise InputError(f"{words}; give another path, or delete the file") from error


def table_path(path: str | os.PathLike[str]) -> Path:
    """`path` with the suffix of its kind. Raises InputError for another kind, or Parquet without pyarrow."""
    path = file_path(path)
    if path.suffix not in SUFFIXES and path.suffix:
        raise InputError(f"a table is written as {' or '.join(SUFFIXES)}; got {shown(path.name)}")
    if path.suffix == ".parquet" and not _has_pyarrow():
        raise InputError("a .parquet table needs pyarrow: pip install 'pmdviz[parquet]', or give a .csv")
    return path if path.suffix else path.with_suffix(".parquet" if _has_pyarrow() else ".csv")


def table_bytes(path: Path, rows: list[Row], kinds: Kinds) -> bytes:
    """The rows as the kind of file that the suffix of `path` names."""
    return _parquet(rows, kinds) if path.suffix == ".parquet" else csv_text(rows, kinds).encode()


def _has_pyarrow() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def csv_text(rows: Iterable[Row], names: Iterable[str]) -> str:
    """Rows as comma-separated values, with a line of names; floats are written in full."""
    names, out = [*names], io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([row[name] for name in names] for row in rows)
    return out.getvalue()


def _from_csv(path: Path) -> tuple[list[str], list[Row]]:
    with path.open(newline="", encoding="utf-8") as file:
        reader, rows = csv.DictReader(file, strict=True), []
        for row in reader:
            if None in row:
                raise ValueError(f"line {reader.line_num} has more values than the header has columns")
            rows.append(row)
        return list(reader.fieldnames or []), rows


def _parquet(rows: list[Row], kinds: Kinds) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    arrow = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}
    schema = pa.schema([(name, arrow[kind]) for name, kind in kinds.items()])
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows, schema), out)
    return out.getvalue()


def _from_parquet(path: Path) -> tuple[list[str], list[Row]]:
    import pyarrow.parquet as parquet

    with path.open("rb") as file:  # by its name pyarrow opens it several times, and another process may replace it
        table = parquet.read_table(file)
    return table.column_names, table.to_pylist()


def _parsed(value: Value | None, kind: type[Value]) -> Value:
    if kind is bool and isinstance(value, str):
        return {"True": True, "False": False}[value]
    if value is None:
        raise ValueError("a row is cut short")
    return kind(value)


BEAT_S = 0.2
DISMISSAL_S = 2.0
CHUNK = 4  # pieces per worker in one call, for a backend that does not return results as they come
PULLER = "pmdviz-sweep-results"
_closed = threading.Event()  # set when the process is about to end: nothing is computed again

# loky restarts a worker whose memory has grown; no result is lost, and a person need not act.
warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given", category=UserWarning)


def results(
    work: Callable[[C], R], pieces: list[C], workers: int | None, heartbeat: Callable[[], None]
) -> Iterator[tuple[int, R | None, str]]:
    """Yield (number of the piece, result, "") in any order; (number, None, why) where its worker died twice.

    `heartbeat` is called between results and every fifth of a second; its exceptions stop the workers and reach the
    caller. `work` must catch its own errors: any exception that leaves a worker counts as its death.
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
                raise death.__cause__ from None
            for number in suspects:
                yield number, *_retry_alone(work, number, left.pop(number), heartbeat)


def _count(workers: int | None) -> int | None:
    """The number of workers as joblib takes it; by default every core of this machine."""
    backend, count = get_active_backend()
    alone = isinstance(backend, LokyBackend) and count in (None, 1)
    return workers or (-1 if alone else count)


def shut_down() -> None:
    """End loky's workers and free the resources that they share with this process, which is about to end."""
    _closed.set()
    _end_workers()
    for thread in threading.enumerate():
        if thread.name == PULLER:  # joblib sees the deaths before its executor is taken away
            thread.join(DISMISSAL_S)
    get_reusable_executor(reuse=True).shutdown(kill_workers=True)
    gc.collect()


def _end_workers() -> None:
    """Kill loky's workers: joblib sees that they died, and gives up the pieces under way.

    An executor that is shut down instead refuses the next piece from joblib, which then waits for that piece forever.
    """
    for process in multiprocessing.active_children():
        if isinstance(process, LokyProcess):
            process.terminate()


def _retry_alone(work: Callable[[C], R], number: int, piece: C, heartbeat: Callable[[], None]) -> tuple[R | None, str]:
    """The result of one piece that was under way when a worker died, or why there is none."""
    try:
        ((_, result),) = _attempt(work, {number: piece}, set(), 2, heartbeat)  # 1 would be this very process
    except _Died as death:
        return None, f"its worker died twice ({words_of(death.__cause__)[:200] or type(death.__cause__).__name__})"
    return result, ""


class _Died(Exception):
    """A worker or the backend failed, not the work itself; its cause says how."""


def _attempt(
    work: Callable[[C], R], pieces: dict[int, C], started: set[int], workers: int | None, heartbeat: Callable[[], None]
) -> Iterator[tuple[int, R]]:
    """Yield (number, result) as they come; the pieces handed out enter `started`. Raises _Died."""
    backend, count = get_active_backend()[0], _count(workers)
    stop = threading.Event()

    def tasks() -> Iterator[tuple]:
        for number, piece in list(pieces.items()):
            if stop.is_set():
                return
            started.add(number)
            yield joblib.delayed(_numbered)(work, number, piece, tables_in(texts_in((work, piece))))

    if backend.supports_return_generator:
        source = joblib.Parallel(n_jobs=count, batch_size=1, return_as="generator_unordered")(tasks())
    else:
        parallel, waiting, size = joblib.Parallel(count, batch_size=1), tasks(), CHUNK * joblib.effective_n_jobs(count)
        source = (found for chunk in iter(lambda: [*islice(waiting, size)], []) for found in parallel(chunk))
    try:
        yield from _pulled(source, heartbeat)
    except BaseException as error:
        stop.set()
        if isinstance(backend, LokyBackend) and not isinstance(error, _Died):  # without waiting for pieces under way
            _end_workers()
        raise


def _numbered(work: Callable[[C], R], number: int, piece: C, tables: tuple[PersonsTable, ...]) -> tuple[int, R]:
    """The tables are held where they arrive, so `work` finds those that the piece names."""
    return number, work(piece)


def _pulled(source: Iterable[tuple[int, R]], heartbeat: Callable[[], None]) -> Iterator[tuple[int, R]]:
    """The items of `source`. Another thread waits for them, so `heartbeat` is called meanwhile."""
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
            raise _Died from item
        yield item


def _pull(source: Iterable[tuple[int, R]], box: queue.SimpleQueue) -> None:
    try:
        for item in source:
            box.put(("item", item))
    except BaseException as error:
        box.put(("death", error))
    else:
        box.put(("end", None))


LOOK_S = 1.0  # how often a worker looks whether its parent is there


@functools.cache
def init_worker(home: int, niceness: int) -> None:
    """Once in each worker process of `home`: one thread, a lower priority by `niceness`, and an end with the parent."""
    if os.getpid() == home:
        return
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


# Cases computed in worker processes into a table on disk, with progress and cancel; finished cases are not repeated.

FAILED = "failed"  # a column of every table: why a row has no numbers
NOTHING: dict[type, Value] = {int: 0, float: float("nan"), str: "", bool: False}  # in the other columns of such a row


class Way(TypedDict, total=False):
    """How cases are run, as `run_cases` describes it."""

    path: str | os.PathLike[str] | None
    workers: int | None
    progress: Callable[[int, int], object] | None
    niceness: int
    on_row: Callable[[Row], None]


def run_cases(
    cases: Mapping[Hashable, C],
    work: Callable[[C], list[Row]],
    *,
    kinds: Kinds,
    labels: Callable[[C], Row],
    identity: Callable[[Row], Hashable],
    named: Callable[[C], str],
    path: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    niceness: int = 0,
    on_row: Callable[[Row], None] = lambda row: None,
    before: Callable[[list[C], int], None] = lambda cases, processes: None,
) -> tuple[list[Row], list[str], Path | None]:
    """The rows of all cases in their order, a sentence for each case whose worker died, and where the table is.

    Parameters
    ----------
    cases : key -> case
        Those that have rows in the table at `path` are not computed again.
    work : case -> rows
        Called in other processes, whose priority is lower by `niceness`. An exception becomes words in a row.
    kinds : column -> int, float, str or bool
    labels : case -> the columns that its rows have even where the case fails
    identity : row -> the key of its case
    named : case -> words, for one that is lost
    progress : (done, all), called after each and a few times per second. If it raises, the workers stop, and the
        table keeps the finished rows.
    on_row : called with every new row
    before : (cases that are missing, processes), called first; it may refuse them.
    """
    check_function("progress", progress)
    workers = None if workers is None else checked_whole("workers", workers, 1, 1000)
    with table_at(path, kinds) if path is not None else nullcontext() as table:
        found: dict[Hashable, list[Row]] = {}
        for row in table.rows if table else ():
            found.setdefault(identity(row), []).append(row)
        missing, lost = {key: case for key, case in cases.items() if key not in found}, []
        keys, pieces = [*missing], [*missing.values()]

        def tell() -> None:
            if progress is not None:
                progress(sum(key in found for key in cases), len(cases))

        before(pieces, joblib.effective_n_jobs(_count(workers)))
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
    work: Callable[[C], list[Row]], kinds: Kinds, labels: Callable[[C], Row], home: int, niceness: int, case: C
) -> list[Row]:
    init_worker(home, niceness)
    always = {**labels(case), FAILED: ""}
    try:
        found = [{**always, **row} for row in work(case)]
        return [{name: kind(row[name]) for name, kind in kinds.items()} for row in found]
    except (Exception, SystemExit) as error:  # other cases go on
        empty = {name: NOTHING[kind] for name, kind in kinds.items()}
        return [{**empty, **always, FAILED: f"{type(error).__name__}: {words_of(error)}".strip()}]
