"""The settings of the Geometry page."""

from __future__ import annotations

import numpy as np

from pmdviz.knobs import Choice, Knobs, Real, Whole

MOST_STEPS = 40
MOVED = "moved"
STARTS = {  # q_0 over the states A, B, C
    "far": np.array([0.05, 0.15, 0.80]),
    "equal": np.full(3, 1 / 3),
    "edge": np.array([0.02, 0.90, 0.08]),
}


class GeometryKnobs(Knobs):
    """Three sliders, and where the paths start."""

    kind_words = "setting of the Geometry page"

    gamma = Real(
        0.3, bounds=(0, 1), inclusive_bounds=(False, True), softbounds=(0.01, 1.0), label="Step size γ", acts="at once",
        basic=True, doc="The share that a mirror step forgets: the forward KL falls by at least this share. "
        "The gradient steps have the η with which their first step is as long.",
    )  # fmt: skip
    steps = Whole(
        5, bounds=(0, MOST_STEPS), label="Steps t", acts="at once", basic=True, doc="How many steps of both are drawn."
    )
    peak = Real(
        0.9, bounds=(0.4, 0.95), label="Posterior p(A)", acts="at once", basic=True,
        doc="How peaked the posterior is: the probability of A. B gets 70 % of the rest, C 30 %. "
        "In the density the two modes become narrower with it.",
    )  # fmt: skip
    start = Choice(
        "far", choices={"far": "near C, far from p", "equal": "all equally likely", "edge": "near B, close to an edge",
                        MOVED: "where you moved it"},
        label="Start q₀", acts="at once", basic=True,
        doc="The distribution that both paths begin with: the prior. You can also drag it in the triangle.",
    )  # fmt: skip
