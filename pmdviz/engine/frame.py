"""A frame: one immutable moment of a run, with what can be measured and drawn of it."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from pmdviz.cached import cached_property
from pmdviz.densities.bandwidth import spread
from pmdviz.densities.chains import largest_trusted
from pmdviz.densities.density import Density, Points, variances
from pmdviz.kernels.checks import Array
from pmdviz.methods import Method, StepInfo
from pmdviz.metrics import METRICS, STEP, applicable, traced_names
from pmdviz.metrics.diagnostics import FEWEST_ESS, Shift, importance_shift
from pmdviz.metrics.distances import NUM_DRAWS, kl_of_density
from pmdviz.metrics.divergences import NAMES, DensitiesOnGrid, Divergences, picture, total_variation
from pmdviz.metrics.perfect_draws import known_floor
from pmdviz.streams import stream
from pmdviz.targets import Target
from pmdviz.targets.exact import Reference

OVERHEAD = 8192  # bytes of a kept frame besides its arrays
CHEAP = 60_000_000  # nanoseconds of the figures that every measured frame has
Row = dict[str, Any]  # of a measured frame: the name of a column -> its number, None where it is unavailable

# Ancestry: from which particles of iteration 0 the present ones descend, resampling after resampling.


class Ancestry(NamedTuple):
    """The first particles, and for each of now the row of the one among them that it descends from.

    A particle that stays or moves stays its own descendant; one that was redrawn descends from what its parent did.
    Where resampling leaves few ancestors, the ESS, which counts equal weights, does not show the loss (Del Moral,
    Doucet, Jasra 2006, call it path degeneracy).
    """

    first: Array  # (m, d) at iteration 0
    rows: Array  # (n,) int32

    @classmethod
    def of(cls, particles: Array) -> Self:
        """That of iteration 0: each (m, d) is its own ancestor."""
        return cls(particles, np.arange(len(particles), dtype=np.int32))

    def number_alive(self, log_weights: Array) -> int:
        """How many of the first have descendants whose log-weight (n,) is finite."""
        return int(np.count_nonzero(np.bincount(self.rows[log_weights > -np.inf], minlength=1)))


def after_step(before: Ancestry | None, info: StepInfo) -> Ancestry | None:
    """The ancestry after a step; None where the step redrew particles and does not tell their parents."""
    if before is None or (info.rejuvenated and info.parents is None):
        return None
    return before if info.parents is None else before._replace(rows=before.rows[info.parents])


class Measured(dict[str, float | None]):
    """Metrics by name; one that applies but is not measured at every frame is computed when it is asked for."""

    def __init__(self, values: dict[str, float | None], frame: Frame) -> None:
        super().__init__(values)
        self._frame = frame

    def get(self, name: str, default: float | None = None) -> float | None:  # type: ignore[override]
        """As `metrics[name]`; the default for a name that METRICS lacks."""
        return self[name] if name in self or name in METRICS else default

    def __missing__(self, name: str) -> float | None:
        self[name] = self._frame.metric(name)  # raises KeyError for an unknown name
        return self[name]


@dataclass(frozen=True, eq=False)
class Frame:
    """One moment: the method's state after `iteration` steps and what it cost.

    `density`, `grid` and `metrics` are pure functions of the state and the knobs, and between measured frames of the
    last one's, computed at the first use: drawing or measuring a frame never touches the run.

    Attributes
    ----------
    visited : int
        Rows passed to `log_likelihood` so far.
    density_evaluations, gradient_evaluations : int
        Pairs of particle and observation evaluated so far.
    seconds : float
        Time the steps took so far.
    rejuvenations : int
        How often the particles were redrawn.
    limited_steps : int
        Steps that went less far than their schedule says, to leave enough particles alive.
    knobs : Knobs
        In force from here on (a bandwidth already in this frame's picture).
    info : StepInfo or None
        What the last step did; None at iteration 0.
    batch_rows : array, slice or None
        Which rows of the data the last step was given; None at iteration 0.
    ancestry : Ancestry or None
        From which particles of iteration 0 the present ones descend; None of methods that do not resample.
    measured : Frame or None
        The last frame before this one that was measured in full; its check holds until the next. None where this
        frame itself was.
    """

    iteration: int
    visited: int
    density_evaluations: int
    gradient_evaluations: int
    seconds: float
    rejuvenations: int
    limited_steps: int
    knobs: Any
    state: Any
    info: StepInfo | None
    budget: int | None
    target: Target
    method: Method
    budget_unit: str = "data"
    batch_rows: Array | slice | None = None
    ancestry: Ancestry | None = None
    measured: Frame | None = None

    @property
    def evaluations(self) -> int:
        """Evaluations of likelihoods and gradients so far, each pair of particle and observation as one."""
        return self.density_evaluations + self.gradient_evaluations

    @property
    def spent(self) -> int:
        """What counts against the budget so far, in its unit."""
        return self.visited if self.budget_unit == "data" else self.evaluations

    @property
    def num_data(self) -> int:
        """N, the rows of the target's data."""
        return self.target.num_data

    @cached_property
    def densities(self) -> Mapping[str, Density]:
        """The densities that the state may be judged by, name -> q; of a chain a KDE and a Gaussian fit."""
        given, last, of_state = (self.state, self.knobs, self.target), self.measured, self._of_state
        if last is not None:
            return self.method.densities_between(*given, lambda: last.densities)
        if of_state is not None:
            return self.method.densities_between(*given, lambda: of_state)
        return self.method.densities(*given)

    @cached_property
    def _of_state(self) -> Mapping[str, Density] | None:
        """The densities of this very state under earlier knobs: with them the same choice is made sooner."""
        return None

    @cached_property
    def judged_by(self) -> str:
        """Name of the density with the lowest TV, or beyond the plane KL of moments; the usual one without either."""
        names = [*self.densities]
        if len(names) == 1 or self._primary_density.few:
            return names[0]
        known = [self._distance(name) for name in names]
        return names[int(np.argmin([np.inf if value is None else value for value in known]))]

    def _distance(self, name: str) -> float | None:
        if self.target.planar is not None:
            return self._tvs[name]
        return kl_of_density(self.densities[name], self.reference) if self.reference is not None else None

    @property
    def density(self) -> Density:
        """The approximation q."""
        return self.densities[self.judged_by]

    @cached_property
    def checked(self) -> Frame:
        """The moment with a check of its own, instead of the check of the last measured frame."""
        return self if self.measured is None else self.replaced(measured=None)

    @cached_property
    def shift(self) -> Shift | str:
        """How far importance weights move q; without such a check, the reason."""
        return importance_shift(self.density, self.target)

    @cached_property
    def caveat(self) -> str:
        """Why the frame is not to be trusted, such as a mean that is far off or particles that died; "" if nothing is.

        A sentence, and up to its first colon a few words. Between measured frames the check of the last one holds.
        """
        return caveat_of(self)

    @cached_property
    def unchecked(self) -> str:
        """Why no check could tell whether q is right, where there was none and no caveat either; else ""."""
        checked = self.measured or self
        return "" if checked.iteration == 0 or self.caveat else checked.finding.unchecked

    @cached_property
    def finding(self) -> Finding:
        """The result of the check of this very frame."""
        return find(self)

    @cached_property
    def no_density(self) -> str:
        """Why figures that need a density (TV, the KLs, marginal TV) are absent; "" where they are not."""
        if not self.density.few or self.reference is None:
            return ""
        return f"fewer than {self.target.dim + 2:,} distinct points: no density, so TV and KL are not known"

    @property
    def particles(self) -> Array:
        """Particles (m, d), read-only; of a chain its draws, also where the Gaussian fit to them is the better q."""
        return _read_only(self._weighted.particles)

    @property
    def weights(self) -> Array:
        """Weights (m,), sum 1, read-only."""
        return _read_only(self._weighted.weights)

    @cached_property
    def _weighted(self) -> Density | Points:
        """Holder of the particles and their weights: a density only where it costs nothing more."""
        return self.method.weighted(self.state, self.knobs) or self._primary_density

    @property
    def _primary_density(self) -> Density:
        return next(iter(self.densities.values()))

    @cached_property
    def grids(self) -> dict[str, DensitiesOnGrid]:
        """p and each q on a grid that resolves both; empty above two dimensions."""
        if self.target.dim > 2 or "reals" not in self.target.offers:
            return {}
        exact, box = self.target.exact, self.target.view_box
        return {name: picture(density, exact, box) for name, density in self.densities.items()}

    @property
    def grid(self) -> DensitiesOnGrid | None:
        """p and q on a grid that resolves both; None above two dimensions."""
        return self.grids[self.judged_by] if self.grids else None

    @cached_property
    def _tvs(self) -> dict[str, float | None]:
        """The TV by each of the densities: of what a grid resolves it is had without the other divergences."""
        if self.target.exact is None or not self.grids:
            return dict.fromkeys(self.densities)
        return {
            name: total_variation(pic) if pic.resolved and not self._primary_density.few else self._compared(name)["tv"]
            for name, pic in self.grids.items()
        }

    @property
    def tv(self) -> float | None:
        """Total variation between p and q; None without a grid to compare on."""
        return self._tvs[self.judged_by]

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickling and copying: without comparisons with the reference, which are computed again."""
        return {name: value for name, value in self.__dict__.items() if name != "_known"}

    @cached_property
    def _known(self) -> dict[str, Divergences]:
        """The comparisons made so far, by density."""
        return {}

    def _compared(self, name: str) -> Mapping[str, float | None]:
        exact = self.target.exact
        if exact is None or not self.grids or self._primary_density.few:
            return dict.fromkeys(NAMES)
        if name not in self._known:
            self._known[name] = Divergences(self.densities[name], exact, self.grids[name])
        return self._known[name]

    @property
    def divergences(self) -> Mapping[str, float | None]:
        """TV, both KLs, cross entropy and mass outside; None each without a grid to compare on."""
        return self._compared(self.judged_by)

    @property
    def reference(self) -> Reference | None:
        """The reference that the run is judged by."""
        return self.target.reference()

    @cached_property
    def draws(self) -> Array:
        """1,000 draws (n, d) of q, or of particles too `few` for one, from their own stream: for metrics of draws."""
        q = self.density
        return (Points(q.particles, q.log_weights) if q.few else q).sample(stream("draws of q"), NUM_DRAWS)

    @property
    def chains(self) -> Array:
        """Of a chain method the judged draws of each chain, (C, n, d)."""
        return self.method.chains(self.state, self.knobs)

    @cached_property
    def _measured(self) -> dict[str, float | None]:
        """The metrics that were computed so far."""
        return {}

    def metric(self, name: str) -> float | None:
        """One metric of the table, and none of the others; None where it is unavailable."""
        if name not in self._measured:
            metric = METRICS[name]
            self._measured[name] = metric.measure(self) if metric.applies(self.target, self.method) else None
        return self._measured[name]

    @property
    def traced_names(self) -> list[str]:
        """The metrics that a row of the history has."""
        return [*traced_names(self.target, self.method)]

    def stepped(self, row: Row | None = None) -> float:
        """Estimated nanoseconds of all steps up to this frame, or to a row before, from the evaluations."""
        at = vars(self) if row is None else row
        pairs = at["density_evaluations"] + 3 * at["gradient_evaluations"]
        return float(STEP * at["iteration"] + pairs * self.target.dim)

    @cached_property
    def dear(self) -> tuple[frozenset[str], float]:
        """The traced metrics that take long or need q, and their estimated ns in all.

        No metrics and 0 where the estimate is at most 60 ms.
        """
        works = {name: METRICS[name].work(self) for name in self.traced_names}
        costs = {name: work for name, work in works.items() if work is not None}
        (m, d), reals = self.particles.shape, "reals" in self.target.offers
        solid = reals and self.method.family != "parametric" and m >= d + 2 and len(costs) > 0
        total = sum(costs.values()) + (m * d**2 + 10.0 * d**3 if solid else m * d)
        return (frozenset(costs), total) if total > CHEAP else (frozenset(), 0.0)

    def _traced(self, left_out: frozenset[str] = frozenset()) -> dict[str, float | None]:
        more = [name for name in self.densities if name and self.target.planar is not None]
        found = {name: None if name in left_out else self.metric(name) for name in self.traced_names}
        return found | {f"tv_{name}": self._tvs[name] for name in more}

    @property
    def num_draws(self) -> int | None:
        """How many independent draws the floor is of: as many as there are particles; None for other families."""
        return len(self.particles) if self.method.family == "particles" else None

    @property
    def drawn_as(self) -> dict[str, Any]:
        """How the independent draws shown with this frame are drawn and judged: options of `perfect_draws.floor`."""
        rule = "shaped" if getattr(self.knobs, "bandwidth_rule", "") == "shaped" else "local"
        return {"rule": rule, "each": getattr(self.state, "each", 1)}

    @property
    def metrics(self) -> dict[str, float | None]:
        """Those of the table `metrics.METRICS` that apply, and the floors; dear ones are computed when asked for.

        None where a value is unavailable; the floors (`floor_tv`, `floor_kl` and their standard errors `..._se`) are
        None until they have been computed. A method with several densities has the TV of each besides, `tv_<name>`.
        """
        return Measured({**self._traced(), **self.floors}, self)

    @property
    def floors(self) -> dict[str, float | None]:
        """What as many independent draws get, with standard errors; None each until it has been computed."""
        floor = known_floor(self.target, self.num_draws, **self.drawn_as) if self.num_draws else None
        return {f"floor_{name}": getattr(floor, name) if floor else None for name in ("tv", "tv_se", "kl", "kl_se")}

    @property
    def metric_names(self) -> list[str]:
        """What can be asked of `metrics` for this target and method."""
        return [metric.name for metric in applicable(self.target, self.method)]

    def replaced(self, **parts: Any) -> Frame:
        """The moment under other knobs or another budget; its computed values are kept unless a knob redraws it."""
        other = replace(self, **parts)
        drawn_by = [name for name, spec in self.knobs.specs().items() if spec.acts == "at once"]
        if other.knobs is self.knobs or all(getattr(other.knobs, k) == getattr(self.knobs, k) for k in drawn_by):
            kept = "densities", "_of_state", "_weighted", "judged_by", "grids", "_tvs", "_known", "_measured", "draws"
            other.__dict__.update({name: value for name, value in self.__dict__.items() if name in kept})
        elif self.measured is None and "densities" in self.__dict__ and other.state is self.state:
            other.__dict__["_of_state"] = self.densities
        return other

    def without_caches(self) -> Frame:
        """The frame without its pictures and what a step tells of each particle, to be kept for long."""
        other = self.replaced(info=self.info and self.info._replace(terms={}, paths=dict, parents=None))
        for name in ("grids", "draws", "_of_state"):
            other.__dict__.pop(name, None)
        return other

    @property
    def digest(self) -> str:
        """20 hexadecimal digits that tell frames apart.

        The first 12 are a hash of iteration, observations used, and every bit of particles and weights. The other 8 are
        `mean_distance` to six digits, which tells rounding from another run.
        """
        found = hashlib.sha256(f"{self.iteration} {self.visited}".encode())
        for array in (self.particles, self.weights):
            found.update(array.tobytes())
        return found.hexdigest()[:12] + struct.pack(">d", self.mean_distance)[:4].hex()

    @property
    def mean_distance(self) -> float:
        """Weighted mean of ``|theta - 1/pi|``, coordinate j counted j times: no symmetry hides a difference."""
        distances = np.abs(self.particles - 1 / np.pi)
        return float(self.weights @ distances @ np.arange(1.0, distances.shape[1] + 1))

    @property
    def num_bytes(self) -> int:
        """Memory of the frame when kept: the state's arrays and some more."""
        rows = self.batch_rows, self.ancestry and self.ancestry.rows
        return OVERHEAD + _size_of(self.state) + sum(getattr(each, "nbytes", 0) for each in rows)

    def row(self, left_out: frozenset[str] = frozenset()) -> Row:
        """The frame's row in the history, without the metrics `left_out`."""
        counts = "rejuvenations", "limited_steps", "density_evaluations", "gradient_evaluations", "evaluations"
        return {
            "iteration": self.iteration,
            "visited": self.visited,
            **self._traced(left_out),
            "seconds": self.seconds,
            "num_particles": len(self.particles),
            "step_size": self.info.step_size if self.info else None,
            **{each.name: self.info.scalars.get(each.name) if self.info else None for each in self.method.scalars},
            **{name: getattr(self, name) for name in counts},
        }


def _size_of(state: tuple) -> int:
    """Bytes of the arrays in a state, and in the states that it is made of."""
    return sum(_size_of(part) if isinstance(part, tuple) else getattr(part, "nbytes", 0) for part in state)


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


# Judging a frame: the one place that decides which sentence warns of an approximation, for every method.
#
# A frame is wrong when a mean is more than 0.3 posterior sds off, or a ratio of sds lies outside 0.7 to 1.4. The
# reference shows that where the target has one, elsewhere importance weights (`metrics.diagnostics`). Where neither
# does, the method's own diagnostics decide: R-hat and bulk ESS of chains, k-hat of a parametric q, the method's own
# caveat.

FURTHEST, NARROW, WIDE = 0.3, 0.7, 1.4  # posterior sds of a mean; ratios of sds
RIGHT_TV, WRONG_TV = 0.2, 0.5  # of such a frame, and of one that is wrong whatever its moments are
MOST_DIM = 20  # beyond it weights are uneven for a good q too
MIXED, FEWEST_DRAWS = 1.05, 50  # R-hat and bulk ESS of chains that agree with one another


class Finding(NamedTuple):
    """The result of a check of a frame."""

    words: str = ""  # the warning, a sentence with a few words up to its first colon; "" where nothing was found
    agrees: bool = False  # whether it found the frame right
    unchecked: str = ""  # why no check could tell, in words


def caveat_of(frame: Frame) -> str:
    """Why the frame is not to be trusted; "" where nothing speaks against it.

    First what the method says of itself, then what the check has found. A check that finds the frame right overrules
    the method's diagnostics, which judge q by less. Caveats of the method about other results, as log Z, come last.
    """
    own = ""
    if frame.iteration:  # every run starts unfinished
        own = frame.method.caveat(frame.state, frame.knobs) or frame.method.unfinished(frame.state, frame.knobs)
    checked = frame.measured or frame
    if checked.iteration == 0:  # the prior itself, or nothing has been measured since
        return own or frame.no_density
    found = checked.finding
    if not frame.method.caveat_is_of_q:
        return frame.no_density or found.words or own
    return ("" if found.agrees else own) or frame.no_density or found.words


def find(frame: Frame) -> Finding:
    """The check of a frame: by the reference, by importance weights, or by diagnostics of chains and of densities."""
    if frame.target.reference() is not None:
        found = _by_reference(frame)
    else:
        found = _by_weights(frame)
    if found.agrees and _smoothed(frame):
        return Finding()
    if found.words or found.agrees:
        return found
    mixed = frame.method.family == "chain" and frame.metric("rhat") is not None
    return Finding(_of_chains(frame) or _of_density(frame), unchecked="" if mixed else found.unchecked)


def _by_reference(frame: Frame) -> Finding:
    error, low, high = (frame.metric(name) for name in ("mean_error", "sd_ratio_min", "sd_ratio_max"))
    words, tv = wrong_words(error, 1.0 if low is None else low, 1.0 if high is None else high), frame.tv or 0.0
    if not words and tv > WRONG_TV:
        words = f"TV {tv:.2f}: q has another shape than the posterior, although its mean and sds agree"
    return Finding(words, not words and error is not None and tv <= RIGHT_TV)


def _by_weights(frame: Frame) -> Finding:
    large = frame.target.dim > MOST_DIM
    if frame.density.few:
        words = f"fewer than {frame.target.dim + 2:,} distinct points: too few for a check, or for a density"
        return Finding(unchecked=words) if large else Finding(words)
    found = frame.shift
    if isinstance(found, str):
        return Finding(unchecked=found)
    if found.ess < FEWEST_ESS:
        words = f"{found.ess:.0f} effective draws of the check: its weights p/q are too uneven to confirm q"
        return Finding(unchecked=words) if large else Finding(words)
    words = wrong_words(found.moved, found.narrowest, found.widest, "; by importance weights p/q")
    return Finding(words, not words and found.settled and found.around_modes)


def wrong_words(moved: float | None, narrowest: float, widest: float, how: str = "") -> str:
    """The error of a mean `moved` posterior sds off and of such ratios of sds, in words; "" where both are right."""
    if moved is not None and not moved <= FURTHEST:
        return f"mean {_number(moved)} posterior sds off: the largest error of a coordinate{how}"
    if not narrowest >= NARROW:
        return f"sds off: the narrowest is {_number(narrowest)} times the posterior's{how}"
    if not widest <= WIDE:
        return f"sds off: the widest is {_number(widest)} times the posterior's{how}"
    return ""


def _smoothed(frame: Frame) -> bool:
    """Whether q has its width from the smoothing kernels: particles without one are narrower than 0.7 of it."""
    if frame.method.family != "particles":
        return False
    return bool((spread(frame.particles, frame.weights) < NARROW * np.sqrt(variances(frame.density))).any())


def _of_chains(frame: Frame) -> str:
    if frame.method.family != "chain":
        return ""
    rhat, ess = frame.metric("rhat"), frame.metric("bulk_ess")
    if rhat is not None and rhat > MIXED:
        return f"R-hat {rhat:.2f}: the chains, or their halves, disagree"
    if ess is not None and ess < FEWEST_DRAWS:
        return f"bulk ESS {ess:.0f}: the draws are worth too few independent ones"
    return ""


def _of_density(frame: Frame) -> str:
    k = frame.metric("khat") if frame.method.family == "parametric" else None
    if k is None or k <= largest_trusted(NUM_DRAWS):
        return ""
    return f"k-hat {k:.1f} of p/q: q leaves out a part of the posterior, or differs from it much"


def _number(value: float) -> str:
    if not np.isfinite(value):
        return "infinitely many"
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"
