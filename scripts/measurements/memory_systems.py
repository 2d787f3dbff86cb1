"""Memory systems: a preset, and how many parts of it a processor carries."""

from dataclasses import dataclass

from recspeed.models.spec.memory import MemoryPreset, memory_preset

PARTS: dict[str, tuple[str, int]] = {
    "hbm2": ("stack", 6),
    "hbm3": ("stack", 6),
    "gddr6": ("chip", 12),
    "ddr4": ("channel", 6),
}
"""Per family: what one sells it by, and how many the `chip` figures of one preset count.

Six stacks of HBM as in Table XIV of arXiv 2009.05230; the others as in its Fig. 6.
"""


@dataclass(frozen=True)
class MemorySystem:
    """`parts` stacks, chips or channels of one preset, every channel as fast as the other."""

    title: str
    preset: MemoryPreset
    parts: int

    @property
    def channels(self) -> int:
        """Channels (HBM: pseudo channels) of all parts."""
        return self.parts * self.preset.organization.pseudo_channels_per_stack

    @property
    def parts_text(self) -> str:
        """Such as `4 stacks` or `1 channel`."""
        word, _ = PARTS[self.preset.family]
        return f"{self.parts} {word}{'s' if self.parts != 1 else ''}"

    @property
    def pin_gb_per_s(self) -> float:
        return self.channels * self.preset.pin_gb_per_s

    @property
    def capacity_gib(self) -> float:
        """GiB of all parts, from rows, banks and row size of the preset."""
        org = self.preset.organization
        return self.channels * self.preset.banks * org.rows * org.row_bytes / 2**30


def chip_system(preset: MemoryPreset) -> MemorySystem:
    """The system that the `chip` figures of `preset` are of."""
    return MemorySystem(preset.name, preset, PARTS[preset.family][1])


def chip_channels(preset: MemoryPreset) -> int:
    """Channels (HBM: pseudo channels) of a chip with this memory."""
    return chip_system(preset).channels


def paper_systems() -> tuple[MemorySystem, ...]:
    """The systems of Figs. 6 and 7 of arXiv 2009.05230, in the order of Fig. 6."""
    return (
        MemorySystem("HBM2E-2400, 4 stacks", memory_preset("hbm2e-2400"), 4),
        MemorySystem("GDDR6-16000, 12 chips", memory_preset("gddr6-16000"), 12),
        MemorySystem("DDR4-3200 dual rank, 6 channels", memory_preset("ddr4-3200"), 6),
    )
