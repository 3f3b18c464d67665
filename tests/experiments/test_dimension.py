import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import norm

import pmdviz
from pmdviz.experiments import dimension as module
from pmdviz.experiments.dimension import ENTRANTS, EXACT_TITLE, FAMILIES, TwoRegressions, entrants_of
from pmdviz.experiments.running import EXPERIMENTS
from pmdviz.methods import METHODS
from pmdviz.presets import find_preset
from tests.kernels.naive import differences
from tests.support.tables import refused

DIMENSION = EXPERIMENTS["dimension"]
CASE = {"family": "linear", "num_particles": 300, "num_data": 200, "visited": None, "seed": 0}


def row_of(**parts):
    return DIMENSION.run({**CASE, **parts})[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_entrant_that_fits_can_be_made_into_a_run(family):
    target, names = FAMILIES[family].make(2, 50, 0), entrants_of("all", family)
    assert len(names) > 20 and set(module.SETTINGS) <= set(names)
    for name in names:
        recipe = ENTRANTS[name].recipe(target, {"num_particles": 100_000, "visited": None, "seed": 0})
        assert recipe.method == ENTRANTS[name].method and recipe.budget > 0
    left_out = {name for name in ENTRANTS if name not in names}
    assert all(METHODS[ENTRANTS[name].method].requires - FAMILIES[family].offers for name in left_out)
    preset = find_preset("algorithm_1").recipe.knobs
    assert preset == {**preset, **module.ALGORITHM_1}


def test_quick_cases_come_first_and_what_comes_out_is_drawn():
    cases = DIMENSION.cases(DIMENSION.Knobs.checked({"largest_dim": 10, "seeds": 2}))
    seconds = [round(DIMENSION.size(case).seconds, 1) for case in cases]
    assert seconds == sorted(seconds)
    assert {case["dim"] for case in cases} == {1, 2, 3, 5, 10} and {case["seed"] for case in cases} == {0, 1}
    assert {case["entrant"] for case in cases} == {module.EXACT, *module.TEAMS["few"][1]}
    assert DIMENSION.cases(DIMENSION.Knobs.checked({"largest_dim": 7}))[-1]["dim"] == 7
    knobs, rest = DIMENSION.Knobs.checked({"metric": "kl_moments"}), {"caveat": "", "seconds": 1.0}
    rows = [{"method": "A", "d": 2, "kl_moments": value, **rest} for value in (1.0, 3.0)]
    rows += [{"method": EXACT_TITLE, "d": 2, "kl_moments": 1e9, **rest, "caveat": "no"}]
    first, second = DIMENSION.summary(rows, knobs)
    assert (first["method"], first["mean"], first["standard error"]) == ("A", 2.0, 1.0)
    assert second["with caveat"] == 1 and np.isnan(second["standard error"])
    (chart,) = DIMENSION.pictures(rows, knobs)
    assert chart.series[0].y == 2.0 and chart.series[1].y == 100.0 and "100" in chart.title and chart.y_log


@pytest.mark.parametrize("family", FAMILIES)
def test_exact_draws_are_as_far_off_as_chance_has_it(family):
    target, m = FAMILIES[family].make(3, 100, 0), 500
    found = [module.of_exact_draws(target, m, seed) for seed in range(8)]
    scaled = np.array([one["mean_error"] for one in found]) * np.sqrt(m)
    assert abs(scaled.mean() - 1.33) < 4 * 0.6 / np.sqrt(8)  # E max of three |z|, and its sd
    assert all(0.9 < one["sd_ratio_min"] <= one["sd_ratio_max"] < 1.1 for one in found)
    assert np.mean([one["kl_moments"] for one in found]) == pytest.approx(9 / (2 * m), rel=0.6)  # (d + d(d+1)/2) / 2m
    assert max(one["mmd"] for one in found) < 0.1


def test_without_new_particles_the_error_grows_and_what_does_not_fit_is_said():
    kept, lost = (row_of(entrant=name, dim=8) for name in ("pmd", "pmd_weights"))
    assert kept["mean_error"] < 0.3 and kept["kl_moments"] < 0.5 and not kept["caveat"]
    assert lost["mean_error"] > 3 and lost["ess"] < 3 and "effective particles" in lost["caveat"]
    assert row_of(entrant="pmd_weights", dim=1)["mean_error"] < 0.2
    refused("does not run on 'linear'", pmdviz.experiment, "dimension", methods="jaakkola_jordan")
    assert entrants_of("jaakkola_jordan", "logistic") == ["jaakkola_jordan"]
    row = row_of(entrant="sgld", dim=20, num_data=500)
    assert row["caveat"].startswith("stopped: the chain diverged") and np.isnan(row["mean_error"])
    assert DIMENSION.summary([row], DIMENSION.Knobs.defaults())[0]["without number"] == 1


@pytest.mark.parametrize("seed", [0, 3])
def test_reference_draws_have_the_moments_of_the_posterior(seed):
    target = TwoRegressions(1, 60, seed)
    peak = target.log_joint(np.array([[target.true_weights[0]]]))[0]

    def moment(power):
        return quad(lambda w: w**power * np.exp(target.log_joint(np.array([[w]]))[0] - peak), 0, 6, limit=400)[0]

    reference, mean_square = target.reference(), moment(2) / moment(0)
    spread = np.sqrt(moment(4) / moment(0) - mean_square**2)
    assert reference.mean == pytest.approx(0, abs=1e-12) and (reference.mean_error < 1e-12).all()
    error = spread / np.sqrt(len(reference.draws) / 2 / 10)  # as if only each tenth sweep were a new draw
    assert abs(reference.cov[0, 0] - mean_square) < 4 * error


def test_the_data_come_from_the_model_whose_likelihood_is_that_of_two_normals():
    one, two, other = TwoRegressions(3, 4000, 5), TwoRegressions(3, 4000, 5), TwoRegressions(3, 4000, 6)
    assert (one.data == two.data).all() and (one.data != other.data).any()
    x, y = one.data[:, :3], one.data[:, 3]
    assert (y**2 - (x @ one.true_weights) ** 2).mean() == pytest.approx(1, abs=0.2)  # the noise's variance
    assert (y * (x @ one.true_weights)).mean() == pytest.approx(0, abs=0.4)  # the signs
    rng = np.random.default_rng(0)
    rows, w = 3 * rng.standard_normal((7, 4)), rng.standard_normal((5, 3))
    f = w @ rows[:, :3].T
    each = [norm.logpdf(rows[:, 3], sign * f) for sign in (1, -1)]
    naive = (logsumexp(each, axis=0) - np.log(2)).sum(axis=1)
    np.testing.assert_allclose(module.log_likelihood(w, rows), naive, rtol=1e-12)
    assert np.isfinite(module.log_likelihood(1e4 * w, rows)).all()
    slopes = differences(lambda at: module.log_likelihood(at, rows / 3), w)
    np.testing.assert_allclose(module.grad_log_likelihood(w, rows / 3), slopes, rtol=1e-6, atol=1e-7)
