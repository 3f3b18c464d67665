"""Step sizes as the formulas say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmdviz.methods import METHODS
from pmdviz.schedules import SCHEDULES, constant, decay


@pytest.mark.parametrize(
    "t, eta, n0, kappa, gamma",
    [
        (1, 1, 0, 1, 1.0),
        (4, 1, 0, 1, 0.25),
        (4, 1, 0, 0.5, 0.5),
        (9, 1, 100, 0.5, 1 / 103),
        (10, 2, 20, 1, 1 / 15),  # the default: 1/(10 + t/2)
        (1, 50, 3, 1, 1.0),
    ],
)
def test_decay(t, eta, n0, kappa, gamma):
    assert decay(t, eta, n0, kappa) == pytest.approx(gamma, rel=1e-14)


@given(st.integers(1, 10**9), st.floats(1e-6, 1e6), st.floats(0, 1e6), st.floats(0.01, 1))
def test_decay_lies_in_its_bounds_and_falls(t, eta, n0, kappa):
    assert 0 < decay(t + 1, eta, n0, kappa) <= decay(t, eta, n0, kappa) <= 1


def test_constant():
    assert [constant(t, 0.3) for t in (1, 100)] == [0.3, 0.3]


def test_the_schedules_are_the_knob_s():
    knobs = METHODS["pmd"].Knobs
    assert set(SCHEDULES) == set(knobs.specs()["schedule"].choices)
    given_knobs = knobs.checked({"step_size": 0.4, "eta": 1, "n0": 1, "kappa": 1})
    assert (SCHEDULES["constant"](7, given_knobs), SCHEDULES["decay"](7, given_knobs)) == (0.4, 1 / 8)
