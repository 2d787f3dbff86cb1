"""Who measures: this process, several processes, or the workers of a Dask cluster.

An executor takes points and hands back each with its outcome, in any order. All of them give the
same outcomes. Closed or interrupted, an executor leaves no worker and no simulator behind.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from multiprocessing.connection import wait
from typing import Any, Protocol

from recspeed.scripts.console import CHECK_FAILED, UserError
from recspeed.scripts.measurements.point import Point, in_order_of_builds
from recspeed.scripts.measurements.store import Store
from recspeed.scripts.measurements.worker import Worker, WorkerDiedError, outcome_of, task_of

RETRIES = 3
"""How often a point is measured again because a worker died of it."""

Done = Callable[[Point, Any, bool], None]
"""Told each point, its outcome, and whether it was kept from an earlier run."""


class Executor(Protocol):
    """Measures points."""

    def outcomes(self, points: Sequence[Point]) -> Iterator[tuple[Point, Any]]:
        """Each point with its outcome, as they are finished; an exception of any ends it all."""
        ...


def given_up(point: Point) -> UserError:
    """What is raised for a point that workers die of."""
    return UserError(
        f"{point.title}: its worker died {RETRIES + 1} times; given up, expected memory and time "
        "enough for it",
        CHECK_FAILED,
    )


class Serial:
    """This process."""

    def outcomes(self, points: Sequence[Point]) -> Iterator[tuple[Point, Any]]:
        for point in points:
            yield point, point.measure()


class Processes:
    """At most `jobs` processes on this machine; for a single one, this process."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def outcomes(self, points: Sequence[Point]) -> Iterator[tuple[Point, Any]]:
        if min(self.jobs, len(points)) <= 1:
            yield from Serial().outcomes(points)
            return
        waiting = [(point, 0) for point in reversed(points)]
        busy: dict[Worker, tuple[Point, int]] = {}
        idle: list[Worker] = []
        try:
            while waiting or busy:
                while waiting and len(busy) < self.jobs:
                    point, deaths = waiting.pop()
                    worker = idle.pop() if idle else Worker()
                    busy[worker] = point, deaths
                    with suppress(WorkerDiedError):  # `receive` says so too
                        worker.send(task_of(point))
                ready = wait([worker.connection for worker in busy])
                for worker in [w for w in busy if w.connection in ready]:
                    point, deaths = busy[worker]
                    try:
                        answer = worker.receive()
                    except WorkerDiedError:
                        del busy[worker]
                        worker.close()
                        if deaths == RETRIES:
                            raise given_up(point) from None
                        waiting.append((point, deaths + 1))
                        continue
                    del busy[worker]
                    idle.append(worker)
                    yield point, outcome_of(answer)
        finally:
            everyone = [*busy, *idle]
            for worker in everyone:
                worker.stop()
            for worker in everyone:
                worker.close()


def run_points(
    points: Sequence[Point],
    store: Store | None,
    executor: Executor,
    on_done: Done | None = None,
) -> list[Any]:
    """The outcome of every point, in the order of `points`.

    Parameters
    ----------
    store
        Outcomes that it keeps are not measured again, and new ones are kept at once. None: nothing
        is kept.
    on_done
        Called for each point as it is finished.
    """
    outcomes: dict[str, Any] = {}
    missing: dict[str, Point] = {}
    every: dict[str, Point] = {point.key: point for point in points}
    for key, point in every.items():
        if point.immediate:
            outcome, kept = point.measure(), False
        else:
            outcome, kept = store.load(point) if store is not None else None, True
        if outcome is None:
            missing[key] = point
            continue
        outcomes[key] = outcome
        if on_done is not None:
            on_done(point, outcome, kept)
    # Closed at once when interrupted: no worker may go on.
    with closing(executor.outcomes(in_order_of_builds(list(missing.values())))) as finished:  # pyright: ignore[reportArgumentType]: generators, all of them
        for point, outcome in finished:
            if store is not None:
                store.keep(point, outcome)
            outcomes[point.key] = outcome
            if on_done is not None:
                on_done(point, outcome, False)
    return [outcomes[point.key] for point in points]
