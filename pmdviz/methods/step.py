"""Results of a step, its cost, and the terms in which all methods are described."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, Never, TypeVar

from pmdviz.cached import cached_property
from pmdviz.errors import unknown
from pmdviz.kernels.checks import Array
from pmdviz.knobs import Choice, Knobs, Whole

if TYPE_CHECKING:
    from pmdviz.targets import Target


class Cost(NamedTuple):
    """Evaluations of the target's functions."""

    visited: int = 0  # rows passed to log_likelihood or its gradient, those passed before in the step not counted again
    density_evaluations: int = 0  # pairs of particle and observation whose likelihood was evaluated
    gradient_evaluations: int = 0

    @property
    def evaluations(self) -> int:
        """Of densities and gradients together, each pair of particle and observation as one."""
        return self.density_evaluations + self.gradient_evaluations


def total(*costs: Cost) -> Cost:
    """Their sum."""
    return Cost(*map(sum, zip(*costs, strict=True)))


class Scalar(NamedTuple):
    """A number that every step of a method tells: a column of the history, and a trace."""

    name: str
    title: str
    unit: str = ""
    log: bool = False


class Path(NamedTuple):
    """Straight pieces of a step that a picture shows, such as a trajectory."""

    name: str  # in what `StepInfo.paths` gives
    words: str  # in the legend
    arrow: bool = False  # a force: the longest of a step is drawn as long as fits


class Term(NamedTuple):
    """A part of an update, in words."""

    name: str  # in what `StepInfo.terms` gives
    title: str  # "likelihood of the batch"
    formula: str  # its part of the sum, with its sign: "+ γ log p(θ)"; x_{t+1} and x^{2} are set below and above
    about: str = ""  # what it does, in a sentence; of a method's `update` a line `name: ...` of its docstring


class Update(NamedTuple):
    """The sum of the terms of a step.

    Its `kind`: "weights", the new log-weight of each particle; "move", how far each of `Method.points`
    moved; "ratio", the log of the ratio by which each chain accepts its proposal.
    """

    kind: Literal["weights", "move", "ratio"]
    formula: str  # the sum: "log w′", "θ′ − θ", "log α"
    title: str  # "new log-weight"
    unit: str  # "nats", "units of θ"
    terms: tuple[Term, ...]  # in the order of the sum; a step may leave some out
    fresh: bool = False  # whether every step draws new points, independent of those before


Value = TypeVar("Value")
State = TypeVar("State")  # of a method
NOTHING: Mapping[str, Never] = MappingProxyType({})


def _frozen(values: dict[str, Value]) -> MappingProxyType[str, Value]:
    return MappingProxyType(values)


copyreg.pickle(MappingProxyType, lambda proxy: (_frozen, (dict(proxy),)))  # runs hold such


Terms = dict[str, Array]  # of a step: by the names of its update, a row for each point


class ComputedTerms(Mapping[str, Array]):
    """Terms that are computed when one of them is read: most steps are never looked at."""

    def __init__(self, compute: Callable[[], Mapping[str, Array]]) -> None:
        self._compute = compute

    @cached_property
    def _known(self) -> Mapping[str, Array]:
        return self._compute()

    def __getitem__(self, name: str) -> Array:
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __reduce__(self) -> tuple[type[dict], tuple[dict[str, Array]]]:
        return dict, (dict(self._known),)  # computed now: what computes them cannot be sent

    def __bool__(self) -> bool:
        """That there are some, which is known before they are."""
        return True


class StepInfo(NamedTuple):
    """Results of a step that are shown but not needed by the next step."""

    cost: Cost
    words: str  # one line for a person
    events: Mapping[str, str] = NOTHING  # marks on the traces: rejuvenated, limited, diverged -> why or how
    scalars: Mapping[str, float] = NOTHING  # by names of the method's `scalars`; one left out is not known
    # Parts of the update, name -> (m,) or (m, d): they add up to the new log-weights, or to how far each point moved.
    terms: Mapping[str, Array] = NOTHING
    # Computed when they are drawn: by the names of the method's `paths`, each (n, 2, d), from and to.
    paths: Callable[[], Mapping[str, Array]] = dict
    # Where particles were redrawn: for each, the row of the one before the step that it was drawn from. None where
    # they were not, or where that is not known.
    parents: Array | None = None
    numbers: Mapping[str, float] = NOTHING  # symbols in the formulas of the update -> their values now
    update: Update | None = None  # what its terms add up to where that is not the method's usual `update`

    @property
    def rejuvenated(self) -> str:
        """Why the particles were redrawn before the step, or ""."""
        return self.events.get("rejuvenated", "")

    @property
    def limited(self) -> str:
        """How much shorter the step was made than its schedule says, or ""."""
        return self.events.get("limited", "")

    @property
    def step_size(self) -> float | None:
        """gamma, or what the method calls its step size; None for a step that has none."""
        return self.scalars.get("step_size")


def events(**found: str) -> dict[str, str]:
    """Events by kind and words; those without words did not happen."""
    return {kind: words for kind, words in found.items() if words}


class StepBlock(NamedTuple, Generic[State]):
    """Several steps done in one call."""

    state: State
    info: StepInfo  # of the last step
    steps: int
    cost: Cost  # of all of them


# The cost of a step, declared by a method's knobs: counted, not timed.


class Work(NamedTuple):
    """Computations of the longest step, as numbers of pairs."""

    kernels: float = 0.0  # kernel values, of two particles
    likelihoods: float = 0.0  # of a particle and an observation
    gradients: float = 0.0  # of a particle and an observation


class MethodKnobs(Knobs):
    """The knobs of a method: they say what its longest step costs, which a server may limit."""

    def rows(self, num_data: int) -> int:
        """Data that a step visits: the batch, or all."""
        return min(getattr(self, "batch_size", num_data), num_data)

    def work_on(self, target: Target) -> Work:
        """The same on a target, by more than its number of data where that matters."""
        return self.work(target.num_data)

    def work(self, num_data: int) -> Work:
        """Computations of the longest step on a target with `num_data` observations.

        Usually a likelihood of every particle or chain, or of a fitted density, at every row that the step visits.
        """
        count = getattr(self, "num_particles", getattr(self, "num_chains", 1))
        return Work(likelihoods=count * self.rows(num_data))


class BatchKnobs(MethodKnobs):
    """The rows that each step visits.

    batch_size: How many data points each step uses; at most N.
    batches: Shuffled passes use every data point once per pass. With replacement, each batch is drawn independently, as
        in the paper; a batch of size N is then a bootstrap sample and not the whole data set.
    """

    batch_size = Whole(100, (1, 10_000_000), (1, 1000), "Batch size B", "data points", log=True, basic=True)
    batches = Choice("epochs", {"epochs": "shuffled passes", "replacement": "with replacement"}, "Batches")


BATCH_SIZE = BatchKnobs.specs()["batch_size"]


# The grammar of the methods: how each one propagates, reweights, resamples, moves and adapts, in terms they share.


class Column(NamedTuple):
    """One aspect of a method, and the terms for it."""

    about: str  # the question that its cells answer
    terms: Mapping[str, str]  # term -> what it means, in a sentence


# The columns by name, the terms of each from the simplest on.
COLUMNS: Mapping[str, Column] = {
    "propagate": Column(
        "Where points come from, before the posterior decides about them.",
        {
            "prior": "Draws from the prior, or from q₀ without data.",
            "random start": "Random points that are not draws from the prior.",
            "proposal": "Draws from a density that can be evaluated: weights correct for it.",
            "conditional": "Draws of the next coordinates, given all that the particle has drawn before.",
            "fitted density": "Draws from the fitted density at every step, to estimate its gradient.",
        },
    ),
    "reweight": Column(
        "How a step changes the weights.",
        {
            "likelihood": "Bayes' rule for a batch: w ← w · p(batch | θ).",
            "temperature": "The power β of the likelihood rises by Δβ: w ← w · p(X | θ)^Δβ.",
            "density ratio": "Target over the density that the point was drawn from: w = p / q.",
            "mirror step": "The step drops the share γ of the previous q and takes the share γ of the posterior.",
            "least discrepancy": "All weights together: the weighted points are then nearest to the posterior.",
        },
    ),
    "resample": Column(
        "When new points are drawn from the weighted ones, and how.",
        {
            "copies": "Heavy points are copied and light ones are dropped.",
            "kernel density": "New points from the smoothed density of the weighted ones, which is wider.",
        },
    ),
    "move": Column(
        "How points, or the parameters of a density, go where the posterior is high.",
        {
            "Gibbs": "A draw from the exact conditional distribution, given everything else.",
            "Metropolis": "A random step, accepted or rejected so that the posterior is invariant.",
            "MALA": "A step uphill with noise, accepted or rejected so that the posterior is invariant.",
            "HMC": "A trajectory uphill and downhill, accepted or rejected so that the posterior is invariant.",
            "Langevin": "A step uphill with noise, never rejected: its error shrinks with the step.",
            "Stein force": "Uphill by the neighbours' slopes, and away from the neighbours.",
            "gradient": "A step uphill, without noise of its own.",
            "natural gradient": "Parameters go uphill in steps measured by how much their density changes.",
            "closed form": "The optimum given everything else has a formula, and the step goes there.",
        },
    ),
    "adapt": Column(
        "Which of its settings a method adapts to the run so far; a schedule fixed in advance is not adaptive.",
        {
            "step size": "How far a step goes.",
            "preconditioner": "How far a step goes in each coordinate, by the size of the gradients so far.",
            "kernel width": "How wide the kernel is that steps or new points are made with.",
            "temperatures": "How much of the likelihood the next step adds.",
            "proposal": "The density that points are proposed from.",
            "surrogate": "The density whose gradient replaces the posterior's.",
            "stopping": "Which step is the last one that counts.",
        },
    ),
}


class Cell(NamedTuple):
    """One aspect of one method; no terms where the method has nothing of the kind."""

    terms: tuple[str, ...] = ()
    remark: str = ""  # when, of what or by what, at the method's default settings

    def __str__(self) -> str:
        """The terms, and the remark in brackets."""
        words = " + ".join(self.terms) or "none"
        return f"{words} ({self.remark})" if self.remark else words


def grammar_of(texts: Mapping[str, str]) -> dict[str, Cell]:
    """A method at its default settings: a cell for each of COLUMNS, from texts such as "prior + proposal (remark)".

    Raises InputError for a term that its column lacks.
    """
    found = {}
    for name, column in COLUMNS.items():
        terms, _, remark = texts.get(name, "").removesuffix(")").partition(" (")
        found[name] = Cell(tuple(filter(None, terms.split(" + "))), remark)
        for term in found[name].terms:
            if term not in column.terms:
                raise unknown(f"term of {name!r}", term, column.terms)
    return found
