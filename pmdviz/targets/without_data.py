"""Targets without data: a correlated Gaussian, a funnel, and a decoder of images; a Gaussian q0 starts a run.

What targets without data share: q0 = N(q0_mean, q0_sd^2 I), and a likelihood that is log p - log q0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from pmdviz.errors import InputError, TargetError
from pmdviz.formulas import COORDINATES, Formula
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.factors import precision
from pmdviz.knobs import Choice, Real, Typed, Whole
from pmdviz.targets import exact
from pmdviz.targets.base import GaussianPrior
from pmdviz.targets.exact import Box, Cells, GaussianExact, GridExact, LogDensity, Normalised, OnGrids, normal_cdf
from pmdviz.targets.options import Q0_MEAN, Q0_SD, StartOptions, target_seed
from pmdviz.targets.space import Block, InBlocks, checked_blocks, numbered

Q0_SDS = 3.5  # of q0 that the view box holds, to either side


Started = TypeVar("Started", bound=StartOptions)


class WithoutData(GaussianPrior[Started]):
    """p = exp(log_p) / Z on R^d; a run goes from q0 to p. Subclasses give `_log_p` and `_grad_log_p`.

    `build` sets `dim` and `parameter_names`, and then calls `start_from`.
    """

    def start_from(self, low: Array, high: Array) -> None:
        """Set q0, and a view box that holds it and the bulk of p, which lies between low (d,) and high (d,)."""
        self.data, self.prior_mean, self.prior_sd = None, self.options.q0_mean, self.options.q0_sd
        self.scale = np.full(self.dim, self.prior_sd)
        low = np.minimum(np.broadcast_to(low, self.dim), self.prior_mean - Q0_SDS * self.prior_sd)
        high = np.maximum(np.broadcast_to(high, self.dim), self.prior_mean + Q0_SDS * self.prior_sd)
        self.view_box = tuple((float(a), float(b)) for a, b in zip(low, high, strict=True))

    def _log_likelihood(self, theta: Array, batch: Array) -> Array:
        """log p - log q0, for every row of the batch."""
        return len(batch) * (self._log_p(theta) - self._log_prior(theta))

    def _grad_log_likelihood(self, theta: Array, batch: Array) -> Array:
        return len(batch) * (self._grad_log_p(theta) - self._grad_log_prior(theta))

    def _log_p(self, theta: Array) -> Array:
        """Log of the unnormalised density, (m, d) -> (m,), in nats."""
        raise NotImplementedError

    def _grad_log_p(self, theta: Array) -> Array:
        """Its gradient, (m, d) -> (m, d)."""
        raise NotImplementedError


# Pairs of correlated coordinates: the smallest target on which it is known how wrong a mean-field approximation is.

VIEW_SDS = 3.0  # of a coordinate


class CorrelatedGaussianOptions(StartOptions):
    """Options of `correlated_gaussian`.

    dim: Number of coordinates.
    correlation: Correlation of the first coordinate and the second, of the third and the fourth, and so on. The best q
        whose coordinates are independent has sds √(1 - ρ²) times the true ones.
    """

    dim = Whole(2, (1, 100), label="Dimension d")
    correlation = Real(0.9, (-0.999, 0.999), (-0.99, 0.99), "Correlation ρ")


class CorrelatedGaussian(InBlocks, WithoutData[CorrelatedGaussianOptions]):
    """N(0, C) with variances 1, and correlation rho within the pairs (1, 2), (3, 4), ... alone; log Z = 0.

    The blocks are the pairs, on which a mean field is exact.

    title: Correlated Gaussian (any dimension)
    about: Pairs of correlated coordinates: the loss when each is approximated on its own can be read off.
    source: ours; any textbook: Bishop 2006, section 10.1.2
    """

    name = "correlated_gaussian"

    def build(self) -> None:
        """Nothing is drawn."""
        o, self.dim = self.options, self.options.dim
        self.parameter_names = numbered("x", o.dim)
        self.cov = np.eye(o.dim)
        odd = np.arange(0, o.dim - 1, 2)
        self.cov[odd, odd + 1] = self.cov[odd + 1, odd] = o.correlation
        self.precision = precision(self.cov)
        pairs = [range(k, min(k + 2, o.dim)) for k in range(0, o.dim, 2)]
        self.blocks = checked_blocks(pairs, self.parameter_names)
        reach = np.full(o.dim, VIEW_SDS)
        self.start_from(-reach, reach)

    def make_reference(self) -> GaussianExact:
        """In closed form."""
        return GaussianExact(np.zeros(self.dim), self.cov, 0.0)

    def block_gradient(self, block: Block, own: Array, others: Array, closed: Mapping[str, Array]) -> Array:
        """It is linear in the others, (M, k): their mean is enough."""
        columns, rest = block.columns, others.mean(axis=0)
        rest[columns] = 0.0
        rows = self.precision[columns]  # (k, d)
        return -np.einsum("ij,mj->mi", rows[:, columns], own) - np.einsum("ij,j->i", rows, rest)

    def _log_p(self, theta: Array) -> Array:
        constant = 0.5 * (self.dim * np.log(2 * np.pi) - np.linalg.slogdet(self.precision)[1])
        return 0.5 * (theta * self._grad_log_p(theta)).sum(axis=1) - constant

    def _grad_log_p(self, theta: Array) -> Array:
        return -np.einsum("ij,mj->mi", self.precision, theta)


# Neal's funnel: the scale of many coordinates is itself unknown, and no step size suits both mouth and neck.

LARGEST = 700.0  # of -v in an exponential, which would overflow
FUNNEL_BOX_SDS = 6.5  # of v: all but 1e-10
TAIL_SDS = 8.0  # of x given v
NODES = 801  # of v, for integrals over it
QUANTILES = 64  # of the last coordinate in a box given the first one, for its mass
NORMALS = np.linspace(-8.0, 8.0, 4_001)
NECK_SDS = 3.0  # of the first coordinate below its mean, where the neck is taken to be


class FunnelOptions(StartOptions):
    """Options of `funnel`.

    dim: Number of coordinates: v and d - 1 whose variance is exp(v). In fewer than three no grid holds both the neck
        and the tails.
    sd: Standard deviation of v: the larger, the narrower the neck and the wider the mouth.
    """

    dim = Whole(10, (3, 100), label="Dimension d")
    sd = Real(3.0, (0.1, 3), label="Sd of v")


class Funnel(WithoutData[FunnelOptions]):
    """v ~ N(0, sd^2), x_k | v ~ N(0, exp(v)), k = 1 .. d - 1; normalised: log Z = 0.

    title: Neal's funnel
    about: One coordinate sets the scale of all others: a wide mouth, and a neck too narrow for steps of that size.
    source: Neal 2003, section 8
    question: The neck is narrow, the mouth is wide. Which method reaches both?
    """

    name = "funnel"

    def build(self) -> None:
        """Nothing is drawn."""
        o, self.dim = self.options, self.options.dim
        self.parameter_names = ("v", *numbered("x", o.dim - 1))
        reach = np.array([3.0 * o.sd, *np.full(o.dim - 1, np.exp(o.sd))])  # of x: two of its sds at v = 0.6 sds or so
        self.start_from(-reach, reach)

    def make_reference(self) -> GivenOne:
        """Mean and covariance in closed form, with E exp(v) = exp(sd^2 / 2); the rest by a sum over v."""
        sd = self.options.sd
        v = np.linspace(-FUNNEL_BOX_SDS * sd, FUNNEL_BOX_SDS * sd, NODES)
        widest = float(TAIL_SDS * np.exp(0.5 * v[-1]))
        found = GivenOne(self._log_p, self._given, v, ((v[0], v[-1]), *((-widest, widest),) * (self.dim - 1)))
        found.mean, found.log_z = np.zeros(self.dim), 0.0
        found.cov = np.diag([sd**2, *np.full(self.dim - 1, np.exp(sd**2 / 2))])
        return found

    def _given(self, v: Array) -> Given:
        variance, zeros = np.exp(v), np.zeros((len(v), self.dim - 2))
        spread = zeros + variance[:, None]
        return Given(np.zeros(len(v)), variance, zeros, zeros, spread, log_normal(v, self.options.sd))

    def _log_p(self, theta: Array) -> Array:
        """log N(v | 0, sd^2) + sum_k log N(x_k | 0, exp(v))."""
        v, x = theta[:, 0], theta[:, 1:]
        squares = (x**2).sum(axis=1) * np.exp(np.minimum(-v, LARGEST))
        return log_normal(v, self.options.sd) - 0.5 * (squares + x.shape[1] * (v + np.log(2 * np.pi)))

    def _grad_log_p(self, theta: Array) -> Array:
        """-v / sd^2 - (d - 1) / 2 + |x|^2 exp(-v) / 2, and -x exp(-v)."""
        v, x = theta[:, 0], theta[:, 1:]
        precision = np.exp(np.minimum(-v, LARGEST))
        with np.errstate(over="ignore"):  # a trajectory that left the neck sideways finds no finite gradient
            slope = -v / self.options.sd**2 + 0.5 * (precision * (x**2).sum(axis=1) - x.shape[1])
            return np.column_stack([slope, -x * precision[:, None]])


def log_normal(x: Array, sd: Array | float) -> Array:
    """log N(x | 0, sd^2), one by one."""
    return -0.5 * (x / sd) ** 2 - np.log(np.sqrt(2 * np.pi) * sd)


class Given(NamedTuple):
    """Given t (n,): u ~ N(mean, variance), and x_j ~ N(at + slope u, spread), independent given t and u."""

    mean: Array  # (n,)
    variance: Array
    at: Array  # (n, k)
    slope: Array
    spread: Array
    log_mass: Array  # (n,): log of the unnormalised density of t, nats


class GivenOne(Normalised, OnGrids):
    """Moments, marginals and draws of points (t, x_1 .. x_k, u) that are Gaussian given t, by a sum over values of t.

    `log_p` is the unnormalised density, `box` holds its mass.
    """

    def __init__(self, log_p: LogDensity, given: Callable[[Array], Given], nodes: Array, box: Box) -> None:
        super().__init__()
        self._log_p, self._given, self._nodes, self._known = log_p, given, nodes, given(nodes)
        self.box, self.boxes = box, (box,)
        known = self._known
        self._mass, self.log_z = exact.probabilities(known.log_mass, nodes[1] - nodes[0])
        means = np.column_stack([nodes, known.at + known.slope * known.mean[:, None], known.mean])
        self.mean, self.mean_error = self._mass @ means, np.zeros(len(box))
        slopes = np.column_stack([np.zeros(len(nodes)), known.slope, np.ones(len(nodes))])
        within = np.einsum("n,ni,nj->ij", self._mass * known.variance, slopes, slopes)
        within[np.diag_indices(len(box))] += np.array([0.0, *(self._mass @ known.spread), 0.0])
        off = means - self.mean
        self.cov = within + (off * self._mass[:, None]).T @ off

    def sample(self, rng: Rng, n: int) -> Array:
        """n iid draws (n, d): t, u given it, the others given both."""
        uniform, normals = rng.random(n), rng.standard_normal((n, len(self.box) - 1))
        t = np.interp(uniform, np.cumsum(self._mass), self._nodes + 0.5 * (self._nodes[1] - self._nodes[0]))
        known = self._given(t)
        u = known.mean + np.sqrt(known.variance) * normals[:, -1]
        return np.column_stack([t, known.at + known.slope * u[:, None] + np.sqrt(known.spread) * normals[:, :-1], u])

    def marginal_log_density(self, coordinates: Sequence[int]) -> Callable[[Array], Array]:
        """log p of some of the coordinates, (n, k) -> (n,); without t by a sum over it."""
        chosen = [*coordinates]

        def log_density(points: Array) -> Array:
            columns = {k: np.asarray(points, float)[:, place] for place, k in enumerate(chosen)}
            if 0 in chosen:
                known = self._given(columns.pop(0))
                return known.log_mass - self.log_z + _conditional(known, columns)
            by_node = _conditional(self._known, {k: values[:, None] for k, values in columns.items()})
            peak = by_node.max(axis=1)
            return peak + np.log(np.exp(by_node - peak[:, None]) @ self._mass)

        return log_density

    def mass_in(self, box: Box) -> float:
        """The mass in `box`, by sums over t and u."""
        low, high = (np.clip(end, *self.box[0]) for end in box[0])
        edges = np.linspace(low, high, len(self._nodes))
        known = self._given(0.5 * (edges[1:] + edges[:-1]))
        mass = np.exp(known.log_mass - (self.log_z or 0.0)) * (edges[1] - edges[0])
        of_u, sd = np.array(box[-1])[:, None], np.sqrt(known.variance)
        below, up_to = normal_cdf((of_u - known.mean) / sd)  # u's share up to each side of the box, given t
        shares = below[:, None] + (up_to - below)[:, None] * (np.arange(QUANTILES) + 0.5) / QUANTILES
        u = known.mean[:, None] + sd[:, None] * np.interp(shares, normal_cdf(NORMALS), NORMALS)
        mean, sds = known.at[:, None] + known.slope[:, None] * u[..., None], np.sqrt(known.spread)[:, None]
        low, high = np.array(box[1:-1]).T
        share = (normal_cdf((high - mean) / sds) - normal_cdf((low - mean) / sds)).prod(axis=2)
        return float(mass @ ((up_to - below) * share.mean(axis=1)))

    def narrowest(self, unit: Array) -> float:
        """Sd of t, or of another coordinate three sds of t below its mean; coordinates divided by `unit` (d,)."""
        sd = np.sqrt(self.cov[0, 0])
        neck = self._given(self.mean[:1] - NECK_SDS * sd)
        return float((np.array([sd, *np.sqrt([*neck.spread[0], neck.variance[0]])]) / unit).min())


def _conditional(known: Given, columns: dict[int, Array]) -> Array:
    """log density of u (k + 1) and some x_j (1 .. k) given t; without u by Woodbury's identity."""
    last = known.at.shape[1] + 1
    left = {k - 1: values for k, values in columns.items() if k != last}
    if last in columns:
        u = columns[last]
        found = log_normal(u - known.mean, np.sqrt(known.variance))
        for j, x in left.items():
            found = found + log_normal(x - known.at[:, j] - known.slope[:, j] * u, np.sqrt(known.spread[:, j]))
        return found
    squares = crossed = weight = log_det = np.zeros(())
    for j, x in left.items():
        off = x - known.at[:, j] - known.slope[:, j] * known.mean
        squares = squares + off**2 / known.spread[:, j]
        crossed = crossed + known.slope[:, j] * off / known.spread[:, j]
        weight = weight + known.slope[:, j] ** 2 / known.spread[:, j]
        log_det = log_det + np.log(2 * np.pi * known.spread[:, j])
    grown = 1 + known.variance * weight
    return -0.5 * (squares - known.variance * crossed**2 / grown + np.log(grown) + log_det)


# A small decoder with two latent coordinates: the posterior of z given one image, and the image's log p(x).
#
# It was trained on simulated images of a blurred spot; decoder.csv has its weights, as
# `python -m benchmarks.helpers.decoder_weights` prints them.

FILE = Path(__file__).with_name("decoder.csv")
SIDE, HIDDEN = 8, 16  # pixels of a side of an image, units of the hidden layer
BOX = ((-7.0, 7.0), (-7.0, 7.0))  # of z


class Weights(NamedTuple):
    """Of both layers, the biases in the last row."""

    first: Array  # (3, HIDDEN)
    second: Array  # (HIDDEN + 1, SIDE^2)


class DecoderOptions(StartOptions):
    """Options of `decoder`."""

    target_seed = target_seed(0, "the image x, which is drawn from the decoder")
    q0_mean, q0_sd = Q0_MEAN, Q0_SD.at(1.0)


class Decoder(WithoutData[DecoderOptions]):
    """z ~ N(0, I_2), x_p | z ~ Bernoulli(1 / (1 + exp(-l_p(z)))), l = W_2' tanh(W_1' z + b_1) + b_2; p = p(z) p(x | z).

    Z is the evidence p(x) of an image x of 64 pixels, which was drawn from the decoder.

    title: Latent coordinates of an image (2-D)
    about: A trained network draws images of a spot from two latent coordinates. Which coordinates made this image?
    source: ours, instead of the decoder of Han 2019, Figure 8; trained as in MacKay 1995 (density networks)
    """

    name = "decoder"
    image_shape = (SIDE, SIDE)

    def build(self) -> None:
        """Draw z and the image."""
        o, self.dim, self.parameter_names = self.options, 2, ("z₁", "z₂")
        rng = np.random.default_rng(o.target_seed)
        self.made_by = rng.standard_normal(2)
        self.image = (rng.random(SIDE**2) < self.decoded(self.made_by[None])[0]).astype(float)
        self.observed = np.arange(SIDE**2)
        self.start_from(np.full(2, -3.5), np.full(2, 3.5))

    def make_reference(self) -> GridExact:
        """By a grid sum."""
        return GridExact(self.log_joint, BOX)

    def decoded(self, theta: Array) -> Array:
        """The probabilities that pixels are 1, (m, 2) -> (m, 64)."""
        return probability(logits_of(weights(), theta)[1])

    def _log_p(self, theta: Array) -> Array:
        logits = logits_of(weights(), theta)[1]
        return log_standard(theta) + (self.image * logits - np.logaddexp(0, logits)).sum(axis=1)

    def _grad_log_p(self, theta: Array) -> Array:
        """-z + W_1 [(1 - h^2) * W_2 (x - sigmoid(l))]."""
        hidden, logits = logits_of(weights(), theta)
        back = np.einsum("mp,hp->mh", self.image - probability(logits), weights().second[:-1])
        return np.einsum("mh,kh->mk", back * (1 - hidden**2), weights().first[:-1]) - theta


@cache
def weights() -> Weights:
    """Those of decoder.csv."""
    rows = np.loadtxt(FILE, delimiter=",")
    return Weights(rows[:3], rows[3:].reshape(HIDDEN + 1, SIDE**2))


def logits_of(made: Weights, z: Array) -> tuple[Array, Array]:
    """Hidden units (m, HIDDEN) and logits of the pixels (m, 64); no BLAS, whose bits depend on threads."""
    hidden = np.tanh(np.einsum("mk,kh->mh", z, made.first[:-1]) + made.first[-1])
    return hidden, np.einsum("mh,hp->mp", hidden, made.second[:-1]) + made.second[-1]


def probability(logits: Array) -> Array:
    """1 / (1 + exp(-logits))."""
    return 0.5 * (1 + np.tanh(0.5 * logits))


def log_standard(z: Array) -> Array:
    """log N(z | 0, I_2), (m, 2) -> (m,)."""
    return -0.5 * (z**2).sum(axis=1) - np.log(2 * np.pi)


# A log density that a person types, in one or two coordinates; ring, funnel, squiggle and three modes are examples.

EXAMPLES = {
    "ring": ("a ring", "-8 * square(hypot(x, y) - 2)"),
    "funnel": ("a funnel", "-square(x / logaddexp(0, y)) / 2 - log(logaddexp(0, y)) - square(y) / 3"),
    "squiggle": ("a squiggle", "-square(x) / 4 - 4 * square(y - sin(2 * x))"),
    "three_modes": (
        "three modes",
        "logaddexp(-square(y + 1) + logaddexp(-square(x + 2), -square(x - 2)), -square(x) - square(y - 2))",
    ),
}
IN_WORDS, FORMULAS = ({name: each[k] for name, each in EXAMPLES.items()} for k in (0, 1))
START_SDS = 8.0  # of q0, where the box begins to grow
DOUBLINGS = 10  # of the box in each coordinate, at most
EDGE, EDGE_MASS = 1 / 16, 1e-4  # share of the box at each side, and of the mass that may lie there
NARROWEST = 1e-10  # share of the box that its cells are wide, where the density rises without end
BULK = 0.999  # of the mass that the pictures show
FEW = {1: 1_000, 2: 8_000}  # cells are enough to find a box
NUM_CELLS = {1: 4_096, 2: 60_000}  # that hold the exact density: rings and squiggles are long and thin


class TypedDensityOptions(StartOptions):
    """Options of `formula`.

    density: A formula of x, or of x and y, up to a constant. It is made of numbers, + - * / **, brackets, pi, e and
        the functions exp, log, sqrt, square, sin, cos, abs, hypot, maximum, logaddexp and the like, as NumPy names
        them. Where the density is 0 it must be minus infinity: log(maximum(x, 0)) rather than log(x).
    """

    density = Typed("ring", IN_WORDS, "Log density", examples=FORMULAS, basic=True)

    @property
    def formula(self) -> Formula:
        """The formula itself, also of an example."""
        return Formula(self.specs()["density"].examples.get(self.density, self.density))


class TypedDensity(WithoutData[TypedDensityOptions]):
    """p(x) or p(x, y) = exp(formula) / Z.

    title: A formula of your own (1-D, 2-D)
    about: The log density that you type, or one of four examples: a ring, a funnel, a squiggle, three modes.
    source: given by you
    """

    name = "formula"

    def build(self) -> None:
        """Find the box that holds the mass. Raises InputError for a density that has none, or a value that is none."""
        o = self.options
        self.formula = o.formula
        self.dim, self.parameter_names = self.formula.dim, COORDINATES[: self.formula.dim]
        reach = START_SDS * o.q0_sd
        try:
            self.box, cells = _grown(self._log_p, ((o.q0_mean - reach, o.q0_mean + reach),) * self.dim)
        except TargetError as error:
            raise self._undefined(np.asarray(error.theta)) from None
        if (cells.width / np.ptp(self.box, axis=1)).min() < NARROWEST:
            where = self._place(cells.centres[cells.values.argmax()])
            raise _refused(f"rises without end at {where}; it must be bounded")
        self.start_from(*_bulk(cells))

    def make_reference(self) -> GridExact:
        """By a grid sum."""
        return GridExact(self._log_p, self.box, NUM_CELLS[self.dim])

    def _log_p(self, theta: Array) -> Array:
        return self.formula.value(theta)

    def _grad_log_p(self, theta: Array) -> Array:
        """Of the formula; 0 outside the support, where there is none and a particle is not pulled anywhere."""
        values, gradient = self.formula.value_and_gradient(theta)
        gradient[values == -np.inf] = 0.0
        return gradient

    def _undefined(self, point: Array) -> InputError:
        """The refusal at a point (d,) where log p is NaN or +inf; or -inf, and so wherever it was tried."""
        value, where = self._log_p(point[None])[0], self._place(point)
        if value == -np.inf:
            return _refused(f"is minus infinity wherever it was tried, first at {where}; move q0 to where it is not")
        what = "infinite" if value == np.inf else "not a number"
        return _refused(f"is {what} at {where}; it must be finite, or minus infinity where the density is 0")

    def _place(self, point: Array) -> str:
        return ", ".join(f"{name} = {value:.4g}" for name, value in zip(self.parameter_names, point, strict=True))


def _refused(why: str) -> InputError:
    return TypedDensityOptions.specs()["density"].refusal(why)


def _grown(log_p: LogDensity, box: Box) -> tuple[Box, Cells]:
    """The box doubled about its middle, in each coordinate, until its edges hold no mass; and the cells of the mass.

    Raises InputError where the mass goes on and on.
    """
    for _ in range(DOUBLINGS + 1):
        cells = exact.mass_cells(log_p, box, FEW[len(box)])
        heavy = _edge_masses(cells, box) > EDGE_MASS
        if not heavy.any():
            return box, cells
        last, box = box, tuple(_doubled(*pair) if full else pair for pair, full in zip(box, heavy, strict=True))
    name, (low, high) = next((n, p) for n, p, full in zip(COORDINATES, last, heavy, strict=False) if full)
    raise _refused(f"does not fall off: a share of the mass lies at the edge of {name} from {low:,.0f} to {high:,.0f}; "
                   "far out it must go to minus infinity, as -square(x) does")  # fmt: skip


def _edge_masses(cells: Cells, box: Box) -> Array:
    """The share of the mass at the edges of the box, (d,)."""
    share, low, high = exact.probabilities(cells.values)[0], *np.array(box).T
    depth = EDGE * (high - low)
    outside = (cells.centres < low + depth) | (cells.centres > high - depth)
    return share @ outside


def _doubled(low: float, high: float) -> tuple[float, float]:
    half = 0.5 * (high - low)
    return low - half, high + half


def _bulk(cells: Cells) -> tuple[Array, Array]:
    """Lowest and highest coordinates (d,) between which BULK of each marginal lies."""
    share, tail = exact.probabilities(cells.values)[0], 0.5 * (1 - BULK)
    ends = []
    for k, column in enumerate(cells.centres.T):
        order = np.argsort(column)
        below = np.cumsum(share[order])
        places = np.searchsorted(below, [tail, 1 - tail]).clip(0, len(order) - 1)
        ends.append(column[order][places] + [-cells.width[k], cells.width[k]])
    return tuple(np.array(ends).T)


# Eight schools, centred and not: a small hierarchical model whose coordinates decide what a chain can reach.
EFFECTS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])  # of coaching in each school, in points of the test
ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])  # their standard errors
COORDINATES_OF = {"centred": "effects of the schools", "non-centred": "effects in units of tau"}
PRIOR_SD, PRIOR_SCALE = 5.0, 5.0  # of mu, Gaussian; of tau, half-Cauchy
LOG_TAUS = np.linspace(-14.0, 7.0, 1_401)  # of log tau, for sums over it: all but 1e-6 of the mass


class EightSchoolsOptions(StartOptions):
    """Options of `eight_schools`.

    coordinates: "centred": the effects of the schools; "non-centred": how many tau they are away from mu.
    """

    coordinates = Choice("centred", COORDINATES_OF, "Coordinates")


class EightSchools(WithoutData[EightSchoolsOptions]):
    """y_j ~ N(effect_j, error_j^2), effect_j ~ N(mu, tau^2), mu ~ N(0, 5^2), tau half-Cauchy(5); j = 1 .. 8.

    Coordinates: log tau, the eight effects (or z_j = (effect_j - mu) / tau), mu.

    title: Eight schools
    about: Effects of coaching in eight schools. Centred, a narrow neck hides small tau; non-centred, the neck is gone.
    source: Rubin 1981; Papaspiliopoulos et al. 2007
    """

    question = "The same model in two sets of coordinates. In which does a chain reach small tau?"
    name = "eight_schools"

    def build(self) -> None:
        """The data are eight numbers and their errors, which are part of the density."""
        o, self.dim = self.options, 10
        self.is_centred = o.coordinates == "centred"
        self.parameter_names = ("log tau", *numbered("effect" if self.is_centred else "z", 8), "mu")
        reach = 25.0 if self.is_centred else 3.0
        low, high = np.array([-4.0, *[-reach] * 8, -8.0]), np.array([4.0, *[reach] * 8, 15.0])
        self.start_from(low, high)

    def make_reference(self) -> GivenOne:
        """By a sum over log tau: given tau all else is Gaussian."""
        reach = 150.0 if self.is_centred else 12.0
        box = ((LOG_TAUS[0], LOG_TAUS[-1]), *((-reach, reach),) * 8, (-60.0, 60.0))
        return GivenOne(self._log_p, partial(given, is_centred=self.is_centred), LOG_TAUS, box)

    def _log_p(self, theta: Array) -> Array:
        t, x, mu = theta[:, 0], theta[:, 1:-1], theta[:, -1:]
        tau = _exp(t)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            z = (x - mu) / tau if self.is_centred else x
            effects = x if self.is_centred else mu + tau * x
            of_x = log_normal(z, 1.0).sum(axis=1) - (8 * t if self.is_centred else 0.0)
            of_data = log_normal(EFFECTS - effects, ERRORS).sum(axis=1)
            found = _log_tau(t) + log_normal(mu[:, 0], PRIOR_SD) + of_x + of_data
        return np.where(np.isnan(found), -np.inf, found)

    def _grad_log_p(self, theta: Array) -> Array:
        """Of log tau, of the eight, of mu, (m, 10)."""
        t, x, mu = theta[:, 0], theta[:, 1:-1], theta[:, -1:]
        tau = _exp(t)[:, None]
        share = 1 / (1 + (PRIOR_SCALE / tau[:, 0]) ** 2)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.is_centred:
                z = (x - mu) / tau
                of_t, of_x = (z**2 - 1).sum(axis=1), (EFFECTS - x) / ERRORS**2 - z / tau
                of_mu = (z / tau).sum(axis=1)
            else:
                pull = (EFFECTS - mu - tau * x) / ERRORS**2
                of_t, of_x, of_mu = (pull * tau * x).sum(axis=1), tau * pull - x, pull.sum(axis=1)
            return np.column_stack([1 - 2 * share + of_t, of_x, of_mu - mu[:, 0] / PRIOR_SD**2])


def given(t: Array, is_centred: bool) -> Given:
    """The Gaussian conditionals of mu and x given log tau (n,), and the unnormalised density of log tau."""
    tau = _exp(t)[:, None]
    total = ERRORS**2 + tau**2
    variance = 1 / (1 / PRIOR_SD**2 + (1 / total).sum(axis=-1))
    mean = variance * (EFFECTS / total).sum(axis=-1)
    of_data = -0.5 * (np.log(2 * np.pi * total) + EFFECTS**2 / total).sum(axis=-1)
    log_mass = _log_tau(t) + of_data + 0.5 * (np.log(variance / PRIOR_SD**2) + mean**2 / variance)
    if is_centred:
        parts = EFFECTS * tau**2 / total, ERRORS**2 / total, (ERRORS * tau) ** 2 / total
    else:
        parts = tau * EFFECTS / total, -tau / total, ERRORS**2 / total
    return Given(mean, variance, *parts, log_mass)


def _exp(t: Array) -> Array:
    return np.exp(np.clip(t, -300.0, 300.0))


def _log_tau(t: Array) -> Array:
    """log density of log tau under its prior: a half-Cauchy tau, and the Jacobian tau."""
    return t + np.log(2 / (np.pi * PRIOR_SCALE)) - np.logaddexp(0.0, 2 * (t - np.log(PRIOR_SCALE)))
