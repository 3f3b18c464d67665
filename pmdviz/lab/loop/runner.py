"""A session as the live loop sees it: every act runs in a worker thread and returns one snapshot to draw."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.run import History, Run
from pmdviz.engine.session import MEMORY_CAP, Session, extended
from pmdviz.kernels.pool import CancelToken, current_token
from pmdviz.knobs import Knobs, Value
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.limits import step_seconds
from pmdviz.lab.loop.past import GhostMoment, Past
from pmdviz.lab.loop.recorded import NeedsKernels, RecordedSession, is_same
from pmdviz.lab.loop.task import Again
from pmdviz.lessons.words import diagnosis_of
from pmdviz.pictures import Picture
from pmdviz.scenes import data_columns
from pmdviz.scenes.columns import MAX_DRAWN, StageColumns
from pmdviz.scenes.inside import inside, payload
from pmdviz.scenes.stage import Pair, Scene, SceneChoice
from pmdviz.scenes.trace_columns import GROUPS, Mark, TracePoints, columns_due, first_group

if TYPE_CHECKING:
    from pmdviz.scenes.race import RaceScene

# What a run's last step is made of, sent a few times per second while someone looks.

INSIDE_S = 0.5  # while it plays: the stage comes first, and numbers that change more often cannot be read
INSIDE_REST = 10.0  # times as long as it took, where that is more


class InsideWatch:
    """Keeps the frame before the last step, and gives the parts of the step as JSON."""

    def __init__(self) -> None:
        self._before: Frame | None = None
        self._state: Any = None  # that the step led to: frames of other knobs have the same one
        self._due = 0.0

    def passed(self, before: Frame, after: Frame) -> None:
        """A step led from one frame to the other."""
        self._before, self._state = before, after.state

    def told(
        self, session: Session, scene: Scene, pair: Pair, playing: bool, columns: StageColumns | None = None
    ) -> str:
        """JSON of the step that led to the present frame; "" while it plays and it is too early for another.

        `columns` are the scene's of that frame, where they are known.
        """
        began = time.monotonic()
        if playing and began < self._due:
            return ""
        before, after = self._step(session)
        drawn = columns if after is session.frame else None
        text = json.dumps(payload(inside(before, after, scene, pair, columns=drawn)), separators=(",", ":"))
        now = time.monotonic()
        self._due = now + max(INSIDE_S, INSIDE_REST * (now - began))
        return text

    def _step(self, session: Session) -> tuple[Frame, Frame]:
        """The frames before and after the last step; where they are not at hand it is done again by a copy."""
        now = session.frame
        if now.iteration == 0:
            return now, now
        whole = now.info is not None and now.method.update_of(now.info) is not None
        if not (whole and self._before is not None and self._state is now.state):
            twin = session.copy()
            self._before, self._state = twin.seek(now.iteration - 1), now.state
            now = now if whole else twin.advance(1)
        return self._before, now


# A moment to draw, and the runner that makes it.

STARTS_AGAIN = "Live from iteration 0: this processor rounds differently from the one that recorded the first frames."
SHARE_S = 0.1  # several iterations go into one frame only while they take less than this


class Snapshot(NamedTuple):
    """All that the event loop needs to draw; plain values, computed in the worker."""

    frame: Frame
    scene: Scene
    pair: Pair
    columns: StageColumns
    measured: History  # rows of the run up to the frame, viewed or not
    points: TracePoints  # of the traces: rows of all that was run, and one for every frame that was drawn
    traces: str  # the group of traces whose metrics the drawn frames have
    marks: tuple[Mark, ...]
    pending: dict[str, str]
    recipe: Recipe
    done: bool
    ended: str  # why the method has no next step, in words; "" while it has
    step_seconds: float  # of the slowest of the last iterations
    data: Picture | None = None  # where the picture of the data is looked at
    origins: np.ndarray | None = None  # of the dots, see `glide.origins`; None where they cannot be followed
    preset: str = ""  # name of the preset that the run began with, although its knobs may have been turned since
    last: int = 0  # the iteration that the run has come to; the frame may be one before it
    last_spent: int = 0  # of the budget, up to there
    ghost: GhostMoment | None = None  # the run that a branch has left, or the branch
    news: str = ""  # what became of a branch, in a sentence
    inside: str = ""  # JSON of `scenes.inside`; "" where no one looks, or while it plays not yet again
    watched: bool = False  # whether somebody looks inside its steps
    diagnosis: str = ""  # of the run, in a sentence; "" where no one looks, or while it plays
    diagnosed_by: str = ""  # name of the preset that somebody wants it to be diagnosed by

    @property
    def history(self) -> dict[str, np.ndarray]:
        """The measured history, with the present frame's row as its last."""
        return self.measured.ending_with(self.frame.row()).columns

    @property
    def run(self) -> Run:
        """The run so far, with the present frame alone."""
        return Run(self.recipe, self.frame.target, [self.frame], self.history)

    @property
    def in_force(self) -> dict[str, Value]:
        """The knobs that the picture was drawn with."""
        return self.frame.knobs.as_dict()


Shown = TypeVar("Shown", Snapshot, "RaceScene")  # a moment of a run or of a race


class Runner:
    """Owns a session. Its methods are called by one thread at a time and never on the event loop.

    `own_budget`: whether a person has set the budget; by default whether it is another than the recipe's usual one.
    `preset`: the name of the one that the run began with, "" for none.
    """

    def __init__(
        self,
        start: Recipe | Session,
        own_budget: bool | None = None,
        preset: str = "",
        choice: SceneChoice = SceneChoice(),  # noqa: B008, a value
    ) -> None:
        self.past = Past(start if isinstance(start, Session) else Session(start))
        self.preset, recipe = preset, self.session.recipe
        self.own_budget = recipe.budget != limits.usual_budget(recipe) if own_budget is None else own_budget
        self.choice, self.with_data, self.traces = choice, False, ""
        self.wanted = threading.Event()  # cleared by Pause: the present batch of iterations ends after this one
        self.wanted.set()
        self.watched, self.inside = False, InsideWatch()  # whether somebody looks inside its steps
        self.diagnosed_by = ""  # the name of a preset, while somebody looks
        self._slowest = 0.0

    @property
    def session(self) -> Session:
        """The session that is looked at."""
        return self.past.session

    @property
    def is_recorded(self) -> bool:
        """Whether it shows recorded frames, until the live run takes over."""
        return isinstance(self.past.line.head, RecordedSession)

    def whole(self) -> Self:
        """Itself, for an act that needs more than pictures. Raises NeedsKernels while it shows recorded frames."""
        if self.is_recorded:
            raise NeedsKernels(self.session.recipe.kernel_groups)
        return self

    def result(self) -> Run:
        """The run so far, for export."""
        return self.session.run

    @property
    def foretold(self) -> float:
        """CPU seconds that a step may take, by its knobs alone."""
        return step_seconds(self.session.knobs, self.session.target)

    @property
    def iteration(self) -> int:
        """Where the run stands."""
        return self.session.frame.iteration

    def snapshot(self, before: Frame | None = None) -> Snapshot:
        """The present moment, with everything heavy computed; `before` is the frame that it follows, where it plays."""
        session = self.session
        playing = before is not None and self.wanted.is_set() and not session.done
        frame = session.frame if playing else session.frame.checked
        _ = frame.caveat  # computed here, not by the event loop
        traces = self.traces or first_group(GROUPS.of(frame.target, frame.method))
        line, branch = self.past.line, self.past.branch
        points = line.points(columns_due(GROUPS[traces]))
        scene, pair = self.choice.of(frame.target, frame.method)
        if scene.computes:
            self.whole()
        columns = scene.columns(frame, pair)
        snapshot = Snapshot(
            frame=frame,
            scene=scene,
            pair=pair,
            columns=columns,
            measured=session.history.copy(),
            points=points,
            traces=traces,
            marks=tuple(line.marks()),
            pending=session.pending,
            recipe=session.recipe,
            done=session.done,
            ended=session.ended,
            step_seconds=self._slowest,
            data=data_columns.moment(frame) if self.with_data and data_columns.applies(frame.target) else None,
            origins=origins(before, frame) if before is not None and scene.shows_theta else None,
            preset=self.preset,
            last=line.last,
            last_spent=line.head.frame.spent,
            ghost=branch.moment(line, scene, pair, self.wanted.is_set()) if branch else None,
            news=self.past.take_news(),
            inside=self.inside.told(session, scene, pair, playing, columns) if self.watched else "",
            watched=self.watched,
            diagnosed_by=self.diagnosed_by,
        )
        if not self.diagnosed_by or (self.wanted.is_set() and not session.done):  # while someone looks and it plays
            return snapshot
        return snapshot._replace(diagnosis=diagnosis_of(self.diagnosed_by, snapshot.run))

    def advance(self, iterations: int = 1) -> Snapshot:
        """Up to so many iterations: fewer at the end of the budget, on Pause, or when they take long."""
        began, self._slowest, first = time.perf_counter(), 0.0, self.session.frame
        for _ in range(iterations):
            if self.session.done:
                break
            before = time.perf_counter()
            self.step()
            self._slowest = max(self._slowest, time.perf_counter() - before)
            if not self.wanted.is_set() or time.perf_counter() - began > SHARE_S:
                break
        return self.snapshot(first)

    def step(self) -> Frame:
        """One iteration, whether the run has made it before or not."""
        before = self.session.frame
        after = self.past.line.advance()
        if self.watched:
            self.inside.passed(before, after)
        return after

    def go(self, iteration: int) -> bool:
        """Forward to `iteration` for one turn; whether it is there, or at the end of the run, which may come first."""
        began = time.perf_counter()
        while self.iteration < iteration and not self.session.done:
            self.past.line.advance()
            if time.perf_counter() - began > SHARE_S:
                break
        return self.iteration >= iteration or self.session.done

    def take(self, other: Runner) -> None:
        """Stand where `other` stands, with its past; from now on each goes its own way."""
        self.past = other.past.copy()

    def caught_up(self) -> Past:
        """The live run, come as far as the recorded one; while that goes on, so does this, in its own thread."""
        live = Past(Session(self.session.recipe))
        while live.line.last < self.past.line.last and not live.session.done:
            live.line.grow(self.past.line.last, SHARE_S)
        return live

    def take_over(self, live: Past) -> Snapshot:
        """Go on with the live run at the moment that is shown; where it differs from that, at iteration 0."""
        shown, line = self.session.frame, live.line
        live.limit(self.session.recipe.budget)
        line.grow(self.past.line.last, np.inf)
        line.visit(shown.iteration)
        same = is_same(shown, live.session.frame)
        if same:
            line.trace = self.past.line.trace
        else:
            live.begin(Session.replay, ends_branch=True)
        self.past = live
        return self.snapshot()._replace(news="" if same else STARTS_AGAIN)

    def set(self, values: Mapping[str, Value], kind: type[Knobs] | None = None) -> Snapshot:
        """Set knobs to values that were checked as knobs of `kind`.

        Others are checked here, as are the values of a form whose method has been left meanwhile. Before the end of
        the run another value begins a branch. Raises InputError and changes nothing where a value cannot be used.
        """
        now = self.session.knobs
        wanted = now.changed(values) if type(now) is kind else now.replaced(**values)
        limits.check_knobs(wanted, self.session.target)
        (self.past.branch_off if self.past.line.behind else self.session.set_all)(wanted)
        return self.snapshot()

    def travel(self, act: Callable[[Past], None]) -> Snapshot:
        """Another moment, or another run, as `act` goes there."""
        act(self.past)
        return self.snapshot()

    def visit(self, iteration: int, roughly: bool = False) -> Snapshot:
        """Another iteration of the run so far; roughly: near it where the way there takes long."""
        return self.travel(lambda past: past.visit(iteration, roughly))

    def copy(self) -> Runner:
        """Another one that stands here with the same past, to come back to."""
        twin = object.__new__(type(self))
        twin.__dict__.update({**self.__dict__, "past": self.past.copy(), "wanted": threading.Event()})
        return twin

    def look(self, **wanted: SceneChoice | str | bool) -> Snapshot:
        """The same moment, and from now on each, looked at in another way.

        `choice`: of a scene. `traces`: those whose metrics every drawn frame has, a key of GROUPS. `with_data`: the
        picture of the data too. `watched`: what the last step is made of too. `diagnosed_by`: name of a preset, by
        which the run is diagnosed whenever it stands still. The data and the steps need more than recorded frames.
        """
        if wanted.get("with_data") or wanted.get("watched"):
            self.whole()
        vars(self).update(wanted)
        return self.snapshot()

    def restart(self) -> Snapshot:
        """Iteration 0 with the knobs as they are."""
        return self.travel(lambda past: past.begin(Session.restart, ends_branch=True))

    def replay(self) -> Snapshot:
        """Iteration 0 of the same recipe; its changes come again, and a ghost goes along."""
        return self.travel(lambda past: past.begin(Session.replay, ends_branch=False))

    def reseed(self) -> Snapshot:
        """Iteration 0 with a fresh seed."""
        return self.travel(lambda past: past.begin(Session.reseed, ends_branch=True))

    def back(self) -> Snapshot:
        """One iteration back."""
        return self.visit(self.iteration - 1)

    def limit(self, budget: int | None) -> Snapshot:
        """Another data budget, at least the visited part."""
        limits.check_budget(budget)
        self.own_budget = True
        return self.travel(lambda past: past.limit(budget))

    def proceed(self) -> Snapshot:
        """The budget and as much again as the run was given at first."""
        budget, spent = self.session.recipe.budget, self.past.line.head.frame.spent
        limits.check_budget(2 * budget)
        return self.travel(lambda past: past.limit(extended(budget, budget, spent)))


# The move of the dots from one frame to the next.

SHORTEST_S, LONGEST_S = 0.08, 0.5  # a quicker move is not seen as one, a slower one looks tired
SHARE = 0.8  # of the time until the next frame: then the dots rest for a moment where they are


def origins(before: Frame, after: Frame) -> np.ndarray | None:
    """The row of `before` that each dot of `after` comes from, (m,) float32; -1 for one that comes from none.

    None where nothing can be followed: between draws of a chain, two runs, or frames that do not follow one another,
    and where not every particle is drawn.
    """
    m, n = len(before.particles), len(after.particles)
    follows = before.target is after.target and after.iteration == before.iteration + 1 and after.info is not None
    if not follows or after.method.family == "chain" or max(m, n) > MAX_DRAWN:
        return None
    if after.info.parents is not None:
        return after.info.parents.astype(np.float32)
    if after.info.rejuvenated or m != n:
        return np.full(n, -1, np.float32)
    return np.arange(n, dtype=np.float32)


def glide_ms(pause_s: float) -> int:
    """Milliseconds that a move takes with so many seconds until the next frame; 0 where it could not be seen."""
    return 0 if pause_s < SHORTEST_S else round(1000 * min(LONGEST_S, SHARE * pause_s))


# The way to the iteration of a link: computed once for all who open the same link, in turns, and not without end.
#
# The one that has a turn takes the replay a tenth of a second further: it goes on as long as one of them is
# there; then each gets a copy of the session, whose frames never change and are shared.

MAX_KEPT = 8  # replays that later visitors may find
SURE_S = 1.0  # of computing, after which the pace so far holds for the whole; its first steps are measured more often
DOUBT = 10  # how many times too long it must seem before that

_replays_lock = threading.Lock()
_replays: dict[tuple[str, int], Replay] = {}  # the one that was asked for last comes last


def replay_to(iteration: int, runner: Runner) -> Replay:
    """The replay of the recipe of `runner`, which is at iteration 0: one that others wait for, or a new one."""
    recipe = runner.session.recipe
    if recipe.custom is not None:  # the results of its functions are shared with no other code
        return Replay(iteration, runner)
    key = recipe.to_json(), iteration
    with _replays_lock:
        found = _replays[key] = _replays.pop(key, None) or Replay(iteration, runner)
        _let_go()
    return found


def _let_go() -> None:
    """Forget the oldest beyond the bounds in number and memory; who waits for one still has it."""
    kept = list(_replays)
    total = sum(replay.num_bytes for replay in _replays.values())
    while len(kept) > 1 and (len(kept) > MAX_KEPT or total > MEMORY_CAP):
        total -= _replays.pop(kept.pop(0)).num_bytes


class Replay:
    """A run on its way to `iteration`, from where `runner` stands."""

    def __init__(self, iteration: int, runner: Runner) -> None:
        self.iteration = iteration
        self._runner = Runner(runner.session.copy(), choice=runner.choice)
        self._guard = threading.Lock()
        self._turn: Future | None = None  # somebody's that is under way
        self._used = 0.0  # seconds of computing
        self._arrived = False
        self.foretold = 0.0  # seconds of computing that all of it takes, by the pace so far

    @property
    def num_bytes(self) -> int:
        """Memory of the kept frames."""
        return self._runner.session.kept.num_bytes

    @property
    def share(self) -> float:
        """Which share of the way is done, in [0, 1]: to the iteration, or to the end of the budget before it."""
        frame, budget = self._runner.session.frame, self._runner.session.recipe.budget
        return min(1.0, max(frame.iteration / self.iteration, frame.visited / budget if budget else 0.0))

    @property
    def too_long(self) -> bool:
        """Whether it has been given up."""
        return not self._arrived and self.foretold > limits.most_replay_s * (1 if self._used > SURE_S else DOUBT)

    def bring(self, runner: Runner) -> Again | None:
        """Take the way one turn further, or wait for another's turn; at its end bring `runner` there, and None.

        A replay that is given up leaves `runner` where it is. Raises Cancelled for the caller alone.
        """
        watch = current_token() or CancelToken()
        watch.check(self.share)
        turn: Future = Future()
        with self._guard:
            if self._turn is not None:
                return Again(after=self._turn)
            if not (self._arrived or self.too_long):
                self._turn = turn
        if self._turn is turn:
            self._take(turn)
            watch.check(self.share)  # of the whole way: kernels have told how far their own part is
            return Again()
        if self._arrived:
            runner.take(self._runner)
        return None

    def _take(self, turn: Future) -> None:
        began = time.thread_time()
        try:
            if arrived := self._runner.go(self.iteration):
                self._runner.snapshot()  # the frame's columns are computed once for all
            self._arrived = arrived
        finally:
            self._used += time.thread_time() - began
            self.foretold = self._used / max(self.share, 1e-12)
            with self._guard:
                self._turn = None
            turn.set_result(None)
            with _replays_lock:
                _let_go()
