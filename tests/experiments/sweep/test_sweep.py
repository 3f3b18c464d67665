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
    assert len(Table(path, first.kinds)._read()) == 12


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


def test_what_cannot_be_sent_is_said_at_once_and_no_suffix_means_parquet_where_it_can_be_written(tmp_path, monkeypatch):
    lock = __import__("threading").Lock()

    def own(frame):
        return float(lock.locked())

    refused("cannot be sent to other processes", pmdviz.sweep, RECIPE, OVER, seeds=1, error=own)
    for there, name in ((True, "t.parquet"), (False, "t.csv")):
        monkeypatch.setattr("pmdviz.experiments.workers._has_pyarrow", lambda there=there: there)
        assert table_path(tmp_path / "t").name == name
    refused("needs pyarrow", table_path, "t.parquet")


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


KINDS = {"m": int, "policy": str, "warm": bool, "tv": float}
ROWS = [
    {"m": 10, "policy": "ess", "warm": True, "tv": 0.1 + 0.2},
    {"m": 20, "policy": 'a "word", with a comma\nand a line', "warm": False, "tv": float("nan")},
    {"m": 2**40, "policy": "", "warm": False, "tv": float("inf")},
]


@pytest.mark.parametrize("name", ["t.csv", pytest.param("t.parquet", marks=pytest.mark.ci)])
def test_rows_come_back_as_they_were_and_the_file_is_whole_after_every_row(tmp_path, name):
    with Table(tmp_path / name, KINDS) as table:
        for count, row in enumerate(ROWS, start=1):
            table._next = 0.0
            table.add(row)
            np.testing.assert_equal(Table(tmp_path / name, KINDS)._read(), ROWS[:count])
    assert sorted(os.listdir(tmp_path)) == [name]  # neither a lock nor a half-written file stays
    (tmp_path / name).write_text("no parquet at all")
    with pytest.raises(InputError, match="cannot read|its columns are"), Table(tmp_path / name, KINDS):
        pass


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


def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path):
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
        with pytest.raises(InputError, match=words) as error, Table(tmp_path / name, KINDS):
            pass
        assert "\n" not in str(error.value) and (tmp_path / name).read_bytes() == content
    with pytest.raises(InputError, match="cannot write"), Table(tmp_path / "no/folder/t.csv", KINDS):
        pass


LOCKED = """
import sys
from pmdviz.experiments.workers import Table
with Table(sys.argv[1], {"m": int}):
    print("mine", flush=True)
    sys.stdin.read()
"""


def test_two_processes_do_not_write_one_table(tmp_path):
    path, pipes = tmp_path / "t.csv", {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", LOCKED, path], **pipes) as other:
        assert other.stdout.readline() == "mine\n"
        with pytest.raises(InputError, match="written by another process"), Table(path, {"m": int}):
            pass
        other.kill()
    with Table(path, {"m": int}) as table:  # what a killed process held is free
        assert table.rows == []
