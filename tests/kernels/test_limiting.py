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


def test_the_step_to_half_the_ess_of_two_halves():
    """Half of many equal particles is pulled down by 1 nat a unit: ESS / m = (1 + e)^2 / (2 (1 + e^2)), e = exp(-g)."""
    slope = np.repeat([0.0, -1.0], 500)
    g = largest_step(np.zeros(1000), slope, 10.0, 0.75)
    e = np.exp(-g)
    assert (1 + e) ** 2 / (2 * (1 + e * e)) == pytest.approx(0.75, abs=1e-5)
    assert largest_step(np.zeros(1000), slope, 0.5 * g, 0.75) == 0.5 * g, "a step that is short enough stays whole"


def test_particles_that_nothing_can_save_do_not_count():
    """Half of the particles lie outside the prior's support: the rest is what the share is taken of."""
    slope = np.concatenate([np.full(50, -np.inf), np.zeros(50)])
    assert largest_step(np.zeros(100), slope, 1.0, 0.9) == 1.0


def test_steps_far_below_the_rounding_of_one_are_found():
    g = largest_step(np.zeros(1000), np.linspace(0, -1e12, 1000), 1.0, 0.5)
    assert 0 < g < 1e-10
    assert ess(g * np.linspace(0, -1e12, 1000)) == pytest.approx(500, rel=1e-3)
