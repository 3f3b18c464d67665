"""exp(x) for x <= 0 without a library call, so that loops over it vectorise.

x = k ln 2 + r with k whole and |r| <= ln 2 / 2; exp(r) is its Taylor polynomial of degree 12; k is written into the
exponent bits of the result. The relative error is 4e-16 on [-700, 0]. Arguments below -708 are clamped (exp(-708) =
3e-308 is the last normal number), so "log 0" must be finite, and a sum of m terms means nothing below m * 4e-308.
"""

import numpy as np

from pmdviz.kernels.jit import exp_jit

LOWEST = -708.0
LOG2E = 1.4426950408889634
LN2_HI, LN2_LO = 0.6931471803691238, 1.9082149292705877e-10  # ln 2 in two pieces: k * LN2_HI is exact
MAGIC = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to a whole number, held in the low bits


@exp_jit
def exp64(x):
    """exp(x) for a float64 x <= 0 (good up to about +700), clamped below -708."""
    x = max(x, LOWEST)
    t = x * LOG2E + MAGIC
    k = t - MAGIC
    r = (x - k * LN2_HI) - k * LN2_LO
    p = 2.08767569878681e-09  # 1/12!
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 1.984126984126984e-04
    p = p * r + 1.3888888888888889e-03
    p = p * r + 8.333333333333333e-03
    p = p * r + 4.1666666666666664e-02
    p = p * r + 1.6666666666666666e-01
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    bits = (np.float64(t).view(np.int64) << np.int64(52)) + np.int64(0x3FF0000000000000)
    return p * np.int64(bits).view(np.float64)
