import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.experiments.sweep import SeedRun, SeedRuns, other_seeds, run_seed
from tests.support.own import own_target

RECIPE = Recipe("gaussian", "pmd", num_particles=100, budget=400, batch_size=10, changes=[(5, {"eta": 0.5})], seed=1)


@pytest.fixture(scope="module")
def runs():
    return SeedRuns([run_seed(RECIPE, seed) for seed in other_seeds(1, 5)])


def column(seed, name, recipe=RECIPE):
    session = Session(recipe.replaced(seed=seed))
    session.advance(10_000)
    return session.history.columns[name]


def made(seed, iterations, values, stopped=""):
    steps = np.array(iterations)
    return SeedRun(seed, {"iteration": steps, "visited": 10 * steps, "tv": np.array(values, float)}, stopped)


def test_the_values_are_those_of_single_runs_and_the_band_their_quantiles(runs):
    assert other_seeds(1, 4) == (0, 2, 3, 4) and other_seeds(9, 3) == (0, 1, 2)
    expected = np.array([column(seed, "tv") for seed in (0, 2, 3, 4, 5)])
    assert np.array_equal(runs.values("tv"), expected)
    assert not np.array_equal(expected[0], column(0, "tv", RECIPE.replaced(changes=())))
    band, values = runs.band("visited", "tv"), runs.values("tv")
    for name, share in {"low": 0.1, "middle": 0.5, "high": 0.9}.items():
        assert np.array_equal(band[name], [np.quantile(each, share) for each in values.T])
    assert np.array_equal(band["x"], 10 * runs.whole[0].history["iteration"])


def test_a_run_is_judged_where_all_were_measured_and_is_not_among_the_others(runs):
    session = Session(RECIPE)
    session.advance(9)  # no measured one: 5 is the last before it
    found = runs.judge(session.run.history, "tv", over=False, seed=1)
    at = [*runs.whole[0].history["iteration"]].index(5)
    others = runs.values("tv")[:, at]
    assert (found.iteration, found.value) == (5, column(1, "tv")[at])
    assert (found.lower, found.others) == (np.sum(others < found.value), 5)
    assert (found.low, found.high) == (np.quantile(others, 0.1), np.quantile(others, 0.9))
    session.advance(10_000)
    last = runs.judge(session.run.history, "tv", over=True, seed=1)
    assert (last.iteration, last.value) == (40, column(1, "tv")[-1])
    found = runs.judge(runs.whole[0].history, "tv", over=True, seed=0)
    assert found.others == 4 and found.value == runs.values("tv")[0, -1]
    everyone = runs.judge(runs.whole[0].history, "tv", over=True)
    assert everyone.others == 5
    others = SeedRuns([made(seed, [0, 1], [1.0, value]) for seed, value in enumerate(range(11))])
    places = [others.judge(made(99, [0, 1], [1.0, value]).history, "tv", over=True).place for value in (0.9, 1, 9, 9.1)]
    assert places == [-1, 0, 0, 1]


def test_runs_of_different_length_or_that_stopped():
    runs = SeedRuns([made(0, [0, 1, 2, 5, 7], [9, 8, 7, 6, 5]), made(1, [0, 1, 2, 5, 10, 12], [4, 3, 2, 1, 0.5, 0.25])])
    assert runs.values("tv").tolist() == [[9, 8, 7, 6, 5], [4, 3, 2, 1, 0.25]]
    assert runs.values("iteration").tolist() == [[0, 1, 2, 5, 7], [0, 1, 2, 5, 12]]
    shorter = SeedRuns([made(0, [0, 1, 2], [3, 2, 1]), made(1, [0, 1, 2, 5], [3, 2, 1, 0])])
    own = {"iteration": np.array([0, 1, 2]), "tv": np.array([3.0, 2.5, 1])}  # at 2 one has ended, the other goes on
    assert shorter.judge(own, "tv", over=False).iteration == 1 and shorter.judge(own, "tv", over=True).iteration == 2
    runs = SeedRuns([made(0, [0, 1], [1, 2]), made(1, [0], [1], "no"), made(2, [0, 1], [np.nan, 3])])
    assert [run.seed for run in runs.stopped] == [1] and len(runs.whole) == 2
    assert runs.band("visited", "tv")["x"].tolist() == [10]  # where all have a value
    for none in (SeedRuns([made(0, [0, 1], [np.nan] * 2)]), SeedRuns([])):
        assert not len(none.band("visited", "tv")["x"])
    assert SeedRuns([]).judge({}, "tv", True) is None and runs.judge({"iteration": np.array([0])}, "tv", False) is None


def test_a_target_that_fails_ends_its_run_with_the_reason():
    def log_likelihood(theta, x):
        if len(theta) == 50 and calls.append(1) is None and len(calls) > 60:
            raise ValueError("no more")
        return -0.5 * ((theta[:, :1] - x[:, 0][None]) ** 2).sum(axis=1)

    calls = []
    target = own_target(log_likelihood=log_likelihood, data=np.zeros((20, 1)))
    run = run_seed(Recipe(target, "pmd", num_particles=50, budget=4000, batch_size=10), 3)
    assert "no more" in run.stopped and run.seed == 3 and 0 < len(run.history["iteration"]) < 60
