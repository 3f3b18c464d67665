"""Where `pmdviz bench` finds its benches: beside the package, or in the checkout that one stands in."""

import sys
from pathlib import Path

import pytest

from pmdviz.cli import bench
from pmdviz.errors import InputError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """As if the package were in a folder of its own, and nothing of the checkout had been imported from there."""
    monkeypatch.setattr(bench, "HERE", tmp_path / "site-packages")
    without = [path for path in sys.path if path and not Path(path, "benchmarks").is_dir()]
    monkeypatch.setattr(sys, "path", without)
    monkeypatch.delitem(sys.modules, "benchmarks", raising=False)
    monkeypatch.chdir(tmp_path)


def test_an_installed_package_takes_the_benches_of_the_checkout_that_one_stands_in(installed, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert Path(bench._benchmarks().__file__).parent == ROOT / "benchmarks"
    assert sys.path[-1] == str(ROOT), "last: the installed package is what is measured"


def test_a_checkout_takes_its_own_benches_where_another_one_is_installed(installed, monkeypatch, tmp_path):
    other = tmp_path / "other"
    (other / "benchmarks").mkdir(parents=True)
    (other / "benchmarks" / "__init__.py").write_text("raise AssertionError('the benches of another checkout')")
    monkeypatch.setattr(sys, "path", [str(other), *sys.path])
    monkeypatch.setattr(bench, "HERE", ROOT)
    assert Path(bench._benchmarks().__file__).parent == ROOT / "benchmarks"


def test_elsewhere_it_says_what_to_do(installed):
    with pytest.raises(InputError, match="change to the checkout's folder"):
        bench._benchmarks()


def test_a_folder_that_only_has_the_name_is_not_run(installed, tmp_path):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__init__.py").write_text("raise SystemExit")
    with pytest.raises(InputError):
        bench._benchmarks()
