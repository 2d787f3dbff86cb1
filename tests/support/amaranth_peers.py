"""What surrounds a design in Amaranth's own simulator: sources and a DRAM, clock by clock.

Peers as docs/cluster.md and docs/dram.md describe them, in Python: they share nothing with
`tb/peers`.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from recspeed.models.runs.command_log import CommandCode
from recspeed.models.spec.memory import MemoryPreset


@dataclass
class Source:
    """Offers items in order; bit `t mod 64` permits one in t + 1."""

    items: deque
    pattern: int
    held: int | dict | None = None

    def step(self, clock: int, transferred: bool) -> None:
        """From clock `clock` to the next one."""
        if self.held is None or transferred:
            permitted = self.items and self.pattern >> clock % 64 & 1
            self.held = self.items.popleft() if permitted else None


class Dram:
    """Returns the beats of a read tCL clocks after it, stores those of a write, keeps the log.

    Parameters
    ----------
    preset : MemoryPreset
    held : function of (row, bank, place)
        The 16 bytes that beat `place` of a DRAM row holds before it is written.

    Attributes
    ----------
    log : list of COMMAND_LOG entries
    faults : list of str
        Clocks in which write data was missing, tCWL after its write, or came unasked.
    """

    def __init__(self, preset: MemoryPreset, held: Callable[[int, int, int], int]):
        self.preset = preset
        self.held = held
        self.open_row = [0] * preset.banks
        self.written: dict[tuple[int, int, int], int] = {}
        self.due_out: dict[int, int] = {}
        self.due_in: dict[int, tuple[int, int, int]] = {}
        self.log: list[tuple] = []
        self.faults: list[str] = []

    def clock(self, clock: int, ctx, bus) -> None:
        """Obey what is on the bus in `clock`, and drive the data that is due."""
        if ctx.get(bus.row_valid):
            self._row_command(clock, ctx, bus)
        if ctx.get(bus.column_valid):
            self._column_command(clock, ctx, bus)
        self._store(clock, ctx, bus)
        data = self.due_out.pop(clock, None)
        ctx.set(bus.data_valid, data is not None)
        if data is not None:
            ctx.set(bus.data, data)

    def _row_command(self, clock: int, ctx, bus) -> None:
        bank = ctx.get(bus.row_bank)
        if ctx.get(bus.row_refresh):
            code = CommandCode.REFPB if ctx.get(bus.row_per_bank) else CommandCode.REF
            self.log.append((clock, 0, 0, bank, code))
        else:
            self.open_row[bank] = ctx.get(bus.row_address)
            self.log.append((clock, self.open_row[bank], 0, bank, CommandCode.ACT))

    def _column_command(self, clock: int, ctx, bus) -> None:
        bank, column = ctx.get(bus.column_bank), ctx.get(bus.column_address)
        closes, writes = ctx.get(bus.column_precharge), ctx.get(bus.column_write)
        row, clocks, beats = self.open_row[bank], self.preset.clocks, self.preset.burst_clocks
        if writes:
            code = CommandCode.WRA if closes else CommandCode.WR
        else:
            code = CommandCode.RDA if closes else CommandCode.RD
        self.log.append((clock, row, column, bank, code))
        for beat in range(beats):
            place = (row, bank, beats * column + beat)
            if writes:
                self.due_in[clock + clocks.tCWL + beat] = place
            else:
                known = self.written.get(place)
                value = self.held(*place) if known is None else known
                self.due_out[clock + clocks.tCL + beat] = value

    def _store(self, clock: int, ctx, bus) -> None:
        place = self.due_in.pop(clock, None)
        valid = ctx.get(bus.write_valid)
        if valid != (place is not None):
            self.faults.append(f"write data {'unasked' if valid else 'missing'} in clock {clock}")
        if valid and place is not None:
            self.written[place] = ctx.get(bus.write_data)
