"""A worker: a process of its own that measures the points that it is sent, one after the other.

Started as `python -m recspeed.scripts.measurements.worker DESCRIPTOR`, with the descriptor of a
connection. Whoever started it sends a point with its key and receives `(True, outcome)` or `(False,
exception)`. When that process ends, by whatever means, the worker stops what it does, its simulator
with it, and ends too.
"""

import os
import pickle
import signal
import subprocess
import sys
import threading
from multiprocessing.connection import Connection, Pipe
from queue import SimpleQueue
from typing import Any

from recspeed.scripts.console import CHECK_FAILED, UserError
from recspeed.scripts.interruption import interrupt_on_termination
from recspeed.scripts.measurements.point import Point

END_SECONDS = 15
"""What a worker has to stop its simulator before it is killed."""


class WorkerDiedError(Exception):
    """The worker ended in the middle of a point."""


class Worker:
    """A worker process, from the side of the one who started it.

    It has a session of its own: Ctrl-C on the terminal reaches only who started it.
    """

    def __init__(self) -> None:
        self.connection, theirs = Pipe()
        paths = [path for path in sys.path if path]
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )

    def send(self, task: bytes) -> None:
        """Let it measure a pickled point with its key, as `task_of` gives it."""
        try:
            self.connection.send_bytes(task)
        except OSError:
            raise WorkerDiedError from None

    def receive(self) -> bytes:
        """Wait for the answer to what was sent, pickled; see `outcome_of`.

        Raises
        ------
        WorkerDiedError
            When it ended without an answer.
        """
        try:
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            raise WorkerDiedError from None

    def stop(self) -> None:
        """Tell it to end at once; does not wait."""
        if self.process.poll() is None:
            self.process.terminate()

    def close(self) -> None:
        """End it, and wait until it has ended."""
        self.stop()
        self.connection.close()
        self.wait()

    def wait(self) -> None:
        """Wait until it has ended; it is killed when that takes too long."""
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def task_of(point: Point) -> bytes:
    """What a worker is sent."""
    return pickle.dumps((point, point.key))


def outcome_of(answer: bytes) -> Any:
    """The outcome that a worker sent; what went wrong there is raised here."""
    succeeded, content = pickle.loads(answer)
    if not succeeded:
        raise content
    return content


def answer_to(task: bytes) -> bytes:
    """Measure a point, in this process."""
    try:
        point, key = pickle.loads(task)
        if point.key != key:
            raise UserError(
                f"{point.title}: a worker on {os.uname().nodename} has other sources of recspeed; "
                "expected the same on every machine",
                CHECK_FAILED,
            )
        return pickle.dumps((True, point.measure()))
    except Exception as error:
        try:
            pickle.loads(answer := pickle.dumps((False, error)))
        except Exception:
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
        return answer


def _serve(connection: Connection) -> None:
    tasks: SimpleQueue[bytes | None] = SimpleQueue()

    def listen() -> None:
        # A thread of its own sees at once, whatever is being measured, that nobody waits any more.
        while True:
            try:
                tasks.put(connection.recv_bytes())
            except (EOFError, OSError):
                tasks.put(None)
                os.kill(os.getpid(), signal.SIGTERM)
                return

    threading.Thread(target=listen, daemon=True).start()
    while (task := tasks.get()) is not None:
        connection.send_bytes(answer_to(task))


def main() -> None:
    """Serve until the other side ends or a signal comes."""
    interrupt_on_termination(once=True)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _serve(Connection(int(sys.argv[1])))
    except (KeyboardInterrupt, OSError):
        os._exit(1)


if __name__ == "__main__":
    main()
