"""The No-U-Turn sampler (Hoffman, Gelman 2014) with multinomial draws from its trajectories (Betancourt 2017)."""

from functools import partial
from operator import add
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Whole
from pmdviz.methods import optimisers
from pmdviz.methods.base import Stepped, checked_gradient
from pmdviz.methods.mcmc import Chain, appended, position
from pmdviz.methods.mcmc.hmc import LeapfrogKnobs, Phase, TunedState, current_step, is_tuned, leap, log_joint_at, tuned
from pmdviz.methods.step import Cost, Path, Scalar, StepInfo, Term, Work, events
from pmdviz.targets import Target

WANTED = 0.8  # acceptance statistic that the tuning leads to (Hoffman, Gelman 2014, section 4.1)
LARGEST_ERROR = 1000.0  # nats of energy: a trajectory beyond it has diverged (Betancourt 2017, section 6.2)
USUAL_STEPS = 7  # leapfrog steps of a draw that the default budget reckons with: a tree of depth 3
SMALLEST = -1e300  # used for a log density of -inf at the start


class NUTSKnobs(LeapfrogKnobs):
    """The knobs of `nuts`.

    max_depth: A trajectory has at most 2^J - 1 leapfrog steps. Each doubling adds as many steps as there were.
    """

    max_depth = Whole(8, (1, 12), (1, 10), "Maximum tree depth J", basic=True)

    @property
    def longest(self) -> int:
        """Leapfrog steps of the largest tree."""
        return 2**self.max_depth - 1

    def work(self, num_data: int) -> Work:
        """Gradient and density at every leapfrog step of each chain's largest tree."""
        pairs = self.num_chains * self.longest * num_data
        return Work(likelihoods=pairs, gradients=pairs)


STATISTIC = Scalar("acceptance_statistic", "acceptance statistic", "mean over the tree")


class NUTS(Chain):
    """No-U-Turn sampler.

    short_title: NUTS
    about: The No-U-Turn sampler follows Hamiltonian trajectories, doubles them until they turn back, and chooses one of
        their points at random, a late one more readily: the posterior is invariant.
    formula: H(θ, p) = -log p(θ | X) + |p|²/2, θ in prior sds;  leapfrog steps, doubled until (Σp)·p_{first} ≤ 0 or
        (Σp)·p_{last} ≤ 0;  the draw moves to a new half with probability min(1, Σ_{new} exp(-H) / Σ_{old} exp(-H))
    what_moves: One point glides along trajectories as long as they lead away; the dots are the draws it leaves behind.
    source: Hoffman, Gelman 2014; multinomial draws, generalised criterion: Betancourt 2017, appendix A.3 to A.5
    propagate: prior
    move: HMC (until the trajectory turns back; one of its points is chosen at random)
    adapt: step size (over the first draws, by the acceptance statistic)

    flight: As far as the first momentum alone leads in the k leapfrog steps to the point that is drawn.
    slopes: How far the gradients bend the trajectory from that line.

    H(θ, p) = -log p(θ, X) + |p|²/2, θ in prior sds. A fresh momentum p ~ N(0, I) starts a tree of one point. A doubling
    goes forward or backward in time, at random, by as many leapfrog steps as the tree has points. A new half that
    turns back within itself, or that diverges, is discarded, and the tree is done. Otherwise the draw moves to the new
    half with probability min(1, w_new / w_old), w the sums of exp(-H), and the tree is done once it turns back as a
    whole. Within a half points are drawn by exp(-H) (multinomial). Both choices leave the density exp(-H) invariant.

    The metric is fixed, diag(prior variances), and only the time step is tuned: Stan also adapts the metric, and needs
    far fewer leapfrog steps where the posterior's scales or correlations differ from the prior's. A trajectory has
    diverged where H is 1,000 nats above its start, leaves a million prior sds, or the gradient is not finite.
    """

    name = "nuts"
    State = TunedState
    requires = frozenset({"reals", "gradient"})
    scalars = (optimisers.STEP_SIZE, STATISTIC, Scalar("leapfrog_steps", "leapfrog steps", "per draw", True))
    marks = ("diverged",)
    paths = (Path("kept", "tree"), Path("discarded", "discarded half"))
    update = optimisers.move_update(
        Term("flight", "first momentum", "k ε S p"),
        Term("slopes", "slopes along it", "+ ε^{2} S^{2} Σ_{i<k} (k − i) ∇ log p(θ_i), half of i = 0"),
    )

    def rows_per_draw(self, target: Target, knobs: NUTSKnobs) -> float:
        """A gradient, and a density unless it comes in the same pass, for each leapfrog step of a usual tree."""
        return min(USUAL_STEPS, knobs.longest) * (1 + (not knobs.one_pass)) * target.num_data

    def move(self, rng: Rng, state: TunedState, target: Target, batch: Array, knobs: NUTSKnobs) -> Stepped:
        """A tree from a fresh momentum, and the point that is drawn from it."""
        at, momentum = _known(state, target, batch), rng.standard_normal(target.dim)
        asked = int(state.gradient is None)
        eps, tuning = current_step(state, knobs), is_tuned(state, knobs)
        tree, discarded, depth = doubled(rng, Motion(target, batch, eps), at._replace(momentum=momentum), knobs)
        steps, chance = max(tree.asked.steps, 1), tree.asked.chances / max(tree.asked.steps, 1)
        flight = tree.drawn.steps * eps * target.scale * momentum
        state = state._replace(log_joint=tree.drawn.log_joint, gradient=tree.drawn.gradient.copy())
        if tuning:
            state = state._replace(tuning=tuned(state.tuning, WANTED - chance, knobs.plan))
        state = appended(state, tree.drawn.theta[None])
        gradients, values = tree.asked.gradients + asked, (tree.asked.values + asked) * (not knobs.one_pass)
        words = f"{steps} leapfrog steps, tree depth {depth} · acceptance statistic {chance:.2f} · "
        words += f"time step {eps:.3g} prior sd" + (", being tuned" if tuning else "")
        diverged = discarded is not None and discarded.ended == "diverged"
        cost = Cost(*(len(batch) * count for count in (gradients + values, values, gradients)))
        happened = events(diverged=f"the energy was off by more than {LARGEST_ERROR:,.0f} nats" if diverged else "")
        scalars = {"step_size": eps, "acceptance_statistic": chance, "leapfrog_steps": float(steps)}
        terms = {"flight": flight[None], "slopes": (tree.drawn.theta - at.theta - flight)[None]}
        paths, numbers = partial(_paths, tree, discarded), {"ε": eps, "k": float(tree.drawn.steps)}
        return state, StepInfo(cost, words, happened, scalars, terms, paths, numbers=numbers)


class Point(NamedTuple):
    """A point of a trajectory, with the values there."""

    theta: Array  # (d,)
    momentum: Array  # (d,)
    log_joint: float  # nats
    gradient: Array  # (d,) of log_joint
    steps: int = 0  # leapfrog steps from the start, below 0 backward in time

    @property
    def energy(self) -> float:
        """H, in nats."""
        return 0.5 * float((self.momentum**2).sum()) - self.log_joint


class Asked(NamedTuple):
    """What trees have cost, those discarded too, and the sum of their points' chances min(1, exp(-ΔH))."""

    steps: int = 0
    gradients: int = 0
    values: int = 0
    chances: float = 0.0


class Tree(NamedTuple):
    """Points of a trajectory, one after the other in time."""

    first: Point
    last: Point
    drawn: Point  # one of them
    log_weight: float  # log of the sum of exp(-ΔH) over them, ΔH from the start
    momentum: Array  # (d,) sum over them
    thetas: tuple[Array, ...]  # where they are, for a picture
    asked: Asked
    ended: str = ""  # "turned" or "diverged": it is not to be continued


class Motion(NamedTuple):
    """Leapfrog steps of log_joint - |p|²/2 on data, in prior sds."""

    target: Target
    data: Array
    time_step: float

    def leap(self, at: Point, way: int) -> tuple[Point, int, int]:
        """One step forward (1) or backward (-1) in time; and the gradients and values that it took.

        Where the step leaves a million prior sds, or the gradient is not finite, the log joint is -inf.
        """
        start = Phase(at.theta, at.momentum, at.gradient)
        theta, momentum, gradient, gradients, diverged = leap(self.target, start, way * self.time_step, self.data)
        log_joint, values = (-np.inf, 0) if diverged else log_joint_at(self.target, theta, self.data)
        return Point(theta, momentum, log_joint, gradient, at.steps + way), gradients, values


def doubled(rng: Rng, motion: Motion, start: Point, knobs: NUTSKnobs) -> tuple[Tree, Tree | None, int]:
    """The tree from a start, the half that was discarded at its end or None, and how often it was doubled."""
    tree = _leaf(start, 0.0, Asked())
    for depth in range(knobs.max_depth):
        way = 1 if rng.random() < 0.5 else -1
        half = grown(rng, motion, tree, way, depth, start.energy)
        if half.ended:
            return tree._replace(asked=_sum(tree.asked, half.asked)), half, depth
        drawn = half.drawn if np.log1p(-rng.random()) < half.log_weight - tree.log_weight else tree.drawn
        tree = joined(tree, half, way)._replace(drawn=drawn)
        if tree.ended:
            return tree, None, depth + 1
    return tree, None, knobs.max_depth


def grown(rng: Rng, motion: Motion, tree: Tree, way: int, depth: int, start: float) -> Tree:
    """2^depth leapfrog steps on from the end of a tree that lies that `way`; `start` is the energy at the start."""
    if depth == 0:
        point, gradients, values = motion.leap(tree.last if way > 0 else tree.first, way)
        gained = start - point.energy
        return _leaf(point, gained, Asked(1, gradients, values, float(np.exp(min(0.0, gained)))))
    near = grown(rng, motion, tree, way, depth - 1, start)
    if near.ended:
        return near
    far = grown(rng, motion, near, way, depth - 1, start)
    both = joined(near, far, way)
    drawn = far.drawn if np.log1p(-rng.random()) < far.log_weight - both.log_weight else near.drawn
    return both._replace(drawn=drawn)


def joined(tree: Tree, more: Tree, way: int) -> Tree:
    """Both trees as one, the second one after the first in time (1) or before it (-1); `drawn` is the first's."""
    earlier, later = (tree, more) if way > 0 else (more, tree)
    log_weight = float(np.logaddexp(tree.log_weight, more.log_weight))
    sums = earlier.momentum + later.momentum, earlier.thetas + later.thetas, _sum(tree.asked, more.asked)
    ended = more.ended or ("turned" if turns(earlier, later) else "")
    return Tree(earlier.first, later.last, tree.drawn, log_weight, *sums, ended)


def turns(earlier: Tree, later: Tree) -> bool:
    """Whether ρ·p ≤ 0 at an end, ρ the sum of the momenta: of both trees, and of each with the next point of the other.

    The generalised criterion (Betancourt 2017, appendix A.4.2); the checks across the seam come from Stan.
    """
    seams = (
        (earlier.momentum + later.momentum, earlier.first, later.last),
        (earlier.momentum + later.first.momentum, earlier.first, later.first),
        (earlier.last.momentum + later.momentum, earlier.last, later.last),
    )
    return any((rho * end.momentum).sum() <= 0 for rho, *ends in seams for end in ends)


def _leaf(point: Point, gained: float, asked: Asked) -> Tree:
    """A tree of one point whose energy is `gained` nats below that at the start."""
    ended = "" if gained > -LARGEST_ERROR else "diverged"
    return Tree(point, point, point, gained, point.momentum, (point.theta,), asked, ended)


def _sum(one: Asked, other: Asked) -> Asked:
    return Asked(*map(add, one, other))


def _known(state: TunedState, target: Target, data: Array) -> Point:
    """The point where the chain is, without a momentum."""
    theta, log_joint, gradient = position(state), state.log_joint, state.gradient
    if gradient is None or log_joint is None:
        log_joint, gradient = log_joint_at(target, theta, data)[0], checked_gradient(target, theta[None], data)[0]
    return Point(theta, np.zeros(target.dim), max(log_joint, SMALLEST), gradient)


def _paths(tree: Tree, discarded: Tree | None) -> dict[str, Array]:
    """The leapfrog steps between the points, (n, 2, d), of the tree and of the discarded subtrees."""
    found = {"kept": tree, "discarded": discarded}
    lines = {name: np.array(one.thetas) for name, one in found.items() if one is not None and len(one.thetas) > 1}
    return {name: np.stack([points[:-1], points[1:]], axis=1) for name, points in lines.items()}
