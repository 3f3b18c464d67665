"""Particles with a conditional posterior in closed form each: what structured PMD updates, whatever the model is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Conditionals(NamedTuple):
    """m particles Z_j, and q(u | Z_j) of each as natural parameters of an exponential family.

    With the density exp(natural . statistics - partition) in u; `prior_partitions` are those of p(u | Z_j).
    """

    particles: np.ndarray  # (m, p)
    constants: np.ndarray  # (m, ...) what follows from the particles alone, computed once
    natural: np.ndarray  # (m, ...)
    partitions: np.ndarray  # (m,)
    prior_partitions: np.ndarray  # (m,)
