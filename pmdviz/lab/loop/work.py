"""The tasks of a page: independent draws, tests of fit, other seeds, experiments, exports."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.run import Run
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.experiments import MOST_S, Picture, Row, in_time, most_seconds
from pmdviz.experiments.race import RaceResult
from pmdviz.experiments.running import FAILED, ExperimentResult, find_experiment, run_experiment
from pmdviz.experiments.sweep import SeedRun, SeedRuns, other_seeds, run_seed
from pmdviz.export import WRITERS, export
from pmdviz.kernels.pool import Cancelled
from pmdviz.knobs import Knobs, Value
from pmdviz.lab.loop.limits import step_seconds
from pmdviz.lab.loop.task import GIVES_WAY, DaemonPool, Outcome, Slices, Task, TaskSlot, Tell
from pmdviz.metrics.perfect_draws import NUM_SETS, Floor, floor, known_floor
from pmdviz.scenes.words import count, duration, whole_sentence

log = logging.getLogger(__name__)
TELL_S = 0.5  # so often a page hears how far a test or a floor is

# The floor of a lab's run: what as many independent draws would get.

_floor_pool = Slices("pmdviz-floor")


class FloorWork(TaskSlot):
    """One floor at a time for a lab: another target or another m lets go of the one under way."""

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__(tell, TELL_S)
        self._key: tuple = ()

    @property
    def cancelled(self) -> bool:
        """Whether the one last asked for was cancelled."""
        return self.task is not None and self.task.cancelled

    @property
    def words(self) -> str:
        """How far it is."""
        if self.task is not None and not self.running:
            return "not computed" if self.cancelled else "unavailable"
        sets = self.task.done if self.task is not None else 0
        return f"being computed, {sets} of {NUM_SETS}" if sets else "being computed"

    def ask(self, frame: Frame) -> None:
        """Have the floor of this frame computed unless it is known, under way, has been cancelled, or there is none."""
        m, drawn_as = frame.num_draws, frame.drawn_as
        key = (frame.target.key, m, *drawn_as.values())
        if key == self._key:
            return
        self.forget()
        if m is None or frame.metric("tv") is None or known_floor(frame.target, m, **drawn_as) is not None:
            return
        self._key = key

        def act(tell: Tell) -> Floor:
            return floor(frame.target, m, lambda sets: tell(sets, NUM_SETS), **drawn_as)

        self.begin(_floor_pool, act, lambda task: None)

    def forget(self) -> None:
        """Let go of the one under way, and ask again for the next frame."""
        self.let_go()
        self._key = ()


# A run's recipe with other seeds.

SURE = 10  # iterations after which the pace so far holds for the whole


def with_other_seeds(recipes: Sequence[Recipe], number: int, tell: Tell) -> list[SeedRuns]:
    """So many runs of each recipe."""
    made: list[list[SeedRun]] = [[] for _ in recipes]
    jobs = [(k, seed) for k, one in enumerate(recipes) for seed in other_seeds(one.seed, number)]
    for done, (k, seed) in enumerate(jobs):
        tell(done, len(jobs))
        made[k].append(run_seed(recipes[k], seed, partial(lambda done, share: tell(done + share, len(jobs)), done)))
    return [SeedRuns(runs) for runs in made]


def ending(recipe: Recipe, frame: Frame) -> Recipe:
    """The recipe itself, or where it is endless with an end at `frame`. Raises InputError at its start."""
    if recipe.budget is None and not frame.spent:
        raise InputError("An endless run has no end to compare: press Play first, or set a budget.")
    return recipe if recipe.budget is not None else recipe.limited(frame.spent)


def check_time(recipe: Recipe, frame: Frame, number: int) -> None:
    """Raise InputError where so many runs would take too long, by the pace of the run so far or the forecast."""
    most, seconds = most_seconds() or MOST_S, number * run_seconds(recipe, frame)
    if seconds > most:
        words = f"{number} runs like this would take about {in_time(seconds)}, and {in_time(most)} is the most here"
        raise InputError(f"{words}: choose fewer seeds or a smaller budget.")


def run_seconds(recipe: Recipe, frame: Frame) -> float:
    """Seconds of computing that a whole run takes: by the pace so far, or while the first steps compile, a forecast."""
    if frame.spent and frame.iteration >= SURE:
        return frame.seconds * recipe.budget / frame.spent
    rows = frame.method.batch_size(frame.state, frame.knobs, frame.target.num_data)
    each = rows if recipe.budget_unit == "data" else rows * getattr(frame.knobs, "num_particles", 1)
    return step_seconds(frame.knobs, frame.target) * recipe.budget / max(1, each)


# The experiments of the Theory page: one at a time on a server, in worker processes, with pictures of the rows so far.

LOOK_EVERY_S = 0.4
BACK_S = 3.0  # a cancelled thread is waited for so long: it may have more to show
WAITING = "Waiting: this server does one measurement after the other"
WORKERS = 2
SHARE = 4.0  # so many times what pictures took goes by before the next ones
_theory_pool = DaemonPool(1, "pmdviz-theory", GIVES_WAY)


class Found(NamedTuple):
    """What there is: pictures and what comes out belong together."""

    pictures: Sequence[Picture] = ()
    summary: Sequence[Mapping[str, Value | None]] = ()
    examples: Sequence[Picture] = ()


NOTHING_YET = Found()


class ExperimentWork(Task[ExperimentResult]):
    """Rows, and their last picture; `act` is called by one thread, all else from anywhere."""

    def __init__(
        self, name: str, knobs: Mapping[str, Value], insist: bool = False, known: ExperimentResult | None = None
    ) -> None:
        super().__init__()
        self.experiment, self.insist = find_experiment(name), insist
        self.knobs = self.experiment.Knobs.checked(dict(knobs))
        self.rows: list[Row] = []
        self.found = NOTHING_YET
        self._known = known  # a result that is there already is drawn at once
        self._next = 0.0
        if known is not None:
            self._draw()

    def measure(self) -> None:
        """Have it done after those that others asked for before."""
        self.begin(_theory_pool, self.act)

    @property
    def short(self) -> str:
        """How far it is, for the tab, which every page shows."""
        return f"{count(self.done)} of {count(self.total)}" if self.total else "waiting"

    @property
    def words(self) -> str:
        """How far it is."""
        return f"{self.short} cases" if self.total else WAITING

    def outcome(self, stopped: str = "It stopped: {error}") -> Outcome:
        """The result, or a sentence that says why there is none."""
        found = super().outcome(stopped)
        words = "Cancelled; finished measurements stay." if found.cancelled else found.words
        return found._replace(words=whole_sentence(words))

    def judged_by(self, knobs: Knobs) -> ExperimentWork | None:
        """The same rows by other knobs; None before the end, or where more than pictures and summary change."""
        if self._known is None or type(knobs) is not type(self.knobs):
            return None
        before, now = self.knobs.as_dict(), knobs.as_dict()
        if before == now or not {name for name in now if now[name] != before[name]} <= {*self.experiment.judging}:
            return None
        made = ExperimentWork(self.experiment.name, now, known=replace(self._known, knobs=now))
        made.found = made.found._replace(examples=self.found.examples)
        return made

    def act(self, tell: Tell) -> ExperimentResult:
        """Measure, draw meanwhile, and in the end see what comes out. Raises Cancelled and InputError."""

        def told(done: int, total: int) -> None:
            tell(done, total)
            self._draw_if_due()

        name, knobs = self.experiment.name, self.knobs.as_dict()
        measure = partial(run_experiment, workers=WORKERS, niceness=GIVES_WAY, insist=self.insist)
        try:
            self._known = measure(name, knobs, progress=told, on_row=self.rows.append)
        except BaseException:
            with contextlib.suppress(Exception):  # the reason to stop is the one that is shown
                self._draw()
            raise
        self._draw()
        self.found = self.found._replace(examples=tuple(self._known.examples()))
        return self._known

    @property
    def so_far(self) -> ExperimentResult:
        """The rows so far, or all of them in the order of the cases."""
        rows = [row for row in [*self.rows] if not row[FAILED]]
        return self._known or ExperimentResult(self.experiment.name, self.knobs.as_dict(), rows)

    def _draw_if_due(self) -> None:
        """Pictures of the first rows too; one that fails then does not stop the work."""
        began = time.monotonic()
        if began < self._next or not self.rows:
            return
        try:
            self.found = self.found._replace(pictures=tuple(self.so_far.pictures) if self.so_far.rows else ())
        except Cancelled:
            raise
        except Exception:
            log.warning("no pictures of the first rows", exc_info=True)
        now = time.monotonic()
        self._next = now + max(LOOK_EVERY_S, SHARE * (now - began))

    def _draw(self) -> None:
        if (result := self.so_far).rows:
            self.found = Found(tuple(result.pictures))
            with contextlib.suppress(InputError):  # too few rows for a slope
                self.found = self.found._replace(summary=tuple(result.summary))


# One temporary folder a process, for the files that visitors have made: it goes with the process.

try:
    import fcntl
except ImportError:  # Windows: no process can tell whether another's folder is in use, so none is touched
    fcntl = None

PREFIX, OWNER = "pmdviz-files-", "owner"
TRIES = 3  # a thread may be writing while the folder goes

_lock = threading.Lock()
_folder: Path | None = None
_owner: IO[bytes] | None = None  # open as long as the folder is this process's


def new_folder() -> Path:
    """A folder of one's own inside the process's, which only its user can read."""
    global _folder, _owner
    with _lock:
        if _folder is None or not _folder.is_dir():
            remove_stale()
            _folder = Path(tempfile.mkdtemp(prefix=PREFIX))
            _owner = (_folder / OWNER).open("wb")
            if fcntl is not None:
                fcntl.flock(_owner, fcntl.LOCK_EX)
            atexit.register(remove)
        return Path(tempfile.mkdtemp(dir=_folder))


def remove() -> None:
    """Delete the folder of this process with all that is in it; the process is about to end."""
    global _folder, _owner
    with _lock:
        for _ in range(TRIES if _folder is not None else 0):
            shutil.rmtree(_folder, ignore_errors=True)
        if _owner is not None:
            _owner.close()
        _folder = _owner = None


def remove_stale() -> None:
    """Delete the folders of processes that have ended without doing so."""
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another's, or it has just gone
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / OWNER).open("rb") as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where another process holds it
                shutil.rmtree(folder, ignore_errors=True)


# A file being made for one visitor, into a folder that goes with it.

EXPORT_SURE = 5  # frames after which the pace so far holds for all
_export_pool = Slices("pmdviz-export")


def _played(what: Run | RaceResult, suffix: str, tell: Tell) -> Run | RaceResult:
    """The run or race to export; at iteration 0 a film has the whole run of the recipe."""
    if not isinstance(what, Run) or what.final.iteration > 0 or what.recipe.budget is None:
        return what
    if "frames" not in WRITERS[suffix].options:
        return what
    session = Session(what.recipe)
    while not session.done:
        session.advance(1)
        tell(0, 0)
    return session.run


class ExportTask(Task):
    """One export: `make` by the thread that holds the session, everything else from anywhere."""

    def __init__(self, name: str, options: Mapping[str, Value]) -> None:
        super().__init__()
        self.name, self._options = name, dict(options)
        self._folder = new_folder()

    @property
    def path(self) -> Path:
        """Where the file will be."""
        return self._folder / self.name

    def make(self, what: Run | RaceResult) -> None:
        """Have the file made from a run or a race, when those before it are done."""

        def act(tell: Tell) -> Path:
            played = _played(what, self.path.suffix, tell)
            return export(played, self.path, progress=self._within_limit(tell), **self._options)

        self.begin(_export_pool, act)

    def _within_limit(self, tell: Tell) -> Tell:
        """`tell`; it raises InputError where the pace of the first frames says that all of them take too long."""
        most, began = most_seconds(), time.thread_time()

        def told(done: float, total: float) -> None:
            tell(done, total)
            seconds = (time.thread_time() - began) * total / max(done, 1)
            if most is not None and EXPORT_SURE <= done < total and seconds > most:
                words = f"this file would take about {in_time(seconds)} of computing, and {in_time(most)} is the most"
                raise InputError(f"{words} here: choose fewer frames or a smaller size")

        return told

    def words(self) -> str:
        """How far it is."""
        if not self.running:
            return "Waiting for another step or export ..."
        share = f"{count(self.done)} of {count(self.total)} frames" if self.total else "Beginning"
        return f"{share}, {duration(self.seconds)} so far"

    def cancel(self) -> None:
        """End it at the next iteration or frame, and throw away what there is."""
        super().cancel()
        self.clear()

    def ended(self) -> None:
        """A thread that was cancelled may have written until now."""
        if self.cancelled:
            self.clear()

    def clear(self) -> None:
        """Delete the file and its folder."""
        shutil.rmtree(self._folder, ignore_errors=True)
