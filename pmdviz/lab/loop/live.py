"""The live loop: one asyncio task a session, steps in a shared pool of threads, frames acknowledged by the browser."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from operator import methodcaller
from typing import TYPE_CHECKING, Any, NamedTuple

from panel.io.state import set_curdoc
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

from pmdviz.errors import InputError
from pmdviz.kernels.compiling import compiler, knob_groups
from pmdviz.kernels.pool import Cancelled
from pmdviz.knobs import Knobs, Value
from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.lab.loop.recorded import NeedsKernels, require
from pmdviz.lab.loop.runner import Runner, Snapshot
from pmdviz.lab.loop.task import Again, Bucket, Task, log_failure, pool_for, running_loop
from pmdviz.lab.panel_internals import is_served, locked

if TYPE_CHECKING:
    from bokeh.document import Document

    from pmdviz.lab.page import LivePage

# How fast a run is shown: which iteration belongs to which second of playing. It has no influence on the results of the
# run.

FIRST_S = 0.5  # seconds from one iteration to the next at the very start of a slow one
GENTLE = 6  # iterations after which it goes twice as fast as at first


class Pace(NamedTuple):
    """A schedule of iterations, of a race a schedule of rounds.

    Attributes
    ----------
    name : str
        Its key in a menu.
    per_second : float
        Iterations per second; infinite where the next frame comes as soon as the last one has been drawn.
    a_frame : int
        Iterations of one frame: where there is a rate those that a slow browser may leave out at once, else all.
    slow_start : bool
        Whether playing time grows like the logarithm of the iteration, until every frame that can be drawn comes.
    """

    name: str
    per_second: float = math.inf
    a_frame: int = 1
    slow_start: bool = False

    def seconds(self, iteration: int) -> float:
        """Seconds of playing from iteration 0 until this one is shown."""
        return FIRST_S * GENTLE * math.log1p(iteration / GENTLE) if self.slow_start else iteration / self.per_second

    def words(self, count: Callable[[int], str]) -> str:
        """What a menu says; `count` says a number of iterations: "3 iterations" a second."""
        if self.slow_start:
            return "slow at first"
        if math.isfinite(self.per_second):
            return f"{count(int(self.per_second))} a second"
        return "as fast as it goes" if self.a_frame == 1 else f"{count(self.a_frame)} a frame"


SLOW, FAST = Pace("slow", slow_start=True), Pace("fast")
RATES = Pace("1", 1), Pace("3", 3), Pace("10", 10, a_frame=3), Pace("30", 30, a_frame=8)
PACES = {pace.name: pace for pace in (SLOW, *RATES, FAST, *(Pace(f"x{n}", a_frame=n) for n in (5, 20, 50)))}


def menu(count: Callable[[int], str]) -> dict[str, str]:
    """Words -> name of every pace; the usual one comes first."""
    return {pace.words(count): name for name, pace in PACES.items()}


class Beat:
    """When the next iterations of a run that plays are due. The first frame is due at the start.

    Time that went by in a long step, or out of sight, is not made up for beyond one frame.
    """

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self._due, self._begun = 0.0, False

    def wait(self, now: float) -> float:
        """Seconds until something is due."""
        return max(0.0, self._due - now) if self._begun else 0.0

    def take(self, now: float, iteration: int) -> int:
        """How many iterations are due of a run that is at `iteration`; they count as made."""
        due, taken, pause = (self._due if self._begun else now), 0, 0.0
        while taken < self.pace.a_frame and due <= now:
            taken += 1
            pause = self.pace.seconds(iteration + taken + 1) - self.pace.seconds(iteration + taken)
            due += pause
        if taken:  # after a long step the next two do not come in one breath
            due = max(due, now + pause / (2 * self.pace.a_frame))
        self._due, self._begun = due, True
        return taken


REST = 150.0  # times as long as work took, until it is done again: a busy server makes more frames then


SPARSE_S = 0.45  # frames that come more rarely are each followed by all of a throttle's work


class Throttle:
    """The work done with every change at rest, and less often while a run plays.

    Then it is done at most once in so many seconds, and not with two frames in a row that come within SPARSE_S: on a
    busy server, where frames come every quarter of a second, it takes half as much of them.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._rest, self._last = seconds, seconds, -math.inf
        self._with_last_frame = False

    def is_due(self, now: float, playing: bool) -> bool:
        """Whether it is due; it counts as done then."""
        rest = max(self._rest, SPARSE_S * self._with_last_frame)
        self._with_last_frame = not playing or now - self._last >= rest
        if self._with_last_frame:
            self._last = now
        return self._with_last_frame

    def done(self, now: float) -> None:
        """The work that was due is done: where it took long, the next one is due later."""
        self._rest = max(self._seconds, REST * (now - self._last))


Made = Snapshot | tuple[Runner, Snapshot] | Again
Act = Callable[[Runner], Made]


class Job(NamedTuple):
    """Something to do with the runner in a worker thread; one that sets knobs has their values, and their class."""

    what: str
    act: Act
    kind: type[Knobs] | None = None
    values: Mapping[str, Value] = {}


def without_closed_tabs(loop: asyncio.AbstractEventLoop, context: dict[str, Exception]) -> None:
    """A message to a tab that has just been closed is not an error; Panel leaves that exception in its task."""
    if not isinstance(context.get("exception"), (WebSocketClosedError, StreamClosedError)):
        loop.default_exception_handler(context)


# The loop.

IN_FLIGHT = 2  # frames under way to the browser; one alone halves the frame rate
WATCHDOG_S = 2.0
AWAY_AFTER = 2  # watchdog hits in a row after which no one is looking
BUSY_S = 0.5  # longer work shows its progress
TURN_S = 2.0  # longer waits for a turn are shown: half a second is usual in a class of thirty
POLL_S = 0.25  # so often a page that waits for kernels looks whether they are compiled
MAX_JOBS = 50  # that wait; of a key held down no more are kept
NEW_RUNS = (0.2, 1.0)  # CPU seconds that the new runs of a served session may take per second, and at once
DEAREST_S = 1.0  # more is not counted: long work gives way to the work of others

log = logging.getLogger(__name__)


class Live:
    """Serialises everything that touches the session: it alone hands work to the pool, one job at a time.

    `screen` is a live page (`pmdviz.lab.page`). The loop calls its methods on the event loop: `show(snapshot)`,
    `busy(what, seconds, share)`, `waiting(what, seconds)` for kernels, `cancelled(what)`, `failed(error)`,
    `refused(what, error)` and `play_changed(playing)`. The last picture stays until a new one comes.
    """

    def __init__(self, screen: LivePage, ack: Acknowledge) -> None:
        self.screen, self.ack = screen, ack
        self.runner: Runner | None = None
        self.playing, self.watchdog_hits = False, 0
        self._beat = Beat(FAST)
        self._jobs: deque[Job] = deque()
        self._wake, self._drawn, self._ready = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._away = False
        self._life = self._living = 0  # how often it was started or stopped; of the task that has the session
        self._seen = True  # whether the page is the one that is shown, of those that the app has
        self._took = self._showing = 0.0  # CPU seconds of the last job, and of its picture
        self._new_runs = Bucket(*NEW_RUNS)
        self._sent = ack.sent  # frames; a browser can write what the model says
        self._step: Task | None = None  # the job that a thread does
        self._missing: Collection[str] = ()  # groups of kernels that the first job waits for
        self._catching_up: Future | None = None  # the live run, on its way to where the recorded one is
        self._task: asyncio.Task | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # on which the task runs
        self.started = False  # whether `start` was called and `stop` was not: before, nothing takes the queue
        self._too_early = False
        self._doc: Document | None = None
        ack.on_change("drawn", lambda attr, old, new: self._on_loop(self._on_drawn))
        ack.on_change("hidden", lambda attr, old, new: self._on_loop(self._wake_up))

    @property
    def playing(self) -> bool:
        """Whether it plays. Meanwhile only requested kernels are compiled."""
        return self._playing

    @playing.setter
    def playing(self, on: bool) -> None:
        self._playing = on
        compiler.somebody_plays(self, on)

    def start(self, doc: Document | None = None) -> None:
        """Begin the task on the event loop, also again after `stop`; `doc` is the document it draws in.

        A served document may still be in the making, in a thread that has no loop: then it begins with the session.
        """
        if self.started:
            return
        self._doc, self.started, self._away = doc, True, False
        self._life += 1
        self._ready.clear()
        if is_served(doc):
            doc.add_next_tick_callback(self._begin)
        else:
            self._make_task()

    async def _begin(self) -> None:
        """The session is there; a coroutine is called on its loop."""
        asyncio.get_running_loop().set_exception_handler(without_closed_tabs)  # in a notebook the loop is the user's
        if self.started:
            self._make_task()

    def _make_task(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run(self._life, self._task))
        self._task.add_done_callback(log_failure)

    def _on_loop(self, act: Callable[[], None]) -> None:
        """Do it on the loop, from any thread: asyncio's events are not for other threads."""
        if self._loop is None or self._loop.is_closed() or self._loop is running_loop():
            act()
        else:
            self._loop.call_soon_threadsafe(act)

    def ready(self) -> None:
        """The page is there: frames may be sent from now on."""
        self._ready.set()

    def stop(self) -> None:
        """End the task, from any thread; a step under way finishes in its thread and is dropped."""
        self._on_loop(self._end)

    def _end(self) -> None:
        self._life += 1
        self.started = self.playing = False
        if self.runner is not None:
            self.runner.wanted.clear()
        if self._step is not None:
            self._step.token.cancel()
        for event in (self._wake, self._drawn, self._ready):
            event.set()

    def play(self, on: bool) -> None:
        """Play or pause; a pause takes effect after the present iteration, the buttons answer at once."""
        self.playing, self._away = on, False
        self.pace = self.pace  # the first step comes at once
        if self.runner is not None:
            (self.runner.wanted.set if on else self.runner.wanted.clear)()
        self.screen.play_changed(on)
        self._wake.set()

    @property
    def pace(self) -> Pace:
        """How fast it plays; another acts at once."""
        return self._beat.pace

    @pace.setter
    def pace(self, pace: Pace) -> None:
        self._beat = Beat(pace)
        self._wake.set()

    @property
    def pause_s(self) -> float:
        """Seconds until the next step of a run that plays."""
        return self._beat.wait(time.monotonic())

    def look(self, on: bool) -> None:
        """Whether the page is to be seen: out of sight no step is made, and what plays goes on later."""
        self._seen, self._away = on, False
        self._wake.set()

    def cancel(self) -> bool:
        """Stop the job that lasts, and play with it; the last picture stays. Returns whether there was one."""
        if self._missing and self.runner is not None:
            self._missing = ()
            self.screen.cancelled(self._jobs.popleft().what)
            return True
        if self._step is None or self.runner is None:  # before the first picture there is nothing to go back to
            return False
        if self.playing:
            self.play(False)
        self._step.token.cancel()
        return True

    @property
    def waits(self) -> bool:
        """Whether a job waits for kernels, and nothing moves until they are there."""
        return bool(self._missing)

    @property
    def at_work(self) -> bool:
        """Whether a job is under way or waits."""
        return self._step is not None or bool(self._jobs)

    def do(self, what: str, act: Act, newest_only: bool = False) -> None:
        """Queue an act on the runner; with `newest_only` it takes the place of one alike that waits just before it."""
        if newest_only and self._jobs and self._jobs[-1].what == what:
            self._missing = ()  # what waited is no longer wanted; the newest may wait for others
            self._jobs.pop()
        if len(self._jobs) < MAX_JOBS:
            self._jobs.append(Job(what, act))
        self._wake_up()

    def set(self, kind: type[Knobs], name: str, value: Value) -> None:
        """Queue a knob's new value, which was checked as one of `kind`.

        It is joined with others that still wait, so a moved slider never piles up, nor is there ever no room for it.
        """
        values = {name: value}
        if self._jobs and self._jobs[-1].kind is kind:
            values = {**self._jobs.pop().values, **values}

        def act(runner: Runner) -> Snapshot:
            require(*knob_groups(**values))
            return runner.set(values, kind)

        self._jobs.append(Job("set", act, kind, values))
        self._wake_up()

    def _wake_up(self) -> None:
        self._away = False
        self._wake.set()

    def _on_drawn(self) -> None:
        self._drawn.set()
        self._wake_up()

    def _next(self) -> Job | None:
        if (takeover := self._takeover()) is not None:
            return takeover
        if self._missing and (self._is_recorded or not compiler.is_ready(self._missing)):
            return None
        self._missing = ()
        if self._jobs:
            return self._jobs.popleft()
        if self._may_step and (due := self._beat.take(time.monotonic(), self.runner.iteration)):
            return Job("step", methodcaller("advance", due))
        return None

    @property
    def _is_recorded(self) -> bool:
        return self.runner is not None and self.runner.is_recorded

    def _takeover(self) -> Job | None:
        """Once the live run has caught up with the recorded one, the job in which it takes its place."""
        if not self._is_recorded or not compiler.is_ready(self.runner.session.recipe.kernel_groups):
            return None
        if self._catching_up is None:
            self._catching_up = pool_for(0.0).submit(self.runner.caught_up)
            self._catching_up.add_done_callback(lambda done: self._on_loop(self._wake.set))
        if not self._catching_up.done():
            return None
        live, self._catching_up = self._catching_up, None
        return Job("step", lambda runner: runner.take_over(live.result()))

    @property
    def _may_step(self) -> bool:
        stopped = self._missing or self._away or self.ack.hidden or self.runner is None
        return self.playing and self._seen and not stopped

    @property
    def _stopped(self) -> bool:
        """Whether the task that has the session is to end."""
        return self._living != self._life

    async def _run(self, life: int, before: asyncio.Task | None) -> None:
        if before is not None:
            await asyncio.wait({before})
        self._living = life
        with ExitStack() as stack:
            if self._doc is not None:
                stack.enter_context(set_curdoc(self._doc))
            while not self._stopped:
                if (job := self._next()) is None:
                    await self._rest()
                    continue
                runner, snapshot = self.runner, await self._compute(job)
                self._too_early = True
                while snapshot is not None and self._too_early:
                    if self._is_being_built:
                        await self._ready.wait()
                    await self._wait_for_ack()
                    self._too_early = False
                    await locked(self._push, snapshot, doc=self._doc)
                await asyncio.sleep(0.0 if self.runner is runner else self._owed())

    def _owed(self) -> float:
        """Seconds to wait after a new run: a visitor who begins one after the other leaves time for the others."""
        return self._new_runs.owed(min(self._took, DEAREST_S) + self._showing) if is_served(self._doc) else 0.0

    async def _rest(self) -> None:
        """Wait for whatever happens next, or until the next step is due or kernels may be there."""
        self._wake.clear()
        if self._missing and self._is_here:
            await locked(self.screen.waiting, self._jobs[0].what, compiler.seconds_left(self._missing), doc=self._doc)
        pauses = [POLL_S] if self._missing or self._is_recorded else []
        pauses += [self.pause_s] if self._may_step else []
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), min(pauses, default=None))

    @property
    def _is_here(self) -> bool:
        return not self._stopped and (self._doc is None or self._ready.is_set())

    async def _compute(self, job: Job) -> Snapshot | None:
        """Do the job in the pool, saying so while it lasts; errors become words and leave the last good picture."""
        runner = self.runner  # a job may take as long as the last one, or longer after some changes of knobs
        seconds = max(self._took, 0.0 if runner is None else runner.foretold)
        self._step = step = Task[Made]().begin(pool_for(seconds), lambda tell: job.act(runner))
        finished, waited = asyncio.wrap_future(step.finished), 0.0
        while not step.over:
            pause = BUSY_S if waited < TURN_S else 2 * BUSY_S  # thirty who wait would have the loop tell them so
            await asyncio.wait({finished}, timeout=pause)
            waited += pause
            if not step.over and self._is_here and (step.token.seconds > BUSY_S / 2 or waited >= TURN_S):
                await locked(self.screen.busy, job.what, waited, step.token.share, doc=self._doc)
        self._step = None
        try:
            result = step.future.result()
        except InputError as error:
            await locked(self.screen.refused, job.what, error, doc=self._doc)
        except Cancelled:
            await locked(self.screen.cancelled, job.what, doc=self._doc)
        except NeedsKernels as error:
            compiler.ask(error.groups)
            compiler.begin(rest=False)
            self._missing = error.groups
            self._jobs.appendleft(job)
        except Exception as error:  # a target's own function may raise anything
            log.info("a run stopped", exc_info=True)
            self.playing = False
            await locked(self.screen.failed, error, doc=self._doc)
        else:
            self._took = step.cpu_seconds
            return self._accept(result)
        return None

    def _accept(self, result: Any) -> Snapshot:
        if type(result) is tuple:  # another runner with its first snapshot, which is a tuple of its own kind
            self.runner, result = result
            (self.runner.wanted.set if self.playing else self.runner.wanted.clear)()
        if result.done and self.playing:
            self.playing = False
        return result

    @property
    def _is_being_built(self) -> bool:
        """Whether a browser has connected and has not yet built the page; before, a frame goes out with the document.

        A change that arrives while the browser still builds the page meets widgets that are not there yet.
        """
        session = getattr(getattr(self._doc, "session_context", None), "session", None)
        return self._doc is not None and not (self._ready.is_set() or (session and session.connection_count == 0))

    def _under_way(self) -> int:
        """Frames sent and not drawn; a browser that claims to have drawn more than was sent has drawn none."""
        return self._sent - (self.ack.drawn if self.ack.drawn <= self._sent else 0)

    async def _wait_for_ack(self) -> None:
        """Wait until less than IN_FLIGHT frames are under way; after some vain waits conclude that no one looks."""
        vain = 0
        while self._under_way() >= IN_FLIGHT and not self._stopped and not self._away:
            self._drawn.clear()
            try:
                await asyncio.wait_for(self._drawn.wait(), WATCHDOG_S)
            except TimeoutError:
                vain += 1
                self.watchdog_hits += 1
                self._away = vain >= AWAY_AFTER
                if vain < AWAY_AFTER and self._jobs:
                    break

    def _push(self, snapshot: Snapshot) -> None:
        """Show it, unless a browser has connected while this waited for the lock: then it is too early."""
        if self._stopped:
            return
        if self._is_being_built:
            self._too_early = True
            return
        began = time.thread_time()
        self.screen.show(snapshot)
        self.ack.update(shown=json.dumps(snapshot.in_force), recorded=self._is_recorded)
        self._sent += 1
        self.ack.sent = self._sent
        self._showing = time.thread_time() - began
