"""Rules for the smoothing kernel: the Cholesky factor of its covariance h^2 S, from the weighted particles.

Every rule is a pure function of the particles and weights: metrics and pictures never consume random numbers.
"""

from collections.abc import Callable
from functools import cache
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import START, Shape, ShapedDensity, mixed, weighted_sum
from pmdviz.kernels.checks import Array
from pmdviz.kernels.clusters import clustered, median_distance, moments, pooled_local_covariance
from pmdviz.kernels.factors import cholesky
from pmdviz.kernels.kde import Kernels, kernels_of, leave_one_out, only, whiten
from pmdviz.kernels.resampling import systematic

NUM_CENTRES = 60
NEIGHBOUR_FRACTION = 0.1  # of the particles, and of the weight
EFFECTIVE_NEIGHBOURS = 25.0
MAX_IN_PAIRS = 500  # particles whose distances are measured: 124,750 pairs
USUAL = 2.0  # the smoothness for which h falls like m^(-1/(d+4)), the best rate of a Gaussian kernel
# The smallest sd of S as a share of the particles' spread and of the prior's: coincident particles have a kernel too.
SPREAD_FLOOR, PRIOR_FLOOR = 1e-4, 1e-9

# r(d): what `local` measures on a standard Gaussian without the division. Up to d = 5 these are the rule's own
# constants; `python -m pmdviz bench local-scale` measures them again and gave the rest.
LOCAL_SCALE = {1: 0.023, 2: 0.11, 3: 0.217, 5: 0.35, 7: 0.448, 10: 0.536, 15: 0.616, 20: 0.667, 30: 0.727, 50: 0.791}


def isotropic(particles: Array, weights: Array, bandwidth: float, scale: Array, smoothness: float = USUAL) -> Array:
    """S = identity, h = `bandwidth` in the units of theta (the rule of Dai et al. 2016)."""
    return bandwidth * np.eye(particles.shape[1])


def median(particles: Array, weights: Array, bandwidth: float, scale: Array, smoothness: float = USUAL) -> Array:
    """S = identity, h = `bandwidth` times the median distance of two particles.

    With 0.1 this is how Dai et al. 2016, section 6, judge the draws of chains.
    """
    return bandwidth * typical_distance(particles, weights, scale) * np.eye(particles.shape[1])


def covariance(particles: Array, weights: Array, bandwidth: float, scale: Array, smoothness: float = USUAL) -> Array:
    """S = covariance of the weighted particles, h = c m^(-1/(d + 2 beta)), c = `bandwidth`, beta = `smoothness`.

    The textbook's rule (Silverman 1986, section 4.3.2). Where modes lie far apart it measures the gap between them.
    """
    m, d = particles.shape
    centred = particles - weighted_sum(weights, particles)
    own = np.diag(own_scale(spread(particles, weights), scale) ** 2)
    S = np.einsum("i,ij,ik->jk", weights, centred, centred) if m >= d + 2 else own
    return _factor(S, particles, weights, bandwidth, scale, smoothness)


def local(particles: Array, weights: Array, bandwidth: float, scale: Array, smoothness: float = USUAL) -> Array:
    """S = pooled covariance within neighbourhoods, h = c m^(-1/(d + 2 beta)), c = `bandwidth`, beta = `smoothness`.

    Ours. One c fits near and far modes alike, as S measures the modes and not the gap between them.
    """
    S = neighbourhood_covariance(particles, weights, scale) / local_scale(particles.shape[1])
    return _factor(S, particles, weights, bandwidth, scale, smoothness)


def _factor(S: Array, particles: Array, weights: Array, c: float, scale: Array, smoothness: float) -> Array:
    """Cholesky factor of h^2 S with h = c m^(-1/(d + 2 beta))."""
    m, d = particles.shape
    smallest = SPREAD_FLOOR * spread(particles, weights) + PRIOR_FLOOR * scale
    return c * m ** (-1.0 / (d + 2 * smoothness)) * cholesky(S + np.diag(smallest**2))


def typical_distance(particles: Array, weights: Array, scale: Array) -> float:
    """Median distance of two particles; of 500 taken systematically where they are more or differ in weight.

    Pairs of one particle with itself do not count. Never 0: coincident particles are as far apart as rounding, a lone
    one has the prior's width, whose sd is `scale`.
    """
    chosen = np.arange(len(particles))
    if len(particles) > MAX_IN_PAIRS or weights.max() > weights.min() * (1 + PRIOR_FLOOR):
        chosen = systematic(weights, MAX_IN_PAIRS, 0.5)
    counts = np.bincount(chosen)
    if (counts > 0).sum() < 2:
        return float(scale.mean())
    with_itself = int((counts * (counts - 1) // 2).sum())
    return max(median_distance(particles[chosen], with_itself), PRIOR_FLOOR * float(scale.mean()))


def spread(particles: Array, weights: Array) -> Array:
    """Weighted sd (d,) of each coordinate."""
    return np.sqrt(weighted_sum(weights, (particles - weighted_sum(weights, particles)) ** 2))


def own_scale(sd: Array, scale: Array) -> Array:
    """The particles' sds (d,); along a coordinate without spread, such as a lone particle's, the prior's `scale`."""
    return np.where(sd > PRIOR_FLOOR * scale, sd, scale)


def neighbourhood_covariance(particles: Array, weights: Array, scale: Array) -> Array:
    """Mean weighted covariance (d, d) of the nearest tenth of the particles around 60 stratified centres.

    Where the particles around a centre weigh more than others, fewer do: so many as hold a tenth of the weight and 25
    effective particles. A mode then measures the same whether it has many light or few heavy particles. With
    fewer than d + 2 particles nothing local can be measured and the variances of all are used instead.
    """
    m, d = particles.shape
    unit = own_scale(spread(particles, weights), scale)
    if m < d + 2:
        return local_scale(d) * np.diag(unit**2)
    centres = systematic(weights, NUM_CENTRES, 0.5)
    num_neighbours = min(m, max(int(np.ceil(NEIGHBOUR_FRACTION * m)), d + 2))
    share, effective = NEIGHBOUR_FRACTION, EFFECTIVE_NEIGHBOURS
    return pooled_local_covariance(particles, weights, centres, unit, num_neighbours, share, effective)


def local_scale(d: int) -> float:
    """r(d): what `neighbourhood_covariance` gives on a standard Gaussian, interpolated in log d between the table."""
    known = np.array(sorted(LOCAL_SCALE))
    return float(np.interp(np.log(d), np.log(known), [LOCAL_SCALE[k] for k in known]))


EVERY: tuple[Callable[..., Array], ...] = (isotropic, median, covariance, local)
RULES = {rule.__name__: rule for rule in EVERY}


# The density of the shaped kernel: in every cluster kernels of its shape, which leave its mean and covariance alone.
#
# Within a cluster of mean mu and covariance C the centres are drawn towards mu by a = sqrt(1 - h^2) and the kernels
# have the covariance h^2 C. The cluster's part of q then has mean mu and covariance a^2 C + h^2 C = C, whatever h (West
# 1993; Liu and West 2001): h near 1 is a mixture of Gaussians, a small h an ordinary kernel density estimate.
#
# The choice of the shaped kernel: how many clusters, which particle is in which, and how wide the kernels are.

MAX_CLUSTERS = 4
WIDTHS = (0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 0.95)  # the search begins at START
JUDGED, SEEDS = 400, 30  # times that a particle is left out; particles that clusters may start from
KERNELS = 250  # times d + 1: of more particles, so many represent all in the choice
DEAREST = 1.0  # nats that K clusters may cost more than one, or they are not tried
WORTH_SHARING = 0.01  # nats that one covariance for all must save, or it is not tried
MIN_ESS = 10  # times d + 1: of a cluster with a covariance of its own; one of a few outliers would be far too narrow
RIDGE = 1e-9  # of a particle's variance


class Whitened(NamedTuple):
    """A cluster in coordinates in which it has mean 0 and covariance I, and the judged particles in the same."""

    kernels: Kernels
    log_scale: float  # log density in the coordinates of before, less that in these


def chosen_shape(particles: Array, weights: Array, each: int = 1, last: Shape | None = None) -> Shape:
    """K clusters and h for particles (m, d) with weights (m,) of sum 1; one and the widest where they are too few.

    `each`: of how many candidates every particle was chosen, to spread them more evenly. Leaving one out then
    leaves a gap, and finds h as for the particles alone; they represent all candidates, and h falls as with so many.
    `last`: a shape of the same particles whose clusters are kept, so h alone is chosen, in a quarter of the time.
    """
    m, d = particles.shape
    centred = particles - weighted_sum(weights, particles)
    sd, ess = np.sqrt(weighted_sum(weights, centred**2)), float(1.0 / (weights**2).sum())
    if ess < d + 2 or not (sd > 0).all():
        return Shape(np.zeros(m, np.int64), WIDTHS[-1])
    learned, most = weights, KERNELS * (d + 1)
    if m > most:  # the weights of a systematic choice, 0 for all others
        learned = np.bincount(systematic(weights, most, 0.5), minlength=m) / most
    best = (last and _kept(centred / sd, learned, last)) or _best(centred / sd, weights, learned, ess)
    usual = float(((learned**2).sum() * ess * each) ** (-1 / (d + 4)))  # h falls so from as many as judge it to all
    return best._replace(width=best.width * usual)


def _kept(z: Array, learned: Array, last: Shape) -> Shape | None:
    """The clusters of before with their best h; None where one has become too light."""
    at, counts = judges(learned)
    parts = whitened(z, learned, last.labels, at, last.shared)
    if parts is None:
        return None
    _, place = best_width(parts, counts, last.place)
    return last._replace(width=WIDTHS[place], place=place)


def _best(z: Array, weights: Array, learned: Array, ess: float) -> Shape:
    """One cluster after another is added, until the leave-one-out log density less the price is not higher."""
    highest, best = -np.inf, Shape(np.zeros(len(z), np.int64), WIDTHS[START])
    seeds, (at, counts) = np.unique(systematic(learned, SEEDS, 0.5)), judges(learned)
    for k in range(1, MAX_CLUSTERS + 1):
        kinds, tried = _kinds(k, z.shape[1], ess), []
        labels = clustered(z, weights, seeds, k, learned) if kinds else best.labels
        for shared in kinds:
            if parts := whitened(z, learned, labels, at, shared):
                value, place = best_width(parts, counts, max(best.place, START))
                tried.append((value - price(k, z.shape[1], shared) / ess, Shape(labels, WIDTHS[place], shared, place)))
        here = max(tried, key=itemgetter(0), default=None)
        if here and here[0] <= highest:
            break
        highest, best = here or (highest, best)
    return best


def price(k: int, d: int, shared: bool) -> float:
    """Parameters of k means and of their covariances, one or k."""
    return k * d + (1 if shared else k) * d * (d + 1) / 2


def _kinds(k: int, d: int, ess: float) -> list[bool]:
    """What to try with k clusters: covariances of their own, a shared one (True), both, or neither."""
    if k == 1:
        return [False]
    own, shared = price(k, d, False), price(k, d, True)
    most = price(1, d, False) + DEAREST * ess
    allowed = {False: own <= most, True: shared <= most and own - shared > WORTH_SHARING * ess}
    return [kind for kind in allowed if allowed[kind]]


def judges(weights: Array) -> tuple[Array, Array]:
    """The particles that are left out one after the other, a systematic choice by weight, and how often each counts."""
    at, counts = np.unique(systematic(weights, JUDGED, 0.5), return_counts=True)
    return at, counts


def whitened(z: Array, weights: Array, labels: Array, at: Array, shared: bool = False) -> list[Whitened] | None:
    """The clusters of z (m, d), and those judged; None where one has too few effective particles for its own shape.

    A `shared` covariance is the weighted mean of the clusters' own, as in linear discriminant analysis.
    """
    d, insides = z.shape[1], [np.flatnonzero((labels == c) & (weights > 0)) for c in range(labels.max() + 1)]
    those = [weights[inside] for inside in insides]
    if any(not len(w) or not shared and w.sum() ** 2 < MIN_ESS * (d + 1) * (w * w).sum() for w in those):
        return None
    found = [moments(z[inside], w / w.sum()) for inside, w in zip(insides, those, strict=True)]
    within = sum((w.sum() * covariance for w, (_, covariance) in zip(those, found, strict=True)), np.zeros((d, d)))
    return [
        _whitened(z, inside, w, mean, within if shared else covariance, at)
        for inside, w, (mean, covariance) in zip(insides, those, found, strict=True)
    ]


def _whitened(z: Array, inside: Array, weights: Array, mean: Array, covariance: Array, at: Array) -> Whitened:
    factor = cholesky(covariance + RIDGE * np.eye(len(mean)))
    place = np.full(len(z), -1)
    place[inside] = np.arange(len(inside))
    columns, judged = (whiten(x, mean, factor) for x in (z[inside], z[at]))
    return Whitened(kernels_of(columns, np.log(weights), judged, place[at]), -np.log(np.diag(factor)).sum())


def best_width(parts: list[Whitened], counts: Array, place: int) -> tuple[float, int]:
    """The largest mean leave-one-out log density, and the place in WIDTHS that has it, by steps uphill."""
    shares = counts / counts.sum()

    @cache
    def value(place: int) -> float:
        inside = 0 <= place < len(WIDTHS)
        return float((left_out(parts, WIDTHS[place]) * shares).sum()) if inside else -np.inf

    way = 1 if value(place + 1) > value(place) else -1
    while value(place + way) > value(place):
        place += way
    return value(place), place


def left_out(parts: list[Whitened], h: float) -> Array:
    """log q at each judged particle without its own kernel, (n,)."""
    total = _sum(parts, lambda part: leave_one_out(part.kernels, h))
    faint = np.flatnonzero(total == -np.inf)
    if faint.size:
        few = [part._replace(kernels=only(part.kernels, faint)) for part in parts]
        total[faint] = _sum(few, lambda part: leave_one_out(part.kernels, h, exact=True))
    return total


def _sum(parts: list[Whitened], log_density: Callable[[Whitened], Array]) -> Array:
    return mixed(log_density(part) + part.log_scale for part in parts)


WIDEST = 0.95  # of h: beyond it the particles' own places would no longer be seen
THIN, FLAT = 1e-9, 1e-4  # smallest sd of a cluster, in prior sd; of one without a shape: a share of its spread


def shaped_density(particles: Array, log_weights: Array, shape: Shape, factor: float, scale: Array) -> ShapedDensity:
    """q of weighted particles (m, d) in clusters, with kernels `factor` times as wide as chosen.

    Up to WIDEST the particles move towards the cluster's mean, and q has their covariance. With a factor above 1,
    kernels are that much wider than the cluster: q is too smooth.
    Fewer than d + 2 particles have no covariance: their kernels are as wide along each coordinate as the particles are
    spread. Along a coordinate without spread, such as a lone particle's, `scale` (d,) is used, the prior's sd.
    """
    h, beyond = min(shape.width * factor, WIDEST), max(1.0, min(factor, shape.width * factor / WIDEST))
    weights, centres = np.exp(log_weights), particles.copy()
    insides = [shape.labels == c for c in range(shape.labels.max() + 1)]
    few = len(particles) < particles.shape[1] + 2
    found = [_cluster(particles[s], weights[s], scale, few) for s in insides]
    for inside, (mean, _) in zip(insides, found, strict=True):
        centres[inside] = mean + np.sqrt(1 - h * h) * (particles[inside] - mean)
    covariances = np.array([covariance for _, covariance in found])
    if shape.shared:
        covariances[:] = np.einsum("k,kij->ij", np.bincount(shape.labels, weights), covariances)
    return ShapedDensity(particles, log_weights, shape.labels, centres, beyond * h * _factors(covariances), few, shape)


def _factors(covariances: Array) -> Array:
    """Cholesky factors (k, d, d); copies of few particles span no space, and get a share of their spread."""
    try:
        return cholesky(covariances)
    except np.linalg.LinAlgError:
        return cholesky(covariances + FLAT**2 * covariances * np.eye(covariances.shape[-1]))


def _cluster(particles: Array, weights: Array, scale: Array, few: bool) -> tuple[Array, Array]:
    """Mean (d,) and covariance (d, d), which is made solid where there are too few effective particles for one."""
    m, d = particles.shape
    share = weights.sum()
    w = weights / share if share > 0 else np.full(m, 1 / m)
    mean, covariance = moments(particles, w)
    if few:
        covariance = np.diag(own_scale(np.sqrt(np.diag(covariance)), scale) ** 2)
    elif (w * w).sum() * (d + 2) > 1:
        covariance = covariance + np.diag(FLAT**2 * np.diag(covariance))
    return mean, covariance + np.diag((THIN * scale) ** 2)
