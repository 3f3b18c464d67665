"""Step sizes as the formulas say."""

import pytest

from pmdviz.methods import METHODS
from pmdviz.methods.shared.schedules import SCHEDULES, theorem6
from tests.support.tables import looped


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
