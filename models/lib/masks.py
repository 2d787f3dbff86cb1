"""Sets of banks as the bits of one 64-bit integer, for compiled code."""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _count_trailing_zeros(typing_context, mask):
    del typing_context, mask

    def generate(context, builder, signature, arguments):
        del context, signature
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


def _count_ones(typing_context, mask):
    del typing_context, mask

    def generate(context, builder, signature, arguments):
        del context, signature
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


lowest_bank = cast(Callable[[Any], int], intrinsic(_count_trailing_zeros))
"""Number of the lowest set bit of a mask, an int64 that must not be zero."""

count_banks = cast(Callable[[Any], int], intrinsic(_count_ones))
"""Number of set bits of a mask, an int64."""
