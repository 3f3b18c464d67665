import ast
import inspect
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels import chains, clusters, compiling, grid, jit, kde, likelihoods, mixture, resampling, spins
from pmdviz.kernels.jit import EXP_OPTIONS, OVERLOAD
from pmdviz.kernels.likelihoods import GRADIENTS, LOG_JOINTS
from pmdviz.lab.loop.runner import Runner
from pmdviz.methods import METHODS
from pmdviz.targets import TARGETS
from tests.support.tables import looped

MODULES = compiling.compiled_modules()
ROOT = Path(__file__).parents[2]


def compiled_functions():
    found = ((f"{module.__name__}.{name}", item) for module in MODULES for name, item in vars(module).items())
    return {name: item for name, item in found if hasattr(item, "py_func")}


def signatures():
    return {name: list(item.signatures) for name, item in compiled_functions().items()}


@looped("writeable", [True, False])
def test_no_type_of_argument_is_left_to_compile(writeable):
    for call in compiling.calls():
        call.make()
    before = signatures()
    arrays = {dim: np.random.default_rng(dim).normal(size=(70, dim)) for dim in (1, 2, 3, 5)}
    weights, axis, centres = np.full(70, 1 / 70), np.linspace(-1, 1, 40), np.arange(3)
    for array in (*arrays.values(), weights, axis, centres):
        array.setflags(write=writeable)
    for dim, x in arrays.items():
        kde.kde_log_density(x, np.log(weights), np.eye(dim), x * 100)
        kde.kde_log_density(x, np.log(weights), np.eye(dim), x, single=True)
        clusters.pooled_local_covariance(x, weights, centres, np.ones(dim), 7)
        likelihoods.gaussian_log_likelihood(x, x[:9], 1.0)
        likelihoods.gaussian_grad_log_likelihood(x, x[::2], 1.0)
    for cholesky in (np.eye(2), np.array([[0.4, 0], [0.38, 0.02]])):
        grid.kde_on_grid(arrays[2], weights, cholesky, axis, axis[::-1][::-1])
    grid.kde_on_line(arrays[1], weights, np.eye(1), axis)
    resampling.systematic(weights, 60, 0)
    for way in (resampling.stratified, resampling.residual, resampling.multinomial):
        way(weights, weights[:60])
    resampling.thinned(arrays[3], 35, weights[:35])
    mixture.mixture_log_likelihood(arrays[2], weights, 1, 1)
    mixture.mixture_log_likelihood(arrays[2][:1], weights, 1, 1)
    mixture.mixture_grad_log_likelihood(arrays[2][:1], weights, 1, 1)
    mixture.mixture_grad_log_likelihood(arrays[3][:, 1:], weights[::2], 1.0, 0.5)
    spins.mixture_sweep(arrays[2][0], weights, 1, 0.5, 2.0, weights, arrays[2][1])
    clusters.median_distance(arrays[3])
    likelihoods.bimodal_log_likelihood(arrays[1], weights, 1)
    likelihoods.banana_log_likelihood(arrays[2], weights, 1, 1)
    likelihoods.banana_grad_log_likelihood(arrays[3][:, 1:], weights[::2], 1.0, 0)
    likelihoods.bimodal_grad_log_likelihood(arrays[5][:, 2:3], weights, 1.0)
    model, x, one = mixture.mixture_model(1.0, 70, 1.0, 0.5), weights, arrays[2][:1]
    chains.langevin(model, one[0], arrays[5], (1, 1, 1, 0), arrays[2], one[0] + 9)
    chains.hamiltonian(model, x, (one[0], 0, one[0]), one, np.ones(1, int), weights[:1], 1, one[0], one[0] + 9, 1)
    chains.uniforms_of(x)
    assert signatures() == before


@pytest.mark.nightly
def test_no_kernel_reads_or_writes_outside_of_its_arrays(tmp_path):
    """The tests of the kernels again, with every index checked."""
    names = "clusters gaussian_processes kde likelihoods networks resampling spins stein topics".split()
    files = [f"tests/kernels/test_{name}.py" for name in names]
    code = f"import numba, pytest; assert numba.config.BOUNDSCHECK == 1; raise SystemExit(pytest.main({files!r}))"
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1"}  # with less optimisation it compiles in less time
    places = {
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "PYTEST_ADDOPTS": "-x -n 0 -p no:cacheprovider",
    }
    command = {"args": [sys.executable, "-c", code], "env": {**os.environ, **checked, **places}, "cwd": ROOT}
    done = subprocess.run(**command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout[-2000:]


def missing(target, method):
    recipe = Recipe(target, method)
    for item in compiled_functions().values():
        item._reset_overloads()
    for call in compiling.calls():
        if call.group in recipe.kernel_groups:
            call.make()
    before = signatures()
    session = Session(recipe)
    session.advance(1)
    session.advance(1)
    session.frame.metrics  # noqa: B018, computed when asked for
    Runner(session).snapshot()
    after = signatures()
    return {name: after[name] for name in after if after[name] != before[name]}


def test_the_default_run_needs_no_more_than_its_group():
    assert Recipe().kernel_groups[0] == compiling.DEFAULT
    assert missing("mixture", "pmd") == {}


def test_targets_methods_and_knobs_name_groups_that_there_are():
    known = set(compiling.all_groups())
    named = {group for one in (*TARGETS.values(), *METHODS.values()) for group in one.kernel_groups}
    named |= {group for values in compiling.VALUES.values() for group in values} | set(compiling.FIT_GROUPS)
    chains = {method.chain_kernels for method in METHODS.values()} - {""}
    named |= {group for group in known if group.split(",")[0] in chains}
    assert named <= known
    of_dimensions = {jit.in_dimensions(dim) for dim in (1, 2, 3, 5)}
    assert known - named - of_dimensions <= {"oblique", "many particles"}, "no run waits for it"


REDUCTIONS = {"sum", "mean", "prod", "var", "std", "min", "max", "cumsum", "dot"}


def faults_of(source, options):
    """What would depend on what was compiled before: calls, whole exponents, sums of arrays with fast mathematics.

    Numba compiles a whole exponent and a reduction once a process, with the flags of whoever comes first.
    """
    nodes = list(ast.walk(ast.parse(textwrap.dedent(source))))
    faults = [] if options.get("forceinline") else ["not inlined where another function calls it"]
    powers = (node for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow))
    faults += [ast.unparse(node) for node in powers if isinstance(getattr(node.right, "value", 0.5), int)]
    called = [node.func for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    return faults + [ast.unparse(one) for one in called if options.get("fastmath") and one.attr in REDUCTIONS]


def test_no_compiled_function_depends_on_what_was_compiled_before():
    found = {name: (item.py_func, item.targetoptions) for name, item in compiled_functions().items()}
    found |= {one.__name__: (one, OVERLOAD) for one in (*LOG_JOINTS.values(), *GRADIENTS.values())}
    assert len(found) > 200 and EXP_OPTIONS["forceinline"]
    faults = {name: faults_of(inspect.getsource(function), options) for name, (function, options) in found.items()}
    assert {name: words for name, words in faults.items() if words} == {}
