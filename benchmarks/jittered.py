"""Images without end, made of a few: each is one of the originals, moved and lit anew, as MNIST8M is made of MNIST."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pmdviz.targets.logistic import Logistic
from pmdviz.targets.rows import BRIGHTEST, CARRIED, Split

SIDE, MOST_SHIFT = 28, 2  # pixels
NUM_ORIGINALS = 800  # images that are jittered; the others are held out
LEAST_LIGHT, NOISE = 0.7, 12.0  # of the brightness; sd of every pixel
Block = tuple[np.ndarray, np.ndarray]  # images (n, 784), 0 to 1, and classes 0 or 1 (n,)


def originals(pair: tuple[int, int], num_train: int, seed: int) -> Split:
    """The real images of two digits, those that are jittered and those held out, all pixels, 0 to 1."""
    table, _ = CARRIED["mnist"]()
    kept = table[np.isin(table[:, -1], pair)]
    kept = kept[np.random.default_rng(seed).permutation(len(kept))]
    x, y = kept[:, :-1] / BRIGHTEST, (kept[:, -1] == pair[0]).astype(np.float64)
    return Split(x[:num_train], y[:num_train], x[num_train:], y[num_train:])


def jittered(images: np.ndarray, classes: np.ndarray, n: int, seed: int, block: int = 10_000) -> Iterator[Block]:
    """n images in blocks: an original drawn at random, shifted by up to two pixels each way, darker, with noise."""
    rng = np.random.default_rng([seed, 8])
    edge = ((0, 0), (MOST_SHIFT, MOST_SHIFT), (MOST_SHIFT, MOST_SHIFT))
    framed = np.pad(images.reshape(-1, SIDE, SIDE), edge).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(framed, (SIDE, SIDE), axis=(1, 2))  # by image, down, across
    for start in range(0, n, block):
        size = min(block, n - start)
        chosen = rng.integers(len(images), size=size)
        down, across = rng.integers(0, 2 * MOST_SHIFT + 1, (2, size))
        found = windows[chosen, down, across].reshape(size, -1)
        found *= rng.uniform(LEAST_LIGHT, 1.0, (size, 1)).astype(np.float32)
        found += (NOISE / BRIGHTEST) * rng.standard_normal(found.shape, dtype=np.float32)
        yield np.clip(found, 0.0, 1.0, out=found), classes[chosen]


class Components(NamedTuple):
    """Principal components of what was seen; scores in units of the sd of the first."""

    centre: np.ndarray  # (784,)
    axes: np.ndarray  # (784, k)

    def rows(self, images: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Rows of target `logistic`: 1, the scores, the class."""
        return np.column_stack([np.ones(len(images)), (images - self.centre) @ self.axes, classes])


def components(blocks: Iterator[Block], k: int) -> Components:
    """The k leading ones, from sums over the blocks alone: nothing of a block is kept."""
    count, total, squares = 0, 0.0, 0.0
    for images, _ in blocks:
        count += len(images)
        total = total + images.sum(axis=0, dtype=np.float64)
        squares = squares + (images.T @ images).astype(np.float64)
    centre = total / count
    values, vectors = np.linalg.eigh(squares / count - np.outer(centre, centre))
    axes = vectors[:, ::-1][:, :k]
    return Components(centre, axes / np.sqrt(values[-1]))


class Jittered(Logistic):
    """Target `logistic` on images made of 800 real ones; 200 other real ones are held out. It enters no table."""

    name = ""

    def build(self) -> None:
        """The images by the data's seed, on the principal components of those that are learnt from."""
        super().build()
        split = originals((8, 6), NUM_ORIGINALS, self.options.data_seed)
        made = list(jittered(split.features, split.classes, self.options.num_data, self.options.data_seed))
        found = components(iter(made), self.dim - 1)
        self.data = np.concatenate([found.rows(*block) for block in made])
        self.test_data = found.rows(split.test_features, split.test_classes)
