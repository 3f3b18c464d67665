"""The rules of `bench claims`, on made-up measurements whose answer is known, and the page they are written to."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.claims import mode_mass
from benchmarks.helpers import claims_rules as rules
from benchmarks.helpers.claims_rules import NO, OPEN, YES, Answer, lead, verdict_of
from benchmarks.helpers.claims_verdicts import PAPERS
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session

DOCS = Path(__file__).parents[2] / "docs"
VALUES = {
    "pmd": 0.08, "pmd warm": 0.08, "pmd as printed": 0.7, "smc": 0.3, "gibbs": 0.5, "sgld": 0.6, "svi": 0.45,
    "npv": 0.2, "importance": 0.4, "smc_mcmc": 0.15, "svgd": 0.12, "psgld": 0.5, "hmc": 0.5, "mala": 0.6,
    "hmc, one pass": 0.4, "mala, one pass": 0.5,
}  # fmt: skip


def ends(tv, mass=0.5, sd=0.002, seed=0):
    rng = np.random.default_rng(seed)
    shape = (5, 8, 6)
    found = {name: tv + sd * rng.standard_normal(shape) for name in ("tv", "cross_entropy")}
    return found | {"mode_mass": np.full(shape, mass), "exact_mass": np.full(shape, 0.45),
                    "kl_reverse": np.full(shape, -np.log(0.45)), "visited": np.full(shape, 400.0)}  # fmt: skip


@pytest.fixture
def measured():
    made = {name: {"best": ends(tv, seed=k), "paper": ends(tv + 0.1, seed=k + 50)}
            for k, (name, tv) in enumerate(VALUES.items())}  # fmt: skip
    for name in ("gibbs", "sgld", "svi"):
        made[name] = {"best": ends(VALUES[name], 0.995), "paper": ends(VALUES[name] + 0.1, 0.005)}
    return made


def test_lowest_of_all(measured):
    judge = rules.lowest("pmd", PAPERS, "tv")
    assert judge(measured).verdict == YES
    measured["npv"]["best"] = ends(0.07)
    assert judge(measured).verdict == NO
    assert rules.lowest("pmd", PAPERS, "tv", "paper")(measured).verdict == YES


def test_a_lead_within_its_error_is_open(measured):
    rival = ends(0.08, seed=9)
    rival["tv"] += np.array([0.03, 0.01, -0.02, -0.015, 0.01])[:, None, None]
    measured["npv"]["best"] = rival
    mean, error = lead(measured, "pmd", "npv", "tv")
    assert 0 < mean < error
    assert rules.lowest("pmd", PAPERS, "tv")(measured).verdict == OPEN


def test_a_heavy_tail_does_not_hide_a_difference_seen_in_every_run(measured):
    judge, entropy = rules.lowest("pmd", PAPERS, "cross_entropy"), measured["sgld"]["best"]["cross_entropy"]
    entropy[:] = 50.0
    entropy[1, 2] = 1e5  # one run in forty: the mean is now within two standard errors of nothing
    mean, error = lead(measured, "pmd", "sgld", "cross_entropy")
    assert mean < 2 * error
    assert judge(measured).verdict == YES
    entropy[:, :2] = -1.0  # but a quarter of the runs are lower
    assert judge(measured).verdict == OPEN


def at(measured, name, quantity="tv"):
    return measured[name]["best"][quantity]


def test_rules_about_two_methods(measured):
    assert rules.higher("sgld", "gibbs", "tv")(measured).verdict == YES
    assert rules.higher("gibbs", "sgld", "tv")(measured).verdict == NO
    measured["gibbs"]["best"]["tv"] = at(measured, "sgld").copy()
    assert rules.higher("sgld", "gibbs", "tv")(measured).verdict == OPEN
    near = rules.near_best("pmd warm", ("pmd", "smc"))
    assert near(measured).verdict == YES
    at(measured, "pmd warm")[:, :, 2] += 0.02
    assert near(measured).verdict == NO
    for early, verdict in ((0.305, YES), (0.2, NO), (0.4, NO)):
        at(measured, "pmd")[:, :, 0] = early
        assert rules.alike_early("smc", "pmd")(measured).verdict == verdict
    spread = rules.varies_more("npv", "svgd")
    for sd, verdict in ((0.002, OPEN), (0.02, YES), (2e-4, NO)):
        measured["npv"]["best"] = ends(0.2, sd=sd)
        assert spread(measured).verdict == verdict


def test_rules_about_modes(measured):
    one, both, alone = rules.one_mode("gibbs"), rules.both_modes("gibbs"), rules.loses_a_mode_alone("svi")
    assert [rule(measured).verdict for rule in (one, both, alone)] == [YES, NO, YES]
    at(measured, "gibbs", "mode_mass")[2, 3] = 0.4
    assert (one(measured).verdict, both(measured).verdict) == (NO, NO)
    at(measured, "gibbs", "mode_mass")[:] = 0.4
    assert (one(measured).verdict, both(measured).verdict) == (NO, YES)
    at(measured, "svi", "mode_mass")[:] = 0.005  # it sits in the mode of mass 0.55
    assert alone(measured).verdict == NO
    at(measured, "svi", "kl_reverse")[:] = -np.log(0.55)
    assert alone(measured).verdict == YES


def test_a_verdict_asks_for_every_condition():
    yes, no, undecided = (Answer(verdict, "", {}) for verdict in (YES, NO, OPEN))
    assert verdict_of([yes, yes]) == "holds"
    assert verdict_of([yes, no, undecided]) == "holds under some conditions"
    assert verdict_of([no, no]) == "does not hold"
    assert verdict_of([no, undecided]) == "neither shown nor refuted"


def test_mass_of_a_mode():
    for method in ("pmd", "svi", "gibbs"):
        knobs = {"burn_in": 50} if method == "gibbs" else {}
        frame = Session(Recipe("mixture", method, budget=40_000, **knobs)).advance(4)
        draws = frame.density.sample(np.random.default_rng(0), 20_000) if method == "svi" else frame.particles
        weights = np.full(len(draws), 1 / len(draws)) if method == "svi" else frame.weights
        if method == "gibbs":
            draws, weights = draws[2:], np.full(3, 1 / 3)  # the start and four sweeps: the later half
        assert mode_mass(frame) == pytest.approx(weights[draws[:, 1] > 0].sum(), abs=0.02), method
