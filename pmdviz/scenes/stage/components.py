"""What methods add to the posterior's picture: Gaussians, followers, new weights, lines of descent, blocks."""

from __future__ import annotations

import threading
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import GaussianMixture, Grid
from pmdviz.densities.product import ProductDensity
from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import Method
from pmdviz.methods.stein.black_box_is import BlackBoxIS
from pmdviz.methods.stein.steinis import SteinIS
from pmdviz.methods.step import MethodKnobs
from pmdviz.metrics.distances import once
from pmdviz.scenes import columns as col
from pmdviz.scenes.stage import SCENES, Pair, posterior, square
from pmdviz.scenes.stage.posterior import DifferenceScene, OverPosterior
from pmdviz.targets import Target

MOST = 100  # components that have ellipses, the heaviest
FAINTEST = 0.12  # opacity of a component without weight, where 1 is the heaviest one's
NUMBERED, LIGHTEST = 12, 0.02  # components whose share may be written, and the smallest share that is
APART = 0.07  # of the picture's side, between two of them
SDS = (1.0, 2.0)


class ComponentsScene(OverPosterior):
    """Each of a mixture's Gaussians as two ellipses, the heavier the stronger, with the shares of the heaviest.

    Above two dimensions of a pair of coordinates: a Gaussian's marginal is one. A part of the proposal that is not
    Gaussian, such as a share of the prior, has no ellipse; the prior's outline is there.
    """

    name = "components"
    title = "Components of the mixture"
    order = 12
    legend = {
        "prior": "prior",
        "exact": "exact posterior",
        "particles": "particles",
        "paths": "1 and 2 sd of each Gaussian",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To methods that have components of their own, from two coordinates on."""
        own = type(method).components is not Method.components
        return own and "reals" in target.offers and target.dim > 1

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """Ellipses and shares, dots, and the exact posterior's regions."""
        target, m = frame.target, len(frame.weights)
        (left, right), _ = square(target.view_box, pair)
        dots = col.dot_columns(frame, pair, limit, posterior.LARGEST[frame.method.family])
        mixture = frame.method.components(frame.state, frame.knobs, target)
        rows = np.argsort(-mixture.weights, kind="stable")[:MOST]
        return col.StageColumns(
            exact=posterior.exact_regions(target, pair)[0],
            particles=dots,
            drawn=len(dots["x"]),
            num_particles=m,
            prior=posterior.prior_lines(target, pair),
            paths=_ellipses(mixture, rows, list(pair)),
            words=_shares(mixture, rows[:NUMBERED], list(pair), APART * (right - left)),
        )


def _ellipses(mixture: GaussianMixture, rows: np.ndarray, chosen: list[int]) -> dict[str, np.ndarray]:
    """Segments of the ellipses of some components in two coordinates."""
    opacity = FAINTEST + (1 - FAINTEST) * mixture.weights[rows] / mixture.weights[rows[0]]
    gaussians, opacity = (mixture.particles[rows], mixture.choleskys[rows], chosen), np.repeat(opacity, col.CORNERS)
    lines = [col.ellipse_lines(*gaussians, sds) for sds in SDS]
    return col.segment_columns(col.Segments(each, col.OF_GAUSSIANS, opacity) for each in lines)


def _shares(mixture: GaussianMixture, rows: np.ndarray, chosen: list[int], apart: float) -> col.Words:
    """The weights of some components at their means, in percent, the heavier first; none where all are the same."""
    if np.ptp(mixture.weights) < 1e-9:
        return col.NO_WORDS
    placed: list[int] = []
    for row in rows[mixture.weights[rows] >= LIGHTEST]:
        away = mixture.particles[placed][:, chosen] - mixture.particles[row, chosen]
        if (np.hypot(*away.T) > apart).all():
            placed.append(int(row))
    shares = [f"{weight:.0%}" for weight in mixture.weights[placed]]
    return col.Words.at(*zip(*mixture.particles[placed][:, chosen].T, shares, strict=True))


# Leaders and the followers that they move: these by their log weight, over how much the last step stretched space.

SIDE = 48  # cells of the picture, a side
SMALLEST_DOT, LARGEST_DOT = 2.0, 12.0  # px, of a dot
NATS = 6.0  # below the heaviest: there and below it dots are the smallest
SHADES = 127  # of a colour


class FollowersScene(OverPosterior):
    """The diameter of a follower falls with its log weight, by 10 px over 6 nats: all are visible.

    In two dimensions the cells behind them say by how much the map of the last step changes volumes: where space is
    squeezed (orange) the followers' density rises, and their weight falls.
    """

    name = "followers"
    title = "Leaders and followers"
    order = 8
    legend = {
        "exact": "exact posterior",
        "particles": "followers, by log weight",
        "others": "leaders",
        "paths": "paths",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To methods with leaders."""
        return "reals" in target.offers and isinstance(method, SteinIS)

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """The posterior's picture, with dots and cells of its own."""
        drawn = SCENES["posterior"].columns(frame, pair, limit)
        sizes = log_sizes(drawn.particles["weight"])
        return drawn._replace(
            approximate=col.EMPTY_LINE,
            prior=col.EMPTY_LINE,
            particles={**drawn.particles, "size": sizes},
            others=_leaders(frame, pair),
            image=_stretches(frame),
        )


def log_sizes(weights: np.ndarray) -> np.ndarray:
    """Diameters in px (n,) float32, linear in log w from the heaviest down to 6 nats less."""
    with np.errstate(divide="ignore"):
        below = np.log(weights.astype(float)) - np.log(weights.max(initial=1e-300).astype(float))
    return (SMALLEST_DOT + (LARGEST_DOT - SMALLEST_DOT) * np.clip(1 + below / NATS, 0, 1)).astype(np.float32)


def _leaders(frame: Frame, pair: Pair) -> dict[str, np.ndarray]:
    """Where they stand; in one dimension on the axis."""
    points = frame.state.leaders
    flat = points[:, 0], np.zeros(len(points))
    return col.curve_columns(*points[:, list(pair)].T if frame.target.dim > 1 else flat)


def _stretches(frame: Frame) -> col.Image | None:
    """log |det| of the last step's map in units of its largest: 0 where squeezed most, a half where nothing moves."""
    if frame.target.dim != 2 or frame.iteration == 0:
        return None
    grid = Grid(square(frame.target.view_box), SIDE)
    logs = frame.method.stretch(frame.state, frame.knobs, frame.target, grid.points)
    shares = np.clip(logs / max(float(np.abs(logs).max(initial=0.0, where=np.isfinite(logs))), 1e-300), -1, 1)
    values = 0.5 + 0.5 * np.rint(SHADES * shares) / SHADES
    return col.Image(values.reshape(grid.shape).astype(np.float32), *grid.box)


# Points that stay where they are and get new weights: a dot is the weight now, a ring the weight they came with.

INK, LARGEST_RING = 8_000.0, 36.0  # px^2 of all squared diameters together; px, of one dot or ring
FRAME = 420.0  # px a side: of a picture as large as that a ring is as wide as the dot of the same weight
RING_CORNERS, RING_OPACITY = 20, 0.7  # of a ring


class ReweightingScene(OverPosterior):
    """The area of a dot is a point's weight by the method, the area of the ring its importance weight.

    A dot that fills its ring has kept its weight. Rings grow with the picture, dots do not: they fit one
    another where it is about 420 px wide.
    """

    name = "reweighting"
    title = "Reweighting"
    order = 8
    legend = {"exact": "exact posterior", "particles": "new weights", "paths": "importance weights"}

    def applies(self, target: Target, method: Method) -> bool:
        """To methods that give points new weights."""
        return "reals" in target.offers and isinstance(method, BlackBoxIS)

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """The posterior's picture without an approximation, with dots of their own size, and rings."""
        drawn = SCENES["posterior"].columns(frame, pair, limit)
        rows = col.drawn_rows(frame.weights, limit)
        dots = {**drawn.particles, "size": diameters(frame.weights[rows])}
        wide, high = (b - a for a, b in self.ranges(frame.target, pair, drawn.top))
        sizes = diameters(np.exp(frame.state.importance[rows]))
        circles = rings(dots["x"], dots["y"], sizes * wide / FRAME, sizes * high / FRAME)
        plain = drawn._replace(approximate=col.EMPTY_LINE, prior=col.EMPTY_LINE, image=None)
        return plain._replace(particles=dots, paths=circles)


def diameters(weights: np.ndarray) -> np.ndarray:
    """In px, (n,) float32: the area is proportional to the weight, up to the largest."""
    return np.minimum(np.sqrt(weights * INK), LARGEST_RING).astype(np.float32)


def rings(x: np.ndarray, y: np.ndarray, wide: np.ndarray, high: np.ndarray) -> dict[str, np.ndarray]:
    """Ellipses about points (n,) of such widths and heights, as segments of `StageColumns.paths`; none of width 0."""
    some = wide > 0
    radii = 0.5 * np.stack([wide, high], axis=1)[some]
    outlines = col.ellipses(np.stack([x, y], axis=1)[some], radii[:, :, None] * np.eye(2), RING_CORNERS)
    return col.segment_columns([col.Segments(col.pieces(outlines), col.OF_TRAIL, RING_OPACITY)])


# Lines of descent: from the first particles that still have descendants to these, where they are now.

MAX_LINES = 400
DESCENT_FAINTEST = 0.15  # opacity of the line of a family that has almost no weight


class DescentScene(OverPosterior):
    """After each resampling fewer of the first particles have descendants; the ESS is high again, and blind to that.

    A line is the darker the more weight all descendants of its ancestor have together.
    """

    name = "descent"
    title = "Lines of descent"
    order = 12
    legend = {
        "exact": "exact posterior",
        "particles": "particles",
        "paths": "lines of descent",
        "others": "first particles with descendants",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To particles in two or more dimensions that are drawn from one another."""
        return method.resamples and method.family == "particles" and "reals" in target.offers and target.dim > 1

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """The posterior's picture without q, with the ancestors and the lines from them."""
        drawn = SCENES["posterior"].columns(frame, pair, limit)
        plain = drawn._replace(approximate=col.EMPTY_LINE, image=None)
        if frame.ancestry is None:
            return plain
        first, chosen = frame.ancestry.first[:, list(pair)], col.drawn_rows(frame.weights, MAX_LINES)
        chosen = chosen[frame.weights[chosen] > 0]
        ancestors = frame.ancestry.rows[chosen]
        lines = np.stack([first[ancestors], frame.particles[chosen][:, list(pair)]], axis=1)
        opacity = line_opacity(frame.ancestry.rows, frame.weights, len(first))[ancestors]
        paths = col.segment_columns([col.Segments(lines, col.OF_STEP, opacity)])
        return plain._replace(paths=paths, others=col.curve_columns(*first[np.unique(ancestors)].T))


def line_opacity(ancestors: np.ndarray, weights: np.ndarray, number: int) -> np.ndarray:
    """For each of the first particles (`number`,) the opacity of its lines, by the weight of its descendants (n,)."""
    shares = np.bincount(ancestors, weights, minlength=number)
    return DESCENT_FAINTEST + (1 - DESCENT_FAINTEST) * np.sqrt(shares / max(shares.max(), 1e-300))


# A product of blocks over the joint posterior: what each block says alone, and the dependence lost between them.

TICK, TICK_OPACITY = 0.03, 0.35  # of a particle on its block's axis: its length in sides of the picture
MAX_TICKS = 1000  # ticks along an axis


class BlocksScene(OverPosterior):
    """Regions (50, 80, 95 %) of the joint posterior and of the product, in two of the coordinates.

    Those of different blocks are independent under q: their particles have no partners, and each is a tick on its own
    axis; the dots pair them at random, like a draw of q. Two coordinates of one block have neither; their
    dots are its particles. The strips along the edges have the marginals of both densities, the words their
    correlations.
    """

    name = "blocks"
    title = "Product of blocks"
    order = 9
    legend = {
        "prior": "prior",
        "exact": "exact posterior",
        "approximate": "product of blocks",
        "particles": "particles, paired at random",
        "paths": "each block's own",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To methods that need blocks, from two coordinates on."""
        return "blocks" in method.requires and "reals" in target.offers and target.dim > 1

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """The posterior's picture; of two blocks with ticks."""
        drawn = SCENES["posterior"].columns(frame, pair, limit)
        across, up = square(frame.target.view_box, pair)
        apart = isinstance(frame.density.marginal(pair), ProductDensity)
        ticks = _ticks(frame, pair, across, up) if apart else col.EMPTY_PATHS
        return drawn._replace(paths=ticks, others=col.EMPTY_LINE, words=_words(frame, pair, apart, across, up))


def _ticks(frame: Frame, pair: Pair, across: tuple, up: tuple) -> dict[str, np.ndarray]:
    """One of each particle's first coordinate at the lower edge, one of its second at the left edge."""
    x, y = frame.particles[col.drawn_rows(frame.weights, MAX_TICKS)][:, list(pair)].T
    length = TICK * (up[1] - up[0])
    below = np.stack([x, np.full_like(x, up[0]), x, np.full_like(x, up[0] + length)], axis=1)
    beside = np.stack([np.full_like(y, across[0]), y, np.full_like(y, across[0] + length), y], axis=1)
    ends = np.concatenate([below, beside])
    inside = (ends[:, 0] >= across[0]) & (ends[:, 0] <= across[1]) & (ends[:, 1] >= up[0]) & (ends[:, 1] <= up[1])
    return col.segment_columns([col.Segments(ends[inside].reshape(-1, 2, 2), col.OF_TRAIL, TICK_OPACITY)])


def _words(frame: Frame, pair: Pair, apart: bool, across: tuple, up: tuple) -> col.Words:
    """The correlation of the two coordinates under q and under the posterior, at the upper edge."""
    reference = frame.target.reference()
    if reference is None:
        return col.NO_WORDS
    exact, found = _correlation(reference.cov, pair), _correlation(frame.density.cov, pair)
    own = "two blocks, 0" if apart else f"one block, {found:.2f}"
    text = f"correlation {exact:.2f}; {own} under q"
    return col.Words.at((0.5 * (across[0] + across[1]), up[1] - 0.04 * (up[1] - up[0]), text))


def _correlation(cov: np.ndarray, pair: Pair) -> float:
    a, b = pair
    return float(cov[a, b] / np.sqrt(cov[a, a] * cov[b, b]))


# The mean of ten runs, as in Figure 3 of the PMD paper: what the method gives on average, and not in one lucky run.

RUNS, CELLS = 10, 200  # runs, and cells of the grid along each axis
EVERY, MEMORY = 10**9, 2**20  # a run is measured at its ends alone; bytes that it keeps to go back in time
KEPT = 8  # sets of runs that are continued; the oldest is forgotten


class Runs(NamedTuple):
    """The runs of one method with one setting, which are continued by one thread at a time."""

    turn: threading.Lock
    sessions: list[Session]


@lru_cache(KEPT)
def _runs_of(target: str, method: str, knobs: MethodKnobs, budget: int | None, unit: str) -> Runs:
    return Runs(threading.Lock(), [])


class MeanOfRunsScene(DifferenceScene):
    """(1/10) sum_k q_k: the densities of ten runs with the seeds 0 to 9, each at the iteration of the frame.

    They have the settings that are in force in the frame, from their start. In the plane the mean is an image with its
    regions of 50, 80 and 95 % as dashed lines, in one dimension a curve.
    """

    name = "mean_of_runs"
    title = f"Mean of {RUNS} runs"
    order = 16
    computes = True
    legend = {"exact": "exact posterior", "approximate": f"mean of {RUNS} runs"}

    def columns(self, frame: Frame, pair: tuple[int, int], limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """The mean and the exact posterior on one grid over the target's box."""
        target = frame.target
        grid = Grid(target.view_box, CELLS)
        mean = np.mean([each.density.on_grid(grid) for each in frames_of(frame)], axis=0)
        p = once(target, "mean of runs", lambda: np.exp(target.exact.log_density(grid.points)).reshape(grid.shape))
        exact = once(target, "mean of runs, lines", partial(col.region_lines, grid.axes, p))
        areas = once(target, "mean of runs, areas", partial(col.region_areas, grid.axes, p))
        plane = len(grid.axes) == 2
        drawn = col.StageColumns(exact, col.region_lines(grid.axes, mean), areas=areas)
        return drawn._replace(image=col.heat_image(mean, grid.box)) if plane else drawn._replace(top=float(p.max()))


def frames_of(frame: Frame) -> list[Frame]:
    """The frames of all runs at the iteration of `frame`; a run whose budget ends before is at its end."""
    budget = {"budget": frame.budget, "budget_unit": frame.budget_unit}
    start = partial(Recipe, frame.target, frame.method.name, **budget, **frame.knobs.as_dict())
    found = _runs_of(frame.target.key, frame.method.name, frame.knobs, *budget.values())
    with found.turn:
        if not found.sessions:
            found.sessions.extend(Session(start(seed=seed), EVERY, MEMORY) for seed in range(RUNS))
        return [session.seek(frame.iteration) for session in found.sessions]
