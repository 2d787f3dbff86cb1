"""Where a byte lies: a bit-field address map with hashing as a combinational block."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.address_map import FIELDS, AddressMap

__all__ = ["ByteAddressMap"]


def width(count: int) -> int:
    """Bits of a port that numbers below `count` pass, at least 1."""
    return max((count - 1).bit_length(), 1)


class ByteAddressMap(wiring.Component):
    """Splits a byte address into channel, bank, row, column and byte as an `AddressMap` says.

    Fields of 2^n values are bits of the address. A field of other counts (96 channels) is the
    remainder of a division by their odd part, for which one multiplication by the reciprocal gives
    the quotient: with n bits and l = ceil(log2 d) that is `x * ceil(2^(n + l) / d) >> (n + l)`,
    exact for every x below 2^n (Granlund and Montgomery, division by invariant integers).

    Members
    -------
    address : In
        Byte address.
    valid : Out
        The address is below the capacity.
    channel, rank, stackid, bankgroup, row, column : Out
        Fields of the place; 0 where the field has one value.
    bank_in_group : Out
        The field `bank`.
    bank : Out
        Flat bank number, as the front-end takes it.
    byte_in_burst : Out
        The field `byte`.

    Timing: combinational.

    Undefined: every output but `valid` while `valid` is 0.
    """

    def __init__(self, address_map: AddressMap):
        self.map = address_map
        counts = address_map.counts
        per_channel = counts["rank"] * counts["stackid"] * counts["bankgroup"] * counts["bank"]
        super().__init__(
            {
                "address": In(width(address_map.capacity_bytes)),
                "valid": Out(1),
                **{self._port(name): Out(width(counts[name])) for name in FIELDS},
                "bank": Out(width(per_channel)),
                "byte_in_burst": Out(width(address_map.burst_bytes)),
            }
        )

    @staticmethod
    def _port(field: str) -> str:
        return "bank_in_group" if field == "bank" else field

    def elaborate(self, platform):
        m = Module()
        counts = self.map.counts
        byte_bits = (self.map.burst_bytes - 1).bit_length()
        m.d.comb += [
            self.valid.eq(self.address < self.map.capacity_bytes),
            self.byte_in_burst.eq(self.address[:byte_bits]),
        ]
        # Digits of the address, the least significant part first.
        rest = self.address[byte_bits:]
        digits = {name: [] for name in FIELDS}
        for place, part in enumerate(reversed(self.map.parts)):
            digit, rest = self._split(m, rest, part.count, f"{part.field}_{place}")
            digits[part.field].append(digit)
        fields = {name: Cat(*parts) for name, parts in digits.items()}
        for place, step in enumerate(self.map.hashes):
            bits = (counts[step.target] - 1).bit_length()
            hashed = Signal(bits, name=f"hash_{place}")
            m.d.comb += hashed.eq(fields[step.target] ^ fields[step.source][step.shift :])
            fields[step.target] = hashed
        for name, value in fields.items():
            m.d.comb += getattr(self, self._port(name)).eq(value)
        m.d.comb += self.bank.eq(self._flat_bank(fields))
        return m

    def _flat_bank(self, fields):
        """`((rank * stackids + stackid) * banks + bank) * bankgroups + bankgroup`."""
        flat = Const(0, 0)
        for name in ("rank", "stackid", "bank", "bankgroup"):
            flat = flat * self.map.counts[name] + fields[name]
        return flat

    def _split(self, m, value, count: int, name: str):
        """`(value mod count, value div count)`."""
        shift = (count & -count).bit_length() - 1
        low, high, odd = value[:shift], value[shift:], count >> shift
        if odd == 1:
            return low, high
        if not len(high):
            return low, Const(0, 0)
        bits = len(high)
        scale = bits + (odd - 1).bit_length()
        reciprocal = -(-(1 << scale) // odd)
        quotient = Signal(bits, name=f"quotient_{name}")
        remainder = Signal((odd - 1).bit_length(), name=f"remainder_{name}")
        m.d.comb += [
            quotient.eq((high * reciprocal) >> scale),
            remainder.eq(high - quotient * odd),
        ]
        return Cat(low, remainder), quotient
