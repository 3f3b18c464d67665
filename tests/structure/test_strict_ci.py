import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.ci
CONFTEST = Path(__file__).parents[1] / "conftest.py"
PASSED, FAILED = 0, 1
CASES = {
    "passing": ("def test_a(): pass", PASSED),
    "skipped": ("import pytest\ndef test_a(): pytest.skip('not here')", FAILED),
    "skipped by a mark": ("import pytest\n@pytest.mark.skip(reason='later')\ndef test_a(): pass", FAILED),
    "a module skipped": ("import pytest\npytest.importorskip('no_such_module')\ndef test_a(): pass", FAILED),
    "failing as expected": ("import pytest\n@pytest.mark.xfail\ndef test_a(): assert False", PASSED),
    "passing unexpectedly": ("import pytest\n@pytest.mark.xfail\ndef test_a(): pass", FAILED),
}


@pytest.mark.parametrize(("source", "status"), CASES.values(), ids=CASES.keys())
def test_under_ci_a_test_that_did_not_run_fails_the_run(tmp_path, source, status):
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "test_case.py").write_text(source, encoding="utf-8")
    (tmp_path / "test_other.py").write_text("def test_other(): pass", encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), str(tmp_path)]
    for ci, options, expected in [("true", "", status), ("true", "-n 1", status), ("", "", PASSED)]:
        env = {**os.environ, "CI": ci, "PYTEST_ADDOPTS": f"-p no:cacheprovider {options}"}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == expected, done.stdout
