"""HTML that runs: a page with the kernels, which begins with the run and goes on without Python or a server."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import jinja2

from pmdviz.engine.run import Run
from pmdviz.errors import InputError
from pmdviz.files import script_json
from pmdviz.knobs import Knobs, KnobSpec
from pmdviz.methods import METHODS
from pmdviz.scenes import style
from pmdviz.targets import Target
from pmdviz.wasm import values
from pmdviz.wasm.files import FOLDER

SLIDERS = ("whole", "real", "choice", "flag")
DATA_OPTIONS = {  # of which the page simulates data again
    "mixture": ("theta1", "theta2", "num_data", "sigma_x", "p", "data_seed"),
    "gaussian": ("theta", "num_data", "sigma_x", "data_seed"),
    "banana": ("theta1", "theta2", "num_data", "sigma_x", "bend", "data_seed"),
    "bimodal1d": ("theta", "num_data", "sigma_x", "data_seed"),
}


def live_page(run: Run, compare: str = "") -> str:
    """The page as a text. Raises InputError where the method or the target cannot run in a page."""
    for method in filter(None, (run.recipe.method, compare)):
        if why := values.why_not_live(run.target, method):
            raise InputError(f"{why}; without live=True the page is a recording")
    page = values.script("draw", "page")
    css = (FOLDER / "live.css").read_text("utf-8")
    template = jinja2.Template((FOLDER / "live.html").read_text("utf-8"))
    return template.render(
        policy=policy(page, css), css=css, page=page, driver=values.script("worker"), lab=script_json(lab(run, compare))
    )


def policy(script: str, css: str) -> str:
    """Only what the page brings along: its script and style by their hashes, its worker, and WebAssembly."""
    allowed = f"script-src {_hash(script)} 'wasm-unsafe-eval'; worker-src blob:; style-src {_hash(css)}"
    return f"default-src 'none'; {allowed}; img-src data: blob:; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def lab(run: Run, compare: str = "") -> dict[str, Any]:
    """All that the page is given."""
    recipe, target, last = run.recipe, run.target, run.frames[-1]
    metrics, kernels = last.metrics, values.kernels()
    floor = {"tv": metrics.get("floor_tv"), "kl": metrics.get("floor_kl")}
    return {
        "module": kernels["module"],
        "declared": json.loads(kernels["declared"]),
        "target": values.target_value(target),
        "options": [
            spec_value(spec)
            for name, spec in target.options.specs().items()
            if name in DATA_OPTIONS.get(target.name, ()) and not values.target_value(target)["own_data"]
        ],
        "method": recipe.method,
        "methods": methods_value(target),
        "knobs": values.settings_value(recipe.start_knobs()),
        "planned": [
            {"iteration": at, "knobs": dict(recipe.values_at(at))} for at in sorted(_changed_at(recipe.to_dict()))
        ],
        "seed": recipe.seed,
        "budget": recipe.budget,
        "unit": "observations" if target.data is not None else "evaluations",
        "recipe": recipe.to_dict(),
        "floor": floor if floor["tv"] is not None else None,
        "compare": compare,
        "colours": {"light": colours(False), "dark": colours(True)},
    }


def _changed_at(recipe: Mapping[str, Any]) -> set[int]:
    return {int(change["iteration"]) for change in recipe.get("changes", [])}


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
