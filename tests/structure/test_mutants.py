import ast

import pytest

from tests.mutants.run import ROOT, Fault, all_faults, chosen, fault_of, planted, report, sound_without_faults

PYPROJECT = "[tool.pytest.ini_options]\naddopts = ['--import-mode=importlib', '-p', 'no:cacheprovider']\n"


@pytest.fixture
def tiny(tmp_path):
    """A checkout of one function and one test, which looks at positive numbers only."""
    (tmp_path / "pmdviz").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    (tmp_path / "pmdviz" / "__init__.py").write_text("")
    (tmp_path / "pmdviz" / "size.py").write_text("def size(x):\n    return x if x > 0 else -x\n")
    (tmp_path / "tests" / "test_size.py").write_text(
        "from pmdviz.size import size\n\ndef test_size():\n    assert size(3) == 3\n"
    )
    return tmp_path


def fault(name, find, replace, tests="tests/test_size.py"):
    return fault_of(name, {"file": "pmdviz/size.py", "find": find, "replace": replace, "tests": tests})


def test_every_listed_fault_can_be_planted():
    for listed in all_faults():
        changed = planted((ROOT / listed.file).read_text(encoding="utf-8"), listed)
        ast.parse(changed)
        assert listed.find != listed.replace, listed.name
        assert listed.tests, listed.name
        for test in listed.tests:
            assert (ROOT / test.partition("::")[0]).exists(), f"{listed.name}: there is no {test}"


def test_fault_names_are_unique():
    names = [listed.name for listed in all_faults()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("text", ["a = 2\n", "a = 1\nb = 1\n"], ids=["nowhere", "twice"])
def test_a_fault_has_exactly_one_place(text):
    with pytest.raises(ValueError, match="not once"):
        planted(text, Fault("x", "f.py", "= 1", "= 3", ("t",)))


def test_the_command_tells_caught_from_survived(tiny, capsys):
    faults = [fault("sign", "return x if", "return -x if"), fault("else", "else -x", "else x")]
    assert sound_without_faults(faults, tiny)[0]
    assert report(faults, tiny) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["sign", "caught"]
    assert lines[1].split()[:2] == ["else", "SURVIVED"]
    assert lines[-1] == "1 of 2 faults caught"


def test_a_fault_that_only_stops_the_import_is_not_caught(tiny, capsys):
    assert report([fault("broken", "def size(x)", "def size(x")], tiny) == 1
    assert "CANNOT RUN" in capsys.readouterr().out


def test_tests_that_fail_anyway_are_not_sound(tiny):
    (tiny / "tests" / "test_size.py").write_text("def test_size():\n    assert False\n")
    assert not sound_without_faults([fault("sign", "return x if", "return -x if")], tiny)[0]


def test_a_list_or_one_fault_is_chosen_by_name():
    faults = [fault("kde-1", "x > 0", "x < 0"), fault("kde-2", "x > 0", "x < 0"), fault("grid-1", "x > 0", "x < 0")]
    assert [f.name for f in chosen(faults, "kde")] == ["kde-1", "kde-2"]
    assert [f.name for f in chosen(faults, "grid-1")] == ["grid-1"]
    assert chosen(faults, None) == faults
    assert [f.name for f in chosen(faults, None, every=2)] == ["kde-1", "grid-1"]
