"""How memory grows (which is the same at every run) and how exponents are fitted; time is never judged here."""

import pytest

from benchmarks.growth import _of_run, _target, exponent


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_the_exponent_of_a_power(power):
    sizes = (10, 30, 100, 300)
    assert exponent(sizes, [0.7 * n**power for n in sizes]) == pytest.approx(power, abs=0.01)


def test_a_fixed_cost_does_not_hide_the_growth():
    sizes = (100, 1000, 10_000, 100_000)
    assert exponent(sizes, [100 + n for n in sizes]) == pytest.approx(1.0, abs=0.05)


def test_nothing_has_no_exponent():
    assert exponent((1, 2, 3), [0.0, 0.0, 0.0]) is None


@pytest.mark.parametrize("work", ["step", "rejuvenation", "kernel"])
def test_memory_grows_no_faster_than_the_particles_and_the_dimension(work):
    """Anything of size m x m would grow sixteenfold; what a process has kept of earlier work blurs the four times."""
    name = f"{work}_memory_mb"
    few, many = (_of_run(_target(200, 2), m)[name] for m in (1000, 4000))
    assert many <= 8 * few
    low, high = (_of_run(_target(200, d), 500)[name] for d in (5, 20))
    assert high <= 4.6 * low
