import pytest

from pmdviz.experiments.theory_costs import LINES, PAPERS, TARGET, Cost, Size, exponents, measure, plan
from pmdviz.kernels.pool import set_threads
from pmdviz.methods import METHODS
from pmdviz.targets import make_target

WITH_A_CONSTANT_PART = ["steinis", "path_integration", "gf_ais"]  # pairs whose distances are sampled, leaders

WITH_A_MATRIX = ["black_box_is"]  # of all pairs, of 500 points at most


def test_every_method_that_runs_on_its_target_has_a_line_measured_at_several_sizes():
    found = plan()
    assert len({(line.name, size) for line, size in found}) == len(found)
    for line in LINES:
        mine = [size for each, size in found if each is line]
        assert len({size.num_data for size in mine}) == len({size.dim for size in mine}) == 3
        assert len({size.m for size in mine}) == (3 if line.size else 1)
    target = make_target(TARGET)
    assert {line.method for line in LINES} == {name for name in METHODS if not METHODS[name].missing_in(target)}
    assert len({line.name for line in LINES}) == len(LINES)


@pytest.fixture
def one_thread():
    """Each helper holds a block of its own, and whether one comes to help is chance."""
    set_threads(1)
    yield
    set_threads(None)


def one_method_a_default(line):
    return line if line is PAPERS[0] else pytest.param(line, marks=pytest.mark.nightly)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("line", [*map(one_method_a_default, LINES)], ids=lambda line: line.name)
def test_memory_grows_with_m_as_measured_in_bytes(line):
    sizes = (200, 400, 800) if line.size != "num_components" else (10, 20, 40)
    squared = line.method in WITH_A_MATRIX
    sizes = (125, 250, 500) if squared else sizes
    costs = [measure(line, Size(m), 1) for m in (sizes if line.size else (None,))]
    assert all(cost.step_ms > 0 and cost.memory_kb > 0 for cost in costs)
    if line.size and line.size != "num_components" and line.method not in WITH_A_CONSTANT_PART:
        assert exponents(costs, line.name)["memory_m"] == pytest.approx(2 if squared else 1, abs=0.25)


@pytest.mark.nightly
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("method", WITH_A_CONSTANT_PART)
def test_memory_beside_a_constant_part_is_a_straight_line_in_m(method):
    line = next(line for line in LINES if line.method == method)
    few, more, most = (measure(line, Size(m), 1).memory_kb for m in (800, 1600, 3200))
    assert (most - more) / (more - few) == pytest.approx(2, abs=0.3)


@pytest.mark.usefixtures("one_thread")
def test_memory_grows_with_the_dimension_and_not_with_the_data():
    line = PAPERS[-2]
    costs = [measure(line, size, 1) for size in (Size(500), Size(500, 16_000), Size(500, dim=20), Size(500, dim=40))]
    assert costs[1].memory_kb == pytest.approx(costs[0].memory_kb, rel=0.05)
    assert costs[3].memory_kb / costs[2].memory_kb == pytest.approx(2, abs=0.3)


def test_exponents_are_slopes_of_the_right_measurements():
    costs = [Cost("a", m, 1000, 2, 0.1 * m**2, 3.0 * m) for m in (10, 20, 40)]
    costs += [Cost("a", 10, n, 2, 10.0 * (n / 1000) ** 0.5, 30.0) for n in (4000, 16_000)]
    costs += [Cost("a", 10, 1000, d, 10.0 * (d / 2) ** 3, 30.0 * (d / 2)) for d in (4, 16)]
    costs += [Cost("b", None, n, 2, 1e-3 * n**0.5, 1.0) for n in (1000, 4000)]
    found = exponents(costs, "a")
    powers = {"time_m": 2, "memory_m": 1, "time_N": 0.5, "memory_N": 0, "time_d": 3, "memory_d": 1}
    assert found == pytest.approx(powers)
    of_two_sizes = dict.fromkeys(found) | {"time_N": 0.5, "memory_N": 0.0}
    assert exponents(costs, "b") == pytest.approx(of_two_sizes)
    assert all(len({size.dim for each, size in plan("short") if each is line}) == 2 for line in PAPERS)
