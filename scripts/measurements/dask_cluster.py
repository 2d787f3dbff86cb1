"""Points measured by the workers of a Dask cluster, given by address or started on this machine.

A Dask worker measures each point in a process of its own (`worker.py`), which ends with it, and
which the client can end in the middle of a point.
"""

import signal
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from threading import Lock
from typing import Any

from recspeed.scripts.console import CHECK_FAILED, USAGE_ERROR, UserError
from recspeed.scripts.measurements.executor import RETRIES, given_up
from recspeed.scripts.measurements.point import Point
from recspeed.scripts.measurements.worker import Worker, WorkerDiedError, outcome_of, task_of

CONNECT_SECONDS = 10

_workers: dict[str, list[Worker]] = {}
"""In a Dask worker: the processes of each run, the idle ones among them."""
_idle: dict[str, list[Worker]] = {}
_ended: set[str] = set()
_lock = Lock()


def measure_in_worker(task: bytes, run: str) -> bytes:
    """In a Dask worker: the answer of a process to `task`; raises WorkerDiedError."""
    with _lock:
        if run in _ended:
            raise WorkerDiedError
        idle = _idle.setdefault(run, [])
        if idle:
            worker = idle.pop()
        else:
            worker = Worker()
            _workers.setdefault(run, []).append(worker)
    try:
        worker.send(task)
        answer = worker.receive()
    except WorkerDiedError:
        with _lock:
            if worker in _workers.get(run, []):
                _workers[run].remove(worker)
        worker.close()
        raise
    with _lock:
        _idle.setdefault(run, []).append(worker)
    return answer


def end_run(run: str) -> None:
    """In a Dask worker: end the processes of a run, and start none for it any more."""
    with _lock:
        _ended.add(run)
        workers = _workers.pop(run, [])
        _idle.pop(run, None)
    for worker in workers:
        worker.stop()
    for worker in workers:
        worker.wait()


def ignore_interrupts() -> None:
    """In a local Dask worker: Ctrl-C on the terminal is for the client alone, which ends it."""
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _plugin() -> Any:
    from distributed import WorkerPlugin

    class IgnoreInterrupts(WorkerPlugin):
        def setup(self, worker: Any) -> None:
            del worker
            ignore_interrupts()

    return IgnoreInterrupts()


class DaskCluster:
    """The workers of the cluster at `address`, or `local` workers that live as long as a run."""

    def __init__(self, address: str | None, local: int = 0) -> None:
        self.address, self.local = address, local

    def _client(self, stack: ExitStack) -> Any:
        import logging

        from dask import config
        from distributed import Client, LocalCluster

        # A worker that dies is not news: its point is measured again.
        stack.enter_context(
            config.set(
                {
                    "distributed.scheduler.allowed-failures": RETRIES,
                    "distributed.admin.tick.limit": "1h",
                }
            )
        )
        for name in ("distributed", "distributed.nanny", "distributed.scheduler"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        if self.address is None:
            no_dashboard: dict[str, Any] = {"dashboard_address": None}
            cluster = LocalCluster(
                n_workers=self.local,
                threads_per_worker=1,
                processes=True,
                silence_logs=logging.CRITICAL,
                **no_dashboard,
            )
            stack.callback(cluster.close, timeout=30)
            client = stack.enter_context(Client(cluster))
            client.register_plugin(_plugin())
            return client
        try:
            return stack.enter_context(Client(self.address, timeout=CONNECT_SECONDS))
        except (OSError, ValueError) as error:
            raise UserError(
                f"--scheduler {self.address}: no Dask scheduler answers there: "
                f"{str(error) or type(error).__name__}",
                USAGE_ERROR,
            ) from None

    def outcomes(self, points: Sequence[Point]) -> Iterator[tuple[Point, Any]]:
        if not points:
            return
        from distributed import as_completed
        from distributed.scheduler import KilledWorker

        run = uuid.uuid4().hex
        with ExitStack() as stack:
            client = self._client(stack)
            waiting: dict[Any, tuple[Point, int]] = {}

            def submit(point: Point, deaths: int) -> Any:
                future = client.submit(measure_in_worker, task_of(point), run, pure=False)
                waiting[future] = point, deaths
                return future

            def end() -> None:
                client.cancel(list(waiting))
                client.run(end_run, run, on_error="ignore")

            stack.callback(end)
            finished = as_completed([submit(point, 0) for point in points])
            for future in finished:
                point, deaths = waiting.pop(future)
                try:
                    answer = future.result()
                except KilledWorker:
                    raise given_up(point) from None
                except WorkerDiedError:
                    if deaths == RETRIES:
                        raise given_up(point) from None
                    finished.add(submit(point, deaths + 1))
                    continue
                except ImportError as error:
                    raise UserError(
                        f"{point.title}: a worker of the cluster has no recspeed: {error}",
                        CHECK_FAILED,
                    ) from None
                yield point, outcome_of(answer)
