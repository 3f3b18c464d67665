"""What a preset promises, as bounds on a few numbers of its run, and the hints that it gives, each with its own.

`check` is about the preset as it starts; the `expect` of a hint is about the run with the knobs that the hint changes.
Tests try both on several seeds, so that a question or a hint that is false is found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.run import Run
from pmdviz.engine.session import Session
from pmdviz.errors import unknown
from pmdviz.metrics.modes import modes

CAVEAT = "caveat"
NEVER = 10**9
ROUNDING = 1e-9


@dataclass(frozen=True)
class Hint:
    """Something to try: the words, what is changed, when, and what then holds.

    `knobs` are set after the fraction `after` of the budget: 0 before the start, 1 while the run stands at its end.
    `options` are the target's, which a run has from its start on. A hint without a change says what to look at in the
    preset's own run.
    """

    say: str
    knobs: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    budget: int | None = None
    after: float = 0.0
    expect: Mapping[str, Any] = field(default_factory=dict)


def _lightest(run: Run) -> float | None:
    """The mass that q has in the mode where it has least."""
    found = modes(run.target)
    return None if found is None else min(found.masses_of(run.final.density))


def _log_z_above_error(run: Run) -> float | None:
    """Of the bound from above, once the way back has begun."""
    above = run.final.metrics["log_z_above"]
    return None if above is None else above - run.final.metrics["log_z_exact"]


def _mean_square_ratio(run: Run) -> float | None:
    """m times the mean over coordinates of (mean - exact mean)^2 / exact variance: 1 for independent exact draws."""
    frame, reference = run.final, run.target.reference()
    if reference is None:
        return None
    off = (frame.density.mean - reference.mean) ** 2 / reference.cov.diagonal()
    return float(len(frame.particles) * off.mean())


MEASURES: dict[str, Callable[[Run], float | None]] = {
    "tv": lambda run: run.final.metrics["tv"],
    "tv_states": lambda run: run.final.metrics["tv_states"],
    "kl_forward": lambda run: run.final.metrics["kl_forward"],
    "kl_reverse": lambda run: run.final.metrics["kl_reverse"],
    "first_mean": lambda run: float(run.final.density.mean[0]),
    "accuracy": lambda run: run.final.metrics["accuracy"],
    "single_accuracy": lambda run: run.final.metrics["single_accuracy"],
    "log_loss": lambda run: run.final.metrics["log_loss"],
    "mean_error": lambda run: run.final.metrics["mean_error"],
    "mean_square_ratio": _mean_square_ratio,
    "ess_of_ratios": lambda run: run.final.info.scalars["ess_of_ratios"],
    "perplexity": lambda run: run.final.metrics["perplexity"],
    "ess": lambda run: run.final.metrics["ess"],
    "ess_fraction": lambda run: run.final.metrics["ess"] / len(run.final.particles),
    "lightest_mode": _lightest,
    "sd_ratio_min": lambda run: run.final.metrics["sd_ratio_min"],
    "sd_ratio_max": lambda run: run.final.metrics["sd_ratio_max"],
    "rhat": lambda run: run.final.metrics["rhat"],
    "bulk_ess": lambda run: run.final.metrics["bulk_ess"],
    "acceptance": lambda run: run.final.info.scalars["acceptance"],
    "log_z_error": lambda run: run.final.metrics["log_z_error"],
    "log_z_above_error": _log_z_above_error,
    "process_error": lambda run: run.final.metrics["process_error"],
    "tv_rise": lambda run: run.history["tv"][-1] - run.history["tv"].min(),
    "limited_steps": lambda run: run.final.limited_steps,
    "rejuvenations": lambda run: run.final.rejuvenations,
}
RATIOS = {"tv_ratio": "tv", "kl_ratio": "kl_forward", "ess_ratio": "ess"}  # of the hint's run over the preset's own


def run_of(recipe: Recipe, hint: Hint | None = None, metrics_every: int = NEVER) -> Run:
    """The run of a preset's recipe, or of one of its hints, to the end of its budget."""
    if hint is None:
        return _finished(Session(recipe, metrics_every))
    if hint.budget is not None:
        recipe = recipe.replaced(budget=hint.budget)
    if hint.options:
        recipe = recipe.replaced(target_options={**recipe.target_options, **hint.options})
    session = Session(recipe, metrics_every)
    if hint.after == 0 and hint.knobs:
        session.set(**hint.knobs)  # nothing has run: they become the recipe's own
        return _finished(Session(session.recipe, metrics_every))
    while not session.done and session.frame.spent < hint.after * recipe.budget:
        session.advance(1)
    if hint.knobs:
        session.set(**hint.knobs)
    return _finished(session)


def failures(expected: Mapping[str, Any], run: Run, own: Run | None = None) -> list[str]:
    """Which expectations do not hold, in words; [] for none.

    An expectation is name: [low, high] with a name of MEASURES, or of RATIOS where `own` is the preset's own run, or
    `caveat`: a text that the caveat has in it, "" for no caveat. Raises InputError for an unknown name.
    """
    found = []
    for name, wanted in expected.items():
        if name == CAVEAT:
            caveat = run.final.caveat
            if not (wanted in caveat if wanted else not caveat):
                found.append(f"caveat {caveat!r}, not {wanted!r}")
            continue
        value = _value(name, run, own)
        if value is None or not wanted[0] - ROUNDING <= value <= wanted[1] + ROUNDING:
            found.append(f"{name} = {value}, not in {wanted}")
    return found


def needs_history(expected: Mapping[str, Any]) -> bool:
    """Whether it is about more than the last frame."""
    return "tv_rise" in expected


def _value(name: str, run: Run, own: Run | None) -> float | None:
    if name in RATIOS and own is not None:
        measure = MEASURES[RATIOS[name]]
        return float(measure(run)) / float(measure(own))  # type: ignore[arg-type]
    if name not in MEASURES:
        raise unknown("measure", name, (*MEASURES, *RATIOS, CAVEAT))
    return MEASURES[name](run)


def _finished(session: Session) -> Run:
    while not session.done:
        session.advance(NEVER)
    return session.run
