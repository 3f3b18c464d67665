"""A log density that a person types, in one or two coordinates; ring, funnel, squiggle and three modes are examples.

The formula's language is that of `pmdviz.formulas`. The box that holds the mass is grown from q0.
"""

from __future__ import annotations

import numpy as np

from pmdviz.errors import InputError
from pmdviz.formulas import COORDINATES, Formula
from pmdviz.knobs import Typed
from pmdviz.targets.exact import GridExact
from pmdviz.targets.mass import Box, Cells, LogDensity, mass_cells
from pmdviz.targets.options import TargetOptions, q0_mean, q0_sd
from pmdviz.targets.without_data import WithoutData

EXAMPLES = {
    "ring": ("a ring", "-8 * square(hypot(x, y) - 2)"),
    "funnel": ("a funnel", "-square(x / logaddexp(0, y)) / 2 - log(logaddexp(0, y)) - square(y) / 3"),
    "squiggle": ("a squiggle", "-square(x) / 4 - 4 * square(y - sin(2 * x))"),
    "three_modes": (
        "three modes",
        "logaddexp(-square(y + 1) + logaddexp(-square(x + 2), -square(x - 2)), -square(x) - square(y - 2))",
    ),
}
START_SDS = 8.0  # of q0, where the box begins to grow
DOUBLINGS = 10  # of the box in each coordinate, at most
EDGE, EDGE_MASS = 1 / 16, 1e-4  # share of the box at each side, and of the mass that may lie there
NARROWEST = 1e-10  # share of the box that its cells are wide, where the density rises without end
BULK = 0.999  # of the mass that the pictures show
FEW = {1: 1_000, 2: 8_000}  # cells are enough to find a box
NUM_CELLS = {1: 4_096, 2: 60_000}  # that hold the exact density: rings and squiggles are long and thin


class FormulaOptions(TargetOptions):
    """Options of `formula`.

    density: A formula of x, or of x and y, up to a constant. It is made of numbers, + - * / **, brackets, pi, e and
        the functions exp, log, sqrt, square, sin, cos, abs, hypot, maximum, logaddexp and the like, as NumPy names
        them. Where the density is 0 it must be minus infinity: log(maximum(x, 0)) rather than log(x).
    """

    density = Typed(
        "ring",
        {name: words for name, (words, _) in EXAMPLES.items()},
        "Log density",
        examples={name: text for name, (_, text) in EXAMPLES.items()},
        basic=True,
    )
    q0_mean = q0_mean()
    q0_sd = q0_sd(2.0)

    @property
    def formula(self) -> Formula:
        """The formula itself, also of an example."""
        return Formula(self.specs()["density"].examples.get(self.density, self.density))


class TypedDensity(WithoutData):
    """p(x) or p(x, y) = exp(formula) / Z.

    title: A formula of your own (1-D, 2-D)
    about: The log density that you type, or one of four examples: a ring, a funnel, a squiggle, three modes.
    source: given by you
    """

    name = "formula"
    Options = FormulaOptions

    def build(self) -> None:
        """Find the box that holds the mass. Raises InputError for a density that has none, or a value that is none."""
        o = self.options
        self.formula = o.formula
        self.dim, self.parameter_names = self.formula.dim, COORDINATES[: self.formula.dim]
        reach = START_SDS * o.q0_sd
        self.box, cells = _grown(self._checked_log_p, ((o.q0_mean - reach, o.q0_mean + reach),) * self.dim)
        if (cells.width / np.ptp(self.box, axis=1)).min() < NARROWEST:
            raise _refused(
                f"rises without end at {self._place(cells.centres[cells.values.argmax()])}; it must be bounded"
            )
        self.start_from(o.q0_mean, o.q0_sd, *_bulk(cells))

    def make_exact(self) -> GridExact:
        """By a grid sum."""
        return GridExact(self._log_p, self.box, NUM_CELLS[self.dim])

    def _log_p(self, theta: np.ndarray) -> np.ndarray:
        return self.formula.value(theta)

    def _grad_log_p(self, theta: np.ndarray) -> np.ndarray:
        """Of the formula; 0 outside the support, where there is none and a particle is not pulled anywhere."""
        values, gradient = self.formula.value_and_gradient(theta)
        gradient[values == -np.inf] = 0.0
        return gradient

    def _checked_log_p(self, points: np.ndarray) -> np.ndarray:
        """log p, (n, d) -> (n,). Raises InputError at the first point where it is NaN or +inf."""
        values = self.formula.value(points)
        bad = np.isnan(values) | (values == np.inf)
        if bad.any():
            what = "infinite" if values[bad][0] == np.inf else "not a number"
            cure = "it must be finite, or minus infinity where the density is 0"
            raise _refused(f"is {what} at {self._place(points[bad][0])}; {cure}")
        if (values == -np.inf).all():
            first = self._place(points[0])
            raise _refused(f"is minus infinity wherever it was tried, first at {first}; move q0 to where it is not")
        return values

    def _place(self, point: np.ndarray) -> str:
        return ", ".join(f"{name} = {value:.4g}" for name, value in zip(self.parameter_names, point, strict=True))


def _refused(why: str) -> InputError:
    return FormulaOptions.specs()["density"].refusal(why)


def _grown(log_p: LogDensity, box: Box) -> tuple[Box, Cells]:
    """The box doubled about its middle, in each coordinate, until its edges hold no mass; and the cells of the mass.

    Raises InputError where the mass goes on and on.
    """
    for _ in range(DOUBLINGS + 1):
        cells = mass_cells(log_p, box, FEW[len(box)])
        heavy = _edge_masses(cells, box) > EDGE_MASS
        if not heavy.any():
            return box, cells
        last, box = box, tuple(_doubled(*pair) if full else pair for pair, full in zip(box, heavy, strict=True))
    name, (low, high) = next((n, p) for n, p, full in zip(COORDINATES, last, heavy, strict=False) if full)
    raise _refused(f"does not fall off: a share of the mass lies at the edge of {name} from {low:,.0f} to {high:,.0f}; "
                   "far out it must go to minus infinity, as -square(x) does")  # fmt: skip


def _edge_masses(cells: Cells, box: Box) -> np.ndarray:
    """The share of the mass at the edges of the box, (d,)."""
    share, low, high = _shares(cells), *np.array(box).T
    depth = EDGE * (high - low)
    outside = (cells.centres < low + depth) | (cells.centres > high - depth)
    return share @ outside


def _shares(cells: Cells) -> np.ndarray:
    mass = np.exp(cells.values - cells.values.max())
    return mass / mass.sum()


def _doubled(low: float, high: float) -> tuple[float, float]:
    half = 0.5 * (high - low)
    return low - half, high + half


def _bulk(cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest coordinates (d,) between which BULK of each marginal lies."""
    share, tail = _shares(cells), 0.5 * (1 - BULK)
    ends = []
    for k, column in enumerate(cells.centres.T):
        order = np.argsort(column)
        below = np.cumsum(share[order])
        places = np.searchsorted(below, [tail, 1 - tail]).clip(0, len(order) - 1)
        ends.append(column[order][places] + [-cells.width[k], cells.width[k]])
    return tuple(np.array(ends).T)
