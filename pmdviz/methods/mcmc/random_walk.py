"""Chains that need no gradient: random-walk Metropolis, and Gibbs sampling."""

from functools import partial
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.chains import Walk, metropolis, uniforms_of
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Real
from pmdviz.methods import optimisers
from pmdviz.methods.base import Stepped
from pmdviz.methods.mcmc import ACCEPTANCE, USUAL_DRAWS, Chain, ChainKnobs, Pool, appended, hmc, position
from pmdviz.methods.mcmc.hmc import TunedState
from pmdviz.methods.step import ComputedTerms, Cost, Path, StepBlock, StepInfo, Term, total
from pmdviz.targets import Target
from pmdviz.targets.space import Discrete

OPTIMAL = 2.38  # over √d, of the sds of a Gaussian: Gelman, Roberts, Gilks 1996
WANTED, WANTED_ALONE = 0.234, 0.44  # acceptance for large d, and for d = 1: the same
PATIENT = 200  # draws that the scale is tuned over where the burn-in is a share of them
LONGER = 5  # than other chains' is a default budget at most: the draws that are measured cost more than those made
UNIT = "× 2.38/√d prior sd"
PAIRS = 2**22  # likelihoods of one observation that one compiled call computes at most: a few ms


class RandomWalkKnobs(hmc.TunedKnobs):
    """The knobs of `random_walk`.

    scale: Length of the proposed steps; longer ones are rejected more often. On discrete targets each step changes
        one coordinate, and its length is not used.
    """

    tune = hmc.tune_knob("proposal scale")
    scale = Real(0.3, (1e-9, 1000), (0.01, 2), "Proposal scale", UNIT, log=True, basic=True, only_if=hmc.NOT_TUNED)
    step_knob = "scale"

    @property
    def plan(self) -> hmc.Plan:
        """Over more draws than other chains take: the first ones, far out, are accepted at too large a scale."""
        plan = super().plan
        return plan._replace(draws=PATIENT) if 0 < self.burn_in < 1 else plan


class RandomWalk(Chain):
    """Random-walk Metropolis.

    short_title: Random walk
    about: Random-walk Metropolis proposes a point in a random direction, and accepts it with probability min(1, the
        ratio of the posterior densities there and here).
    formula: θ' = θ + c S ξ,  ξ ~ N(0, I), S the prior's sds;  accept with probability min(1, p(θ' | X) / p(θ | X))
    what_moves: One point tries a move in any direction, and takes it or stays; the dots are its draws.
    source: Metropolis et al. 1953; acceptance 0.234 to 0.44: Gelman, Roberts, Gilks 1996; tuning: Hoffman, Gelman 2014
    propagate: prior
    move: Metropolis
    adapt: step size (over the first draws)

    prior: How much higher the log prior is at the proposal.
    likelihood: How much better the proposal explains the data.

    On discrete states one coordinate is changed.
    """

    name = "random_walk"
    State = TunedState
    budget_words = f"the burn-in and {USUAL_DRAWS} draws after it, times d (at most {LONGER})"
    chain_kernels = "random walk"
    scalars = (optimisers.STEP_SIZE, ACCEPTANCE)
    paths = (Path("accepted", "accepted"), Path("rejected", "rejected"))
    update = hmc.ratio_update(
        Term("prior", "prior", "log p(θ′) − log p(θ)"),
        Term("likelihood", "likelihood of all data", "+ log p(X | θ′) − log p(X | θ)"),
    )

    def missing_in(self, target: Target) -> str:
        """Discrete states will do as well as real coordinates."""
        return "" if isinstance(target.space, Discrete) else super().missing_in(target)

    def default_budget(self, target: Target, knobs: RandomWalkKnobs) -> int:
        """d times as much as for other chains, at most 5: in d dimensions it forgets where it was d times as slowly."""
        return super().default_budget(target, knobs) * min(target.dim, LONGER)

    def move(self, rng: Rng, state: TunedState, target: Target, batch: Array, knobs: RandomWalkKnobs) -> Stepped:
        """One proposal, accepted or rejected; the first step also visits the start."""
        asked = 0
        if state.log_joint is None:
            log_joint, asked = hmc.log_joint_at(target, position(state), batch)
            state = state._replace(log_joint=log_joint)
        block = self.step_many(rng, state, target, batch, 1, knobs, 1)
        rows = asked * len(batch)
        return block.state, block.info._replace(cost=total(Cost(rows, rows), block.info.cost))

    def max_block(self, state: TunedState, knobs: RandomWalkKnobs, target: Target, rows: int) -> int:
        """One of a pool, while the scale is tuned, at the start, and where the target is not compiled."""
        if isinstance(state, Pool) or state.log_joint is None or hmc.is_tuned(state, knobs) or not _is_compiled(target):
            return 1
        return max(1, min(PAIRS, rows) // target.num_data)

    def step_many(
        self, rng: Rng, state: TunedState, target: Target, data: Array, count: int, knobs: RandomWalkKnobs, rows: int
    ) -> StepBlock:
        """`count` proposals in one compiled call; each visits all data."""
        here, scale, tuning = position(state), hmc.current_step(state, knobs), hmc.is_tuned(state, knobs)
        discrete = isinstance(target.space, Discrete)
        jumps, uniforms = _flip(rng, here, target.states) if discrete else _jumps(rng, count, target, scale)
        walk = state.log_joint, jumps, uniforms
        if _is_compiled(target):
            found, values = metropolis(target.model or (), data, here, *walk), count
        else:
            found, values = _tried(target, data, here, *walk)
        if tuning and not discrete:
            missing = wanted_acceptance(target.dim) - float(found.chances[0])
            state = state._replace(tuning=hmc.tuned(state.tuning, missing, knobs.plan))
        accepted = state.accepted + int(found.accepted.sum())
        state = appended(state._replace(log_joint=found.log_joint, accepted=accepted), found.draws)
        words = _words(bool(found.accepted[-1]), state, discrete, scale, tuning)
        scalars = ({} if discrete else {"step_size": scale}) | {"acceptance": state.accepted / max(1, state.iteration)}
        before, last = (found.draws[-2], len(data)) if count > 1 else (here, values * len(data))
        terms = ComputedTerms(partial(hmc.density_terms, target, before, before + jumps[-1], data))
        info = StepInfo(Cost(last, last), words, scalars=scalars, terms=terms)
        if count == 1:  # a step within a block is never drawn
            info = info._replace(paths=partial(_paths, bool(found.accepted[0]), here, here + jumps[0]))
        return StepBlock(state, info, count, Cost(len(data) * values, len(data) * values))


def wanted_acceptance(dim: int) -> float:
    """0.44 in one dimension, down to 0.234: within 0.02 of the best for a Gaussian (1996, table 1)."""
    return WANTED + (WANTED_ALONE - WANTED) / dim


def _is_compiled(target: Target) -> bool:
    """Whether steps are; one through very many data is not: it could not be stopped."""
    return target.model is not None and target.num_data <= PAIRS


def _jumps(rng: Rng, count: int, target: Target, scale: float) -> tuple[Array, Array]:
    """Steps (T, d) and the uniforms (T,) that decide, from one array of normals: cut anywhere, it has the same bits."""
    normals = rng.standard_normal((count, target.dim + 1))
    return scale * OPTIMAL / np.sqrt(target.dim) * target.scale * normals[:, :-1], uniforms_of(normals[:, -1])


def _flip(rng: Rng, here: Array, space: Discrete) -> tuple[Array, Array]:
    """A step (1, d) that changes one coordinate to another of its values, each as likely, and the uniform (1,)."""
    coordinate, others = int(rng.integers(len(here))), np.array(space.values)
    others = others[others != here[coordinate]]
    jump = np.zeros((1, len(here)))
    jump[0, coordinate] = others[rng.integers(len(others))] - here[coordinate]
    return jump, rng.random(1)


def _tried(target: Target, data: Array, here: Array, before: float, jumps: Array, uniforms: Array) -> tuple[Walk, int]:
    """What `metropolis` does, for one proposal on a target whose functions are Python's; and the values asked for."""
    there = here + jumps[0]
    after, asked = hmc.log_joint_at(target, there, data)
    chance = float(np.exp(min(0.0, after - before))) if after > -np.inf else 0.0
    accepted = bool(uniforms[0] < chance)
    end, value = (there, after) if accepted else (here, before)
    return Walk(end[None].copy(), value, np.array([chance]), np.array([accepted])), asked


def _paths(accepted: bool, here: Array, there: Array) -> dict[str, Array]:
    """The step that was tried."""
    return {"accepted" if accepted else "rejected": np.stack([here, there])[None]}


def _words(accepted: bool, state: TunedState, discrete: bool, scale: float, tuning: bool) -> str:
    step = f"scale {scale:.3g} × 2.38/√d prior sd" + (", being tuned" if tuning else "")
    return f"{hmc.verdict_words(accepted, state)} · {'one coordinate changed' if discrete else step}"


# Gibbs sampling (Geman & Geman 1984): each unknown drawn in turn from its conditional given all others.


class GibbsKnobs(ChainKnobs):
    """The knobs of `gibbs`."""


class GibbsState(NamedTuple):
    """The draws so far."""

    older: Array  # (n, d)
    newer: Array  # (k, d)
    iteration: int


class Gibbs(Chain):
    """Gibbs sampling.

    about: Gibbs sampling draws each unknown in turn from its exact conditional distribution, given all the others.
    formula: θ_k ~ p(θ_k | θ_{others}, X)
    what_moves: One point jumps from draw to draw; the dots are the draws that it leaves behind.
    source: Geman, Geman 1984; component labels: Diebolt, Robert 1994
    propagate: prior
    move: Gibbs

    For a mixture the conditional goes by way of the component label of each observation.
    """

    name = "gibbs"
    State = GibbsState
    kernel_groups = ("gibbs",)
    requires = frozenset({"conditionals"})

    def move(self, rng: Rng, state: GibbsState, target: Target, batch: Array, knobs: GibbsKnobs) -> Stepped:
        """One sweep; it goes through all data once."""
        before = position(state)
        after = target.gibbs_sweep(rng, before, batch)
        distance = float(np.linalg.norm(after - before))
        over = "" if target.data is None else f" through all {len(batch):,} data"
        words = f"one sweep{over} · moved {distance:.3g}"
        return appended(state, after[None]), StepInfo(Cost(len(batch), len(batch)), words)
