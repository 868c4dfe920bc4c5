"""Several connections at work on one transfer. Each job gets a connection of its own for as long as it runs."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event
from typing import TypeVar, final

from hbtable.shell.errors import Cancelled
from hbtable.shell.transfer.servers import TransferServer, connector

T = TypeVar("T")


@final
class TransferWorkers:
    """Runs jobs on `count` threads, each with a connection. close() waits for the jobs under way."""

    def __init__(self, address: str, count: int) -> None:
        self.count = count
        connect = connector(address)
        self._closing = Event()
        self._connections = [connect() for _ in range(count)]
        self._free: SimpleQueue[TransferServer] = SimpleQueue()
        for connection in self._connections:
            self._free.put(connection)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="transfer")

    def start(self, jobs: Sequence[Callable[[TransferServer], T]]) -> "list[Future[T]]":
        """The jobs begin in this order, `count` at a time."""
        return [self._threads.submit(self._run, job) for job in jobs]

    def go_on(self) -> None:
        """Cancelled when close() was called: jobs ask between calls."""
        if self._closing.is_set():
            raise Cancelled("broken off")

    def told(self) -> str:
        """TransferServer.told of all, to stand behind other words. No job runs."""
        told = next(filter(None, (connection.told() for connection in self._connections)), "")
        return f"; {told}" if told else ""

    def close(self) -> None:
        self._closing.set()
        self._threads.shutdown(cancel_futures=True)
        for connection in self._connections:
            connection.close()

    def _run(self, job: Callable[[TransferServer], T]) -> T:
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
