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

    num_particles = num_particles_knob(1500, "rejuvenation", "Number of points that carry the approximation.")
    schedule = Choice(
        "decay",
        choices={"decay": "decaying", "constant": "constant", "theorem6": "as in Theorem 6"},
        label="Step-size schedule",
        doc="Decaying: γ = min(1, η/(n₀ + t^κ)). Constant: the same γ at every step. As in Theorem 6: "
        "γ = min(2/(t+1), Δ/(M m^(β/(d+2β)))), for which the paper proves its rate.",
    )
    eta = optimisers.eta(
        2.0, "How far a step moves towards its batch: γ = min(1, η/(n₀ + t^κ)).", only_if=("schedule", "decay")
    )
    n0 = optimisers.n0(20.0, "Makes the first steps smaller: γ = min(1, η/(n₀ + t^κ)).", only_if=("schedule", "decay"))
    kappa = optimisers.kappa(1.0, "How fast γ = min(1, η/(n₀ + t^κ)) decays.", only_if=("schedule", "decay"))
    step_size = Real(
        0.1,
        bounds=(0, 1),
        inclusive_bounds=(False, True),
        softbounds=(0.001, 1),
        log=True,
        basic=True,
        label="Step size γ",
        only_if=("schedule", "constant"),
        doc="Constant weight of the new batch relative to everything before it.",
    )
    delta = Real(
        1.0,
        bounds=(0, 1_000_000_000),
        inclusive_bounds=(False, True),
        softbounds=(0.01, 1000),
        log=True,
        label="Density bound Δ",
        only_if=("schedule", "theorem6"),
        doc="In Theorem 6, 1/Δ is a lower bound of the density on its support.",
    )
    gradient_bound = Real(
        1.0,
        bounds=(0, 1_000_000_000),
        inclusive_bounds=(False, True),
        softbounds=(0.01, 1000),
        log=True,
        label="Gradient bound M",
        unit="nats",
        only_if=("schedule", "theorem6"),
        doc="In Theorem 6, the sup-norm bound on the functional gradient.",
    )
    step_limit = Real(
        0.5,
        bounds=(0, 1),
        inclusive_bounds=(True, False),
        softbounds=(0, 0.95),
        label="Step limit",
        unit="fraction of the ESS",
        doc="A step keeps at least this fraction of the ESS. Where it would keep less, γ is reduced and the schedule "
        "waits. 0: no limit.",
    )
    policy = Choice(
        "ess",
        choices={
            "never": "never",
            "always": "every step",
            "until": "every step until t₀",
            "ess": "when ESS is low",
        },
        basic=True,
        label="Rejuvenation",
        doc="When new particles are drawn from the density estimate. Never: weighted particles. Every step: Algorithm "
        "1 of the paper, if new particles are independent, resampling is multinomial, batches are drawn with "
        "replacement and steps are not limited. When ESS is low: only when too few particles carry the weight.",
    )
    until = Whole(
        20,
        bounds=(1, 1_000_000),
        softbounds=(1, 200),
        log=True,
        label="Until step t₀",
        unit="steps",
        only_if={"policy": "until", "growth": "jump"},
        doc="Last step t₀ at which new particles are drawn, or at which m is still small.",
    )
    ess_threshold = ess_threshold_knob(
        0.5, "Rejuvenate when the effective sample size is below τ m.", only_if=("policy", "ess")
    )
    draws = Choice(
        "balanced",
        choices={"balanced": "evenly spread", "independent": "independent"},
        label="New particles",
        doc="How new particles are drawn, and the first ones at a restart. Evenly spread: 16 candidates per particle, "
        "thinned to one in every cell of a k-d tree. Independent: at random from the kernels, as in the paper.",
    )
    resampler = Choice(
        "systematic",
        choices={name: name for name in ("systematic", "stratified", "residual", "multinomial")},
        label="Resampling",
        doc="How the parents of new particles are resampled, ordered from least to most random.",
    )
    growth = Choice(
        "fixed",
        choices={"fixed": "none", "power": "as a power of t", "jump": "once, after step t₀"},
        label="Particle growth",
        acts="rejuvenation",
        only_if=("policy", ("ess", "always", "until")),
        default_by=("policy", {"until": "jump"}),
        doc="How many particles a rejuvenation draws. None: always m. As a power of t: m t^ρ. Once, after step t₀: m, "
        "then the maximum.",
    )
    growth_exponent = Real(
        1.0,
        bounds=(0, 20),
        softbounds=(0, 4),
        label="Growth exponent ρ",
        acts="rejuvenation",
        only_if=("growth", "power"),
        doc="The number of particles grows like t^ρ; Theorem 6 asks for 2 + d/β.",
    )
    most_particles = Whole(
        6000,
        bounds=(1, 100_000),
        softbounds=(100, 50_000),
        log=True,
        label="Maximum particles",
        acts="rejuvenation",
        only_if=("growth", ("power", "jump")),
        doc="Maximum number of particles.",
    )
    smoothness = holder_smoothness({"bandwidth_rule": ("local", "covariance"), "schedule": "theorem6"})
    warm_start = Flag(
        False,
        label="Warm start",
        acts="restart",
        doc="The first pass makes plain Bayes updates in batches of 10; mirror descent starts with the second pass.",
    )

    def work(self, num_data: int) -> Work:
        """A rejuvenation's m^2 kernels, and m likelihoods of the batch, m the most there may be."""
        grows = self.matters("most_particles", self.as_dict())
        m = max(self.num_particles, self.most_particles) if grows else self.num_particles
        return Work(kernels=m**2, likelihoods=m * self.rows(num_data))

    def check(self) -> None:
        """A warm start needs every datum once in its first pass."""
        if self.warm_start and self.batches != "epochs":
            start, batches = self.specs()["warm_start"], self.specs()["batches"]
            raise InputError(
                "warm_start = true needs batches = 'epochs'; given: batches = 'replacement'",
                on_page=f"{start.label} needs {batches.label} set to “{batches.said('epochs')}”",
            )
