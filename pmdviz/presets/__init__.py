"""Presets: good starting points as data. One YAML file each; a file put here appears in the menu by itself.

`check` says what its run shows, `diagnosis` why, with the numbers of the run, and each of its `hints` what to try and
what then comes out; all are tried on several seeds by a test. docs/reference/lesson-and-preset-files.md describes the
files. Those of experiments are in `experiments/`: their `check` is about the experiment's summary; a test runs each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache, cached_property, partial
from importlib import resources
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, get_type_hints

import numpy as np
import yaml

from pmdviz.densities.chains import rhat
from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import USUAL_METHOD, USUAL_TARGET, Recipe
from pmdviz.engine.run import Run
from pmdviz.errors import InputError, check_known, entry, shown, unknown
from pmdviz.expressions import Expression, Scope, Template
from pmdviz.files import Json
from pmdviz.knobs import real_number, whole_number
from pmdviz.metrics import METRICS
from pmdviz.metrics.divergences import modes

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# What the expressions of presets and lessons can ask of a run, and what a diagnosis says of it.
#
# Names are the names of MEASURES, metrics, knobs, and the columns of the run's history.


# Data files as typed models: a frozen dataclass declares the keys of a block, each with the kind of its value.

Block = Mapping[str, Any]
Reader = Callable[[Any, str, str], Any]  # what a value becomes, given its key and of what it is
Model = TypeVar("Model", bound="DataclassInstance")
SAFE = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where PyYAML has it: eight times as fast


def read(model: type[Model], block: Any, what: str, **given: Any) -> Model:
    """The model of a block that is called `what`; no key may name the `given` fields. Raises InputError."""
    if not isinstance(block, Mapping):
        raise InputError(f"{what} must be names and values; got {shown(block)}")
    keys = {each.metadata.get("key", each.name): each for each in fields(model) if each.name not in given}
    check_known(f"key of {what}", block, keys)
    readers = _readers(model)
    asked = {key: each.name for key, each in keys.items() if key in block or _is_needed(each)}
    return model(**{name: readers[name](block.get(key), key, what) for key, name in asked.items()}, **given)


@cache
def _readers(model: type) -> dict[str, Reader]:
    hints = get_type_hints(model, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}


def _is_needed(each: Field) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


class Kind(NamedTuple):
    """The reader of one kind of value: its name in an error, what fits it, and what such a value becomes."""

    words: str
    fits: Callable[[Any], Any]
    made: Callable[[Any], Any] = lambda value: value  # raises InputError for one that fits, and means nothing

    def __call__(self, value: Json, key: str, what: str) -> Any:
        """What the value of a key becomes; None is one that is not there. Raises InputError."""
        if not self.fits(value):
            given = f"{what} needs `{key}`" if value is None else f"got {shown(value)}"
            raise InputError(f"`{key}` of {what} must be {self.words}; {given}")
        try:
            return self.made(value)
        except InputError as error:
            raise InputError(f"`{key}` of {what}: {error}") from None


def listed(model: type, one: str) -> Reader:
    """The reader of a list of models, each of which is called `one`."""
    needed = [each.name for each in fields(model) if _is_needed(each)]
    words = f"a list of entries with {' and '.join(f'`{name}`' for name in needed)}"
    entries = Kind(words, lambda value: _all_are(Mapping, value) and all({*needed} <= {*each} for each in value))
    return lambda value, key, what: tuple(read(model, each, f"{one} of {what}") for each in entries(value, key, what))


def _all_are(kind: type, value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)


def _is_said(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_real(value: Any) -> bool:
    return (number := real_number(value)) is not None and number >= 0


def _may_be_asked(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


A_TEXT = "a text that is not empty, if need be in quotes"
AN_EXPRESSION = "an expression about the run, such as tv < 0.2 (an expression is a text)"
texts = Kind("a list of texts", partial(_all_are, str), tuple)
names = Kind("names and values", lambda value: isinstance(value, Mapping) and _all_are(str, [*value]))
expression = Kind(AN_EXPRESSION, _may_be_asked, lambda value: Expression(str(value)))
whole = Kind("a whole number above 0", lambda value: (whole_number(value) or 0) > 0, whole_number)
Text = Annotated[str, Kind(A_TEXT, _is_said, str.strip)]
Words = Annotated[str, Kind("a text, if need be in quotes", lambda value: isinstance(value, str), str.strip)]
Texts = Annotated[tuple[str, ...], texts]
Names = Annotated[Block, names]
Flag = Annotated[bool, Kind("true or false", lambda value: isinstance(value, bool))]
Whole = Annotated[int, whole]
Real = Annotated[float, Kind("a number of at least 0", _is_real, real_number)]
Test = Annotated[Expression, expression]
MaybeWhole = Annotated[int | None, whole]
MaybeTest = Annotated[Expression | None, expression]
Sentence = Annotated[Template, Kind(A_TEXT, _is_said, lambda value: Template(value.strip()))]


def lightest_mode(frame: Frame) -> tuple[float | None, float | None]:
    """The mass that q has in the mode where it has least, and the exact mass of that mode; None without modes."""
    if (found := modes(frame.target)) is None:
        return None, None
    return min(zip(found.masses_of(frame.density), map(float, found.masses), strict=True))


def _first_sd(run: Run) -> float | None:
    cov = getattr(run.final.density, "cov", None)  # q on a simplex has none
    return None if cov is None else float(np.sqrt(np.diag(cov)[0]))


def _ess_fraction(run: Run) -> float | None:
    ess = run.final.metrics["ess"]  # of a chain there is none
    return None if ess is None else ess / len(run.final.particles)


def _log_z_above_error(run: Run) -> float | None:
    """Of the bound from above, once the way back has begun."""
    above, exact = run.final.metrics["log_z_above"], run.final.metrics["log_z_exact"]
    return None if above is None or exact is None else above - exact


def _mean_square_ratio(run: Run) -> float | None:
    """m times the mean over coordinates of (mean - exact mean)^2 / exact variance: 1 for independent exact draws."""
    frame, reference = run.final, run.target.reference()
    if reference is None:
        return None
    off = (frame.density.mean - reference.mean) ** 2 / reference.cov.diagonal()
    return float(len(frame.particles) * off.mean())


def _draws_sd(run: Run) -> float:
    """Sd of the first coordinate of the draws, or particles, themselves: without the kernels of q."""
    weights, first = run.final.weights, run.final.particles[:, 0]
    return float(np.sqrt(weights @ (first - weights @ first) ** 2))


def _rhat_of(log_density: str) -> Callable[[Run], float | None]:
    """R-hat of a log density of the chains' draws; the log likelihood of a mixture is the same under all labellings."""

    def measured(run: Run) -> float | None:
        if run.final.method.family != "chain":
            return None
        chains, value = run.final.chains, getattr(run.target, log_density)
        return rhat(value(chains.reshape(-1, chains.shape[-1]), run.target.data_rows).reshape(chains.shape[:2]))

    return measured


MEASURES: dict[str, Callable[[Run], Any]] = {  # besides metrics, knobs and columns of the history
    "caveat": lambda run: run.final.caveat,
    "budget": lambda run: run.recipe.budget,
    "spent": lambda run: run.final.spent,
    "num_data": lambda run: run.final.num_data,
    "dim": lambda run: run.target.dim,
    "seed": lambda run: run.recipe.seed,
    "max_weight": lambda run: float(run.final.weights.max()),
    "first_mean": lambda run: float(run.final.density.mean[0]),
    "first_sd": _first_sd,
    "draws_sd": _draws_sd,
    # Mean distance of the draws, or particles, from the origin, in units of theta.
    "radius": lambda run: float(run.final.weights @ np.linalg.norm(run.final.particles, axis=1)),
    "rhat_log_p": _rhat_of("log_joint"),
    "rhat_log_likelihood": _rhat_of("log_likelihood"),
    "mean_square_ratio": _mean_square_ratio,
    "ess_fraction": _ess_fraction,
    "lightest_mode": lambda run: lightest_mode(run.final)[0],
    "lightest_mode_exact": lambda run: lightest_mode(run.final)[1],
    "log_z_above_error": _log_z_above_error,
}
FLOOR = "floor_"  # how the names begin of what as many independent draws would get
CONSTANTS = ("budget", "num_data", "dim", "seed")  # of MEASURES, those that say nothing of a moment
RATIOS = {"tv_ratio": "tv", "kl_ratio": "kl_forward", "ess_ratio": "ess"}  # of the hint's run over the preset's own


class RunScope:
    """A run as an expression sees it.

    Measures and metrics of its last frame, columns of its history (of two with one name the present value comes
    before the setting), knobs in force and options of the target.
    """

    def __init__(self, run: Run, own: Run | None = None) -> None:
        self._run, self._own = run, own  # `own`: the run that RATIOS compare it with

    def value(self, name: str) -> Any:
        """The value at the end of the run; None where it has none. Raises InputError for an unknown name."""
        if name in RATIOS and self._own is not None:
            mine, other = self.value(RATIOS[name]), RunScope(self._own).value(RATIOS[name])
            return mine / other if mine is not None and other else None
        if name in MEASURES:
            return MEASURES[name](self._run)
        if name in METRICS or name.startswith(FLOOR):
            return self._run.final.metrics.get(name) if name.startswith(FLOOR) else self._run.final.metric(name)
        if name in self._columns:
            value = self._columns[name][-1].item()
            return None if np.isnan(value) else value
        if name in self._settings:
            return self._settings[name]
        raise unknown("name in an expression", name, names_of(self._run, self._own is not None))

    def rows(self) -> Iterable[Mapping[str, float]]:
        """The measured frames, the last one included."""
        return self._rows

    @cached_property
    def _rows(self) -> list[dict[str, float]]:
        names = [*self._columns]
        return [dict(zip(names, row, strict=True)) for row in zip(*self._columns.values(), strict=True)]

    def constant(self, name: str) -> bool:
        """Whether it is the same in the whole run; a knob that was turned has its present value, and so has a floor."""
        return name in CONSTANTS or name in self._settings or name.startswith(FLOOR)

    @cached_property
    def _settings(self) -> Mapping[str, Any]:
        """Knobs in force, and options of a built-in target."""
        return {**self._run.recipe.target_options, **self._run.final.knobs.as_dict()}

    @cached_property
    def _columns(self) -> dict[str, np.ndarray]:
        return self._run.history


def names_of(run: Run, ratios: bool = False) -> list[str]:
    """All that an expression about a run may name."""
    settings = (*run.recipe.target_options, *run.final.knobs.specs())
    return sorted({*MEASURES, *METRICS, *run.history, *settings, *(RATIOS if ratios else ())})


class RaceScope:
    """The runs of a race as an expression sees them: `plain.tv` is the TV at the end of the entrant `plain`.

    Parameters
    ----------
    runs : mapping
        Name of an entrant in the lesson's file -> its run; empty where no run is on show: only numbers are known.
    """

    def __init__(self, runs: Mapping[str, Run]) -> None:
        self._scopes = {name: RunScope(run) for name, run in runs.items()}

    def value(self, name: str) -> Any:
        """The value at the end of an entrant's run. Raises InputError for an unknown name."""
        if not self._scopes:
            raise InputError(f"no run is on show here that has {name!r}")
        entrant, dot, measure = name.partition(".")
        scope = entry("entrant of this race", entrant, self._scopes)
        if not dot:
            raise InputError(f"{entrant!r} is an entrant, not a number: give one of its metrics, such as {entrant}.tv")
        return scope.value(measure)

    def rows(self) -> Iterable[Mapping[str, float]]:
        """Raises InputError: the entrants have measured frames of their own, which do not go together."""
        if not self._scopes:
            return ()
        cure = "use lowest, ever, when and the like in a step with one run"
        raise InputError(f"a race compares only final values: {cure}")

    def constant(self, name: str) -> bool:
        """No: of the entrants' histories nothing is known here."""
        return False


def scope_of(shown: Run | Mapping[str, Run] | None) -> Scope:
    """The scope on show: a run, the runs of a race by entrant, or None."""
    return RunScope(shown) if isinstance(shown, Run) else RaceScope(shown or {})


# A sentence on what went on in a run, computed from it: the first of several that is true of the run.


@dataclass(frozen=True)
class Diagnosis:
    """A sentence with numbers of the run, and when it is true.

    Attributes
    ----------
    when : Expression
        What the sentence claims; it is shown only for runs of which this holds.
    say : Template
    """

    when: Test
    say: Sentence


Diagnoses = Annotated[tuple[Diagnosis, ...], listed(Diagnosis, "a diagnosis")]


def diagnose(diagnoses: Iterable[Diagnosis], scope: Scope) -> str:
    """The sentence of the first that is true of the run; "" where none is. Raises InputError for an unknown name."""
    return next((each.say.words(scope) for each in diagnoses if each.when.holds(scope)), "")


def contradictions(diagnoses: Sequence[Diagnosis], scope: Scope) -> list[str]:
    """Why none of them is true of the run, one sentence each; [] where one is, or where there are none."""
    if not diagnoses or any(each.when.holds(scope) for each in diagnoses):
        return []
    return [f"the diagnosis {each.say.text!r} contradicts the run: {each.when.why(scope)}" for each in diagnoses]


@dataclass(frozen=True)
class Hint:
    """Something to try: the words, the changed settings, when, and what then holds.

    `knobs` are set after the fraction `after` of the budget: 0 before the start, 1 while the run is at its end.
    `options` are the target's, which a run has from its start on. A hint without a change says what the preset's own
    run shows. `expect` is about the run with the changes.
    """

    say: Text
    knobs: Names = field(default_factory=dict)
    options: Names = field(default_factory=dict)
    budget: MaybeWhole = None
    after: Real = 0.0
    expect: MaybeTest = None

    @property
    def changes(self) -> bool:
        """Whether something is changed."""
        return bool(self.knobs or self.options) or self.budget is not None


@dataclass(frozen=True)
class Preset:
    """A recipe with a title, the question it asks, and what its run shows.

    Attributes
    ----------
    name, title, question : str
    watch : str
        What to look at, in a sentence.
    trace : str
        Key of the traces that show it.
    check : Expression
        What holds of its run.
    diagnosis : tuple of Diagnosis
        The first is about the question, and true of its own run; the others of what the hints make of it.
    hints : tuple of Hint
    parts : mapping
        Of its recipe, in the form of a file.
    position : int
        In the menu: the lowest comes first.
    needs : str
        A module without which it is left out; "" for none.
    """

    name: str
    title: Text
    question: Text
    watch: Text
    trace: Text
    check: Test
    diagnosis: Diagnoses
    hints: Annotated[tuple[Hint, ...], listed(Hint, "a hint")]
    parts: Names = field(metadata={"key": "recipe"})
    position: Whole
    needs: Text = ""

    @cached_property
    def recipe(self) -> Recipe:
        """Made when it is first asked for: that makes its target, and all of them would take a page seconds."""
        return Recipe.from_dict(self.parts)

    def may_be(self, recipe: Recipe) -> bool:
        """Whether a recipe has the same target and method."""
        of_both = self.parts.get("target", USUAL_TARGET), self.parts.get("method", USUAL_METHOD)
        return (recipe.target, recipe.method) == of_both

    @property
    def try_this(self) -> str:
        """The words of the hints, one after the other."""
        return " ".join(hint.say for hint in self.hints)


@dataclass(frozen=True)
class Expectation:
    """What holds for some entries of a summary, at least one.

    Attributes
    ----------
    expect : mapping
        Column -> [low, high], or the very value.
    where : mapping
        Column -> value: the entries that it is about; {}: all of them.
    """

    expect: Names
    where: Names = field(default_factory=dict)

    def failures(self, summary: Sequence[Mapping[str, Any]]) -> list[str]:
        """Which bounds do not hold, in words; [] for none."""
        own = [entry for entry in summary if all(entry.get(name) == value for name, value in self.where.items())]
        if not own:
            return [f"no entry has {dict(self.where)}"]
        return [
            f"{name} = {entry.get(name)}, not in {wanted} (where {dict(self.where) or 'all'})"
            for entry in own
            for name, wanted in self.expect.items()
            if not _holds(entry.get(name), wanted)
        ]


@dataclass(frozen=True)
class ExperimentPreset:
    """An experiment and its knobs, with a title, the question that they answer, and the expected outcome.

    Attributes
    ----------
    name, title, question, experiment : str
    check : tuple of Expectation
    knobs : mapping
        Those that differ from their defaults.
    """

    name: str
    title: Text
    question: Text
    experiment: Text
    check: Annotated[tuple[Expectation, ...], listed(Expectation, "an expectation")]
    knobs: Names = field(default_factory=dict)

    def failures(self, summary: Sequence[Mapping[str, Any]]) -> list[str]:
        """What a summary does not show of that which it should, in words; [] for nothing."""
        return [words for each in self.check for words in each.failures(summary)]


def _holds(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, list):
        return bool(value == wanted)
    low, high = wanted
    return isinstance(value, (int, float)) and low <= value <= high


def find_preset(name: str) -> Preset:
    """The preset of that name. Raises InputError."""
    return entry("preset", name, PRESETS)


def find_experiment_preset(name: str) -> ExperimentPreset:
    """The preset of that name. Raises InputError."""
    return entry("preset of an experiment", name, EXPERIMENT_PRESETS)


def _files(folder: str = "") -> dict[str, Any]:
    """Name -> plain values of the files in a folder, by name."""
    found = resources.files(__name__) / folder
    files = {file.name.removesuffix(".yaml"): file for file in found.iterdir() if file.name.endswith(".yaml")}
    return {name: yaml.load(files[name].read_text(encoding="utf-8"), SAFE) for name in sorted(files)}  # noqa: S506


def _loaded() -> dict[str, Preset]:
    presets = [read(Preset, parts, f"preset {name!r}", name=name) for name, parts in _files().items()]
    there = [preset for preset in presets if not preset.needs or find_spec(preset.needs)]
    return {preset.name: preset for preset in sorted(there, key=lambda preset: preset.position)}


PRESETS = _loaded()  # by name, in the order in which they are shown; the first is the default
EXPERIMENT_PRESETS = {
    name: read(ExperimentPreset, parts, f"preset {name!r}", name=name) for name, parts in _files("experiments").items()
}
