"""The films of a run and of a race: which moments are shown, and for each of them what there is to draw."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from pmdviz.densities.density import Points
from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import MAX_BUDGET, Recipe
from pmdviz.engine.run import Run, column_of
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.experiments.race import RaceResult, stop_reason
from pmdviz.experiments.race.recipe import spent_in
from pmdviz.export.options import USUAL_FRAMES, Look, RaceLook, shown_group, traced
from pmdviz.methods import METHODS
from pmdviz.metrics import METRICS, perfect_draws
from pmdviz.pictures import Picture
from pmdviz.scenes import race as race_scenes
from pmdviz.scenes import stage, style, trace_columns, words
from pmdviz.scenes.columns import MAX_DRAWN, StageColumns
from pmdviz.scenes.race import DOTS, Columns, RaceScene
from pmdviz.scenes.trace_columns import RunTrace, TracePoints

# The numbers of a run or of a race as columns, with the unit of each.

UNITS = {
    "iteration": "iterations",
    "visited": "observations used",
    "seconds": "seconds of computing",
    "num_particles": "particles",
    "rejuvenations": "since the start",
    "limited_steps": "since the start",
    "density_evaluations": "pairs of particle and observation",
    "gradient_evaluations": "pairs of particle and observation",
    "weight": "share of the mass",
    "log_density": "nats, log of the approximation",
    "seed": "of the run",
}
UNITS |= {scalar.name: scalar.unit or scalar.title for method in METHODS.values() for scalar in method.scalars}
UNITS |= {name: ", ".join(filter(None, [metric.unit, metric.about])) for name, metric in METRICS.items()}
MODE_MASS = "mode_mass{}"  # of the mode so numbered, by its first coordinate


def particle_columns(run: Run) -> dict[str, np.ndarray]:
    """The particles of the last frame: theta1, theta2, ..., weight, log_density of the approximation there.

    Points without a density have no such column.
    """
    thetas = {f"theta{k + 1}": np.ascontiguousarray(x) for k, x in enumerate(run.particles.T)}
    points = isinstance(run.final.density, Points)
    return {**thetas, "weight": run.weights, **({} if points else {"log_density": run.log_density(run.particles)})}


def _rows(result: RaceResult) -> dict[str, np.ndarray]:
    columns: dict[str, np.ndarray] = {}
    for name in dict.fromkeys(name for row in result.rows for name in row):
        values = [row.get(name) for row in result.rows]
        if name != "mode_masses":
            columns[name] = column_of(values)
        elif values[0] is not None:
            masses = np.array(values, float)
            columns |= {MODE_MASS.format(k + 1): masses[:, k] for k in range(masses.shape[1])}
    return columns


def _histories(result: RaceResult) -> dict[str, np.ndarray]:
    """One history behind the other; what one of them has not measured is NaN."""
    found = result.histories
    lengths = [len(history["iteration"]) for history in found.values()]
    keys: dict[str, list] = {"method": [label for label, _ in found], "seed": [seed for _, seed in found]}
    names = dict.fromkeys(name for history in found.values() for name in history)
    pairs = [(history, np.full(length, np.nan)) for history, length in zip(found.values(), lengths, strict=True)]
    columns = {name: np.repeat(column_of(each), lengths) for name, each in keys.items()}
    return columns | {name: np.concatenate([history.get(name, none) for history, none in pairs]) for name in names}


MAX_FRAMES = 2_000


class Scene(NamedTuple):
    """One moment to draw: the same arrays and words as the page's."""

    iteration: int
    columns: StageColumns
    note: str
    words: str
    history: Mapping[str, np.ndarray]  # measured so far; the last row is this moment
    marks: tuple[trace_columns.Mark, ...]
    steps: tuple[tuple[Frame, Frame], ...] = ()  # the frames before and after the last one


def spread(last: int, frames: int) -> list[int]:
    """`frames` iterations from 0 to `last`, evenly spread and all different: round(k last / (frames - 1))."""
    if last == 0:
        return [0]
    gaps = frames - 1
    return [(2 * k * last + gaps) // (2 * gaps) for k in range(frames)]


def chosen(last: int, steps: int, look: Look, most: str) -> list[int]:
    """The places to show from 0 to `last` in `steps` steps: always the first one and the last one.

    Raises InputError where it has fewer frames than were asked for, or the film would have too many; `most` says which
    iterations there are.
    """
    if look.every:
        shown = -(-last // look.every) + 1
        if shown > MAX_FRAMES:
            words = f"a film has at most {MAX_FRAMES:,} frames; every={look.every} gives {shown:,}"
            raise InputError(f"{words}: take every={-(-last // (MAX_FRAMES - 1))} or more")
        return [*range(0, last, look.every), last]
    if look.frames > steps + 1:
        raise InputError(f"frames must be at most {steps + 1:,} ({most}); got {look.frames:,}")
    return spread(last, look.frames or min(USUAL_FRAMES, steps + 1))


class Moment(NamedTuple):
    """A run at one place of a film."""

    before: Frame  # the last step
    frame: Frame
    points: TracePoints
    marks: Sequence[trace_columns.Mark]  # of the steps so far
    ended: str = ""


def replayed(
    recipe: Recipe,
    history: Columns,
    places: Iterable[int],
    clock: str,
    metrics: Collection[str],
    tick: Callable[[], None],
    metrics_every: int | None = None,
) -> Iterator[Moment]:
    """The run of a recipe at each of these places of a clock, as far as its `history` goes.

    It has the computing times of the run itself, not of its replay: the same film at every export.
    """
    session, trace, marks = Session(recipe, metrics_every), RunTrace(), []
    before, last = session.frame, history["iteration"][-1]
    for place in places:
        while getattr(session.frame, clock) < place and session.frame.iteration < last and not session.done:
            before = session.frame
            marks += trace_columns.step_marks(session.advance())
            tick()
        frame, measured = session.frame, session.history.kept_columns()
        frame = frame.replaced(seconds=seconds_at(frame.iteration, history))
        trace.put(frame, recipe, metrics)
        seconds = np.interp(measured["iteration"], history["iteration"], history["seconds"])
        points = trace.points({**measured, "seconds": seconds})
        tick()
        yield Moment(before, frame, points, [*marks], stop_reason(session))


def seconds_at(iteration: int, history: Columns) -> float:
    """Computing time of a run up to an iteration."""
    return float(np.interp(iteration, history["iteration"], history["seconds"]))


class Shown:
    """A run or a race with the look of its file."""

    what: Run | RaceResult
    look: Look

    def python(self) -> str:
        """Lines that repeat it as it is seen, or the whole of it."""
        return (self.what.recipe if self.look.whole else self.what).to_python()

    def recipe(self) -> str:
        """Its recipe as it is seen, or the whole of it, as JSON."""
        return (self.what.recipe if self.look.whole else self.what.to_recipe()).to_json(indent=1)


@dataclass(frozen=True)
class Film(Shown):
    """A run as scenes; making them replays its recipe and leaves the run as it is."""

    what: Run
    look: Look
    lines: ClassVar[tuple[str, ...]] = ()  # only the layers and the traces have some
    all_floors: bool = True  # compute what independent draws get where that is not known; it may take seconds

    @cached_property
    def iterations(self) -> list[int]:
        """The iterations shown. Raises InputError."""
        last = self.what.final.iteration
        return chosen(last, last, self.look, f"the run's iterations 0 to {last:,}")

    @property
    def frames(self) -> int:
        """How many there are. Raises InputError where the film cannot be made."""
        return len(self.iterations) if self.drawn else 0

    @property
    def dots(self) -> int:
        """Particles drawn in a frame."""
        return min(len(self.what.weights), MAX_DRAWN)

    @property
    def title(self) -> str:
        """The run in a few words."""
        return f"{self.what.recipe.method} on {self.what.recipe.target}"

    @property
    def floors(self) -> dict[str, float | None]:
        """floor_tv and floor_kl of the last frame, of independent draws; computed where they are not known."""
        if self.all_floors:
            know_floor(self.what.final)
        return {name: self.what.final.metrics[name] for name in ("floor_tv", "floor_kl")}

    @cached_property
    def drawn(self) -> tuple[stage.Scene, stage.Pair]:
        """The scene of the stage and its coordinates. Raises InputError where it is unavailable."""
        target, method = self.what.target, self.what.final.method
        self.look.choice.check(target, method)
        _ = self.group
        return self.look.choice.of(target, method)

    @cached_property
    def group(self) -> trace_columns.Group:
        """The traces. Raises InputError where they are unavailable."""
        return trace_columns.GROUPS[shown_group(self.what.target, self.what.final.method, self.look.traces)]

    def scenes(self, tick: Callable[[], None] = lambda: None) -> Iterator[Scene]:
        """The scenes in order; `tick` is called after every iteration of the replay and may raise to end it."""
        what = self.what.recipe, self.what.history
        return map(self._scene, replayed(*what, self.iterations, "iteration", self.group.metrics, tick))

    def last_scene(self, tick: Callable[[], None] = lambda: None) -> Scene:
        """The last moment of the run, without a replay; an event belongs to the measured frame after it."""
        history, marks = self.what.history, []
        for kind, column in (("rejuvenated", "rejuvenations"), ("limited", "limited_steps")):
            rows = np.flatnonzero(np.diff(history[column], prepend=0) > 0)
            at = (history[name][rows] for name in ("iteration", "visited", "evaluations", "seconds"))
            marks += [trace_columns.Mark(int(t), int(v), int(e), s, kind, "") for t, v, e, s in zip(*at, strict=True)]
        trace, final = RunTrace(), self.what.final
        trace.put(final, self.what.recipe, self.group.metrics)
        return self._scene(Moment(final, final, trace.points(history), marks))

    def columns(self) -> Mapping[str, np.ndarray]:
        """The history, or the particles."""
        return self.what.history if self.look.table == "history" else particle_columns(self.what)

    def _scene(self, at: Moment) -> Scene:
        frame, past = at.frame, at.points.of(self.group.metrics)
        if self.all_floors:
            know_floor(frame)
        reason = frame.info.rejuvenated if frame.info else ""
        drawn, pair = self.drawn
        turned = trace_columns.knob_marks(self.what.recipe.changes, past, frame.iteration)
        return Scene(
            iteration=frame.iteration,
            columns=drawn.columns(frame, pair),
            note=f"new particles: {reason}" if reason else frame.caveat.partition(":")[0],
            words=words.state(frame),
            history=past,
            marks=tuple(m._replace(seconds=seconds_at(m.iteration, self.what.history)) for m in (*at.marks, *turned)),
            steps=((at.before, frame),),
        )


def know_floor(frame: Frame) -> None:
    """Compute what independent draws get, once a target and particle count: a film never says "being computed"."""
    metrics = frame.metrics
    if metrics["tv"] is not None and metrics["floor_tv"] is None and frame.num_draws:
        perfect_draws.floor(frame.target, frame.num_draws, **frame.drawn_as)


# The film of a race: every frame shows all entrants where they have spent the same.

ROOM = 8  # letters more that an earlier frame may have than the last one
LATE = 0.9  # who comes at least so far of the way is there in nine of ten frames


@dataclass(frozen=True)
class RaceFilm(Shown):
    """The first seed's runs of a race as scenes; making them replays the recipes."""

    what: RaceResult
    look: RaceLook

    def __post_init__(self) -> None:
        """Raise InputError where the metric of the traces is unavailable."""
        traced(self.what.recipe, self.look.traces)
        methods = (METHODS[one.method] for one in self.what.entrants)
        self.look.choice.check(self.what.target, *methods)

    @property
    def seed(self) -> int:
        """Of the runs that are shown."""
        return self.what.seeds[0]

    @cached_property
    def labels(self) -> list[str]:
        """The entrants' keys in rows and histories."""
        return [one.label for one in self.what.entrants]

    @cached_property
    def histories(self) -> list[Columns]:
        """The measured histories of the runs that are shown."""
        return [self.what.histories[label, self.seed] for label in self.labels]

    @property
    def drawn(self) -> tuple[stage.Scene, stage.Pair]:
        """The scene of every tile and its coordinates."""
        return race_scenes.scene_of(self.what.recipe, self.look.choice)

    def _last(self, name: str) -> list[int]:
        return [int(history[name][-1]) for history in self.histories]

    @cached_property
    def levels(self) -> list[int]:
        """The amount spent by every entrant at each frame, the first 0 and the last the race's end. Raises InputError.

        There are at most as many frames as the entrant with the most steps has iterations, of those that come far.
        """
        spent = self._last(trace_columns.CLOCK_OF[self.what.recipe.budget_unit])
        end = min(max(spent), self.what.budget)  # a long last step may go far beyond the budget
        titles = [one.title for one in self.what.entrants]
        pairs = zip(self._last("iteration"), spent, titles, strict=True)
        steps, finest = max((iterations, title) for iterations, each, title in pairs if each >= LATE * end)
        most = f"iterations 0 to {steps:,} of {finest}, the method with the most"
        return chosen(end, steps, self.look, most)

    @property
    def frames(self) -> int:
        """How many there are. Raises InputError."""
        return len(self.levels)

    @property
    def dots(self) -> int:
        """Particles drawn in a frame, at most."""
        return max(DOTS, 100 * len(self.labels))

    @property
    def lines(self) -> tuple[str, ...]:
        """Colours of the entrants."""
        return style.entrant_colours(self.look.dark)[: len(self.labels)]

    @property
    def title(self) -> str:
        """The race in a few words."""
        return f"a race on {self.what.target.name}"

    @cached_property
    def longest(self) -> int:
        """About how many letters the words of a frame have."""
        rows = {row["method"]: row for row in self.what.rows if row["seed"] == self.seed}
        spent = [0, *(spent_in(row, self.what.recipe.budget_unit) for row in rows.values())]
        title = max((one.title for one in self.what.entrants), key=len)  # any of them may lead earlier
        first = race_scenes.best([(title, row) for row in rows.values()], self.what.recipe.shown[0])
        given = sum(self._last("iteration")), spent, self.what.budget, first, self.what.recipe.budget_unit
        return len(race_scenes.state(*given)) + ROOM

    def scenes(self, tick: Callable[[], None] = lambda: None) -> Iterator[RaceScene]:
        """The scenes in order; `tick` is called after every iteration of the replay and may raise to end it."""
        return map(self._scene, self._moments(tick))

    def last_scene(self, tick: Callable[[], None] = lambda: None) -> RaceScene:
        """The last moment, with traces as fine as a film's."""
        *_, last = self._moments(tick)
        return self._scene(last)

    def _moments(self, tick: Callable[[], None]) -> Iterator[tuple[Moment, ...]]:
        """All entrants at each level."""
        check_entrants(len(self.labels))
        pairs, metrics = zip(self.what.recipe.recipes, self.histories, strict=True), self.what.recipe.drawn
        replays = (replayed(*pair, self.levels, "spent", metrics, tick, MAX_BUDGET) for pair in pairs)
        return zip(*replays, strict=True)

    def _scene(self, moments: Sequence[Moment]) -> RaceScene:
        recipe, drawn = self.what.recipe, self.drawn
        if (judged := race_scenes.weighted(one.frame for one in moments)) is not None:
            know_floor(judged)
        given = enumerate(moments)
        tiles = [race_scenes.tile_of(recipe, k, at.frame, at.points, drawn, at.ended, None) for k, at in given]
        steps = tuple((one.before, one.frame) for one in moments)
        return race_scenes.race_scene(recipe, recipe.budget, tiles, judged, drawn)._replace(steps=steps)

    def columns(self) -> Mapping[str, np.ndarray]:
        """How each run ended, or the measured histories."""
        return _rows(self.what) if self.look.table == "rows" else _histories(self.what)


def check_entrants(number: int) -> None:
    """Raise InputError for more entrants than can be told apart in a picture."""
    if number > style.MOST_ENTRANTS:
        most = f"a picture shows at most {style.MOST_ENTRANTS} entrants"
        words = f"{most}: more could not be told apart; this race has {number}"
        raise InputError(f"{words} (a table or a recipe holds them all)")


# The pictures of a film's scenes, for every renderer.


def stage_of(film: Film, scene: Scene) -> Picture:
    """Exact posterior, approximation and particles."""
    drawn, pair = film.drawn
    target, method = film.what.target, film.what.final.method
    return stage.stage_picture(drawn, target, method, pair, scene.columns, scene.note, film.look.layers)


def traces_of(film: Film, last: Scene, scene: Scene) -> Picture:
    """The chosen traces against the chosen clock, on the axes of the whole run."""
    run, method, group = film.what, film.what.final.method, film.group
    clock = film.look.clock or method.clock or trace_columns.CLOCK_OF[run.recipe.budget_unit]
    budget = trace_columns.budget_drawn(run.final, run.recipe.budget)
    axes = trace_columns.traces_axes(run.history, group, clock, film.floors, budget, run.recipe.budget_unit)
    expected = [mark.kind for mark in last.marks]
    made = trace_columns.traces_picture(scene.history, group, clock, axes, film.floors, scene.marks, expected)
    signs = made.marks["marks"]._replace(hover={}, ids="")  # their words again in every frame would be most of a file
    return made._replace(marks={**made.marks, "marks": signs})


def race_traces_of(look: RaceLook, histories: Sequence[Columns], first: RaceScene, scene: RaceScene) -> Picture:
    """The chosen metric of all against the chosen clock, on the axes of the whole race."""
    recipe, metric, rows = first.recipe, traced(first.recipe, look.traces), [tile.trace for tile in scene.tiles]
    clock = look.clock or trace_columns.CLOCK_OF[recipe.budget_unit]
    counted = first.floors[metric.name], first.budget, recipe.budget_unit
    return race_scenes.race_traces_picture(rows, metric, clock, *counted, whole=histories)
