"""Rules for the smoothing kernel: the Cholesky factor of its covariance h^2 S, from the weighted particles.

Every rule is a pure function of the particles and weights: metrics and pictures never consume random numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pmdviz.densities.density import weighted_sum
from pmdviz.kernels.checks import Array
from pmdviz.kernels.clusters import median_distance, pooled_local_covariance
from pmdviz.kernels.factors import cholesky
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


RULES: dict[str, Callable[..., Array]] = {
    "isotropic": isotropic,
    "median": median,
    "covariance": covariance,
    "local": local,
}
