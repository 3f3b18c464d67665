"""Every kernel of the page against numba on random inputs, and the compiled module against its sources."""

import gzip
import json

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import BatchStream
from pmdviz.export.live import LIVE_METHODS, LIVE_TARGETS, settings_value, target_value
from pmdviz.wasm import MODULE, NAMES
from pmdviz.wasm.kernels import KERNELS, digest


def streamed(rng):
    """The state of a generator, as the page holds it."""
    state = rng.bit_generator.state
    whole, increment = state["state"]["state"], state["state"]["inc"]
    parts = [whole >> 64, whole % 2**64, increment >> 64, increment % 2**64, state["has_uint32"], state["uinteger"]]
    return np.array(parts, np.uint64)


def test_the_committed_module_is_small_and_that_of_the_sources():
    known, module = json.loads(NAMES.read_text("utf-8")), MODULE.read_bytes()
    assert known["sources"] == digest(), "run `python -m pmdviz.wasm` (extra `wasm`), and commit what it writes"
    assert [*known["kernels"]] == [*KERNELS]
    words = {name: words for name, (words, _) in known["kernels"].items()}
    assert {name: entry.arguments for name, entry in KERNELS.items()} == words
    assert len(module) <= 500_000 and len(gzip.compress(module, 9)) <= 120_000


# Steps of the page against Python's: from the same state, with the same random numbers.


STATES = 50
SINGLE_FROM = 4000  # particles: their density at a rejuvenation is taken in float32
FORMULA = {"density": "logaddexp(-(x - 1)**2, -square(x + 1)) - y**2 / 2 + 0.1 * sin(3 * x) * tanh(y)"}
OPTIONS = {"formula": FORMULA, "gmm": {"num_components": 4, "weights": "random"}}


def plain(state):
    """A state as numbers and arrays."""
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
    """Compare every recorded step."""
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
