"""Probabilistic PCA of handwritten digits: the latent coordinates of one image, with a posterior in closed form.

The digits come with scikit-learn; without it the target is left out.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from pmdviz.errors import InputError, shown
from pmdviz.knobs import Whole
from pmdviz.targets.normal_noise import Linear
from pmdviz.targets.options import TargetOptions, data_source
from pmdviz.targets.rows import CARRIED as CARRIED_IMAGES
from pmdviz.targets.space import numbered
from pmdviz.targets.table_form import TableForm, divided_table

SIDE = 8  # pixels of an image
PIXELS = SIDE**2
HELD_OUT = 500  # images that can be chosen; the decoder is fitted to the others
CARRIED = "digits"  # the value of option `data` that means scikit-learn's images
TABLE = TableForm(
    "One column of 64 numbers: the pixels of an image of 8 x 8, row by row, from 0 dark to 1 bright.", as_given=True
)
PLACES = 9  # of the decoder: the bits of LAPACK depend on BLAS threads


class PPCAOptions(TargetOptions):
    """Options of `ppca`.

    image: Which of the 500 images that the decoder has not seen.
    dim: Number of latent coordinates.
    num_data: How many of the image's 64 pixels are observed, scattered over it; each is a datum.
    """

    data = data_source(
        {CARRIED: "scikit-learn's digits"}, f"An image of scikit-learn's; or a table of your own. {TABLE.words}"
    )
    image = Whole(0, (0, HELD_OUT - 1), label="Image", only_if=("data", CARRIED))
    dim = Whole(5, (1, 20), label="Latent dimension k")
    num_data = Whole(PIXELS, (1, PIXELS), label="Pixels observed")


class Decoder(NamedTuple):
    """x = W z + mu + N(0, noise_sd^2 I), fitted by maximum likelihood; and the images that it has not seen."""

    weights: np.ndarray  # (64, k)
    mean: np.ndarray  # (64,)
    noise_sd: float
    held_out: np.ndarray  # (500, 64) brightness from 0 to 1


class PPCA(Linear):
    """z ~ N(0, I_k), x = W z + mu + N(0, sigma^2 I): Bayesian linear regression of pixels on the rows of W.

    W = U_k (L_k - sigma^2 I)^(1/2) with the k leading eigenvectors and eigenvalues of the training images' covariance,
    sigma^2 the mean of the other eigenvalues (Eqs. 7 and 8). A row of the data is a pixel, (w_1, ..., w_k, x - mu), so
    batches are pixels, and log Z = log N(x | mu, W W' + sigma^2 I).

    title: Probabilistic PCA of a digit
    about: A handwritten digit is a mean image plus a weighted sum of a few others plus Gaussian noise at every pixel.
    source: Tipping, Bishop 1999, section 3.2; images: scikit-learn's digits
    """

    name = "ppca" if find_spec("sklearn") else ""
    Options = PPCAOptions
    declared = frozenset({"gradient", "conditionals", "simulation"})
    predicts = ""
    image_shape = (SIDE, SIDE)
    table = TABLE

    def build(self) -> None:
        """Fit the decoder, and take the image; nothing is random."""
        o = self.options
        self.dim, self.prior_sd, self.parameter_names = o.dim, 1.0, numbered("z", o.dim)
        self.decoder = fitted_decoder(o.dim)
        self.sigma_y = self.decoder.noise_sd
        self.image = self.decoder.held_out[o.image] if o.data == CARRIED else _own_image(o.data)
        self.observed = _scattered()[: o.num_data]
        self.data = np.column_stack([self.decoder.weights, self.image - self.decoder.mean])[self.observed]
        self.scale, self.view_box = np.ones(o.dim), ((-4.0, 4.0),) * o.dim

    def decoded(self, theta: np.ndarray) -> np.ndarray:
        """The images W z + mu, (m, k) -> (m, 64)."""
        return self.decoder.mean + np.einsum("mk,pk->mp", theta, self.decoder.weights)

    def _simulate(self, rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        """Pixels of an image with these latent coordinates, in the data's order; after the last the first again."""
        features = self.data[np.arange(n) % len(self.data), :-1]
        return np.column_stack([features, (features * theta).sum(axis=1) + self.sigma_y * rng.standard_normal(n)])


def _own_image(source: str) -> np.ndarray:
    """The pixels (64,) of a table."""
    rows = TABLE.size_of(source)[0]
    if rows != PIXELS:
        raise InputError(f"data {shown(source)} must have {PIXELS} rows, a pixel in each; they have {rows:,}", "data")
    return divided_table(source, TABLE, PIXELS, 0)[0][:, 0]


@cache
def fitted_decoder(k: int) -> Decoder:
    """The decoder with k latent coordinates, in closed form; each column's largest loading is positive."""
    table, brightest = CARRIED_IMAGES[CARRIED]()
    images = table[:, :-1] / brightest  # (n, 64) brightness from 0 to 1
    train, held_out = images[:-HELD_OUT], images[-HELD_OUT:]
    mean = train.mean(axis=0)
    values, vectors = np.linalg.eigh(np.einsum("np,nq->pq", train - mean, train - mean) / len(train))
    variance, leading = values[:-k].mean(), vectors[:, ::-1][:, :k]
    leading = leading * np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(k)])
    weights = np.round(leading * np.sqrt(values[::-1][:k] - variance), PLACES)
    return Decoder(weights, mean, float(np.round(np.sqrt(variance), PLACES)), held_out)


def _scattered() -> np.ndarray:
    """The pixels in an order that is the same for every image."""
    return np.random.default_rng(0).permutation(PIXELS)
