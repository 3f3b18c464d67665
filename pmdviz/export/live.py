"""HTML that runs: a page with the kernels, which begins with a run and goes on without Python or a server."""

from __future__ import annotations

import ast
import base64
import html
import json
import math
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.export.films import Film, RaceFilm
from pmdviz.files import Json, script_json
from pmdviz.formulas import CONSTANTS, OPERATORS
from pmdviz.knobs import Knobs, KnobSpec
from pmdviz.methods import METHODS
from pmdviz.pictures import Axis, Mark
from pmdviz.render import canvas_script, css_variables, page_css, picture_json, policy_hashes
from pmdviz.scenes import columns, trace_columns
from pmdviz.scenes.stage import NO_IMAGE, SCENES, square, stage_picture
from pmdviz.scenes.stage.posterior import LARGEST, exact_regions, prior_lines
from pmdviz.targets import Target
from pmdviz.targets.options import SIMULATED
from pmdviz.views.figures import elements_script
from pmdviz.wasm import FOLDER, MODULE, NAMES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

STATIC_PX = 760  # height of a page in a notebook
MOST = 2  # methods of a page
SLIDERS = ("whole", "real", "choice", "flag")
DATA_OPTIONS = {  # a change of these makes the page simulate new data
    "mixture": ("theta1", "theta2", "num_data", "sigma_x", "p", "data_seed"),
    "gaussian": ("theta", "num_data", "sigma_x", "data_seed"),
    "banana": ("theta1", "theta2", "num_data", "sigma_x", "bend", "data_seed"),
    "bimodal1d": ("theta", "num_data", "sigma_x", "data_seed"),
}


SCRIPTS = ("host", "densities", "targets", "methods", "chains", "session")  # in this order
LIVE_METHODS = ("pmd", "svgd", "smc_mcmc", "importance", "random_walk", "mala", "hmc", "sgld")
MOST_DIM = 20  # coordinates


@cache
def kernels() -> dict[str, Json]:
    """The module, deflated and as base64, and each kernel's arguments and result."""
    module = base64.b64encode(zlib.compress(MODULE.read_bytes(), 9)).decode()
    return {"module": module, "declared": json.loads(NAMES.read_text("utf-8"))["kernels"]}


def script(*names: str) -> str:
    """Parts of the page's script as one text; by default those that step and measure."""
    return "\n".join((FOLDER / f"{name}.js").read_text("utf-8") for name in names or SCRIPTS)


def array(values: Any) -> Any:
    """Numbers for the page; None means NaN, and infinities are words."""
    if isinstance(values, np.ndarray):
        return {"shape": list(values.shape), "data": [number(value) for value in values.ravel().tolist()]}
    if isinstance(values, tuple) and hasattr(values, "_asdict"):
        return {name: array(value) for name, value in values._asdict().items()}
    if isinstance(values, list | tuple):
        return [array(value) for value in values]
    return number(values.item() if isinstance(values, np.generic) else values)


def number(value: Any) -> Any:
    """JSON has neither NaN nor infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _given(target: Any) -> dict[str, Any]:
    """What the page needs of a target besides its options: means and weights, which may have been drawn, or a tree."""
    if target.name == "formula":
        return {"tree": tree_of(target.formula.tree)}
    if target.name in ("gmm", "warped_gmm"):
        return {"means": array(target.means), "log_weights": array(target.log_weights)}
    return {}


LIVE_TARGETS = ("mixture", "gaussian", "banana", "bimodal1d", "gmm", "warped_gmm", "funnel", "formula")
OPERATOR_NAMES = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power"}
assert set(OPERATOR_NAMES) == set(OPERATORS)


def tree_of(node: ast.expr) -> Json:
    """A formula as nested lists: [function, argument, ...], numbers, and "x" or "y"."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name):
            return CONSTANTS.get(name, name)
        case ast.UnaryOp(op=op, operand=operand):
            return tree_of(operand) if isinstance(op, ast.UAdd) else ["negative", tree_of(operand)]
        case ast.BinOp(op=op, left=left, right=right):
            return [OPERATOR_NAMES[type(op)], tree_of(left), tree_of(right)]
        case ast.Call(func=ast.Name(id=name), args=args):
            return [name, *map(tree_of, args)]
    raise AssertionError(f"checked before: {ast.dump(node)}")


def settings_value(knobs: Knobs) -> dict[str, Any]:
    """The values of a method's settings."""
    return {name: number(value) for name, value in knobs.as_dict().items()}


def why_not_live(recipe: Recipe) -> str:
    """Why a run of a recipe can only be a recording, in a sentence; "" where its page can run."""
    if recipe.method not in LIVE_METHODS:
        return f"method {recipe.method} does not run in a page; those that do are {', '.join(LIVE_METHODS)}"
    if recipe.target not in LIVE_TARGETS:
        return f"target {recipe.target} does not run in a page; those that do are {', '.join(LIVE_TARGETS)}"
    if (dim := recipe.make_target().dim) > MOST_DIM:
        return f"a page runs in at most {MOST_DIM} dimensions; target {recipe.target} has {dim}"
    return ""


class Shown(NamedTuple):
    """A run that a page can show, with the words next to it."""

    recipe: Recipe
    title: str = ""
    question: str = ""
    other: Recipe | None = None  # of the method that it is compared with
    metrics: Mapping[str, float | None] = {}  # of its last frame, with the floors, where they are known


def live_page(film: Film | RaceFilm) -> str:
    """The page of a run or a race as a text. Raises InputError where a method or the target cannot run in a page."""
    recipe, *other = recipes_of(film)
    known = film.what.final.metrics if isinstance(film, Film) else {}
    return page({"run": Shown(recipe, other=other[0] if other else None, metrics=known)})


def recipes_of(film: Film | RaceFilm) -> list[Recipe]:
    """The recipe of a run, or the two of a race. Raises InputError where a race has others."""
    if isinstance(film, Film):
        return [film.what.recipe]
    race = film.what.recipe
    if len({one.method for one in race.entrants}) != len(race.entrants) or len(race.entrants) > MOST:
        raise InputError(f"a live page has one method, or {MOST} different ones; got {', '.join(film.labels)}")
    return [*race.recipes]


def page(shown: Mapping[str, Shown], **more: Json) -> str:
    """A page with several runs, by their names in its address; the first is shown at first.

    `more` is the rest of a site, for its script. Raises InputError where a run can only be a recording.
    """
    given = script_json({**lab(shown), **more})
    css = css_variables() + page_css("live")
    code = canvas_script() + elements_script() + script("page", "lessons")
    driver = script(*SCRIPTS, "worker")
    template = Template((FOLDER / "live.html").read_text("utf-8"))
    return template.substitute(policy=policy(code, css), css=css, page=code, driver=driver, lab=given)


class StaticLab:
    """The page of a run in the output of a notebook: it needs no kernel, and works in a saved notebook and as HTML."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._page = page({"run": Shown(recipe)})

    def __repr__(self) -> str:
        return f"Lab({self.recipe.method} on {self.recipe.target}, static=True)"

    def _repr_html_(self) -> str:
        """The page in a frame that holds all of it."""
        template = Template((FOLDER / "frame.html").read_text("utf-8"))
        return template.substitute(title=html.escape(repr(self)), height=STATIC_PX, page=html.escape(self._page))


def policy(script: str, css: str) -> str:
    """Only what the page brings along: its script and style by their hashes, its worker, and WebAssembly."""
    allowed = f"script-src {policy_hashes(script)} 'wasm-unsafe-eval'; worker-src blob:; style-src {policy_hashes(css)}"
    return f"default-src 'none'; {allowed}; img-src data: blob:; base-uri 'none'; form-action 'none'"


def lab(shown: Mapping[str, Shown]) -> dict[str, Json]:
    """All that the page is given. Targets that several runs share are in it once."""
    targets, runs = {}, {}
    keys: dict[str, str] = {}
    for name, one in shown.items():
        target = one.recipe.make_target()
        for recipe in filter(None, (one.recipe, one.other)):
            if why := why_not_live(recipe):
                raise InputError(f"{why}; leave out live=True (or --live) for a page that plays a recording")
        made = target_value(target)
        key = keys.setdefault(json.dumps(made), f"{target.name}-{len(keys)}")
        targets[key] = made
        runs[name] = run_value(one, target, key)
    return {
        **kernels(),
        "drawing": drawing(),
        "methods": {name: method_value(name) for name in LIVE_METHODS},
        "targets": targets,
        "runs": runs,
    }


def run_value(one: Shown, target: Target, key: str) -> dict[str, Json]:
    """A run; of its second method the settings."""
    recipe, other = one.recipe, one.other
    floor = {"tv": one.metrics.get("floor_tv"), "kl": one.metrics.get("floor_kl")}
    return {
        "title": one.title,
        "question": one.question,
        "target": key,
        "method": recipe.method,
        "knobs": settings_value(recipe.start_knobs()),
        "planned": [
            {"iteration": at, "knobs": dict(recipe.values_at(at))} for at in sorted({at for at, _ in recipe.changes})
        ],
        "seed": recipe.seed,
        "budget": recipe.budget,
        "unit": "observations" if target.data is not None else "evaluations",
        "recipe": recipe.to_dict(),
        "floor": floor if floor["tv"] is not None else None,
        "compare": other.method if other else "",
        "compared": settings_value(other.start_knobs()) if other else None,
    }


def target_value(target: Target) -> dict[str, Json]:
    """A target with its pictures, the options of its simulated data, and the settings that methods have on it."""
    options, exact = target.options.as_dict(), target.planar
    extent = np.array([high - low for low, high in target.view_box])
    own_data = options.get("data", SIMULATED) != SIMULATED
    simulated = () if own_data else DATA_OPTIONS.get(target.name, ())
    possible = [METHODS[name] for name in LIVE_METHODS if not METHODS[name].missing_in(target)]
    return {
        "name": target.name,
        "title": target.title,
        "options": {name: number(value) for name, value in options.items()},
        "dim": target.dim,
        "prior_sd": float(target.prior_sd),
        "q0_mean": float(getattr(target, "q0_mean", 0.0)),
        "data": None if target.data is None else array(target.data),
        "own_data": own_data,
        "given": _given(target),
        "view_box": array(target.view_box),
        "exact": {"log_z": exact.log_z, "narrowest": exact.narrowest(extent)} if exact else None,
        "box": array(exact.box) if exact else None,
        "simulated": [spec_value(spec) for name, spec in target.options.specs().items() if name in simulated],
        "knobs": {one.name: settings_value(one.fitted(one.Knobs(), target)) for one in possible},
        "square": array(square(target.view_box) if target.dim > 1 else target.view_box),
        "stage": stage(target, bool(simulated)),
        "traces": traces(target) if target.planar else {},
    }


def method_value(name: str) -> dict[str, Json]:
    """A method: title, settings, and how its dots are called and drawn."""
    method = METHODS[name]
    specs = [spec_value(spec) for spec in method.Knobs().specs().values() if spec.kind in SLIDERS]
    return {
        "title": method.short_title or method.title,
        "settings": specs,
        "dots": SCENES["posterior"].words(method)["particles"],
        "largest": LARGEST[method.family],
        "heat": method.family != "particles",
    }


def spec_value(spec: KnobSpec) -> dict[str, Json]:
    """A declaration for the page: what a slider needs to be built."""
    low, high = spec.soft_bounds or spec.bounds or (0, 1)
    by: Any = spec.default_by and [spec.default_by[0], dict(spec.default_by[1])]
    return {
        "name": spec.name, "label": spec.label, "help": spec.help, "unit": spec.unit if len(spec.unit) < 20 else "",
        "kind": spec.kind, "low": low, "high": high, "log": bool(spec.log and low and low > 0), "basic": spec.basic,
        "choices": list(spec.choices), "words": dict(spec.words), "acts": spec.acts, "default_by": by,
        "only_if": {name: list(wanted) for name, wanted in spec.only_if.items()} if spec.only_if else None,
    }  # fmt: skip


def drawing() -> dict[str, Json]:
    """The numbers that pictures of a frame are made with."""
    names = ("MAX_DRAWN", "INK", "GOLDEN", "OPACITY_DOTS", "OPACITY_POWER", "MASSES", "OUTLINE", "WIDE", "HIGH")
    return {name: getattr(columns, name) for name in (*names, "SIDE", "BRIGHTEN")}


NO_AREAS = dict.fromkeys(("x", "y", "level"), np.array([np.nan], np.float32))  # one outline without a point


def stage(target: Target, handles: bool) -> dict[str, Json]:
    """The picture of a frame without what moves: axes, marks, prior, legend; above two dimensions the exact one too."""
    layers = {"prior", "particles"} | ({"exact", "approximate"} if target.planar else set())
    found = columns.StageColumns(prior=prior_lines(target, (0, 1)[: target.dim]), areas=NO_AREAS, image=NO_IMAGE)
    if not target.planar and target.reference() is not None:
        layers.add("exact")
        exact, _, areas = exact_regions(target, (0, 1))
        found = found._replace(exact=exact, areas=areas)
    picture = stage_picture(SCENES["posterior"], target, None, (0, 1), found, layers=[*layers])
    marks, legend = dict(picture.marks), dict(picture.legend)
    tips = {words: form for words, form in marks["particles"].hover.items() if "log_density" not in form}
    marks["particles"] = marks["particles"]._replace(hover=tips)
    if handles:
        look = {"marker": "square", "size": 13, "hollow": True}
        marks["handles"] = Mark("signs", "text", {"x": [], "y": []}, look)
        legend["handles"] = "true parameters (drag)"
    return picture_json(picture._replace(marks=marks, legend=legend, equal=target.dim > 1), _rounded)


def _rounded(key: str, name: str, numbers: ArrayLike, axis: Axis | None) -> list[float | None]:
    return [float(f"{x:.5g}") if np.isfinite(x) else None for x in np.asarray(numbers, float).ravel()]


TRACES = {"tv": ("tv", "tv", "floor_tv"), "kl": ("kl", "kl_forward", "floor_kl")}  # group, metric, floor
LEAST_KL = 0.003  # nats, at the foot of the axis


def traces(target: Target) -> dict[str, Json]:
    """The pictures of TV and forward KL without their lines: a line and a floor whose columns the page fills."""
    clock = trace_columns.CLOCK_OF["data" if target.data is not None else "evaluations"]
    return {name: _trace(clock, *parts) for name, parts in TRACES.items()}


def _trace(clock: str, key: str, metric: str, floor: str) -> dict[str, Json]:
    whole = trace_columns.GROUPS[key]
    label = METRIC_LABELS.get(metric, whole.axis_label)
    group = whole._replace(metrics={metric: whole.metrics[metric]}, floors={floor: metric})
    history = {name: np.array([0.0, 1.0]) for name in (*trace_columns.CLOCKS, metric)}
    y = Axis(label, *(group.ends or (LEAST_KL, group.ceiling)), group.log)
    x = Axis(trace_columns.CLOCKS[clock], 0.0, 1.0)
    made = trace_columns.traces_picture(history, group, clock, (x, y), {floor: 0.5})
    named = (clock, "iteration", metric)
    line = made.marks[group.keys[metric]]
    tips = {words: form for words, form in line.hover.items() if any(name in form for name in named)}
    marks = {"floor": made.marks["floor"], "line": line._replace(hover=tips)}
    legend = {"line": group.metrics[metric].title, "floor": trace_columns.INDEPENDENT_DRAWS}
    return {**picture_json(made._replace(marks=marks, legend=legend), _rounded), "clock": clock, "metric": metric}


METRIC_LABELS = {"kl_forward": "forward KL (nats)"}


def watched(names: Iterable[str]) -> bool:
    """Whether a page has values of all these names of an expression: metrics, clocks, settings, options."""
    settings = {name for method in LIVE_METHODS for name in METHODS[method].Knobs().specs()}
    return set(names) <= {*VALUES, *settings}.union(*DATA_OPTIONS.values())


VALUES = ("tv", "kl_forward", "floor_tv", "floor_kl", "ess", "ess_fraction", "iteration", "visited")
