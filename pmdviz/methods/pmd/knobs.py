"""The knobs of `pmd`."""

from __future__ import annotations

from pmdviz.errors import InputError
from pmdviz.knobs import Choice, Flag, Real, Whole
from pmdviz.methods.cost import Work
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.batching import BatchKnobs
from pmdviz.methods.shared.particles import ess_threshold_knob, num_particles_knob
from pmdviz.methods.shared.smoothing import SmoothingKnobs, holder_smoothness


class PMDKnobs(BatchKnobs, SmoothingKnobs):
    """The knobs of `pmd`."""

    kind_words = "knob of method 'pmd':"

    num_particles = num_particles_knob(1500, "rejuvenation", "Points that carry the approximation.")
    schedule = Choice(
        "decay",
        objects=["decay", "constant", "theorem6"],
        label="Step-size schedule",
        doc="decay: γ = min(1, η/(n₀ + t^κ)); constant: the same γ at every step; theorem6: "
        "γ = min(2/(t+1), Δ/(M m^(β/(d+2β)))), for which the paper proves its rate.",
    )
    eta = optimisers.eta(2.0, "Numerator of γ = min(1, η/(n₀ + t^κ)).", only_if=("schedule", "decay"))
    n0 = optimisers.n0(20.0, "Holds the first steps back: γ = min(1, η/(n₀ + t^κ)).", only_if=("schedule", "decay"))
    kappa = optimisers.kappa(1.0, "How fast γ = min(1, η/(n₀ + t^κ)) falls.", only_if=("schedule", "decay"))
    step_size = Real(
        0.1,
        bounds=(0, 1),
        inclusive_bounds=(False, True),
        softbounds=(0.001, 1),
        log=True,
        label="Step size γ",
        only_if=("schedule", "constant"),
        doc="Constant weight of the new batch against all that came before.",
    )
    delta = Real(
        1.0,
        bounds=(0, 1_000_000_000),
        inclusive_bounds=(False, True),
        softbounds=(0.01, 1000),
        log=True,
        label="Theorem 6: Δ",
        only_if=("schedule", "theorem6"),
        doc="1/Δ bounds the density from below on its support.",
    )
    gradient_bound = Real(
        1.0,
        bounds=(0, 1_000_000_000),
        inclusive_bounds=(False, True),
        softbounds=(0.01, 1000),
        log=True,
        label="Theorem 6: M",
        unit="nats",
        only_if=("schedule", "theorem6"),
        doc="Bounds the gradient of the objective, the pull on log q at any point.",
    )
    step_limit = Real(
        0.5,
        bounds=(0, 1),
        inclusive_bounds=(True, False),
        softbounds=(0, 0.95),
        label="Step limit",
        unit="share of the ESS",
        doc="A step leaves at least this share of the effective sample size: where it would not, γ is made smaller and "
        "the schedule's clock stands still. 0: no limit.",
    )
    policy = Choice(
        "ess",
        objects=["never", "always", "until", "ess"],
        label="Rejuvenation",
        doc="When new particles are drawn from the density estimate: never (weighted particles), after every step (the "
        "paper's Algorithm 1 if draws are independent, resampling is multinomial, batches with replacement and steps "
        "not limited), after every step until t₀ and then never, or when the effective sample size falls too low.",
    )
    until = Whole(
        20,
        bounds=(1, 1_000_000),
        softbounds=(1, 200),
        log=True,
        label="Until step t₀",
        unit="steps",
        only_if={"policy": "until", "growth": "jump"},
        doc="The last of the steps that are followed by new particles, or done with few of them.",
    )
    ess_threshold = ess_threshold_knob(
        0.5, "Rejuvenate when the effective sample size is below τ m.", only_if=("policy", "ess")
    )
    draws = Choice(
        "balanced",
        objects=["balanced", "independent"],
        label="Draws",
        doc="How new particles are spread, and the first ones at a restart. balanced: 16 candidates each, thinned to "
        "one for every cell of a k-d tree; independent: random in the kernels, as in the paper.",
    )
    resampler = Choice(
        "systematic",
        objects=["systematic", "stratified", "residual", "multinomial"],
        label="Resampling",
        doc="How the parents of new particles are chosen; from the least random to the most.",
    )
    growth = Choice(
        "fixed",
        objects=["fixed", "power", "jump"],
        label="Growth of m",
        acts="rejuvenation",
        only_if=("policy", ("ess", "always", "until")),
        default_by=("policy", {"until": "jump"}),
        doc="How many particles a rejuvenation draws. fixed: m; power: m t^ρ; jump: m until step t₀, then as many as "
        "there may be.",
    )
    growth_exponent = Real(
        1.0,
        bounds=(0, 20),
        softbounds=(0, 4),
        label="Growth exponent ρ",
        acts="rejuvenation",
        only_if=("growth", "power"),
        doc="Power of t with which the particles become more; Theorem 6 asks for 2 + d/β.",
    )
    most_particles = Whole(
        6000,
        bounds=(1, 100_000),
        softbounds=(100, 50_000),
        log=True,
        label="Particles at most",
        acts="rejuvenation",
        only_if=("growth", ("power", "jump")),
        doc="Where the growth ends.",
    )
    smoothness = holder_smoothness({"bandwidth_rule": ("local", "covariance"), "schedule": "theorem6"})
    warm_start = Flag(
        False,
        label="Warm start",
        acts="restart",
        doc="First pass in batches of 10 with plain Bayes updates, mirror descent from the second pass on.",
    )

    def work(self, num_data: int) -> Work:
        """A rejuvenation's m^2 kernels, and m likelihoods of the batch, m the most there may be."""
        grows = self.matters("most_particles", self.as_dict())
        m = max(self.num_particles, self.most_particles) if grows else self.num_particles
        return Work(kernels=m**2, likelihoods=m * self.rows(num_data))

    def check(self) -> None:
        """A warm start needs every datum once in its first pass."""
        if self.warm_start and self.batches != "epochs":
            raise InputError("warm_start = true needs batches = 'epochs'; given: batches = 'replacement'")
