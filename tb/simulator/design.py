"""What a simulator is built from, and how that is generated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from recspeed.tb.simulator.layouts import Layouts

__all__ = ["Design", "Generator"]


@dataclass(frozen=True)
class Design:
    """What a simulator is built from.

    Parameters
    ----------
    sources
        Verilog and SystemVerilog files, Verilator control files (.vlt), C++ files for DPI
        with their headers.
    layouts
        Where the fields of its streams' items are. They stay with the simulator, so that items can
        be packed and unpacked without the components that know them.
    """

    sources: Sequence[Path]
    layouts: Layouts = field(default_factory=dict)


@dataclass(frozen=True)
class Generator:
    """How the Verilog of a design is made, and all that it depends on.

    Parameters
    ----------
    module : str
        Name of the module that writes it; its text and that of all it imports is part of the key.
    parameters
        JSON values that together with the module's text decide what is generated.
    write
        Called with a folder when there is no build: leaves the Verilog there, and says what to
        build from. It may import what is slow to import.
    """

    module: str
    parameters: Mapping[str, object]
    write: Callable[[Path], Design]
