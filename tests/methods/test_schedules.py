"""Step sizes as the formulas say."""

import pytest

from pmdviz.methods import METHODS
from pmdviz.methods.shared.schedules import GROWTHS, SCHEDULES, decay, power, theorem6
from tests.support.tables import looped


@looped(
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


def test_the_schedules_are_the_knob_s():
    knobs = METHODS["pmd"].Knobs
    assert set(SCHEDULES) == set(knobs.specs()["schedule"].choices)
    given_knobs = knobs.checked({"step_size": 0.4, "eta": 1, "n0": 1, "kappa": 1})
    found = [SCHEDULES[name](7, given_knobs, 100, 2) for name in ("constant", "decay")]
    assert found == [0.4, 1 / 8]


@looped(
    "t, delta, gradient_bound, smoothness, m, d, gamma",
    [
        (1, 1e9, 1, 1, 10, 2, 1.0),
        (9, 1e9, 1, 1, 10, 2, 0.2),
        (9, 1, 1, 1, 10_000, 2, 0.1),  # beta / (d + 2 beta) = 1/4
        (9, 1, 1, 2, 1000, 2, 0.1),  # 1/3
        (9, 3, 6, 1, 10**6, 1, 0.005),  # 1/3
        (9, 0.1, 1, 0, 10**6, 3, 0.1),  # no smoothness: no help from m
    ],
)
def test_theorem_6(t, delta, gradient_bound, smoothness, m, d, gamma):
    assert theorem6(t, delta, gradient_bound, smoothness, m, d) == pytest.approx(gamma, rel=1e-14)
    knobs = METHODS["pmd"].Knobs.checked(
        {"delta": delta, "gradient_bound": gradient_bound, "smoothness": smoothness, "schedule": "theorem6"}
    )
    assert SCHEDULES["theorem6"](t, knobs, m, d) == pytest.approx(gamma, rel=1e-14)


@looped(
    "t, first, exponent, most, m",
    [(1, 30, 2, 10**5, 30), (5, 30, 2, 10**5, 750), (5, 30, 0.5, 10**5, 67), (5, 30, 2, 500, 500), (9, 30, 0, 500, 30)],
)
def test_growth_by_a_power_of_t(t, first, exponent, most, m):
    assert power(t, first, exponent, most) == m


def test_the_growths_are_the_knob_s():
    knobs = METHODS["pmd"].Knobs
    assert set(GROWTHS) == set(knobs.specs()["growth"].choices)
    given_knobs = knobs.checked({"num_particles": 10, "growth_exponent": 2, "most_particles": 200, "until": 3})
    found = {name: [grow(t, given_knobs) for t in (1, 3, 4, 100)] for name, grow in GROWTHS.items()}
    assert found == {"fixed": [10] * 4, "power": [10, 90, 160, 200], "jump": [10, 10, 200, 200]}
