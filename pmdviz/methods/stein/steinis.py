"""Importance sampling along a Stein flow (Han 2019): weights of followers, and the area under the discrepancy.

    y <- y + e phi(y),   log q(y) <- log q(y) - log |det(I + e J(y))|,   log w = log p(y, X) - log q(y)

with phi the Stein force of a few leaders, and J its Jacobian (Algorithm 3). Both are computed with y in units of the
prior's sds s and gradients times s, which changes no determinant. The kernel's squared width is
factor med^2 / (2 log(A + 1)) for A leaders with median distance med. All data count in every step. In `SteinIS.step`:
the leaders' gradients, the move of all points with their log q (`displaced`), and now and then the weights of the
followers (`weighted`).
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import effective_sample_size
from pmdviz.densities.product import Smoothed
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.stein import transport_diagonal
from pmdviz.knobs import Choice, Whole
from pmdviz.methods import optimisers, stein, weighting
from pmdviz.methods.base import Stepped, check_reach, checked_gradient, checked_log_likelihood, checked_log_prior
from pmdviz.methods.step import Cost, Path, Scalar, StepInfo, Term, Terms, Work, events
from pmdviz.targets import Target

FIRST_CHECKS, EVERY = (1, 2, 5), 10  # steps after which the weights are asked for, where the best one is kept


WAYS = {"exact": "of the whole matrix", "first_order": "first order, of the diagonal"}
STOPS = {"pilot": "best ESS of a pilot group", "followers": "best ESS of the followers", "last": "last step"}


BY_PILOTS = ("stop", "pilot")


class SteinISKnobs(weighting.SmoothingKnobs):
    """The knobs of `steinis`.

    num_particles: Followers: weighted points that the leaders move, each on its own.
    num_leaders: Unweighted points that move as in SVGD and whose force moves the followers.
    eta: The step size is η/t^κ at step t, times the prior's variance in each coordinate.
    determinant: How much a step stretches space at a follower. Of the whole matrix: |det(I + εJ)|, at d³ operations a
        follower. First order: the product of the diagonal of I + εJ, at d operations; log q is off by order ε² per
        step, and the estimate of Z is biased.
    stop: From which step the followers are kept: too many steps sweep them into knots next to the leaders. Best ESS of
        a pilot group: other followers decide, and with the exact determinant the estimate of Z stays unbiased. Best ESS
        of the followers: they decide themselves, at a small bias. Last step: as unbiased, however far they were swept.
    num_pilots: Followers that decide when to stop and count for nothing else.
    """

    num_particles = weighting.NUM_PARTICLES.at(200, softbounds=(20, 5_000), acts="rejuvenation")
    num_leaders = Whole(100, (1, 10_000), (10, 1_000), "Leaders", log=True, basic=True, acts="restart")
    eta = optimisers.ETA.at(0.25)
    kappa = optimisers.STEP_DECAY.at(0.5)
    length_scale_factor = stein.WIDTH_FACTOR.at(4.0)
    determinant = Choice("exact", WAYS, "Determinant", acts="restart")
    stop = Choice("pilot", STOPS, "Followers kept", basic=True, acts="restart")
    num_pilots = Whole(100, (2, 10_000), (20, 1_000), "Pilot group", log=True, acts="restart", only_if=BY_PILOTS)

    @property
    def pilots(self) -> int:
        """How many there are."""
        return self.num_pilots if self.stop == "pilot" else 0

    def is_checked(self, t: int) -> bool:
        """Whether the weights are asked for after step t: always where the last step is the one that counts."""
        return self.stop == "last" or t in FIRST_CHECKS or t % EVERY == 0

    def work(self, num_data: int) -> Work:
        """A force on every point from every leader, gradients of the leaders, likelihoods of the others."""
        followers = self.num_particles + self.pilots
        kernels = self.num_leaders * (self.num_leaders + followers)
        return Work(kernels, likelihoods=followers * num_data, gradients=self.num_leaders * num_data)


STEPS = 200  # that the default budget is enough for
ARROWS = 50  # followers whose force a picture shows
SWEPT, STUCK = 0.5, 0.05  # share of the best ESS; share of followers, above which the step reports it
STILL = 1e-3  # sds of what the followers were drawn from


class SteinISState(NamedTuple):
    """Leaders, and followers with the log density that they were drawn and moved to."""

    particles: Array  # (m, d) followers, of the step that is kept
    log_weights: Array  # (m,) logsumexp 0
    leaders: Array  # (A, d)
    led_from: Array  # (A, d) where they were before the last step
    scores: Array  # (A, d) gradients of log p there
    points: Array  # (m + P, d) followers and pilots of the present step
    log_q: Array  # (m + P,) nats
    starts: Array  # (m, d) where the followers were drawn
    folded: Array  # (m,) 1.0 where det(I + εJ) was 0 or negative in some step, else 0.0
    log_z: float | None  # log mean of p / q over the followers kept, nats
    kept: int  # the step that they are of
    best: float  # highest ESS so far of those that decide: a share of them
    best_at: int
    share: float  # their ESS at the last check
    step: float  # that was made last, in prior variances; 0.0 before the first
    iteration: int

    @property
    def num_pilots(self) -> int:
        """P: as many as were drawn at the start, whatever `stop` says since."""
        return len(self.points) - len(self.particles)


class SteinIS(weighting.SmoothedMethod):
    """Stein variational importance sampling.

    short_title: SteinIS
    about: Stein variational importance sampling moves followers along the force of leaders, tracks their density,
        and weights them by it.
    formula: y ← y + ε φ(y),  log q(y) ← log q(y) - log |det(I + ε ∇φ(y))|,  w = p(y) / q(y)
    what_moves: Leaders move as in SVGD; followers move with them, and change weight as space is stretched.
    source: Han 2019 (thesis), Algorithm 3; Han and Liu 2017; the pilot group and shortened steps: ours
    propagate: prior
    reweight: density ratio (the density of the followers is kept along the way)
    move: Stein force (of the leaders)
    adapt: step size + kernel width + stopping (pilots say which followers are kept)

    target: Prior times likelihood, where the follower is now.
    density: What it was drawn from, stretched by all steps since: where followers are dense each counts for less.

    phi is the Stein force of the leaders alone, which move by it too (Algorithm 3; the determinant (0.50)). Followers
    are independent of one another given the leaders, until m changes: then they are resampled together. So with the
    exact determinant the mean of w over them is an unbiased estimate of Z where every map is one-to-one, q is above 0
    where p is, and nothing that decides looks at them: neither the step sizes, shortened (`unfolded`) by the leaders
    and the pilot group alone, nor the step that is kept. With `stop` "followers" the best of several estimates is
    chosen by its own weights, and that is biased. To first order log q is off by order ε² per step, and Z-hat is
    biased. Ratios such as the posterior mean are consistent and no more in any case. That a map is one-to-one is
    tested at the leaders and pilots (the symmetric part of I + εJ is at least 0.2; to first order each entry of its
    diagonal is): a test at points, not a proof for all of space.

    The thesis has KL(q, p) fall forever. That holds of infinitely many leaders. A hundred of them come to rest where
    they feel no force, and the followers do not: they are swept on into knots between the leaders and strings around
    them, KL has a minimum, and the ESS falls (measured on `gmm`; not onto the leaders, which repel them): the best
    step must be kept.
    """

    name = "steinis"
    requires = frozenset({"reals", "gradient"})
    kernel_groups = ("steinis", "svgd")
    estimates_log_z = True
    scalars = (
        optimisers.STEP_SIZE,
        *weighting.SCALARS,
        stein.width_scalar("prior sds"),
        Scalar("moving_ess", "ESS of those that decide", "share"),
        Scalar("smallest_stretch", "smallest determinant of the step"),
    )
    marks = ("limited",)
    paths = (Path("flow", "force of the leaders", True),)
    budget_words = f"{STEPS} steps"
    update = weighting.update(
        Term("target", "density of the target", "log p(y, X)"),
        Term("density", "density of the followers", "− log q(y)"),
    )

    def default_budget(self, target: Target, knobs: SteinISKnobs) -> int:
        """For 200 steps: passes over the data, or without any so many evaluations a follower."""
        checks = sum(map(knobs.is_checked, range(1, STEPS + 1)))
        if target.data is not None:
            return (STEPS + checks) * target.num_data
        asked = STEPS * knobs.num_leaders + checks * (knobs.num_particles + knobs.pilots)
        return asked // knobs.num_particles

    def init(self, rng: Rng, target: Target, knobs: SteinISKnobs) -> SteinISState:
        """Leaders, followers and pilots, all drawn from the prior."""
        m = knobs.num_particles
        points, log_q = weighting.prior_draws(rng, target, m + knobs.pilots)
        leaders, _ = weighting.prior_draws(rng, target, knobs.num_leaders)
        starts = points[:m].copy()
        still = np.zeros(leaders.shape)
        arrays = starts, weighting.equal(m), leaders, leaders, still, points, log_q, starts, np.zeros(m)
        return SteinISState(*arrays, None, 0, 0.0, 0, 0.0, 0.0, 0)

    def step(self, rng: Rng, state: SteinISState, target: Target, batch: Array, knobs: SteinISKnobs) -> Stepped:
        """All points by the force of the leaders where they stand; now and then the weights."""
        ess, old = effective_sample_size(state.log_weights), len(state.particles)
        renewed = knobs.num_particles != old
        if renewed:
            state = redrawn(rng, state, self.density(state, knobs, target), knobs.num_particles)
        moved, did = displaced(state, target, checked_gradient(target, state.leaders, batch), knobs)
        asked, terms = 0, dict[str, Array]()
        if renewed or knobs.is_checked(moved.iteration):
            moved, asked, terms = weighted(moved, target, batch, knobs)
        rows = len(batch)
        scalars = {**did.scalars, **weighting.scalars(ess, moved.log_weights), "moving_ess": moved.share}
        cost = Cost(rows * (1 + (asked > 0)), rows * asked, rows * len(state.leaders))
        words = f"particles {old:,} → {knobs.num_particles:,}, drawn from q · " if renewed else ""
        words += _words(moved, did, knobs)
        paths = partial(_arrows, state.points[: len(state.particles)], did.force)
        return moved, StepInfo(cost, words, events(limited=did.limited), scalars, terms, paths)

    def stretch(self, state: SteinISState, knobs: SteinISKnobs, target: Target, points: Array) -> Array:
        """log |det(I + step J)| of the last step at points (n, d), nats: (n,)."""
        way, led = stein.DETERMINANTS[knobs.determinant], state.led_from / target.scale
        h = stein.leaders_width(led, knobs.length_scale_factor)
        _, jacobian = way.transport(points / target.scale, led, state.scores * target.scale, h)
        return way.logs(jacobian, state.step)[0]

    def log_z(self, state: SteinISState, knobs: SteinISKnobs, target: Target) -> float | None:
        """log of the mean of p(y) / q(y) over the followers kept."""
        return state.log_z

    def caveat(self, state: SteinISState, knobs: SteinISKnobs) -> str:
        """That the followers were swept into knots, that some never moved, or that space was folded."""
        m, folded = len(state.particles), int(state.folded.sum())
        if knobs.stop == "last" and state.share < SWEPT * state.best:
            ess = f"their ESS was {state.best:.0%} at step {state.best_at:,} and is {state.share:.0%}"
            cure = "set Followers kept to best ESS of a pilot group, or use more leaders or a larger RBF width factor"
            return f"the followers are swept into knots next to the leaders: {ess}; {cure}"
        known = super().caveat(state, knobs)
        stuck = int((np.abs(state.points[:m] - state.starts) < STILL * state.starts.std(axis=0)).all(axis=1).sum())
        if not known and state.iteration >= EVERY and stuck > STUCK * m:
            words = f"{stuck:,} of {m:,} followers never moved: the force of the leaders is 0 where they are"
            return f"{words}; use a larger RBF width factor or more leaders"
        if not known and folded:
            words = f"{folded:,} of {m:,} followers crossed a fold: a step flattened or turned space; log q is wrong"
            return f"{words}; use a smaller step size η"
        return known


def redrawn(rng: np.random.Generator, state: SteinISState, density: Smoothed, m: int) -> SteinISState:
    """m new followers, drawn from q; their log q is its, so the mean of p / q over them is as unbiased as before."""
    old, (drawn, _) = len(state.particles), weighting.children(rng, density, m, "independent", "systematic")
    return state._replace(
        particles=drawn,
        log_weights=weighting.equal(m),
        points=np.concatenate([drawn, state.points[old:]]),
        log_q=np.concatenate([density.log_density(drawn), state.log_q[old:]]),
        starts=np.full(drawn.shape, np.nan),  # their places do not show that they are stuck
        folded=np.zeros(m),
        log_z=None,
    )


class Displacement(NamedTuple):
    """The move of a step, without the weights."""

    force: Array  # (m, d) on the followers, in units of theta per unit of step
    scalars: dict[str, float]
    limited: str  # why it is shorter than scheduled


def displaced(
    state: SteinISState, target: Target, scores: Array, knobs: SteinISKnobs
) -> tuple[SteinISState, Displacement]:
    """phi and its Jacobian at all points from the same leaders; all are moved, and log q of all but the leaders kept.

    A step is halved until it is one-to-one at the leaders and the pilots, and never because of a follower.
    """
    t, m, unit, way = state.iteration + 1, len(state.particles), target.scale, stein.DETERMINANTS[knobs.determinant]
    leaders, num = state.leaders / unit, len(state.log_q)
    h = stein.leaders_width(leaders, knobs.length_scale_factor)
    # phi (n, d) and J (n, d, d), or its diagonal (n, d) to first order, for n = m + P + A points.
    force, jacobian = way.transport(np.concatenate([state.points / unit, leaders]), leaders, scores * unit, h)
    planned = optimisers.step_size(t, knobs.eta, knobs.kappa)
    eps = stein.unfolded(way, jacobian[m:], planned)  # by pilots and leaders alone: no follower decides
    log_dets, signs = way.logs(jacobian[:num], eps)
    places = np.concatenate([state.points, state.leaders]) + eps * unit * force
    state = state._replace(
        leaders=places[num:],
        led_from=state.leaders,
        scores=scores,
        step=eps,
        points=places[:num],
        log_q=state.log_q - log_dets,
        folded=np.maximum(state.folded, signs[:m] <= 0),
        iteration=t,
    )
    smallest = float((signs[:m] * np.exp(log_dets[:m])).min())
    scalars = {"step_size": eps, "length_scale": float(np.sqrt(h)), "smallest_stretch": smallest}
    limited = f"step {planned:.3g} → {eps:.3g}: a longer step may not be one-to-one near a leader or pilot"
    return state, Displacement(unit * force[:m], scalars, limited if eps < planned else "")


def weighted(state: SteinISState, target: Target, batch: Array, knobs: SteinISKnobs) -> tuple[SteinISState, int, Terms]:
    """log w = log p - log q of all points; the followers are kept if those that decide have their best ESS.

    Also how many likelihoods were asked for, and the terms of the new weights where there are any.
    """
    m = len(state.particles)
    log_prior = checked_log_prior(target, state.points)
    inside = log_prior > -np.inf
    log_p = log_prior + checked_log_likelihood(target, state.points, batch, inside, may_vanish=True)
    log_w = np.where(log_p > -np.inf, log_p - state.log_q, -np.inf)  # log q may be +inf where space was flattened
    share, terms = stein.ess_share(log_w[m:] if state.num_pilots else log_w[:m]), dict[str, Array]()
    better = share > state.best
    if better or knobs.stop == "last" or state.log_z is None:  # the first check, or followers just redrawn
        log_weights = weighting.normalised(log_w[:m], state.points, batch)
        terms = weighting.terms(log_weights, target=log_p[:m], density=-state.log_q[:m])
        state = state._replace(log_weights=log_weights, log_z=stein.log_mean(log_w[:m]), kept=state.iteration)
        state = state._replace(particles=state.points[:m].copy())
    if better:
        state = state._replace(best=share, best_at=state.iteration)
    return state._replace(share=share), int(inside.sum()), terms


def _arrows(followers: Array, force: Array) -> dict[str, Array]:
    """The leaders' force on some followers, from their places before the step."""
    rows = np.linspace(0, len(followers) - 1, min(ARROWS, len(followers))).astype(np.int64)
    return {"flow": np.stack([followers[rows], followers[rows] + force[rows]], axis=1)}


def _words(state: SteinISState, did: Displacement, knobs: SteinISKnobs) -> str:
    who = "pilots" if state.num_pilots else "followers"
    parts = [f"step {did.scalars['step_size']:.3g}", f"RBF width {did.scalars['length_scale']:.3g} prior sds"]
    parts += [f"ESS of the {who} {state.share:.0%} (best {state.best:.0%} at step {state.best_at:,})"]
    parts += [f"followers of step {state.kept:,} kept"] if knobs.stop != "last" else []
    return " · ".join(parts)


# log Z by the path of SVGD: the area under the squared Stein discrepancy, which should be a KL divergence.

PATH_STEPS = 200  # that the default budget is enough for


class PathIntegrationKnobs(weighting.SmoothingKnobs):
    """The knobs of `path_integration`.

    num_particles: Number of points that move together; a step costs m² kernel values.
    eta: The step size is η/t^κ at step t, times the prior's variance in each coordinate.
    statistic: KSD² as the mean over all pairs of particles, each with itself too, as in the thesis: it never falls to
        0, and the area grows without end. Over pairs of different particles it becomes negative, because they repel one
        another: the area falls without limit.
    start_draws: Draws over which log q₀ - log p is averaged at the first step.
    """

    num_particles = weighting.NUM_PARTICLES.at(300, softbounds=(20, 5_000))
    eta = optimisers.ETA.at(0.125)
    kappa = optimisers.STEP_DECAY.at(0.0)
    length_scale_factor = stein.WIDTH_FACTOR.at(1.0)
    statistic = Choice("v", {"v": "all pairs (V)", "u": "pairs of different particles (U)"}, "Discrepancy", basic=True)
    start_draws = Whole(20_000, (100, 1_000_000), (1_000, 100_000), "Draws from q₀", log=True, acts="restart")

    def work(self, num_data: int) -> Work:
        """Two forces of all on all, gradients, and at the first step the likelihoods of the draws of q0."""
        m = self.num_particles
        return Work(kernels=m**2, likelihoods=self.start_draws * num_data, gradients=m * num_data)


class PathState(NamedTuple):
    """Particles, all of the same weight, and the area so far."""

    particles: Array  # (m, d)
    log_weights: Array  # (m,) equal, logsumexp 0
    areas: Array  # (t + 1,) sum of step KSD^2 after each step, nats
    start_gap: float | None  # mean over q0 of log q0 - log p, unnormalised, nats: KL(q0, p) - log Z
    iteration: int


class PathIntegration(weighting.SmoothedMethod):
    """Path integration of SVGD.

    short_title: Path integration
    about: Path integration adds up how fast SVGD should approach the posterior, to learn how far away it began and so
        log Z; with finitely many particles it misses.
    formula: K ← K + ε KSD²(X),  θ_i ← θ_i + ε φ(θ_i),  log Z ≈ K - E[log q₀ - log p]
    what_moves: Particles move as in SVGD, while the area under their Stein discrepancy grows.
    source: Han 2019 (thesis), Algorithm 4
    propagate: prior
    move: Stein force
    adapt: step size + kernel width (a step is halved where it would fold space)

    Along the flow of infinitely many particles dKL/dt = -KSD^2: the area K under KSD^2 would be KL(q0, p) in the end.
    It is a failure, shown as one, and the estimate is declared biased. As printed, KSD^2 is a V-statistic: it holds the
    pairs of each particle with itself, eps tr(kappa) / m at every step, and the area grows linearly forever. Without
    them it is a U-statistic of particles that are not independent: they repel one another, it becomes negative, and the
    area falls without limit. No K is right; a wider kernel (factor 8) only makes the excess smaller. The thesis prints
    the step without its eps. Steps are halved until they are one-to-one at the particles (ours); without that they
    diverge wherever the posterior is much narrower than the prior.
    """

    name = "path_integration"
    requires = frozenset({"reals", "gradient"})
    varies_less = stein.APART
    kernel_groups = ("steinis", "svgd")
    estimates_log_z = True
    scalars = (
        optimisers.STEP_SIZE,
        stein.width_scalar("prior sds"),
        Scalar("squared_discrepancy", "KSD²", "nats per unit of step"),
        Scalar("area", "area under KSD²", "nats"),
    )
    budget_words = f"{PATH_STEPS} steps"
    update = optimisers.flow_update("mean_j k(θ_j, θ) ∇ log p(θ_j | X)", "mean_j ∇_j k(θ_j, θ)", "the log posterior")

    def default_budget(self, target: Target, knobs: PathIntegrationKnobs) -> int:
        """For 200 steps: passes over the data, or without any so many evaluations per particle."""
        if target.data is not None:
            return (1 + PATH_STEPS) * target.num_data
        return PATH_STEPS + knobs.start_draws // knobs.num_particles

    def init(self, rng: Rng, target: Target, knobs: PathIntegrationKnobs) -> PathState:
        """m draws from the prior."""
        particles, _ = weighting.prior_draws(rng, target, knobs.num_particles)
        return PathState(particles, weighting.equal(len(particles)), np.zeros(1), None, 0)

    def step(self, rng: Rng, state: PathState, target: Target, batch: Array, knobs: PathIntegrationKnobs) -> Stepped:
        """The discrepancy where the particles stand, times the step; then the step."""
        t, unit, asked = state.iteration + 1, target.scale, 0
        if state.start_gap is None:
            asked, gap = knobs.start_draws, start_gap(rng, target, batch, knobs.start_draws)
            state = state._replace(start_gap=gap)
        scores, places = checked_gradient(target, state.particles, batch) * unit, state.particles / unit
        h = stein.leaders_width(places, knobs.length_scale_factor)
        planned = optimisers.step_size(t, knobs.eta, knobs.kappa)
        force, diagonal = transport_diagonal(places, places, scores, h)
        eps = stein.unfolded(stein.DETERMINANTS["first_order"], diagonal, planned)
        squared = squared_discrepancy(scores, force, diagonal, h, knobs.statistic)
        areas = np.append(state.areas, state.areas[-1] + eps * squared)
        particles = state.particles + eps * unit * force
        check_reach(particles, target, planned, batch)
        parts = partial(stein.parts_of_force, places, scores, h)
        state = PathState(particles, state.log_weights, areas, state.start_gap, t)
        shorter = f" (of {planned:.3g}: a longer step would fold space)" if eps < planned else ""
        scalars = {"step_size": eps, "length_scale": np.sqrt(h), "squared_discrepancy": squared, "area": areas[-1]}
        words = f"step {eps:.3g}{shorter} · RBF width {np.sqrt(h):.3g} prior sds · KSD² {squared:.3g}"
        words += f" · area {areas[-1]:.4g} nats"
        cost = Cost(len(batch) * (1 + (asked > 0)), len(batch) * asked, len(batch) * len(particles))
        terms = optimisers.paced("plain", (places, places, t), eps * unit, 1.0, parts)
        scalars = {name: float(value) for name, value in scalars.items()}
        return state, StepInfo(cost, words, {}, scalars, terms, numbers={"ε": eps})

    def log_z(self, state: PathState, knobs: PathIntegrationKnobs, target: Target) -> float | None:
        """The area less what it started from; biased, see above."""
        return None if state.start_gap is None else float(state.areas[-1] - state.start_gap)

    caveat_is_of_q = False

    def caveat(self, state: PathState, knobs: PathIntegrationKnobs) -> str:
        """That log Z is biased, and which way."""
        way = "grows forever" if knobs.statistic == "v" else "falls without limit"
        return f"log Z is biased: the area under KSD² {way} with finitely many particles; use ais or smc_mcmc for log Z"


def start_gap(rng: Rng, target: Target, batch: Array, num: int) -> float:
    """Mean over draws of q0 of log q0 - log p = -(log likelihood of all data), nats."""
    draws, _ = weighting.prior_draws(rng, target, num)
    return float(-checked_log_likelihood(target, draws, batch).mean())


def squared_discrepancy(scores: Array, force: Array, diagonal: Array, h: float, statistic: str = "v") -> float:
    """KSD^2 by the RBF of width h: mean over pairs of k [s.s' + (s - s').(x - x') 2/h + 2d/h - 4 |x - x'|^2/h^2].

    Over all pairs (v) it is the mean over i of s_i . phi(x_i) + tr grad phi(x_i), for phi (m, d) and the diagonal
    (m, d) of its Jacobian; over different ones (u) without |s_i|^2 + 2 d / h, which is a particle's with itself.
    """
    m, d = scores.shape
    v = float(((scores * force).sum(axis=1) + diagonal.sum(axis=1)).mean())
    if statistic == "v" or m == 1:
        return v
    own = float((scores**2).sum(axis=1).mean()) + 2 * d / h
    return (m * v - own) / (m - 1)
