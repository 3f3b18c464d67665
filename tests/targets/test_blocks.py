"""Blocks of parameters: gradients averaged over the others, by the default and by each target's own way."""

import numpy as np
import pytest

from pmdviz.errors import InputError
from pmdviz.targets import TARGETS, make_target
from pmdviz.targets.blocks import Block, InBlocks, checked_blocks, coordinate_blocks
from tests.support.engine import default_target
from tests.support.tables import looped

SETTINGS = {"logistic": {"dim": 5, "num_data": 37}, "gmm": {"dim": 3}, "correlated_gaussian": {"dim": 5}}
GROUPS = {
    "logistic": [[0, 1], [2, 3, 4], [1, 3], [4]],
    "gmm": [[0], [0, 2], [1]],
    "correlated_gaussian": [[0], [1, 4], [2, 3]],
}


@looped("name", SETTINGS)
def test_the_averaged_gradient_is_a_mean_of_plain_ones(name):
    target, rng = make_target(name, **SETTINGS[name]), np.random.default_rng(0)
    own, others = target.sample_prior(rng, 70), target.sample_prior(rng, 9)
    for group in [list(block.coordinates) for block in target.blocks] + GROUPS[name]:
        expected = np.zeros((70, len(group)))
        for row in others:
            points = np.tile(row, (70, 1))
            points[:, group] = own[:, group]
            expected += target.grad_log_joint(points)[:, group] / 9
        for way in (target.block_gradient, super(type(target), target).block_gradient):
            found = way(Block("", tuple(group)), own[:, group], others, {})
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@looped("name", [name for name, made in TARGETS.items() if issubclass(made, InBlocks)])
def test_blocks_hold_every_coordinate_once_and_are_named(name):
    target = default_target(name)
    assert "blocks" in target.offers
    assert sorted(k for block in target.blocks for k in block.coordinates) == list(range(target.dim))
    assert len({block.name for block in target.blocks}) == len(target.blocks) and all(b.name for b in target.blocks)


def test_blocks_are_checked_and_named_after_their_coordinates():
    found = checked_blocks([[2, 0], np.array([1])], ["a", "b", "c"])
    assert found == (Block("a, c", (0, 2)), Block("b", (1,)))
    assert coordinate_blocks(["a", "b"]) == (Block("a", (0,)), Block("b", (1,)))
    with pytest.raises(
        InputError, match=r"each of the 3 coordinates \(0 to 2\) exactly once: b is in none; c is in sev"
    ):
        checked_blocks([[0, 2], [2]], ["a", "b", "c"])


def test_the_correlated_gaussian_is_what_it_says():
    target = make_target("correlated_gaussian", dim=5, correlation=-0.6)
    assert [block.coordinates for block in target.blocks] == [(0, 1), (2, 3), (4,)]
    draws = target.exact.sample(np.random.default_rng(0), 50_000)
    expected = np.eye(5)
    expected[[0, 1, 2, 3], [1, 0, 3, 2]] = -0.6
    assert np.abs(np.cov(draws.T) - expected).max() < 4.5 / np.sqrt(50_000) * 1.5
    assert target.exact.log_z == 0.0
    for bad in (-1.0, 1.0):
        with pytest.raises(InputError, match="correlation must be"):
            make_target("correlated_gaussian", correlation=bad)
