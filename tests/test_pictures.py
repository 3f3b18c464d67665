import numpy as np
import pytest

from pmdviz.pictures import nice, tick_words, ticks
from tests.support.tables import looped


def test_ticks_are_round_and_inside_the_axis():
    assert (nice(3), nice(3, up=False), nice(0.07), nice(1)) == (5, 2, 0.1, 1)
    np.testing.assert_allclose(ticks(-1.0, 2.5), [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5], atol=1e-12)
    np.testing.assert_allclose(ticks(0, 20_400), [0, 5000, 10_000, 15_000, 20_000])
    for low, high, found in [(0.05, 2, [0.05, 0.1, 0.2, 0.5, 1, 2]), (0.02, 100, [0.1, 1, 10, 100])]:
        np.testing.assert_allclose(ticks(low, high, log=True), found)


@looped("low", [1e-9, 0.0203, 1, 700])
@looped("factor", [1.02, 1.3, 3, 20, 400, 1e5, 1e11])
def test_a_log_axis_has_some_round_ticks(low, factor):
    found = ticks(low, low * factor, log=True)
    assert 2 <= len(found) <= 13 and all(low <= tick <= low * factor for tick in found)
    assert found == sorted(found) and all(float(f"{tick:.2e}") == pytest.approx(tick, rel=1e-9) for tick in found)


@looped(
    "value, words",
    [(0, "0"), (1e-14, "0"), (0.05, "0.05"), (-0.5, "−0.5"), (12_000, "12,000"), (1e-5, "10⁻⁵"), (3e8, "3·10⁸")],
)
def test_numbers_beside_ticks_have_no_exponents_of_a_computer(value, words):
    assert tick_words(value) == words
