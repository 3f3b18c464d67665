"""A person's own target with more data than one wants in memory at once."""

import hashlib

import numpy as np
import pytest

from pmdviz.api import custom_target
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.targets import custom

SIZES: list[tuple[int, int]] = []


def log_prior(theta):
    return -0.5 * (theta**2).sum(axis=1)


def log_likelihood(theta, batch):
    SIZES.append((len(theta), len(batch)))
    return -0.5 * ((batch - theta[:, :1]) ** 2).sum(axis=1)


def gradient(theta, batch):
    SIZES.append((len(theta), len(batch)))
    return np.stack([(batch - theta[:, :1]).sum(axis=1), np.zeros(len(theta))], axis=1)


def target_of(data, **more):
    prior = {"log_prior": log_prior, "sample_prior": lambda rng, n: rng.standard_normal((n, 2))}
    return custom_target(**prior, log_likelihood=log_likelihood, data=data, dim=2, name="mine", **more)


@pytest.fixture
def on_disk(tmp_path):
    data = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float64, shape=(30_000,))
    data[:] = np.random.default_rng(0).standard_normal(30_000)
    data.flush()
    return np.load(tmp_path / "x.npy", mmap_mode="r")


def test_a_memory_map_is_never_copied(on_disk):
    target = target_of(on_disk)
    assert np.shares_memory(target.data, on_disk) and not target.data.flags.writeable
    session = Session(Recipe(target, num_particles=50, budget=500))
    assert np.shares_memory(session.target.data, on_disk)
    in_memory = Session(Recipe(target_of(np.array(on_disk)), num_particles=50, budget=500))
    assert session.advance(5).weights.tobytes() == in_memory.advance(5).weights.tobytes()


def test_any_other_array_is_copied():
    mine = np.zeros(10)
    target = target_of(mine)
    mine[:] = 5
    assert (target.data == 0).all()


def test_the_fingerprint_is_that_of_the_bytes(on_disk):
    expected = hashlib.sha256(np.array(on_disk).tobytes()).hexdigest()[:16]
    assert target_of(on_disk).fingerprint["data_hash"] == expected
    every_second = np.arange(20.0)[::2]
    expected = hashlib.sha256(every_second.tobytes()).hexdigest()[:16]
    assert target_of(every_second).fingerprint["data_hash"] == expected


def test_no_call_of_a_persons_function_has_more_pairs_than_the_limit(on_disk, monkeypatch):
    given = target_of(on_disk, grad_log_prior=lambda theta: -theta, grad_log_likelihood=gradient)
    theta = np.random.default_rng(1).standard_normal((70, 2))
    whole = given.log_likelihood(theta, on_disk), given.grad_log_joint(theta, on_disk)
    monkeypatch.setattr(custom, "MAX_PAIRS", 10_000)
    SIZES.clear()
    np.testing.assert_allclose(given.log_likelihood(theta, on_disk), whole[0], rtol=1e-12)
    np.testing.assert_allclose(given.grad_log_joint(theta, on_disk), whole[1], rtol=1e-9)
    assert max(m * n for m, n in SIZES) <= 10_000
    assert sum(n for _, n in SIZES) == 2 * len(on_disk)
    SIZES.clear()
    given.log_likelihood(np.zeros((20_000, 2)), on_disk[:3])
    assert SIZES == [(20_000, 1)] * 3, "where there are more theta than pairs allowed, one datum at a time"


def test_the_exact_posterior_is_left_out_where_it_would_take_minutes(on_disk, monkeypatch):
    assert target_of(on_disk).exact is None
    assert target_of(np.zeros(50)).exact is not None
    frame = Session(Recipe(target_of(on_disk), num_particles=20, budget=100)).frame
    assert frame.metrics["tv"] is None and frame.grid.q.sum() > 0
    monkeypatch.setattr(custom, "MAX_EXACT_PAIRS", 50 * custom.ENOUGH[2] - 1)
    assert target_of(np.zeros(50)).exact is None
