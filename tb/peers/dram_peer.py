"""The DRAM peer of `dram.sv` on a front-end's bus."""

from amaranth.hdl import Const, Instance

from recspeed.models.spec.memory import MemoryPreset


def _extend(value, width):
    """`value` zero-extended to `width` bits."""
    return (value | Const(0, width))[:width]


def dram_peer(preset: MemoryPreset, bus, common: dict, number: int = 0) -> Instance:
    """Instance `number` of `recspeed_dram` on `bus` (`DramBus`); `common`: clock, enable, cycle."""
    return Instance(
        "recspeed_dram",
        p_ID=number,
        p_TCL=preset.clocks.tCL,
        p_BEATS=preset.burst_clocks,
        i_row_valid=bus.row_valid,
        i_row_refresh=bus.row_refresh,
        i_row_per_bank=bus.row_per_bank,
        i_row_bank=_extend(bus.row_bank, 8),
        i_row_address=_extend(bus.row_address, 32),
        i_column_valid=bus.column_valid,
        i_column_write=bus.column_write,
        i_column_precharge=bus.column_precharge,
        i_column_bank=_extend(bus.column_bank, 8),
        i_column_address=_extend(bus.column_address, 16),
        i_write_valid=bus.write_valid,
        i_write_data=bus.write_data,
        o_data_valid=bus.data_valid,
        o_data=bus.data,
        **common,
    )
