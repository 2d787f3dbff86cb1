"""The ports of every Amaranth harness, by which the cocotb module works it."""

from amaranth.lib.wiring import In, Member, Out

from recspeed.models.spec.register_map import ADDRESS_BITS

__all__ = ["control_ports"]


def control_ports() -> dict[str, Member]:
    """Members of a harness.

    address : In(ADDRESS_BITS)
        Which register.
    write : In(1)
        Write `write_data` to it in this clock.
    write_data : In(64)
        What is written.
    read_data : Out(64)
        The word at `address`, one clock later.
    load : In(1)
        Load the inputs of run number `index` in this clock.
    store : In(1)
        Store the outputs of run number `index` in this clock.
    index : In(32)
        Number of the run.
    done : Out(1)
        The run was started and is done.
    law_violations : Out(32)
        Violations of the stream law on the streams of the block.
    """
    return {
        "address": In(ADDRESS_BITS),
        "write": In(1),
        "write_data": In(64),
        "read_data": Out(64),
        "load": In(1),
        "store": In(1),
        "index": In(32),
        "done": Out(1),
        "law_violations": Out(32),
    }
