"""The knobs of `steinis`."""

from __future__ import annotations

from pmdviz.knobs import Choice, Whole
from pmdviz.methods.cost import Work
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.particles import num_particles_knob
from pmdviz.methods.shared.smoothing import SmoothingKnobs
from pmdviz.methods.stein.flow import first_step, width_factor

FIRST_CHECKS, EVERY = (1, 2, 5), 10  # steps after which the weights are asked for, where the best one is kept


class SteinISKnobs(SmoothingKnobs):
    """The knobs of `steinis`."""

    kind_words = "knob of method 'steinis':"

    num_particles = num_particles_knob(
        200, "restart", "Followers: weighted points that the leaders move, each on its own.", usual=(20, 5_000)
    )
    num_leaders = Whole(
        100,
        bounds=(1, 10_000),
        softbounds=(10, 1_000),
        log=True,
        basic=True,
        label="Leaders",
        acts="restart",
        doc="Unweighted points that move as in SVGD and whose force moves the followers.",
    )
    eta = first_step(0.25)
    kappa = optimisers.step_decay(0.5)
    length_scale_factor = width_factor(4.0)
    determinant = Choice(
        "exact",
        choices={"exact": "of the whole matrix", "first_order": "first order, of the diagonal"},
        label="Determinant",
        acts="restart",
        doc="How much a step stretches space at a follower. Of the whole matrix: |det(I + εJ)|, at d³ operations a "
        "follower. First order: the product of its diagonal, off by ε² a step, at d operations.",
    )
    stop = Choice(
        "pilot",
        choices={
            "pilot": "best ESS of a pilot group",
            "followers": "best ESS of the followers",
            "last": "last step",
        },
        label="Followers kept",
        acts="restart",
        basic=True,
        doc="From which step the followers are kept: too many steps sweep them into knots beside the leaders. Best ESS "
        "of a pilot group: other followers decide, and the estimate of Z stays unbiased. Best ESS of the followers: "
        "they decide themselves, at a small bias. Last step: unbiased too, however far they were swept.",
    )
    num_pilots = Whole(
        100,
        bounds=(2, 10_000),
        softbounds=(20, 1_000),
        log=True,
        label="Pilot group",
        acts="restart",
        only_if=("stop", "pilot"),
        doc="Followers that decide when to stop and count for nothing else.",
    )

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
        return Work(
            kernels=self.num_leaders * (self.num_leaders + followers),
            likelihoods=followers * num_data,
            gradients=self.num_leaders * num_data,
        )
