"""A session: the live run of a recipe. It owns the random streams, the batches, the state and the history."""

from __future__ import annotations

import time
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.frame import Ancestry, Frame, after_step
from pmdviz.engine.recipe import MAX_BUDGET, MAX_SEED, Recipe, checked_whole, fresh_seed
from pmdviz.engine.run import History, Run, is_due, next_due
from pmdviz.errors import InputError, shown
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import ACTS, Raw, Value
from pmdviz.methods import MethodKnobs, StepBlock
from pmdviz.methods.base import frozen

# Which rows of the data a step visits: a stream of batches that can be taken back to an earlier moment.


RngState = Mapping[str, Any]  # of a bit generator


class StreamMark(NamedTuple):
    """A moment of a `BatchStream`."""

    rng_state: RngState
    epoch_state: RngState | None  # the generator before the current permutation was drawn
    position: int


class BatchStream:
    """Rows of successive batches, from one random generator.

    `epochs`: permutations of all rows, one after the other, cut into batches; a batch may reach over the end of a
    pass. `replacement`: independent uniform draws, as in Dai et al. 2016. `whole`: all rows in their order, no copy.
    """

    def __init__(self, rng: Rng, num_data: int) -> None:
        self._rng, self._num_data = rng, num_data
        self._epoch_state: RngState | None = None
        self._permutation = np.empty(0, dtype=np.uint32)
        self._position = 0

    def draw(self, size: int, batches: str) -> Array | slice:
        """Row numbers (size,) of the next batch, which may be empty, or the slice of all rows."""
        if batches == "whole":
            return slice(None)
        if batches == "replacement":
            return self._rng.integers(self._num_data, size=size)
        parts = [self._permutation[:0]] if size == 0 else []
        while size > 0:
            if self._position == len(self._permutation):
                self._epoch_state = self._rng.bit_generator.state
                self._permutation, self._position = self._shuffled(), 0
            part = self._permutation[self._position : self._position + size]
            self._position += len(part)
            size -= len(part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _shuffled(self) -> Array:
        """All row numbers in random order: `rng.permutation(N)` in half the memory."""
        numbers = np.arange(self._num_data, dtype=np.uint32 if self._num_data < 2**32 else np.int64)
        self._rng.shuffle(numbers)
        return numbers

    def copy(self) -> BatchStream:
        """Another stream that goes on from here by itself."""
        twin = BatchStream(deepcopy(self._rng), self._num_data)
        twin._epoch_state, twin._permutation, twin._position = self._epoch_state, self._permutation, self._position
        return twin

    def mark(self) -> StreamMark:
        """The present moment."""
        return StreamMark(self._rng.bit_generator.state, self._epoch_state, self._position)

    def restore(self, mark: StreamMark) -> None:
        """Go back to `mark`."""
        self._permutation, self._epoch_state = np.empty(0, dtype=np.uint32), mark.epoch_state
        if mark.epoch_state is not None:
            self._rng.bit_generator.state = mark.epoch_state
            self._permutation = self._shuffled()
        self._rng.bit_generator.state, self._position = mark.rng_state, mark.position


# Kept moments of a run: places to come back to, thinned to a memory cap.

MEMORY_CAP = 64 * 2**20  # bytes of kept frames
FEWEST = 4

most_bytes = MEMORY_CAP  # in this process; a server sets less


class Checkpoint(NamedTuple):
    """A kept frame and the random streams behind it."""

    frame: Frame
    rng_state: RngState
    mark: StreamMark


class Checkpoints:
    """Checkpoints by iteration, in rising order; past `memory_cap` bytes every second one but the last is dropped."""

    def __init__(self, memory_cap: int) -> None:
        self._memory_cap, self.num_bytes = memory_cap, 0
        self._kept: dict[int, Checkpoint] = {}

    def copy(self) -> Checkpoints:
        """Others that keep the same moments, in the same memory."""
        twin = Checkpoints(self._memory_cap)
        twin._kept, twin.num_bytes = {**self._kept}, self.num_bytes
        return twin

    @property
    def frames(self) -> list[Frame]:
        """The kept frames, the earliest first."""
        return [checkpoint.frame for checkpoint in self._kept.values()]

    def keep(self, checkpoint: Checkpoint) -> None:
        """Keep it as the last one; it replaces one of the same iteration."""
        last = checkpoint.frame.iteration
        self.forget(last)
        self._kept[last] = checkpoint
        self.num_bytes += checkpoint.frame.num_bytes
        if self.num_bytes > self._memory_cap:
            self._halve()

    def shrink(self, memory_cap: int) -> None:
        """Drop frames beyond `memory_cap` bytes, but for a few; frames kept later may exceed it again."""
        while self.num_bytes > memory_cap and len(self._kept) > FEWEST:
            self._halve()

    def _halve(self) -> None:
        last = next(reversed(self._kept))
        if len(self._kept) > FEWEST:
            for at in [at for k, at in enumerate(self._kept) if k % 2 and at != last]:
                self.forget(at)

    def forget(self, at: int) -> None:
        """Let the one of iteration `at` go, if there is one."""
        checkpoint = self._kept.pop(at, None)
        self.num_bytes -= checkpoint.frame.num_bytes if checkpoint else 0

    def at(self, iteration: int) -> int:
        """The iteration of the last one at or before `iteration`."""
        return max(at for at in self._kept if at <= iteration)

    def nearest(self, iteration: int) -> Checkpoint:
        """The last one at or before `iteration`; those after it are let go."""
        at = self.at(iteration)
        for later in [k for k in self._kept if k > at]:
            self.forget(later)
        return self._kept[at]


class Session:
    """A live run of `recipe`.

    The frame at iteration t depends on the recipe alone, never on how often or when it is looked at.

    Parameters
    ----------
    recipe : Recipe
    metrics_every : int or None
        Which frames are measured into the history: every so many iterations, or (None) at 0, 1, 2, 5, 10 and then one
        in each block of ten (`history.is_due`). The last frame of the budget is always measured. By default rows lack
        figures that take longer than the steps since the row before (`Frame.dear`); the last row has all.
    memory_cap : int or None
        Bytes of states kept for `seek` and `Run.frames`; past it every second one is dropped. None: 64 MB, 16 MB on a
        server.
    """

    def __init__(self, recipe: Recipe, metrics_every: int | None = None, memory_cap: int | None = None) -> None:
        if not isinstance(recipe, Recipe):
            raise InputError(f"Session needs a pmdviz.Recipe; got {shown(recipe)}")
        if metrics_every is not None:
            metrics_every = checked_whole("metrics_every", metrics_every, 1, MAX_BUDGET)
        self._metrics_every, self._memory_cap = metrics_every, most_bytes if memory_cap is None else memory_cap
        self._start(recipe)

    def _start(self, recipe: Recipe) -> None:
        """Iteration 0 of `recipe`. Steps that can fail come first: a failure leaves the old run whole."""
        method, target, knobs = recipe.make_method(), recipe.make_target(), recipe.start_knobs()
        for_method, for_batches = np.random.SeedSequence(recipe.seed).spawn(2)
        rng = np.random.default_rng(for_method)
        state = frozen(method.init(rng, target, knobs))
        frame = Frame(0, 0, 0, 0, 0.0, 0, 0, knobs, state, None, recipe.budget, target, method, recipe.budget_unit)
        if method.resamples:
            frame = frame.replaced(ancestry=Ancestry.of(frame.particles))
        frame.row(frame.dear[0] if self._metrics_every is None else frozenset())
        self.recipe, self.method, self.target, self._rng = recipe, method, target, rng
        self._batches = BatchStream(np.random.default_rng(for_batches), target.num_data)
        self.history = History(self._metrics_every)
        self.kept = Checkpoints(self._memory_cap)  # `seek` goes to these without a step; copies share their memory
        self.frame: Frame = frame
        self._measure()

    def copy(self) -> Session:
        """An independent session at the same iteration and with the same past."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._rng, twin._batches = deepcopy(self._rng), self._batches.copy()
        twin.history, twin.kept = self.history.copy(), self.kept.copy()
        return twin

    @property
    def knobs(self) -> MethodKnobs:
        """The knobs in force."""
        return self.frame.knobs

    @property
    def done(self) -> bool:
        """Whether the run is over: the budget is used up, or the method has ended."""
        used_up = self.recipe.budget is not None and self.frame.spent >= self.recipe.budget
        return used_up or bool(self.ended)

    @property
    def ended(self) -> str:
        """Why the method has no next step whatever the budget, in words; "" while it has."""
        return self.method.ended(self.frame.state, self.knobs, self.target)

    @property
    def run(self) -> Run:
        """The run so far, to be read; the present frame is its last measured one, as if the budget ended here."""
        frames = [*self.frames[:-1], self.frame.checked]
        return Run(self.recipe, self.target, frames, self.history.ending_with(self.frame.row()).columns)

    @property
    def frames(self) -> list[Frame]:
        """The kept frames, iteration 0 first and the present one last."""
        kept = self.kept.frames  # of these the present frame would lack the paths of its step
        return [*(frame for frame in kept if frame.iteration < self.frame.iteration), self.frame]

    @property
    def pending(self) -> dict[str, str]:
        """Knobs whose new value the present frame does not show yet -> when it acts, in words."""
        if self.frame.iteration == 0:
            return {}
        now, before, start = self.knobs.as_dict(), self.recipe.values_at(self.frame.iteration - 1), self.recipe.knobs
        shown_by = {"at once": now, "restart": start}
        waiting = {k: s.acts for k, s in self.knobs.specs().items() if shown_by.get(s.acts, before)[k] != now[k]}
        return {k: ACTS[acts] for k, acts in waiting.items()}

    def advance(self, n: int = 1) -> Frame:
        """Do n iterations, or as many as the budget allows. Returns the frame that it reached.

        Raises TargetError from a target that fails; the session then stays at the last good frame, and the same
        step can be tried again.
        """
        last = self.frame.iteration + checked_whole("n", n, 0, MAX_BUDGET)
        while self.frame.iteration < last and not self.done:
            self._step(last)
        return self.frame

    def _step(self, last: int) -> None:
        """One iteration, or one block of iterations up to `last` whose frames are not measured.

        If a target's error or a Cancel stops it, the session is as it was before.
        """
        before, random, mark = self.frame, self._rng.bit_generator.state, self._batches.mark()
        try:
            self.frame = self._leapt(before, last, mark) or self._stepped(before)
            if self._changed_here():
                self.frame = self.frame.replaced(knobs=self.knobs.changed(self._changed_here()))
            self._settle()
        except BaseException:
            self.frame, self._rng.bit_generator.state = before, random
            self._batches.restore(mark)
            raise

    def _stepped(self, before: Frame) -> Frame:
        size = self.method.batch_size(before.state, before.knobs, self.target.num_data)
        rows = self._batches.draw(size, self.method.batches(before.state, before.knobs))
        batch = self.target.data_rows[rows]
        start = time.perf_counter()
        state, info = self.method.step(self._rng, before.state, self.target, batch, before.knobs)
        seconds = time.perf_counter() - start
        return self._after(before, StepBlock(state, info, 1, info.cost), seconds, rows)

    def _leapt(self, before: Frame, last: int, mark: StreamMark) -> Frame | None:
        """The frame after several steps in one call, where the method offers that; None: take a single step."""
        size = self.method.batch_size(before.state, before.knobs, self.target.num_data)
        rows = MAX_BUDGET if self.recipe.budget is None else self.recipe.budget - before.spent
        most = min(last, self._next_look()) - before.iteration
        count = min(most, self.method.max_block(before.state, before.knobs, self.target, rows)) if most > 1 else 1
        if count <= 1:
            return None
        kind, data = self.method.batches(before.state, before.knobs), self.target.data_rows
        drawn = self._batches.draw(count * size, kind)
        if not isinstance(drawn, slice):
            data = data[drawn].reshape(count, size, *data.shape[1:])
        start = time.perf_counter()
        block = self.method.step_many(self._rng, before.state, self.target, data, count, before.knobs, rows)
        seconds = time.perf_counter() - start
        if block is None or block.steps < count:
            self._batches.restore(mark)
        if block is None:
            return None
        if block.steps < count:
            self._batches.draw(block.steps * size, kind)
        last_rows = drawn if isinstance(drawn, slice) else drawn[(block.steps - 1) * size : block.steps * size]
        return self._after(before, block, seconds, last_rows)

    def _next_look(self) -> int:
        """The next iteration whose frame is measured, or at which the recipe changes knobs."""
        now = self.frame.iteration
        due, turned = next_due(now, self._metrics_every), self.recipe.next_change(now)
        return due if turned is None else min(due, turned)

    def _after(self, before: Frame, block: StepBlock, seconds: float, rows: Array | slice) -> Frame:
        return replace(
            before,
            iteration=before.iteration + block.steps,
            visited=before.visited + block.cost.visited,
            density_evaluations=before.density_evaluations + block.cost.density_evaluations,
            gradient_evaluations=before.gradient_evaluations + block.cost.gradient_evaluations,
            seconds=before.seconds + seconds,
            rejuvenations=before.rejuvenations + bool(block.info.rejuvenated),
            limited_steps=before.limited_steps + bool(block.info.limited),
            state=frozen(block.state),
            info=block.info,
            budget=self.recipe.budget,
            batch_rows=rows if isinstance(rows, slice) else rows.copy(),  # not a view of the whole permutation
            ancestry=after_step(before.ancestry, block.info),
            measured=before.measured or before,
        )

    def _changed_here(self) -> Mapping[str, Value]:
        """The knobs that the recipe changes at the present iteration."""
        return self.recipe.change_at(self.frame.iteration)

    def _settle(self) -> None:
        """Measure and keep the present frame where that is due: by its iteration, if last, or if redrawn.

        Where it is not (a change was taken back, the budget grew), forget that it was: the history belongs to the
        recipe, not to the path here.
        """
        redrawn = any(self.knobs.specs()[name].acts == "at once" for name in self._changed_here())
        if is_due(self.frame.iteration, self._metrics_every) or self.done or redrawn:
            self._measure()
        else:
            self.history.cut(self.frame.iteration - 1)
            self.kept.forget(self.frame.iteration)

    def _left_out(self) -> frozenset[str]:
        """The metrics that the present row lacks: dear ones, until the steps since have taken as long by counts.

        The last row has all, and so has every row of a session with `metrics_every`.
        """
        names, cost = self.frame.dear if self._metrics_every is None and not self.done else (frozenset(), 0.0)
        before = self.history.before(self.frame.iteration)
        paid = before is not None and names and self.frame.stepped() // cost > self.frame.stepped(before) // cost
        return frozenset() if paid else names

    def _measure(self) -> None:
        left_out = self._left_out()
        if not left_out:
            self.frame = self.frame.checked
        self.history.put(self.frame.row(left_out))
        self.keep()

    def keep(self) -> None:
        """Keep the present moment, measured or not: a place that `seek` goes back to without a step."""
        self.kept.keep(Checkpoint(self.frame.without_caches(), self._rng.bit_generator.state, self._batches.mark()))

    def set(self, /, **knobs: Raw) -> Frame:
        """Turn knobs here and now and write that into the recipe. Returns the frame, redrawn where they act at once.

        Later changes in the recipe (after a `seek` back) are dropped. At iteration 0 nothing has run yet, and the knobs
        simply become the recipe's own. Raises InputError and changes nothing where a value cannot be used.
        """
        return self.set_all(self.knobs.replaced(**knobs))

    def set_all(self, knobs: MethodKnobs) -> Frame:
        """The same with knobs that were checked before. Raises InputError where they do not go with the target."""
        self.method.check_pair(self.target, knobs)
        at = self.frame.iteration
        if at == 0:
            self._start(self.recipe.restarted(knobs))
        else:
            before = self.recipe, self.frame
            try:
                self.recipe = self.recipe.with_change(at, knobs)
                if knobs != self.knobs:
                    self.frame = self.frame.replaced(knobs=knobs)
                self._settle()
            except BaseException:
                self.recipe, self.frame = before
                raise
        return self.frame

    def restart(self) -> Frame:
        """Iteration 0 with the knobs as they are now and an empty log of changes."""
        self._start(self.recipe.restarted(self.knobs))
        return self.frame

    def replay(self) -> Frame:
        """Iteration 0 of the same recipe; as it advances the logged changes are made again."""
        self._start(self.recipe)
        return self.frame

    def reseed(self, seed: int | None = None) -> Frame:
        """Restart with another run seed (a fresh one if None); the data stay."""
        seed = fresh_seed(self.recipe.seed) if seed is None else seed
        self._start(self.recipe.restarted(self.knobs, checked_whole("seed", seed, 0, MAX_SEED)))
        return self.frame

    def extend(self, more: int) -> Frame:
        """Let the run spend `more` than its budget, or than it has. Raises InputError without a budget."""
        if self.recipe.budget is None:
            raise InputError("a run without a budget never ends, so it cannot be extended; use seek or advance")
        more = checked_whole("more", more, 1, MAX_BUDGET)
        return self.limit(extended(self.recipe.budget, more, self.frame.spent))

    def limit(self, budget: int | None) -> Frame:
        """Give the run another budget (None: no end), at least the part already spent. Raises InputError."""
        if budget is not None:
            budget = checked_whole("budget", budget, 1, MAX_BUDGET)
            if budget < self.frame.spent:
                spent = "observations used" if self.recipe.budget_unit == "data" else "evaluations made"
                raise InputError(f"budget must be at least the {self.frame.spent:,} {spent}; got {budget:,}")
        self.recipe = self.recipe.limited(budget)
        self.frame = self.frame.replaced(budget=budget)
        self._settle()
        return self.frame

    def seek(self, iteration: int) -> Frame:
        """Go to `iteration`, backwards from the nearest kept frame, forwards by advancing. Returns the frame there.

        The history after it is dropped and comes again, the same, during the replay.
        """
        iteration = checked_whole("iteration", iteration, 0, MAX_BUDGET)
        if iteration < self.frame.iteration:
            self._restore(self.kept.nearest(iteration))
        return self.advance(max(0, iteration - self.frame.iteration))

    def _restore(self, checkpoint: Checkpoint) -> None:
        self._rng.bit_generator.state = checkpoint.rng_state
        self._batches.restore(checkpoint.mark)
        self.frame = checkpoint.frame.replaced(budget=self.recipe.budget)
        self.history.cut(self.frame.iteration)


def extended(budget: int, more: int, spent: int) -> int:
    """A budget with `more` to spend than before, or than has been spent where that is more already."""
    return budget + more if budget + more > spent else spent + more
