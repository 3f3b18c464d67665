"""The weights of target `decoder`: `python -m benchmarks.helpers.decoder_weights > .../targets/decoder.csv`."""

from __future__ import annotations

import sys

import numpy as np

from pmdviz.targets.without_data import HIDDEN, SIDE, Weights, log_standard, logits_of, probability

NUM_IMAGES, BLUR, BRIGHTEST = 1000, 1.5, 0.95  # images, sd of a spot in pixels, probability that its middle is 1
NODES, REACH = 24, 3.0  # of the grid of z: in each coordinate, and up to there
STEPS, STEP_SIZE = 1500, 0.02  # of Adam
PLACES = 3  # of a weight


def trained(steps: int = STEPS, seed: int = 0) -> Weights:
    """The weights that maximise sum_n log sum_g p(z_g) p(x_n | z_g) over images x_n, z_g on a grid, by Adam."""
    rng = np.random.default_rng(seed)
    pixels = np.stack(np.divmod(np.arange(SIDE**2), SIDE), axis=1)
    centres = rng.uniform(0, SIDE - 1, (NUM_IMAGES, 2))
    squares = ((pixels - centres[:, None]) ** 2).sum(axis=2)
    images = (rng.random(squares.shape) < BRIGHTEST * np.exp(-squares / (2 * BLUR**2))).astype(float)
    axis = np.linspace(-REACH, REACH, NODES)
    z = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    made = Weights(rng.standard_normal((3, HIDDEN)), 0.1 * rng.standard_normal((HIDDEN + 1, SIDE**2)))
    first, second = [np.zeros_like(part) for part in made], [np.zeros_like(part) for part in made]
    for step in range(1, steps + 1):
        hidden, logits = logits_of(made, z)
        given = images @ logits.T - np.logaddexp(0, logits).sum(axis=1) + log_standard(z)  # (images, nodes)
        share = np.exp(given - given.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        slope = share.T @ images - share.sum(axis=0)[:, None] * probability(logits)  # by the logits, (nodes, pixels)
        back = (slope @ made.second[:-1].T) * (1 - hidden**2)
        slopes = _with_bias(z).T @ back, _with_bias(hidden).T @ slope
        for part, gradient, mean, square in zip(made, slopes, first, second, strict=True):
            gradient = gradient / NUM_IMAGES
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            part += STEP_SIZE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return made


def _with_bias(rows: np.ndarray) -> np.ndarray:
    return np.column_stack([rows, np.ones(len(rows))])


if __name__ == "__main__":
    first, second = trained()
    np.savetxt(sys.stdout, np.concatenate([first, second.reshape(-1, HIDDEN)]), f"%.{PLACES}f", ",")
