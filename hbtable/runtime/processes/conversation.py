"""Work in another process that asks for what it needs, and hands over what it has done, piece by piece.

The process belongs to one conversation at a time. Its steps run in threads, which come back to the hub with each
question; so what is asked is answered where everything else is done that touches files.
"""

from collections.abc import Callable, Sequence
from typing import final

from hbtable.runtime.interface import AskingJob, JobFailed, WorkerDied
from hbtable.runtime.processes.worker_process import WorkerProcess, WorkerProcesses
from hbtable.runtime.threads.native_threads import NativeThread, allocate_lock


@final
class Conversation:
    """One job that asks. Its steps are made in threads, one at a time; give_up() comes from the hub."""

    def __init__(self, processes: WorkerProcesses, job: AskingJob, seconds: float) -> None:
        self._processes = processes
        self._job = job
        self._seconds = seconds
        self._process: WorkerProcess | None = None
        self._lock = allocate_lock()
        """Held while a step is made."""
        self._given_up = False

    def begin(self, parts: Sequence[bytes]) -> tuple[bool, list[bytes]]:
        """Whether it asks, or has ended; and the parts. As WorkerProcess.begin()."""
        with self._lock:
            if self._given_up:
                raise WorkerDied("was given up")
            process = self._process = self._processes.take()
            return self._step(process, lambda: process.begin(self._job, parts, self._seconds))

    def go_on(self, parts: Sequence[bytes]) -> tuple[bool, list[bytes]]:
        with self._lock:
            process = self._process
            if process is None or self._given_up:
                raise WorkerDied("was given up")
            return self._step(process, lambda: process.go_on(self._job, parts, self._seconds))

    def _step(self, process: WorkerProcess, step: Callable[[], tuple[bool, list[bytes]]]) -> tuple[bool, list[bytes]]:
        try:
            asks, parts = step()
        except BaseException as error:
            self._process = None
            self._processes.put_back(process, alive=isinstance(error, JobFailed))
            raise
        if not asks:
            self._process = None
            self._processes.put_back(process, alive=True)
        return asks, parts

    def give_up(self) -> None:
        """In the hub, at any time; neither waits nor switches. The process ends, unless its work has."""
        self._given_up = True
        process = self._process
        if process is not None:
            process.stop()  # a step under way ends
            NativeThread(self._end, "hbtable worker ends").start()

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
            if process is not None:
                self._processes.put_back(process, alive=False)
