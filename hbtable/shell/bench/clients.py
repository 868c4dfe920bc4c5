"""N client processes, and the scheduler that gives them the rows of a workload (the paper's section 7): the rows are
cut into 10 N pieces, and whoever has finished one is given the next."""

from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier, Event
from signal import SIG_IGN, SIGINT, signal
from threading import BrokenBarrierError
from types import TracebackType
from typing import Final, final

from hbtable.runtime.processes.parent_death import end_with
from hbtable.shell.bench.workloads import BenchClient, BenchPlan
from hbtable.shell.errors import CannotConnect, ShellError, plain_kind

PIECES_A_CLIENT: Final = 10
_CONNECT_SECONDS: Final = 120.0

_own: "list[tuple[BenchClient, Barrier]]" = []
"""In a client's process: its one client, and where all of them meet."""


@final
class BenchClients:
    """Client processes that are connected. Leaving it ends them, and so does the end of this process."""

    def __init__(self, plan: BenchPlan, clients: int, seconds: Callable[[], float]) -> None:
        """Starts the processes; returns when all are connected. ShellError. `seconds`: a clock that never goes back."""
        self._plan = plan
        self._clients = clients
        self._seconds = seconds
        context = get_context("spawn")
        self._ended = context.Event()
        self._held, self._holds = context.Pipe(duplex=False)
        barrier = context.Barrier(clients)
        self._pool = ProcessPoolExecutor(clients, context, _begin, (plan, barrier, self._ended, self._held))
        try:
            self._results([self._pool.submit(_meet) for _ in range(clients)])
        except BaseException:
            self._end()
            raise

    def run(self, workload: str) -> float:
        """Values a second, of all clients together. ShellError."""
        rows, pieces = self._plan.rows_of(workload), PIECES_A_CLIENT * self._clients
        bounds = [rows * piece // pieces for piece in range(pieces + 1)]
        began = self._seconds()
        done = self._results(
            [self._pool.submit(_run_piece, workload, *bounds[piece : piece + 2]) for piece in range(pieces)]
        )
        return sum(done) / (self._seconds() - began)

    def _results(self, futures: "list[Future[int]]") -> list[int]:
        """The error that is not just another one's consequence."""
        errors = [found for found in (future.exception() for future in futures) if found is not None]
        for error in sorted(errors, key=lambda one: not isinstance(one, ShellError)):
            if isinstance(error, BrokenProcessPool):
                raise ShellError("a client process of the benchmark ended; has the machine run out of memory?")
            raise error
        return [future.result() for future in futures]

    def __enter__(self) -> "BenchClients":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        self._ended.set()
        self._pool.shutdown(cancel_futures=True)
        self._holds.close()
        self._held.close()


# ------------------------------------------------------------------------------------------ in the client's process


def _begin(plan: BenchPlan, barrier: Barrier, ended: Event, held: Connection) -> None:
    end_with(held)
    signal(SIGINT, SIG_IGN)  # Ctrl-C is the command's, which ends its clients
    _own.append((BenchClient(plan, ended.is_set), barrier))


def _meet() -> int:
    """No process does this twice, as it waits for the others here."""
    client, barrier = _own[0]
    try:
        client.open()
    except ShellError:
        barrier.abort()
        raise
    try:
        barrier.wait(_CONNECT_SECONDS)
    except BrokenBarrierError:
        raise ShellError("another client process of the benchmark did not come so far") from None
    return 0


def _run_piece(workload: str, first: int, end: int) -> int:
    client, _ = _own[0]
    try:
        return client.run(workload, first, end)
    except CannotConnect:
        raise
    except ShellError as error:  # as an error that can be pickled
        raise ShellError(f"{workload}: {plain_kind(error)}: {error}") from None
