import ast

import pytest

from tests.mutants import run
from tests.mutants.planting import ROOT, Fault, planted

PYPROJECT = "[tool.pytest.ini_options]\naddopts = ['--import-mode=importlib', '-p', 'no:cacheprovider']\n"
SIZE = "LEAST = 0\n\n\ndef size(x):\n    return x if x > LEAST else -x\n"
LISTED = [fault for faults in run.all_faults().values() for fault in faults]


@pytest.fixture
def tiny(tmp_path):
    """A checkout of one function and one test, which looks at positive numbers only."""
    (tmp_path / "pmdviz").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    (tmp_path / "pmdviz" / "__init__.py").write_text("")
    (tmp_path / "pmdviz" / "size.py").write_text(SIZE)
    (tmp_path / "tests" / "test_size.py").write_text(
        "from pmdviz.size import size\n\ndef test_size():\n    assert size(3) == 3\n"
    )
    return tmp_path


def fault(name, find, replace, where="size:size"):
    return Fault.of(name, where, find, replace, "test_size")


SIGN = fault("sign", "x if x > LEAST else -x", "-x if x > LEAST else x")


@pytest.mark.parametrize("listed", LISTED, ids=lambda listed: listed.name)
def test_every_listed_fault_can_be_planted(listed):
    text = listed.file().read_text(encoding="utf-8")
    assert ast.dump(ast.parse(planted(text, listed))) != ast.dump(ast.parse(text))
    assert listed.tests
    for test in listed.tests:
        assert (ROOT / test.partition("::")[0]).exists(), f"there is no {test}"


def test_names_say_one_fault_or_list():
    names = [*run.LISTS, *(listed.name for listed in LISTED)]
    assert len(names) == len(set(names))


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
    changed = planted(reworded, SIGN)
    assert changed.count("return x if x > LEAST else -x") == 2  # elsewhere the same words mean something else
    assert changed.count("return -x if x > LEAST else x") == 1


def test_statements_methods_inner_functions_and_constants_have_places_too():
    text = "class A:\n    LEAST = 1\n\n    def f(self):\n        if 1:\n            def g():\n                go()\n"
    assert "    LEAST = 2\n" in planted(text, fault("x", "1", "2", "size:A.LEAST"))
    assert "if 2:" in planted(text, fault("x", "1", "2", "size:A.f"))
    assert "return go()" in planted(text, fault("x", "go()", "return go()", "size:A.f.g"))


@pytest.mark.parametrize(
    ("text", "times"),
    [("", 0), (SIZE + SIZE, 2), ("def size(x):\n    return LEAST\n", 0), (SIZE + "    x if x > LEAST else -x\n", 2)],
    ids=["no such function", "two of them", "nowhere in it", "twice in it"],
)
def test_a_fault_has_exactly_one_place(text, times):
    with pytest.raises(ValueError, match=f"is found {times} times in size:size, not once"):
        planted(text, SIGN)


def test_a_module_may_become_a_package(tiny):
    assert SIGN.file(tiny) == tiny / "pmdviz" / "size.py"
    (tiny / "pmdviz" / "size").mkdir()
    assert SIGN.file(tiny) == tiny / "pmdviz" / "size" / "__init__.py"


def test_the_command_tells_caught_from_survived(tiny, capsys):
    faults = [SIGN, fault("else", "-x", "x")]
    assert run.sound_without_faults(faults, tiny)[0]
    assert run.report(faults, tiny) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["sign", "caught"]
    assert lines[1].split()[:2] == ["else", "SURVIVED"]
    assert lines[-1] == "1 of 2 faults caught"


def test_a_fault_that_only_stops_the_import_is_not_caught(tiny, capsys):
    assert run.report([fault("broken", "0", "nothing", "size:LEAST")], tiny) == 1
    assert "CANNOT RUN" in capsys.readouterr().out


def test_tests_that_fail_anyway_are_not_sound(tiny):
    (tiny / "tests" / "test_size.py").write_text("def test_size():\n    assert False\n")
    assert not run.sound_without_faults([SIGN], tiny)[0]


def test_lists_and_faults_are_chosen_by_name(capsys):
    a, b, c = (fault(name, "x", "y") for name in "abc")
    lists = {"one": [a, b], "two": [c]}
    assert run.chosen(lists, []) == [a, b, c]
    assert run.chosen(lists, ["one"]) == [a, b]
    assert run.chosen(lists, ["two", "a"]) == [a, c]
    assert run.chosen(lists, [], every=2) == [a, c]
    assert run.main(["kernels", "nonesuch"]) == 2
    assert capsys.readouterr().err == "no fault or list named nonesuch\n"
