"""An interruption ends the program, also where the interpreter would forget it."""

import signal
import subprocess
import sys

SWALLOWED = """
import ctypes, os, signal, sys, time
from recspeed.scripts.interruption import interrupt_on_termination

interrupt_on_termination(once={once})

@ctypes.CFUNCTYPE(None)
def callback():
    os.kill(os.getpid(), signal.{sent})
    for _ in range(1000):
        pass

try:
    callback()
    print("swallowed", flush=True)
    time.sleep(20)
except KeyboardInterrupt:
    print("interrupted")
"""


def outcome(sent, once):
    program = SWALLOWED.format(sent=sent.name, once=once)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )


def test_interruption_in_a_callback_comes_again():
    for sent in (signal.SIGINT, signal.SIGTERM):
        for once in (False, True):
            finished = outcome(sent, once)
            assert finished.stdout == "swallowed\ninterrupted\n"
            assert finished.stderr == ""
            assert finished.returncode == 0
