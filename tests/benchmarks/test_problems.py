"""The generated problems and their answers, and what `bench silence` makes of runs."""

from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks import silence
from benchmarks.problems import KINDS, Problem, problem

FEW = 20  # every variant of every kind is among the first ones
Z = 4.5
NU = 5  # degrees of freedom of the kernels around an answer's draws


@pytest.fixture(scope="module")
def few() -> list[Problem]:
    return [problem(1, number) for number in range(FEW)]


def near_zero(values: np.ndarray, weights: np.ndarray) -> None:
    """Weighted means (d,) are within Z standard errors of 0."""
    mean = weights @ values
    assert (np.abs(mean) < Z * np.sqrt(weights**2 @ (values - mean) ** 2)).all()


def agrees(one: Problem, points: np.ndarray, weights: np.ndarray) -> None:
    near_zero(points - one.answer.mean, weights)
    near_zero((points - one.answer.mean) ** 2 - one.answer.sd**2, weights)


def test_along_every_component_of_an_answer_the_targets_density_is_that_component(few):
    """log joint - log q is one constant at draws of an answer by quadrature, whose moments are those of its draws."""
    rng, checked = np.random.default_rng(0), Counter()
    for one in few:
        answer, d = one.answer, one.target.dim
        if answer.roots is None:
            continue
        free = d if answer.roots[0, -1].any() else d - 1  # without the coordinate that is summed over
        rows = rng.choice(len(answer.weights), 500, p=answer.weights)
        z, roots = rng.standard_normal((500, free)), answer.roots[rows][:, :, :free]
        points = answer.means[rows] + np.einsum("nij,nj->ni", roots, z)
        log_q = np.log(answer.weights[rows]) - 0.5 * (z**2).sum(axis=1) - np.linalg.slogdet(roots[:, :free])[1]
        # Components of a sum without such a coordinate overlap a little.
        assert_allclose(np.ptp(one.target.log_joint(points) - log_q), 0, atol=1e-4, err_msg=one.name)
        agrees(one, answer.sample(rng, 20_000), np.full(20_000, 1 / 20_000))
        checked[one.kind] += 1
    assert min(checked[kind] for kind in KINDS if kind != "heavy_tails") >= 2


def test_importance_sampling_around_an_answers_draws_gives_its_moments(few):
    rng, checked = np.random.default_rng(1), Counter()
    for one in few:
        if one.answer.roots is not None:
            continue
        centres, n = one.answer.sample(rng, 300), 10_000
        root = np.linalg.cholesky(0.3 * np.atleast_2d(np.cov(centres.T)))
        noise = rng.standard_normal((n, one.target.dim)) / np.sqrt(rng.chisquare(NU, (n, 1)) / NU)
        points = centres[rng.integers(300, size=n)] + noise @ root.T
        u, v = (np.linalg.solve(root, at.T).T for at in (points, centres))
        squares = (u**2).sum(axis=1)[:, None] + (v**2).sum(axis=1) - 2 * u @ v.T
        log_q = np.log(((1 + squares / NU) ** (-0.5 * (NU + one.target.dim))).sum(axis=1))
        log_weights = one.target.log_joint(points) - log_q
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        assert 1 / (weights**2).sum() > 1000, one.name
        agrees(one, points, weights)
        assert one.answer.error < 0.01
        checked[one.kind] += 1
    assert checked["heavy_tails"] == FEW // len(KINDS) and checked["modes"]


def test_problems_are_the_same_again_and_of_the_promised_sizes(few):
    assert {kind: sum(one.kind == kind for one in few) for kind in KINDS} == dict.fromkeys(KINDS, FEW // len(KINDS))
    again, other = problem(1, 7), problem(2, 7)
    assert_array_equal(again.target.data, few[7].target.data)
    assert_array_equal(again.answer.mean, few[7].answer.mean)
    assert other.target.fingerprint != again.target.fingerprint
    for one in few:
        assert 1 <= one.target.dim <= 10 and 8 <= one.target.num_data <= 500
        assert np.isfinite(one.answer.mean).all() and (one.answer.sd > 0).all() and "gradient" in one.target.offers


def test_wrong_is_wrong_and_silence_is_counted(few):
    one = few[0]
    for off, ratio, result in [(0.29, 1.0, "right"), (-0.31, 1.0, "wrong"), (0.0, 0.71, "right"), (0.0, 1.41, "wrong")]:
        mean, sd = one.answer.mean.copy(), one.answer.sd.copy()
        mean[-1] += off * one.answer.sd[-1]
        sd[0] *= ratio
        assert silence.judged(one, mean, sd, "").result == result
    endings = [("wrong", ""), ("wrong", "so"), ("wrong", "so"), ("right", "so"), ("right", ""), ("cut_off", "")]
    rows = [silence.Row("a", "modes", {"pmd": silence.Ending(*end)}) for end in endings]
    told = silence.summary(rows)
    counts = {"wrong": 3, "silent": 1, "right": 2, "false_alarms": 1, "cut_off": 1, "failed": 0}
    assert told["methods"]["pmd"] == told["kinds"]["modes"] == counts
    shares = (told["all"][name]["share"] for name in ("silent_among_wrong", "false_alarms_among_right"))
    assert tuple(shares) == (0.333, 0.5)
