"""What a live page is given as JSON: a target, a method's settings, a state; and the script with its kernels."""

from __future__ import annotations

import ast
import base64
import json
import math
import zlib
from functools import cache
from typing import Any

import numpy as np

from pmdviz.files import Json
from pmdviz.formulas import CONSTANTS, OPERATORS
from pmdviz.knobs import Knobs
from pmdviz.targets import Target
from pmdviz.targets.options import SIMULATED
from pmdviz.wasm import FOLDER, MODULE, NAMES

SCRIPTS = ("host", "densities", "targets", "methods", "chains", "session")  # in this order
METHODS = ("pmd", "svgd", "smc_mcmc", "importance", "random_walk", "mala", "hmc", "sgld")
MOST_DIM = 20  # coordinates


@cache
def kernels() -> dict[str, str]:
    """The module, deflated and as base64, and each kernel's arguments as JSON."""
    module = base64.b64encode(zlib.compress(MODULE.read_bytes(), 9)).decode()
    return {"module": module, "declared": json.dumps(json.loads(NAMES.read_text("utf-8"))["kernels"])}


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


TARGETS = ("mixture", "gaussian", "banana", "bimodal1d", "gmm", "warped_gmm", "funnel", "formula")
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


def target_value(target: Target) -> dict[str, Any]:
    """A target for the page."""
    options, exact = target.options.as_dict(), target.planar
    extent = np.array([high - low for low, high in target.view_box])
    known = exact and {"log_z": exact.log_z, "narrowest": exact.narrowest(extent)}
    return {
        "name": target.name,
        "title": target.title,
        "options": {name: number(value) for name, value in options.items()},
        "dim": target.dim,
        "prior_sd": float(target.prior_sd),
        "q0_mean": float(getattr(target, "q0_mean", 0.0)),
        "data": None if target.data is None else array(target.data),
        "own_data": options.get("data", SIMULATED) != SIMULATED,
        "given": _given(target),
        "view_box": array(target.view_box),
        "exact": known,
        "box": array(exact.box) if exact else None,
        "names": list(target.parameter_names[:2]),
    }


def settings_value(knobs: Knobs) -> dict[str, Any]:
    """The values of a method's settings."""
    return {name: number(value) for name, value in knobs.as_dict().items()}


def why_not_live(target: Target, method: str) -> str:
    """Why a run of this pair can only be a recording, in a sentence; "" where its page can run."""
    if method not in METHODS:
        return f"method {method} does not run in a page; those that do are {', '.join(METHODS)}"
    if target.name not in TARGETS:
        return f"target {target.name} does not run in a page; those that do are {', '.join(TARGETS)}"
    if target.dim > MOST_DIM:
        return f"a page runs in at most {MOST_DIM} dimensions; target {target.name} has {target.dim}"
    return ""
