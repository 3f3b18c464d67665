"""The contract of a method: at its defaults, with every option, and on every target of the tables."""

from collections.abc import Mapping

import numpy as np
import pytest

from pmdviz.densities.density import GaussianMixture, KernelDensity, Points, ShapedDensity, effective_sample_size
from pmdviz.densities.product import DiagonalDensity, ProductDensity
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS, StepInfo, find_method
from pmdviz.methods.base import frozen
from pmdviz.targets import TARGETS, make_target
from tests.support import engine
from tests.support.tables import looped, refused

OPTIONS = [
    (name, {knob: value})
    for name, method in METHODS.items()
    for knob, spec in method.Knobs.specs().items()
    for value in ((True, False) if spec.kind == "flag" else spec.choices)
]
CHEAP = ("gaussian", "mixture", "sparse_gp", "logistic", "topics", "ising", "binary_net", "regression_net")


def cheap(name):
    return next(target for target in CHEAP if not METHODS[name].missing_in(engine.default_target(target)))


BOTH_AT_ONCE = ("gaussian_vb",)  # asks for gradient and likelihood of the same rows, which are visited once
ONE_VISIT = ("black_box_is",)  # visits the data in its first step, and then computes with what it knows
MAX_STEP = {"pmd": 1.0, "structured_pmd": 1.0}  # a mirror step is a share


def set_up(method, target, given, seed=0):
    target = engine.CountingTarget(engine.small_target(target, 37))
    knobs = method.Knobs.checked(engine.small_knobs(method, target.num_data, **given))
    return np.random.default_rng(seed), target, knobs if given else method.fitted(knobs, target)


def rows(rng, target, method, state, knobs):
    if method.batches(state, knobs) == "whole":
        return target.data_rows
    return target.data_rows[rng.integers(target.num_data, size=method.batch_size(state, knobs, target.num_data))]


def arrays(state):
    for part in state:
        if isinstance(part, np.ndarray):
            yield part
        elif isinstance(part, tuple):
            yield from arrays(part)


def bits(part):
    if isinstance(part, np.ndarray):
        return part.shape, part.tobytes()
    if isinstance(part, Mapping):
        return {name: bits(value) for name, value in part.items()}
    return [bits(each) for each in part] if isinstance(part, tuple) else part


def check_density(density, target):
    k, dim = len(density.particles), target.dim
    assert density.particles.shape == (k, dim) and density.log_weights.shape == (k,) and k >= 1
    assert np.isfinite(density.particles).all() and target.space.check(density.particles) is not None
    assert abs(np.exp(density.log_weights).sum() - 1) < 1e-12  # logsumexp 0
    if "reals" not in target.offers:
        return
    assert density.choleskys.shape == (k, dim, dim)
    assert np.array_equal(density.choleskys, np.tril(density.choleskys))
    assert (np.diagonal(density.choleskys, axis1=1, axis2=2) > 0).all() and np.isfinite(density.choleskys).all()


def has_wanted_size(num, knobs, m):
    return num >= m if getattr(knobs, "growth", "fixed") != "fixed" else num == m


def check_particles(densities, knobs, target, iteration):
    density, *others = densities.values()  # a mixture that they are drawn from may be the better q
    assert all(isinstance(other, GaussianMixture | DiagonalDensity) for other in others)
    kinds = KernelDensity | ShapedDensity | DiagonalDensity | ProductDensity if "reals" in target.offers else Points
    assert isinstance(density, kinds) and has_wanted_size(len(density.particles), knobs, 40)


def check_chain(densities, knobs, target, iteration):
    if "reals" not in target.offers:
        assert [type(density) for density in densities.values()] == [Points]
        return
    assert list(densities) == ["kde", "gaussian"]
    kde, gaussian = densities.values()
    left_out = knobs.burn_in if knobs.burn_in >= 1 else np.floor(knobs.burn_in * iteration)
    num_kept = -(-(iteration - left_out) // knobs.thinning)
    assert len(kde.particles) == (num_kept if num_kept > 0 else iteration + 1)
    assert len(np.unique(kde.weights)) == 1 and len(gaussian.particles) == 1
    np.testing.assert_allclose(gaussian.particles[0], kde.particles.mean(axis=0), atol=1e-12)


def check_structured(densities, knobs, target, iteration):
    assert [len(each.weights) for each in densities.values()] == [40]


CHECKS = {"particles": check_particles, "chain": check_chain, "structured": check_structured}


def check_info(info, method, densities):
    assert isinstance(info, StepInfo) and info.words and "\n" not in info.words
    assert info.cost.visited >= 0 and info.scalars.get("zero_weight", 0) >= 0
    assert {*info.events} <= {*method.marks}
    assert info.step_size is None or 0 < info.step_size <= MAX_STEP.get(method.name, 1e300)
    density = next(iter(densities.values()))
    if method.family not in ("particles", "structured"):
        assert info.scalars.get("ess_before") is None and info.rejuvenated == ""
    elif info.scalars.get("ess_before") is None:  # a method without weights
        assert len(np.unique(density.log_weights)) == 1
    else:
        assert 1 - 1e-9 <= info.scalars.get("ess_before") <= len(density.particles) * (1 + 1e-9)
        assert info.scalars.get("ess_before") == pytest.approx(effective_sample_size(density.log_weights))


def steps_are_as_declared(method, name, given):
    rng, target, knobs = set_up(method, name, given)
    state = frozen(method.init(rng, target, knobs))
    assert target.rows == 0, "iteration 0 has visited nothing"
    for k in range(8):
        densities = method.densities(state, knobs, target)
        assert densities and "\n" not in method.caveat(state, knobs)
        for density in densities.values():
            check_density(density, target)
        if method.family in CHECKS:
            CHECKS[method.family](densities, knobs, target, k)
        assert all(part.dtype in (np.float64, np.int64) and not np.isnan(part).any() for part in arrays(state))
        assert state.iteration == k
        if method.ended(state, knobs, target):
            break
        before, (asked, pairs, gradient_pairs) = bits(state), (target.rows, target.pairs, target.gradient_pairs)
        batch = rows(rng, target, method, state, knobs)
        data = batch.copy()
        after, info = method.step(rng, state, target, batch, knobs)
        frozen(after)
        assert bits(state) == before and np.array_equal(batch, data), "a step changed its input"
        check_info(info, method, densities)
        assert info.cost.visited == len(batch) or method.name != "pmd"
        first, then = (next(iter(each.values())) for each in (densities, method.densities(after, knobs, target)))
        same = len(first.particles) == len(then.particles)
        assert same or info.rejuvenated or method.family == "chain", "another number of particles"
        again = len(getattr(state, "rest_rows", ())) if len(batch) == 0 else 0  # a batch applied in several steps
        again += len(batch) if method.name in BOTH_AT_ONCE else 0
        made = target.pairs - pairs  # of one theta, row by row, where it comes with the gradient in one pass
        shared = made if given.get("one_pass") else 0
        assert info.cost.visited == target.rows - asked - again - shared
        assert info.cost.density_evaluations == made - shared
        assert info.cost.gradient_evaluations == target.gradient_pairs - gradient_pairs
        state = after
    assert k >= (1 if target.data is None or method.name in ONE_VISIT else 4), "a method may end, but not at once"


def results_follow_from_arguments(method, name, given):
    rng, target, knobs = set_up(method, name, given)
    state = method.init(np.random.default_rng(1), target, knobs)
    for _ in range(3):
        state, _ = method.step(np.random.default_rng(2), state, target, rows(rng, target, method, state, knobs), knobs)
    batch = rows(rng, target, method, state, knobs)
    one, two = (method.step(np.random.default_rng(3), state, target, batch, knobs) for _ in range(2))
    assert bits(one[0]) == bits(two[0])
    assert engine.told(one[1]) == engine.told(two[1])
    first, second = (method.densities(state, knobs, target).values() for _ in range(2))
    for q, again in zip(first, second, strict=True):
        assert q.particles.tobytes() == again.particles.tobytes()
        assert np.array_equal(getattr(q, "choleskys", 0), getattr(again, "choleskys", 0))


def visits_are_counted(method, name, given):
    for budget in () if name not in engine.sized_targets() else (75,) if given else (1, 75):
        _, counting, knobs = set_up(method, name, given)
        largest = again = shared = 0
        recipe = Recipe(name, method.name, target_options={"num_data": 37}, budget=budget, **knobs.as_dict())
        session = engine.Unmeasured(recipe)  # metrics may ask the target too
        session.target = counting
        session.frame = session.frame.replaced(target=counting)
        while not session.done:
            before, asked = session.frame.visited, counting.rows
            assert before < budget, "a run stops at the first visited >= budget"
            session.advance()
            if session.frame.visited == before:  # a limited Bayes update goes on with its batch
                assert given == {"warm_start": True} or method.name in ONE_VISIT
                again += counting.rows - asked
            again += (counting.rows - asked) // 2 if method.name in BOTH_AT_ONCE else 0
            shared = counting.pairs if given.get("one_pass") else 0  # rows whose value came with the gradient
            assert session.frame.visited == counting.rows - again - shared
            largest = max(largest, session.frame.visited - before)
        assert session.frame.visited < budget + largest
        assert session.ended or session.frame.visited >= budget
        assert session.advance(5).visited == counting.rows - again - shared, "nothing happens after the end"
        assert session.frame.density_evaluations == counting.pairs - shared
        assert session.frame.gradient_evaluations == counting.gradient_pairs


def few_are_enough(method, name, given):
    for m in () if name not in engine.sized_targets() else (1,) if given else (1, 2):
        sizes = {"num_particles": m} if "num_particles" in method.Knobs.specs() else {}
        options, knobs = {"num_data": m, **engine.few_coordinates(name)}, {**sizes, **given}
        session = Session(Recipe(name, method.name, target_options=options, budget=25, **knobs), metrics_every=10**6)
        frame = session.advance(30 if sizes else m)
        assert session.ended or frame.visited >= (25 if sizes else min(m, 25))
        assert method.family != "particles" or has_wanted_size(len(frame.particles), frame.knobs, m)
        assert np.isfinite(frame.particles).all() and frame.weights.sum() == pytest.approx(1)
        assert all(v is None or not np.isnan(v) for v in frame.metrics.values())


EACH_CHECK = [steps_are_as_declared, results_follow_from_arguments, visits_are_counted, few_are_enough]
CONTRACT = pytest.mark.parametrize("check", EACH_CHECK, ids=lambda check: check.__name__)


@CONTRACT
@looped("name", METHODS)
def test_a_method_keeps_its_contract_on_its_cheapest_target(check, name):
    check(METHODS[name], cheap(name), {})


@pytest.mark.nightly
@CONTRACT
@looped("name, given", OPTIONS)
def test_so_it_does_with_every_option(check, name, given):
    check(METHODS[name], cheap(name), given)


@pytest.mark.nightly
@CONTRACT
@pytest.mark.parametrize("name", METHODS)
def test_so_it_does_on_every_target(check, name):
    for target in TARGETS:
        if not METHODS[name].missing_in(engine.default_target(target)) and (name, target) not in engine.DIVERGES:
            check(METHODS[name], target, {})


def test_every_method_says_what_it_is_and_what_a_target_lacks_for_it():
    assert all(find_method(name) is one and one.title and one.source for name, one in METHODS.items())
    for name in ("pdm", None, [], {}, 3):
        refused("unknown method", find_method, name)

    class Steep(type(METHODS["pmd"])):
        name = ""
        requires = frozenset({"gradient"})

    target = make_target("gaussian")
    target.declared = frozenset()
    words = "needs a gradient of its log density, which target 'gaussian' does not offer"
    refused(words, Steep().check_pair, target, METHODS["pmd"].Knobs.checked({}))


@looped("name", [name for name, method in METHODS.items() if "batches" in method.Knobs.specs()])
def test_where_there_is_one_datum_the_way_to_draw_batches_is_left_out_and_changes_nothing(name):
    method = METHODS[name]
    for target in map(engine.default_target, ("gmm", "ising")):
        if not method.missing_in(target) and "batches" in method.idle_knobs(target):
            given = [engine.small_knobs(method, 1, batches=each) for each in method.Knobs.specs()["batches"].choices]
            runs = [engine.advanced(name, 2, target.name, **knobs).frame.particles.tobytes() for knobs in given]
            assert len(runs) > 1 and len({*runs}) == 1
