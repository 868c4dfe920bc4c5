"""Several connections at work on one transfer. Each job gets a connection of its own for as long as it runs."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar, final

from hbtable.shell.connection import ShellConnection

T = TypeVar("T")


@final
class TransferWorkers:
    """Runs jobs on `count` threads, each with a connection. close() waits for the jobs under way."""

    def __init__(self, address: str, count: int) -> None:
        self.count = count
        self._connections = [ShellConnection(address) for _ in range(count)]
        self._free: SimpleQueue[ShellConnection] = SimpleQueue()
        for connection in self._connections:
            self._free.put(connection)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="transfer")

    def start(self, jobs: Sequence[Callable[[ShellConnection], T]]) -> "list[Future[T]]":
        """The jobs begin in this order, `count` at a time."""
        return [self._threads.submit(self._run, job) for job in jobs]

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        for connection in self._connections:
            connection.close()

    def _run(self, job: Callable[[ShellConnection], T]) -> T:
        connection = self._free.get()
        try:
            return job(connection)
        finally:
            self._free.put(connection)


def outcomes(futures: "Sequence[Future[T]]") -> list[T]:
    """All results, after all have ended; the first error, if there was one."""
    errors = [error for future in futures if (error := future.exception()) is not None]
    if errors:
        raise errors[0]
    return [future.result() for future in futures]
