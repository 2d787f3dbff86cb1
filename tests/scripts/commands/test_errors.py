"""Bad input ends as one line on standard error and an exit code, whatever the command."""

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine

from recspeed.models.spec.memory import memory_preset_names
from recspeed.scripts import console
from recspeed.scripts.commands import pool, trace_convert

PROGRAM = [sys.executable, "-m", "recspeed.scripts.main"]


@pytest.fixture
def recspeed(capsys):
    return CommandLine(capsys)


COMMANDS = (
    ("info",),
    ("characterize",),
    ("pool",),
    ("dram",),
    ("trace", "generate"),
    ("trace", "convert"),
    ("trace", "stats"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command, recspeed):
    finished = recspeed(*command, "--help")
    assert finished.code == 0
    assert f"Example: recspeed {' '.join(command)}" in " ".join(finished.out.split())
    assert finished.err == ""


def test_no_command_shows_the_help(recspeed):
    for arguments in ((), ("trace",)):
        finished = recspeed(*arguments)
        assert finished.code == 2
        assert "Usage: recspeed" in finished.out + finished.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fly",), "No such command 'fly' (see 'recspeed --help')"),
        (("--fly",), "No such option: --fly"),
        (("trace", "fly"), "trace: No such command 'fly' (see 'recspeed trace --help')"),
        (("info", "--memory"), "Option '--memory' requires an argument"),
        (("pool", "--memory", "hbm2-2000"), "pool: Missing option '--trace'"),
        (("trace", "stats"), "trace stats: Missing argument"),
        (("trace", "generate", "--batch", "x", "--out", "o"), "Invalid value for '--batch'"),
        (("trace", "generate", "--batch", "0", "--out", "o"), "Invalid value for '--batch'"),
        (("trace", "generate", "--distribution", "flat", "--out", "o"), "'flat' is not one of"),
        (
            ("dram", "--memory", "m", "--bytes", "4", "--requests", "9", "--outstanding", "257"),
            "Invalid value for '--outstanding'",
        ),
    ],
)
def test_usage_errors(arguments, message, recspeed):
    assert message in recspeed.refused(*arguments)


UNKNOWN = (
    f"unknown memory preset 'hbm9': expected one of {', '.join(memory_preset_names())}, "
    "or a path that ends in .toml"
)


def test_unknown_preset(recspeed, tmp_path):
    trace = tmp_path / "t.npz"
    assert recspeed("trace", "generate", "--out", trace).code == 0
    out = tmp_path / "out"
    for arguments in (
        ("info", "--memory", "hbm9"),
        ("pool", "--trace", trace, "--memory", "hbm9", "--out", out),
        ("dram", "--memory", "hbm9", "--bytes", 64, "--requests", 9),
        ("characterize", "--memory", "hbm2-2000,hbm9", "--out", out),
    ):
        assert recspeed.refused(*arguments) == UNKNOWN
    assert not out.exists()


def test_preset_file_with_an_unknown_key(recspeed, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nspeed = 3\n')
    message = recspeed.refused("info", "--memory", path)
    assert message.startswith(f"{path}: ")
    missing = tmp_path / "nothing.toml"
    message = recspeed.refused("info", "--memory", missing)
    assert message == f"{missing}: cannot be read: No such file or directory"


@pytest.mark.parametrize("size", [2, 34, 1028, 2048])
def test_embedding_that_fits_no_burst(size, recspeed, tmp_path):
    expected = (
        f"table 0: an embedding of {size} B fits no burst: expected a multiple of 4 B "
        "from 4 to 1024 B"
    )
    out = tmp_path / "out"
    characterize = ("characterize", "--memory", "hbm2-2000", "--bytes", f"64,{size}", "--out", out)
    assert recspeed.refused(*characterize) == expected
    trace = tmp_path / "t.npz"
    assert recspeed("trace", "generate", "--dim", size // 2, "--out", trace).code == 0
    pool = ("pool", "--trace", trace, "--memory", "hbm2-2000", "--out", out)
    assert recspeed.refused(*pool) == f"{trace}: {expected}"
    assert not out.exists()


def test_odd_dimension_is_no_whole_number_of_4_bytes(recspeed, tmp_path):
    trace = tmp_path / "t.npz"
    assert recspeed("trace", "generate", "--dim", 33, "--out", trace).code == 0
    pool = ("pool", "--trace", trace, "--memory", "hbm2-2000", "--out", tmp_path / "out.npz")
    assert "an embedding of 66 B fits no burst" in recspeed.refused(*pool)


def test_malformed_trace_of_every_command_that_reads_one(recspeed, tmp_path):
    trace = tmp_path / "t.npz"
    np.savez(trace, indices=np.arange(3))
    line = f"{trace}: missing keys offsets, rows, dims; expected keys indices, offsets, rows, dims"
    assert recspeed.refused("trace", "stats", trace) == line
    out = tmp_path / "out.npz"
    pool = ("pool", "--trace", trace, "--memory", "hbm2-2000", "--out", out)
    assert recspeed.refused(*pool) == line
    convert = ("trace", "convert", trace, "--from", "npz", "--to", "dlrm", "--out", out)
    assert recspeed.refused(*convert) == line
    assert not out.exists()


def test_missing_input_file(recspeed, tmp_path):
    path = tmp_path / "nothing.tsv"
    out = tmp_path / "out.npz"
    for form in ("criteo", "dlrm", "dlrm-binary"):
        convert = ("trace", "convert", path, "--from", form, "--out", out)
        message = recspeed.refused(*convert, code=1)
        assert message == f"{path}: No such file or directory"
    assert not out.exists()


def no_space(*_arguments, **_named):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_full_disk_while_a_trace_is_written(recspeed, tmp_path, monkeypatch):
    def half_written(trace, file):
        file.write(b"PK")
        no_space()

    monkeypatch.setattr(trace_convert, "save_trace", half_written)
    path = tmp_path / "t.npz"
    path.write_bytes(b"what was there before")
    message = recspeed.refused("trace", "generate", "--out", path, code=1)
    assert message == f"{path}: cannot be written: No space left on device"
    assert path.read_bytes() == b"what was there before"
    assert os.listdir(tmp_path) == ["t.npz"]


def test_full_disk_before_anything_is_written(recspeed, tmp_path, monkeypatch):
    monkeypatch.setattr(console.tempfile, "mkstemp", no_space)
    path = tmp_path / "folder" / "t.npz"
    message = recspeed.refused("trace", "generate", "--out", path, code=1)
    assert message == f"{path}: cannot be written: No space left on device"


def test_full_disk_during_a_characterization_keeps_nothing_half_written(
    recspeed, tmp_path, monkeypatch
):
    write_text = Path.write_text

    def half_written(path, text, **named):
        write_text(path, text[: len(text) // 2], **named)
        no_space()

    monkeypatch.setattr(Path, "write_text", half_written)
    run = ("--bytes", 64, "--engine", "golden", "--lookups", 800, "--out", tmp_path / "out")
    message = recspeed.refused("characterize", "--memory", "hbm2-2000", *run, code=1)
    assert message.endswith(".json: cannot be written: No space left on device")
    assert os.listdir(tmp_path / "out" / "points") == []


def test_file_system_that_refuses_the_rest_of_a_file(tmp_path):
    # The kernel itself ends the write after 4 KiB, as a full disk does.
    path = tmp_path / "t.npz"
    finished = subprocess.run(
        [*PROGRAM, "trace", "generate", "--out", str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert finished.returncode == 1
    assert finished.stderr == f"recspeed: {path}: cannot be written: File too large\n"
    assert os.listdir(tmp_path) == []


def test_output_names_that_cannot_be_written(recspeed, tmp_path):
    message = recspeed.refused("trace", "generate", "--out", tmp_path)
    assert message == f"{tmp_path}: is a folder; expected the name of a file to write"
    (tmp_path / "file").write_text("")
    below = tmp_path / "file" / "t.npz"
    message = recspeed.refused("trace", "generate", "--out", below, code=1)
    assert message == f"{below}: cannot be written: {tmp_path / 'file'} is no folder"
    message = recspeed.refused("characterize", "--memory", "hbm2-2000", "--out", tmp_path / "file")
    assert message == f"{tmp_path / 'file'}: is a file; expected a folder for the results"


def test_interrupted_characterization_keeps_what_is_finished(tmp_path):
    out = tmp_path / "out"
    arguments = ["characterize", "--memory", "hbm2-2000", "--bytes", "32:1024:4"]
    arguments += ["--engine", "golden", "--lookups", "2000000", "--out", str(out)]
    process = subprocess.Popen(
        [*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not list(out.glob("points/*.json")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    kept = list(out.glob("points/*.json"))
    assert err == f"recspeed: interrupted; {len(kept)} of 249 points are kept in {out}\n"
    assert os.listdir(out) == ["points"]
    assert not list(out.glob("points/.*"))


def test_interrupted_pool_leaves_nothing(recspeed, tmp_path, monkeypatch):
    trace, out = tmp_path / "t.npz", tmp_path / "o" / "out.npz"
    assert recspeed("trace", "generate", "--out", trace).code == 0

    def interrupted(*_arguments, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "run_channel", interrupted)
    arguments = ("pool", "--trace", trace, "--memory", "hbm2-2000", "--out", out)
    assert recspeed.refused(*arguments, code=130) == "interrupted"
    assert os.listdir(tmp_path) == ["t.npz"]


def test_interrupted_while_writing_leaves_what_was_there(recspeed, tmp_path, monkeypatch):
    def interrupted(trace, file):
        file.write(b"PK")
        raise KeyboardInterrupt

    monkeypatch.setattr(trace_convert, "save_trace", interrupted)
    path = tmp_path / "t.npz"
    path.write_bytes(b"what was there before")
    assert recspeed.refused("trace", "generate", "--out", path, code=130) == "interrupted"
    assert path.read_bytes() == b"what was there before"
    assert os.listdir(tmp_path) == ["t.npz"]


def test_reader_that_goes_away_is_no_error():
    process = subprocess.Popen(
        [*PROGRAM, "info"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr is not None
    assert process.stderr.read() == ""
