import numpy as np
import pytest
from scipy.stats import linregress

from pmdviz import InputError, Recipe
from pmdviz.experiments.sweep import fitted, planned

GAUSSIAN = Recipe("gaussian", num_particles=50, batch_size=5, budget=100)


def test_every_combination_times_every_seed_in_order_or_side_by_side():
    jobs = planned(GAUSSIAN, {"num_particles": [20, 30], "budget": [100, 200]}, 3)
    assert [(j.recipe.knobs["num_particles"], j.recipe.budget, j.recipe.seed) for j in jobs[:4]] == [
        (20, 100, 0), (20, 100, 1), (20, 100, 2), (20, 200, 0),
    ]  # fmt: skip
    assert len({job.identity for job in jobs}) == len(jobs) == 12
    jobs = planned(GAUSSIAN, {"num_particles": [20, 30], "budget": [100, 200]}, 1, together=True)
    assert [job.values for job in jobs] == [{"num_particles": 20, "budget": 100}, {"num_particles": 30, "budget": 200}]
    jobs = planned(GAUSSIAN, {"num_data": [10, 40], "policy": ["never", "ess"]}, [7])
    assert [(j.recipe.target_options["num_data"], j.recipe.knobs["policy"]) for j in jobs] == [
        (10, "never"), (10, "ess"), (40, "never"), (40, "ess"),
    ]  # fmt: skip
    assert {j.recipe.seed for j in jobs} == {7}
    assert len(planned(GAUSSIAN, {"num_particles": [20, 20, 20.0, "20"]}, [1, 1])) == 1


def test_identity_is_of_all_that_decides_but_not_of_the_versions(monkeypatch):
    (one,) = planned(GAUSSIAN, {"num_particles": [20]}, 1)
    (further,) = planned(GAUSSIAN.replaced(knobs={"eta": 3.0}), {"num_particles": [20]}, 1)
    monkeypatch.setattr("pmdviz.engine.recipe.versions", lambda: {"pmdviz": "another"})
    (other,) = planned(GAUSSIAN, {"num_particles": [20]}, 1)
    assert other.recipe.made_with == {"pmdviz": "another"}
    assert one.identity == other.identity
    assert one.identity[0] != further.identity[0]


def test_what_cannot_be_used_is_one_sentence():
    for over, seeds, together, words in [
        ({"num_particls": [1]}, 1, False, "did you mean 'num_particles'"),
        ({"num_particles": []}, 1, False, "at least one value"),
        ({"num_particles": "50"}, 1, False, "must be a list"),
        ({}, 1, False, "over must name"),
        ({"num_particles": [5]}, 0, False, "a number of seeds, at least 1"),
        ({"num_particles": [5]}, [-1], False, "a seed must be a whole number"),
        ({"num_particles": [5]}, [], False, "at least one seed"),
        ({"num_particles": [5]}, 2_000_000, False, "a number of seeds"),
        ({"num_particles": range(1, 2000)}, 1000, False, "at most 1,000,000 runs"),
        ({"num_particles": [5], "budget": [1, 2]}, 1, True, "num_particles has 1, budget has 2"),
    ]:
        with pytest.raises(InputError, match=words):
            planned(GAUSSIAN, over, seeds, together)
    with pytest.raises(InputError, match="needs a budget"):
        planned(GAUSSIAN.limited(None), {"num_particles": [5]}, 1)
    assert planned(GAUSSIAN.limited(None), {"budget": [50]}, 1)[0].recipe.budget == 50


def test_slope_and_standard_error_are_those_of_scipy_and_need_points():
    rng = np.random.default_rng(0)
    x = np.repeat([64, 256, 1024, 4096], 10)
    y = 3 * x**-0.5 * np.exp(0.3 * rng.standard_normal(len(x)))
    fit, theirs = fitted(x, y), linregress(np.log(x), np.log(y))
    assert fit.slope == pytest.approx(theirs.slope, rel=1e-12)
    assert fit.standard_error == pytest.approx(theirs.stderr, rel=1e-12)
    assert fit.intercept == pytest.approx(theirs.intercept, rel=1e-12)
    assert (fit.num_points, fit.left_out) == (40, 0)
    assert fit.at(100) == pytest.approx(np.exp(theirs.intercept) * 100**theirs.slope)
    fit = fitted([1, 2, 4, 8, 16, 0], [1, 0.5, 0.25, np.nan, 0.0, 1])
    assert fit.slope == pytest.approx(-1)
    assert (fit.num_points, fit.left_out) == (3, 3)
    for x, y in [([1, 2], [1, 2]), ([5, 5, 5], [1, 2, 3]), ([], []), ([1, 2, 3], [0, 0, 0])]:
        with pytest.raises(InputError, match="three points"):
            fitted(x, y)
