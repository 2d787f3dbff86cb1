"""Sets of banks as the bits of one 64-bit integer, for compiled code."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def lowest_bank(typingctx, mask):  # pyright: ignore[reportUnusedParameter]  numba passes its context first
    """Number of the lowest set bit of `mask`, an int64 that must not be zero."""
    del typingctx

    def generate(context, builder, signature, arguments):
        del context, signature
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate
