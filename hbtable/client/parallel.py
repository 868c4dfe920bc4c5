"""Runs jobs on several tablets at once, a bounded number at a time."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from hbtable.errors import HbtableError
from hbtable.runtime.interface import Runtime

T = TypeVar("T")


def run_all(runtime: Runtime, jobs: Sequence[Callable[[], T]], limit: int) -> list[T]:
    """Results in the order of `jobs`. *Switches.* At most `limit` run at once, one of them in the caller's task.

    A job that fails does not stop the others: when all have ended, the error of the first one in order is raised.
    """
    results: dict[int, T] = {}
    errors: dict[int, HbtableError] = {}
    waiting = iter(enumerate(jobs))

    def work() -> None:
        for index, job in waiting:  # shared by all workers; taking the next one does not switch
            try:
                results[index] = job()
            except HbtableError as error:
                errors[index] = error

    tasks = [runtime.spawn(work, name="client-parallel") for _ in range(min(limit, len(jobs)) - 1)]
    work()
    for task in tasks:
        task.join()
        if task.error is not None:
            raise task.error
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in range(len(jobs))]
