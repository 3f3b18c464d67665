"""The contract of a method: `init` and `step -> (state, info)` over an immutable state, and a density to show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import ClassVar, Generic, Literal, TypeVar

import numpy as np

from pmdviz.densities.chains import k_hat, largest_trusted
from pmdviz.densities.density import Density, GaussianMixture, Points, effective_sample_size
from pmdviz.densities.product import DiagonalDensity
from pmdviz.errors import InputError, TargetError, shown
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Value, documented, named_after
from pmdviz.methods.step import BatchKnobs, MethodKnobs, Path, Scalar, State, StepBlock, StepInfo, Update, grammar_of
from pmdviz.targets.base import OFFERS, Target

REGISTERED: dict[str, Method] = {}  # by name: a method enters by being defined
METHODS = MappingProxyType(REGISTERED)
Own = TypeVar("Own", bound=MethodKnobs)  # its knobs
CARD = {"short_title", "about", "formula", "what_moves", "source"}  # lines of a method's docstring
Parts = TypeVar("Parts", bound="tuple | Mapping")  # a state
DEFAULT_BUDGET = 20_000  # observations to use
EXACT_DRAWS = "independent draws from the posterior"  # what "exact" means in `needs`
MORE_PARTICLES = "use more particles, smaller steps, or a method whose particles move"
REACH = 1e6  # prior sds: anything beyond has diverged
DEFAULT_STEPS = 500  # of a target without data, whose one row each step uses


def usual_rows(target: Target) -> int:
    """The rows that a run uses where nothing else is needed."""
    return DEFAULT_STEPS if target.data is None else DEFAULT_BUDGET


Need = tuple[str, Value, str, Value]  # a knob, one of its values, what that needs, and the value to take without it
Stepped = tuple[State, StepInfo]  # what a step gives: the next state and its StepInfo


class Method(Generic[State, Own]):
    """An algorithm; one stateless instance a method, entered in METHODS by `name`.

    The docstring of a method is its card (`knobs.documented`): the title as its first line, then a line for each name
    in CARD, for each column of `step.COLUMNS` in which the method does something, and for each term of its `update`.

    Subclasses give `init`, `batch_size`, `step`, and `density` or `densities`; the `Knobs` of a class `Some` are the
    class `SomeKnobs` of its file. `requires` (names of `targets.base.OFFERS`) restricts the targets, `scalars` are the
    numbers that every step gives. `family` is the kind of state: weighted particles (which have an ESS and a floor of
    independent draws), the draws of a chain, the parameters of a density, or weighted particles with the parameters of
    a density each (structured).
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    about: ClassVar[str] = ""  # one sentence for a person: what the method is
    formula: ClassVar[str] = ""  # its update, or its objective, in one line; x_{t+1} and x^{2} are set below and above
    goal: ClassVar[str] = "end"  # what its particles should do where the posterior is
    what_moves: ClassVar[str] = ""  # one sentence: what changes in the picture from step to step
    source: ClassVar[str] = ""
    short_title: ClassVar[str] = ""  # where there is little room, as over a tile; "" for the title itself
    family: ClassVar[Literal["particles", "chain", "parametric", "structured"]] = "particles"
    requires: ClassVar[frozenset[str]] = frozenset({"reals"})
    needs: ClassVar[tuple[Need, ...]] = ()
    grammar = grammar_of({})  # what it does in the terms of `step.COLUMNS`
    Knobs: ClassVar[type[MethodKnobs]]
    kernel_groups: ClassVar[tuple[str, ...]] = ()  # groups of calls (`kernels.compiling`) that only its runs need
    chain_kernels: ClassVar[str] = ""  # which group of each compiled model: a part of its name, such as "trajectories"
    scalars: ClassVar[tuple[Scalar, ...]] = ()
    marks: ClassVar[tuple[str, ...]] = ()  # kinds of the events that its steps may have
    paths: ClassVar[tuple[Path, ...]] = ()  # at most two kinds that a step may show
    update: ClassVar[Update | None] = None  # what the terms of its steps add up to; None where it tells none
    counted: ClassVar[str] = "num_particles"  # the knob that says how many of what a run starts with, and the noun
    noun: ClassVar[str] = "particle"
    # What makes its particles vary less than the independent draws that they are compared with: it explains a TV below
    # theirs. Such as "weights that make errors cancel vary less".
    varies_less: ClassVar[str] = ""
    clock: ClassVar[str] = ""  # what its traces are drawn against at first; "" for what the budget counts
    usual_steps: ClassVar[int] = 0  # that the default budget is enough for, where it is counted in steps
    budget_words: ClassVar[str] = ""  # what the default budget is enough for, where 20,000 data may not be
    estimates_log_z: ClassVar[bool] = False  # whether `log_z` is an estimate of log Z (with data: log p(X))
    caveat_is_of_q: ClassVar[bool] = True  # whether a check that finds q right overrules `caveat`
    bounds_log_z: ClassVar[bool] = False  # whether `log_z_above` is an upper bound in the mean, where exact draws exist

    def __init_subclass__(cls) -> None:
        """Enter a method that has a name; its docstring says title, `about`, `formula`, `what_moves` and `source`."""
        if not cls.name:
            return
        if own := named_after(cls, "Knobs"):
            cls.Knobs = own
        if "title" not in cls.__dict__:
            cls.title = (cls.__doc__ or "").partition("\n")[0].removesuffix(".")
        if "usual_steps" in cls.__dict__:
            cls.budget_words = f"{cls.usual_steps:,} steps"
        card = documented(cls)
        for name in CARD & card.keys():
            setattr(cls, name, card[name])
        cls.grammar = grammar_of(card)
        if cls.update is not None:
            explained = (term._replace(about=term.about or card.get(term.name, "")) for term in cls.update.terms)
            cls.update = cls.update._replace(terms=tuple(explained))
        type.__setattr__(cls.Knobs, "kind_words", f"knob of method {cls.name!r}:")  # `param` would warn
        REGISTERED[cls.name] = cls()

    @property
    def resamples(self) -> bool:
        """Whether a step may draw its particles from those before it."""
        return "rejuvenated" in self.marks

    def missing_in(self, target: Target) -> str:
        """What `target` lacks for this method, in words; "" where the pair fits."""
        missing = self.requires - target.offers
        return " and ".join(words for name, words in OFFERS.items() if name in missing) if missing else ""

    def check_pair(self, target: Target, knobs: Own) -> None:
        """Raise InputError where the method cannot run on the target with these knobs."""
        if missing := self.missing_in(target):
            fitting = [name for name, each in METHODS.items() if not each.missing_in(target)]
            words = f"method {self.name!r} needs {missing}, which target {target.name!r} does not offer"
            raise InputError(f"{words}; methods for it: {', '.join(fitting) or 'none'}")
        for knob, value, need, without in self.needs:
            if getattr(knobs, knob) == value and not _has(target, need):
                words = f"needs {OFFERS.get(need, EXACT_DRAWS)}, which target {target.name!r} does not offer"
                raise InputError(f"{knob} = {shown(value)} {words}; take {shown(without)}", knob)

    def fitted(self, knobs: Own, target: Target) -> Own:
        """`knobs` with those changed that cannot be used on `target`; defaults and menus go through it."""
        unmet = {k: new for k, old, need, new in self.needs if getattr(knobs, k) == old and not _has(target, need)}
        return knobs.changed(unmet) if unmet else knobs

    def idle_knobs(self, target: Target) -> frozenset[str]:
        """Names of the knobs that change nothing on `target`; a panel leaves them out."""
        return frozenset()

    def who(self, knobs: Own) -> tuple[int, str]:
        """How many of what a run starts with, the noun in the singular: (1500, "particle")."""
        return getattr(knobs, self.counted, 1), self.noun

    def default_budget(self, target: Target, knobs: Own) -> int:
        """Observations that a run uses by default: enough to come to a picture that can be judged."""
        return self.usual_steps * knobs.rows(target.num_data) or usual_rows(target)

    def init(self, rng: Rng, target: Target, knobs: Own) -> State:
        """The state at iteration 0."""
        raise NotImplementedError

    def batch_size(self, state: State, knobs: Own, num_data: int) -> int:
        """Rows that the next step visits: the batch, or all where a method takes none."""
        return knobs.rows(num_data)

    def batches(self, state: State, knobs: Own) -> str:
        """How the next step's rows are drawn: `epochs`, `replacement`, or `whole` (all rows in their order)."""
        return getattr(knobs, "batches", "epochs" if hasattr(knobs, "batch_size") else "whole")

    def step(self, rng: Rng, state: State, target: Target, batch: Array, knobs: Own) -> Stepped:
        """One iteration."""
        raise NotImplementedError

    def max_block(self, state: State, knobs: Own, target: Target, rows: int) -> int:
        """How many of the next steps `step_many` may be asked for, while `rows` of data are left to visit; 1: none."""
        return 1

    def step_many(
        self, rng: Rng, state: State, target: Target, data: Array, count: int, knobs: Own, rows: int
    ) -> StepBlock[State] | None:
        """The next `count` steps, with the bits that `step` would give one by one.

        `data` (count, B, ...), or all data where the steps visit them `whole`. They are fewer where `rows` of data
        were visited before, or where the next one fails; None where the first one does. `step` then says how.
        """
        raise NotImplementedError

    def density(self, state: State, knobs: Own, target: Target) -> Density:
        """The approximation q that a frame shows; a pure function of state and knobs."""
        raise NotImplementedError

    def densities(self, state: State, knobs: Own, target: Target) -> Mapping[str, Density]:
        """The densities that the state may be judged by, name -> q, the usual one first.

        A frame shows the one with the lowest TV: for draws of a chain the paper reports the better of a KDE and a
        Gaussian fit (Dai et al. 2016, section 6).
        """
        return {"": self.density(state, knobs, target)}

    def densities_between(
        self, state: State, knobs: Own, target: Target, last: Callable[[], Mapping[str, Density]]
    ) -> Mapping[str, Density]:
        """The densities of a frame that is not measured; `last` gives the densities of the last measured one."""
        return self.densities(state, knobs, target)

    def weighted(self, state: State, knobs: Own) -> Points | None:
        """The points that count as its particles, with weights, where making a density of them costs more; or None."""
        return None

    def components(self, state: State, knobs: Own, target: Target) -> GaussianMixture | DiagonalDensity:
        """Of a method that fits a mixture of Gaussians, the mixture: a picture shows each of them."""
        raise NotImplementedError

    def chains(self, state: State, knobs: Own) -> Array:
        """Of a method whose family is chains, the judged draws of each, (C, n, d)."""
        raise NotImplementedError

    def trails(self, state: State, count: int) -> list[Array]:
        """Of a method whose family is chains, the last `count` draws of each, (n, d), the newest last."""
        raise NotImplementedError

    def update_of(self, info: StepInfo | None) -> Update | None:
        """The update of a step that gives terms; None for one without any."""
        return (info.update or self.update) if info is not None and info.terms else None

    def points(self, state: State) -> Array:
        """The points that the rows of a step's terms belong to, after the step, (n, d).

        The particles; of chains the newest draw of each, of a density what the step moves, such as its mean.
        """
        return state.particles

    def unfinished(self, state: State, knobs: Own) -> str:
        """Why q is not meant to be the posterior yet, such as an inverse temperature β below 1; "" where it is.

        A sentence, and up to its first colon a few words.
        """
        return ""

    def caveat(self, state: State, knobs: Own) -> str:
        """A warning about the frame, in a sentence; "" where there is nothing.

        Up to its first colon it is short enough for a tile. Of weighted particles: that too few have any weight, or
        that a few heavy ones decide.
        """
        if self.family != "particles":
            return ""
        d, ess = state.particles.shape[1], effective_sample_size(state.log_weights)
        if len(state.particles) >= d + 2 > ess:
            few = f"{ess:.1f} effective particles: too few to estimate a covariance in {d} dimension{'s' * (d > 1)}"
            return f"{few}; {MORE_PARTICLES}"
        k = k_hat(state.log_weights)
        if len(state.log_weights) > 1 and k > largest_trusted(len(state.log_weights)):
            return f"k-hat {k:.1f}: a few heavy particles decide, and a mean over them is unreliable; {MORE_PARTICLES}"
        return ""

    def log_z(self, state: State, knobs: Own, target: Target) -> float | None:
        """Estimate of log Z at the present state, in nats; None while there is none.

        Z is the integral of exp(log_joint): with data p(X), or the probability of the data seen; between the prior
        and the posterior the normaliser at the present β. Where `estimates_log_z` it is one of the target at
        the end of a run.
        """
        return None

    def log_z_above(self, state: State, knobs: Own, target: Target) -> float | None:
        """An upper bound of log Z in the mean, in nats; None while there is none."""
        return None

    def ended(self, state: State, knobs: Own, target: Target) -> str:
        """Why the run has ended, such as "one pass only"; "" before."""
        return ""


def _has(target: Target, need: str) -> bool:
    return target.exact is not None if need == "exact" else need in target.offers


class BatchMethod(Method[State, Own]):
    """A method with `BatchKnobs`: its batch is at most the data."""

    def fitted(self, knobs: Own, target: Target) -> Own:
        """`knobs` with a batch that is at most the data."""
        knobs = super().fitted(knobs, target)
        return knobs if knobs.batch_size <= target.num_data else knobs.changed({"batch_size": target.num_data})

    def idle_knobs(self, target: Target) -> frozenset[str]:
        """The knobs of batches, where the target has at most one observation."""
        own = frozenset(BatchKnobs.specs()) & frozenset(self.Knobs.specs())
        return own if target.num_data == 1 else frozenset()

    def check_pair(self, target: Target, knobs: Own) -> None:
        """The batch must fit into the data. Raises InputError."""
        super().check_pair(target, knobs)
        if knobs.batch_size > target.num_data:
            words = f"must be a whole number at least 1 and at most {target.num_data:,} (the number of data points)"
            raise knobs.specs()["batch_size"].refusal(f"{words}; got {knobs.batch_size:,}")


def checked_log_likelihood(
    target: Target, theta: Array, batch: Array, supported: Array | None = None, may_vanish: bool = False
) -> Array:
    """`target.log_likelihood(theta, batch)`, asked only where `supported` (m,) and -inf elsewhere.

    A likelihood need not be defined outside the prior's support, where kernel noise may put a particle. Raises
    TargetError for NaN, +inf, or (unless it `may_vanish`, as for proposals) likelihood 0 everywhere.
    """
    if supported is None or supported.all():
        values = target.log_likelihood(theta, batch)
    else:
        values = np.full(len(theta), -np.inf)
        if supported.any():
            values[supported] = target.log_likelihood(theta[supported], batch)
    if -np.inf < values.max() < np.inf and not np.isnan(values.min()):
        return values
    bad = np.isnan(values) | (values == np.inf)
    if may_vanish and not bad.any():
        return values
    at, value = (theta[bad][0], values[bad][0]) if bad.any() else (theta[0], -np.inf)
    where, rows = "" if bad.any() else "every particle, one of them ", rows_in_words(batch)
    words = f"log_likelihood of target {target.name!r} is {value} at {where}theta = {target.space.words(at)}"
    cure = "it must be a number or -inf" if bad.any() else "use more particles or smaller steps"
    raise TargetError(f"{words}, for {rows}; {cure}", at, rows)


def checked_log_density(target: Target, theta: Array, batch: Array, power: float, may_vanish: bool = False) -> Array:
    """log prior + power times log likelihood of the batch, (m,); the latter asked for in the prior's support alone.

    Raises TargetError as `checked_log_prior` and `checked_log_likelihood` do.
    """
    log_prior = checked_log_prior(target, theta)
    return log_prior + power * checked_log_likelihood(target, theta, batch, log_prior > -np.inf, may_vanish)


def checked_gradient(target: Target, theta: Array, batch: Array) -> Array:
    """`target.grad_log_joint(theta, batch)`, (m, d) -> (m, d). Raises TargetError where it is not finite."""
    values = target.grad_log_joint(theta, batch)
    bad = ~np.isfinite(values).all(axis=1)
    if not bad.any():
        return values
    at, rows = theta[bad][0], rows_in_words(batch)
    found = f"{values[bad][0]} at theta = {target.space.words(at)}, for {rows}"
    words = f"the gradient of log_joint of target {target.name!r} is {found}"
    cure = "it must be finite: use smaller steps, or parameters for which it is finite everywhere"
    raise TargetError(f"{words}; {cure}", at, rows)


def rows_in_words(batch: Array) -> str:
    """Which rows were visited, for an error's sentence."""
    return f"a batch of {len(batch):,} rows, the first of them {np.array2string(np.asarray(batch[0]), precision=6)}"


def check_reach(points: Array, target: Target, step: float, batch: Array, who: str = "the particles") -> None:
    """Raise TargetError where a point (m, k), of the first k coordinates, is NaN or a million prior sds away."""
    scale = target.scale[: points.shape[1]]
    if max(-points.min(), points.max()) <= REACH * scale.min():  # without an array of their size
        return
    far = ~(np.abs(points) <= REACH * scale).all(axis=1)
    if far.any():
        words = f"{who} diverged on target {target.name!r} to theta = {target.space.words(points[far][0])}"
        raise TargetError(f"{words}; use a step size smaller than {step:.3g}", points[far][0], rows_in_words(batch))


def frozen(state: Parts) -> Parts:
    """The state of a method with every array in it read-only."""
    for part in state.values() if isinstance(state, Mapping) else state:
        if isinstance(part, Array):
            part.flags.writeable = False
        elif isinstance(part, (tuple, Mapping)):
            frozen(part)
    return state


def checked_log_prior(target: Target, theta: Array) -> Array:
    """`target.log_prior(theta)`; raises TargetError for NaN or +inf. -inf is allowed: outside the prior's support."""
    values = target.log_prior(theta)
    bad = np.isnan(values) | (values == np.inf)
    if bad.any():
        where = f"{values[bad][0]} at theta = {target.space.words(theta[bad][0])}"
        words = f"log_prior of target {target.name!r} is {where}; it must be a number or -inf"
        raise TargetError(words, theta[bad][0])
    return values
