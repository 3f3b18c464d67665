"""The variance that the essay states, computed again in plain NumPy."""

import numpy as np
import pytest

from pmdviz.essay.pictures import BANDWIDTH, GAMMAS, SEEN_GAMMA, SELDOM, fixed_point, settled


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
