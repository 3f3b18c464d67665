"""Products: densities of blocks of coordinates, and of topics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pmdviz.cached import cached_property
from pmdviz.densities.density import Density, KernelDensity, variances, weighted_sum
from pmdviz.densities.diagonal import DiagonalDensity
from pmdviz.densities.grid import Grid
from pmdviz.kernels.resampling import systematic


@dataclass(frozen=True, eq=False)
class ProductDensity:
    """q(theta) = prod_b q_b(theta_b), each q_b the density of equally weighted particles of a block of coordinates.

    The m particles of a block have no partners in the others. Row i of `particles` pairs the i-th of all blocks: a draw
    of q, as any other pairing would be.

    Attributes
    ----------
    blocks : tuple of tuples, the coordinates of each block; together all, each once
    parts : tuple of densities, one a block, of m particles each
    """

    blocks: tuple[tuple[int, ...], ...]
    parts: tuple[Density, ...]

    @property
    def few(self) -> bool:
        """Whether the particles of any block are too few for its shape."""
        return any(part.few for part in self.parts)

    @property
    def dim(self) -> int:
        """d."""
        return sum(map(len, self.blocks))

    @cached_property
    def particles(self) -> np.ndarray:
        """The particles of all blocks side by side, (m, d)."""
        return self._joined([part.particles for part in self.parts])

    @cached_property
    def centres(self) -> np.ndarray:
        """The kernels' centres side by side, (m, d)."""
        return self._joined([part.centres for part in self.parts])

    @property
    def log_weights(self) -> np.ndarray:
        """Equal, (m,)."""
        return self.parts[0].log_weights

    @property
    def weights(self) -> np.ndarray:
        """Equal, (m,)."""
        return self.parts[0].weights

    @cached_property
    def choleskys(self) -> np.ndarray:
        """The factor of the kernel of every pairing, (m, d, d); one array seen m times where each block has one.

        Of many coordinates it is large, and nothing but the plane's pictures asks for it.
        """
        one = all(isinstance(part, (KernelDensity, DiagonalDensity)) for part in self.parts)
        factors = np.zeros((1 if one else len(self.weights), self.dim, self.dim))
        for columns, part in zip(self.blocks, self.parts, strict=True):
            factors[:, np.array(columns)[:, None], np.array(columns)] = part.choleskys[: len(factors)]
        return np.broadcast_to(factors, (len(self.weights), self.dim, self.dim))

    @cached_property
    def kernel_sds(self) -> np.ndarray:
        """The sd of the kernel of every pairing along each coordinate, (m, d)."""
        return self._joined([part.kernel_sds for part in self.parts])

    @cached_property
    def mean(self) -> np.ndarray:
        """E_q theta, (d,)."""
        return self._joined([part.mean[None] for part in self.parts])[0]

    @cached_property
    def cov(self) -> np.ndarray:
        """Cov_q theta, (d, d): nothing but zeros between the blocks."""
        found = np.zeros((self.dim, self.dim))
        for columns, part in zip(self.blocks, self.parts, strict=True):
            found[np.ix_(columns, columns)] = part.cov  # of many coordinates m d^2: kept
        return found

    @property
    def variances(self) -> np.ndarray:
        """Var_q of every coordinate, (d,)."""
        return self._joined([variances(part)[None] for part in self.parts])[0]

    @property
    def kernel_peak(self) -> float:
        """Density of the narrowest kernel of a pairing at its centre."""
        return float(np.prod([part.kernel_peak for part in self.parts]))

    def log_density(self, points: np.ndarray, single: bool = False) -> np.ndarray:
        """log q at points (n, d) -> (n,), in nats; with `single` off by up to 2e-5 a block, in half the time."""
        total = np.zeros(len(points))
        for columns, part in zip(self.blocks, self.parts, strict=True):
            total += part.log_density(np.ascontiguousarray(points[:, columns]), single)
        return total

    def on_grid(self, grid: Grid) -> np.ndarray:
        """q at the cell centres, shape `grid.shape`, in one or two dimensions."""
        if len(self.parts) == 1:
            return self.parts[0].on_grid(grid)
        lines = {}
        for (k,), part in zip(self.blocks, self.parts, strict=True):
            lines[k] = part.on_grid(Grid((grid.box[k],), grid.side))
        return lines[1][:, None] * lines[0]

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d): of every block on its own, in an order of its own."""
        return self._joined([rng.permutation(part.sample(rng, n)) for part in self.parts])

    def narrowest(self, unit: np.ndarray) -> float:
        """The smallest sd of a kernel in any direction, coordinates divided by `unit` (d,)."""
        pairs = zip(self.blocks, self.parts, strict=True)
        return min(part.narrowest(unit[list(columns)]) for columns, part in pairs)

    def widened(self, smallest: float, unit: np.ndarray) -> ProductDensity:
        """Same density with kernels of at least `smallest` sd (coordinates divided by `unit`) in every direction."""
        pairs = zip(self.blocks, self.parts, strict=True)
        return ProductDensity(
            self.blocks, tuple(part.widened(smallest, unit[list(columns)]) for columns, part in pairs)
        )

    def marginals(self, coordinates: Sequence[int]) -> list[tuple[list[int], Density, list[int]]]:
        """What a marginal of these coordinates is the product of: places among them, a block's density, its own."""
        found = []
        for columns, part in zip(self.blocks, self.parts, strict=True):
            places = [place for place, k in enumerate(coordinates) if k in columns]
            if places:
                found.append((places, part, [columns.index(coordinates[place]) for place in places]))
        return found

    def _joined(self, each: Sequence[np.ndarray]) -> np.ndarray:
        """Columns of the blocks (n, k_b), put where they belong, (n, d)."""
        found = np.empty((len(each[0]), self.dim))
        for columns, values in zip(self.blocks, each, strict=True):
            found[:, columns] = values
        return found


# Topics as weighted products of Dirichlet densities, one a topic.

SMALLEST = 1e-300  # a drawn probability that would vanish


@dataclass(frozen=True, eq=False)
class DirichletMixture:
    """q(Φ) = sum_i w_i prod_k Dir(φ_k | natural_i[:, k]); a point is Φ (K, W) in one row.

    Attributes
    ----------
    natural : array (m, W, K)
    log_weights : array (m,), logsumexp 0
    """

    natural: np.ndarray
    log_weights: np.ndarray
    few: ClassVar[bool] = False

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights (m,), sum 1."""
        return np.exp(self.log_weights)

    @cached_property
    def topics(self) -> np.ndarray:
        """Mean topics of each component, (m, W, K)."""
        return self.natural / self.natural.sum(axis=1, keepdims=True)

    @cached_property
    def particles(self) -> np.ndarray:
        """The same as points (m, K W)."""
        return np.ascontiguousarray(self.topics.transpose(0, 2, 1)).reshape(len(self.natural), -1)

    @property
    def mean(self) -> np.ndarray:
        """E Φ, (K W,)."""
        return weighted_sum(self.weights, self.particles)

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log q at points (n, K W) -> (n,), per unit of each topic's first W - 1 entries, in nats."""
        m, words, topics = self.natural.shape
        logs = np.log(np.maximum(points, SMALLEST)).reshape(len(points), topics, words)
        terms = np.einsum("nkw,mwk->nm", logs, self.natural - 1.0)
        log_gamma = np.vectorize(math.lgamma, otypes=[float])
        constants = (log_gamma(self.natural.sum(axis=1)) - log_gamma(self.natural).sum(axis=1)).sum(axis=1)
        return np.logaddexp.reduce(terms + constants + self.log_weights, axis=1)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, K W): components by systematic resampling, and topics of each one's Dirichlet densities."""
        chosen = systematic(self.weights, n, rng.random())
        return dirichlet(rng, self.natural.transpose(0, 2, 1)[chosen]).reshape(n, -1)


def dirichlet(rng: np.random.Generator, parameters: np.ndarray) -> np.ndarray:
    """One draw for every vector of parameters (..., W), none of its entries below 1e-300.

    By logs: x = Γ(a + 1) U^(1/a) is Γ(a), and vanishes in floating point where a is small.
    """
    logs = np.log(rng.gamma(parameters + 1.0)) + np.log1p(-rng.random(parameters.shape)) / parameters
    drawn = np.maximum(np.exp(logs - logs.max(axis=-1, keepdims=True)), SMALLEST)
    return drawn / drawn.sum(axis=-1, keepdims=True)
