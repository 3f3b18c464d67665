"""What is compiled and when, and what no kernel computes with."""

import ast
import inspect
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels import chains, clusters, compiling, grid, jit, kde, likelihoods, mixture, resampling, spins, stein
from pmdviz.kernels.compiling import Call, Compiler, NotCached, Process, calls, only_loading
from pmdviz.kernels.jit import DEFAULT, EXP_OPTIONS, OVERLOAD
from pmdviz.kernels.kde import kde_log_density
from pmdviz.kernels.likelihoods import GRADIENTS, LOG_JOINTS
from pmdviz.kernels.networks import LayeredShape, NetShape, regression_gradient
from pmdviz.kernels.resampling import _top, multinomial, residual, stratified, systematic, thinned
from pmdviz.lab.loop.runner import Runner
from pmdviz.methods import METHODS
from pmdviz.targets import TARGETS
from tests.support.tables import looped

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60


@pytest.fixture
def queue(monkeypatch):
    order, compiled, gate = [], set(), threading.Event()

    def make(words):
        if words not in compiled:
            raise NotCached

    class Noting:
        def __init__(self):
            self.niceness = 0

        def compile(self, call, niceness):
            assert gate.wait(PATIENCE_S)
            order.append((call.words, niceness))
            compiled.add(call.words)
            return 2.0

        def end(self):
            pass

    groups = "banana", DEFAULT, "rest", "svgd"
    found = [Call(group, f"{group} {k}", lambda w=f"{group} {k}": make(w)) for group in groups for k in range(2)]
    monkeypatch.setattr(compiling, "calls", lambda: found)
    monkeypatch.setattr(compiling, "Process", Noting)
    monkeypatch.setattr(compiling, "SECONDS", {call.words: 1.0 for call in found})
    made = Compiler(lanes=1)
    made.order, made.gate = order, gate
    return made


def test_what_somebody_waits_for_comes_first_and_the_rest_while_nobody_plays(queue):
    page = threading.Event()  # any object
    queue.somebody_plays(page, True)
    queue.begin()
    queue.ask(("svgd", "banana"))
    queue.gate.set()
    assert queue.wait((DEFAULT,), PATIENCE_S) and queue.wait(("svgd", "banana"), PATIENCE_S)
    asked = {f"{group} {k}" for group in ("banana", DEFAULT, "svgd") for k in (0, 1)}
    assert {words for words, _ in queue.order} == asked and len(queue.order) == 6
    assert {niceness for _, niceness in queue.order} == {compiling.FOR_A_PAGE}
    assert not queue.is_ready(("rest",)) and queue.seconds_left(("rest",)) > 0
    queue.somebody_plays(page, False)
    with queue._change:
        assert queue._change.wait_for(lambda: len(queue._ready) == 8, PATIENCE_S)
    assert queue.order[6:] == [("rest 0", compiling.LOWEST), ("rest 1", compiling.LOWEST)]


def test_seconds_left_follow_the_measured_times_down_to_none(queue):
    assert queue.seconds_left(()) == 0.0
    queue.begin()
    queue.ask(("svgd",))
    assert not queue.wait(("svgd",), 0.05), "nothing is compiled yet"
    assert 0 < queue.seconds_left(("svgd",)) <= 2 + 2, "at most those of the group and of the default run"
    queue.gate.set()
    assert queue.wait(("svgd",), PATIENCE_S)
    assert queue.seconds_left(("svgd",)) == 0.0


def test_what_no_other_process_compiles_is_compiled_here(queue, monkeypatch):
    made = []
    call = Call("one", "one", lambda: made.append(compiling._this_thread.__dict__.get("only_loads")))
    for name, value in (("Process", Process), ("calls", lambda: [call]), ("_is_loaded", lambda call: False)):
        monkeypatch.setattr(compiling, name, value)
    monkeypatch.setattr(compiling.sys, "executable", "no-such-program")
    assert queue.wait(("one",), PATIENCE_S) and made == [None]


def test_another_process_compiles_and_is_replaced_when_it_died_and_a_thread_that_only_loads_compiles_none(caplog):
    with only_loading(), pytest.raises(NotCached):
        _top.compile("(float32[::1], float32[::1], float32)")
    call, process = next(call for call in calls() if call.words == "step limit"), Process()
    assert process.compile(call, compiling.LOWEST) > 0.0
    assert process.compile(Call("none", "no such call", None), compiling.LOWEST) is None
    assert "no such call" in caplog.text, "the last line of its traceback"
    assert process.compile(call, compiling.FOR_A_CALLER) > 0.0
    process.end()


THIN = """
import tempfile; tempfile.tempdir = {folder!r}
from numba.core.caching import CacheImpl, UserProvidedCacheLocator
CacheImpl._locator_classes = [UserProvidedCacheLocator]
import numpy as np
from pmdviz.kernels.factors import cholesky
assert cholesky(np.eye(2)[None]).shape == (1, 2, 2)
"""


def test_without_a_folder_for_them_kernels_are_kept_in_a_temporary_one(tmp_path):
    (tmp_path / "file").touch()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "file"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", THIN.format(folder=str(tmp_path))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "in a temporary folder" in done.stderr and "NUMBA_CACHE_DIR" in done.stderr and done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"], "the temporary folder is removed"


MODULES = compiling.compiled_modules()


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
    model, x, one = mixture.mixture_model(1.0, 70.0, 1.0, 0.5), weights, arrays[2][:1]
    chains.langevin(model, one[0], arrays[5], (1, 1, 1, 0), arrays[2], one[0] + 9)
    chains.hamiltonian(model, x, (one[0], 0, one[0]), one, np.ones(1, int), weights[:1], 1, one[0], one[0] + 9, 1)
    chains.uniforms_of(x)
    assert signatures() == before


SLOPES = (
    "tests/targets/test_targets.py::test_the_gradient_is_that_of_the_log_density",
    "tests/targets/test_custom.py::test_the_averaged_gradient_is_a_mean_of_plain_ones",
)


@pytest.mark.nightly
def test_no_kernel_reads_or_writes_outside_of_its_arrays(tmp_path):
    """The tests of the kernels again, with every index checked."""
    names = "discrete gaussian_processes kde likelihoods resampling stein".split()
    files = [*(f"tests/kernels/test_{name}.py" for name in names), "tests/targets/test_discrete.py", *SLOPES]
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
    """What Numba compiles once a process, with the flags of whoever comes first: calls, whole exponents, reductions."""
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


ZERO, ONE, EYE, NAN = np.zeros, np.ones, np.eye(2), np.full((3, 2), np.nan)
PAIR = ZERO((3, 2))  # three points in the plane
NET, LAYERS = NetShape(2, 1, 2, 1.0, 1.0), LayeredShape((3, 2, 1), False, True)

# Words of the message, the kernel, and what it is given.
REFUSED = [
    ("weights must be finite", regression_gradient, (ONE((1, LAYERS.dim)) * np.nan, ZERO((1, 4)), LAYERS)),
    ("cholesky must have shape", kde_log_density, (ZERO((3, 3)), ZERO(3), EYE, ZERO((4, 2)))),
    ("particles must be finite", kde_log_density, (NAN, ZERO(3), EYE, ZERO((4, 2)))),
    ("log_weights must be finite", kde_log_density, (PAIR, np.array([0, 0, np.inf]), EYE, ZERO((4, 2)))),
    ("no particle has a weight", kde_log_density, (PAIR, np.full(3, -np.inf), EYE, ZERO((4, 2)))),
    ("positive diagonal", kde_log_density, (PAIR, ZERO(3), ZERO((2, 2)), ZERO((4, 2)))),
    ("points must be finite", kde_log_density, (PAIR, ZERO(3), EYE, np.full((4, 2), np.inf))),
    *(("weights", systematic, (np.array(w), 1, 0.5)) for w in ([], [0.0], [-0.1, 1.1], [np.nan, 1.0], [np.inf, 1.0])),
    *(("weights", way, (np.array([-1.0, 2.0]), np.array([0.5]))) for way in (stratified, residual, multinomial)),
    ("scores must be finite", stein.matched_force, (PAIR, NAN, ONE(3), 1.0)),
    ("log_masses must be finite", stein.soft_means, (PAIR, PAIR, np.array([0.0, -np.inf, 0.0]), 1.0)),
    ("must be finite", stein.transport, (NAN, PAIR, PAIR, 1.0)),
    ("must be finite", stein.log_determinants, (np.full((1, 2, 2), np.inf), 1.0)),
    *(("must be finite", force, (PAIR, NAN, 1.0)) for force in (stein.stein_force, stein.imq_force)),
    ("finite", thinned, (np.array([[0.0], [np.nan]]), 1, ZERO(1))),
]  # fmt: skip


@looped("words, kernel, given", REFUSED)
def test_what_cannot_be_used_is_refused(words, kernel, given):
    with pytest.raises(ValueError, match=words):
        kernel(*given)
