import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.jit import fast_jit
from tests.kernels.naive import LONG


@fast_jit
def fill(x, out):
    for i in range(x.size):
        out[i] = exp64(x[i])


def exp_of(x):
    out = np.empty_like(x)
    fill(x, out)
    return out


def test_relative_error_over_the_whole_range():
    x = np.concatenate([-np.linspace(0, 707.9, 200_001), -np.geomspace(1e-300, 700, 20_001)])
    truth = np.exp(x.astype(LONG))
    assert np.abs(exp_of(x) / truth - 1).max() < 6e-16


def test_good_above_zero_too():
    x = np.linspace(0, 700, 10_001)
    assert np.abs(exp_of(x) / np.exp(x.astype(LONG)) - 1).max() < 6e-16


@given(st.floats(-1e308, -708.0))
def test_clamped_far_below(x):
    assert exp64(x) == exp64(-708.0) > 0.0


def test_zero_gives_one():
    assert exp64(0.0) == exp64(-0.0) == 1.0


@given(st.floats(-708.0, 0.0))
def test_compiled_and_plain_python_agree(x):
    np.testing.assert_allclose(exp64(x), exp64.py_func(x), rtol=1e-15)


def test_vectorised_loop_and_scalar_call_agree():
    x = -np.linspace(0, 750, 1001)
    np.testing.assert_allclose(exp_of(x), [exp64(value) for value in x], rtol=5e-16)


def test_called_from_other_compiled_code():
    @njit
    def twice(x):
        return 2.0 * exp64(x)

    assert twice(-1.0) == 2.0 * exp64(-1.0)
