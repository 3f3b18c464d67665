"""The film of a run: which iterations are shown, and for each of them what there is to draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.engine.run import Run
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.export.options import NO_TRACES, USUAL_FRAMES, Look, shown_group
from pmdviz.export.tables import columns_of
from pmdviz.metrics import perfect_draws
from pmdviz.scenes import stage, words
from pmdviz.scenes.columns import MAX_DRAWN, StageColumns
from pmdviz.scenes.trace_columns import Mark, knob_marks, step_marks, with_present

if TYPE_CHECKING:
    from pmdviz.export.film.picture import Picture
    from pmdviz.export.player import Page

MAX_FRAMES = 2_000


class Scene(NamedTuple):
    """What is drawn of one moment: the same arrays and words as the page's."""

    iteration: int
    columns: StageColumns
    note: str
    words: str
    history: Mapping[str, np.ndarray]  # measured so far; the last row is this moment
    marks: tuple[Mark, ...]
    step: tuple[Frame, Frame] | None = None  # the frames before and after the last step; at iteration 0 both are that


def spread(last: int, frames: int) -> list[int]:
    """`frames` iterations from 0 to `last`, evenly spread and all different: round(k last / (frames - 1))."""
    if last == 0:
        return [0]
    gaps = frames - 1
    return [(2 * k * last + gaps) // (2 * gaps) for k in range(frames)]


def chosen_iterations(last: int, look: Look) -> list[int]:
    """The iterations to show of a run of `last` steps: the first one and the last one always.

    Raises InputError where the run has fewer frames than were asked for, or the film would have too many.
    """
    if look.every:
        shown = [*range(0, last, look.every), last]
        if len(shown) > MAX_FRAMES:
            least = -(-last // (MAX_FRAMES - 1))
            raise InputError(
                f"a film has at most {MAX_FRAMES:,} frames; every={look.every} gives {len(shown):,}: "
                f"take every={least} or more"
            )
        return shown
    if look.frames > last + 1:
        raise InputError(
            f"frames must be at most {last + 1:,} (the run's iterations 0 to {last:,}); given: {look.frames:,}"
        )
    return spread(last, look.frames or min(USUAL_FRAMES, last + 1))


@dataclass(frozen=True)
class Film:
    """A run as scenes; making them replays its recipe and leaves the run as it is."""

    run: Run
    look: Look
    all_floors: bool = True  # compute what independent draws get where that is not known; it may take seconds

    @cached_property
    def iterations(self) -> list[int]:
        """The iterations shown. Raises InputError."""
        return chosen_iterations(self.run.final.iteration, self.look)

    @property
    def frames(self) -> int:
        """How many there are. Raises InputError where the film cannot be made."""
        return len(self.iterations) if self.drawn else 0

    @property
    def dots(self) -> int:
        """Particles drawn in a frame."""
        return min(len(self.run.weights), MAX_DRAWN)

    @property
    def lines(self) -> tuple[str, ...]:
        """There are no lines but those of the layers and the traces."""
        return ()

    @property
    def title(self) -> str:
        """The run in a few words."""
        return f"{self.run.recipe.method} on {self.run.recipe.target}"

    @property
    def floors(self) -> dict[str, float | None]:
        """What independent draws get: floor_tv and floor_kl of the last frame, computed where they are not known."""
        if self.all_floors:
            know_floor(self.run.final)
        return {name: self.run.final.metrics[name] for name in ("floor_tv", "floor_kl")}

    @cached_property
    def drawn(self) -> tuple[stage.Scene, stage.Pair]:
        """What the stage shows, and of which coordinates. Raises InputError where it is unavailable."""
        target, method = self.run.target, self.run.final.method
        self.look.choice.check(target, method)
        if self.look.traces != NO_TRACES:
            shown_group(target, method, self.look.traces)
        return self.look.choice.of(target, method)

    def scenes(self, tick: Callable[[], None] = lambda: None) -> Iterator[Scene]:
        """The scenes in order; `tick` is called after every iteration of the replay and may raise to end it."""
        session, marks, rows = Session(self.run.recipe), [], {}
        before = session.frame
        for iteration in self.iterations:
            while session.frame.iteration < iteration and not session.done:
                before = session.frame
                marks += step_marks(session.advance())
                tick()
            made = self._scene(session.frame, with_rows(session.history.columns, rows), marks)
            rows[made.iteration] = {name: column[-1] for name, column in made.history.items()}
            yield made._replace(step=(before, session.frame))

    def last_scene(self, tick: Callable[[], None] = lambda: None) -> Scene:
        """The last moment of the run, without a replay; what happened stands at the measured frame after it."""
        history, marks = self.run.history, []
        for kind, column in (("rejuvenated", "rejuvenations"), ("limited", "limited_steps")):
            rows = np.flatnonzero(np.diff(history[column], prepend=0) > 0)
            at = (history[name][rows] for name in ("iteration", "visited", "evaluations", "seconds"))
            marks += [Mark(int(t), int(v), int(e), s, kind, "") for t, v, e, s in zip(*at, strict=True)]
        return self._scene(self.run.final, history, marks)

    def picture(self, first: Scene) -> Picture:
        """The figure that draws this film."""
        from pmdviz.export.film.picture import Picture

        return Picture(self, first)

    def player(self, scenes: Iterable[Scene]) -> Page:
        """The page that plays this film."""
        from pmdviz.export.player import Page

        return Page(self, scenes)

    def columns(self) -> Mapping[str, np.ndarray]:
        """The history, or the particles."""
        return columns_of(self.run, self.look.table)

    def python(self) -> str:
        """Lines that repeat the run as it is seen, or its whole recipe."""
        return (self.run.recipe if self.look.whole else self.run).to_python()

    def recipe(self) -> str:
        """The recipe of the run as it is seen, or the whole of it, as JSON."""
        return (self.run.recipe if self.look.whole else self.run.to_recipe()).to_json(indent=1)

    def _scene(self, frame: Frame, history: Mapping[str, np.ndarray], marks: list[Mark]) -> Scene:
        if self.all_floors:
            know_floor(frame)
        reason = frame.info.rejuvenated if frame.info else ""
        drawn, pair = self.drawn
        past = with_present(history, frame)
        turned = knob_marks(self.run.recipe.changes, past, frame.iteration)
        return Scene(
            iteration=frame.iteration,
            columns=drawn.columns(frame, pair),
            note=f"new particles: {reason}" if reason else frame.caveat.partition(":")[0],
            words=words.state(frame),
            history={**past, "seconds": self._seconds(past["iteration"])},
            marks=tuple(m._replace(seconds=float(self._seconds(m.iteration))) for m in (*marks, *turned)),
        )

    def _seconds(self, iterations: Any) -> np.ndarray:
        """Computing time of the run itself, not of its replay: the same film at every export."""
        return np.interp(iterations, self.run.history["iteration"], self.run.history["seconds"])


def with_rows(history: Mapping[str, np.ndarray], rows: Mapping[int, Mapping[str, float]]) -> Mapping[str, np.ndarray]:
    """A measured history with the rows of the frames shown before, so that the traces are as fine as the film."""
    measured = set(history["iteration"].tolist())
    extra = [row for at, row in rows.items() if at not in measured]
    if not extra:
        return history
    whole = {name: np.append(history[name], [row[name] for row in extra]) for name in extra[0]}
    order = np.argsort(whole["iteration"], kind="stable")
    return {name: column[order] for name, column in whole.items()}


def know_floor(frame: Frame) -> None:
    """Compute what independent draws get, once a target and particle count: a film never says "being computed"."""
    metrics = frame.metrics
    if metrics["tv"] is not None and metrics["floor_tv"] is None and frame.num_draws:
        perfect_draws.floor(frame.target, frame.num_draws, **frame.drawn_as)
