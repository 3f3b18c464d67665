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

import pmdviz
from pmdviz import InputError, Recipe
from pmdviz.experiments.workers import Table, table_path
from tests.support.own import own_target
from tests.support.tables import refused

ROOT = Path(__file__).parents[3]
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
    names = [name for name in one.rows if name != "seconds"]
    different = [k for k in names if not np.array_equal(one.rows[k], other.rows[k], equal_nan=one.kinds[k] is float)]
    assert different == [], {name: (one.rows[name], other.rows[name]) for name in different}
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
    marks = counting(tmp_path / "runs")
    first = pmdviz.sweep(RECIPE, OVER, seeds=2, path=tmp_path / "t.csv", error=marks, workers=1)
    assert len(list((tmp_path / "runs").iterdir())) == 6
    again = pmdviz.sweep(RECIPE, OVER, seeds=2, path=tmp_path / "t.csv", error=marks, workers=1)
    more = pmdviz.sweep(RECIPE, OVER, seeds=3, path=tmp_path / "t.csv", error=marks, workers=1)
    assert len(list((tmp_path / "runs").iterdir())) == 9
    assert same_rows(first, again) and first.rows["seconds"].tolist() == again.rows["seconds"].tolist()
    assert len(more) == 9 and more.rows["seed"].tolist() == [0, 1, 2] * 3
    other = pmdviz.sweep(RECIPE.replaced(knobs={"eta": 1.0}), OVER, seeds=1, path=tmp_path / "t.csv", error=marks,
                         workers=1)  # fmt: skip
    assert len(other) == 3 and len(list((tmp_path / "runs").iterdir())) == 12
    with Table(tmp_path / "t.csv", first.kinds) as table:
        assert len(table.rows) == 12


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


def test_what_cannot_be_sent_is_said_at_once():
    lock = __import__("threading").Lock()

    def own(frame):
        return float(lock.locked())

    refused("cannot be sent to other processes", pmdviz.sweep, RECIPE, OVER, seeds=1, error=own)


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
    assert died.exists() and found.rows["num_particles"].tolist() == [20, 20, 20, 40, 40, 40]
    assert len(found.failed) == 3
    assert all(f"num_particles = 30, seed {k} is missing: its worker died twice" in " ".join(found.failed)
               for k in range(3))  # fmt: skip
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
    path = tmp_path / "t.csv"
    kinds = {**pmdviz.sweep(RECIPE, OVER, seeds=1, workers=1).kinds}
    place = list(kinds).index("seconds")
    kinds = dict([*list(kinds.items())[:place], ("slow", float), *list(kinds.items())[place:]])
    command, gate = [sys.executable, "-c", HALF_WAY, path], tmp_path / "gate"
    parent = subprocess.Popen([*command, gate], env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path)
    try:
        while rows_on_disk(path, kinds) < 8 or len([*tmp_path.glob("gate-*")]) < 2:  # both workers have begun
            assert parent.poll() is None
            time.sleep(0.05)
        workers = psutil.Process(parent.pid).children(recursive=True)
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        gate.touch()
    kept = rows_on_disk(path, kinds)
    assert 8 <= kept < 24
    gone, alive = psutil.wait_procs(workers, timeout=300)
    assert alive == []  # no worker outlives its parent
    marks = counting(tmp_path / "runs")
    marks.__name__ = "slow"
    found = pmdviz.sweep(RECIPE, OVER, seeds=8, error=marks, path=path, workers=1)
    assert len(list((tmp_path / "runs").iterdir())) == 24 - kept
    assert same_rows(found, pmdviz.sweep(RECIPE, OVER, seeds=8, error=marks, workers=1))


def rows_on_disk(path, kinds):
    return len(Table(path, kinds)._read()) if path.exists() else 0


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


def test_a_backend_that_gives_no_results_as_they_come_works_too():
    import joblib

    class Plain(joblib._parallel_backends.ThreadingBackend):
        supports_return_generator = False

    joblib.register_parallel_backend("plain", Plain)
    said = []
    with joblib.parallel_config(backend="plain", n_jobs=2):
        found = pmdviz.sweep(RECIPE, OVER, seeds=4, progress=lambda *now: said.append(now))
    assert said[-1] == (12, 12)
    assert same_rows(found, pmdviz.sweep(RECIPE, OVER, seeds=4, workers=1))


ENDING = """
import os, psutil, threading, time
import pmdviz
from pmdviz.experiments import workers

def go():
    pmdviz.sweep(pmdviz.Recipe("gaussian", budget=2000), {"num_particles": [200, 300]}, seeds=200, workers=2,
                 progress=lambda done, total: done > 2 and begun.set())

begun = threading.Event()
threading.Thread(target=go, daemon=True).start()
begun.wait(60)
workers.shut_down()
print("dismissed", flush=True)
end = time.monotonic() + 60
while len(children := psutil.Process().children()) > 2 and time.monotonic() < end:
    time.sleep(0.1)
print(len(children), flush=True)
os._exit(0)
"""


@pytest.mark.nightly
def test_the_end_of_a_server_leaves_no_worker_behind():
    done = subprocess.run(
        [sys.executable, "-c", ENDING], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    said, children = done.stdout.split()
    assert said == "dismissed" and int(children) <= 2  # the trackers of shared resources end with this process


KINDS = {"m": int, "policy": str, "warm": bool, "tv": float}
ROWS = [
    {"m": 10, "policy": "ess", "warm": True, "tv": 0.1 + 0.2},
    {"m": 20, "policy": 'a "word", with a comma\nand a line', "warm": False, "tv": float("nan")},
    {"m": 2**40, "policy": "", "warm": False, "tv": float("inf")},
]


KINDS_OF_FILES = pytest.mark.parametrize("name", ["t.csv", pytest.param("t.parquet", marks=pytest.mark.ci)])


@KINDS_OF_FILES
def test_rows_come_back_as_they_were(tmp_path, name):
    with Table(tmp_path / name, KINDS) as table:
        for row in ROWS:
            table.add(row)
    with Table(tmp_path / name, KINDS) as table:
        np.testing.assert_equal(table.rows, ROWS)
    assert sorted(os.listdir(tmp_path)) == [name]  # neither a lock nor a half-written file stays


@KINDS_OF_FILES
def test_the_file_is_whole_after_every_row(tmp_path, name):
    with Table(tmp_path / name, KINDS) as table:
        for count, row in enumerate(ROWS, start=1):
            table._next = 0.0
            table.add(row)
            other = Table(tmp_path / name, KINDS)
            np.testing.assert_equal(other._read(), ROWS[:count])


def test_rows_stay_when_the_work_fails_and_sorted_ones_keep_those_of_other_sweeps(tmp_path):
    with pytest.raises(ZeroDivisionError), Table(tmp_path / "t.csv", KINDS) as table:
        table._next = float("inf")
        table.add(ROWS[0])
        _ = 1 / 0
    with Table(tmp_path / "t.csv", KINDS) as table:
        assert len(table.rows) == 1
    with Table(tmp_path / "sorted.csv", KINDS) as table:
        for m in (4, 9, 3, 8, 1):
            table.add({**ROWS[0], "m": m})
        table.sort([1, 3, 4], lambda row: row["m"])
        assert [row["m"] for row in table.rows] == [9, 8, 1, 3, 4]


def test_writing_slows_down_with_what_it_costs_and_no_suffix_means_parquet(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("pmdviz.experiments.workers.time.monotonic", lambda: now[0])
    with Table(tmp_path / "t.csv", KINDS) as table:
        written = []
        monkeypatch.setattr(table, "write", lambda: written.append(len(table.rows)))
        table._next = 5.0
        table.add(ROWS[0])
        now[0] = 5.0
        table.add(ROWS[0])
    assert written == [2, 2]  # not after the first row, after the second, and at the end
    monkeypatch.setattr("pmdviz.experiments.workers._has_pyarrow", lambda: True)
    assert table_path(tmp_path / "t").name == "t.parquet"
    monkeypatch.setattr("pmdviz.experiments.workers._has_pyarrow", lambda: False)
    assert table_path(tmp_path / "t").name == "t.csv"
    refused("needs pyarrow", table_path, "t.parquet")


def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path):
    for name, text, words in [
        ("t.csv", "a,b\n1,2\n", "its columns are a, b"),
        ("t.csv", "", "its columns are none"),
        ("t.csv", "m,policy,warm,tv\n1,ess\n", "a row is cut short"),
        ("t.csv", "m,policy,warm,tv\nx,ess,True,0.5\n", "cannot read"),
        ("t.csv", "m,policy,warm,tv\n1,ess,True,0.5\n1,ess,True,0.5,7\n", "line 3 has more values than the header"),
        ("t.csv", "m,policy,warm,tv,tv\n1,ess,True,0.5,0.6\n", r"header names the column 'tv' twice \(line 1\)"),
        ("t.csv", b"\xff\xfe\x00", "cannot read"),
        ("t.txt", None, "written as .parquet or .csv"),
        ("no/folder/t.csv", None, "cannot write"),
    ]:
        content = text.encode() if isinstance(text, str) else text
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=words) as error, Table(tmp_path / name, KINDS):
            pass
        assert "\n" not in str(error.value)
        assert content is None or (tmp_path / name).read_bytes() == content


@pytest.mark.ci
def test_a_file_that_is_not_parquet_is_one_sentence(tmp_path):
    (tmp_path / "t.parquet").write_text("no parquet at all")
    with pytest.raises(InputError, match="cannot read"), Table(tmp_path / "t.parquet", KINDS):
        pass


LOCKED = """
import sys
from pmdviz.experiments.workers import Table
with Table(sys.argv[1], {"m": int}):
    print("mine", flush=True)
    sys.stdin.read()
"""


def test_two_processes_do_not_write_one_table(tmp_path):
    path = tmp_path / "t.csv"
    with subprocess.Popen(
        [sys.executable, "-c", LOCKED, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "mine\n"
        with pytest.raises(InputError, match="written by another process"), Table(path, {"m": int}):
            pass
        other.kill()
    with Table(path, {"m": int}) as table:  # what a killed process held is free
        assert table.rows == []
