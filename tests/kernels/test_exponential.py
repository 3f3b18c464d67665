import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmdviz.kernels.jit import exp2, exp2_32, exp2_64, exp64, fast_jit
from tests.kernels.naive import LONG
from tests.support.tables import looped


@fast_jit
def fill(x, out, power):
    for i in range(x.size):
        out[i] = exp2(x[i]) if power else exp64(x[i])


def filled(x, power):
    out = np.empty_like(x)
    fill(x, out, power)
    return out


def test_relative_error_over_the_whole_range():
    x = np.concatenate([-np.linspace(0, 707.9, 50_001), -np.geomspace(1e-300, 700, 5_001)])
    assert np.abs(filled(x, False) / np.exp(x.astype(LONG)) - 1).max() < 6e-16


@given(st.floats(-1e308, -708.0))
def test_clamped_far_below(x):
    assert exp64(x) == exp64(-708.0) > 0.0


@looped("dtype, lowest, tolerance", [(np.float64, 1020.9, 6e-16), (np.float32, 124.9, 2e-7)])
def test_powers_of_two_over_the_whole_range(dtype, lowest, tolerance):
    x = np.concatenate([-np.linspace(0, lowest, 50_001), -np.geomspace(1e-30, 100, 5_001), np.linspace(0, 100, 999)])
    x = x.astype(dtype)
    found = filled(x, True)
    assert found.dtype == dtype
    assert np.abs(found.astype(LONG) / np.exp2(x.astype(LONG)) - 1).max() < tolerance


@looped("function, lowest", [(exp2_64, -1021.0), (exp2_32, np.float32(-125.0))])
def test_powers_of_two_at_the_ends(function, lowest):
    one = type(lowest)(1.0)
    assert function(0 * one) == function(-0.0 * one) == 1.0
    assert function(-one) == 0.5
    assert function(lowest) == function(lowest * one * 1000) == 2.0 ** float(lowest)


@pytest.mark.ci
def test_without_the_compiler_it_is_the_same_function():
    """`NUMBA_DISABLE_JIT=1`, as one debugs kernels: a decorated function is the plain one then."""
    code = "import numpy as np; from pmdviz.kernels.jit import exp2; print(exp2(-1.5), exp2(np.float32(-1.5)))"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert [float(word) for word in said.stdout.split()] == pytest.approx([2**-1.5] * 2, rel=1e-6)
