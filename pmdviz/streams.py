"""Random streams by purpose: a figure or a picture of a run shares no numbers with its data or its particles.

Data come from `default_rng(data_seed)` and a run from the children of `SeedSequence(seed)`; these streams are children
of another branch, so equal seeds do not make them equal.
"""

from __future__ import annotations

import numpy as np

PURPOSES = "draws of q,draws of the reference,bins,directions,check,modes,pictures,box,rows,perturbation".split(",")
BRANCH = 2016  # no run has so many children


def stream(purpose: str, seed: int = 0) -> np.random.Generator:
    """The stream of one of PURPOSES, always the same for the same seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(BRANCH, PURPOSES.index(purpose))))
