"""The contract of a method, over every method and target: a new one is tested by being in its table."""

import numpy as np
import pytest

from pmdviz.densities import KernelDensity, effective_sample_size
from pmdviz.errors import InputError
from pmdviz.frame import Frame
from pmdviz.methods import METHODS, StepInfo, find_method
from pmdviz.recipe import Recipe
from pmdviz.session import Session
from pmdviz.targets import TARGETS, make_target
from tests.engine import CountingTarget

FLAGS = [
    (name, {flag: value})
    for name, method in METHODS.items()
    for flag, spec in method.Knobs.specs().items()
    for value in ((True, False) if spec.kind == "flag" else spec.choices)
]
PAIRS = [
    pytest.param(METHODS[name], target, knobs, id=f"{name}, {target}, {knobs}")
    for name, knobs in FLAGS
    for target in TARGETS
    if not METHODS[name].missing_in(make_target(target))
]


def set_up(method, name, given, seed=0, num_particles=40):
    target = make_target(name, num_data=37)
    knobs = method.Knobs.checked({"num_particles": num_particles, "batch_size": 6, **given})
    return np.random.default_rng(seed), target, knobs


def rows(rng, target, method, state, knobs):
    return target.data[rng.integers(target.num_data, size=method.batch_size(state, knobs, target.num_data))]


def arrays(state):
    return [part for part in state if isinstance(part, np.ndarray)]


@pytest.mark.parametrize("method, name, given", PAIRS)
def test_init_and_step_keep_the_contract(method, name, given):
    rng, target, knobs = set_up(method, name, given)
    state = method.init(rng, target, knobs)
    for k in range(12):
        density = method.density(state, knobs, target)
        assert isinstance(density, KernelDensity)
        assert density.particles.shape == (40, target.dim)
        assert density.log_weights.shape == (40,)
        assert abs(np.exp(density.log_weights).sum() - 1) < 1e-12  # logsumexp 0
        assert density.cholesky.shape == (target.dim, target.dim)
        assert all(part.dtype == np.float64 and not np.isnan(part).any() for part in arrays(state))
        assert state.iteration == k
        batch, before = rows(rng, target, method, state, knobs), [part.copy() for part in arrays(state)]
        data = batch.copy()
        after, info = method.step(rng, state, target, batch, knobs)
        assert all(np.array_equal(a, b) for a, b in zip(arrays(state), before, strict=True)), "a step changed its input"
        assert np.array_equal(batch, data)
        assert isinstance(info, StepInfo) and info.visited == len(batch)
        assert (info.step_size is None or 0 < info.step_size <= 1) and 1 - 1e-9 <= info.ess <= 40 * (1 + 1e-9)
        assert info.ess == pytest.approx(effective_sample_size(density.log_weights))
        assert info.words and "\n" not in info.words
        state = after


@pytest.mark.parametrize("method, name, given", PAIRS)
def test_step_and_density_are_functions_of_their_arguments(method, name, given):
    _, target, knobs = set_up(method, name, given)
    state = method.init(np.random.default_rng(1), target, knobs)
    for _ in range(3):
        state, _ = method.step(np.random.default_rng(2), state, target, target.data[:6], knobs)
    one, two = (method.step(np.random.default_rng(3), state, target, target.data[:6], knobs) for _ in range(2))
    assert [part.tobytes() for part in arrays(one[0])] == [part.tobytes() for part in arrays(two[0])]
    assert one[1] == two[1]
    kernels = [method.density(state, knobs, target).cholesky.tobytes() for _ in range(2)]
    assert kernels[0] == kernels[1]


@pytest.mark.parametrize("method, name, given", PAIRS)
@pytest.mark.parametrize("budget", [1, 30, 37, 75, 200])
def test_visited_is_what_the_target_was_given(method, name, given, budget):
    _, target, knobs = set_up(method, name, given)
    counting, largest = CountingTarget(target), 0
    session = Session(Recipe(name, method.name, target_options={"num_data": 37}, budget=budget, **knobs.as_dict()))
    session.target = counting
    session.frame = session.frame.replaced(target=counting)
    while not session.done:
        before = session.frame.visited
        assert before < budget, "a run stops at the first visited >= budget"
        session.advance()
        assert session.frame.visited == counting.rows
        largest = max(largest, session.frame.visited - before)
    assert budget <= counting.rows < budget + largest
    assert session.advance(5).visited == counting.rows, "nothing happens after the end"
    evaluated = sum(len(batch) for batch in counting.calls) * 40
    assert session.frame.density_evaluations == evaluated


@pytest.mark.parametrize("method, name, given", PAIRS)
@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_few_particles_and_few_data_are_legal(method, name, given, m):
    for num_data in (1, 2):
        options = {"num_data": num_data}
        session = Session(Recipe(name, method.name, target_options=options, budget=25, num_particles=m, **given))
        frame = session.advance(30)
        assert frame.visited >= 25 and frame.particles.shape[0] == m
        assert np.isfinite(frame.particles).all() and frame.weights.sum() == pytest.approx(1)
        assert all(v is None or not np.isnan(v) for v in frame.metrics.values())


def test_a_pair_that_does_not_fit_says_what_is_missing():
    class Steep(type(METHODS["pmd"])):
        name = ""
        needs_gradient = True

    target = make_target("gaussian")
    target.has_gradient = False
    with pytest.raises(InputError, match="needs a gradient of its log density, which target 'gaussian' does not offer"):
        Steep().check_pair(target, METHODS["pmd"].Knobs.checked({}))


def test_every_method_says_what_it_is():
    for name, method in METHODS.items():
        assert find_method(name) is method and method.name == name and method.title and method.reference


@pytest.mark.parametrize("name", ["pdm", None, [], {}, 3])
def test_an_unknown_method_is_an_error_of_input(name):
    with pytest.raises(InputError, match="unknown method"):
        find_method(name)


def test_frames_cannot_be_written_to():
    frame = Session(Recipe("gaussian", num_particles=10, budget=30)).advance()
    assert isinstance(frame, Frame)
    for array in (frame.particles, frame.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        frame.iteration = 5
