import math

import pytest

from pmdviz.views.words import count, duration, number, short


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.08721, "0.0872"),
        (1234.5, "1,230"),
        (12.345, "12.3"),
        (0.0, "0"),
        (1e-5, "below 0.0001"),
        (-1e-5, "just below 0"),
        (-2.5, "-2.50"),
        (math.inf, "infinite"),
        (-math.inf, "minus infinite"),
        (math.nan, "not known"),
        (None, "not known"),
        (0.9996, "1.00"),
    ],
)
def test_numbers(value, words):
    assert number(value) == words


def test_counts_and_times():
    assert count(12_000.0) == "12,000"
    assert [short(v) for v in (0.05, 2.0, 1500.0, 0.75)] == ["0.05", "2", "1,500", "0.75"]
    assert [duration(s) for s in (0.42, 12.2, 600)] == ["0.4 s", "12 s", "10 min"]
