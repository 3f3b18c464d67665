"""The figures that lessons, notebooks and docs state, computed again in plain NumPy."""

import re
from pathlib import Path

import numpy as np
import pytest

import pmdviz
from pmdviz.densities.chains import k_hat
from pmdviz.essay.pictures import BANDWIDTH, GAMMAS, SEEN_GAMMA, SELDOM, fixed_point, settled
from pmdviz.lessons.reading import LESSONS
from pmdviz.presets import RunScope
from pmdviz.targets import make_target

HERE = Path(__file__).parents[2]


def inflation(dim):
    """1 + chi²(p‖prior) and KL(p‖prior) of the lesson `dimension`: prior N(0, I), posterior N(m, diag v)."""
    exact = make_target("gaussian", dim=dim).exact
    v, m = np.diag(exact.cov), exact.mean
    a, b = 2 / v - 1, 2 * m / v
    chi = np.exp(np.sum(-np.log(v) - 0.5 * np.log(a) + 0.5 * b**2 / a - m**2 / v))
    return chi, np.exp(0.5 * np.sum(v + m**2 - 1 - np.log(v)))


def test_what_importance_sampling_needs_in_ten_and_twenty_dimensions():
    ten, twenty = inflation(10), inflation(20)
    assert 1000 / ten[0] == pytest.approx(0.18, abs=0.005), "the lesson's m / (1 + chi²)"
    assert 11e6 / twenty[0] == pytest.approx(1.0, abs=0.05) and 1e9 / twenty[0] == pytest.approx(92, abs=1)
    assert ten[1] == pytest.approx(1.4e3, rel=0.01) and ten[0] == pytest.approx(5.5e3, rel=0.01), "exp KL is smaller"
    rng, target = np.random.default_rng(0), make_target("gaussian", dim=2)
    weights = np.exp(target.log_likelihood(rng.standard_normal((200_000, 2)), target.data))
    share = weights.sum() ** 2 / (weights**2).sum() / len(weights)
    assert share == pytest.approx(1 / inflation(2)[0], rel=0.03), "the closed form is that of draws"


def test_the_noise_that_a_constant_step_size_leaves():
    """A mean with weights gamma (1 - gamma)^k of independent batches is as noisy as one of (2 - gamma) / gamma."""
    for gamma, batches in ((0.1, 19.0), (0.02, 99.0), (0.3, 17 / 3)):
        weights = gamma * (1 - gamma) ** np.arange(5000)
        assert 1 / (weights**2).sum() == pytest.approx(batches, rel=1e-9)
        assert (1 - gamma) ** (1 / gamma) == pytest.approx(1 / 3, abs=0.05), "two thirds are lost in 1 / gamma steps"
    step = LESSONS["batch_noise"].step("memory")
    run = pmdviz.run(step.recipe, floor=False)
    assert "380 of the 400 observations" in step.diagnosis[0].say.words(RunScope(run))


def test_the_price_of_a_draw_by_its_quadratic_and_by_the_recursion():
    """The essay: v = 1 / ((1-γ)/v + γ/s²) + h², iterated; and a few redraws instead of none."""
    exact, added = 1 / 6, BANDWIDTH**2
    for gamma in GAMMAS:
        v = exact
        for _ in range(5000):
            v = 1 / ((1 - gamma) / v + gamma / exact) + added
        root = 0.5 * (np.sqrt((exact - added) ** 2 + 4 * added * exact / gamma) - (exact - added))
        assert v - exact == pytest.approx(root, rel=1e-6)
        assert fixed_point(gamma, exact, added) == pytest.approx(v, rel=1e-6)
    frame, variance = settled(GAMMAS[SEEN_GAMMA], policy="ess", ess_threshold=SELDOM)
    assert 2 <= frame.rejuvenations <= 5
    assert variance == pytest.approx(exact + added, rel=0.05)


def test_the_threshold_of_k_hat_by_the_number_of_weights():
    """min(1 - 1/log10 S, 0.7), as docs/explanation/diagnostics.md states it for some S."""
    found = re.findall(
        r"(0\.\d\d) of ([\d,]*\d)", (HERE / "docs" / "explanation" / "diagnostics.md").read_text(encoding="utf-8")
    )
    stated = {int(size.replace(",", "")): float(value) for value, size in found if size in ("100", "300", "1,500")}
    for size, value in {100: 0.5, 300: 0.596, 1500: 0.685, 2200: 0.7}.items():
        assert min(1 - 1 / np.log10(size), 0.7) == pytest.approx(value, abs=0.002)
        assert size not in stated or stated[size] == pytest.approx(value, abs=0.006)
    assert len(stated) == 3 and np.isfinite(k_hat(np.random.default_rng(0).standard_normal(100)))
