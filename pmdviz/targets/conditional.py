"""What targets with structure hand to methods: a closed form given a part of the unknowns, and documents of words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Conditionals(NamedTuple):
    """m particles Z_j, and q(u | Z_j) of each as natural parameters of an exponential family.

    With the density exp(natural . statistics - partition) in u; `prior_partitions` are those of p(u | Z_j). Unknowns
    that are drawn when their row is visited are not kept: p is 0 where there are no others.
    """

    particles: np.ndarray  # (m, p)
    constants: np.ndarray  # (m, ...) what follows from the particles alone, computed once
    natural: np.ndarray  # (m, ...)
    partitions: np.ndarray  # (m,)
    prior_partitions: np.ndarray  # (m,)


class Documents(NamedTuple):
    """Documents as sparse word counts under latent Dirichlet allocation with K topics on W words."""

    rows: np.ndarray  # (B, 3) first, middle, end: the pairs of a document, and from where on they are held out
    words: np.ndarray  # (pairs,) of the whole corpus
    counts: np.ndarray  # (pairs,)
    alpha: float  # of the documents' topic shares
    beta: float  # of the topics' words
    shape: tuple[int, int]  # W, K

    @property
    def sparse(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, words and counts."""
        return self.rows, self.words, self.counts
