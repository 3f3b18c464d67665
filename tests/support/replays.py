"""Recorded runs over all methods, targets, choices of knobs, and changes on the way.

`python -m tests.support.replays` records them again, here alone; with `add` this computer's bits are added to those of
others. Elsewhere a run is compared up to the first decision that rounding may turn.
"""

import hashlib
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe, versions
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS
from pmdviz.targets import TARGETS
from tests.support.engine import DIVERGES, Unmeasured, default_target

FILE = Path(__file__).parents[1] / "fixtures" / "replays.json"
SMALL = {"num_particles": 100, "batch_size": 20, "burn_in": 5, "thinning": 2, "num_components": 4}
NUM_DATA, BUDGET = 200, 3000
BEYOND, STEPS = 600, 100  # budgets beyond the plane or without data, and of a chain where there are none
CHANGES = {
    "pmd": [[3, {"bandwidth": 0.7}], [6, {"num_particles": 160}], [9, {"bandwidth_rule": "local", "step_limit": 0.0}]],
    "smc": [[2, {"batch_size": 50}]],
    "sgld": [[20, {"a": 0.02}]],
    "svgd": [[4, {"optimiser": "adagrad"}]],
}
TURNED = {"rejuvenated", "diverged"}  # events after which a difference in the last digit may become a large one
FIRST = 10  # iterations at most up to which figures are compared: a chain has a decision in every step
TOLERANCE = 1e-6  # of the figures, which have ten digits: OpenBLAS for Nehalem and NumPy without AVX2 changed none
LOOSE = {"pmfvb_nn": 1e-2}  # by method: they changed its figures by up to 2.5e-4 within ten iterations


def small(method: str, target: str, **knobs: Any) -> Recipe:
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
    return Recipe(target, method, seed=seed, budget=budget, target_options=options, **knobs)


def recipes() -> list[Recipe]:
    """Every method on every target that it fits, every choice of a knob on one target, and changes on the way."""
    found = []
    for name, method in METHODS.items():
        fitting = (target for target in sorted(TARGETS) if not method.missing_in(default_target(target)))
        targets = [target for target in fitting if (name, target) not in DIVERGES]
        found += [small(name, target) for target in targets]
        for knob, spec in method.Knobs.specs().items():
            others = [True, False] if spec.kind == "flag" else list(spec.choices or ())
            found += [small(name, targets[-1], **{knob: value}) for value in others if value != spec.default]
    return found + [small(name, "mixture").replaced(changes=changes) for name, changes in CHANGES.items()]


def digest(session: Session) -> str:
    found = hashlib.sha256()
    for array in (session.frame.particles, session.frame.weights):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def figures(frame: Frame) -> list[float]:
    """Of all particles and weights, to ten digits: a mean distance, and the effective number."""
    distances = np.abs(frame.particles - 1 / np.pi)
    columns = np.arange(1.0, distances.shape[1] + 1)
    found = np.einsum("m,mj,j->", frame.weights, distances, columns), 1 / (frame.weights**2).sum()
    return [float(f"{value:.10g}") for value in found]


def ran(recipe: Recipe, first: int = FIRST) -> tuple[Session, int, list[float]]:
    """The session at its end; the last iteration before a decision, at most `first`; and the figures there."""
    session = Unmeasured(recipe)
    before = session.frame
    while not session.done and session.frame.iteration < first:
        frame = session.advance(1)
        if {*frame.info.events} & TURNED:
            break
        before = frame
    at, found = before.iteration, figures(before)
    session.advance(10**6)
    return session, at, found


def here() -> dict[str, str]:
    """Everything but the package on which the bits depend."""
    return {name: value for name, value in versions().items() if name != "pmdviz"}


def difference(run: dict[str, Any], machines: list[dict[str, str]]) -> str:
    """How a run differs from its record, in words; "" where it does not."""
    session, _, found = ran(Recipe.from_link(run["link"]), run["at"])
    same = next((sha for number, sha in run["bits"].items() if machines[int(number)] == here()), None)
    slack = 1 if session.ended and same is None else 0  # a method that finds its own end may find it a step later
    ends = {"iteration": session.frame.iteration, "visited": session.frame.visited}
    name = f"{session.recipe.method} on {session.recipe.target} ({run['link']})"
    if abs(ends["iteration"] - run["iteration"]) > slack or ends["visited"] != run["visited"]:
        return f"{name} ends at {ends}"
    tolerance = LOOSE.get(session.recipe.method, TOLERANCE)
    if not all(math.isclose(a, b, rel_tol=tolerance) for a, b in zip(found, run["figures"], strict=True)):
        return f"{name} has figures {found} at iteration {run['at']}, not {run['figures']}"
    return "" if same in (None, digest(session)) else f"{name} has other bits"


def entry(recipe: Recipe) -> dict[str, Any]:
    """What is recorded of a run, and the CPU seconds that it took."""
    begun = time.process_time()
    session, at, found = ran(recipe)
    ends = {"iteration": session.frame.iteration, "visited": session.frame.visited}
    record = {"link": recipe.to_link(), "at": at, "figures": found, **ends, "bits": {"0": digest(session)}}
    return record | {"s": time.process_time() - begun}


def record() -> None:
    """Write the file: the cheapest run of every method, then the others."""
    links = [run["link"] for tier in ("default", "nightly") for run in known()[tier]]
    every = {recipe.to_link(): recipe for recipe in (*map(Recipe.from_link, links), *recipes())}
    cheapest: dict[str, dict[str, Any]] = {}
    others = []
    for recipe in every.values():
        found, best = entry(recipe), cheapest.get(recipe.method)
        if best is None or found["s"] < best["s"]:
            found, cheapest[recipe.method] = best, found
        others += [found] if found else []
    for run in (*cheapest.values(), *others):
        del run["s"]
    write({"machines": [here()], "default": [*cheapest.values()], "nightly": others})


def add() -> None:
    """Add the bits of this computer to a file that was recorded elsewhere."""
    file = known()
    if here() not in file["machines"]:
        file["machines"].append(here())
    for run in (*file["default"], *file["nightly"]):
        run["bits"][str(file["machines"].index(here()))] = digest(ran(Recipe.from_link(run["link"]))[0])
    write(file)


def known() -> dict[str, Any]:
    return json.loads(FILE.read_text())


def write(file: dict[str, Any]) -> None:
    FILE.write_text(json.dumps(file, separators=(",", ":")).replace('{"link"', '\n{"link"') + "\n")


if __name__ == "__main__":
    add() if sys.argv[1:] == ["add"] else record()
