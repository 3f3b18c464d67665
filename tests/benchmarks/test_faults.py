import ast

import pytest

from benchmarks.capabilities import TABLE
from benchmarks.faults.planting import ROOT, Fault, listed, place, plant
from benchmarks.faults.sample import drawn


def fault(name, find, replace, where="size:size", **more):
    return Fault(name, where, find, replace, ("tests/test_size.py::test_size",), **more)


SIGN = fault("sign", "x if x > LEAST else -x", "-x if x > LEAST else x")


def test_a_fault_survives_a_rewording():
    reworded = '''
def other(x):
    return x if x > LEAST else -x

class Sizes:
    def size(self, x):
        return x if x > LEAST else -x

def size(x):
    """Say how large it is."""  # a docstring and comments
    return (
        x  # itself
        if (x > LEAST)
        else -x
    )
'''
    changed = plant(reworded, SIGN)
    assert changed.count("return x if x > LEAST else -x") == 2  # elsewhere the same words mean something else
    assert changed.count("return -x if x > LEAST else x") == 1


def test_statements_headers_inner_functions_and_constants_have_places():
    text = "class A:\n    LEAST = 1\n    @staticmethod\n    def f(x=3):\n        if x == 1:\n            return 0\n"
    text += "        elif x == 2: return 7\n        def g():\n            go(x); go(x)\n"
    for find, replace, where, nth, expected in [
        ("1", "2", "A.LEAST", None, "    LEAST = 2\n"),
        ("if x == 1:\n ...", "if x == 5:\n ...", "A.f", None, "        if x == 5:\n            return 0\n"),
        ("x == 2", "x == 6", "A.f", None, "        elif x == 6:\n            return 7\n"),
        ("go(x)", "pass", "A.f.g", 2, "            go(x); pass\n"),
        ("def f(x=3): ...", "def f(x=4): ...", "A", None, "    @staticmethod\n    def f(x=4):\n"),
    ]:
        changed = plant(text, fault(find, find, replace, f"size:{where}", nth=nth))
        assert expected in changed, find
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)), find


@pytest.mark.parametrize("faults", [listed, drawn])
def test_every_fault_has_its_place_and_its_tests(faults):
    faults = faults()
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for each in faults for path in _files(each)}
    trees = {path: ast.parse(texts[path]) for path in {each.path for each in faults}}
    for each in faults:
        place(trees[each.path], each)  # raises PlaceGone
        for path, _, name in (test.partition("::") for test in each.tests):
            assert f"def {name}" in texts[path], (each.name, path, name)


def test_every_capability_has_its_tests():
    tests = [by.split() for entries in TABLE.values() for by in entries.values() if not by.startswith("bench ")]
    assert [name for names in tests for name in names if not (ROOT / "tests" / name).exists()] == []


def _files(fault):
    return {fault.path, *(test.partition("::")[0] for test in fault.tests)}
