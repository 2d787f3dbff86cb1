"""Every command and configuration of docs/performance.md runs as it is written."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from recspeed.models.performance import presets
from recspeed.scripts.main import run

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "performance.md").read_text()
CODE = [line[4:] for line in PAGE.replace("\\\n", "").splitlines() if line.startswith("    ")]
COMMANDS = [
    line.partition("  #")[0]
    for line in CODE
    if re.match(r"recspeed (reproduce|simulate|serve)", line)
]


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that the page's commands name, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    np.savez(
        "lookups.npz",
        indices=np.arange(8),
        offsets=np.arange(0, 9, 2),
        rows=np.array([100, 100]),
        dims=np.array([32, 32]),
    )
    Path("times.txt").write_text("0\n1e-6\n5e-6\n")
    Path("sizes.txt").write_text("100\n300\n")


def test_the_page_has_commands() -> None:
    assert len(COMMANDS) >= 10


@pytest.mark.slow
@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("command", COMMANDS)
def test_command_of_the_page(command: str) -> None:
    arguments = shlex.split(command)[1:]
    if arguments[0] == "serve":
        arguments += ["--queries", "200"]
    assert run(arguments) == 0


def test_configuration_of_the_page(tmp_path: Path) -> None:
    start = CODE.index('extends = "recspeed-16"')
    path = tmp_path / "own.toml"
    path.write_text("\n".join(CODE[start : start + 5]))
    system = presets.system(str(path))
    assert (system.name, system.chips) == ("recspeed-4-slow", 4)
    assert system.interconnect.gb_per_s == 400


def test_every_preset_is_on_the_page() -> None:
    names = [*presets.names("systems"), *presets.names("workloads")]
    missing = [n for n in names if f"`{n}`" not in PAGE and f"`-{n.split('-')[-1]}`" not in PAGE]
    assert missing == []
