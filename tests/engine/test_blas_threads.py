"""Runs have the same bits whatever number of threads NumPy's BLAS has: in another process, where it can be chosen."""

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json
from pmdviz.methods import METHODS
from tests.support.engine import Unmeasured, default_target
from tests.support.replays import digest, small

TARGETS = ("song_years", "sparse_gp", "regression_net")
pairs = [(name, each) for each in TARGETS for name in METHODS if not METHODS[name].missing_in(default_target(each))]
runs = {f"{name} on {each}": Unmeasured(small(name, each).limited(600)) for name, each in pairs}
found = {pair: [run.advance(10**6), digest(run)][1] for pair, run in runs.items()}
print(json.dumps(found))
"""


def digests(threads):
    """Of the last state of every method on targets whose matrices are large enough for several threads, by pair."""
    variables = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(variables, str(threads)) | {"PYTHONPATH": os.getcwd()}
    made = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return json.loads(made.stdout)


@pytest.mark.ci
def test_the_bits_hang_on_no_number_of_blas_threads():
    one, two = digests(1), digests(2)
    assert len(one) >= 12
    assert [pair for pair in one if one[pair] != two[pair]] == []
