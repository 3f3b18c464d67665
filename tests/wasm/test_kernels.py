"""Every kernel of the page against numba on random inputs, and the compiled module against its sources."""

import gzip
import json

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import BatchStream
from pmdviz.export.live import LIVE_METHODS, LIVE_TARGETS, settings_value, target_value
from pmdviz.kernels.mixture import SCALE
from pmdviz.wasm import MODULE, NAMES
from pmdviz.wasm.kernels import KERNELS, digest

rng = np.random.default_rng(0)
m, n, k = 130, 64, 10


def cloud(count=m, d=2):
    return rng.standard_normal((count, d)) + np.where(rng.random((count, 1)) < 0.5, -2, 2)


def columns(count=m, d=2):
    return np.ascontiguousarray(cloud(count, d).T)


def weights(count=m):
    w = rng.random(count)
    return w / w.sum()


def streamed(rng):
    state = rng.bit_generator.state
    whole, increment = state["state"]["state"], state["state"]["inc"]
    parts = [whole >> 64, whole % 2**64, increment >> 64, increment % 2**64, state["has_uint32"], state["uinteger"]]
    return np.array(parts, np.uint64)


def stream():
    return streamed(np.random.default_rng(3))


def f4(values):
    return values.astype(np.float32)


def base(count=m):
    return -5 * rng.random(count)


PLACED = (cloud(), base(), np.tile([0, 40], (m, 1)), 0.3, 0.4, 0.5, np.linspace(-4, 4, 50), np.linspace(-4, 4, 40))
CALLS = {  # the arguments of each kernel, those of a tuple one by one; for what it returns its shape comes last
    "uniforms": (stream(), np.empty(100)),
    "normals": (stream(), np.empty(20_000)),
    "whole_numbers": (stream(), 1000, np.empty(n, np.int64)),
    "shuffled": (stream(), np.empty(1001, np.int64)),
    "uniforms_of": (rng.standard_normal(400) * 3, 400),
    "clustered": (columns(), weights(), np.arange(0, m, 5), 3, m),
    "assigned": (columns(), columns(), weights(), rng.integers(0, 2, m), 2, m),
    "moments": (columns(), weights(), 1.0, np.empty(2), np.zeros((2, 2))),
    "distances": (columns(), np.arange(5), [5, m]),
    "nearest": (np.arange(m, dtype=float), 19.0, 20, 20),
    "extent": (weights(), 0.3, 9.0),
    "covariance": (cloud(), weights(), np.arange(0, m, 3), np.zeros(2), np.zeros((2, 2))),
    "squared_distances": (cloud(), m * (m - 1) // 2),
    "squared_at_steps": (cloud(), np.array([1, 7]), 2 * m),
    "search": (weights(), (np.arange(300) + 0.3) / 300, 300),
    "thinned": (columns(640), 40, rng.random(40), 40),
    "largest_step": (base(), -50 * rng.random(m), 1.0, 0.5),
    "factorise": (np.array([np.cov(columns()), np.eye(2)]),),
    "solve": (np.array([[2.0, 0], [0.3, 0.7]]), np.eye(2)),
    "whiten": (cloud(), np.ones(2), np.array([[2.0, 0], [0.3, 0.7]]), np.empty((2, m))),
    "add_rows": (columns(), base(), cloud(n), np.empty(n), 0, n),
    "add_rows_single": (f4(columns()), f4(base()), f4(cloud(n)), np.empty(n), 0, n),
    "add_rows_many": (columns(d=7), base(), cloud(n, 7), np.empty(n), 0, n, np.empty((2, 512))),
    "redo_faint": (columns(), base(), cloud(n) + 100, np.zeros(n), np.zeros(n), 0, n),
    "times": (cloud(), 0.3, np.empty((m, 2))),
    "times_single": (cloud(), 0.3, np.empty((m, 2), np.float32)),
    "left_out": (f4(columns()), f4(base()), f4(cloud(n + 2)), rng.integers(-1, m, n), np.empty(n)),
    "left_out_many": (
        *(f4(columns(d=5)), f4(base()), f4(cloud(n + 2, 5)), rng.integers(-1, m, n), np.empty(n)),
        np.empty((2, 512), np.float32),
    ),
    "left_out_exactly": (columns(), base(), cloud(n + 2), rng.integers(-1, m, n), np.zeros(n), np.zeros(n)),
    "rows_reached": (cloud(), 0.7, np.linspace(-4, 4, 50), [m, 2]),
    "scatter_blocks": (*PLACED, np.zeros((40, 50)), 8, 24),
    "scatter_rows": (*PLACED, np.zeros((40, 50)), 8, 24),
    "scatter_line": (cloud()[:, 0].copy(), base(), 0.3, np.linspace(-5, 5, 200), np.zeros(200)),
    "stein_rows": (columns(), columns(), np.empty((m, 2)), np.empty(m), 0, m),
    "imq_rows": (columns(), columns(), columns(), np.empty((m, 2)), np.empty((m, 2)), np.empty(m), 0, m),
    **{f"mixture{few}": (*columns(), rng.standard_normal(701), SCALE / 2.5, -1.0, -1.0, np.empty(m))
       for few in ("", "_few")},
    **{f"mixture_slopes{few}": (*columns(), rng.standard_normal(701), SCALE / 2.5, -1.0, -1.0, np.empty((m, 2)))
       for few in ("", "_few")},
    "gaussian": (cloud(), np.ones(2), 3.0, -7.0, m),
    "banana": (cloud(), 0.4, 1.0, 9.0, -7.0, m),
    "banana_slopes": (cloud(), 0.4, 1.0, 9.0, [m, 2]),
    "bimodal": (cloud(d=1), 0.4, 9.0, -7.0, m),
    "bimodal_slopes": (cloud(d=1), 0.4, 9.0, [m, 1]),
    "gaussians": (cloud(), cloud(k), np.log(weights(k)), 0.5, np.empty(m)),
    "gaussians_slopes": (cloud(), cloud(k), np.log(weights(k)), 0.5, np.empty((m, 2))),
}  # fmt: skip


def test_the_committed_module_is_small_and_that_of_the_sources():
    known, module = json.loads(NAMES.read_text("utf-8")), MODULE.read_bytes()
    assert known["sources"] == digest(), "run `python -m pmdviz.wasm` (extra `wasm`), and commit what it writes"
    assert [*known["kernels"]] == [*KERNELS] == [*CALLS]
    words = {name: words for name, (words, _) in known["kernels"].items()}
    assert {name: entry.arguments for name, entry in KERNELS.items()} == words
    assert len(module) <= 500_000 and len(gzip.compress(module, 9)) <= 120_000


def expected(name):
    """What numba returns, and the arguments afterwards."""
    entry = KERNELS[name]
    flat = iter([np.array(a) if isinstance(a, np.ndarray) else a for a in CALLS[name]])
    values = [None if word == "none" else next(flat) for word in entry.words]
    arguments, at, tuples = [], 0, dict(entry.tuples)
    while at < len(values):
        size = tuples.get(at, 0)
        arguments.append(tuple(values[at : at + size]) if size else values[at])
        at += size or 1
    found = entry.function(*arguments)
    return found, [value for place, value in enumerate(values) if entry.words[place].startswith(">")]


@pytest.mark.browser
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_gives_what_numba_gives(driver, name):
    found, changed = expected(name)
    outs = [place for place, word in enumerate(w for w in KERNELS[name].words if w != "none") if word.startswith(">")]
    got, *left = driver.ask(f"[call.{name}(...v), ...{outs}.map((place) => v[place])]", *CALLS[name])
    single = "f4" in KERNELS[name].arguments
    for ours, theirs in zip([got, *left], [found, *changed], strict=True):
        if theirs is None:
            assert ours is None
        elif np.asarray(theirs).dtype.kind in "iub":
            np.testing.assert_array_equal(ours, theirs)
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-5 if single else 1e-12, atol=1e-7 if single else 1e-12)


STATES = 50
SINGLE_FROM = 4000  # particles: their density at a rejuvenation is taken in float32
FORMULA = {"density": "logaddexp(-(x - 1)**2, -square(x + 1)) - y**2 / 2 + 0.1 * sin(3 * x) * tanh(y)"}
OPTIONS = {"formula": FORMULA, "gmm": {"num_components": 4, "weights": "random"}}


def plain(state):
    if hasattr(state, "chains"):
        return {"chains": [plain(chain) for chain in state.chains], "iteration": state.iteration}
    return {name: plain(value) if hasattr(value, "_asdict") else value for name, value in state._asdict().items()}


def recorded(recipe, states=STATES, **turned):
    """States of a run, each with its stream of random numbers and the batch of the next step, and what came of it."""
    method, target, knobs = recipe.make_method(), recipe.make_target(), recipe.start_knobs()
    for_method, for_batches = np.random.SeedSequence(recipe.seed).spawn(2)
    rng, batches = np.random.default_rng(for_method), BatchStream(np.random.default_rng(for_batches), target.num_data)
    state, knobs = method.init(rng, target, knobs), knobs.replaced(**turned)
    moments, results = [], []
    while len(moments) < states and not method.ended(state, knobs, target):
        rows = batches.draw(method.batch_size(state, knobs, target.num_data), method.batches(state, knobs))
        batch = target.data_rows[rows]
        sent = np.zeros(len(batch)) if target.data is None else batch
        moments.append({"state": plain(state), "stream": streamed(rng), "batch": sent})
        state, info = method.step(rng, state, target, batch, knobs)
        results.append((method, state, streamed(rng), info.cost.visited))
    return target, knobs, moments, results


def check(driver, turned=None, **choice):
    target, knobs, moments, results = recorded(Recipe(**choice), **turned or {})
    spec = json.dumps(target_value(target))
    driver.page.evaluate("(v) => { window.chosen = v }", [spec, choice["method"], settings_value(knobs)])
    found = driver.ask("v.map((each) => stepped(targetOf(chosen[0], chosen[0]), chosen[1], chosen[2], each))", *moments)
    for ours, (method, state, stream, visited) in zip(found, results, strict=True):
        weighted = hasattr(state, "log_weights")
        particles = state.particles if weighted else method.points(state)
        np.testing.assert_allclose(ours["particles"], particles, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(ours["left"], stream)
        assert ours["cost"] == visited
        if weighted:
            rtol = 1e-9 if len(particles) < SINGLE_FROM else 1e-5
            np.testing.assert_allclose(np.exp(ours["log_weights"]), np.exp(state.log_weights), rtol=rtol, atol=1e-12)


TIERS = {"mixture": ()}


@pytest.mark.browser
@pytest.mark.parametrize("target", [pytest.param(each, marks=TIERS.get(each, pytest.mark.ci)) for each in LIVE_TARGETS])
@pytest.mark.parametrize("method", LIVE_METHODS)
def test_a_step_of_each_method_on_each_target(driver, method, target):
    knobs = {"num_particles": 120} if method in ("pmd", "svgd", "smc_mcmc", "importance") else {}
    check(driver, target=target, target_options=OPTIONS.get(target, {}), method=method, seed=1, **knobs)


@pytest.mark.ci
@pytest.mark.browser
@pytest.mark.parametrize("m", [50, 300])
def test_another_number_of_particles_takes_effect_at_once(driver, m):
    check(driver, {"num_particles": m}, target="mixture", method="svgd", seed=2, num_particles=120)


FOLLOWED_JS = """([spec, method, knobs]) => {
  const session = new Session(new Target(revived(JSON.parse(spec))), method, knobs, 0)
  session.step()
  const before = session.state.particles
  session.follow()
  for (let k = 0; k < 2; k++) session.step()
  const now = session.state.particles, own = rowsAt(before, session.origin)
  const away = (from) => sum(now.map((x, k) => Math.abs(x - from[k]))) / now.length
  return [away(own), away(before)]
}"""


@pytest.mark.browser
@pytest.mark.parametrize(("method", "knobs"), [("pmd", {"policy": "always"}), ("smc_mcmc", {"num_moves": 1})])
def test_each_particle_has_the_row_it_comes_from(driver, method, knobs):
    recipe = Recipe(target="mixture", method=method, seed=3, num_particles=400, **knobs)
    values = settings_value(recipe.start_knobs())
    own, other = driver.page.evaluate(FOLLOWED_JS, [json.dumps(target_value(recipe.make_target())), method, values])
    assert own < 0.75 * other
