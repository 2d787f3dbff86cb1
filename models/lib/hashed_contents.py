"""Hashed contents of DRAM by the number of a word, after models/spec/hashed_contents.py."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recspeed.models.lib.compilation import sources_fingerprint
from recspeed.models.spec.hashed_contents import FACTOR_1, FACTOR_2, SEED_FACTOR

WORD_BYTES = 8
WORD_ELEMENTS = 4
"""FP16 elements of a word."""

_FACTOR_1, _FACTOR_2, _SEED_FACTOR = (
    np.uint64(FACTOR_1),
    np.uint64(FACTOR_2),
    np.uint64(SEED_FACTOR),
)
_HALF = np.uint64(32)
_ELEMENT_BITS, _EXPONENT, _KEPT = np.uint64(16), np.uint64(0x7C00), np.uint64(0x4000)


@njit(error_model="numpy", forceinline=True)
def hashed_word(number, seed):
    """uint64: word `number` (an integer) of the contents of `seed` (uint64); all are finite."""
    mixed = (np.uint64(number) + seed * _SEED_FACTOR) * _FACTOR_1
    mixed ^= mixed >> _HALF
    mixed *= _FACTOR_2
    mixed ^= mixed >> _HALF
    for element in range(WORD_ELEMENTS):
        place = _ELEMENT_BITS * np.uint64(element)
        exponent = _EXPONENT << place
        if mixed & exponent == exponent:
            mixed &= ~(_KEPT << place)
    return mixed


def _compile(fingerprint: int):
    @njit(cache=True, error_model="numpy", nogil=True)
    def fill(numbers, seed, words):
        _ = fingerprint
        for place in range(len(numbers)):
            words[place] = hashed_word(numbers[place], seed)

    return fill


_fill = _compile(sources_fingerprint("lib", "spec"))


def hashed_words(numbers: NDArray[np.integer], seed: int) -> NDArray[np.uint64]:
    """The 8-byte words with these numbers, of the same shape."""
    flat = np.ascontiguousarray(numbers, dtype=np.int64).reshape(-1)
    words = np.empty(len(flat), dtype=np.uint64)
    _fill(flat, np.uint64(seed % (1 << 64)), words)
    return words.reshape(numbers.shape)
