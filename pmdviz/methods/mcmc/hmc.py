"""HMC (Duane et al. 1987; Neal 2011) and MALA (Roberts, Tweedie 1996): leapfrog trajectories, accepted or refused."""

from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pmdviz.kernels.chains import Start, Trajectories, hamiltonian, uniforms_of
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Flag, KnobSpec, Real, Whole
from pmdviz.methods import optimisers
from pmdviz.methods.base import REACH, Stepped, checked_gradient, checked_log_likelihood, checked_log_prior
from pmdviz.methods.mcmc import ACCEPTANCE, Chain, ChainKnobs, Pool, appended, position
from pmdviz.methods.step import ComputedTerms, Cost, Path, StepBlock, StepInfo, Term, Terms, Update, Work, events, total
from pmdviz.targets.base import IN_SILENCE, Target

# How chains that accept or reject find their step: dual averaging towards a share of accepted proposals.

FIRST_TIME_STEP = 0.1  # where the tuning starts
T0, KAPPA = 10.0, 0.75  # of dual averaging, with the names and values of Hoffman & Gelman 2014, section 3.2


class Plan(NamedTuple):
    """How the step is tuned."""

    draws: int  # for so many
    towards: float  # mu, the step that the tuning is drawn to
    gamma: float  # the smaller, the less it is


# Hoffman & Gelman's mu and gamma try steps ten times the first, which only a long burn-in can afford. Where the burn-in
# is a share of the draws, and the run may be over after a dozen of them, the tuning stays near where it starts (ours).
GENTLE = Plan(50, FIRST_TIME_STEP, 0.2)


NOT_TUNED = ("tune", False)


def tune_knob(step: str) -> KnobSpec[bool]:
    """Whether the `step`, in words, is tuned."""
    averaging = "Dual averaging takes the first 50 draws, or a burn-in that is given as a number"
    doc = f"The {step} is tuned to a target acceptance rate. {averaging}; then the {step} stays fixed."
    return Flag(True, f"Tune the {step}", basic=True, doc=doc)


class TunedKnobs(ChainKnobs):
    """The knobs of a chain whose step may be tuned: a subclass has `tune`, and names the step without it."""

    tune: bool
    step_knob: ClassVar[str] = "time_step"

    @property
    def plan(self) -> Plan:
        """How the step is tuned: over a burn-in that is a number of draws, or else gently over the first 50."""
        if 0 < self.burn_in < 1:
            return GENTLE
        return Plan(int(self.burn_in), 10 * FIRST_TIME_STEP, 0.05)


class Tuning(NamedTuple):
    """Dual averaging of the log step (Hoffman & Gelman 2014, Eq. 6)."""

    steps: int = 0
    shortfall: float = 0.0  # H, a running mean of wanted minus found acceptance
    log_step: float = float(np.log(FIRST_TIME_STEP))
    averaged: float = float(np.log(FIRST_TIME_STEP))  # of log_step, late ones counting more


class TunedState(NamedTuple):
    """The draws so far of a chain that accepts or rejects, and the values at the last of them."""

    older: Array  # (n, d)
    newer: Array  # (k, d)
    iteration: int
    log_joint: float | None = None  # nats; None until the first step has visited the data
    gradient: Array | None = None  # (d,) of log_joint, where the chain needs it
    accepted: int = 0  # proposals so far
    tuning: Tuning = Tuning()


def current_step(state: TunedState, knobs: TunedKnobs) -> float:
    """The knob; with tuning the one being tried while it lasts, and the averaged one from then on."""
    if not knobs.tune:
        return getattr(knobs, knobs.step_knob)
    tuning = state.tuning
    return float(np.exp(tuning.log_step if state.iteration < knobs.plan.draws else tuning.averaged))


def tuned(tuning: Tuning, missing: float, plan: Plan) -> Tuning:
    """One step of dual averaging; `missing` is the wanted acceptance minus the one found."""
    t = tuning.steps + 1
    shortfall = tuning.shortfall + (missing - tuning.shortfall) / (t + T0)
    log_step = float(np.log(plan.towards) - np.sqrt(t) / plan.gamma * shortfall)
    averaged = t**-KAPPA * log_step + (1 - t**-KAPPA) * tuning.averaged
    return Tuning(t, shortfall, log_step, averaged)


def is_tuned(state: TunedState, knobs: TunedKnobs) -> bool:
    """Whether the next step still changes the one that is tuned."""
    return bool(knobs.tune and state.iteration < knobs.plan.draws)


# One trajectory of the leapfrog on a target whose functions are Python's: what `kernels.chains` does compiled.


class Phase(NamedTuple):
    """A point of a trajectory: a place and a momentum."""

    theta: Array  # (d,)
    momentum: Array  # (d,)
    gradient: Array  # (d,) of log_joint; where the trajectory has diverged the last one that is finite
    num_gradients: int = 0  # that it took to come here
    diverged: bool = False


def leap(target: Target, at: Phase, time_step: float, data: Array) -> Phase:
    """One leapfrog step of log_joint - |p|²/2 in prior sds; a negative time step goes back in time.

    It diverges where it leaves a million prior sds or the gradient is not finite: the step was far too long.
    """
    unit = target.scale
    momentum = at.momentum + 0.5 * time_step * unit * at.gradient
    theta = at.theta + time_step * unit * momentum
    if not (np.abs(theta) <= REACH * unit).all():
        return Phase(theta, momentum, at.gradient, at.num_gradients, True)
    gradient = target.grad_log_joint(theta[None], data)[0]
    if not np.isfinite(gradient).all():
        return Phase(theta, momentum, at.gradient, at.num_gradients + 1, True)
    return Phase(theta, momentum + 0.5 * time_step * unit * gradient, gradient, at.num_gradients + 1)


def followed(
    target: Target, data: Array, start: Start, momentum: Array, num_steps: int, uniform: float, time_step: float
) -> Trajectories:
    """What `hamiltonian` does, for one trajectory on a target whose functions are Python's."""
    theta, before, gradient = start
    end = trajectory(target, Phase(theta, momentum, gradient), time_step, num_steps, data)[-1]
    log_joint, asked = (-np.inf, 0) if end.diverged else log_joint_at(target, end.theta, data)
    chance = acceptance(before, log_joint, momentum, end.momentum)
    accepted = bool(uniform < chance)
    if accepted:
        theta, before, gradient = end.theta, log_joint, end.gradient
    counts = np.array([end.num_gradients]), np.array([asked])
    outcome = np.array([chance]), np.array([accepted]), np.array([end.diverged])
    return Trajectories(theta[None].copy(), before, gradient.copy(), *counts, *outcome, 1)


def trajectory(target: Target, start: Phase, time_step: float, num_steps: int, data: Array) -> list[Phase]:
    """Up to `num_steps` leapfrog steps from a start, which comes first."""
    points = [start]
    while len(points) <= num_steps and not points[-1].diverged:
        points.append(leap(target, points[-1], time_step, data))
    return points


def acceptance(before: float, after: float, momentum: Array, end_momentum: Array) -> float:
    """min(1, exp(-ΔH)) for H = -log_joint + |p|²/2; 0 where the end has density 0."""
    if after == -np.inf:
        return 0.0
    gained = after - before + 0.5 * float((momentum**2).sum() - (end_momentum**2).sum())
    return float(np.exp(min(0.0, gained)))


def log_joint_at(target: Target, theta: Array, data: Array) -> tuple[float, int]:
    """log_joint at theta (d,), and how often the likelihood was asked: not outside the prior's support."""
    prior = checked_log_prior(target, theta[None])
    if prior[0] == -np.inf:
        return -np.inf, 0
    return float(prior[0] + checked_log_likelihood(target, theta[None], data, may_vanish=True)[0]), 1


# Terms of the ratio by which a chain accepts a proposal: log densities, and energies of a trajectory.


def ratio_update(*terms: Term) -> Update:
    """A proposal is accepted where log α is above the log of a uniform number on [0, 1]."""
    return Update("ratio", "log α", "log of the acceptance ratio", "nats", terms)


def density_terms(target: Target, here: Array, there: Array, data: Array) -> dict[str, Array]:
    """By how much prior and likelihood are higher there than here (d,), nats: (1,) each.

    Outside the prior's support the likelihood is not asked for: the prior alone says no.
    """
    points = np.stack([here, there])
    prior = checked_log_prior(target, points)
    likelihood = checked_log_likelihood(target, points, data, prior > -np.inf, may_vanish=True)
    if prior[1] == -np.inf:
        likelihood[1] = likelihood[0]
    return {"prior": _risen(prior), "likelihood": _risen(likelihood)}


@IN_SILENCE
def energy_terms(target: Target, theta: Array, momentum: Array, time_step: float, num_steps: int, data: Array) -> Terms:
    """By how much potential and kinetic energy fall along a trajectory from theta with a momentum (d,): (1,) each.

    Where it diverges the potential at its end is infinite, whatever its momentum.
    """
    gradient = target.grad_log_joint(theta[None], data)[0]
    end = trajectory(target, Phase(theta, momentum, gradient), time_step, num_steps, data)[-1]
    before = log_joint_at(target, theta, data)[0]
    after = -np.inf if end.diverged else log_joint_at(target, end.theta, data)[0]
    fallen = 0.0 if end.diverged else 0.5 * float((momentum**2).sum() - (end.momentum**2).sum())
    return {"potential": _risen(np.array([before, after])), "kinetic": np.array([fallen])}


def _risen(values: Array) -> Array:
    """The second less the first, (1,); -inf where both are."""
    return values[1:] - values[:1] if values[1] > -np.inf else values[1:]


LEAP_PAIRS = 2**22  # gradients of one observation that one compiled call computes at most: a few ms


class LeapfrogKnobs(TunedKnobs):
    """The knobs of chains that accept or reject.

    time_step: Length of one leapfrog step; larger steps are rejected more often.
    one_pass: Changes how the cost is counted, not the draws. On: value and gradient at one point count as one pass over
        the data. Off: each counts separately, because each is computed here.
    """

    tune = tune_knob("time step")
    time_step = Real(0.1, (1e-9, 1000), (0.001, 2), "Time step ε", "prior sd", log=True, basic=True, only_if=NOT_TUNED)
    one_pass = Flag(False, "Count value and gradient once")

    @property
    def longest(self) -> int:
        """Leapfrog steps that a trajectory has at most."""
        return 1

    def work(self, num_data: int) -> Work:
        """The gradients of each chain's longest trajectory, and the density at its end."""
        trajectories = self.num_chains * num_data
        return Work(likelihoods=trajectories, gradients=self.longest * trajectories)


class LeapfrogChain(Chain):
    """θ, p -> leapfrog of log_joint(θ) - |p|²/2 -> accepted with probability min(1, exp(-ΔH)).

    Subclasses say how many leapfrog steps trajectories have and which acceptance the tuning leads to.
    """

    State = TunedState
    scalars = (optimisers.STEP_SIZE, ACCEPTANCE)
    marks = ("diverged",)
    paths = (Path("accepted", "accepted"), Path("rejected", "rejected"))
    requires = frozenset({"reals", "gradient"})
    wanted_acceptance: ClassVar[float]

    def lengths(self, uniforms: Array, knobs: LeapfrogKnobs) -> Array:
        """Leapfrog steps of trajectories (T,), by uniforms (T,): 1 .. the longest alike (Neal 2011, section 3.2)."""
        return np.minimum(1 + (uniforms * knobs.longest).astype(np.int64), knobs.longest)

    def rows_per_draw(self, target: Target, knobs: LeapfrogKnobs) -> float:
        """The gradients of a trajectory that has every length alike, and the density at its end."""
        return ((1 + knobs.longest) / 2 + (not knobs.one_pass)) * target.num_data

    def move(self, rng: Rng, state: TunedState, target: Target, batch: Array, knobs: LeapfrogKnobs) -> Stepped:
        """One trajectory from a fresh momentum, accepted or rejected; the first step also visits the start."""
        asked = Cost()
        if state.gradient is None:
            log_joint, values = log_joint_at(target, position(state), batch)
            gradient = checked_gradient(target, position(state)[None], batch)[0]
            state = state._replace(log_joint=log_joint, gradient=gradient)
            asked = _cost(0 if knobs.one_pass else values * len(batch), len(batch))
        block = self.step_many(rng, state, target, batch, 1, knobs, 1)
        return block.state, block.info._replace(cost=total(asked, block.info.cost))

    def max_block(self, state: TunedState, knobs: LeapfrogKnobs, target: Target, rows: int) -> int:
        """One of a pool, while the time step is tuned, at the start, and where the gradient is a Python function."""
        if isinstance(state, Pool) or state.gradient is None or is_tuned(state, knobs):
            return 1
        if not self._is_compiled(target, knobs):
            return 1
        return max(1, LEAP_PAIRS // ((knobs.longest + 1) * target.num_data))

    def _is_compiled(self, target: Target, knobs: LeapfrogKnobs) -> bool:
        """Whether trajectories are; a long one through many data is not: it could not be stopped."""
        return target.model is not None and knobs.longest * target.num_data <= LEAP_PAIRS

    def step_many(
        self, rng: Rng, state: TunedState, target: Target, data: Array, count: int, knobs: LeapfrogKnobs, rows: int
    ) -> StepBlock:
        """Up to `count` trajectories in one compiled call, until `rows` of data were visited."""
        before, (lengths, momenta, uniforms) = rng.bit_generator.state, self._drawn(rng, count, target.dim, knobs)
        tuning, time_step = is_tuned(state, knobs), current_step(state, knobs)
        start = position(state), state.log_joint, state.gradient
        if self._is_compiled(target, knobs):
            unit, most = target.scale, -(-rows // len(data))
            given = target.model or (), data, start, momenta, lengths, uniforms, time_step, unit, REACH * unit, most
            found = hamiltonian(*given, value_costs=int(not knobs.one_pass))
        else:
            found = followed(target, data, start, momenta[0], int(lengths[0]), uniforms[0], time_step)
        if found.made < count:
            rng.bit_generator.state = before
            self._drawn(rng, found.made, target.dim, knobs)
        way = target, Phase(start[0], momenta[0], start[2]), time_step, int(lengths[0]), data
        last = found.made - 1
        here, length = (found.draws[last - 1] if last else start[0]), int(lengths[last])
        terms = ComputedTerms(partial(energy_terms, target, here, momenta[last], time_step, length, data))
        state = self._moved(state, found, knobs.plan if tuning else None)
        words = _words(found, state, time_step, length, tuning)
        if knobs.one_pass:
            found = found._replace(num_values=0 * found.num_values)
        values, gradients = found.num_values[: last + 1] * len(data), found.num_gradients[: last + 1] * len(data)
        happened = events(diverged="the proposal was rejected" if found.diverged[last] else "")
        scalars = {"step_size": time_step, "acceptance": state.accepted / max(1, state.iteration)}
        info = StepInfo(_cost(int(values[-1]), int(gradients[-1])), words, happened, scalars, terms)
        if count == 1:  # a step within a block is never drawn
            info = info._replace(paths=partial(_paths, bool(found.accepted[0]), *way))
        return StepBlock(state, info, found.made, _cost(int(values.sum()), int(gradients.sum())))

    def _drawn(self, rng: Rng, count: int, dim: int, knobs: LeapfrogKnobs) -> tuple[Array, Array, Array]:
        """Lengths (T,), momenta (T, d) and the uniforms (T,) that decide, of the next T trajectories.

        All from one array of normals: cut in two anywhere, it has the same bits.
        """
        normals = rng.standard_normal((count, dim + 2))
        return self.lengths(uniforms_of(normals[:, 0]), knobs), normals[:, 1:-1], uniforms_of(normals[:, -1])

    def _moved(self, state: TunedState, found: Trajectories, plan: Plan | None) -> TunedState:
        """The state after the trajectories."""
        accepted = state.accepted + int(found.accepted[: found.made].sum())
        state = state._replace(log_joint=found.log_joint, gradient=found.gradient, accepted=accepted)
        if plan is not None:
            state = state._replace(tuning=tuned(state.tuning, self.wanted_acceptance - float(found.chances[0]), plan))
        return appended(state, found.draws[: found.made])


def _paths(accepted: bool, *way: Any) -> dict[str, Array]:
    """The trajectory, leapfrog step after leapfrog step, as far as it does not diverge."""
    points = np.array([point.theta for point in trajectory(*way) if not point.diverged])
    return {"accepted" if accepted else "rejected": np.stack([points[:-1], points[1:]], axis=1)}


def _cost(values: int, gradients: int) -> Cost:
    """Every value and every gradient that is counted goes through its rows by itself."""
    return Cost(values + gradients, values, gradients)


def _words(found: Trajectories, state: TunedState, time_step: float, num_steps: int, tuning: bool) -> str:
    last = found.made - 1
    parts = [verdict_words(found.accepted[last], state, " (the trajectory diverged)" * int(found.diverged[last]))]
    parts += [f"time step {time_step:.3g} prior sd" + (", being tuned" if tuning else "")]
    parts += [f"{num_steps} leapfrog step{'s' if num_steps > 1 else ''}"]
    return " · ".join(parts)


def verdict_words(accepted: bool, state: TunedState, why: str = "") -> str:
    """Whether the last proposal was accepted, else why not, and the share of all so far."""
    verdict = "accepted" if accepted else f"rejected{why}"
    return f"{verdict}; {state.accepted / state.iteration:.0%} of {state.iteration:,} proposals accepted so far"


class HMCKnobs(LeapfrogKnobs):
    """The knobs of `hmc`.

    leapfrog_steps: Each trajectory uses a random number of leapfrog steps, from 1 to L: a fixed number can be periodic.
    """

    leapfrog_steps = Whole(6, (1, 1000), (1, 50), "Leapfrog steps L", log=True, basic=True)

    @property
    def longest(self) -> int:
        """The knob."""
        return self.leapfrog_steps


class HMC(LeapfrogChain):
    """Hamiltonian Monte Carlo.

    short_title: HMC
    about: Hamiltonian Monte Carlo treats the negative log posterior as a landscape, gives a point a random push, and
        follows its motion to a distant proposal.
    formula: H(θ, p) = -log p(θ | X) + |p|²/2, θ in prior sds;  accept with probability min(1, exp(-ΔH))
    what_moves: One point glides along trajectories; the dots are the draws that it leaves behind.
    source: Duane et al. 1987; Neal 2011; time step by dual averaging: Hoffman, Gelman 2014, section 3.2
    propagate: prior
    move: HMC
    adapt: step size (over the first draws)

    potential: How much higher the log density is at the end of the trajectory than at its start.
    kinetic: The change of kinetic energy: with exact dynamics both terms add up to 0.

    The metric is fixed: the inverse mass matrix is the diagonal of the prior's variances, and only the time step is
    tuned. A trajectory that leaves a million prior sds, or whose gradient is not finite, is reported as diverged; a
    large error of the energy is not, because the end is then rejected. `nuts` reports it.
    """

    name = "hmc"
    chain_kernels = "trajectories"
    wanted_acceptance = 0.8
    update = ratio_update(
        Term("potential", "potential energy lost", "log p(θ′ | X) − log p(θ | X)"),
        Term("kinetic", "kinetic energy lost", "+ |p|^{2}/2 − |p′|^{2}/2"),
    )


# The Metropolis-adjusted Langevin algorithm (Roberts & Tweedie 1996): a Langevin step that may be rejected.


class MALAKnobs(LeapfrogKnobs):
    """The knobs of `mala`."""


class MALA(LeapfrogChain):
    """Metropolis-adjusted Langevin.

    short_title: MALA
    about: MALA proposes a small step uphill plus noise, and accepts or rejects it so that the posterior is invariant.
    formula: θ' = θ + ε²/2 S² ∇ log p(θ | X) + ε S ξ,  ξ ~ N(0, I), S the prior's sds
    what_moves: One point drifts uphill with noise, or stays where it is; the dots are the draws that it leaves behind.
    source: Roberts, Tweedie 1996; acceptance 0.574: Roberts, Rosenthal 1998; tuning: Hoffman, Gelman 2014
    propagate: prior
    move: MALA
    adapt: step size (over the first draws)

    potential: How much higher the log density is at the proposal than at the present point.
    kinetic: How much denser the way back is proposed than the way there, in logs.

    The time step is in prior sds S: θ' ~ N(θ + ε²/2 S² ∇, ε² S²), accepted as in Metropolis, Hastings.
    """

    name = "mala"
    chain_kernels = "trajectories"
    wanted_acceptance = 0.574
    update = ratio_update(
        Term("potential", "posterior", "log p(θ′ | X) − log p(θ | X)"),
        Term("kinetic", "proposal", "+ log q(θ | θ′) − log q(θ′ | θ)"),
    )
