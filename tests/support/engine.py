"""Help for the engine's tests: recipes drawn at random over every knob and option, the bytes of a run, small frames."""

import functools
import math
from typing import Any

import numpy as np
import sklearn.datasets  # noqa: F401, its first import draws from `random`, which hypothesis forbids in a strategy
from hypothesis import reject
from hypothesis import strategies as st

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, TargetError
from pmdviz.methods import METHODS
from pmdviz.targets import TARGETS, Target, make_target, stochastic_volatility
from pmdviz.targets.exact import GaussianExact

LARGEST = 60  # of any whole knob without a narrower bound: particles, data, batches
SIZES = {"num_data": (1, LARGEST), "dim": (1, 4), "size": (2, 4), "visible": (1, 9), "hidden": (1, 9)}  # always given
SIZES |= {"num_topics": (1, 4), "vocabulary": (2, 9)}
INSTALLED_APART = {"reuters", "sp500", "randhie", "fair"}  # data of packages that the tests do not ask for
DIVERGES = {("svi", "stochastic_volatility")}  # it leaves the numbers there are, as a sentence says
STEPS = 40  # about so many iterations at most in a drawn recipe


def values_of(spec) -> st.SearchStrategy:
    """Values that the knob or option takes, small enough for a test."""
    if spec.choices:
        return st.sampled_from([choice for choice in spec.choices if choice not in INSTALLED_APART])
    if spec.kind == "flag":
        return st.booleans()
    low, high = spec.soft_bounds if spec.soft_bounds and spec.soft_bounds[0] is not None else spec.bounds
    if spec.kind == "whole":
        return st.integers(spec.bounds[0], max(spec.bounds[0], min(high, LARGEST)))
    if spec.log:
        return st.floats(math.log(low), math.log(high)).map(lambda x: min(max(math.exp(x), low), high))
    edges = [end for end, inside in zip(spec.bounds, spec.inclusive, strict=True) if not inside]
    return st.floats(low, high).filter(lambda value: value not in edges)


@st.composite
def knob_values(draw, table, fewest=0):
    """Some of the knobs of a table {name: spec} with values of theirs."""
    names = [name for name in table if draw(st.booleans())]
    if len(names) < fewest:
        names = list(table)[:fewest]
    return {name: draw(values_of(table[name])) for name in names}


def small_knobs(method, num_data: int, **values) -> dict:
    """Few particles and small batches, where the method has them; then `values`. A batch is at most the data."""
    table = method.Knobs.specs()
    knobs = {**{k: v for k, v in {"num_particles": 40, "batch_size": 6}.items() if k in table}, **values}
    if "batch_size" in knobs:
        knobs["batch_size"] = min(knobs["batch_size"], num_data)
    return knobs


@functools.cache
def default_target(name: str) -> Target:
    """A built-in target at its defaults, made once: some take seconds, and tests ask what each offers all the time."""
    return make_target(name)


@functools.cache
def sized_targets(*needs: str) -> list[str]:
    """The built-in targets with so many data as are asked for (`num_data`), which offer what is needed."""
    sized = (name for name, made in TARGETS.items() if "num_data" in made.Options.specs())
    return [name for name in sized if {*needs} <= default_target(name).offers]


def compiled_targets() -> list[str]:
    return [name for name in sized_targets("gradient") if default_target(name).model is not None]


def small_target(name: str, num_data: int) -> Target:
    return make_target(name, **({"num_data": num_data} if name in sized_targets() else {}))


def few_coordinates(name: str) -> dict[str, int]:
    """The option that makes a target of many coordinates a small one; {} for all others."""
    spec = TARGETS[name].Options.specs().get("dim")
    return {"dim": 8} if spec is not None and spec.default > 50 else {}


class Unmeasured(Session):
    """A session that measures no frame: for tests of what runs. Metrics took two thirds of their time."""

    def _measure(self) -> None:
        pass


def advanced(method: str, steps: int = 10**6, target="gaussian", options=None, seed: int = 0, **parts) -> Session:
    """A session after so many steps, without a budget but one that is given, and unmeasured."""
    recipe = Recipe(target, method, **{"target_options": options or {}, "seed": seed, "budget": None, **parts})
    session = Unmeasured(recipe)
    session.advance(steps)
    return session


def told(info) -> tuple:
    """What a step tells of itself, to be compared: its terms, paths and parents by their bytes."""
    terms = {name: np.asarray(term).tobytes() for name, term in info.terms.items()}
    paths = {name: np.asarray(path).tobytes() for name, path in info.paths().items()}
    return tuple(info._replace(terms=terms, paths=paths, parents=np.asarray(info.parents).tobytes()))


def fitting(target: Target) -> list[str]:
    return sorted(name for name, method in METHODS.items() if not method.missing_in(target))


@st.composite
def recipes(draw, targets=()):
    """A small recipe over these or all targets, every option, method and knob; what does not fit is not drawn."""
    target = draw(st.sampled_from(sorted(targets or TARGETS)))
    method = draw(st.sampled_from(fitting(default_target(target))))
    specs = TARGETS[target].Options.specs()
    sizes = {
        name: draw(st.integers(max(low, specs[name].bounds[0]), high))
        for name, (low, high) in SIZES.items()
        if name in specs
    }
    options = {**sizes, **draw(knob_values(drop(specs, sizes)))}
    if options.get("data") == "digits":
        options["num_data"] += options.get("dim", 0)  # at least as many rows as components
    num_data = options.get("num_data", 1)
    table = METHODS[method].Knobs.specs()
    sizes = {"num_particles": draw(st.integers(1, LARGEST))} if "num_particles" in table else {}
    knobs = small_knobs(METHODS[method], num_data, **sizes, **draw(knob_values(drop(table, sizes))))
    if knobs.get("warm_start"):
        knobs["batches"] = "epochs"
    rows = knobs.get("batch_size", num_data)
    budget = draw(st.integers(1, min(1500, STEPS * rows)))
    seed = draw(st.integers(0, 2**53 - 1))
    try:
        return Recipe(target, method, target_options=options, seed=seed, budget=budget, **knobs)
    except InputError:  # such as the gradient of a target that has none
        reject()


def drop(table: dict, names) -> dict:
    return {name: spec for name, spec in table.items() if name not in names}


def changes_of(recipe: Recipe) -> st.SearchStrategy:
    """Settings {knob: value} to try on a session of the recipe; some may be refused."""
    return knob_values(METHODS[recipe.method].Knobs.specs(), fewest=1)


def drive(session: Session, chunk: int = 10**6) -> str:
    """Advance to the end, `chunk` iterations at a time; the words of the target's failure if it fails, else ""."""
    try:
        while not session.done:
            session.advance(chunk)
    except TargetError as error:
        return str(error)
    return ""


def turn(session: Session, values: dict) -> bool:
    try:
        session.set(**values)
    except InputError:
        return False
    return True


def columns(history) -> dict[str, bytes]:
    """Bytes of the history's columns, all but the time that the steps took."""
    given = history if isinstance(history, dict) else history.columns
    return {name: column.tobytes() for name, column in given.items() if name != "seconds"}


def digest(session: Session) -> dict:
    """Everything about a session that must be the same when its recipe is run again."""
    frame = session.frame
    return {
        "iteration": frame.iteration,
        "visited": frame.visited,
        "particles": frame.particles.tobytes(),
        "weights": frame.weights.tobytes(),
        "kernel": [np.ascontiguousarray(getattr(q, "choleskys", 0)).tobytes() for q in frame.densities.values()],
        "judged by": frame.judged_by,
        "knobs": frame.knobs.as_dict(),
        **columns(session.history),
    }


def straight(recipe: Recipe, failure: str = "", **rest) -> dict:
    session = Session(Recipe.from_json(recipe.to_json()), **rest)
    assert drive(session) == failure
    return digest(session)


PASSED_ON = "sample_prior log_prior grad_log_prior conditionals extended conditional_density make_reference"


class CountingTarget(Target):
    """Another target that counts what a method asks of it. It has no name: it enters no table.

    `rows` of data passed to the likelihood, to its gradient or to a Gibbs sweep, call by call; pairs of a theta and a
    datum, by what was asked (`pairs` of the likelihood or the conditionals, `gradient_pairs`); `calls`: the batches.
    """

    def __init__(self, inner: Target) -> None:
        self.__dict__.update(inner.__dict__)
        self.inner, self.rows, self.pairs, self.gradient_pairs, self.calls = inner, 0, 0, 0, []
        self.asked, self.at_hand = None, False
        self.declared, self.data = inner.declared, inner.data
        for name in PASSED_ON.split():
            setattr(self, name, getattr(inner, name))

    def build(self) -> None: ...

    def _counted(self, batch) -> int:
        self.rows += len(batch)
        self.calls.append(np.array(batch))
        return len(batch)

    def log_likelihood(self, theta, batch):
        rows = len(batch) if self.at_hand else self._counted(batch)
        self.pairs, self.at_hand = self.pairs + rows * len(self._points(theta)), False
        return self.inner.log_likelihood(theta, batch)

    def block_gradient(self, block, own, others, closed):
        """All data, visited once by all blocks, and by a likelihood that is asked for after them."""
        first = next(each for each in self.inner.blocks if not each.closed).coordinates[0]
        rows = self._counted(self.data_rows) if first in block.coordinates else self.num_data
        self.gradient_pairs, self.at_hand = self.gradient_pairs + rows * len(own) * len(others), True
        return self.inner.block_gradient(block, own, others, closed)

    def grad_log_joint(self, theta, batch=None):
        self.gradient_pairs += self._counted(self.data_rows if batch is None else batch) * len(self._points(theta))
        return self.inner.grad_log_joint(theta, batch)

    def grad_straight_through(self, states, batch=None):
        self.gradient_pairs += self._counted(self.data_rows if batch is None else batch) * len(self._points(states))
        return self.inner.grad_straight_through(states, batch)

    def weight_gradient(self, weights, batch, precision):
        if batch is not self.asked:  # twice of a batch in a step
            self.rows += len(batch)
            self.calls.append(np.array(batch))
        self.asked = batch
        self.gradient_pairs += len(batch) * len(weights)
        return self.inner.weight_gradient(weights, batch, precision)

    def log_relaxed(self, points, batch=None):
        rows = self.data_rows if batch is None else batch
        self.pairs += len(rows) * len(points)  # rows are visited once, whatever is asked of them
        return self.inner.log_relaxed(points, batch)

    def grad_log_relaxed(self, points, batch=None):
        self.gradient_pairs += len(self.data_rows if batch is None else batch) * len(points)
        return self.inner.grad_log_relaxed(points, batch)

    def gibbs_sweep(self, rng, theta, data):
        self.pairs += self._counted(data)
        return self.inner.gibbs_sweep(rng, theta, data)

    def tilted(self, rng, given, batch, kept, power):
        self.pairs += self._counted(batch) * len(given.particles)
        return self.inner.tilted(rng, given, batch, kept, power)

    def bounded(self, given, batch, kept, power):
        self.pairs += self._counted(batch) * len(given.particles)
        return self.inner.bounded(given, batch, kept, power)

    def documents(self, batch, points=1):
        self.pairs += self._counted(batch) * points
        return self.inner.documents(batch, points)

    def quadratic_bound(self, mean, cholesky, batch):
        self.pairs += self._counted(batch)
        return self.inner.quadratic_bound(mean, cholesky, batch)

    def __getattr__(self, name):
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)


class NormalTarget:
    """Only what `picture` and the floor need: an exact Gaussian in a box."""

    def __init__(self, mean, cov, box) -> None:
        self.exact, self.view_box, self.dim = GaussianExact(np.array(mean), np.array(cov)), box, len(mean)
        self.scale = np.sqrt(np.diag(self.exact.cov))


def errors_from(values, expected) -> float:
    """How many standard errors the mean of `values` lies from `expected`."""
    values = np.asarray(values, dtype=float)
    return float((values.mean() - expected) / (values.std(ddof=1) / np.sqrt(len(values))))


def frame_of(target: str, method: str, steps: int, **parts: Any) -> Frame:
    """After so many steps of a method; `parts` are options of the target where it has such, else knobs."""
    options = {name: value for name, value in parts.items() if name in TARGETS[target].Options.specs()}
    knobs = {name: value for name, value in parts.items() if name not in options}
    return advanced(method, steps, target, options, **knobs).frame


def short_chains(monkeypatch: Any) -> None:
    """The reference draws of a hidden path come from few sweeps: for tests that compare with these draws alone."""
    for name in ("DRAWS", "BURN_IN", "SWEEPS"):
        monkeypatch.setattr(stochastic_volatility, name, 100)
