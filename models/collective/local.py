"""Golden model of a chip's local part, its reduction's stages and its write ports' readiness.

Source of every rule: docs/collective.md, "Engine", "Reduction" and "Copy". What is added up is in
`reduction.py`; here is only when.
"""

from numba import njit

from recspeed.models.collective.descriptor import adds_up
from recspeed.models.spec.collective import WireFormat

_FP16, _FP32 = WireFormat.FP16.value, WireFormat.FP32.value


@njit(error_model="numpy", forceinline=True)
def write_ready(stall, chip, port, clock):
    """Whether a write port takes a line.

    The noise is the one that the testbench's write ports make, 32-bit arithmetic throughout.
    """
    if stall.begin <= clock < stall.end:
        return False
    if stall.rate == 0:
        return True
    mask = 0xFFFFFFFF
    value = ((clock & mask) * 0x9E3779B1) & mask
    value ^= ((chip * 16 + port) * 0x85EBCA77) & mask
    value ^= value >> 15
    value = (value * 0xC2B2AE3D) & mask
    value ^= value >> 13
    return (value & 0xFF) >= stall.rate


@njit(error_model="numpy", forceinline=True)
def step_local(chip, taken, ready):
    """Move the local part and the reduction to the next clock.

    `taken`: the reduction takes its operands; `ready`: the local write port's.
    """
    advance = not chip.offered or ready
    wrote = chip.offered != 0 and ready
    handed = chip.local_held != 0 and (taken if adds_up(chip.operation) else ready)
    fetch = chip.local_fetch != 0 and (not chip.local_held or handed)
    chip.local_held = fetch or (chip.local_held != 0 and not handed)
    chip.local_fetch -= fetch
    chip.local_left -= handed
    if advance:
        fresh = chip.stage_3 != 0
        parts = 1 if chip.wire == _FP16 else 2 if chip.wire == _FP32 else 4
        full = chip.part == parts - 1 or chip.inputs == 1
        chip.offered = fresh and full
        if fresh:
            chip.inputs -= 1
            chip.part = 0 if full else chip.part + 1
        chip.stage_3, chip.stage_2, chip.stage_1 = chip.stage_2, chip.stage_1, taken
    if wrote:
        chip.result_left -= 1
        chip.written += 1
