"""What hashed DRAM holds: a definition that the DRAM model and the golden model each implement.

Word w of 8 bytes (4 FP16 elements) of a pseudo channel, in the order row, flat bank, burst, word:

    w = ((row * banks + bank) * bursts_per_row + burst) * (burst_bytes / 8) + word_in_burst
    x = (w + seed * SEED_FACTOR) * FACTOR_1   mod 2^64
    x = x xor (x >> 32)
    x = x * FACTOR_2                          mod 2^64
    x = x xor (x >> 32)

Element e of the word is bits 16 e to 16 e + 15 of x, and where its exponent field is all ones, bit
14 is cleared: every element is finite, and every sign, exponent and mantissa occurs.
"""

SEED_FACTOR = 0xA0761D6478BD642F
FACTOR_1 = 0x9E3779B97F4A7C15
FACTOR_2 = 0xD6E8FEB86659FD93
