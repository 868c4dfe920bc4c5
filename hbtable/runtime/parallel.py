"""Several jobs at once, not more than a limit, each with its own outcome.

Jobs may have nothing to wait for: in one process, on a local disk without syncs, 5,000 tablets are unloaded without a
switch. So whoever carries out one after the other lets other tasks run between two of them. All who do so have one
slice of time together: the event loop begins new tasks by the dozen before it looks at its sockets, and sixteen with a
slice each kept clients waiting for 60 ms.

The jobs are parts of what the calling task does, so its context variables are theirs, and so is its share of the hub.
"""

from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import TypeVar

from hbtable.errors import HbtableError, LockLost
from hbtable.runtime.fair_scheduler import in_share_of_caller
from hbtable.runtime.interface import Runtime
from hbtable.runtime.slices import SharedSlice, in_slices
from hbtable.switches import switches

T = TypeVar("T")


@switches
def run_all(runtime: Runtime, limit: int, jobs: Sequence[Callable[[], T]], name: str) -> list[T | HbtableError]:
    """The outcome of each job, in their order: what it returned or the HbtableError it raised.

    Anything else a job raises, and LockLost, is raised here after the other jobs have ended. With one job or a limit
    of one nothing is spawned.
    """
    if len(jobs) <= 1 or limit <= 1:
        return [_outcome(job) for job in in_slices(runtime, jobs)]
    found: dict[int, T | HbtableError] = {}
    lost: list[LockLost] = []  # kept here: a task that dies is told as a defect, and this is none
    waiting = enumerate(jobs)
    shared = SharedSlice(runtime)

    def work() -> None:
        for place, job in waiting:
            shared.pause()
            try:
                found[place] = _outcome(job)
            except LockLost as error:
                lost.append(error)
                return

    shared_work = in_share_of_caller(work)
    tasks = [runtime.spawn(copy_context().run, shared_work, name=name) for _ in range(min(limit, len(jobs)))]
    for task in tasks:
        task.join()
    for task in tasks:
        if task.error is not None:
            raise task.error
    if lost:
        raise lost[0]
    return [found[place] for place in range(len(jobs))]


def results(outcomes: Sequence[T | HbtableError]) -> list[T]:
    """The return values of run_all's jobs; raises the first error there is among the outcomes."""
    found: list[T] = []
    for outcome in outcomes:
        if isinstance(outcome, HbtableError):
            raise outcome
        found.append(outcome)
    return found


@switches
def run_until_error(runtime: Runtime, limit: int, jobs: Sequence[Callable[[], T]], name: str) -> list[T]:
    """The results of the jobs, in their order. After an HbtableError none is begun any more; it is raised here when
    those that were begun have ended. Where nothing can be reached, each more would be another wait for nothing."""
    found: dict[int, T] = {}
    failed: list[HbtableError] = []

    def unless_failed(place: int, job: Callable[[], T]) -> Callable[[], None]:
        def work() -> None:
            if failed:
                return
            try:
                found[place] = job()
            except HbtableError as error:
                failed.append(error)
                if isinstance(error, LockLost):
                    raise

        return work

    run_all(runtime, limit, [unless_failed(place, job) for place, job in enumerate(jobs)], name)
    if failed:
        raise failed[0]
    return [found[place] for place in range(len(jobs))]


@switches
def _outcome(job: Callable[[], T]) -> T | HbtableError:
    try:
        return job()
    except LockLost:
        raise
    except HbtableError as error:
        return error
