"""Neal's funnel: the scale of many coordinates is itself unknown, and no step size suits both mouth and neck."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pmdviz.knobs import Knobs, Real, Whole
from pmdviz.targets.reference.exact import Box, OnGrids
from pmdviz.targets.reference.gaussian_mixture import normal_cdf
from pmdviz.targets.space import numbered
from pmdviz.targets.without_data.base import WithoutData, q0_mean, q0_sd

LARGEST = 700.0  # of -v in an exponential, which would overflow
BOX_SDS = 6.5  # of v: all but 1e-10
TAIL_SDS = 8.0  # of x given v
NODES = 801  # of v, for integrals over it
NECK_SDS = 3.0  # of v below its mean, where the funnel's neck is said to be


class FunnelOptions(Knobs):
    """Options of `funnel`."""

    kind_words = "option of target 'funnel':"

    dim = Whole(
        10,
        bounds=(3, 100),
        label="Dimension d",
        acts="restart",
        doc="Number of coordinates: v and d - 1 whose variance is exp(v). In fewer than three no grid holds both the "
        "neck and the tails.",
    )
    sd = Real(
        3.0,
        bounds=(0.1, 3),
        label="Sd of v",
        acts="restart",
        doc="Standard deviation of v: the larger, the narrower the neck and the wider the mouth.",
    )
    q0_mean = q0_mean()
    q0_sd = q0_sd(2.0)


class Funnel(WithoutData):
    """v ~ N(0, sd^2), x_k | v ~ N(0, exp(v)), k = 1 .. d - 1; normalised: log Z = 0."""

    name = "funnel"
    title = "Neal's funnel"
    about = "One coordinate sets the scale of all others: a wide mouth, and a neck too narrow for steps of that size."
    source = "Neal 2003, section 8"
    Options = FunnelOptions

    def build(self) -> None:
        """Nothing is drawn."""
        o, self.dim = self.options, self.options.dim
        self.parameter_names = ("v", *numbered("x", o.dim - 1))
        reach = np.array([3.0 * o.sd, *np.full(o.dim - 1, np.exp(o.sd))])  # of x: two of its sds at v = 0.6 sds or so
        self.start_from(o.q0_mean, o.q0_sd, -reach, reach)

    def make_exact(self) -> FunnelExact:
        """In closed form."""
        return FunnelExact(self.options.sd, self.dim)

    def _log_p(self, theta: np.ndarray) -> np.ndarray:
        return _log_funnel(theta[:, 0], theta[:, 1:], self.options.sd)

    def _grad_log_p(self, theta: np.ndarray) -> np.ndarray:
        """-v / sd^2 - (d - 1) / 2 + |x|^2 exp(-v) / 2, and -x exp(-v)."""
        v, x = theta[:, 0], theta[:, 1:]
        precision = np.exp(np.minimum(-v, LARGEST))
        with np.errstate(over="ignore"):  # a trajectory that left the neck sideways finds no finite gradient
            slope = -v / self.options.sd**2 + 0.5 * (precision * (x**2).sum(axis=1) - x.shape[1])
            return np.column_stack([slope, -x * precision[:, None]])


class FunnelExact(OnGrids):
    """The funnel in closed form; what needs an integral over v is a sum over its quantiles."""

    def __init__(self, sd: float, dim: int) -> None:
        super().__init__()
        self._sd, self.log_z = sd, 0.0
        self.mean, self.mean_error = np.zeros(dim), np.zeros(dim)
        self.cov = np.diag([sd**2, *np.full(dim - 1, np.exp(sd**2 / 2))])  # E exp(v)
        widest = TAIL_SDS * np.exp(0.5 * BOX_SDS * sd)
        self.box = ((-BOX_SDS * sd, BOX_SDS * sd), *((-float(widest), float(widest)),) * (dim - 1))
        self.boxes = (self.box,)
        for array in (self.mean, self.mean_error, self.cov):
            array.flags.writeable = False

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log p(points), (n, d) -> (n,)."""
        points = np.asarray(points, float)
        return _log_funnel(points[:, 0], points[:, 1:], self._sd)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n iid draws (n, d): v, then the others given it."""
        draws = rng.standard_normal((n, len(self.mean)))
        draws[:, 0] *= self._sd
        draws[:, 1:] *= np.exp(0.5 * draws[:, :1])
        return draws

    def marginal_log_density(self, coordinates: Sequence[int]) -> Callable[[np.ndarray], np.ndarray]:
        """log p of some of the coordinates, (n, k) -> (n,): without v by a sum over it."""
        chosen, sd = list(coordinates), self._sd
        if 0 in chosen:
            at, others = chosen.index(0), [k for k, name in enumerate(chosen) if name != 0]
            return lambda points: _log_funnel(points[:, at], points[:, others], sd)
        v, mass = self._nodes()

        def log_density(points: np.ndarray) -> np.ndarray:
            squares = (points**2).sum(axis=1, keepdims=True)
            given = -0.5 * (squares * np.exp(-v) + points.shape[1] * (v + np.log(2 * np.pi)))
            peak = given.max(axis=1)
            return peak + np.log((mass * np.exp(given - peak[:, None])).sum(axis=1))

        return log_density

    def mass_in(self, box: Box) -> float:
        """The mass in `box`."""
        v, mass = self._nodes(box[0])
        low, high = np.array(box[1:]).T
        sds = np.exp(0.5 * v)[:, None]
        return float((mass * (normal_cdf(high / sds) - normal_cdf(low / sds)).prod(axis=1)).sum())

    def narrowest(self, unit: np.ndarray) -> float:
        """Sd of x in the neck, three sds below the mean of v, or that of v; coordinates divided by `unit` (d,)."""
        neck = np.exp(-0.5 * NECK_SDS * self._sd)
        return float(min(self._sd / unit[0], (neck / np.asarray(unit[1:])).min()))

    def _nodes(self, between: tuple[float, float] = (-np.inf, np.inf)) -> tuple[np.ndarray, np.ndarray]:
        """Values of v and their masses, the middles of equal cells of an interval."""
        low, high = max(between[0], self.box[0][0]), min(between[1], self.box[0][1])
        edges = np.linspace(low, max(low, high), NODES + 1)
        return 0.5 * (edges[1:] + edges[:-1]), np.diff(normal_cdf(edges / self._sd))


def _log_funnel(v: np.ndarray, x: np.ndarray, sd: float) -> np.ndarray:
    """log N(v | 0, sd^2) + sum_k log N(x_k | 0, exp(v)), v (n,) and x (n, k) -> (n,)."""
    of_v = -0.5 * (v / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi))
    squares = (x**2).sum(axis=1) * np.exp(np.minimum(-v, LARGEST))
    return of_v - 0.5 * (squares + x.shape[1] * (v + np.log(2 * np.pi)))
