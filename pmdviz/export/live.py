"""HTML that runs: a page with the kernels, which begins with the run and goes on without Python or a server."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from string import Template
from typing import Any

from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.export.films import Film, RaceFilm
from pmdviz.files import script_json
from pmdviz.knobs import Knobs, KnobSpec
from pmdviz.methods import METHODS
from pmdviz.scenes import style
from pmdviz.targets import Target
from pmdviz.wasm import values
from pmdviz.wasm.files import FOLDER

MOST = 2  # methods of a page
SLIDERS = ("whole", "real", "choice", "flag")
DATA_OPTIONS = {  # of which the page simulates data again
    "mixture": ("theta1", "theta2", "num_data", "sigma_x", "p", "data_seed"),
    "gaussian": ("theta", "num_data", "sigma_x", "data_seed"),
    "banana": ("theta1", "theta2", "num_data", "sigma_x", "bend", "data_seed"),
    "bimodal1d": ("theta", "num_data", "sigma_x", "data_seed"),
}


def live_page(film: Film | RaceFilm) -> str:
    """The page of a run or a race as a text. Raises InputError where a method or the target cannot run in a page."""
    recipes, target = recipes_of(film), (film.run if isinstance(film, Film) else film.result).target
    for recipe in recipes:
        if why := values.why_not_live(target, recipe.method):
            raise InputError(f"{why}; without live=True the page is a recording")
    known = film.run.final.metrics if isinstance(film, Film) else {}
    page, css = values.script("draw", "page"), (FOLDER / "live.css").read_text("utf-8")
    given, driver = script_json(lab(target, known, *recipes)), values.script("worker")
    template = Template((FOLDER / "live.html").read_text("utf-8"))
    return template.substitute(policy=policy(page, css), css=css, page=page, driver=driver, lab=given)


def recipes_of(film: Film | RaceFilm) -> list[Recipe]:
    """The recipe of a run, or the two of a race. Raises InputError where a race has others."""
    if isinstance(film, Film):
        return [film.run.recipe]
    race, entrants = film.result.recipe, film.result.entrants
    if len({one.method for one in entrants}) != len(entrants) or len(entrants) > MOST:
        raise InputError(f"a live page has one method, or {MOST} different ones; given: {', '.join(film.labels)}")
    return [one.recipe(film.result.target, film.seed, race.budget, race.budget_unit) for one in entrants]


def policy(script: str, css: str) -> str:
    """Only what the page brings along: its script and style by their hashes, its worker, and WebAssembly."""
    allowed = f"script-src {_hash(script)} 'wasm-unsafe-eval'; worker-src blob:; style-src {_hash(css)}"
    return f"default-src 'none'; {allowed}; img-src data: blob:; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def lab(target: Target, metrics: Mapping[str, Any], recipe: Recipe, other: Recipe | None = None) -> dict[str, Any]:
    """All that the page is given: of a second run its method and settings."""
    kernels, methods, value = values.kernels(), methods_value(target), values.target_value(target)
    if other is not None:
        methods[other.method]["knobs"] = values.settings_value(other.start_knobs())
    floor = {"tv": metrics.get("floor_tv"), "kl": metrics.get("floor_kl")}
    simulated = () if value["own_data"] else DATA_OPTIONS.get(target.name, ())
    return {
        "module": kernels["module"],
        "declared": json.loads(kernels["declared"]),
        "target": value,
        "options": [spec_value(spec) for name, spec in target.options.specs().items() if name in simulated],
        "method": recipe.method,
        "methods": methods,
        "knobs": values.settings_value(recipe.start_knobs()),
        "planned": [
            {"iteration": at, "knobs": dict(recipe.values_at(at))} for at in sorted(_changed_at(recipe.to_dict()))
        ],
        "seed": recipe.seed,
        "budget": recipe.budget,
        "unit": "observations" if target.data is not None else "evaluations",
        "recipe": recipe.to_dict(),
        "floor": floor if floor["tv"] is not None else None,
        "compare": other.method if other else "",
        "colours": {"light": colours(False), "dark": colours(True)},
    }


def _changed_at(recipe: Mapping[str, Any]) -> set[int]:
    return {int(at) for at, _ in recipe.get("changes", [])}


def methods_value(target: Target) -> dict[str, Any]:
    """The methods that run on a target in a page: title, settings, and their values."""
    found = {}
    for name in values.METHODS:
        method = METHODS[name]
        if not values.why_not_live(target, name) and not method.missing_in(target):
            knobs = method.fitted(method.Knobs(), target)
            specs = [spec for spec in knobs.specs().values() if spec.kind in SLIDERS]
            found[name] = {
                "title": method.short_title or method.title,
                "settings": [spec_value(spec, knobs) for spec in specs],
                "knobs": values.settings_value(knobs),
            }
    return found


def spec_value(spec: KnobSpec, knobs: Knobs | None = None) -> dict[str, Any]:
    """A declaration for the page: what a slider needs to be built."""
    low, high = spec.soft_bounds or spec.bounds or (0, 1)
    by = spec.default_by and [spec.default_by[0], dict(spec.default_by[1])]
    return {
        "name": spec.name, "label": spec.label, "help": spec.help, "unit": spec.unit if len(spec.unit) < 20 else "",
        "kind": spec.kind, "low": low, "high": high, "log": bool(spec.log and low and low > 0), "basic": spec.basic,
        "choices": list(spec.choices), "words": dict(spec.words), "acts": spec.acts, "default_by": by,
        "only_if": spec.only_if and {name: list(wanted) for name, wanted in spec.only_if.items()},
    }  # fmt: skip


def colours(dark: bool) -> dict[str, Any]:
    """The colours of a theme by their roles."""
    theme = style.DARK if dark else style.LIGHT
    entrants = style.ENTRANTS_DARK if dark else style.ENTRANTS_LIGHT
    return {
        "text": theme.text, "muted": theme.muted, "grid": theme.grid, "dots": theme.dots,
        "truth": theme.layers["exact"], "entrants": [theme.layers["approximate"], entrants[2]],
    }  # fmt: skip
