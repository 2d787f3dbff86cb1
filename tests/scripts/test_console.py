"""Files that appear whole or not at all, and what is no file."""

import os
import stat
from pathlib import Path

import pytest

from recspeed.scripts.console import UserError, whole_file


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    """As a device: a rename would replace it, which a superuser's program may do to /dev itself."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(path) as temporary:
        assert temporary.parent != tmp_path
        temporary.write_text("all of it")
    assert os.read(reader, 100) == b"all of it"
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]
    assert not temporary.exists()


def fill(path: Path, text: str, error: BaseException | None = None) -> None:
    """Write `text` as a whole file, or fail after it."""
    with whole_file(path) as temporary:
        temporary.write_text(text)
        if error is not None:
            raise error


def test_nothing_of_a_failed_result_reaches_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(KeyboardInterrupt):
        fill(path, "half of i", KeyboardInterrupt())
    assert os.read(reader, 100) == b""
    os.close(reader)


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser could replace it")
def test_a_full_device_is_named():
    with pytest.raises(UserError, match="/dev/full: cannot be written: No space left on device"):
        fill(Path("/dev/full"), "too much")


def test_a_link_stays_a_link(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("before")
    link.symlink_to(real)
    with whole_file(link) as temporary:
        temporary.write_text("after")
    assert link.is_symlink()
    assert real.read_text() == "after"
