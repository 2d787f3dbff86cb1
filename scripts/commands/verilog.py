"""`recspeed verilog`: Verilog of a block, with its file list, ports and parameters."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from recspeed.models.spec.address_map import DEFAULT_ADDRESS_MAP
from recspeed.models.spec.collective import MAXIMUM_CHIPS, MINIMUM_CHIPS
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.toml import SpecificationError
from recspeed.rtl.generate.blocks import BLOCKS, Block, Choices, Port
from recspeed.scripts.console import UserError, out, whole_file

EXAMPLE = "Example: recspeed verilog --block cluster --preset hbm2e-3000 --out verilog"


def description(name: str, block: Block, ports: list[Port], choices: Choices) -> dict:
    """What the JSON file says of a block: ports, and everything that was fixed at generation."""
    return {
        "block": name,
        "description": block.description,
        "generator": f"recspeed {version('recspeed')}, amaranth {version('amaranth')}",
        "clock": "clk" if block.clocked else None,
        "reset": "rst, synchronous, active high" if block.clocked else None,
        "ports": [
            {"name": port.name, "direction": port.direction, "width": port.width} for port in ports
        ],
        "parameters": dict(block.facts(choices)),
    }


def write_block(name: str, choices: Choices, folder: Path) -> Path:
    """Write `NAME.v`, `NAME.f` (the file list) and `NAME.json` into `folder`."""
    source = folder / f"{name}.v"
    block = BLOCKS[name]
    generated = block.make(name, choices)
    facts = description(name, block, generated.ports, choices)
    with whole_file(source) as path:
        path.write_text(generated.text)
    with whole_file(folder / f"{name}.f") as path:
        path.write_text(f"{source.name}\n")
    with whole_file(folder / f"{name}.json") as path:
        path.write_text(json.dumps(facts, indent=2) + "\n")
    return source


def verilog(
    block: Annotated[str, typer.Option(help=f"{', '.join(BLOCKS)}, or all")],
    out_folder: Annotated[Path, typer.Option("--out", help="folder for the files")],
    preset: Annotated[str, typer.Option(help="memory preset, or a .toml file")] = "hbm2-2000",
    chips: Annotated[
        int,
        typer.Option(
            min=MINIMUM_CHIPS, max=MAXIMUM_CHIPS, help="chips that the collective engine links"
        ),
    ] = MAXIMUM_CHIPS,
    address_map: Annotated[
        str, typer.Option(help="bit fields and hashes of the address map (docs/address_maps.md)")
    ] = DEFAULT_ADDRESS_MAP,
    channels: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1024,
            help="channels of the address map; else those of a stack, chip or DDR4 channel",
        ),
    ] = None,
) -> None:
    """Write synthesizable Verilog, the same at every call."""
    if block != "all" and block not in BLOCKS:
        raise UserError(f"--block: unknown block '{block}': expected {', '.join(BLOCKS)} or all")
    try:
        memory = memory_preset(preset)
    except SpecificationError as error:
        raise UserError(f"--preset: {error}") from None
    choices = Choices(memory, chips=chips, address_map=address_map, channels=channels)
    try:
        _ = choices.map
    except SpecificationError as error:
        raise UserError(f"--address-map: {error}") from None
    for name in BLOCKS if block == "all" else [block]:
        source = write_block(name, choices, out_folder)
        out.print(f"{source}  ({BLOCKS[name].description})", highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLE)(verilog)
