"""How well held-out data are predicted, by the mean over draws of q of p(row | theta); and estimates of log Z.

Of chains on targets that are judged `by_points`, such as nets, every draw is asked once: sums over blocks of 2^k draws
are kept and added up. They are functions of the draws alone, so a replay has the same bits.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from pmdviz.densities.density import Points
from pmdviz.densities.product import ProductDensity
from pmdviz.kernels.checks import Array
from pmdviz.kernels.resampling import systematic
from pmdviz.methods import Method, MethodKnobs
from pmdviz.methods.mcmc import Chain, ChainState, scored_draws, states_of
from pmdviz.metrics import DASHED, DOTTED, STEP, Applies, Recent, metric, on_axis
from pmdviz.metrics.distances import squared_distances
from pmdviz.targets import Target

if TYPE_CHECKING:
    from pmdviz.engine.frame import Frame

MOST_POINTS = 1000  # of q that are evaluated one by one; of more, and of a density, this number of draws
MOST_SUMS, AT_ONCE = 512, 32  # sums that are kept; draws that are asked in one call
Average = Callable[[Array], Array]


class Sums(NamedTuple):
    """Sums over draws that scores are made of, an entry for each held-out row."""

    number: int
    mean: Array  # (rows,) sum of E(y | x, theta)
    peak: Array  # (rows,) largest log p(y | x, theta)
    density: Array  # (rows,) sum of exp(log p(y | x, theta) - peak)


_sums = Recent[Sums](MOST_SUMS)
_of_frame: WeakKeyDictionary[Frame, Sums] = WeakKeyDictionary()


def points_of(frame: Frame) -> tuple[Array, Average]:
    """Points (n, d) that represent q, and what averages over them values (n, ...) -> (...).

    Of few weighted points these themselves, without the noise of draws; each may be a whole net. Of a target that is
    judged `by_points` the particles or the chain's draws, whatever q smooths them with.
    """
    if frame.target.by_points and frame.method.family != "parametric":
        q = next(iter(frame.densities.values()))
        if len(q.particles) > MOST_POINTS:
            rows = systematic(q.weights, MOST_POINTS, 0.5)
            return q.particles[rows], lambda values: values.mean(axis=0)
        return _weighted(q.particles, q.weights)
    q = frame.density
    if isinstance(q, Points) and len(q.particles) <= MOST_POINTS:
        return _weighted(q.particles, q.weights)
    return frame.draws, lambda values: values.mean(axis=0)


def _weighted(points: Array, weights: Array) -> tuple[Array, Average]:
    """Those (n, d) that have any weight: one without, however well it predicts, does not scale the others."""
    alive = weights > 0
    weights = weights[alive]
    return points[alive], lambda values: np.einsum("n,n...->...", weights, values)


def every_of(target: Target, knobs: MethodKnobs) -> int:
    """Of how many draws of a chain one is asked, a power of 2: asking takes no longer than making them, by counts."""
    work = knobs.work_on(target)
    step = STEP + target.dim * (work.likelihoods + 3 * work.gradients)
    asking = 2 * len(target.test_data) * (15 + 0.35 * target.dim)
    return 1 << max(0, int(np.ceil(np.log2(asking / (step * knobs.thinning)))))


def sums_of(frame: Frame) -> Sums | None:
    """Over the draws of chains on a target that is judged by points; None of other frames."""
    target, method = frame.target, frame.method
    if not (target.by_points and isinstance(method, Chain)):
        return None
    if frame in _of_frame:
        return _of_frame[frame]
    every, blocks = every_of(target, frame.knobs), list[Sums]()
    chain: ChainState
    for chain in states_of(frame.state):
        first, draws = scored_draws(chain, frame.knobs, every)
        start, end = first, first + len(draws)
        while start < end:  # the largest blocks of 2^k draws that begin at a multiple of their size
            size = min(start & -start or 1 << 62, 1 << (end - start).bit_length() - 1)
            blocks.append(_block(target, draws[start - first : start - first + size]))
            start += size
    return _of_frame.setdefault(frame, reduce(_joined, blocks))


def _block(target: Target, draws: Array) -> Sums:
    """The sums over 2^k draws: of each half on its own, then of both."""
    key, half = _key(target, draws), len(draws) // 2
    found = _sums.get(key)
    if found is not None:
        return found
    if len(draws) > AT_ONCE:
        return _sums.keep(key, _joined(_block(target, draws[:half]), _block(target, draws[half:])))
    singles = {i: sums for i, draw in enumerate(draws) if (sums := _sums.get(_key(target, draw))) is not None}
    new = [i for i in range(len(draws)) if i not in singles]
    if new:
        means, logs = (ask(draws[new], target.test_data) for ask in (target.row_mean, target.row_log_likelihood))
        for i, mean, log in zip(new, means, logs, strict=True):
            singles[i] = _sums.keep(_key(target, draws[i]), Sums(1, mean, log, np.ones(len(log))))
    each = [singles[i] for i in range(len(draws))]
    while len(each) > 1:
        each = [_joined(*pair) for pair in zip(each[::2], each[1::2], strict=True)]
    return _sums.keep(key, each[0])


def _key(target: Target, draws: Array) -> tuple:
    return target.key, hashlib.blake2b(draws.data, digest_size=16).digest()


def _joined(one: Sums, other: Sums) -> Sums:
    peak = np.maximum(one.peak, other.peak)
    parts = (each.density * np.exp(each.peak - peak) for each in (one, other))
    return Sums(one.number + other.number, one.mean + other.mean, peak, np.add(*parts))


def mean_log_density(frame: Frame) -> float:
    """Mean over the held-out rows of log E_q p(row | theta), in nats."""
    sums = sums_of(frame)
    if sums is not None:
        return float((sums.peak + np.log(sums.density / sums.number)).mean())
    points, average = points_of(frame)
    values = frame.target.row_log_likelihood(points, frame.target.test_data)  # (n, rows)
    peak = values.max(axis=0)
    return float((peak + np.log(average(np.exp(values - peak)))).mean())


def _predicts(*kinds: str, also: str = "predictive") -> Applies:
    def applies(target: Target, method: Method) -> bool:
        return {"predictive", also} <= target.offers and target.test_data is not None and target.predicts in kinds

    return applies


CLASSES, NUMBER = ("class", "classes"), ("number",)


def _work(frame: Frame) -> float | None:
    """Asking for every held-out row at the points; None where sums are kept and only new draws are asked."""
    target = frame.target
    if target.by_points and isinstance(frame.method, Chain):
        return None
    few = target.by_points or "reals" not in target.offers  # q of discrete states is points: these are asked
    own = few and frame.method.family != "parametric"
    many = min(len(frame.particles), MOST_POINTS) if own else MOST_POINTS
    return many * len(target.test_data) * (15 + 0.35 * target.dim)


def _untraced(target: Target, method: Method) -> bool:
    return False


@metric("accuracy", "accuracy", "share", 40, _predicts(*CLASSES), work=_work, ranks=False)
@on_axis("accuracy", "Accuracy", log=False, limits=(0.0, 1), colour="ink")
def _accuracy(frame: Frame) -> float:
    """of held-out rows whose class is predicted."""
    target, sums = frame.target, sums_of(frame)
    if sums is not None and target.predicts == "class":
        chances = np.stack([1 - sums.mean / sums.number, sums.mean / sums.number], axis=1)
    else:
        points, average = points_of(frame)
        chances = average(target.class_probabilities(points, target.test_data))
    return float((chances.argmax(axis=1) == target.outcomes(target.test_data)).mean())


@metric("log_loss", "log loss", "nats per row", 41, _predicts(*CLASSES), work=_work)
@on_axis("log_loss", "Log loss", log=False, limits=(0.0, 2), colour="ink")
def _log_loss(frame: Frame) -> float:
    """mean of -log E_q p(class) over held-out rows."""
    return -mean_log_density(frame)


@metric("rmse", "RMSE", "units of y", 42, _predicts(*NUMBER), work=_work)
@on_axis("rmse", "RMSE", log=False, limits=(0.0, 10), colour="ink")
def _rmse(frame: Frame) -> float:
    """root mean squared error of E_q y on held-out rows."""
    target, sums = frame.target, sums_of(frame)
    if sums is not None:
        mean = sums.mean / sums.number
    else:
        points, average = points_of(frame)
        mean = average(target.row_mean(points, target.test_data))
    return float(np.sqrt(((mean - target.outcomes(target.test_data)) ** 2).mean()))


@metric("nlpd", "NLPD", "nats per row", 43, _predicts(*NUMBER), work=_work)
@on_axis("nlpd", "NLPD", log=False, limits=(0.0, 10), colour="ink")
def _nlpd(frame: Frame) -> float:
    """mean of -log E_q p(y) over held-out rows."""
    return -mean_log_density(frame)


SINGLE = "accuracy of a single point"


@metric("single_accuracy", SINGLE, "share", 44, _predicts("classes"), work=_work, ranks=False, short="single accuracy")
@on_axis("accuracy", "Accuracy of a single point", log=False, limits=(0.0, 1), colour="particles", dash=DASHED)
def _single_accuracy(frame: Frame) -> float:
    """mean over q of the share of held-out rows whose class one theta alone predicts."""
    target, (points, average) = frame.target, points_of(frame)
    chosen = target.class_probabilities(points, target.test_data).argmax(axis=2)
    return float(average((chosen == target.outcomes(target.test_data)).astype(float)).mean())


@metric("misclassification", "misclassification", "share", 45, _predicts(*CLASSES), _untraced, work=_work)
@on_axis("misclassification", "Misclassification", log=False, limits=(0.0, 1), colour="ink")
def _misclassification(frame: Frame) -> float:
    """of held-out rows whose class is not predicted."""
    return 1.0 - _accuracy(frame)


@metric("pps", "PPS", "nats per row", 46, _predicts(*CLASSES, *NUMBER), _untraced, work=_work)
@on_axis("pps", "PPS", log=False, limits=(0.0, 10), colour="ink")
def _pps(frame: Frame) -> float:
    """The partial predictive score.

    about: partial predictive score: mean of -log p(y | theta) over held-out rows, at the mean of theta over q (Tran,
        Tseng, Kohn 2023, section 7.2, where the log is missing)
    """
    target, (points, average) = frame.target, points_of(frame)
    return -float(target.row_log_likelihood(average(points)[None], target.test_data).mean())


@metric(
    "pps_seed",
    "PPS of the tables",
    "nats per row",
    47,
    _predicts(*NUMBER, also="noise_variance"),
    _untraced,
    work=_work,
)
@on_axis("pps_seed", "PPS of the tables", log=False, limits=(0.0, 10), colour="ink")
def _pps_seed(frame: Frame) -> float:
    """The score of the tables in the paper.

    about: half of log s² + (y - η)²/s² on held-out rows, at the means over q of η and s²; without log 2π, as in the
        tables of Tran, Tseng, Kohn 2023
    """
    target, (points, average) = frame.target, points_of(frame)
    residual = target.outcomes(target.test_data) - average(target.row_mean(points, target.test_data))
    variance = float(average(target.noise_variance(points)))
    return 0.5 * float(np.log(variance) + (residual**2).mean() / variance)


@metric(
    "expected_log_loss", "expected log loss", "nats per row", 48, _predicts(*CLASSES, *NUMBER), _untraced, work=_work
)
@on_axis("expected_log_loss", "Expected log loss", log=False, limits=(0.0, 10), colour="ink")
def _expected_log_loss(frame: Frame) -> float:
    """The mean log loss of single points.

    about: mean over q of the mean of -log p(y | theta) over held-out rows: never below NLPD or the log loss, whose
        means over q are within the log
    """
    target, (points, average) = frame.target, points_of(frame)
    return -float(average(target.row_log_likelihood(points, target.test_data).mean(axis=1)))


# How well topics predict words that were held out: each document's shares are estimated from the other half of it.

MOST = 16  # sets of topics of an approximation that are asked: the heaviest, or of equal ones some, evenly spread
NEGLIGIBLE = 1e-9  # a weight


def chosen_topics(frame: Frame) -> tuple[Array, Array]:
    """Sets of topics (n, W, K) of the approximation, and their weights (n,), sum 1; 16 at most."""
    points, weights = frame.density.particles, frame.density.weights
    spread = np.linspace(0, len(weights) - 1, min(MOST, len(weights))).astype(np.int64)
    rows = spread if np.ptp(weights) == 0 else np.argsort(-weights, kind="stable")[:MOST]
    rows = rows[weights[rows] > NEGLIGIBLE * weights.max()]
    return frame.target.topics(points[rows]), weights[rows] / weights[rows].sum()


def _of_words(target: Target, method: Method) -> bool:
    return target.predicts == "words" and target.test_data is not None


@metric("perplexity", "perplexity", "words", 44, _of_words)
@on_axis("perplexity", "Perplexity", log=False, limits=(0.0, 1e4), colour="ink")
def _perplexity(frame: Frame) -> float:
    """exp of the mean of -log p(word) over held-out words."""
    return float(np.exp(nats_per_token(frame)))


@metric("word_log_loss", "word log loss", "nats per word", 45, _of_words)
@on_axis("word_log_loss", "Word log loss", log=False, limits=(0.0, 12.0), colour="ink")
def nats_per_token(frame: Frame) -> float:
    """mean of -log p(word) over held-out words."""
    total, tokens = frame.target.held_out(*chosen_topics(frame))
    return -total / tokens


@metric("unigram", "unigram entropy", "nats per word", 46, _of_words, ranks=False)
@on_axis("word_log_loss", log=False, limits=(0.0, 12.0), colour="exact", dash=DASHED)
def _unigram(frame: Frame) -> float:
    """the same of one distribution over words for all documents."""
    return frame.target.unigram_nats


# How far the mean of a sparse Gaussian process lies from the exact process of all data.


def _has_exact_process(target: Target, method: Method) -> bool:
    return bool(getattr(target, "has_exact_process", False))


# The order puts it before the errors of the whitened values, which say little of the function.
@metric("process_error", "RMSE to the exact process", "units of y", 9, _has_exact_process, short="RMSE to exact")
@on_axis("process_error", limits=(1e-3, 10.0), colour="ink")
def distance_to_process(frame: Frame) -> float:
    """root mean squared difference between the mean of q and the mean of the exact Gaussian process."""
    exact, _ = frame.target.exact_process
    return float(np.sqrt(((frame.target.values(frame.density.mean[None])[0] - exact) ** 2).mean()))


# The evidence log Z as a method estimates it, and the lower bound of a mean-field q.


@metric("log_z", "log Z", "nats", 32, lambda target, method: method.estimates_log_z, ranks=False)
@on_axis("log_z", "log Z", log=False, colour="particles")
def _log_z(frame: Frame) -> float | None:
    """estimate of log Z, with data log p(X): of the data seen, or at the β reached, so far."""
    return frame.method.log_z(frame.state, frame.knobs, frame.target)


def _has_exact_log_z(target: Target, method: Method) -> bool:
    """Whether there is an estimate and the truth."""
    reference = target.reference() if method.estimates_log_z else None
    return reference is not None and reference.log_z is not None


@metric("log_z_exact", "exact log Z", "nats", 34, _has_exact_log_z, ranks=False)
@on_axis("log_z", log=False, dash=DASHED)
def _log_z_exact(frame: Frame) -> float | None:
    """log Z of the reference, which estimates should come to at the end."""
    return frame.reference.log_z


def _bounds_log_z(target: Target, method: Method) -> bool:
    return method.bounds_log_z and target.exact is not None


@metric("log_z_above", "log Z from above", "nats", 33, _bounds_log_z, ranks=False)
@on_axis("log_z", log=False, colour="approximate", dash=DOTTED)
def _log_z_above(frame: Frame) -> float | None:
    """log Z by the way back from independent draws: at its end an upper bound in the mean."""
    return frame.method.log_z_above(frame.state, frame.knobs, frame.target)


@metric("log_z_error", "error of log Z", "nats", 35, _has_exact_log_z, ranks=False)
@on_axis("log_z_error", log=False, colour="particles")
def _log_z_error(frame: Frame) -> float | None:
    """estimate of log Z minus the reference's; it is meaningful only after all data, or at β = 1.

    log Z-hat - log Z.
    """
    found = _log_z(frame)
    return None if found is None else found - frame.reference.log_z


# The evidence lower bound of a mean-field q by nearest neighbours: a bound that can be compared with log Z.

NEIGHBOUR = 3  # the k-th nearest
MOST_COORDINATES = 10  # of a block: balls to a neighbour in more are so wide that the density is not level in them
POINTS = 2000  # the entropy is of so many particles at most: 32 MB of distances
COINCIDENT = 1e-13  # squared distance in sds: rounding alone


def knn_entropy(points: Array, k: int = NEIGHBOUR) -> float:
    """psi(n) - psi(k) + log V_d + d mean_i log r_i of points (n, d), in nats; NaN where k + 1 of them coincide.

    r_i is the distance of point i to its k-th nearest neighbour in units of the coordinates' sds, whose logs are added,
    and V_d the volume of the unit ball. On Gaussians with 300 points it is 0.1 nats off in five dimensions, 0.2 in
    ten, because the density is not level within r_i. Source: Kozachenko, Leonenko 1987; with k: Kraskov, Stogbauer,
    Grassberger 2004, Eq. 20.
    """
    n, d = points.shape
    unit = points.std(axis=0)
    if n <= k or not (unit > 0).all():
        return math.nan
    scaled = points / unit
    squared = np.partition(squared_distances(scaled, scaled), k, axis=1)[:, k]  # the nearest of all is itself
    if not (squared > COINCIDENT).all():
        return math.nan
    ball = 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d + 1)
    between = math.fsum(1 / i for i in range(k, n))  # psi(n) - psi(k)
    return float(between + ball + 0.5 * d * np.log(squared).mean() + np.log(unit).sum())


def _has_blocks(target: Target, method: Method) -> bool:
    return "blocks" in method.requires


def lower_bound(density: ProductDensity, target: Target) -> float:
    """An estimate of the ELBO: mean log p(theta, X) of the particles plus the entropies of their blocks, in nats.

    NaN where a block has too many coordinates.
    """
    if max(map(len, density.blocks)) > MOST_COORDINATES:
        return math.nan
    entropies = [knn_entropy(np.ascontiguousarray(part.particles[:POINTS])) for part in density.parts]
    return float(target.log_joint(density.particles).mean() + sum(entropies))


@metric("elbo_knn", "lower bound (kNN entropy)", "nats", 36, _has_blocks, short="lower bound", ranks=False)
@on_axis("elbo_knn", "Lower bound (kNN entropy)", log=False, colour="approximate")
def _lower_bound(frame: Frame) -> float | None:
    """The evidence lower bound of a mean-field q.

    about: mean log p(θ, X) plus the entropy of each block's particles by nearest neighbours: an estimate of the lower
        bound, which can exceed log Z; none where a block has more than 10 coordinates
    """
    found = lower_bound(frame.density, frame.target) if isinstance(frame.density, ProductDensity) else math.nan
    return found if math.isfinite(found) else None
