"""Chains that move by the leapfrog and accept or refuse: what HMC and MALA share.

Everything is in the prior's units: a time step of 1 moves by one prior sd for a momentum of 1.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pmdviz.kernels.chains import Trajectories, hamiltonian, uniforms_of
from pmdviz.knobs import Flag, Real
from pmdviz.methods.base import checked_gradient, read_only
from pmdviz.methods.cost import Work
from pmdviz.methods.mcmc.chain import REACH, FullDataChain, Pool, appended, position, started
from pmdviz.methods.mcmc.ratio import energy_terms
from pmdviz.methods.mcmc.trajectory import followed, log_joint_at, positions
from pmdviz.methods.mcmc.tuning import Plan, TunedKnobs, Tuning, current_step, is_tuned, tune_knob, tuned
from pmdviz.methods.step import ACCEPTANCE, STEP_SIZE, ComputedTerms, Cost, Path, StepBlock, StepInfo, events
from pmdviz.targets import Target

LEAP_PAIRS = 2**22  # gradients of a datum that one compiled call computes at most: a few ms


class LeapfrogKnobs(TunedKnobs):
    """The knobs of chains that accept or reject."""

    tune = tune_knob("time step")
    time_step = Real(
        0.1,
        bounds=(1e-9, 1000),
        softbounds=(0.001, 2),
        log=True,
        basic=True,
        label="Time step ε",
        unit="prior sd",
        only_if=("tune", False),
        doc="Length of one leapfrog step; larger steps are rejected more often.",
    )
    one_pass = Flag(
        False,
        label="Count value and gradient once",
        doc="Changes how the cost is counted, not the draws. On: value and gradient at one point count as one pass "
        "over the data. Off: each counts separately, as they are computed here.",
    )

    @property
    def longest(self) -> int:
        """Leapfrog steps that a trajectory has at most."""
        return 1

    @property
    def fixed_step(self) -> float:
        """The time step."""
        return self.time_step

    def work(self, num_data: int) -> Work:
        """The gradients of each chain's longest trajectory, and the density at its end."""
        trajectories = self.num_chains * num_data
        return Work(likelihoods=trajectories, gradients=self.longest * trajectories)


class LeapfrogState(NamedTuple):
    """The draws so far, and what is known at the last of them."""

    older: np.ndarray  # (n, d)
    newer: np.ndarray  # (k, d)
    iteration: int
    log_joint: float | None  # nats; None until the first step has visited the data
    gradient: np.ndarray | None  # (d,) of log_joint
    accepted: int  # proposals so far
    tuning: Tuning


class LeapfrogChain(FullDataChain):
    """θ, p -> leapfrog of log_joint(θ) - |p|²/2 -> accepted with probability min(1, exp(-ΔH)).

    Subclasses say how many leapfrog steps trajectories have and which acceptance the tuning leads to.
    """

    scalars = (STEP_SIZE, ACCEPTANCE)
    marks = ("diverged",)
    paths = (Path("accepted", "accepted"), Path("rejected", "rejected"))
    requires = frozenset({"reals", "gradient"})
    wanted_acceptance: ClassVar[float]

    def lengths(self, uniforms: np.ndarray, knobs: Any) -> np.ndarray:
        """Leapfrog steps of trajectories (T,), by uniforms (T,) on [0, 1]."""
        raise NotImplementedError

    def rows_per_draw(self, target: Target, knobs: Any) -> float:
        """The gradients of a trajectory that has every length alike, and the density at its end."""
        return ((1 + knobs.longest) / 2 + (not knobs.one_pass)) * target.num_data

    def start(self, rng: np.random.Generator, target: Target, knobs: Any) -> LeapfrogState:
        """A draw from the prior."""
        return LeapfrogState(*started(rng, target), 0, None, None, 0, Tuning())

    def move(
        self, rng: np.random.Generator, state: LeapfrogState, target: Target, batch: np.ndarray, knobs: Any
    ) -> tuple[LeapfrogState, StepInfo]:
        """One trajectory from a fresh momentum, accepted or rejected."""
        state, values, gradients = _known(state, target, batch)
        step_many = self._leapt(rng, state, target, batch, 1, knobs, 1, (values, gradients))
        return step_many.state, step_many.info

    def max_block(self, state: LeapfrogState, knobs: Any, target: Target, rows: int) -> int:
        """One of a pool, while the time step is tuned, at the start, and where the gradient is a Python function."""
        if (
            isinstance(state, Pool)
            or state.gradient is None
            or is_tuned(state, knobs)
            or not self._is_compiled(target, knobs)
        ):
            return 1
        return max(1, LEAP_PAIRS // ((knobs.longest + 1) * target.num_data))

    def step_many(
        self,
        rng: np.random.Generator,
        state: LeapfrogState,
        target: Target,
        batches: np.ndarray,
        count: int,
        knobs: Any,
        rows: int,
    ) -> StepBlock:
        """Trajectories in one compiled call, until `rows` of data were visited."""
        return self._leapt(rng, state, target, batches, count, knobs, rows, (0, 0))

    def _is_compiled(self, target: Target, knobs: Any) -> bool:
        """Whether trajectories are; a long one through many data is not: it could not be stopped."""
        return target.model is not None and knobs.longest * target.num_data <= LEAP_PAIRS

    def _leapt(
        self,
        rng: np.random.Generator,
        state: LeapfrogState,
        target: Target,
        data: np.ndarray,
        count: int,
        knobs: Any,
        rows: int,
        asked: tuple[int, int],
    ) -> StepBlock:
        """Up to `count` trajectories; `asked`: values and gradients that were needed before the first."""
        before, (lengths, momenta, uniforms) = rng.bit_generator.state, self._drawn(rng, count, target.dim, knobs)
        tuning, time_step = is_tuned(state, knobs), current_step(state, knobs)
        start = position(state), state.log_joint, state.gradient
        if self._is_compiled(target, knobs):
            unit, most = target.scale, -(-rows // len(data))
            found = hamiltonian(
                *(target.model or (), data, start, momenta, lengths, uniforms, time_step, unit, REACH * unit, most),
                value_costs=int(not knobs.one_pass),
            )
        else:
            found = followed(target, data, start, momenta[0], int(lengths[0]), uniforms[0], time_step)
        if found.made < count:
            rng.bit_generator.state = before
            self._drawn(rng, found.made, target.dim, knobs)
        way = (target, *start[::2], momenta[0], time_step, int(lengths[0]), data)
        last = found.made - 1
        here, length = (found.draws[last - 1] if last else start[0]), int(lengths[last])
        terms = ComputedTerms(partial(energy_terms, target, here, momenta[last], time_step, length, data))
        state = self._moved(state, found, knobs.plan if tuning else None)
        words = _words(found, state, time_step, length, tuning)
        if knobs.one_pass:
            found, asked = found._replace(num_values=0 * found.num_values), (0, asked[1])
        block = _counted(state, found, len(data), asked, time_step, words)
        block = block._replace(info=block.info._replace(terms=terms))
        if count > 1:  # nobody looks at one of many
            return block
        return block._replace(info=block.info._replace(paths=partial(_paths, bool(found.accepted[0]), *way)))

    def _drawn(
        self, rng: np.random.Generator, count: int, dim: int, knobs: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Lengths (T,), momenta (T, d) and the uniforms (T,) that decide, of the next T trajectories.

        All from one array of normals: cut in two anywhere, it has the same bits.
        """
        normals = rng.standard_normal((count, dim + 2))
        return self.lengths(uniforms_of(normals[:, 0]), knobs), normals[:, 1:-1], uniforms_of(normals[:, -1])

    def _moved(self, state: LeapfrogState, found: Trajectories, plan: Plan | None) -> LeapfrogState:
        """The state after the trajectories."""
        made = found.made
        (gradient,) = read_only(found.gradient)
        accepted = state.accepted + int(found.accepted[:made].sum())
        state = state._replace(log_joint=found.log_joint, gradient=gradient, accepted=accepted)
        if plan is not None:
            state = state._replace(tuning=tuned(state.tuning, self.wanted_acceptance - float(found.chances[0]), plan))
        return appended(state, found.draws[:made])


def _known(state: LeapfrogState, target: Target, data: np.ndarray) -> tuple[LeapfrogState, int, int]:
    """The state with density and gradient at its position, and how often each had to be asked for: at the start."""
    if state.gradient is not None:
        return state, 0, 0
    theta = position(state)
    log_joint, asked = log_joint_at(target, theta, data)
    (gradient,) = read_only(checked_gradient(target, theta[None], data)[0])
    return state._replace(log_joint=log_joint, gradient=gradient), asked, 1


def _counted(
    state: LeapfrogState, found: Trajectories, num_data: int, asked: tuple[int, int], time_step: float, words: str
) -> StepBlock:
    """What the trajectories cost; the info is the last one's."""
    values, gradients = found.num_values[: found.made] * num_data, found.num_gradients[: found.made] * num_data
    values[0] += asked[0] * num_data
    gradients[0] += asked[1] * num_data
    info = StepInfo(
        _cost(int(values[-1]), int(gradients[-1])),
        words,
        events(diverged="the proposal was rejected" if found.diverged[found.made - 1] else ""),
        {"step_size": time_step, "acceptance": state.accepted / max(1, state.iteration)},
    )
    return StepBlock(state, info, found.made, _cost(int(values.sum()), int(gradients.sum())))


def _paths(accepted: bool, target: Target, theta: np.ndarray, *way: Any) -> dict[str, np.ndarray]:
    """The trajectory, leapfrog step after leapfrog step."""
    points = positions(target, theta, *way)
    return {"accepted" if accepted else "rejected": np.stack([points[:-1], points[1:]], axis=1)}


def _cost(values: int, gradients: int) -> Cost:
    """Every value and every gradient that is counted goes through its rows by itself."""
    return Cost(values + gradients, values, gradients)


def _words(found: Trajectories, state: LeapfrogState, time_step: float, num_steps: int, tuning: bool) -> str:
    last = found.made - 1
    diverged = "rejected (the trajectory diverged)" if found.diverged[last] else "rejected"
    verdict = "accepted" if found.accepted[last] else diverged
    parts = [f"{verdict}; {state.accepted / state.iteration:.0%} of {state.iteration:,} proposals accepted so far"]
    parts += [f"time step {time_step:.3g} prior sd" + (", being tuned" if tuning else "")]
    parts += [f"{num_steps} leapfrog step{'s' if num_steps > 1 else ''}"]
    return " · ".join(parts)
