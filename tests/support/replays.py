"""Runs whose bits are known: recipes over all methods, targets, choices of knobs, and changes on the way.

`python -m tests.support.replays` records those that are not in the file yet; each knows what it was recorded with.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from unittest import mock

import llvmlite.binding
import numba
import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS
from pmdviz.targets import TARGETS
from tests.support.engine import DIVERGES, default_target

FILE = Path(__file__).parents[1] / "fixtures" / "replays.json"
SMALL = {"num_particles": 100, "batch_size": 20, "burn_in": 5, "thinning": 2, "num_components": 4}
NUM_DATA, BUDGET = 200, 3000
BEYOND, STEPS = 600, 100  # budgets beyond the plane or without data, and of a chain where there are none
# What a frame is measured by is no part of what runs: a metric may become more exact.
JUDGED = {"tv", "kl_forward", "kl_reverse", "cross_entropy", "mass_outside", "tv_kde", "tv_gaussian"}
JUDGED |= {"mean_error", "sd_ratio_min", "sd_ratio_max", "khat", "marginal_tv", "kl_moments"}
JUDGED |= {"process_error", "mmd", "sliced_w", "ksd"}
CHANGES = {
    "pmd": [[3, {"bandwidth": 0.7}], [6, {"num_particles": 160}], [9, {"bandwidth_rule": "local", "step_limit": 0.0}]],
    "smc": [[2, {"batch_size": 50}]],
    "sgld": [[20, {"a": 0.02}]],
    "svgd": [[4, {"optimiser": "adagrad"}]],
}


def small(method: str, target: str, **knobs: Any) -> dict[str, Any]:
    """The plain form of a recipe that runs for a few hundredths of a second."""
    table = METHODS[method].Knobs.specs()
    knobs = {name: value for name, value in SMALL.items() if name in table} | knobs
    if "batch_size" in knobs:
        knobs["batch_size"] = min(knobs["batch_size"], default_target(target).num_data)
    seed = sum(map(ord, method + target + json.dumps(knobs)))
    most = TARGETS[target].Options.specs().get("num_data")
    options = {"num_data": min(NUM_DATA, most.bounds[1])} if most is not None else {}
    budget = BUDGET
    if default_target(target).data is None or default_target(target).dim > 2:
        budget = STEPS if default_target(target).data is None and "num_particles" not in table else BEYOND
    recipe = Recipe(target, method, seed=seed, budget=budget, target_options=options, **knobs)
    return {**recipe.to_dict(), "made_with": {}}


def recipes() -> list[dict[str, Any]]:
    """Every method on every target that it fits, every choice of a knob on one target, and changes on the way."""
    found = []
    for name, method in METHODS.items():
        fitting = (target for target in sorted(TARGETS) if not method.missing_in(default_target(target)))
        targets = [target for target in fitting if (name, target) not in DIVERGES]
        found += [small(name, target) for target in targets]
        for knob, spec in method.Knobs.specs().items():
            others = [True, False] if spec.kind == "flag" else list(spec.choices or ())
            found += [small(name, targets[-1], **{knob: value}) for value in others if value != spec.default]
    return found + [{**small(name, "mixture"), "changes": changes} for name, changes in CHANGES.items()]


_metric = Frame.metric


def _unjudged(frame: Frame, name: str) -> float | None:
    return None if name in JUDGED else _metric(frame, name)


def ran(plain: dict[str, Any]) -> Session:
    """The session of a recipe, at its end; without the metrics that are no part of its bits, most of the time."""
    with mock.patch.object(Frame, "metric", _unjudged):
        session = Session(Recipe.from_dict(plain), metrics_every=20)
        session.advance(10**6)
    return session


def digest(session: Session, columns: list[str]) -> str:
    """Of particles, weights, and these columns of the history."""
    told, history = hashlib.sha256(), session.history.columns
    for array in (session.frame.particles, session.frame.weights, *(history[name] for name in columns)):
        told.update(np.ascontiguousarray(array).tobytes())
    return told.hexdigest()


def here() -> dict[str, str]:
    """What the last bits depend on: the processor that numba compiles for, and who does the arithmetic."""
    return {"cpu": llvmlite.binding.get_host_cpu_name(), "numba": numba.__version__, "numpy": np.__version__}


def record() -> None:
    """Add what is missing to the file."""
    runs = json.loads(FILE.read_text())["runs"]
    known = {run["link"] for run in runs}
    for plain in recipes():
        if Recipe.from_dict(plain).to_link() in known:
            continue
        session = ran(plain)
        columns = sorted({*session.history.columns} - {"seconds"} - JUDGED)
        runs.append(
            {
                "recipe": plain,
                "link": Recipe.from_dict(plain).to_link(),
                "iteration": session.frame.iteration,
                "visited": session.frame.visited,
                "columns": columns,
                "sha256": digest(session, columns),
                "made_with": here(),
            }
        )
    told = {"runs": runs}
    FILE.write_text(json.dumps(told, indent=None, separators=(",", ":")).replace('{"recipe"', '\n{"recipe"') + "\n")


if __name__ == "__main__":
    record()
