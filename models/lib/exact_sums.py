"""FP16 numbers as fixed-point integers, whose sums are exact; and the flags of what is no number.

An FP16 number is an integer multiple of 2^-24 below 2^16, so that an int64 holds the sum of any bag
exactly (4095 * 65504 * 2^24 < 2^52), and a float64 too.
"""

import numpy as np
from numba import njit

NAN, POSITIVE_INFINITY, NEGATIVE_INFINITY = 1, 2, 4
"""Sticky flags of a sum: what came besides finite numbers."""


@njit(cache=True, error_model="numpy")
def fixed_point(bits):
    """A finite FP16 bit pattern as an integer in units of 2^-24; works on arrays' elements."""
    exponent = (bits >> 10) & 31
    normal = np.int64(exponent != 0)
    magnitude = ((bits & 1023) | (normal << 10)) << (exponent - normal)
    sign = -((bits >> 15) & 1)
    return (magnitude ^ sign) - sign
