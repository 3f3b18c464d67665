"""Sweeps: their plan, tables on the disk, worker processes, errors and slopes; and the band of other seeds."""

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import psutil
import pytest
from scipy.integrate import quad
from scipy.stats import linregress, norm

import pmdviz
from pmdviz import Recipe, Session
from pmdviz.experiments import sweep
from pmdviz.experiments.sweep import BOUNDED, SeedRun, SeedRuns, chosen_error, exact_values, fitted, planned, run_seed
from pmdviz.experiments.workers import Table, table_at, table_path
from tests.support.own import own_target
from tests.support.tables import refused

ROOT = Path(__file__).parents[2]
RECIPE = Recipe("gaussian", target_options={"dim": 1}, num_particles=50, batch_size=5, budget=100)
OVER = {"num_particles": [20, 30, 40]}


def counting(folder):
    """An error function that leaves a mark in `folder` for every run that is computed."""

    def marks(frame):
        import uuid

        (folder / uuid.uuid4().hex).touch()
        return float(len(frame.particles))

    folder.mkdir()
    return marks


def same_rows(one, other):
    for name in one.rows.keys() - {"seconds"}:
        np.testing.assert_array_equal(one.rows[name], other.rows[name], err_msg=name)
    return True


def test_rows_are_the_runs():
    found = pmdviz.sweep(RECIPE, OVER, seeds=2, workers=1)
    assert found.rows["num_particles"].tolist() == [20, 20, 30, 30, 40, 40]
    run = pmdviz.run(RECIPE.replaced(seed=1, knobs={"num_particles": 30}), floor=False)
    for name in ("tv", "kl_forward", "kl_reverse", "cross_entropy"):
        assert found.rows[name][3] == run.final.metrics[name]
    assert found.rows["visited"][3] == run.final.visited and found.rows["iterations"][3] == run.final.iteration
    assert found.failed == () and len(found) == 6
    assert found.to_frame().shape == (6, len(found.rows))
    assert found.fit().num_points == 6 and found.summary()[1]["runs"] == 2
    assert found.summary()[1]["mean"] == pytest.approx(found.rows["tv"][2:4].mean())
    refused("did you mean 'tv'", found.fit, y="tvv")


def test_what_is_in_the_table_is_not_computed_again(tmp_path):
    marks, path = counting(tmp_path / "runs"), tmp_path / "t.csv"

    def swept(seeds, computed, recipe=RECIPE):
        found = pmdviz.sweep(recipe, OVER, seeds=seeds, path=path, error=marks, workers=1)
        assert len(list((tmp_path / "runs").iterdir())) == computed
        return found

    first, again, more = swept(2, 6), swept(2, 6), swept(3, 9)
    assert same_rows(first, again) and first.rows["seconds"].tolist() == again.rows["seconds"].tolist()
    assert len(more) == 9 and more.rows["seed"].tolist() == [0, 1, 2] * 3
    assert len(swept(1, 12, RECIPE.replaced(knobs={"eta": 1.0}))) == 3
    assert len(Table(path, first.kinds).read()) == 12


@pytest.mark.parametrize("kind", [ValueError, SystemExit])
def test_a_run_that_fails_is_a_row_with_words(kind):
    def odd(frame):
        if len(frame.particles) == 30:
            raise kind("no\nway")
        return 1.0

    found = pmdviz.sweep(RECIPE, OVER, seeds=1, error=odd, workers=1)
    assert found.rows["failed"].tolist() == ["", f"{kind.__name__}: no way", ""]
    assert found.failed == (f"seed 0: {kind.__name__}: no way",)
    assert np.isnan(found.rows["odd"][1]) and found.rows["odd"][2] == 1.0


@pytest.mark.ci
def test_a_target_of_ones_own_goes_to_the_processes():
    offset = 0.25

    def log_likelihood(theta, batch):
        return -0.5 * ((theta[:, :1] - offset - batch[:, 0]) ** 2).sum(axis=1)

    recipe = Recipe(own_target(log_likelihood=log_likelihood), num_particles=30, batch_size=5, budget=60)
    assert same_rows(pmdviz.sweep(recipe, OVER, seeds=1, workers=1), pmdviz.sweep(recipe, OVER, seeds=1, workers=2))


def test_rows_come_from_any_backend_and_what_cannot_be_sent_is_said(tmp_path, monkeypatch):
    lock = __import__("threading").Lock()

    def own(frame):
        return float(lock.locked())

    refused("cannot be sent to other processes", pmdviz.sweep, RECIPE, OVER, seeds=1, error=own)
    for there, name in ((True, "t.parquet"), (False, "t.csv")):
        monkeypatch.setattr("pmdviz.experiments.workers._has_pyarrow", lambda there=there: there)
        assert table_path(tmp_path / "t").name == name
    refused("needs pyarrow", table_path, "t.parquet")
    import joblib

    class Plain(joblib._parallel_backends.ThreadingBackend):
        supports_return_generator = False

    joblib.register_parallel_backend("plain", Plain)
    said = []
    with joblib.parallel_config(backend="plain", n_jobs=2):
        found = pmdviz.sweep(RECIPE, OVER, seeds=4, progress=lambda *now: said.append(now))
    assert said[-1] == (12, 12)
    assert same_rows(found, pmdviz.sweep(RECIPE, OVER, seeds=4, workers=1))


@pytest.mark.ci
def test_a_worker_that_dies_once_loses_nothing_and_a_run_that_kills_it_twice_is_named(tmp_path):
    died = tmp_path / "died"

    def deadly(frame):
        import os

        if len(frame.particles) == 30 or (len(frame.particles) == 40 and not died.exists()):
            died.touch()
            os.kill(os.getpid(), 9)
        return 0.5

    found = pmdviz.sweep(RECIPE, OVER, seeds=3, error=deadly, workers=2, path=tmp_path / "t.csv")
    assert died.exists() and len(found.failed) == 3 and found.rows["num_particles"].tolist() == [20, 20, 20, 40, 40, 40]
    for k, words in enumerate(sorted(found.failed)):
        assert f"num_particles = 30, seed {k} is missing: its worker died twice" in words
    others = {"num_particles": [20, 40]}
    assert same_rows(found, pmdviz.sweep(RECIPE, others, seeds=3, error=deadly, workers=1))


HALF_WAY = """
import os, sys, time
import pmdviz
from pmdviz.experiments import workers

def slow(frame, gate=sys.argv[2]):
    open(f"{gate}-{os.getpid()}", "w").close()
    while len(frame.particles) == 40 and not os.path.exists(gate):  # the last third
        time.sleep(0.05)
    return float(len(frame.particles))

workers.SHARE = 0.0  # every row at once, whatever a write costs
recipe = pmdviz.Recipe("gaussian", target_options={"dim": 1}, num_particles=50, batch_size=5, budget=100)
pmdviz.sweep(recipe, {"num_particles": [20, 30, 40]}, seeds=8, error=slow, path=sys.argv[1], workers=2)
"""


@pytest.mark.ci
def test_after_kill_9_of_the_parent_only_the_missing_rows_are_computed(tmp_path):
    path, gate = tmp_path / "t.csv", tmp_path / "gate"
    command = [sys.executable, "-c", HALF_WAY, path, gate]
    parent = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path)
    try:
        while rows_on_disk(path) < 8 or len([*tmp_path.glob("gate-*")]) < 2:  # both workers have begun
            assert parent.poll() is None
            time.sleep(0.05)
        workers = psutil.Process(parent.pid).children(recursive=True)
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        gate.touch()
    kept = rows_on_disk(path)
    assert 8 <= kept < 24
    gone, alive = psutil.wait_procs(workers, timeout=300)
    assert alive == []  # no worker outlives its parent
    marks = counting(tmp_path / "runs")
    marks.__name__ = "slow"
    found = pmdviz.sweep(RECIPE, OVER, seeds=8, error=marks, path=path, workers=1)
    assert len(list((tmp_path / "runs").iterdir())) == 24 - kept
    assert same_rows(found, pmdviz.sweep(RECIPE, OVER, seeds=8, error=marks, workers=1))


def rows_on_disk(path):
    return path.read_text().count("\n") - 1 if path.exists() else 0


@pytest.mark.nightly
def test_the_same_call_runs_on_a_dask_cluster(tmp_path):
    import joblib

    here = pmdviz.sweep(RECIPE, OVER, seeds=2, workers=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the cluster's own start and end
        from distributed import Client, LocalCluster

        options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "local_directory": tmp_path}
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            pids = set(client.run(os.getpid).values())
            with joblib.parallel_config(backend="dask"):

                def worker(frame):
                    import os

                    return float(os.getpid())

                there = pmdviz.sweep(RECIPE, OVER, seeds=2, error=worker, path=tmp_path / "t.csv")
    assert set(there.rows["worker"].astype(int)) <= pids
    assert all(np.array_equal(there.rows[name], here.rows[name]) for name in ("tv", "bounded", "recipe", "visited"))


KINDS = {"m": int, "policy": str, "warm": bool, "tv": float}
ROWS = [
    {"m": 10, "policy": "ess", "warm": True, "tv": 0.1 + 0.2},
    {"m": 20, "policy": 'a "word", with a comma\nand a line', "warm": False, "tv": float("nan")},
    {"m": 2**40, "policy": "", "warm": False, "tv": float("inf")},
]


@pytest.mark.parametrize("name", ["t.csv", pytest.param("t.parquet", marks=pytest.mark.ci)])
def test_rows_come_back_as_they_were_and_the_file_is_whole_after_every_row(tmp_path, name):
    with table_at(tmp_path / name, KINDS) as table:
        for count, row in enumerate(ROWS, start=1):
            table.next_write = 0.0
            table.add(row)
            np.testing.assert_equal(Table(tmp_path / name, KINDS).read(), ROWS[:count])
    assert sorted(os.listdir(tmp_path)) == [name]  # neither a lock nor a half-written file stays
    (tmp_path / name).write_text("no parquet at all")
    refused("cannot read|its columns are", table_at(tmp_path / name, KINDS).__enter__)


def test_rows_stay_when_the_work_fails_and_sorted_ones_keep_those_of_other_sweeps(tmp_path):
    with pytest.raises(ZeroDivisionError), table_at(tmp_path / "t.csv", KINDS) as table:
        table.next_write = float("inf")
        table.add(ROWS[0])
        _ = 1 / 0
    with table_at(tmp_path / "t.csv", KINDS) as table:
        assert len(table.rows) == 1
    with table_at(tmp_path / "sorted.csv", KINDS) as table:
        for m in (4, 9, 3, 8, 1):
            table.add({**ROWS[0], "m": m})
        table.sort([1, 3, 4], lambda row: row["m"])
        assert [row["m"] for row in table.rows] == [9, 8, 1, 3, 4]


def test_a_file_that_cannot_be_used_is_one_sentence_and_two_processes_do_not_write_one_table(tmp_path):
    for name, content, words in [
        ("t.csv", b"a,b\n1,2\n", "its columns are a, b"),
        ("t.csv", b"m,policy,warm,tv\n1,ess\n", "a row is cut short"),
        ("t.csv", b"m,policy,warm,tv\nx,ess,True,0.5\n", "cannot read"),
        ("t.csv", b"m,policy,warm,tv\n1,ess,True,0.5\n1,ess,True,0.5,7\n", "line 3 has more values than the header"),
        ("t.csv", b"m,policy,warm,tv,tv\n1,ess,True,0.5,0.6\n", r"header names the column 'tv' twice \(line 1\)"),
        ("t.csv", b"\xff\xfe\x00", "cannot read"),
        ("t.txt", b"", "written as .parquet or .csv"),
    ]:
        (tmp_path / name).write_bytes(content)
        refused(words, lambda path=tmp_path / name: table_at(path, KINDS).__enter__())
        assert (tmp_path / name).read_bytes() == content
    refused("cannot write", table_at(tmp_path / "no/folder/t.csv", KINDS).__enter__)
    path, pipes = tmp_path / "locked.csv", {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", LOCKED, path], **pipes) as other:
        assert other.stdout.readline() == "mine\n"
        refused("written by another process", table_at(path, {"m": int}).__enter__)
        other.kill()
    with table_at(path, {"m": int}) as table:  # what a killed process held is free
        assert table.rows == []


LOCKED = """
import sys
from pmdviz.experiments.workers import table_at
with table_at(sys.argv[1], {"m": int}):
    print("mine", flush=True)
    sys.stdin.read()
"""


GAUSSIAN = Recipe("gaussian", num_particles=50, batch_size=5, budget=100)


def test_every_combination_times_every_seed_in_order_or_side_by_side(monkeypatch):
    both = {"num_particles": [20, 30], "budget": [100, 200]}
    jobs = planned(GAUSSIAN, both, 3)
    found = [(job.recipe.knobs["num_particles"], job.recipe.budget, job.recipe.seed) for job in jobs]
    assert found == [(m, budget, seed) for m in (20, 30) for budget in (100, 200) for seed in range(3)]
    assert len({job.identity for job in jobs}) == 12
    jobs = planned(GAUSSIAN, both, 1, together=True)
    assert [job.values for job in jobs] == [{"num_particles": 20, "budget": 100}, {"num_particles": 30, "budget": 200}]
    (job,) = planned(GAUSSIAN, {"num_data": [10], "policy": ["never"]}, [7])
    assert (job.recipe.target_options["num_data"], job.recipe.knobs["policy"], job.recipe.seed) == (10, "never", 7)
    assert len(planned(GAUSSIAN, {"num_particles": [20, 20, 20.0, "20"]}, [1, 1])) == 1
    (one,) = planned(GAUSSIAN, {"num_particles": [20]}, 1)
    (further,) = planned(GAUSSIAN.replaced(knobs={"eta": 3.0}), {"num_particles": [20]}, 1)
    monkeypatch.setattr("pmdviz.engine.recipe.versions", lambda: {"pmdviz": "another"})
    (other,) = planned(GAUSSIAN, {"num_particles": [20]}, 1)
    assert other.recipe.made_with == {"pmdviz": "another"}
    assert one.identity == other.identity
    assert one.identity[0] != further.identity[0]


def test_what_cannot_be_used_is_one_sentence():
    few = {"num_particles": [5]}
    for over, seeds, together, words in [
        ({"num_particls": [1]}, 1, False, "did you mean 'num_particles'"),
        ({"num_particles": []}, 1, False, "at least one value"),
        ({"num_particles": "50"}, 1, False, "must be a list"),
        ({}, 1, False, "over must name"),
        (few, 0, False, "seeds must be a whole number"),
        (few, [-1], False, "a seed must be a whole number"),
        (few, [], False, "seeds must be at least 1"),
        ({"num_particles": range(1, 2000)}, 1000, False, "at most 1,000,000 runs"),
        ({"num_particles": [5], "budget": [1, 2]}, 1, True, "num_particles has 1, budget has 2"),
    ]:
        refused(words, planned, GAUSSIAN, over, seeds, together)
    refused("needs a budget", planned, GAUSSIAN.limited(None), few, 1)
    assert planned(GAUSSIAN.limited(None), {"budget": [50]}, 1)[0].recipe.budget == 50


def test_slope_and_standard_error_are_those_of_scipy_and_need_points():
    rng = np.random.default_rng(0)
    x = np.repeat([64, 256, 1024, 4096], 10)
    y = 3 * x**-0.5 * np.exp(0.3 * rng.standard_normal(len(x)))
    fit, theirs = fitted(x, y), linregress(np.log(x), np.log(y))
    found = (fit.slope, fit.standard_error, fit.intercept)
    assert found == pytest.approx((theirs.slope, theirs.stderr, theirs.intercept), rel=1e-12) and fit.left_out == 0
    assert fit.at(100) == pytest.approx(np.exp(theirs.intercept) * 100**theirs.slope)
    fit = fitted([1, 2, 4, 8, 16, 0], [1, 0.5, 0.25, np.nan, 0.0, 1])
    assert fit.slope == pytest.approx(-1) and (fit.num_points, fit.left_out) == (3, 3)
    for x, y in [([1, 2], [1, 2]), ([5, 5, 5], [1, 2, 3]), ([], []), ([1, 2, 3], [0, 0, 0])]:
        refused("three points", fitted, x, y)


def expectations(density, scale):
    """Of the bounded functions under each coordinate of a Gaussian, by SciPy's quadrature."""

    def one(f, mean, sd):
        ends = mean - 10 * sd, mean + 10 * sd
        return quad(lambda z: f(np.array(z / scale)) * norm.pdf(z, mean, sd), *ends, limit=400, points=[0.5 * scale])[0]

    sds = np.sqrt(np.diag(density.cov))
    return [[one(f, m, s) for f, _ in BOUNDED.values()] for m, s in zip(density.mean, sds, strict=True)]


def test_antiderivatives_and_exact_values_of_a_mixture_and_of_a_gaussian():
    u, step = np.linspace(-3, 3, 61) + 1e-3, 1e-6
    for f, antiderivative in BOUNDED.values():
        slope = (antiderivative(u + step) - antiderivative(u - step)) / (2 * step)
        np.testing.assert_allclose(slope, f(u), atol=1e-6)
        assert np.abs(f(u)).max() <= 1
    target = pmdviz.target("mixture", num_data=400, sigma_x=1.5)
    draws = target.exact.sample(np.random.default_rng(0), 200_000)
    wanted = np.array([[f(draws[:, k]).mean() for f, _ in BOUNDED.values()] for k in range(2)])
    np.testing.assert_allclose(exact_values(target), wanted, atol=4 / np.sqrt(200_000))
    for dim in (1, 2):
        target = pmdviz.target("gaussian", dim=dim, prior_sd=2.0)
        np.testing.assert_allclose(exact_values(target), expectations(target.exact, 2.0), atol=1e-4)


def test_bounded_errors_of_points_or_densities_and_which_errors_can_be_asked_for():
    frame = Session(Recipe("gaussian", target_options={"dim": 1}, num_particles=300, budget=200)).advance(20)
    values = [frame.weights @ f(frame.particles[:, 0]) for f, _ in BOUNDED.values()]
    assert sweep.bounded_error(frame) == pytest.approx(np.abs(values - exact_values(frame.target)[0]).mean())
    frame = Session(Recipe("gaussian", "svi", target_options={"dim": 2}, budget=100)).advance(3)
    error = np.abs(np.array(expectations(frame.density, 1.0)) - exact_values(frame.target)).mean()
    assert sweep.bounded_error(frame) == pytest.approx(error, abs=1e-4)

    def own(frame):
        return 0.0

    def mean_error(frame):
        return 0.0

    assert chosen_error("bounded") == ("bounded", {}) and chosen_error(own) == ("own", {"own": own})
    for wrong, words in [
        ("tvv", "did you mean 'tv'"),
        (lambda frame: 0.0, "not a lambda"),
        (5, "must be one of"),
        (mean_error, "'mean_error' is the name of a metric"),
    ]:
        refused(words, chosen_error, wrong)
    found = sweep.measured(Session(Recipe(own_target(dim=3), num_particles=20, budget=10)).advance(1), {})
    assert set(found) == set(sweep.ERRORS) and np.isnan([*found.values()]).all()
    frame = Session(Recipe("linear", target_options={"dim": 4}, num_particles=50, budget=100)).advance()
    assert sweep.measured(frame, chosen_error("mean_error")[1])["mean_error"] == frame.metrics["mean_error"] > 0
    words = "error 'perplexity' is unavailable for method 'pmd' on target 'linear'; available: .*mean_error"
    refused(words, sweep.measured, frame, chosen_error("perplexity")[1])


TURNED = Recipe("gaussian", "pmd", num_particles=100, budget=400, batch_size=10, changes=[(5, {"eta": 0.5})], seed=1)


@pytest.fixture(scope="module")
def runs():
    return SeedRuns([run_seed(TURNED, seed) for seed in sweep.other_seeds(1, 5)])


def column(seed, name, recipe=TURNED):
    session = Session(recipe.replaced(seed=seed))
    session.advance(10_000)
    return session.history.columns[name]


def made(seed, iterations, values, stopped=""):
    steps = np.array(iterations)
    return SeedRun(seed, {"iteration": steps, "visited": 10 * steps, "tv": np.array(values, float)}, stopped)


def test_the_values_are_those_of_single_runs_and_the_band_their_quantiles(runs):
    assert sweep.other_seeds(1, 4) == (0, 2, 3, 4) and sweep.other_seeds(9, 3) == (0, 1, 2)
    expected = np.array([column(seed, "tv") for seed in (0, 2, 3, 4, 5)])
    assert np.array_equal(runs.values("tv"), expected)
    assert not np.array_equal(expected[0], column(0, "tv", TURNED.replaced(changes=())))
    band, values = runs.band("visited", "tv"), runs.values("tv")
    for name, share in {"low": 0.1, "middle": 0.5, "high": 0.9}.items():
        assert np.array_equal(band[name], [np.quantile(each, share) for each in values.T])
    assert np.array_equal(band["x"], 10 * runs.whole[0].history["iteration"])


def test_a_run_is_judged_where_all_were_measured_and_is_not_among_the_others(runs):
    session = Session(TURNED)
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
