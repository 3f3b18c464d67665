"""The rules by which claims about logistic regression are judged, jittered images, and the page of the docs."""

import numpy as np
import pytest

from benchmarks.helpers.claims_rules import NO, OPEN, YES
from benchmarks.helpers.jittered import MOST_SHIFT, components, jittered
from benchmarks.helpers.regression_page import RIVALS, SVI, best_at_first, comparable, reaches
from benchmarks.helpers.regression_problems import PASSES, TITLES


def ends(accuracy, loss, seed=0, apart=0.0):
    """Runs on four data sets, which differ by so much to either side."""
    rng = np.random.default_rng(seed)
    noise = 1e-4 * rng.standard_normal((4, 2, len(PASSES))) + apart * np.array([-1, 1, -1, 1])[:, None, None]
    return {"best": {"accuracy": accuracy + noise, "log_loss": loss + noise}}


@pytest.fixture
def measured():
    found = {key: ends(0.98, 0.3, seed=k) for k, key in enumerate(TITLES)}
    return found | {SVI: ends(0.985, 0.1, seed=90), "reference": ends(0.985, 0.05)}


def test_rules_ask_for_a_clear_lead_a_hundredth_or_the_paper_s_accuracy(measured):
    best, near, reached = best_at_first(SVI, RIVALS), comparable("pmd", SVI), reaches("pmd")
    assert [rule(measured).verdict for rule in (best, near, reached)] == [YES, YES, NO]
    for rule, name, runs, verdict in (
        (best, "smc", ends(0.98, 0.11, seed=5, apart=0.05), OPEN),
        (best, "smc", ends(0.98, 0.05, seed=5), NO),
        (near, "pmd", ends(0.95, 0.3), NO),
        (near, "pmd", ends(0.97, 0.3, apart=0.05), OPEN),
        (reached, "pmd", ends(0.99, 0.3), YES),
        (reached, "pmd", ends(0.98, 0.3, apart=0.05), OPEN),
    ):
        assert rule({**measured, name: runs}).verdict == verdict, (name, verdict)


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
