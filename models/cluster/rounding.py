"""Functional model of the rounding: exact sums become FP16 or FP32, once, to nearest even.

Source of every rule: docs/cluster.md, "Rounding".
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recspeed.models.lib.exact_sums import NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY


def rounded(
    sums: NDArray[np.int64], flags: NDArray[np.uint8], output: Literal["fp16", "fp32"]
) -> NDArray[np.uint32]:
    """Bit patterns of exact sums in units of 2^-24: FP16 in the low half of each word, or FP32.

    A sum of zero is +0.0. Flags overrule the sum: NaN with `NAN` or infinities of both signs.
    """
    exact = sums.astype(np.float64) * 2.0**-24
    if output == "fp16":
        with np.errstate(over="ignore"):
            bits = exact.astype(np.float16).view(np.uint16).astype(np.uint32)
        infinity, sign, quiet_nan = 0x7C00, 0x8000, 0x7E00
    else:
        bits = exact.astype(np.float32).view(np.uint32)
        infinity, sign, quiet_nan = 0x7F800000, 0x80000000, 0x7FC00000
    if flags.any():
        positive, negative = flags & POSITIVE_INFINITY != 0, flags & NEGATIVE_INFINITY != 0
        bits[positive] = infinity
        bits[negative] = sign | infinity
        bits[(flags & NAN != 0) | (positive & negative)] = quiet_nan
    return bits
