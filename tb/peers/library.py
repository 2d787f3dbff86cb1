"""The files of the peers library, by part, as simulators are built from them."""

from pathlib import Path

__all__ = ["FOLDER", "parts"]

FOLDER = Path(__file__).parent


def parts(*names: str) -> list[Path]:
    """SystemVerilog and C++ of the parts `names`, and of the session that every run needs."""
    every = ("session", *names)
    return [
        FOLDER / "peers.h",
        *(FOLDER / f"{name}.sv" for name in every),
        *(FOLDER / f"{name}.cpp" for name in every),
    ]
