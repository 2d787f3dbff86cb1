"""Patterns of sources and sinks in compiled code."""

import numpy as np
from numba import njit


@njit(error_model="numpy", forceinline=True)
def pattern_permits(pattern, t):
    """Bit `t mod 64` of an unsigned 64-bit pattern."""
    return (pattern >> np.uint64(t & 63)) & np.uint64(1) != 0
