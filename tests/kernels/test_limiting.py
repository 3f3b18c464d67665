"""The step limit: a share of the ESS is left for certain, and no more is held back than that."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pmdviz.kernels.limiting import CLOSE, largest_step

NATS = st.floats(-1e5, 1e5, allow_subnormal=False)


def ess(log_weights):
    w = np.exp(log_weights - log_weights.max())
    return w.sum() ** 2 / (w * w).sum()


@st.composite
def lines(draw):
    m = draw(st.integers(1, 30))
    slope = draw(arrays(np.float64, m, elements=st.one_of(NATS, st.just(-np.inf))))
    start = draw(arrays(np.float64, m, elements=st.one_of(st.floats(-30, 0), st.just(-np.inf))))
    return start, slope


@given(lines(), st.floats(1e-6, 1.0), st.floats(0.01, 0.99))
def test_at_least_the_share_of_the_ess_is_left(line, most, share):
    start, slope = line
    counts = (start > -np.inf) & (slope > -np.inf)
    if not counts.any():
        with pytest.raises(ValueError, match="no particle has a weight"):
            largest_step(start, slope, most, share)
        return
    g = largest_step(start, slope, most, share)
    assert 0 < g <= most
    start, slope = start[counts], slope[counts]
    assert ess(start + g * slope) >= share * ess(start) * (1 - 1e-9)
    if g < most:
        assert ess(start + g / (1 - 2 * CLOSE) * slope) <= share * ess(start) * (1 + 1e-9), "and not much less far"


def test_steps_far_below_the_rounding_of_one_are_found():
    g = largest_step(np.zeros(1000), np.linspace(0, -1e12, 1000), 1.0, 0.5)
    assert 0 < g < 1e-10
    assert ess(g * np.linspace(0, -1e12, 1000)) == pytest.approx(500, rel=1e-3)
