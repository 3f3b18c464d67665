"""How long a step is going to take: counted by the knobs, for every method."""

import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.lab.loop.forecast import (
    heaviest,
    most_within,
    step_seconds,
)
from pmdviz.methods import METHODS, usual_target
from pmdviz.targets import make_target
from tests.support.tables import looped

N = 40
FURTHER = {
    "pmd": [{"growth": "jump", "policy": "always", "until": 1, "most_particles": 300}],
    "npv": [{"optimiser": "lbfgs"}],
    "hmc": [{"leapfrog_steps": 1}, {"leapfrog_steps": 50}],
    "smc_mcmc": [{"num_moves": 20}],
}
CASES = [(name, knobs) for name in METHODS for knobs in [{}, *FURTHER.get(name, [])]]


def knobs_of(name, **values):
    return METHODS[name].Knobs.checked(values)


@pytest.mark.nightly
@looped("name, knobs", CASES)
def test_the_declared_work_is_what_the_longest_step_computes(name, knobs):
    """Likelihoods and gradients as steps count them, which random ones are only about."""
    target = usual_target(name) if METHODS[name].missing_in(make_target("gaussian")) else "gaussian"
    knobs = {**knobs, **({"num_particles": 100} if "num_particles" in METHODS[name].Knobs.specs() else {})}
    rows = {"batch_size": 20} if "batch_size" in METHODS[name].Knobs.specs() else {}
    session = Session(Recipe(target, name, target_options={"num_data": N}, budget=None, **knobs, **rows))
    work = session.knobs.work(N)
    infos = [session.advance(1).info for _ in range(20) if not session.done]  # a chain asks once more at its start
    for declared, counted in [
        (work.likelihoods, max(info.density_evaluations for info in infos)),
        (work.gradients, max(info.gradient_evaluations for info in infos)),
    ]:
        assert 0.4 * declared <= counted <= 2.5 * declared


def test_kernels_are_of_pairs_of_particles():
    for name in ("pmd", "svgd"):
        few, many = (step_seconds(knobs_of(name, num_particles=m, batch_size=1), 1) for m in (1000, 10_000))
        assert 95 < many / few < 100.1
    grown = knobs_of("pmd", policy="ess", growth="power", most_particles=10_000, num_particles=1000)
    assert step_seconds(grown) == step_seconds(knobs_of("pmd", num_particles=10_000))


@looped("name", METHODS)
def test_more_data_never_shorten_a_step(name):
    seconds = [step_seconds(knobs_of(name), num_data) for num_data in (1, 10, 1000, 100_000)]
    assert 0 < seconds[0] and seconds == sorted(seconds)


@looped(
    "name, knobs, num_data, heavy",
    [
        ("pmd", {"num_particles": 50_000}, 1000, ("num_particles", 50_000)),
        ("pmd", {"growth": "power", "most_particles": 50_000}, 1000, ("most_particles", 50_000)),
        ("pmd", {"growth": "power", "most_particles": 9_000, "num_particles": 9_000}, 9, ("num_particles", 9_000)),
        ("pmd", {"num_particles": 50, "batch_size": 100_000}, 100_000, ("batch_size", 100_000)),
        ("hmc", {"leapfrog_steps": 1000}, 1000, ("leapfrog_steps", 1000)),
        ("smc_mcmc", {}, 100_000, ("num_particles", 1500)),
        ("mala", {}, 100_000, ("num_data", 100_000)),
        ("gibbs", {}, 77, ("num_data", 77)),
    ],
)
def test_the_knob_that_makes_a_step_long_is_named(name, knobs, num_data, heavy):
    assert heaviest(knobs_of(name, **knobs), num_data) == heavy


@looped("name", ["pmd", "svgd", "smc_mcmc", "importance"])
def test_the_most_that_fits_is_the_inverse_of_the_forecast(name):
    for seconds, rows in [(0.001, 1), (0.01, 100), (1.0, 100_000)]:
        knobs = knobs_of(name)
        most = most_within(seconds, knobs, "num_particles", rows)
        assert step_seconds(knobs.replaced(num_particles=most), rows) <= seconds
        if most < 100_000:
            assert step_seconds(knobs.replaced(num_particles=most + 1), rows) > seconds
    assert most_within(1e-12, knobs_of(name), "num_particles", 10**6) == 1
