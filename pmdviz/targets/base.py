"""The base class of targets: a prior, a likelihood of rows of data, and the exact posterior where it is known."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar, cast

import numpy as np

from pmdviz.data.files import names_file
from pmdviz.data.tables import Table, tables_in
from pmdviz.errors import InputError
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Knobs, Raw, documented, named_after
from pmdviz.targets.exact import Box, Exact, Handle, Reference, find_modes, has_density, read_only
from pmdviz.targets.options import SIMULATED, TableForm, as_source
from pmdviz.targets.space import Conditionals, Discrete, Documents, Reals, Space, Tilted

if TYPE_CHECKING:
    from pmdviz.densities.density import Density, GaussianMixture
    from pmdviz.densities.product import DirichletMixture

Own = TypeVar("Own", bound=Knobs)  # its options
REGISTERED: dict[str, type[Target]] = {}  # by name: a target enters by being defined
TARGETS = MappingProxyType(REGISTERED)

IN_SILENCE = np.errstate(over="ignore", divide="ignore", invalid="ignore")  # far away a density is 0, a gradient none
# The properties that a target may offer and a method may require, in the words of the error message; and the method or
# attribute of a class that offers each, "" where an instance tells.
OFFERED_BY = {
    "reals": ("real coordinates", ""),
    "discrete": ("discrete states", ""),
    "relaxation": ("a smooth log density between its states", "_log_relaxed"),
    "gradient": ("a gradient of its log density", "_grad_log_likelihood"),
    "blocks": ("blocks of parameters to be independent of one another", "block_gradient"),
    "conditionals": ("exact conditionals (a Gibbs sweep)", "_gibbs_sweep"),
    "simulation": ("data drawn from its model", "_simulate"),
    "row_density": ("the density of a row of its data", "row_density"),
    "predictive": ("predictions of held-out data", "predicts"),
    "noise_variance": ("a variance of the noise around its predictions", ""),
    "latent_scales": ("weights with unknown prior variances", "weight_gradient"),
    "conditional_family": ("a conditional posterior in closed form", "tilted"),
    "quadratic_bound": ("a quadratic lower bound of its log likelihood", "quadratic_bound"),
    "inducing_inputs": ("a Gaussian process with inducing inputs", "extended"),
    "documents": ("documents of word counts", "documents"),
}
OFFERS = {name: words for name, (words, _) in OFFERED_BY.items()}
# The end of the error message "target x ...".
REFUSALS = {
    "gradient": "has no gradient; choose a method without one, or give grad_log_prior and grad_log_likelihood",
    "relaxation": "has no smooth log density between its states; choose the surrogate 'base'",
    "conditionals": "has no exact conditionals; choose hmc, nuts or random_walk, or give gibbs_sweep to custom_target",
    "simulation": "cannot draw data from its model; choose a target with simulated data, such as mixture or linear",
}
NO_DATA = np.empty((1, 0))  # the one empty row that means the whole density of a target without data


class Natural(NamedTuple):
    """A Gaussian N(P^-1 h, P^-1) by its natural parameters."""

    linear: Array  # (d,) h
    precision: Array  # (d, d) P


class Target(Generic[Own]):
    """A posterior p(theta | X) proportional to p(theta) prod_n p(x_n | theta), or a density without data.

    Subclasses set the class attributes (`title`, `about`, `source`, `question`: lines of the docstring), `data`, and
    give `_log_prior`, `_log_likelihood`, `sample_prior` and `make_reference`; a subclass with a `name`
    enters the table TARGETS by being defined.

    Without data the "prior" is a q0 that can be drawn from, and `_log_likelihood` is log p - log q0 for one empty row:
    `log_joint` is then log p, and a method goes from q0 to p as it goes from a prior to a posterior.

    Attributes
    ----------
    dim : int
        d, the length of theta.
    space : Space
        What a point is; real coordinates named `parameter_names` unless a subclass says otherwise.
    data : array, first axis of length `num_data`, or None
        The rows that batches are drawn from.
    test_data : array or None
        Rows held out, for predictive metrics.
    declared : frozenset of names of OFFERS
        What the target offers besides what its space does; by default what its class has of OFFERED_BY.
    view_box : ((low, high), ...)
        One pair a dimension: where pictures are drawn. It holds the prior's bulk.
    scale : array (d,)
        The prior's sd.
    """

    name: str = ""
    title: str = ""
    question: str = "Which method comes closest on the same budget?"  # that a race on it answers
    source: ClassVar[str] = ""  # where it comes from: a paper and its section
    about: ClassVar[str] = ""  # one sentence for a person: the model in words
    Options: ClassVar[type[Knobs]] = Knobs
    declared: frozenset[str]
    test_data: Array | None = None
    input_names: tuple[str, ...] = ()  # of a row, where it has inputs and an outcome
    intercept: int = 0  # 1 where a row begins with a 1 before its inputs
    table: ClassVar[TableForm | None] = None  # the `form` of its options; None: it takes no table of a person's own
    row_density: ClassVar[bool] = False  # whether `row_log_likelihood` integrates to one over the rows
    predicts: str = ""  # what a row's outcome is, of a target that predicts: class, classes, number or words
    # Whether predictions are averaged over the particles themselves: a function far from linear in theta is blurred by
    # the kernels around them, the more the more coordinates there are.
    by_points: ClassVar[bool] = False

    kernel_groups: ClassVar[tuple[str, ...]] = ()  # groups of calls (`kernels.compiling`) that only its runs need

    tables: tuple[Table, ...]  # a person's own, which the options name
    dim: int
    data: Array | None = None
    view_box: Box
    scale: Array
    parameter_names: Sequence[str]

    def __init_subclass__(cls) -> None:
        for name, text in documented(cls).items():
            if name in ("title", "about", "source", "question"):
                setattr(cls, name, text)
        if "declared" not in cls.__dict__:
            has = {name: getattr(cls, way, None) != getattr(Target, way, None) for name, (_, way) in OFFERED_BY.items()}
            cls.declared = frozenset(name for name in has if has[name])
        if "name" in cls.__dict__ and cls.name:
            REGISTERED[cls.name] = cls
            if own := named_after(cls, "Options"):
                cls.Options = own
            cls.table = getattr(cls.Options, "form", None)
            cls.Options.kind_words = f"option of target {cls.name!r}:"

    def __init__(self, /, **options: Raw) -> None:
        self.options = cast(Own, self.checked_options(options))
        self.tables = tables_in(self.options.as_dict().values())
        self.build()
        self._made()

    @classmethod
    def checked_options(cls, options: Mapping[str, Raw]) -> Knobs:
        """The options as they come from outside, checked. Raises InputError.

        Without explicit values, the numbers of rows and inputs come from the named table.
        """
        if cls.table is not None and options.get("data") is not None:
            options = {**options, "data": as_source(options["data"], cls.table)}
        if cls.table is None or not names_file(options.get("data")):
            return cls.Options.checked(options)
        specs = cls.Options.specs()
        source = specs["data"].parse(options["data"])
        usual = cls.table.usual_options(specs, *cls.table.size_of(source))
        return cls.Options.checked({**usual, **options, "data": source})

    def _made(self) -> None:
        """Make locks, and make the data read-only: sessions share targets."""
        self._reference_lock = threading.RLock()
        self._reference: Reference | None = None
        self._reference_known = False
        read_only((self.data, self.test_data))

    def build(self) -> None:
        """Set `dim`, `data`, `view_box`, `scale` and `parameter_names` from `self.options`."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Array | Knobs]:
        """The state sent to another process: all but the reference, which is computed there on demand."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_reference")}

    def __setstate__(self, state: dict[str, Array | Knobs]) -> None:
        self.__dict__.update(state)
        self._made()

    @cached_property
    def space(self) -> Space:
        """The space of theta."""
        return Reals(self.parameter_names)

    @property
    def states(self) -> Discrete:
        """The space of a target with discrete states."""
        assert isinstance(self.space, Discrete)
        return self.space

    @cached_property
    def offers(self) -> frozenset[str]:
        """Names of OFFERS: what a method may ask of this target."""
        kinds = {"reals": Reals, "discrete": Discrete}
        return self.declared | {name for name, kind in kinds.items() if isinstance(self.space, kind)}

    @property
    def data_rows(self) -> Array:
        """The data, or the one empty row of a target without any."""
        return NO_DATA if self.data is None else self.data

    @property
    def num_data(self) -> int:
        """N, the number of rows of the data; 1 of a target without any, whose whole density counts as one row."""
        return len(self.data_rows)

    @property
    def key(self) -> tuple:
        """Equal for targets with the same posterior; for caches."""
        return (self.name, *self.options.as_dict().items())

    def reference(self) -> Reference | None:
        """The reference that runs are judged by: the exact posterior, or draws with their own error; None if unknown.

        Computed at the first use and kept.
        """
        with self._reference_lock:
            if not self._reference_known:
                self._reference, self._reference_known = self.make_reference(), True
                known = {} if self._reference is None else vars(self._reference)
                read_only(value for name, value in known.items() if not name.startswith("_"))
            return self._reference

    @property
    def no_reference(self) -> str:
        """Why a reference is missing where a person would expect one, in a sentence; "" elsewhere."""
        return ""

    @property
    def exact(self) -> Exact | None:
        """The reference where it has a density: in closed form, by enumeration or on a grid; None elsewhere."""
        found = self.reference()
        return found if has_density(found) else None

    @property
    def planar(self) -> Exact | None:
        """The exact posterior where a grid can hold it, in one or two real coordinates; None elsewhere."""
        return self.exact if self.dim <= 2 and "reals" in self.offers else None

    @cached_property
    def modes(self) -> GaussianMixture | None:
        """Gaussians where the posterior has its mass, for checks of an approximation; None where none were searched."""
        return find_modes(self)

    def handles(self) -> tuple[Handle, ...]:
        """The points that can be dragged in the picture of the first two coordinates; () for a person's own data."""
        return self._handles() if getattr(self.options, "data", SIMULATED) == SIMULATED else ()

    def _handles(self) -> tuple[Handle, ...]:
        return ()

    @property
    def model(self) -> tuple | None:
        """The model in compiled code, a NamedTuple of numbers (`kernels.likelihoods`); None: chains ask in Python."""
        return None

    def make_reference(self) -> Reference | None:
        """The exact posterior, or draws where there is none; None without either."""
        return None

    def log_prior(self, theta: Array) -> Array:
        """log p(theta), (m, d) -> (m,), in nats."""
        return self._log_prior(self._points(theta))

    def log_likelihood(self, theta: Array, batch: Array) -> Array:
        """sum over the rows x of `batch` of log p(x | theta), (m, d) -> (m,), in nats; not scaled by N/B."""
        return self._log_likelihood(self._points(theta), np.asarray(batch))

    def log_joint(self, theta: Array, batch: Array | None = None) -> Array:
        """log p(theta) + (N/B) sum over the batch of log p(x | theta), (m, d) -> (m,).

        Without a batch all data are visited and this is the unnormalised log posterior.
        """
        batch = self.data_rows if batch is None else np.asarray(batch)
        return self.log_prior(theta) + self.num_data / len(batch) * self.log_likelihood(theta, batch)

    def log_joint_on_support(self, theta: Array) -> Array:
        """`log_joint`; outside the prior's support, where no likelihood need be defined, -inf without asking for it."""
        values = self.log_prior(theta)
        inside = np.isfinite(values)
        if inside.any():
            values[inside] += self.log_likelihood(self._points(theta)[inside], self.data_rows)
        return values

    def grad_log_joint(self, theta: Array, batch: Array | None = None) -> Array:
        """Gradient of `log_joint` in theta, (m, d) -> (m, d). Raises InputError where the target has none."""
        self._check_offered("gradient")
        batch = self.data_rows if batch is None else np.asarray(batch)
        points = self._points(theta)
        likelihood = self._grad_log_likelihood(points, batch)
        return self._grad_log_prior(points) + self.num_data / len(batch) * likelihood

    def grad_log_prior(self, theta: Array) -> Array:
        """Gradient of `log_prior` in theta, (m, d) -> (m, d). Raises InputError where the target has no gradient."""
        self._check_offered("gradient")
        return self._grad_log_prior(self._points(theta))

    def log_relaxed(self, points: Array, batch: Array | None = None) -> Array:
        """A smooth function of real points between the states, at which it is `log_joint`: (m, d) -> (m,), in nats.

        Of discrete targets, whose coordinates are then taken anywhere between the lowest and the highest value. Where
        the density itself has steps inside, such as hidden units of two values, they are made smooth too, and at the
        states it is near `log_joint` only. Raises InputError where the target has none.
        """
        self._check_offered("relaxation")
        return self._log_relaxed(points, self.data_rows if batch is None else np.asarray(batch))

    def grad_log_relaxed(self, points: Array, batch: Array | None = None) -> Array:
        """Gradient of `log_relaxed` in the points, (m, d) -> (m, d)."""
        self._check_offered("relaxation")
        return self._grad_log_relaxed(points, self.data_rows if batch is None else np.asarray(batch))

    def log_relaxed_and_gradient(self, points: Array, batch: Array | None = None) -> tuple[Array, Array]:
        """`log_relaxed` (m,) and its gradient (m, d), which some targets give in less time than one after the other."""
        return self.log_relaxed(points, batch), self.grad_log_relaxed(points, batch)

    def grad_straight_through(self, states: Array, batch: Array | None = None) -> Array:
        """The straight-through gradient at states, (m, d) -> (m, d): the values belong to the target itself.

        That is of `grad_log_relaxed`, but for steps inside the density: these are taken as they are, and a gradient
        passes through them as through max(-1, min(1, a)). Raises InputError where the target has no relaxation.
        """
        self._check_offered("relaxation")
        return self._grad_straight_through(self._points(states), self.data_rows if batch is None else np.asarray(batch))

    def _check_offered(self, what: str) -> None:
        """Raises InputError where the target does not offer it, a key of OFFERS."""
        if what not in self.offers:
            has = ", ".join(words for name, words in OFFERS.items() if name in self.offers)
            raise InputError(f"target {self.name!r} {REFUSALS[what]}; it has: {has}")

    def gibbs_sweep(self, rng: Rng, theta: Array, data: Array) -> Array:
        """A new theta (d,): each unknown drawn once from its conditional given `data` and the others.

        Raises InputError where the target has no conditionals.
        """
        self._check_offered("conditionals")
        return self._gibbs_sweep(rng, theta, np.asarray(data))

    def simulate(self, rng: Rng, theta: Array, n: int) -> Array:
        """n rows of data from the model at theta (d,). Raises InputError where the target cannot."""
        self._check_offered("simulation")
        return self._simulate(rng, self._points(np.atleast_2d(theta))[0], n)

    def conditionals(self, rng: Rng, m: int) -> Conditionals:
        """m particles drawn from their prior, with the prior of the unknowns conditional on them."""
        raise NotImplementedError

    def tilted(self, rng: Rng, given: Conditionals, batch: Array, kept: float, power: float) -> Tilted:
        """q(u | Z)^kept p(u | Z)^(1 - kept) prod over the batch of p(row | u, Z)^power, normalised, for every particle.

        Also what of the rows' likelihood does not depend on u, to the same power: log (m,), in nats. Unknowns of the
        rows themselves are a part of Z that is drawn here, and their prior over what they are drawn from belongs to
        what does not depend on u.
        """
        raise NotImplementedError

    def bounded(self, given: Conditionals, batch: Array, kept: float, power: float) -> Conditionals:
        """As `tilted`, with each row's likelihood replaced by exp E_p(f | u) log p(row | f), its lower bound."""
        raise NotImplementedError

    def extended(self, given: Conditionals | None, rows: Array) -> Conditionals:
        """One set of inducing inputs with the inputs of `rows` added, at which f given the others is the prior's.

        None has none.
        """
        raise NotImplementedError

    def documents(self, batch: Array, points: int = 1) -> Documents:
        """The word counts of rows, to be evaluated at so many points."""
        raise NotImplementedError

    def conditional_density(self, given: Conditionals, log_weights: Array) -> Density | DirichletMixture:
        """sum_j w_j q(. | Z_j) as a density of theta."""
        raise NotImplementedError

    def quadratic_bound(self, mean: Array, cholesky: Array, batch: Array) -> Natural:
        """The Gaussian prior times the likelihood's quadratic lower bound, the batch scaled by N/B: a Gaussian.

        The bound is the tightest on average under N(mean, L L').
        """
        raise NotImplementedError

    def sample_prior(self, rng: Rng, n: int) -> Array:
        """n draws (n, d) from the prior."""
        raise NotImplementedError

    def _not_given(self, *args: Any, **kwargs: Any) -> Any:  # with these types any signature may override it
        raise NotImplementedError

    # Subclasses give these: the part of the public method of the same name after its checks.
    _log_prior = _log_likelihood = _grad_log_prior = _grad_log_likelihood = _not_given
    _log_relaxed = _grad_log_relaxed = _gibbs_sweep = _simulate = _not_given

    def _grad_straight_through(self, states: Array, batch: Array) -> Array:
        return self._grad_log_relaxed(states, batch)

    def outcomes(self, rows: Array) -> Array:
        """The outcomes of rows of data, (n,): the last column."""
        return rows[:, -1]

    def row_mean(self, theta: Array, rows: Array) -> Array:
        """E(outcome | theta) of every row, of a class its probability: (m, d) and (n, ...) -> (m, n)."""
        raise NotImplementedError

    def noise_variance(self, theta: Array) -> Array:
        """Var(outcome | inputs, theta), the same at all inputs: (m, d) -> (m,), in the squared unit of the outcome."""
        raise NotImplementedError

    def class_probabilities(self, theta: Array, rows: Array) -> Array:
        """p(class | theta) of every row, whatever its own: (m, d) and (n, ...) -> (m, n, K); of two by `row_mean`."""
        one = self.row_mean(theta, rows)
        return np.stack([1 - one, one], axis=2)

    def row_log_likelihood(self, theta: Array, rows: Array) -> Array:
        """log p(row | theta) of every row, (m, d) and (n, ...) -> (m, n), in nats.

        Of a target that offers "row_density" it integrates to one over the rows.
        """
        return np.stack([self.log_likelihood(theta, rows[k : k + 1]) for k in range(len(rows))], axis=1)

    def inputs(self, rows: Array) -> Array:
        """The inputs of rows, (n, ...) -> (n, k), named by `input_names`."""
        return rows[:, self.intercept : -1]

    def rows_at(self, inputs: Array) -> Array:
        """Rows with these inputs (n, k) and the outcome 0."""
        ones = [np.ones(len(inputs))] * self.intercept
        return np.column_stack([*ones, inputs, np.zeros(len(inputs))])

    def _points(self, theta: Array) -> Array:
        return self.space.check(theta)


class GaussianPrior(Target[Own]):
    """theta ~ N(prior_mean, prior_sd^2 I), with `prior_sd` set by the subclass's `build`."""

    prior_mean: float = 0.0  # of every coordinate
    prior_sd: float = 1.0

    def sample_prior(self, rng: Rng, n: int) -> Array:
        """n draws (n, d) from the prior."""
        return self.prior_mean + self.prior_sd * rng.standard_normal((n, self.dim))

    def _log_prior(self, theta: Array) -> Array:
        constant = self.dim * np.log(self.prior_sd * np.sqrt(2 * np.pi))
        return -0.5 * (((theta - self.prior_mean) / self.prior_sd) ** 2).sum(axis=1) - constant

    def _grad_log_prior(self, theta: Array) -> Array:
        return (self.prior_mean - theta) / self.prior_sd**2

    def prior_frame(self, *true: float) -> None:
        """`scale`, and a `view_box` of 3.5 prior sd each way or more, with the `true` coordinates well inside."""
        self.scale = np.full(self.dim, self.prior_sd)
        reach = float(max(3.5 * self.prior_sd, *(1.25 * abs(value) for value in true)))
        self.view_box = ((-reach, reach),) * self.dim


class CompiledLikelihood(GaussianPrior[Own]):
    """A target whose likelihood compiled functions give; its chains make many steps in one compiled call."""

    # log likelihood and gradient, of theta, a batch and `numbers`; the model, of prior precision, N and `numbers`
    compiled: ClassVar[tuple[Callable[..., Array], Callable[..., Array], Callable[..., tuple]]]
    numbers: tuple[float, ...] = ()  # of the likelihood, such as sigma_x; set by `build`

    @property
    def model(self) -> tuple:
        """For compiled chains."""
        return self.compiled[2](1 / self.prior_sd**2, float(self.num_data), *self.numbers)

    def _log_likelihood(self, theta: Array, batch: Array) -> Array:
        return self.compiled[0](theta, batch, *self.numbers)

    def _grad_log_likelihood(self, theta: Array, batch: Array) -> Array:
        return self.compiled[1](theta, batch, *self.numbers)


class FairSigns(Target[Own]):
    """States of -1 and 1, independent and fair before any data, or q0 of a target without any."""

    space: Discrete

    def in_space(self, shape: int | Sequence[int], names: Sequence[str]) -> None:
        """Set `space` to all arrays of this shape, and what follows from it."""
        self.space = Discrete((-1, 1), shape, names)
        self.dim, self.parameter_names = self.space.dim, self.space.names
        self.scale, self.view_box = np.ones(self.dim), ((-1.5, 1.5),) * self.dim

    def sample_prior(self, rng: Rng, n: int) -> Array:
        """n draws (n, d) of independent fair signs."""
        return 2.0 * rng.integers(0, 2, size=(n, self.dim)) - 1.0

    def _log_prior(self, theta: Array) -> Array:
        return np.full(len(theta), -self.dim * np.log(2.0))

    def _log_likelihood(self, theta: Array, batch: Array) -> Array:
        """Of a target without data log p - log q0, for every row of the batch."""
        return len(batch) * (self._log_relaxed(theta, batch) - self._log_prior(theta))
