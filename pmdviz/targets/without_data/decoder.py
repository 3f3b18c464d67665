"""A small decoder with two latent coordinates: the posterior of z given one image, and the image's log p(x).

It was trained on simulated images of a blurred spot; decoder.csv has its weights, as
`python -m benchmarks.helpers.decoder_weights` prints them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pmdviz.knobs import Knobs
from pmdviz.targets.reference.exact import GridExact
from pmdviz.targets.without_data.base import WithoutData, q0_mean, q0_sd, target_seed

FILE = Path(__file__).with_name("decoder.csv")
SIDE, HIDDEN = 8, 16  # pixels of a side of an image, units of the hidden layer
BOX = ((-7.0, 7.0), (-7.0, 7.0))  # of z


class Weights(NamedTuple):
    """Of both layers, the biases in the last row."""

    first: np.ndarray  # (3, HIDDEN)
    second: np.ndarray  # (HIDDEN + 1, SIDE^2)


class DecoderOptions(Knobs):
    """Options of `decoder`."""

    kind_words = "option of target 'decoder':"

    target_seed = target_seed(0, "the image x, which is drawn from the decoder")
    q0_mean = q0_mean()
    q0_sd = q0_sd(1.0)


class Decoder(WithoutData):
    """z ~ N(0, I_2), x_p | z ~ Bernoulli(1 / (1 + exp(-l_p(z)))), l = W_2' tanh(W_1' z + b_1) + b_2; p = p(z) p(x | z).

    Z is the evidence p(x) of an image x of 64 pixels, which was drawn from the decoder.
    """

    name = "decoder"
    title = "Latent coordinates of an image (2-D)"
    about = "A trained network draws images of a spot from two latent coordinates. Which coordinates made this image?"
    source = "ours, in place of the decoder of Han 2019, Figure 8; trained as in MacKay 1995 (density networks)"
    Options = DecoderOptions
    image_shape = (SIDE, SIDE)

    def build(self) -> None:
        """Draw z and the image."""
        o, self.dim, self.parameter_names = self.options, 2, ("z₁", "z₂")
        rng = np.random.default_rng(o.target_seed)
        self.made_by = rng.standard_normal(2)
        self.image = (rng.random(SIDE**2) < self.decoded(self.made_by[None])[0]).astype(float)
        self.observed = np.arange(SIDE**2)
        self.start_from(o.q0_mean, o.q0_sd, np.full(2, -3.5), np.full(2, 3.5))

    def make_exact(self) -> GridExact:
        """By a grid sum."""
        return GridExact(self.log_joint, BOX)

    def decoded(self, theta: np.ndarray) -> np.ndarray:
        """The probabilities that pixels are 1, (m, 2) -> (m, 64)."""
        return probability(logits_of(weights(), theta)[1])

    def _log_p(self, theta: np.ndarray) -> np.ndarray:
        logits = logits_of(weights(), theta)[1]
        return log_normal(theta) + (self.image * logits - np.logaddexp(0, logits)).sum(axis=1)

    def _grad_log_p(self, theta: np.ndarray) -> np.ndarray:
        """-z + W_1 [(1 - h^2) * W_2 (x - sigmoid(l))]."""
        hidden, logits = logits_of(weights(), theta)
        back = np.einsum("mp,hp->mh", self.image - probability(logits), weights().second[:-1])
        return np.einsum("mh,kh->mk", back * (1 - hidden**2), weights().first[:-1]) - theta


@cache
def weights() -> Weights:
    """Those of decoder.csv."""
    rows = np.loadtxt(FILE, delimiter=",")
    return Weights(rows[:3], rows[3:].reshape(HIDDEN + 1, SIDE**2))


def logits_of(made: Weights, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hidden units (m, HIDDEN) and logits of the pixels (m, 64); no BLAS, whose bits depend on threads."""
    hidden = np.tanh(np.einsum("mk,kh->mh", z, made.first[:-1]) + made.first[-1])
    return hidden, np.einsum("mh,hp->mp", hidden, made.second[:-1]) + made.second[-1]


def probability(logits: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-logits))."""
    return 0.5 * (1 + np.tanh(0.5 * logits))


def log_normal(z: np.ndarray) -> np.ndarray:
    """log N(z | 0, I_2), (m, 2) -> (m,)."""
    return -0.5 * (z**2).sum(axis=1) - np.log(2 * np.pi)
