import pytest

from pmdviz.experiments.theory.costs import LINES, Cost, exponents, measure, plan


def test_every_line_is_measured_at_several_sizes():
    found = plan()
    assert len({(line.name, m, n) for line, m, n in found}) == len(found)
    for line in LINES:
        mine = [(m, n) for each, m, n in found if each is line]
        assert len({n for _, n in mine}) == 3
        assert len({m for m, _ in mine}) == (3 if line.size else 1)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_memory_grows_with_m_as_measured_in_bytes(line):
    sizes = (200, 400, 800) if line.size != "num_components" else (10, 20, 40)
    costs = [measure(line, m, 1000) for m in (sizes if line.size else (None,))]
    assert all(cost.step_ms > 0 and cost.memory_kb > 0 for cost in costs)
    if line.size and line.size != "num_components":
        assert exponents(costs, line.name)["memory_m"] == pytest.approx(1, abs=0.25)


def test_memory_does_not_grow_with_the_data():
    line = LINES[-2]
    few, many = measure(line, 500, 1000), measure(line, 500, 16_000)
    assert many.memory_kb == pytest.approx(few.memory_kb, rel=0.05)


def test_exponents_are_slopes_of_the_right_measurements():
    costs = [Cost("a", m, 1000, 0.1 * m**2, 3.0 * m) for m in (10, 20, 40)]
    costs += [Cost("a", 10, n, 10.0 * (n / 1000) ** 0.5, 30.0) for n in (4000, 16_000)]
    costs += [Cost("b", None, n, 1.0, 1.0) for n in (1000, 4000)]
    found = exponents(costs, "a")
    assert found == pytest.approx({"time_m": 2, "memory_m": 1, "time_N": 0.5, "memory_N": 0})
    assert exponents(costs, "b") == dict.fromkeys(found)
