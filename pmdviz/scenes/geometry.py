"""Mirror and gradient steps on probabilities, one setting of them, its columns and its words."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from pmdviz.knobs import Choice, Knobs, Real, Whole
from pmdviz.pictures import Axis, Mark, Picture
from pmdviz.scenes.columns import contour_line
from pmdviz.scenes.words import number, short, typeset

# Exact steps on KL(q‖p) over K states: the mirror step, which multiplies, and the gradient step, which adds.

FLOOR = 3e-3  # q/uniform below which the slope log(q/p), infinite at 0, is taken at this value
HALVINGS = 50  # of the interval in which a gradient step of a given length is looked for
NOTHING = 1e-12  # length of a step that rounding alone could make
LARGEST = 2.0**20  # size of a gradient step that is looked for


def forward_kl(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """KL(p‖q) = Σ p log(p/q) in nats, over the last axis; infinite where q is 0 at a state that p allows."""
    seen = p > 0
    with np.errstate(divide="ignore"):
        terms = p[seen] * (np.log(p[seen]) - np.log(q[..., seen]))
    return np.maximum(terms.sum(axis=-1), 0.0)


def mirror_step(q: np.ndarray, p: np.ndarray, gamma: float) -> np.ndarray:
    """q' ∝ q^(1-γ) p^γ, the full-batch step of mirror descent on KL(q‖p) in the geometry of the entropy (Eq. 2).

    Parameters
    ----------
    q, p : arrays (K,), non-negative, sum 1
        Some state must have both q > 0 and p > 0.
    gamma : float in (0, 1]

    Returns
    -------
    array (K,), sum 1; 0 where p is 0, or where q is 0 and γ < 1.
    """
    if gamma == 1:
        return p / p.sum()
    with np.errstate(divide="ignore"):
        logs = (1 - gamma) * np.log(q) + gamma * np.log(p)
    grown = np.exp(logs - logs.max())
    return grown / grown.sum()


def project(v: np.ndarray) -> np.ndarray:
    """The point of the simplex nearest to `v` (K,): max(v - τ, 0), with τ found by one sort (Duchi et al. 2008)."""
    falling = np.sort(v)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(v) + 1)
    return np.maximum(v - excess[np.flatnonzero(falling > excess)[-1]], 0.0)


def slope(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The gradient of KL(q‖p) by q up to a constant, log(q/p); q and p count as FLOOR/K where they are smaller.

    The constant, 1, has no effect: the projection takes it away.
    """
    least = FLOOR / len(q)
    return np.log(np.maximum(q, least)) - np.log(np.maximum(p, np.finfo(float).tiny))


def gradient_step(q: np.ndarray, p: np.ndarray, size: float) -> np.ndarray:
    """q' = the projection of q - η log(q/p) onto the simplex: a step of gradient descent on KL(q‖p)."""
    return project(q - size * slope(q, p))


def equal_size(q: np.ndarray, p: np.ndarray, gamma: float) -> float:
    """The η with which the gradient step from q is as long (Euclidean) as the mirror step; 0 at q = p.

    Its length never falls with η: found by bisection. Where no step is as long: the longest that is looked for.
    """
    wanted, gradient = float(np.linalg.norm(mirror_step(q, p, gamma) - q)), slope(q, p)
    if wanted < NOTHING:
        return 0.0

    def falls_short(size: float) -> bool:
        return float(np.linalg.norm(project(q - size * gradient) - q)) < wanted

    low, high = 0.0, 1e-3
    while falls_short(high) and high < LARGEST:
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if falls_short(middle) else (low, middle)
    return high


def path(start: np.ndarray, step: Callable[[np.ndarray], np.ndarray], steps: int) -> np.ndarray:
    """q_0 ... q_t of a step, (steps + 1, K)."""
    points = [np.asarray(start, float)]
    for _ in range(steps):
        points.append(step(points[-1]))
    return np.array(points)


def mirror_path(start: np.ndarray, p: np.ndarray, gamma: float, steps: int) -> np.ndarray:
    """q_t ∝ q_0^s p^(1-s) with s = (1-γ)^t: a straight line in log coordinates."""
    return path(start, lambda q: mirror_step(q, p, gamma), steps)


def gradient_path(start: np.ndarray, p: np.ndarray, gamma: float, steps: int) -> np.ndarray:
    """Gradient steps whose first one is as long as the first mirror step with γ; its η is kept."""
    size = equal_size(start, p, gamma)
    return path(start, lambda q: gradient_step(q, p, size), steps)


# The settings of the Geometry page.

MOST_STEPS = 40
MOVED = "moved"
STARTS = {  # q_0 over the states A, B, C
    "far": np.array([0.05, 0.15, 0.80]),
    "equal": np.full(3, 1 / 3),
    "edge": np.array([0.02, 0.90, 0.08]),
}


PLACES = {"far": "near C, far from p", "equal": "all equally likely", "edge": "near B, close to an edge"}
PLACES |= {MOVED: "where you moved it"}


class GeometryKnobs(Knobs):
    """Three sliders, and where the paths start.

    gamma: The share that a mirror step forgets: the forward KL falls by at least this share. The gradient steps
        have the η with which their first step is as long.
    steps: How many steps of both are drawn.
    peak: How peaked the posterior is: the probability of A. B gets 70 % of the rest, C 30 %. In the density the two
        modes become narrower with it.
    start: The distribution that both paths begin with: the prior. You can also drag its point in the triangle.
    """

    kind_words = "setting of the Geometry page"

    gamma = Real(0.3, "(0, 1]", (0.01, 1.0), "Step size γ", acts="at once", basic=True)
    steps = Whole(5, (0, MOST_STEPS), label="Steps t", acts="at once", basic=True)
    peak = Real(0.9, (0.4, 0.95), label="Posterior p(A)", acts="at once", basic=True)
    start = Choice("far", PLACES, "Start q₀", acts="at once", basic=True)


STATES = ("A", "B", "C")
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])  # (3, 2), of an equilateral triangle
LEVELS = (0.02, 0.1, 0.3, 0.7, 1.3, 2.0, 3.0)  # nats, of the contours of KL(q‖p)
SIDE = 120  # cells along an edge of the triangle for its contours
LEAST = 0.005  # of a state in a start that was dragged
SHARES = (0.7, 0.3)  # of B and C in what the posterior leaves to them

GRID = np.linspace(-4.0, 4.0, 161)  # theta, in the density's picture
CELL = GRID[1] - GRID[0]
MODES, WEIGHTS, PRIOR_SD = (-1.5, 1.5), (0.6, 0.4), 2.0


class Paths(NamedTuple):
    """Both paths from one start to one posterior, (t + 1, K) each."""

    p: np.ndarray
    mirror: np.ndarray
    gradient: np.ndarray


def posterior(peak: float) -> np.ndarray:
    """P over A, B, C: `peak`, and the rest shared between B and C."""
    return np.array([peak, *(share * (1 - peak) for share in SHARES)])


def masses(log_density: np.ndarray) -> np.ndarray:
    """Of the cells of the grid, sum 1."""
    grown = np.exp(log_density - log_density.max())
    return grown / grown.sum()


def two_modes(peak: float) -> np.ndarray:
    """The masses of 0.6 N(-1.5, s²) + 0.4 N(1.5, s²) on the grid, with s from 0.85 at peak 0.4 to 0.3 at 0.95."""
    sd = 0.25 + (1 - peak)
    modes = [np.log(weight) - 0.5 * ((GRID - mode) / sd) ** 2 for weight, mode in zip(WEIGHTS, MODES, strict=True)]
    return masses(np.logaddexp(*modes))


def wide_prior() -> np.ndarray:
    """The masses of N(0, 2²) on the grid."""
    return masses(-0.5 * (GRID / PRIOR_SD) ** 2)


def place(q: np.ndarray) -> dict[str, np.ndarray]:
    """Columns x, y of distributions (n, 3) in the triangle."""
    xy = np.atleast_2d(q) @ CORNERS
    return {"x": xy[:, 0], "y": xy[:, 1]}


def start_at(x: float, y: float) -> np.ndarray:
    """The distribution at a point of the triangle's plane; outside it the parts below LEAST are raised to it."""
    q = np.linalg.solve(np.vstack([CORNERS.T, np.ones(3)]), [x, y, 1.0])
    q = np.maximum(q, LEAST)
    return q / q.sum()


@cache
def contours(peak: float) -> dict[str, np.ndarray]:
    """Columns x, y (float32) of the lines of equal KL(q‖p) in the triangle, at LEVELS."""
    one, two = np.meshgrid(np.arange(SIDE + 1), np.arange(SIDE + 1))
    q = np.stack([one, two, SIDE - one - two], axis=-1) / SIDE
    inside = np.maximum(q, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(inside > 0, inside * np.log(inside / posterior(peak)), 0.0)
    kl = np.where(q[..., 2] >= 0, terms.sum(axis=-1), np.nan)
    lines = contour_line(q[0, :, 0], q[:, 0, 1], kl, np.array(LEVELS))
    parts = np.stack([lines["x"], lines["y"], 1 - lines["x"] - lines["y"]], axis=-1)
    return {name: column.astype(np.float32) for name, column in place(parts).items()}


class Geometry:
    """The numbers that the page shows for its knobs; `moved` is the start where it was dragged.

    Arrays are computed at the first look. KLs are forward, KL(p‖q_t), (t + 1,) in nats.
    """

    def __init__(self, knobs: GeometryKnobs, moved: np.ndarray | None = None) -> None:
        self.knobs, own = knobs, moved if moved is not None else STARTS["far"]
        self.start = own if knobs.start == MOVED else STARTS[knobs.start]

    def _paths(self, start: np.ndarray, p: np.ndarray) -> Paths:
        gamma, steps = self.knobs.gamma, self.knobs.steps
        return Paths(p, mirror_path(start, p, gamma, steps), gradient_path(start, p, gamma, steps))

    @cached_property
    def states(self) -> Paths:
        """Over A, B, C."""
        return self._paths(self.start, posterior(self.knobs.peak))

    @cached_property
    def density(self) -> Paths:
        """Over the cells of the grid."""
        return self._paths(wide_prior(), two_modes(self.knobs.peak))

    @cached_property
    def mirror_kl(self) -> np.ndarray:
        """Of the mirror steps."""
        return forward_kl(self.states.p, self.states.mirror)

    @cached_property
    def gradient_kl(self) -> np.ndarray:
        """Of the gradient steps; infinite where they are at an edge."""
        return forward_kl(self.states.p, self.states.gradient)

    def bound(self, t: np.ndarray | int) -> np.ndarray:
        """KL(p‖q_0) (1-γ)^t, which KL(p‖q_t) of the mirror steps never exceeds."""
        return self.mirror_kl[0] * self.left(t)

    def left(self, t: np.ndarray | int) -> np.ndarray:
        """(1-γ)^t, the share of log q_0 in log q_t."""
        return (1 - self.knobs.gamma) ** np.asarray(t, float)

    @property
    def cut(self) -> float:
        """The share of the grid at which the last gradient step is 0."""
        return float((self.density.gradient[-1] == 0).mean())


# The Geometry page's three pictures.

KL_SPAN = (1e-4, 20.0)  # nats, of the axis; infinite values are marked near its top
TOP = 12.0
PLANE = (-0.12, 1.12), (-0.11, 0.97)  # of the triangle, with room for the names of the corners
HIGHEST = 1.0  # per unit of theta: the most peaked posterior reaches 0.8
PATHS = {"mirror": "approximate", "gradient": "first_path"}  # the roles of both paths
MARKERS = {"mirror": "circle", "gradient": "square"}
DASHES = {"gradient": (6, 4), "start": (2, 3), "bound": (4, 4)}
NAMES_AT = ((-18, 8), (18, 8), (0, -12))  # px from each corner to the middle of its name
TIPS = {"step": "{t}", **{f"q({name})": f"{{{name}:.3f}}" for name in STATES}}
LETTER = {"px": 16, "bold": True}


def triangle_picture(geometry: Geometry) -> Picture:
    """Both paths, where they end, start, posterior, and the lines of equal KL(q‖p), in a triangle without axes."""
    states, start, p = geometry.states, place(geometry.start), place(geometry.states.p)
    corners = {"x": CORNERS[[0, 1, 2, 0], 0], "y": CORNERS[[0, 1, 2, 0], 1]}
    marks = {"contours": Mark("line", "floor", contours(geometry.knobs.peak), {"width": 1, "alpha": 0.55})}
    marks["edges"] = Mark("line", "floor", corners, {"width": 1.5})
    for name, way in (("mirror", states.mirror), ("gradient", states.gradient)):
        told = {"t": np.arange(len(way)), **dict(zip(STATES, way.T, strict=True))}
        columns, look = place(way) | told, {"marker": MARKERS[name]}
        marks[name] = Mark("line", PATHS[name], columns, {"dash": DASHES.get(name, "solid")})
        marks[f"{name}_dots"] = Mark("dots", PATHS[name], columns, {"size": 6, **look}, TIPS, layer=name)
    marks["start"] = Mark("signs", "prior", start, {"marker": "diamond", "size": 15}, drags="start")
    marks["posterior"] = Mark("signs", "exact", p, {"marker": "star", "size": 16})
    for name, way in (("mirror", states.mirror), ("gradient", states.gradient)):
        sign = {"marker": MARKERS[name], "size": 12, "hollow": True}
        marks[f"{name}_end"] = Mark("signs", PATHS[name], place(way[-1]), sign)
    for name, corner, (right, down) in zip(STATES, CORNERS, NAMES_AT, strict=True):
        at = {"x": corner[:1], "y": corner[1:], "text": [name]}
        marks[f"corner {name}"] = Mark("words", "text", at, {**LETTER, "right": right, "down": down})
    marks["q₀"] = Mark("words", "text", {**start, "text": ["q₀"]}, {**LETTER, "right": 20, "down": -2})
    marks["p"] = Mark("words", "text", {**p, "text": ["p"]}, {**LETTER, "down": 20})
    x, y = (Axis("", *span, numbered=False) for span in PLANE)
    legend = {"mirror": "mirror", "gradient": "gradient", "contours": "equal KL(q‖p)"}
    about = "Triangle: three states, the steps of mirror descent and of gradient descent, and lines of equal KL(q‖p)"
    return Picture(x, y, marks, legend, about=about, equal=True)


def density_picture(geometry: Geometry) -> Picture:
    """Exact posterior, start and both q_t per unit of theta; "cut" lies where the gradient's is 0."""
    found = geometry.density
    curves = {"exact": found.p, "start": wide_prior(), "mirror": found.mirror[-1], "gradient": found.gradient[-1]}
    roles = {"exact": "exact", "start": "prior", **PATHS}
    looks = {name: {"dash": DASHES.get(name, "solid")} for name in curves}
    marks = {name: Mark("line", roles[name], {"x": GRID, "y": q / CELL}, looks[name]) for name, q in curves.items()}
    cut = {"x": GRID, "y": np.where(found.gradient[-1] == 0, 0.0, np.nan)}
    marks["cut"] = Mark("line", PATHS["gradient"], cut, {"width": 8, "alpha": 0.75})
    legend = {"exact": "p", "start": "q₀", "mirror": "mirror", "gradient": "gradient", "cut": "cut"}
    about = "Curves: the exact posterior, the mirror steps and the gradient steps on a density"
    axes = Axis("θ", float(GRID[0]), float(GRID[-1])), Axis("density", 0.0, HIGHEST)
    return Picture(*axes, marks, legend, about=about)


def kl_picture(geometry: Geometry) -> Picture:
    """Forward KL of both up to now and the bound for all t; 0 has no place on a log axis, "infinite" is marked."""
    t, everything = np.arange(geometry.knobs.steps + 1), np.arange(MOST_STEPS + 1)
    marks: dict[str, Mark] = {}
    for name, values in (("mirror", geometry.mirror_kl), ("gradient", geometry.gradient_kl)):
        columns = {"x": t, "y": _on_log_axis(values)}
        marks[name] = Mark("line", PATHS[name], columns, {"dash": DASHES.get(name, "solid")})
        marks[f"{name}_dots"] = Mark("dots", PATHS[name], columns, {"size": 5, "marker": MARKERS[name]}, layer=name)
    bound = {"x": everything, "y": _on_log_axis(geometry.bound(everything))}
    marks["bound"] = Mark("line", "floor", bound, {"dash": DASHES["bound"]})
    at_edge = t[np.isinf(geometry.gradient_kl)]
    infinite = {"x": at_edge, "y": np.full(len(at_edge), TOP)}
    marks["infinite"] = Mark("signs", PATHS["gradient"], infinite, {"marker": "triangle"})
    legend = {"mirror": "mirror", "gradient": "gradient", "bound": "bound", "infinite": "infinite"}
    about = "Chart: forward KL of both paths step by step, and the bound"
    axes = Axis("step t", 0.0, float(MOST_STEPS)), Axis("KL(p‖q), nats", *KL_SPAN, log=True)
    return Picture(*axes, marks, legend, about=about)


def _on_log_axis(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


# The sentences of the Geometry page about its setting, with the setting's own numbers.


def percent(share: float) -> str:
    """A share as "17 %", with "below 1 %" and "above 99 %" where rounding would say none or all."""
    if 0 < share < 0.01:
        return "below 1 %"
    return "above 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def formula(geometry: Geometry) -> str:
    """The bound of this setting with its numbers, as HTML."""
    t, gamma, first = geometry.knobs.steps, short(geometry.knobs.gamma), number(geometry.mirror_kl[0])
    bound = float(geometry.bound(t))
    equals = "< 0.0001" if 0 < bound < 1e-4 else f"= {number(bound)}"
    return typeset(f"KL(p‖q_{{{t}}}) ≤ (1 − γ)^{{{t}}} KL(p‖q_0) = (1 − {gamma})^{{{t}}} × {first} {equals} nats")


def mirror_words(geometry: Geometry) -> str:
    """How far the mirror steps are, and how much of the start is left."""
    t, gamma, kl = geometry.knobs.steps, short(geometry.knobs.gamma), number(geometry.mirror_kl[-1])
    done = f"After {t} step{'s' * (t != 1)} of γ = {gamma}: forward KL {kl} nats"
    left = f"{typeset(f'(1−γ)^{{{t}}}')} = {percent(float(geometry.left(t)))}"
    return f"{done}, bound {number(float(geometry.bound(t)))}; the share of the start q₀ that is left is {left}."


def gradient_words(geometry: Geometry) -> str:
    """How far the gradient steps are, and where they have been 0."""
    last, been = geometry.gradient_kl[-1], int((geometry.states.gradient == 0).any(axis=0).sum())
    here = "infinite, because q is 0 at a state that p allows" if np.isinf(last) else f"{number(last)} nats"
    ways = {0: "no state has", 1: "1 of 3 states has"}
    cut = f" The gradient step sets the density to 0 on {percent(geometry.cut)} of the line." if geometry.cut else ""
    return f"Gradient descent: {here}; {ways.get(been, f'{been} of 3 states have')} been 0 along the path.{cut}"
