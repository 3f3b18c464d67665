"""Exponentials without a library call: loops over them vectorise.

x = k + f with k whole and |f| <= 1/2, for exp(x) = 2^(x log2 e) likewise x = k ln 2 + r. A polynomial in f that is
least off where it is most off (interpolation at Chebyshev nodes; degree 11 errs by 4e-18, degree 6 by 2.5e-9) gives
2^f, and k is added to the exponent bits of the result. Relative errors are at the level of rounding: 4e-16 in float64,
2e-7 in float32.

Arguments are clamped at the last one with a normal result (2^-1021 = 4e-308, in float32 2^-125 = 2e-38), so "log 0"
must be finite, and a sum of m terms means nothing below m times that. The base 2 is for callers who can scale their
exponents beforehand: it is a third faster.
"""

import numpy as np
from numba import types
from numba.extending import overload

from pmdviz.kernels.jit import EXP_OPTIONS, exp_jit

LOG2E = 1.4426950408889634
LOWEST = -708.0  # the clamp of exp64
LOWEST_2, LOWEST_2_SINGLE = -1021.0, np.float32(-125.0)
LN2_HI, LN2_LO = 0.6931471803691238, 1.9082149292705877e-10  # ln 2 in two pieces: k * LN2_HI is exact
MAGIC = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to a whole number, held in the low bits
MAGIC_SINGLE = np.float32(12582912.0)  # 1.5 * 2**23
S0, S1, S2, S3, S4, S5, S6 = (
    np.float32(c)
    for c in (1.0, 0.6931472067, 0.2402265092, 0.05550327227, 0.009618056679, 0.001340042818, 0.000154614447)
)


@exp_jit
def exp64(x):
    """exp(x) for a float64 x <= 0 (good up to about +700), clamped below -708."""
    x = max(x, LOWEST)
    t = x * LOG2E + MAGIC
    k = t - MAGIC
    r = (x - k * LN2_HI) - k * LN2_LO
    p = 2.51087857807841e-08
    p = p * r + 2.7632611359437596e-07
    p = p * r + 2.755724484341605e-06
    p = p * r + 2.4801485575955243e-05
    p = p * r + 1.9841269885553328e-04
    p = p * r + 1.3888888952203538e-03
    p = p * r + 8.333333333321842e-03
    p = p * r + 4.166666666648866e-02
    p = p * r + 1.6666666666666677e-01
    p = p * r + 0.5000000000000018
    p = p * r + 1.0
    p = p * r + 1.0
    return np.int64(np.float64(p).view(np.int64) + (np.float64(t).view(np.int64) << np.int64(52))).view(np.float64)


@exp_jit
def exp2_64(x):
    """2^x for a float64 x <= 0 (good up to about +1000), clamped below -1021."""
    x = max(x, LOWEST_2)
    t = x + MAGIC
    f = x - (t - MAGIC)
    p = 4.4556433403988256e-10
    p = p * f + 7.074192209639015e-09
    p = p * f + 1.0178058390428893e-07
    p = p * f + 1.3215432551928214e-06
    p = p * f + 1.5252733837988064e-05
    p = p * f + 1.5403530463679096e-04
    p = p * f + 1.3333558146410788e-03
    p = p * f + 9.618129107587314e-03
    p = p * f + 5.5504108664821604e-02
    p = p * f + 2.4022650695910158e-01
    p = p * f + 6.931471805599453e-01
    p = p * f + 1.0
    return np.int64(np.float64(p).view(np.int64) + (np.float64(t).view(np.int64) << np.int64(52))).view(np.float64)


@exp_jit
def exp2_32(x):
    """2^x for a float32 x <= 0 (good up to about +120), clamped below -125."""
    x = max(x, LOWEST_2_SINGLE)
    t = x + MAGIC_SINGLE
    f = x - (t - MAGIC_SINGLE)
    p = S6
    p = p * f + S5
    p = p * f + S4
    p = p * f + S3
    p = p * f + S2
    p = p * f + S1
    p = p * f + S0
    return np.int32(np.float32(p).view(np.int32) + (np.float32(t).view(np.int32) << np.int32(23))).view(np.float32)


# Under NUMBA_DISABLE_JIT a decorated function is the plain one itself.
_plain_32, _plain_64 = (getattr(function, "py_func", function) for function in (exp2_32, exp2_64))


def exp2(x):
    """2^x in the precision of x: `exp2_32` or `exp2_64`, chosen when the caller is compiled."""
    return (_plain_32 if isinstance(x, np.float32) else _plain_64)(x)


@overload(exp2, jit_options=EXP_OPTIONS)
def _exp2(x):
    return _plain_32 if x == types.float32 else _plain_64
