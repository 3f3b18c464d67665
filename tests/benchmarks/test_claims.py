"""Rules by which claims are judged, on made-up runs; test_pages.py has them on what was measured."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import fit_and_aggregation, rows
from benchmarks.contest_tables import LOGISTIC, PASSES
from benchmarks.contests import mode_mass
from benchmarks.jittered import MOST_SHIFT, components, jittered
from benchmarks.measuring import arrays_by_row, read_rows
from benchmarks.rules import NO, OPEN, YES, Answer, judge, lead, verdict_of
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.experiments.aggregation.combine import COMBINERS

PAPERS = ("smc", "gibbs", "sgld", "svi", "npv")
SVI, RIVALS = "jaakkola_jordan", ("pmd", "pmd, paper's steps", "pmd as printed", "sgld", "smc", "npv")
TITLES, RMSE = [*LOGISTIC.entrants], "rmse × 1000"


def asked(rule, *arguments):
    """A rule with its arguments, to be asked of runs."""
    return lambda runs: judge(runs, rule, *arguments)


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
    judge = asked("lowest", "pmd", PAPERS, "tv")
    assert judge(measured).verdict == YES
    measured["npv"]["best"] = ends(0.07)
    assert judge(measured).verdict == NO
    assert asked("lowest", "pmd", PAPERS, "tv", "paper")(measured).verdict == YES


def test_a_lead_within_its_error_is_open(measured):
    rival = ends(0.08, seed=9)
    rival["tv"] += np.array([0.03, 0.01, -0.02, -0.015, 0.01])[:, None, None]
    measured["npv"]["best"] = rival
    mean, error = lead(measured, "pmd", "npv", "tv")
    assert 0 < mean < error
    assert asked("lowest", "pmd", PAPERS, "tv")(measured).verdict == OPEN


def test_a_heavy_tail_does_not_hide_a_difference_seen_in_every_run(measured):
    judge, entropy = asked("lowest", "pmd", PAPERS, "cross_entropy"), measured["sgld"]["best"]["cross_entropy"]
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
    assert asked("higher", "sgld", "gibbs", "tv")(measured).verdict == YES
    assert asked("higher", "gibbs", "sgld", "tv")(measured).verdict == NO
    measured["gibbs"]["best"]["tv"] = at(measured, "sgld").copy()
    assert asked("higher", "sgld", "gibbs", "tv")(measured).verdict == OPEN
    near = asked("near_best", "pmd warm", ("pmd", "smc"))
    assert near(measured).verdict == YES
    at(measured, "pmd warm")[:, :, 2] += 0.02
    assert near(measured).verdict == NO
    for early, verdict in ((0.305, YES), (0.2, NO), (0.4, NO)):
        at(measured, "pmd")[:, :, 0] = early
        assert asked("alike_early", "smc", "pmd")(measured).verdict == verdict
    spread = asked("varies_more", "npv", "svgd")
    for sd, verdict in ((0.002, OPEN), (0.02, YES), (2e-4, NO)):
        measured["npv"]["best"] = ends(0.2, sd=sd)
        assert spread(measured).verdict == verdict


def test_rules_about_modes(measured):
    one, both, alone = (
        asked("one_mode", "gibbs"),
        asked("one_mode", "gibbs", "best", False),
        asked("loses_a_mode_alone", "svi"),
    )
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
    yes, no, undecided = (Answer(verdict, "") for verdict in (YES, NO, OPEN))
    assert verdict_of([yes, yes]) == "holds"
    assert verdict_of([yes, no, undecided]) == "holds under some conditions"
    assert verdict_of([no, no]) == verdict_of([no, undecided]) == "does not hold"
    assert verdict_of([undecided, undecided]) == "neither shown nor refuted"


def test_a_rival_is_not_a_condition():
    """'Lowest of all' falls with one rival, whatever the others do; an undecided rival leaves it open."""
    runs = {name: {"x": some(mean, sd)} for name, mean, sd in
            (("mine", 1, 0.01), ("worse", 2, 0.01), ("better", 0.5, 0.01), ("noisy", 0.9, 3))}  # fmt: skip
    for rivals, verdict in (
        (("worse",), YES),
        (("worse", "better"), NO),
        (("worse", "noisy"), OPEN),
        (("worse", "noisy", "better"), NO),
    ):
        answer = judge(runs, "against_all", *(("lower", "mine", rival, "x") for rival in rivals))
        assert answer.verdict == verdict and answer.said.count(": x of") == len(rivals), rivals


def test_mass_of_a_mode():
    for method in ("pmd", "svi", "gibbs"):
        knobs = {"burn_in": 50} if method == "gibbs" else {}
        frame = Session(Recipe("mixture", method, budget=40_000, **knobs)).advance(4)
        draws = frame.density.sample(np.random.default_rng(0), 20_000) if method == "svi" else frame.particles
        weights = np.full(len(draws), 1 / len(draws)) if method == "svi" else frame.weights
        if method == "gibbs":
            draws, weights = draws[2:], np.full(3, 1 / 3)  # the start and four sweeps: the later half
        assert mode_mass(frame) == pytest.approx(weights[draws[:, 1] > 0].sum(), abs=0.02), method


def runs_at(accuracy, loss, seed=0, apart=0.0):
    """Runs on four data sets, which differ by so much to either side."""
    rng = np.random.default_rng(seed)
    noise = 1e-4 * rng.standard_normal((4, 2, len(PASSES))) + apart * np.array([-1, 1, -1, 1])[:, None, None]
    return {"best": {"accuracy": accuracy + noise, "log_loss": loss + noise}}


@pytest.fixture
def on_digits():
    found = {key: runs_at(0.98, 0.3, seed=k) for k, key in enumerate(TITLES)}
    return found | {SVI: runs_at(0.985, 0.1, seed=90), "reference": runs_at(0.985, 0.05)}


def test_rules_ask_for_a_clear_lead_a_hundredth_or_the_paper_s_accuracy(on_digits):
    best, near, reached = asked("best_at_first", SVI, RIVALS), asked("comparable", "pmd", SVI), asked("reaches", "pmd")
    assert [rule(on_digits).verdict for rule in (best, near, reached)] == [YES, YES, NO]
    for rule, name, runs, verdict in (
        (best, "smc", runs_at(0.98, 0.11, seed=5, apart=0.05), OPEN),
        (best, "smc", runs_at(0.98, 0.05, seed=5), NO),
        (near, "pmd", runs_at(0.95, 0.3), NO),
        (near, "pmd", runs_at(0.97, 0.3, apart=0.05), OPEN),
        (reached, "pmd", runs_at(0.99, 0.3), YES),
        (reached, "pmd", runs_at(0.98, 0.3, apart=0.05), OPEN),
    ):
        assert rule({**on_digits, name: runs}).verdict == verdict, (name, verdict)


def test_a_jittered_image_is_its_original_moved():
    """Shifted back by the right one of the 25 shifts it is the original, darker, to within the noise."""
    rng = np.random.default_rng(0)
    images, classes = np.zeros((3, 28, 28)), np.array([0.0, 1.0, 1.0])
    images[:, 8:20, 8:20] = rng.random((3, 12, 12))
    blocks = list(jittered(images.reshape(3, -1), classes, 50, seed=1, block=20))
    assert [len(block[0]) for block in blocks] == [20, 20, 10]
    shifts = range(-MOST_SHIFT, MOST_SHIFT + 1)
    moved = np.array([np.roll(images, (a, b), (1, 2)).reshape(3, -1) for a in shifts for b in shifts])
    moved = moved / np.linalg.norm(moved, axis=2, keepdims=True)
    for made, label in zip(*(np.concatenate(part) for part in zip(*blocks, strict=True)), strict=True):
        likeness = moved @ (made / np.linalg.norm(made))
        assert likeness.max() > 0.97 and classes[np.unravel_index(likeness.argmax(), likeness.shape)[1]] == label
    again = list(jittered(images.reshape(3, -1), classes, 50, seed=1, block=20))
    assert all(np.array_equal(one[0], other[0]) for one, other in zip(blocks, again, strict=True))


def test_components_of_blocks_are_those_of_all_at_once():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((300, 6)) * np.arange(1, 7)
    found = components(iter([(x[:100], None), (x[100:], None)]), 3)
    _, _, axes = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    rows = found.rows(x, np.zeros(300))
    assert rows[:, 1].std() == pytest.approx(1)
    wanted = (x - x.mean(axis=0)) @ axes[:3].T
    np.testing.assert_allclose(np.abs(rows[:, 1:-1]), np.abs(wanted / wanted[:, 0].std()), rtol=1e-6, atol=1e-8)


MEASURED = Path(__file__).parents[2] / "docs" / "measured"


def some(mean, sd=0.01, n=8):
    """n values of this mean and standard deviation, evenly spread."""
    spread = np.linspace(-1, 1, n)
    return mean + sd * (spread - spread.mean()) / spread.std(ddof=1)


def looks(*values, sd, name):
    """Five data sets, two runs each, by look."""
    return {"best": {name: np.array(values) + sd * np.random.default_rng(0).standard_normal((5, 2, len(values)))}}


def check(table, runs_with):
    for k, (rule, values, verdict) in enumerate(table):
        answer = rule(runs_with(values))
        assert answer.verdict == verdict and answer.said, (k, answer)


def rate(test, rejected, perturbation=0.1, half=0.05):
    interval = {"rejected": rejected, "low": rejected - half, "high": rejected + half}
    return {"test": test, "num_points": 100, "perturbation": perturbation, **interval}


def level(combiner, at, error, gap=(0.0, 0.01)):
    return {"combiner": combiner, "level": at, "error": error, "gap": gap}


def slope(combiner, value):
    return {"what": f"{COMBINERS[combiner].title}: error against n", "slope": value, "standard_error": 0.05}


def apart(mean):
    return [{"combiner": "c", "K": 5, "mean": mean, "standard error": 0.01}]


def test_rules_about_tests_and_combined_models():
    check(
        [
            (asked("no_less_power", "x", "a", "b"), [rate("a", 0.3), rate("b", 0.5)], NO),
            (asked("no_less_power", "x", "a", "b", True), [rate("a", 0.5), rate("b", 0.5)], OPEN),
            (asked("keeps_level", "x", "a"), [rate("a", 0.3, 0.0)], NO),
            (asked("keeps_level", "x", "a"), [rate("a", 0.15, 0.0)], OPEN),
            (asked("ever_rejects", "x", "a"), [rate("a", 0.0, 0.1, 0.01)], NO),
            (asked("ever_rejects", "x", "a"), [rate("a", 0.08)], OPEN),
            (asked("slope_within", "x", "naive", -1.3, -0.7), [slope("naive", -0.5)], NO),
            (asked("slope_within", "x", "naive", -1.3, -0.7), [slope("naive", -0.65)], OPEN),
            (asked("still_far", "x", "c", 0.5), apart(0.2), NO),
            (asked("still_far", "x", "c", 0.25, -1), apart(0.8), NO),
        ],
        lambda summary: {"x": {"summary": summary}},
    )
    check(
        [
            (asked("power_of", "x", "a", -1.3, -0.7), [level("a", 5, (0.4, 0.01)), level("a", 40, (0.4, 0.01))], NO),
            (asked("power_of", "x", "a", -1.3, -0.7), [level("a", 5, (0.4, 0.4)), level("a", 40, (0.4, 0.4))], OPEN),
            (asked("far_above", "x", "a", "b", 10), [level("a", 0, (0.05, 0.01)), level("b", 0, (0.01, 0.001))], NO),
            (
                asked("better_held_out", "x", "a", "b"),
                [level("a", 9, None, (0.2, 0.01)), level("b", 9, None, (0.1, 0.01))],
                NO,
            ),
            (
                asked("better_held_out", "x", "a", "b"),
                [level("a", 9, None, (0.1, 0.1)), level("b", 9, None, (0.2, 0.1))],
                OPEN,
            ),
        ],
        lambda levels: {"x": {"levels": levels}},
    )


def test_rules_about_mean_field_particles():
    exact = {"exact": {"x": some(1.0), "x_sd": some(0.5)}}
    check(
        [
            (asked("within", "a", "x", 0.1), {"x": some(0.2)}, NO),
            (asked("within", "a", "x", 0.1), {"x": some(0.11, 0.2)}, OPEN),
            (asked("alike", "a", ("x", "y")), {"x": some(1.05), "y": some(0.7)}, NO),
            (asked("alike", "a", ("x", "y")), {"x": some(1.05), "y": some(0.88, 0.2)}, OPEN),
            (asked("same_mean", "a", "exact", "x"), {"x": some(0.5)}, NO),
            (asked("same_mean", "a", "exact", "x"), {"x": some(1.2, 0.5)}, OPEN),
            (asked("same_sd", "a", "exact", "x"), {"x_sd": some(0.3)}, NO),
            (asked("too_narrow", "a", "exact", "x"), {"x_sd": some(0.7)}, NO),
            (asked("too_narrow", "a", "exact", "x"), {"x_sd": some(0.49, 0.2)}, OPEN),
            (asked("one_answer", "a", "exact", "x"), {"x": some(-1.0)}, NO),
            (asked("fits", "a"), {"mse": some(9.0), "var_y": some(9.0)}, NO),
        ],
        lambda values: {"a": values, **exact},
    )


def test_rules_about_stein_methods_and_annealing():
    check(
        [
            (asked("lower", "a", "b", "x"), {"a": some(2), "b": some(1)}, NO),
            (asked("lower", "a", "b", "x"), {"a": some(1, 3), "b": some(2, 3)}, OPEN),
            (asked("as_good", "a", "b", "x"), {"a": some(2), "b": some(1)}, NO),
            (asked("unbiased", "a", "x"), {"a": some(-0.5)}, NO),
            (asked("unbiased", "a", "x"), {"a": some(0.2, 1)}, OPEN),
            (asked("falls", "abc", "x"), {"a": some(3), "b": some(1), "c": some(2)}, NO),
            (asked("falls", "abc", "x"), {"a": some(3), "b": some(2), "c": some(2)}, OPEN),
            (asked("inverse_in_number", "a", "b", 16, "x"), {"a": some(4, 0.2), "b": some(1, 0.1)}, NO),
            (asked("keeps_variance", "a"), {"a": some(0.4)}, NO),
        ],
        lambda values: {name: {"x": one, "value": one} for name, one in values.items()},
    )


def test_rules_about_gaussian_processes_and_topics():
    check(
        [
            (asked("falls_by_look", "a", RMSE), looks(300, 40, 50, sd=1, name=RMSE), NO),
            (asked("falls_by_look", "a", RMSE), looks(300, 50, 50, sd=1, name=RMSE), OPEN),
        ],
        lambda values: {"a": values},
    )
    found = {
        "a": looks(9, 5, sd=0.1, name="perplexity"),
        "b": looks(8, 7, sd=0.1, name="perplexity"),
        "c": looks(8, 5.0, sd=3, name="perplexity"),
    }
    check(
        [
            (asked("lower_after", "a", 0, "b", 0), found, NO),
            (asked("lower_after", "a", -1, "c", -1), found, OPEN),
        ],
        lambda runs: runs,
    )


def test_bars_are_met_by_what_was_measured_and_missed_by_other_figures():
    measured = json.loads((MEASURED / "fit-and-aggregation.json").read_text(encoding="utf-8"))["figures"]["measured"]
    asked_bars = fit_and_aggregation.GIVEN["bars"]
    assert {bar: found["met"] for bar, found in fit_and_aggregation.bars(measured).items()} == dict.fromkeys(
        asked_bars, True
    )
    for one in measured.values():
        for entry in one["summary"]:
            entry |= {name: 5.0 for name in ("rejected", "slope") if name in entry}
    assert not any(found["met"] for found in fit_and_aggregation.bars(measured).values())
    runs, bars = arrays_by_row(read_rows(MEASURED / "pmfvb.csv")), rows.given("claims-pmfvb")["bars"]
    assert {bar: found["met"] for bar, found in rows.bars(bars, runs).items()} == dict.fromkeys(bars, True)
    spoilt = {row: {name: values + 30 for name, values in numbers.items()} for row, numbers in runs.items()}
    assert not any(found["met"] for bar, found in rows.bars(bars, spoilt).items() if "as printed" not in bar)
