"""What the expressions of presets and lessons can ask of a run, and what a diagnosis says of it.

Names are those of MEASURES, metrics, knobs, and the columns of the run's history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from pmdviz.densities.chains import rhat
from pmdviz.engine.run import Run
from pmdviz.errors import InputError, unknown
from pmdviz.expressions import Scope
from pmdviz.metrics import METRICS
from pmdviz.metrics.modes import modes
from pmdviz.presets.models import Sentence, Test, listed


def _lightest(run: Run) -> tuple[float, float] | None:
    """The mass that q has in the mode where it has least, and the exact mass of that mode."""
    found = modes(run.target)
    if found is None:
        return None
    return min(zip(found.masses_of(run.final.density), map(float, found.masses), strict=True))


def _of_lightest(which: int) -> Callable[[Run], float | None]:
    def measured(run: Run) -> float | None:
        both = _lightest(run)
        return None if both is None else both[which]

    return measured


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


def _radius(run: Run) -> float:
    """Mean distance of the draws, or particles, from the origin, in units of theta."""
    return float(run.final.weights @ np.linalg.norm(run.final.particles, axis=1))


def _draws_sd(run: Run) -> float:
    """Sd of the first coordinate of the draws, or particles, themselves: without the kernels of q."""
    weights, first = run.final.weights, run.final.particles[:, 0]
    return float(np.sqrt(weights @ (first - weights @ first) ** 2))


def _rhat_log_p(run: Run) -> float | None:
    """R-hat of the chains' log joint densities, which no relabelling of parameters changes."""
    if run.final.method.family != "chain":
        return None
    chains = run.final.chains
    return rhat(run.target.log_joint(chains.reshape(-1, chains.shape[-1])).reshape(chains.shape[:2]))


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
    "radius": _radius,
    "rhat_log_p": _rhat_log_p,
    "mean_square_ratio": _mean_square_ratio,
    "ess_fraction": _ess_fraction,
    "lightest_mode": _of_lightest(0),
    "lightest_mode_exact": _of_lightest(1),
    "log_z_above_error": _log_z_above_error,
}
FLOOR = "floor_"  # how the names begin of what as many independent draws would get
CONSTANTS = ("budget", "num_data", "dim", "seed")  # of MEASURES, those that say nothing of a moment
RATIOS = {"tv_ratio": "tv", "kl_ratio": "kl_forward", "ess_ratio": "ess"}  # of the hint's run over the preset's own


class RunScope:
    """A run as an expression sees it.

    Measures and metrics of its last frame, columns of its history (of two with one name what is now comes before what
    was set), knobs in force and options of the target.
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


# What expressions can ask of the runs of a race, and where nothing is on show.


class RaceScope:
    """The runs of a race as an expression sees them: `plain.tv` is the TV at the end of the entrant `plain`.

    Parameters
    ----------
    runs : mapping
        Name of an entrant in the lesson's file -> its run.
    """

    def __init__(self, runs: Mapping[str, Run]) -> None:
        self._scopes = {name: RunScope(run) for name, run in runs.items()}

    def value(self, name: str) -> Any:
        """The value at the end of an entrant's run. Raises InputError for an unknown name."""
        entrant, dot, measure = name.partition(".")
        if entrant not in self._scopes:
            raise unknown("entrant of this race", entrant, self._scopes)
        if not dot:
            raise InputError(f"of entrant {entrant!r} a name must be asked for, such as {entrant}.tv")
        return self._scopes[entrant].value(measure)

    def rows(self) -> Iterable[Mapping[str, float]]:
        """Raises InputError: the entrants have measured frames of their own, which do not go together."""
        raise InputError("of a race the ends alone are compared: lowest, ever, when and the like are about one run")

    def constant(self, name: str) -> bool:
        """No: of the entrants' histories nothing is known here."""
        return False


class NoScope:
    """Where no run is on show: an expression may have numbers alone."""

    def value(self, name: str) -> Any:
        """Raises InputError: there is no run."""
        raise InputError(f"no run is on show here that has {name!r}")

    def rows(self) -> Iterable[Mapping[str, float]]:
        """None."""
        return ()

    def constant(self, name: str) -> bool:
        """No: there is no name."""
        return False


def scope_of(shown: Run | Mapping[str, Run] | None) -> Scope:
    """The scope of what is on show: a run, the runs of a race by entrant, or None."""
    if shown is None:
        return NoScope()
    return RunScope(shown) if isinstance(shown, Run) else RaceScope(shown)


# A sentence on what went on in a run, computed from it: the first of several that is true of the run.


@dataclass(frozen=True)
class Diagnosis:
    """A sentence with numbers of the run, and when it is true.

    Attributes
    ----------
    when : Expression
        What the sentence claims; it is said of no run of which this does not hold.
    say : Template
    """

    when: Test
    say: Sentence

    @property
    def names(self) -> frozenset[str]:
        """The names that it asks for."""
        return self.when.names | self.say.names

    @property
    def over_history(self) -> bool:
        """Whether it is about more than the last frame."""
        return self.when.over_history or self.say.over_history


Diagnoses = Annotated[tuple[Diagnosis, ...], listed(Diagnosis, "a diagnosis")]


def diagnose(diagnoses: Iterable[Diagnosis], scope: Scope) -> str:
    """The sentence of the first that is true of the run; "" where none is. Raises InputError for an unknown name."""
    return next((each.say.words(scope) for each in diagnoses if each.when.holds(scope)), "")


def contradictions(diagnoses: Sequence[Diagnosis], scope: Scope) -> list[str]:
    """Why none of them is true of the run, one sentence each; [] where one is, or where there are none."""
    if not diagnoses or any(each.when.holds(scope) for each in diagnoses):
        return []
    return [f"the diagnosis {each.say.text!r} contradicts the run: {each.when.why(scope)}" for each in diagnoses]
