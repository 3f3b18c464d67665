"""The knobs of every method on a ladder of temperatures."""

from __future__ import annotations

import numpy as np

from pmdviz.knobs import Choice, Flag, Real, Whole
from pmdviz.methods.cost import Work
from pmdviz.methods.shared.particles import num_particles_knob
from pmdviz.methods.shared.smoothing import SmoothingKnobs

PILOTS = 32  # walkers without weight by which the step is tuned


def leapfrog_steps_knob(default: int) -> Whole:
    """The knob `leapfrog_steps`, for a method whose own default it is."""
    return Whole(
        default,
        bounds=(1, 1000),
        softbounds=(1, 30),
        log=True,
        basic=True,
        label="Leapfrog steps L",
        doc="Leapfrog steps of a proposal, where the target has a gradient; with one it is a Langevin proposal (MALA).",
    )


def sandwich_knob() -> Flag:
    """The knob `sandwich`, of methods whose ladder can be taken backwards."""
    return Flag(
        False,
        label="Sandwich",
        doc="When temperature 1 is reached, take independent draws of the posterior back down the ladder. Their "
        "weights bound log Z from above in the mean, as those on the way up do from below. Needs independent draws.",
    )


class LadderKnobs(SmoothingKnobs):
    """What every method on a ladder has."""

    num_particles = num_particles_knob(500, "restart", "Number of points that go up the ladder, each with a weight.")
    num_temperatures = Whole(
        200,
        bounds=(1, 100_000),
        softbounds=(10, 2000),
        log=True,
        basic=True,
        acts="restart",
        label="Number of temperatures T",
        doc="Number of steps from the prior to the posterior: more of them leave the weights more even.",
    )
    power = Real(
        3.0,
        bounds=(0.1, 20),
        softbounds=(1, 6),
        acts="restart",
        label="Temperature exponent p",
        doc="β = (t/T)^p: a larger p makes the first steps away from the prior smaller.",
    )
    tuning = Choice(
        "pilots",
        choices={"pilots": "by pilots", "none": "none"},
        label="Tuning of the step",
        acts="restart",
        doc="By pilots: 32 points more, which have no weight, go ahead, and the share of their proposals that is "
        "accepted sets the step of the next temperature; so Z stays unbiased. None: the given step at all of them.",
    )
    time_step = Real(
        0.5,
        bounds=(1e-9, 1000),
        softbounds=(0.001, 2),
        log=True,
        label="Time step ε",
        unit="prior sd",
        doc="Length of one leapfrog step, or sd of a random walk's proposals; with pilots the first one.",
    )
    sandwich = False  # where it is no knob

    @property
    def leaps(self) -> int:
        """Leapfrog steps of a proposal."""
        return self.leapfrog_steps

    def rungs(self) -> np.ndarray:
        """β_0 = 0 < ... < β_T = 1, (T + 1,)."""
        return np.linspace(0, 1, self.num_temperatures + 1) ** self.power

    def work(self, num_data: int) -> Work:
        """The gradients of all proposals, and the likelihoods at both ends."""
        pairs = (self.num_particles + PILOTS) * self.rows(num_data)
        return Work(likelihoods=2 * pairs, gradients=(1 + self.leaps) * pairs)
