"""What a row of the engine's bench says; how long anything takes is never judged here."""

import ast
import inspect
import json

import numpy as np
import pytest

from benchmarks.helpers import engine_kernels
from benchmarks.helpers.contest import Contest, Missing, Peer, race, rows_of
from benchmarks.helpers.engine_kernels import density
from benchmarks.helpers.exp_roofline import exponentials
from pmdviz.kernels import warmup


def absent():
    raise ImportError("No module named 'absent'")


def test_a_row_for_each_peer_that_is_there_and_a_sentence_for_each_that_is_not():
    missing, peers = Missing(), (Peer("here", lambda: lambda: 3.0), Peer("not here", absent))
    contest = Contest("adding", "small", lambda: 1.0, 1000, peers=peers, error=lambda x: abs(x - 1.0), calls=4)
    (row,) = rows_of(contest, 1, missing)
    assert (row["name"], row["size"], row["peer"]) == ("adding", "small", "here")
    assert (row["accuracy"], row["peer_accuracy"]) == (0.0, 2.0)
    assert row["ratio"] == pytest.approx(row["peer_ms"] / row["ours_ms"], rel=0.01)
    assert row["share_of_ceiling"] == pytest.approx(row["ceiling_ms"] / row["ours_ms"], rel=0.02, abs=1e-3)
    assert missing.words == {"not here": "not here is left out: No module named 'absent'"}
    json.dumps(row, allow_nan=False)


def test_without_a_peer_there_is_one_row_all_the_same():
    (row,) = rows_of(Contest("alone", "small", lambda: None), 1, Missing())
    assert row["ours_ms"] >= 0
    assert [row[name] for name in ("peer", "peer_ms", "ratio", "ceiling_ms", "accuracy")] == [None] * 5


def test_everybody_has_a_turn_in_every_round():
    turns = []
    times = race({name: lambda name=name: turns.append(name) for name in "ab"}, 3)
    last = [name for at, name in enumerate(turns) if at == 0 or turns[at - 1] != name][-6:]
    assert last == ["a", "b"] * 3 and set(times) == {"a", "b"}


@pytest.mark.parametrize(("base", "dtype"), [("2", np.float64), ("2", np.float32), ("e", np.float64)])
def test_the_ceiling_really_sums_exponentials(base, dtype):
    x = -np.linspace(0, 3, 100).astype(dtype)
    expected = 7 * (2.0 if base == "2" else np.e) ** x.astype(float)
    assert exponentials(x, 7, base) == pytest.approx(expected.sum(), rel=1e-5)


def test_the_density_contest_knows_the_truth():
    contest = density(np.random.default_rng(0), 60, 3)
    assert contest.error(contest.ours()) < 1e-13
    assert contest.error(contest.ours() + 1e-6) == pytest.approx(1e-6)
    peers = {peer.name: peer for peer in contest.peers}
    assert contest.error(peers["scipy gaussian_kde.logpdf"].make()()) < 1e-12


def names_in(source):
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def test_every_kernel_that_is_warmed_up_has_a_contest():
    kernels = {
        name
        for name in names_in(inspect.getsource(warmup))
        if inspect.isfunction(item := getattr(warmup, name, None))
        and item.__module__.startswith("pmdviz.kernels.")
        and item.__module__ != warmup.__name__
    }
    assert len(kernels) > 15
    assert kernels <= names_in(inspect.getsource(engine_kernels))
