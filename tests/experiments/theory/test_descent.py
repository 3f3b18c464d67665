import numpy as np
import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.experiments.theory_descent import Descent, DescentKnobs, Theory, excess, fall

RNG = np.random.default_rng(5)
ROOT = RNG.standard_normal((3, 3))
A = ROOT @ ROOT.T + np.eye(3)
A /= np.linalg.eigvalsh(A)[-1]
BLOCKS = ((0, 2), (1,))


def kl_to(precision, mean, cov):
    """KL(N(mean, cov) || N(0, precision^-1))."""
    volume = np.linalg.slogdet(precision @ cov)[1]
    return 0.5 * (np.trace(precision @ cov) - len(mean) - volume + mean @ precision @ mean)


def one_step(precision, blocks, h, mean, cov):
    """Algorithm 1 on the moments of a product of Gaussians, block by block."""
    mean, cov = mean.copy(), cov.copy()
    for block in map(list, blocks):
        own = precision[np.ix_(block, block)]
        mean[block] -= 0.5 * h * precision[block] @ mean
        keep = np.eye(len(block)) - 0.5 * h * own
        cov[np.ix_(block, block)] = keep @ cov[np.ix_(block, block)] @ keep.T + h * np.eye(len(block))
    return mean, cov


@pytest.mark.parametrize(("blocks", "h"), [(BLOCKS, 0.1), (((0,), (1,), (2,)), 1.0), (((0, 1, 2),), 1.0)])
def test_the_exact_decrease_is_that_of_the_moments(blocks, h):
    known, mean, cov = Theory(A, blocks, h), np.array([3.0, -2.0, 5.0]), 4.0 * np.eye(3)
    best = np.zeros((3, 3))
    for block in map(list, blocks):
        best[np.ix_(block, block)] = np.linalg.inv(A[np.ix_(block, block)])
    least, found = kl_to(A, np.zeros(3), best), []
    for value, _ in known.exact(mean, 4.0, 400 if h == 1.0 else 40):
        found.append(kl_to(A, mean, cov) - least)
        assert value == pytest.approx(found[-1], rel=1e-9, abs=1e-12)
        mean, cov = one_step(A, blocks, h, mean, cov)
    if h == 1.0:
        assert found[-1] == pytest.approx(known.floor, rel=1e-6)


@pytest.mark.parametrize(("blocks", "h"), [(BLOCKS, 1.5), (((0,), (1,), (2,)), 0.5), (((0, 1, 2),), 0.05)])
def test_the_bound_holds_from_everywhere_and_that_of_the_constants_is_above(blocks, h):
    known = Theory(A, blocks, h)
    assert known.rate <= known.rate_of_constants < 1
    t = np.arange(61)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        exact = known.exact(rng.normal(0, 5, 3), float(rng.uniform(0.1, 20)), 60)[:, 0]
        assert (exact <= known.floor + known.rate**t * (exact[0] - known.floor) + 1e-9 * exact[0]).all()


def test_the_rate_is_reached_and_the_floor_falls_like_the_square_of_h():
    """Of one block, along the flattest direction, the mean's share falls by (1 - h c/2)^2 a step: no less will do."""
    known, (c, top) = Theory(A, ((0, 1, 2),), 0.3), np.linalg.eigvalsh(A)[[0, -1]]
    assert known.rate == pytest.approx((1 - 0.15 * c) ** 2) and top == pytest.approx(1.0)
    start = 1e4 * np.linalg.eigh(A)[1][:, 0]
    exact = known.exact(start, 1.0, 10)[:, 0]
    assert exact[10] / exact[0] == pytest.approx(known.rate**10, rel=1e-4)
    # h^2 sum a^2 / 64, though the variance is off by O(h).
    eigenvalues = np.concatenate([np.linalg.eigvalsh(A[np.ix_(b, b)]) for b in map(list, BLOCKS)])
    assert Theory(A, BLOCKS, 0.01).floor == pytest.approx(1e-4 * (eigenvalues**2).sum() / 64, rel=0.01)
    assert excess(np.array([1.0]))[0] == 0.0
    rows = [{"t": t, "time": 0.5 * t, "measured": 100 * 0.6 ** (0.5 * t), "floor": 1e-4} for t in range(30)]
    assert fall(rows, 0.5) == pytest.approx(0.6)
    assert np.isnan(fall(rows[:1], 0.5))
    knobs = DescentKnobs.checked({"correlation": 0.99})
    with pytest.raises(InputError, match="step_size must be below 0.0398"):
        Descent().cases(knobs)
    assert np.isnan(Theory(A, BLOCKS, 3.0).rate_of_constants)


def test_what_is_measured_of_particles_is_the_kl_of_their_moments():
    known = Theory(A, BLOCKS, 0.1)
    factor = np.diag([1.0, 2.0, 0.5])
    factor[2, 0] = 0.3
    particles = RNG.standard_normal((50_000, 3)) @ factor.T + [0.5, -1.0, 0.2]
    cov = factor @ factor.T
    best = np.zeros((3, 3))
    for block in map(list, BLOCKS):
        best[np.ix_(block, block)] = np.linalg.inv(A[np.ix_(block, block)])
    expected = kl_to(A, np.array([0.5, -1.0, 0.2]), cov) - kl_to(A, np.zeros(3), best)
    assert known.measured(particles) == pytest.approx(expected, rel=0.02)


SHORT = {"runs": 2, "num_particles": 1500, "num_steps": 3, "looks": 30}


@pytest.mark.ci
def test_runs_fall_as_the_theory_says_and_stop_at_its_floor():
    found = pmdviz.experiment("descent", **SHORT, workers=1)
    off = np.array([(row["measured"] - row["exact"]) / row["sd"] for row in found.rows if row["t"]])
    assert len(off) == 2 * 3 * 30 and np.abs(off).max() < 6 and abs(off.mean()) < 1.5
    for entry, h in zip(found.summary, (0.8, 0.4, 0.2), strict=True):
        assert entry["h"] == h and entry["above the bound"] == 0
        assert entry["floor measured"] == pytest.approx(
            entry["floor"] + entry["of which m is finite"], rel=0.15, abs=2e-3
        )
        assert entry["measured"] < 1.05 * entry["rate per unit of time"] < 1.05 * entry["by constants"] < 1.05
    assert found.summary[0]["floor measured"] > 3 * found.summary[1]["floor measured"]
    (chart,) = found.pictures
    assert len(chart.series[0].x) == 3 and chart.slopes[0][1] == 2.0
