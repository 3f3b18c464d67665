"""A target, a method, a metric, a scene and an experiment are one file each, imported and shown everywhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.ci
CONTRACTS = (
    "tests/targets/test_targets.py",
    "tests/methods/test_contract.py",
    "tests/methods/test_terms.py",
    "tests/experiments/test_contract.py",
)


def with_toys(*words):
    options = "-q -n 0 -p tests.toys.plugin -p no:cacheprovider".split()
    command = [sys.executable, "-m", "pytest", *options, *words]
    alone = {**os.environ, "PYTEST_ADDOPTS": ""}
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=1200, env=alone)
    assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-2000:]
    return found.stdout


def test_they_appear_everywhere():
    assert " passed" in with_toys("tests/toys/shown.py")


@pytest.mark.nightly
def test_the_contract_tests_hold_with_them():
    assert " passed" in with_toys(*CONTRACTS)
