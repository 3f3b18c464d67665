"""Eight schools, centred and not: a small hierarchical model whose coordinates decide what a chain can reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Choice
from pmdviz.targets.exact import Box, OnGrids, normal_cdf
from pmdviz.targets.options import TargetOptions, q0_mean, q0_sd
from pmdviz.targets.space import numbered
from pmdviz.targets.without_data import WithoutData

EFFECTS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])  # of coaching in each school, in points of the test
ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])  # their standard errors
PRIOR_SD, PRIOR_SCALE = 5.0, 5.0  # of mu, Gaussian; of tau, half-Cauchy
NODES = np.linspace(-14.0, 7.0, 1_401)  # of log tau, for sums over it: all but 1e-6 of the mass
QUANTILES = 64  # of mu in the box given tau, for its mass
NECK_SDS = 3.0  # of log tau below its mean, where the neck is


class EightSchoolsOptions(TargetOptions):
    """Options of `eight_schools`.

    coordinates: "centred": the effects of the schools; "non-centred": how many tau they are away from mu.
    """

    coordinates = Choice(
        "centred", {"centred": "effects of the schools", "non-centred": "effects in units of tau"}, label="Coordinates"
    )
    q0_mean = q0_mean()
    q0_sd = q0_sd(2.0)


class EightSchools(WithoutData):
    """y_j ~ N(effect_j, error_j^2), effect_j ~ N(mu, tau^2), mu ~ N(0, 5^2), tau half-Cauchy(5); j = 1 .. 8.

    Coordinates: log tau, the eight effects (or z_j = (effect_j - mu) / tau), mu.

    title: Eight schools
    about: Effects of coaching in eight schools. Centred, a narrow neck hides small tau; non-centred, the neck is gone.
    source: Rubin 1981; Papaspiliopoulos et al. 2007
    """

    question = "The same model in two sets of coordinates. In which does a chain reach small tau?"
    name = "eight_schools"
    Options = EightSchoolsOptions

    def build(self) -> None:
        """The data are eight numbers and their errors, which are part of the density."""
        o, self.dim = self.options, 10
        self.is_centred = o.coordinates == "centred"
        self.parameter_names = ("log tau", *numbered("effect" if self.is_centred else "z", 8), "mu")
        reach = 25.0 if self.is_centred else 3.0
        low, high = np.array([-4.0, *[-reach] * 8, -8.0]), np.array([4.0, *[reach] * 8, 15.0])
        self.start_from(o.q0_mean, o.q0_sd, low, high)

    def make_exact(self) -> SchoolsExact:
        """By a sum over log tau: given tau all else is Gaussian."""
        return SchoolsExact(self._log_p, self.is_centred)

    def _log_p(self, theta: Array) -> Array:
        t, x, mu = theta[:, 0], theta[:, 1:-1], theta[:, -1:]
        tau = _exp(t)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            z = (x - mu) / tau if self.is_centred else x
            effects = x if self.is_centred else mu + tau * x
            of_x = _log_normal(z, 1.0).sum(axis=1) - (8 * t if self.is_centred else 0.0)
            of_data = _log_normal(EFFECTS - effects, ERRORS).sum(axis=1)
            found = _log_tau(t) + _log_normal(mu[:, 0], PRIOR_SD) + of_x + of_data
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


class Given(NamedTuple):
    """Given log tau (n,): mu ~ N(mean, variance) and x_j ~ N(at + slope mu, spread), independent given mu."""

    mean: Array  # (n,)
    variance: Array
    at: Array  # (n, 8)
    slope: Array
    spread: Array
    log_mass: Array  # (n,): log of p(log tau) p(data | tau), nats


def given(t: Array, is_centred: bool) -> Given:
    """The Gaussian conditionals of all other coordinates, and the unnormalised density of log tau."""
    tau = _exp(np.asarray(t, float))[..., None]
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


class SchoolsExact(OnGrids):
    """Moments, marginals and draws by a sum over log tau; `log_p` is the unnormalised density."""

    def __init__(self, log_p: Callable[[Array], Array], is_centred: bool) -> None:
        super().__init__()
        self._log_p, self._is_centred = log_p, is_centred
        self._nodes = known = given(NODES, is_centred)
        peak = known.log_mass.max()
        mass = np.exp(known.log_mass - peak)
        self.log_z = float(peak + np.log(mass.sum() * (NODES[1] - NODES[0])))
        self._mass = mass / mass.sum()
        means = np.column_stack([NODES, known.at + known.slope * known.mean[:, None], known.mean])
        self.mean = self._mass @ means
        slopes = np.column_stack([np.zeros(len(NODES)), known.slope, np.ones(len(NODES))])
        within = np.einsum("n,ni,nj->ij", self._mass * known.variance, slopes, slopes)
        within[np.arange(1, 9), np.arange(1, 9)] += self._mass @ known.spread
        off = means - self.mean
        self.cov = within + (off * self._mass[:, None]).T @ off
        self.mean_error = np.zeros(10)
        reach = 150.0 if is_centred else 12.0
        self.box: Box = ((NODES[0], NODES[-1]), *((-reach, reach),) * 8, (-60.0, 60.0))
        self.boxes = (self.box,)
        for array in (self.mean, self.mean_error, self.cov):
            array.flags.writeable = False

    def log_density(self, points: Array) -> Array:
        """log p(points), (n, 10) -> (n,)."""
        return self._log_p(np.asarray(points, float)) - self.log_z

    def sample(self, rng: Rng, n: int) -> Array:
        """n iid draws (n, 10): log tau, mu given it, the others given both."""
        uniform, normals = rng.random(n), rng.standard_normal((n, 9))
        t = np.interp(uniform, np.cumsum(self._mass), NODES + 0.5 * (NODES[1] - NODES[0]))
        known = given(t, self._is_centred)
        mu = known.mean + np.sqrt(known.variance) * normals[:, 8]
        x = known.at + known.slope * mu[:, None] + np.sqrt(known.spread) * normals[:, :8]
        return np.column_stack([t, x, mu])

    def marginal_log_density(self, coordinates: Sequence[int]) -> Callable[[Array], Array]:
        """log p of some of the coordinates, (n, k) -> (n,); without log tau by a sum over it."""
        chosen = [*coordinates]
        others = [(k, place) for place, k in enumerate(chosen) if k != 0]

        def log_density(points: Array) -> Array:
            columns = {k: np.asarray(points, float)[:, place] for k, place in others}
            if 0 in chosen:
                known = given(np.asarray(points, float)[:, chosen.index(0)], self._is_centred)
                return known.log_mass - self.log_z + _conditional(known, columns)
            by_node = _conditional(self._nodes, {k: values[:, None] for k, values in columns.items()})
            peak = by_node.max(axis=1)
            return peak + np.log(np.exp(by_node - peak[:, None]) @ self._mass)

        return log_density

    def mass_in(self, box: Box) -> float:
        """The mass in `box`, by sums over log tau and mu."""
        inside = (NODES >= box[0][0]) & (NODES <= box[0][1])
        known, mass = Given(*(part[inside] for part in self._nodes)), self._mass[inside]
        of_mu, sd = np.array(box[-1])[:, None], np.sqrt(known.variance)
        below, up_to = normal_cdf((of_mu - known.mean) / sd)  # mu's share up to each side of the box, given log tau
        shares = below[:, None] + (up_to - below)[:, None] * (np.arange(QUANTILES) + 0.5) / QUANTILES
        mu = known.mean[:, None] + sd[:, None] * np.interp(shares, normal_cdf(NORMALS), NORMALS)
        mean = known.at[:, None] + known.slope[:, None] * mu[..., None]
        low, high = np.array(box[1:-1]).T
        sds = np.sqrt(known.spread)[:, None]
        share = (normal_cdf((high - mean) / sds) - normal_cdf((low - mean) / sds)).prod(axis=2)
        return float(mass @ ((up_to - below) * share.mean(axis=1)))

    def narrowest(self, unit: Array) -> float:
        """Sd of an effect in the neck, or of log tau, coordinates divided by `unit` (10,)."""
        sd = float(np.sqrt(self.cov[0, 0]))
        neck = np.sqrt(given(np.array([self.mean[0] - NECK_SDS * sd]), self._is_centred).spread[0])
        return float(min(sd / unit[0], (neck / np.asarray(unit[1:-1])).min()))


NORMALS = np.linspace(-8.0, 8.0, 4_001)


def _conditional(known: Given, columns: dict[int, Array]) -> Array:
    """log density of mu (9) and some x_j (1 .. 8) given log tau; without mu by Woodbury's identity."""
    left = {k - 1: values for k, values in columns.items() if k != 9}
    if 9 in columns:
        mu = columns[9]
        found = _log_normal(mu - known.mean, np.sqrt(known.variance))
        for j, x in left.items():
            found = found + _log_normal(x - known.at[:, j] - known.slope[:, j] * mu, np.sqrt(known.spread[:, j]))
        return found
    squares, crossed, weight, log_det = 0.0, 0.0, 0.0, 0.0
    for j, x in left.items():
        off = x - known.at[:, j] - known.slope[:, j] * known.mean
        squares = squares + off**2 / known.spread[:, j]
        crossed = crossed + known.slope[:, j] * off / known.spread[:, j]
        weight = weight + known.slope[:, j] ** 2 / known.spread[:, j]
        log_det = log_det + np.log(2 * np.pi * known.spread[:, j])
    grown = 1 + known.variance * weight
    return -0.5 * (squares - known.variance * crossed**2 / grown + np.log(grown) + log_det)


def _exp(t: Array) -> Array:
    return np.exp(np.clip(t, -300.0, 300.0))


def _log_tau(t: Array) -> Array:
    """log density of log tau under its prior: a half-Cauchy tau, and the Jacobian tau."""
    return t + np.log(2 / (np.pi * PRIOR_SCALE)) - np.logaddexp(0.0, 2 * (t - np.log(PRIOR_SCALE)))


def _log_normal(off: Array, sd: Array | float) -> Array:
    return -0.5 * (off / sd) ** 2 - np.log(np.sqrt(2 * np.pi) * sd)
