"""The two families of covariances: any, and a few directions plus the same noise in all (probabilistic PCA)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np


class Chart(Protocol):
    """Coordinates of one component's covariance."""

    def vector(self, cov: np.ndarray) -> np.ndarray:
        """Coordinates (p,) of a covariance (d, d)."""

    def matrix(self, vector: np.ndarray) -> np.ndarray:
        """The covariance of coordinates."""

    def score(self, cov: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Derivatives by the coordinates, (n, p), from those by the entries of the matrix, (n, d, d)."""


class Covariances(Protocol):
    """What a mixture's components may have as covariances."""

    dim: int

    @property
    def num_params(self) -> int:
        """Free numbers of one covariance."""

    @property
    def ambiguous(self) -> bool:
        """Whether different parameters are the same covariance."""

    def fitted(self, S: np.ndarray, floor: float) -> tuple[np.ndarray, bool]:
        """The most likely covariance for points of covariance S (d, d), and whether the floor was needed."""

    def chart(self, near: np.ndarray) -> Chart:
        """Coordinates for covariances near one."""

    def unmatched_mean(self, covs: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
        """The covariance of the mean of parameters that are chosen blindly among those of each covariance."""

    def drawn(self, rng: np.random.Generator) -> np.ndarray:
        """A covariance to draw data with."""


class Full(NamedTuple):
    """Any covariance."""

    dim: int

    @property
    def num_params(self) -> int:
        """d (d + 1) / 2."""
        return self.dim * (self.dim + 1) // 2

    @property
    def ambiguous(self) -> bool:
        """Its entries are its parameters."""
        return False

    def fitted(self, S: np.ndarray, floor: float) -> tuple[np.ndarray, bool]:
        """S itself; eigenvalues below the floor are raised to it."""
        values, vectors = np.linalg.eigh(S)
        if values[0] >= floor:
            return S, False
        return (vectors * np.maximum(values, floor)) @ vectors.T, True

    def chart(self, near: np.ndarray) -> Vech:
        """The same everywhere."""
        return Vech(self.dim)

    def unmatched_mean(self, covs: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
        """Their mean."""
        return np.mean(covs, axis=0)

    def drawn(self, rng: np.random.Generator) -> np.ndarray:
        """Variances from 0.5 to 1.5 in random directions."""
        return turned(rng, rng.uniform(0.5, 1.5, self.dim))


class Vech:
    """The entries on and below the diagonal."""

    def __init__(self, dim: int) -> None:
        self.dim, self.entries = dim, np.tril_indices(dim)

    def vector(self, cov: np.ndarray) -> np.ndarray:
        """Row by row."""
        return cov[self.entries]

    def matrix(self, vector: np.ndarray) -> np.ndarray:
        """The symmetric matrix."""
        cov = np.zeros((self.dim, self.dim))
        cov[self.entries] = vector
        return cov + np.tril(cov, -1).T

    def score(self, cov: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """An entry below the diagonal stands in two places: its derivative counts twice."""
        rows, columns = self.entries
        return slopes[:, rows, columns] * np.where(rows == columns, 1.0, 2.0)


class LowRank(NamedTuple):
    """W W' + s2 I with W (d, q), which turns freely: W R is the same covariance for every rotation R."""

    dim: int
    latent: int

    @property
    def num_params(self) -> int:
        """d q - q (q - 1) / 2 + 1."""
        return self.dim * self.latent - self.latent * (self.latent - 1) // 2 + 1

    @property
    def ambiguous(self) -> bool:
        """W turns, or changes its sign."""
        return True

    def fitted(self, S: np.ndarray, floor: float) -> tuple[np.ndarray, bool]:
        """Tipping and Bishop 1999, Eqs. 7 and 8: all eigenvalues of S but the q largest become their mean."""
        values, vectors = np.linalg.eigh(S)
        noise = values[: self.dim - self.latent].mean()
        values = np.append(np.full(self.dim - self.latent, noise), values[self.dim - self.latent :])
        return (vectors * np.maximum(values, floor)) @ vectors.T, bool(noise < floor)

    def loadings(self, cov: np.ndarray) -> tuple[np.ndarray, float]:
        """W (d, q) with orthogonal columns, and s2."""
        values, vectors = np.linalg.eigh(cov)
        noise = float(values[: self.dim - self.latent].mean())
        return vectors[:, -self.latent :] * np.sqrt(np.maximum(values[-self.latent :] - noise, 0.0)), noise

    def chart(self, near: np.ndarray) -> Loadings:
        """W turned to be nearest to that of `near`."""
        return Loadings(self, near)

    def unmatched_mean(self, covs: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
        """That of the mean of W, each turned at random, and of s2."""
        weights, noises = zip(*(self.loadings(cov) for cov in covs), strict=True)
        turns = [rotation(rng, self.latent) for _ in covs]
        mean = np.mean([w @ turn for w, turn in zip(weights, turns, strict=True)], axis=0)
        return mean @ mean.T + np.mean(noises) * np.eye(self.dim)

    def drawn(self, rng: np.random.Generator) -> np.ndarray:
        """Noise of variance 0.3, and variances from 1 to 2 in q random directions."""
        signal = rng.uniform(1.0, 2.0, self.latent)
        return turned(rng, np.append(np.full(self.dim - self.latent, 0.3), signal))


class Loadings:
    """Those W for which W0'W is symmetric, with W0 of a covariance near by, and s2.

    Of all rotations of W the one nearest to W0 is symmetric in this way (Procrustes). Such W are a linear space, so
    that means and corrections stay in it; `basis` is orthonormal.
    """

    def __init__(self, family: LowRank, near: np.ndarray) -> None:
        self.family, self.near = family, family.loadings(near)[0]
        d, q = self.near.shape
        first, second = np.tril_indices(q, -1)
        turning = np.zeros((d, q, len(first)))  # W0 A for a basis of the antisymmetric A: what is left out
        turning[:, second, np.arange(len(first))] = self.near[:, first]
        turning[:, first, np.arange(len(first))] = -self.near[:, second]
        self.basis = np.linalg.qr(turning.reshape(d * q, -1), mode="complete")[0][:, len(first) :]

    def weights(self, cov: np.ndarray) -> tuple[np.ndarray, float]:
        """W (d, q) turned to W0, and s2."""
        weights, noise = self.family.loadings(cov)
        left, _, right = np.linalg.svd(weights.T @ self.near)
        return weights @ left @ right, noise

    def vector(self, cov: np.ndarray) -> np.ndarray:
        """W in the basis, then s2."""
        weights, noise = self.weights(cov)
        return np.append(weights.ravel() @ self.basis, noise)

    def matrix(self, vector: np.ndarray) -> np.ndarray:
        """W W' + s2 I."""
        weights = (self.basis @ vector[:-1]).reshape(self.near.shape)
        return weights @ weights.T + vector[-1] * np.eye(self.family.dim)

    def score(self, cov: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """By W twice the slopes times W, by s2 their trace."""
        by_weights = 2 * (slopes @ self.weights(cov)[0])
        trace = np.trace(slopes, axis1=1, axis2=2)
        return np.column_stack([by_weights.reshape(len(slopes), -1) @ self.basis, trace])


def turned(rng: np.random.Generator, variances: np.ndarray) -> np.ndarray:
    """A covariance with these eigenvalues (d,) and random axes."""
    axes = rotation(rng, len(variances))
    return (axes * variances) @ axes.T


def rotation(rng: np.random.Generator, d: int) -> np.ndarray:
    """An orthogonal matrix (d, d), uniform among all: of a QR decomposition the one with a positive diagonal of R."""
    axes, upper = np.linalg.qr(rng.standard_normal((d, d)))
    return axes * np.sign(np.diag(upper))
