"""The knobs of `pmd`."""

from __future__ import annotations

from pmdviz.errors import InputError
from pmdviz.knobs import Choice, Flag, Real
from pmdviz.methods.batching import BatchKnobs
from pmdviz.methods.particles import how_many, least_ess
from pmdviz.methods.smoothing import SmoothingKnobs


class PMDKnobs(BatchKnobs, SmoothingKnobs):
    """The knobs of `pmd`."""

    kind_words = "knob of method 'pmd':"

    num_particles = how_many(1500, "rejuvenation", "Points that carry the approximation.")
    schedule = Choice(
        "decay",
        objects=["decay", "constant"],
        label="Step-size schedule",
        doc="decay: γ = min(1, η/(n₀ + t^κ)); constant: the same γ at every step.",
    )
    eta = Real(
        2.0,
        bounds=(0, 1_000_000),
        inclusive_bounds=(False, True),
        softbounds=(0.1, 100),
        log=True,
        label="Step size: η",
        only_if=("schedule", "decay"),
        doc="Numerator of γ = min(1, η/(n₀ + t^κ)).",
    )
    n0 = Real(
        20.0,
        bounds=(0, 1_000_000),
        softbounds=(0, 200),
        label="Step size: n₀",
        unit="steps",
        only_if=("schedule", "decay"),
        doc="Holds the first steps back: γ = min(1, η/(n₀ + t^κ)).",
    )
    kappa = Real(
        1.0,
        bounds=(0, 1),
        inclusive_bounds=(False, True),
        softbounds=(0.1, 1),
        label="Step size: κ",
        only_if=("schedule", "decay"),
        doc="How fast γ = min(1, η/(n₀ + t^κ)) falls.",
    )
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
    policy = Choice(
        "ess",
        objects=["never", "always", "ess"],
        label="Rejuvenation",
        doc="When new particles are drawn from the density estimate: never (weighted particles), after every step "
        "(the paper's Algorithm 1), or when the effective sample size falls too low.",
    )
    ess_threshold = least_ess(0.5, "Rejuvenate when the effective sample size is below τ m.", only_if=("policy", "ess"))
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
    warm_start = Flag(
        False,
        label="Warm start",
        acts="restart",
        doc="First pass in batches of 10 with plain Bayes updates, mirror descent from the second pass on.",
    )

    def check(self) -> None:
        """A warm start needs every datum once in its first pass."""
        if self.warm_start and self.batches != "epochs":
            raise InputError("warm_start = true needs batches = 'epochs'; given: batches = 'replacement'")
