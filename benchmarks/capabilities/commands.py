"""Capabilities that Python or a command shows, without a browser. Each function raises where one is lost."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import numpy as np

import pmdviz
from pmdviz import Recipe, Session
from pmdviz.cli.course import answered, execute

ROOT = Path(__file__).parents[2]
TARGETS, METHODS, PRESETS, NOTEBOOKS, EXPERIMENTS, LESSONS = 23, 35, 59, 23, 8, 15  # at least so many of each
SMALL = {"num_particles": 150, "budget": 1_500}
ONE_DIM = Recipe("gaussian", target_options={"dim": 1}, num_particles=50, batch_size=5, budget=100)
QUICK_EXPERIMENTS: dict[str, dict[str, Any]] = {
    "convergence": {"varied": "m", "seeds": 1},
    "recurrence": {"runs": 2, "steps": 3},
    "costs": {"rounds": 1},
    "goodness_of_fit": {"scenario": "categorical", "repetitions": 2, "num_points": 20, "draws": 30},
    "dimension": {"methods": "pmd", "largest_dim": 2, "num_particles": 50, "num_data": 50, "seeds": 1},
    "aggregation": {"model": "gmm", "num_data": 600, "dim": 2, "components": 2, "num_shards": 3, "repetitions": 2,
                    "lowest": 60, "highest": 90, "num_levels": 2},
    "sharded_posterior": {"sampler": "exact", "num_data": 60, "num_particles": 60, "most_shards": 2, "seeds": 1},
    "descent": {"runs": 1, "num_steps": 2, "looks": 8, "num_particles": 200},
}  # fmt: skip
QUICK_ONES = ("recurrence", "goodness_of_fit", "sharded_posterior")
SUFFIXES = ("gif", "mp4", "html", "png", "svg", "pdf", "csv", "parquet", "py", "json")
OWN_TARGET = """
import numpy as np, pmdviz
dose = pmdviz.custom_target(
    log_prior=lambda theta: -0.5 * (theta**2).sum(axis=1),
    log_likelihood=lambda theta, batch: -0.5 * ((theta[:, :1] - batch[:, 0]) ** 2).sum(axis=1),
    sample_prior=lambda rng, m: rng.standard_normal((m, 2)),
    data=np.random.default_rng(0).normal(1.0, 1.0, (60, 1)), dim=2, name="dose")
"""
LESSON = """---
title: How few particles?
question: Two modes, twenty particles. Is that enough?
minutes: 5
---
The posterior has two modes.

```{step} twenty
---
title: Twenty particles
recipe:
  target: mixture
  target_options: {num_data: 400, sigma_x: 1.5}
  budget: 4000
  knobs: {num_particles: 20}
---
Press **Play** and watch both modes.
```
"""


TABLE: list[tuple[str, Callable[..., str | None]]] = []


def tries(area: str, table: list[Any] = TABLE) -> Callable[[Any], Any]:
    """Enter a check into the table; its docstring names the capability."""
    return lambda check: table.append((area, check)) or check


class Desk:
    """A folder to work in, and commands that are run there as a user runs them; `long` asks for the full forms."""

    def __init__(self, folder: Path, long: bool) -> None:
        self.folder, self.long = folder, long

    def run(self, *command: str, status: int = 0, **environment: str) -> str:
        """What a command printed (on standard error where it should fail). Raises for another exit status."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment(**environment), capture_output=True, text=True, timeout=1800
        )
        assert done.returncode == status, f"{' '.join(command)}: status {done.returncode}: {done.stderr[-500:]}"
        return done.stderr if status else done.stdout

    def environment(self, **more: str) -> dict[str, str]:
        """The variables of a command: modules of the folder and of this checkout can be imported."""
        return {**os.environ, "PYTHONPATH": os.pathsep.join([str(self.folder), str(ROOT)]), **more}

    def pmdviz(self, *arguments: str, status: int = 0) -> str:
        """Run `pmdviz` with these arguments."""
        return self.run(sys.executable, "-m", "pmdviz", *arguments, status=status)

    def python(self, code: str, **environment: str) -> str:
        """Run lines of Python in a process of their own."""
        return self.run(sys.executable, "-c", code, **environment)

    def write(self, name: str, text: str) -> Path:
        """Put a file into the folder."""
        (self.folder / name).write_text(text, encoding="utf-8")
        return self.folder / name


def same(one: pmdviz.Run, other: pmdviz.Run) -> bool:
    """Whether two runs have the same particles and weights, bit for bit."""
    return np.array_equal(one.particles, other.particles) and np.array_equal(one.weights, other.weights)


def refusal(call: Callable[[], Any]) -> str:
    """The sentence with which a call is refused. Raises AssertionError where it is not."""
    try:
        made = call()
    except pmdviz.InputError as error:
        return str(error)
    raise AssertionError(f"{made!r} was accepted")


# Python


@tries("Python and command line")
def runs(desk: Desk) -> str:
    """Run."""
    run = pmdviz.run(target="mixture", target_options={"data_seed": 3}, method="pmd", seed=0, **SMALL)
    tv = run.frames[-1].metrics["tv"]
    assert 0 < tv < 0.5 and abs(run.weights.sum() - 1) < 1e-9 and run.particles.shape == (150, 2)
    assert len({len(column) for column in run.history.values()}) == 1 and run.history["visited"][-1] >= 1_500
    assert np.isfinite(run.log_density(run.particles[:3])).all() and run.sample(7).shape == (7, 2)
    assert np.allclose(run.mean(), run.weights @ run.particles, atol=0.2) and run.cov().shape == (2, 2)
    return f"TV {tv:.3f}"


@tries("Python and command line")
def sessions(desk: Desk) -> None:
    """Session: advance, set, seek, restart, replay, reseed."""
    session = Session(Recipe("mixture", seed=0, **SMALL))
    assert session.advance(4).iteration == 4
    session.set(bandwidth=0.5)
    end = session.advance(3).particles.copy()
    assert session.frame.knobs.bandwidth == 0.5 and len(session.recipe.changes) == 1
    assert session.seek(2).iteration == 2 and np.array_equal(session.seek(7).particles, end)
    assert session.replay().iteration == 0 and np.array_equal(session.advance(7).particles, end)
    assert session.restart().iteration == 0 and session.recipe.changes in ((), [])
    session.reseed(5)
    assert session.recipe.seed == 5 and not np.array_equal(session.advance(7).particles, end)


@tries("Python and command line")
def recipes(desk: Desk) -> None:
    """Recipe: JSON, link, Python."""
    recipe = Recipe("mixture", "pmd", seed=3, bandwidth=0.4, **SMALL)
    assert Recipe.from_json(recipe.to_json()) == recipe and Recipe.from_link(recipe.to_link()) == recipe
    names: dict[str, Any] = {}
    exec(recipe.to_python(), names)
    assert same(names["run"], pmdviz.run(recipe))
    assert "bandwidth" in refusal(lambda: Recipe("mixture", "pmd", bandwidt=0.4))


list_methods = functools.cache(pmdviz.list_methods)


@tries("Python and command line")
def targets(desk: Desk) -> str:
    """23 targets with options, exact posteriors."""
    table = pmdviz.list_targets()
    assert len(table) >= TARGETS, len(table)
    for name in table:
        session = Session(Recipe(name, fitting_method(name), budget=10**6, **small_knobs(name)))
        frame = session.advance(2)
        assert frame.iteration == 2 and np.isfinite(np.asarray(frame.particles, float)).all(), name
    made = pmdviz.target("mixture", data_seed=3, num_data=300, sigma_x=1.5)
    draws = made.exact.sample(np.random.default_rng(0), 4_000)
    assert made.num_data == 300 and np.abs(draws.mean(axis=0) - made.exact.mean).max() < 0.15
    options = sum(settings_taken(lambda **each: pmdviz.target("mixture", **each), table["mixture"]["options"]))
    return f"{len(table)} targets, {options} options of mixture"


def small_knobs(target: str) -> dict[str, int]:
    """Few particles, where the method has particles."""
    specs = {spec["name"] for spec in list_methods()[fitting_method(target)]["knobs"]}
    return {"num_particles": 60} if "num_particles" in specs else {}


def fitting_method(target: str) -> str:
    """The first method that a target takes."""
    return next(name for name in ("pmd", *list_methods()) if fits(target, name))


def fits(target: str, method: str) -> bool:
    """Whether a pair is taken."""
    with contextlib.suppress(pmdviz.InputError):
        return Recipe(target, method, budget=10**6) is not None
    return False


@tries("Python and command line")
def methods(desk: Desk) -> str:
    """35 methods with settings."""
    table, changed = list_methods(), 0
    assert len(table) >= METHODS, len(table)
    for name, row in table.items():
        target = next(each for each in ("mixture", "gaussian", *pmdviz.list_targets()) if fits(each, name))
        session = Session(Recipe(target, name, budget=10**6))
        assert session.advance(1).iteration == 1, name
        changed += sum(settings_taken(lambda **each: Recipe(target, name, **each), row["knobs"]))  # noqa: B023
    return f"{len(table)} methods, {changed} settings"


def settings_taken(make: Callable[..., Any], specs: list[dict[str, Any]]) -> Iterator[int]:
    """1 for each setting that takes another value than its default. Raises for one that takes none."""
    for spec in specs:
        values = [value for value in other_values(spec["default"], spec["bounds"] or []) if value != spec["default"]]
        for value in values:
            with contextlib.suppress(pmdviz.InputError):
                made = make(**{spec["name"]: value})
                kept = made.to_dict()["knobs"].get(spec["name"]) if isinstance(made, Recipe) else value
                assert kept == value, f"{spec['name']} = {value!r} is not kept"
                yield 1
                break
        else:
            assert not values, f"{spec['name']} takes none of {values}"


def other_values(default: Any, bounds: list[Any]) -> list[Any]:
    """Values that a setting may take, from its default and the bounds that the table says."""
    if isinstance(default, bool):
        return [not default]
    if isinstance(default, str) or default is None or not bounds:
        return bounds
    low, high = (default if end is None else end for end in bounds)
    near = [default + 1, default - 1] if isinstance(default, int) else [0.9 * default + 0.1 * low, 0.5 * (low + high)]
    return [value for value in near if low <= value <= high]


@tries("Python and command line")
def presets(desk: Desk) -> str:
    """Recipes of 59 presets."""
    found = json.loads(desk.pmdviz("list", "--json", "-"))["presets"]
    assert len(found) >= PRESETS, len(found)
    for name in found if desk.long else [*found][:: len(found) // 8]:
        session = Session(Recipe.from_dict(found[name]["recipe"]))
        assert session.advance(1).iteration == 1, name
    return f"{len(found)} presets"


@tries("Python and command line")
def races(desk: Desk) -> None:
    """Race by two clocks, seeds."""
    for clock, spent in (("data", "visited"), ("evaluations", "density_evaluations")):
        budget = 1_000 if clock == "data" else 50_000
        race = pmdviz.race(["pmd:num_particles=100", "smc:num_particles=80"], budget=budget, seeds=2, clock=clock)
        assert len(race.rows) == 4 and {row["seed"] for row in race.rows} == {0, 1}, race.rows
        assert all(row["tv"] > 0 and row[spent] >= budget for row in race.rows), race.rows


@tries("Python and command line")
def sweeps(desk: Desk) -> None:
    """Sweep on processes."""
    over = {"num_particles": [20, 30]}
    here = pmdviz.sweep(ONE_DIM, over, seeds=2, workers=1)
    there = pmdviz.sweep(ONE_DIM, over, seeds=2, workers=2, path=desk.folder / "rows.csv")
    assert len(here) == 4 and np.array_equal(here.rows["tv"], there.rows["tv"]), (here.rows, there.rows)
    assert here.fit("num_particles", "tv").num_points == 4


def data_rows(table: Path) -> list[str]:
    """Lines of a CSV file without comments and heading."""
    return [line for line in table.read_text(encoding="utf-8").splitlines() if not line.startswith("#")][1:]


@tries("Python and command line")
def experiments(desk: Desk) -> str:
    """Experiment."""
    names = pmdviz.list_experiments()
    assert len(names) >= EXPERIMENTS and set(QUICK_EXPERIMENTS) <= set(names), [*names]
    for name in names if desk.long else QUICK_ONES:
        progress: list[tuple[int, int]] = []
        knobs = QUICK_EXPERIMENTS[name]
        found = pmdviz.experiment(name, progress=lambda *now, to=progress: to.append(now), workers=1, **knobs)
        assert len(found.rows) > 0 and found.summary and progress[-1][0] == progress[-1][1], (name, progress)
        assert len(data_rows(found.export(desk.folder / f"{name}.csv"))) == len(found.rows), name
    return f"{len(names)} experiments, {'all' if desk.long else len(QUICK_ONES)} of them measured"


@tries("Python and command line")
def fit_tests(desk: Desk) -> str:
    """test_fit."""
    rng = np.random.default_rng(1)
    exact = pmdviz.target("gaussian").exact
    good = pmdviz.test_fit("gaussian", exact.sample(rng, 200), alpha=0.01)
    bad = pmdviz.test_fit("gaussian", exact.sample(rng, 200) + 1, test="ksd")
    assert not good.rejected and bad.rejected and bad.p_value < good.p_value and "ksd" in pmdviz.list_fit_tests()
    return f"p = {good.p_value:.2f} of exact draws, {bad.p_value:.3f} of shifted ones"


@tries("Python and command line")
def custom_targets(desk: Desk) -> None:
    """Custom_target."""
    names: dict[str, Any] = {}
    exec(OWN_TARGET, names)
    mine = names["dose"]
    run = pmdviz.run(target=mine, seed=0, budget=1_200, num_particles=200)
    assert abs(run.mean()[0] - mine.data.sum() / (len(mine.data) + 1)) < 0.3 and run.final.metrics["tv"] < 0.5
    assert Recipe.from_json(run.recipe.to_json(), targets={"dose": mine}) == run.recipe
    assert "dose" in refusal(lambda: Recipe.from_json(run.recipe.to_json()))
    assert len(pmdviz.race(["pmd:num_particles=50", "smc:num_particles=50"], target=mine, budget=300).rows) == 2


@tries("Python and command line")
def own_tables(desk: Desk) -> None:
    """Own table, formula."""
    heights = desk.write("heights.csv", "height\n" + "\n".join(str(150 + 37 * k % 31) for k in range(30)))
    options = {"data": str(heights), "sigma_x": 4.0, "prior_sd": 100.0}
    run = pmdviz.run(target="mixture", target_options=options, batch_size=12, seed=0, budget=600, num_particles=100)
    assert run.target.num_data == 30 and "heights.csv#" in run.recipe.to_json()
    ring = {"density": "-4 * square(hypot(x, y) - 2)"}
    run = pmdviz.run(target="formula", target_options=ring, seed=0, budget=100_000, num_particles=300)
    radius = np.hypot(*run.particles.T) @ run.weights
    assert 1.6 < radius < 2.6, radius


@tries("Notebooks")
def widgets(desk: Desk) -> None:
    """Lab and Race as widgets with traits."""
    lab = pmdviz.Lab("gaussian", num_particles=100, seed=4)
    assert lab.session.frame.iteration == 0 and lab.recipe.seed == 4 and lab.run.particles.shape == (100, 2)
    lab.widget.bandwidth = 0.6
    assert lab.session.knobs.bandwidth == 0.6 and not lab.widget.playing and lab.widget.iteration == 0
    lab.set(bandwidth=0.5)
    assert lab.widget.bandwidth == 0.5
    assert "application/vnd.jupyter.widget-view+json" in lab._repr_mimebundle_()
    race = pmdviz.Race(["pmd:num_particles=50", "smc:num_particles=50"], target="gaussian", budget=500)
    assert set(race.runs) == {"pmd:num_particles=50", "smc:num_particles=50"} and not race.widget.playing


@tries("Python and command line")
def questions(desk: Desk) -> None:
    """Question, check."""
    asked = pmdviz.Question("Does it fall?", a="yes", b="no")
    assert asked.answer("a").verdict("b", a="It rises.", b="It rises.").stored == "a"
    assert pmdviz.check(0.5, 0.51).right and not pmdviz.check(0.5, 0.7).right


# Commands


@tries("Python and command line")
def lists(desk: Desk) -> str:
    """pmdviz list."""
    found = json.loads(desk.pmdviz("list", "--json", "-"))
    least = {"targets": TARGETS, "methods": METHODS, "experiments": EXPERIMENTS, "presets": PRESETS, "lessons": LESSONS}
    counts = {name: len(found[name]) for name in least}
    assert all(counts[name] >= least[name] for name in least), counts
    assert "mixture" in desk.pmdviz("list")
    return ", ".join(f"{count} {name}" for name, count in counts.items())


@tries("Python and command line")
def run_command(desk: Desk) -> None:
    """pmdviz run."""
    options = ["--target", "mixture", "--target-option", "data_seed=3", "--knob", "num_particles=150"]
    first = json.loads(desk.pmdviz("run", *options, "--seed", "0", "--budget", "1500", "--json", "-"))
    assert {"recipe", "final", "seconds", "versions"} <= set(first) and 0 < first["final"]["tv"] < 1
    desk.write("again.json", json.dumps(first["recipe"]))
    again = json.loads(desk.pmdviz("run", "again.json", "--json", "-"))
    assert all(again["final"][key] == first["final"][key] for key in ("tv", "iteration", "visited"))


@tries("Python and command line")
def experiment_command(desk: Desk) -> None:
    """pmdviz experiment."""
    knobs = ["--knob", "runs=2", "--knob", "steps=3"]
    found = json.loads(desk.pmdviz("experiment", "recurrence", *knobs, "--workers", "1", "--json", "-"))
    assert len(found["rows"]) == 6 and found["summary"] and found["knobs"]["steps"] == 3


@tries("Notebooks")
def notebook_command(desk: Desk) -> str:
    """23 notebooks."""
    desk.pmdviz("notebooks", str(desk.folder / "course"))
    paths = sorted((desk.folder / "course").glob("*.ipynb"))
    assert len(paths) >= NOTEBOOKS, len(paths)
    for path in paths:
        nbformat.validate(nbformat.read(path, as_version=4))
    run = paths if desk.long else paths[:1]
    for path in run:
        done = execute(answered(nbformat.read(path, as_version=4)), desk.folder)
        outputs = [output for cell in done.cells for output in cell.get("outputs", [])]
        assert any("image/png" in output.get("data", {}) for output in outputs), f"{path.name} draws nothing"
    return f"{len(paths)} notebooks, {len(run)} run"


@tries("Python and command line")
def essay_command(desk: Desk) -> None:
    """pmdviz essay."""
    desk.pmdviz("essay", "essay.html")
    text = (desk.folder / "essay.html").read_text(encoding="utf-8")
    assert text.count("<canvas") >= 8 and text.count('type="range"') >= 8 and not loaded(text)


def loaded(text: str) -> list[str]:
    """What a page would load from another server."""
    return re.findall(r"""<(?:script|img|link|iframe)[^>]*(?:src|href)=["']?https?://[^"' >]+""", text)


@tries("Python and command line")
def docs_command(desk: Desk) -> str:
    """pmdviz docs."""
    site = docs_site(desk)
    pages = [path for path in site.rglob("*.html") if not loaded(path.read_text(encoding="utf-8"))]
    sources = [path.stem for path in (ROOT / "docs").rglob("*.md")]
    assert set(sources) <= {path.stem for path in pages}, set(sources) - {path.stem for path in pages}
    return f"{len(pages)} pages"


def docs_site(desk: Desk) -> Path:
    """The docs site, built once."""
    site = desk.folder / "site"
    if not (site / "index.html").exists():
        desk.pmdviz("docs", str(site), "--gallery", "two_modes" if desk.long else "none")
    return site


@tries("Python and command line")
def bench_command(desk: Desk) -> None:
    """pmdviz bench."""
    found = json.loads(desk.pmdviz("bench", "local-scale", "--quick", "--json", "-"))
    assert found["bench"] == "local-scale" and found["figures"]


# What tests try is not tried twice: the file of tests is the check.
TESTED = (
    ("Python and command line", "Sweep on Dask; sweep resumed after a crash.", "experiments/sweep/test_sweep.py"),
    ("Python and command line", "pmdviz race, sweep, export, lessons, notebooks.", "cli/test_commands.py"),
    ("Python and command line", "Wrong input: one line, status 2.", "cli/test_refusals.py"),
    ("Promises", "Same bits: process, threads, compile cache.", "engine/test_replay.py"),
    ("Serve", "Reconnect after a restart.", "browser/test_faults.py"),
    ("Lab", "Time line, branch with ghost, keep, swap, drop.", "browser/test_timeline.py"),
    ("Lab", "Inside this step.", "browser/test_inside.py"),
    ("Lab", "Drag modes; data by a click; own table: file or paste.", "browser/test_own_data.py"),
    ("Lab", "Formula.", "browser/test_formula.py"),
    ("Lab", "Budget, end, continue.", "browser/test_page.py"),
    ("Lab", "Layers on and off.", "browser/test_stage.py"),
    ("Pages", "Theory: experiments, progress, cancel, link, CSV.", "browser/test_theory.py"),
    ("Pages", "Geometry: mirror against gradient steps.", "browser/test_addresses.py"),
    ("Pages", "Methods: cells run. Lessons: their list.", "browser/test_methods_and_lessons.py"),
    ("Pages", "Lessons: question, run, verdict.", "browser/test_lessons.py"),
    ("Pages", "Essay.", "browser/test_essay.py"),
    ("Share and export", "A run and a race in ten kinds of file, from Python.", "export"),
    ("Share and export", "HTML player with inside view.", "browser/test_player.py"),
    ("Notebooks", "JupyterLab, saved picture, offline.", "browser/test_jupyter.py"),
    ("Notebooks", "marimo, offline.", "browser/test_marimo.py"),
)


def by_tests(words: str, name: str) -> Callable[[Desk], str]:
    """A check that runs a file of tests, all tiers of it; a test that is skipped fails."""

    def check(desk: Desk) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, f"tests/{name}"],
            cwd=ROOT, env={**os.environ, "CI": "1"}, capture_output=True, text=True, timeout=1800,
        )  # fmt: skip
        last = done.stdout.strip().splitlines()[-1]
        assert done.returncode == 0, last
        return last

    check.__doc__ = words
    return check


for area, words, name in TESTED:
    tries(area)(by_tests(words, name))
