"""`recspeed verilog`: Verilog of a block, with its file list, ports and parameters."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from amaranth.lib import wiring

from recspeed.models.spec.engine import EngineParameters
from recspeed.models.spec.memory import MemoryPreset, memory_preset
from recspeed.models.spec.toml import SpecificationError
from recspeed.rtl.blocks import BLOCKS, ports
from recspeed.rtl.verilog import generate
from recspeed.scripts.console import UserError, out, whole_file

EXAMPLE = "Example: recspeed verilog --block memory_channel --preset hbm2e-3000 --out verilog"


def description(
    name: str, component: wiring.Component, preset: MemoryPreset, parameters: EngineParameters
) -> dict:
    """What the JSON file says of a block: ports, and everything that was fixed at generation."""
    return {
        "block": name,
        "description": BLOCKS[name].description,
        "generator": f"recspeed {version('recspeed')}, amaranth {version('amaranth')}",
        "clock": "clk",
        "reset": "rst, synchronous, active high",
        "ports": [
            {"name": port.name, "direction": port.direction, "width": port.width}
            for port in ports(component)
        ],
        "parameters": {
            "memory": preset.name,
            "clock_mhz": float(preset.clock_mhz),
            "banks": preset.banks,
            "timings_in_clocks": preset.clocks.model_dump(),
            **parameters.model_dump(),
        },
    }


def write_block(
    name: str, preset: MemoryPreset, parameters: EngineParameters, folder: Path
) -> Path:
    """Write `NAME.v`, `NAME.f` (the file list) and `NAME.json` into `folder`."""
    source = folder / f"{name}.v"
    component = BLOCKS[name].make(preset, parameters)
    text = generate(component, name)
    facts = description(name, component, preset, parameters)
    with whole_file(source) as path:
        path.write_text(text)
    with whole_file(folder / f"{name}.f") as path:
        path.write_text(f"{source.name}\n")
    with whole_file(folder / f"{name}.json") as path:
        path.write_text(json.dumps(facts, indent=2) + "\n")
    return source


def verilog(
    block: Annotated[str, typer.Option(help=f"{', '.join(BLOCKS)}, or all")],
    out_folder: Annotated[Path, typer.Option("--out", help="folder for the files")],
    preset: Annotated[str, typer.Option(help="memory preset, or a .toml file")] = "hbm2-2000",
) -> None:
    """Write synthesizable Verilog, the same at every call."""
    if block != "all" and block not in BLOCKS:
        raise UserError(f"--block: unknown block '{block}': expected {', '.join(BLOCKS)} or all")
    try:
        memory = memory_preset(preset)
    except SpecificationError as error:
        raise UserError(f"--preset: {error}") from None
    for name in BLOCKS if block == "all" else [block]:
        source = write_block(name, memory, EngineParameters(), out_folder)
        out.print(f"{source}  ({BLOCKS[name].description})", highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLE)(verilog)
