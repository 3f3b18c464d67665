import ast
import inspect
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels import chains, clusters, compiling, grid, jit, kde, likelihoods, mixture, resampling, spins
from pmdviz.kernels.compiling import compiled_modules
from pmdviz.kernels.jit import EXP_OPTIONS, OVERLOAD
from pmdviz.kernels.likelihoods import GRADIENTS, LOG_JOINTS
from pmdviz.lab.loop.runner import Runner
from pmdviz.methods import METHODS
from pmdviz.targets import TARGETS
from tests.support.tables import looped

MODULES = compiling.compiled_modules()
ROOT = Path(__file__).parents[2]

# Every edge of an array that a loop might run over, with every index checked.
EDGES = """
import numpy as np
from numba import config, njit
from pmdviz.kernels import clusters, compiling, grid, kde, mixture, resampling

assert config.BOUNDSCHECK == 1
for call in compiling.calls():
    call.make()
for dim in (1, 2, 3, 4, 7):
    for num in (1, 63, 64, 65, 1025):
        x, log_w = np.random.default_rng(0).normal(size=(num, dim)), np.zeros(num)
        kde.kde_log_density(x, log_w, np.eye(dim), np.concatenate([x[:65], x[:1] + 1e3]))
        kde.kde_log_density(x, log_w, np.eye(dim), np.concatenate([x[:65], x[:1] + 30]), single=True)
        for count in (1, num):
            clusters.pooled_local_covariance(x, np.ones(num), np.array([0, num - 1]), np.ones(dim), count)
            clusters.pooled_local_covariance(x, np.ones(num), np.array([0]), np.ones(dim), count, 0.5, 1e9)
        for each in (1, 2, 16):
            resampling.thinned(np.repeat(x, each, axis=0), num, np.full(num, np.nextafter(1.0, 0.0)))
corners = np.array([[a, b] for a in (-99.0, -3.0, 0.0, 3.0, 99.0) for b in (-99.0, -3.0, 0.0, 3.0, 99.0)])
for cholesky in (np.eye(2) * 0.01, np.eye(2), np.array([[0.4, 0], [0.38, 0.02]]), np.array([[0.4, 0], [-0.38, 0.02]])):
    for nx in (1, 2, 16, 33):
        for ny in (1, 15, 16, 17):
            axes = np.linspace(-3, 3, nx), np.linspace(-3, 3, ny)
            grid.kde_on_grid(corners, np.zeros(25), cholesky, *axes)
    grid.kde_on_line(corners[:, :1], np.zeros(25), np.eye(1), np.linspace(-3, 3, 17))
for n in (1, 10, 1000):
    assert resampling.systematic(np.full(10, 0.1), n, np.nextafter(1.0, 0.0)).max() < 10
for num in (1, 511, 512, 513):
    for batch in (0, 1, 500, 501):
        mixture.mixture_log_likelihood(np.zeros((num, 2)), np.zeros(batch), 1.0, 0.5)
        mixture.mixture_grad_log_likelihood(np.zeros((num, 2)), np.zeros(batch), 1.0, 0.5)
try:
    njit(lambda a, i: a[i])(np.zeros(2), 2)
except IndexError:
    print("bounds were checked")
"""


def signatures():
    return {
        f"{module.__name__}.{name}": list(item.signatures)
        for module in MODULES
        for name, item in vars(module).items()
        if hasattr(item, "py_func")
    }


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
def test_edges_with_every_index_checked(tmp_path):
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1"}  # with less optimisation it compiles in less time
    environment = {**os.environ, **checked, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", EDGES]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "bounds were checked"


def forget_all():
    for module in MODULES:
        for item in vars(module).values():
            if hasattr(item, "py_func"):
                item._reset_overloads()


def missing(target, method):
    """What the run's first steps and its pictures compile or load that its groups have not."""
    recipe = Recipe(target, method)
    forget_all()
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


# What every compiled function has in common.

REDUCTIONS = {"sum", "mean", "prod", "var", "std", "min", "max", "cumsum", "dot"}


def whole_powers(nodes):
    """The places where a whole number is an exponent: numba compiles them once a process, with anybody's flags."""
    powers = (node for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow))
    return [ast.unparse(node) for node in powers if isinstance(getattr(node.right, "value", 0.5), int)]


def reductions(nodes):
    """Sums and the like of arrays, which numba compiles in the same way."""
    called = (node.func for node in nodes if isinstance(node, ast.Call))
    return [ast.unparse(one) for one in called if isinstance(one, ast.Attribute) and one.attr in REDUCTIONS]


def faults_of(source, options):
    nodes = list(ast.walk(ast.parse(textwrap.dedent(source))))
    faults = [] if options.get("forceinline") else ["not inlined where another function calls it"]
    return faults + whole_powers(nodes) + (reductions(nodes) if options.get("fastmath") else [])


def test_no_compiled_function_depends_on_what_was_compiled_before():
    found = {
        f"{item.__module__}.{item.__name__}": (item.py_func, item.targetoptions)
        for module in compiled_modules()
        for item in vars(module).values()
        if isinstance(item, Dispatcher)
    }
    found |= {
        f"{one.__module__}.{one.__name__}": (one, OVERLOAD) for one in (*LOG_JOINTS.values(), *GRADIENTS.values())
    }
    assert len(found) > 200
    faults = {name: faults_of(inspect.getsource(function), options) for name, (function, options) in found.items()}
    assert {name: words for name, words in faults.items() if words} == {}
    assert EXP_OPTIONS["forceinline"]
