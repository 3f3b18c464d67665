import ast
from functools import cache

import pytest

from benchmarks.capabilities import TABLE
from benchmarks.faults.planting import ROOT, listed, plant
from benchmarks.faults.sample import drawn


@cache
def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("faults", [listed, drawn])
def test_every_fault_changes_the_code_at_its_place_and_has_its_tests(faults):
    for each in faults():
        before, after = read(each.path), plant(read(each.path), each)  # raises PlaceGone
        assert ast.parse(after) and (after != before or not each.tests), each.name  # a drawn one may change nothing
        for path, _, name in (test.partition("::") for test in each.tests):
            assert f"def {name}" in read(path), (each.name, path, name)


def test_every_capability_has_its_tests():
    tests = [by.split() for entries in TABLE.values() for by in entries.values() if not by.startswith("bench ")]
    assert [name for names in tests for name in names if not (ROOT / "tests" / name).exists()] == []
