"""A process that computes for this one and may be killed at any time (worker_main.py is its other side).

What it is asked goes through a pipe as bytes, and so does what it answers. Its time is the processor's, not the
clock's: on a busy machine it may take long, but an endless loop does not.

Everything here runs in a thread of runtime.workers and blocks. It is started without a fork of this process's threads,
from whatever program opened the database: also one under gevent's patches, whose own `subprocess` is not used.
"""

import contextlib
import fcntl
import json
import os
import re
import select
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from gevent.monkey import get_original

from hbtable.runtime.interface import AskingJob, Job, JobFailed, WorkerDied
from hbtable.runtime.processes.worker_main import (
    ANSWERED,
    ASKED,
    BEGUN,
    MAY_ASK,
    NO_MEMORY,
    PROTOCOL,
    READY,
    checksum_of,
    packed,
)
from hbtable.runtime.threads.native_threads import allocate_lock

if TYPE_CHECKING:
    from os import posix_spawn, waitpid
    from select import poll
else:
    poll = get_original("select", "poll")
    posix_spawn = get_original("os", "posix_spawn")
    waitpid = get_original("os", "waitpid")

_START: Final = (
    "import os, sys, json; os.closerange(3, 1 << 16); arguments = sys.argv[1:];"
    "sys.path += [path for path in json.loads(arguments[2]) if path not in sys.path];"
    "from hbtable.runtime.processes.worker_main import main;"
    "main(int(arguments[0]), int(arguments[1]), int(arguments[3]))"
)
_PYTHON: Final = re.compile(r"python|pypy", re.IGNORECASE)
_ANSWER_SECONDS: Final = 60.0
"""For the start, and for a pipe that does not move: far above what a busy machine costs."""
_LOOK_SECONDS: Final = 0.02
_PIPE_BYTES: Final = 1 << 20


@final
class WorkerProcess:
    """Started on return. WorkerDied when there is none."""

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._guard = allocate_lock()
        self._closed = False
        self.has_begun = False
        """The last call: what was asked is what it died of, if it died."""
        given, self._calls = _pipe()
        self._answers, taken = _pipe()
        try:
            self._id = _spawned(given, taken, memory_bytes)
        except OSError as error:
            os.close(self._calls)
            os.close(self._answers)
            raise WorkerDied(f"could not be started: {error}") from error
        finally:
            os.close(given)
            os.close(taken)
        try:
            # Not its number: somebody else's waitpid(-1) in this program may free that, for another process to get.
            self._handle: int | None = os.pidfd_open(self._id)
        except OSError:
            self._handle = None  # Linux before 5.3
        for descriptor in (self._calls, self._answers):
            os.set_blocking(descriptor, False)
            with contextlib.suppress(OSError):  # this user has too many large ones
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        try:
            self._expect(READY)
        except BaseException:
            self.kill()
            raise

    def call(self, job: Job, parts: Sequence[bytes], seconds: float) -> list[bytes]:
        """Has `job` work on `parts`, and returns its answer. It may take so many seconds of processor time. After
        WorkerDied only kill() may follow."""
        self.has_begun = False
        self._write(packed([_name(job), *parts]))
        status = self._read(1)
        if status == BEGUN:
            self.has_begun = True
            status = self._wait_for_the_end(seconds)
        return self._answer(status, job)

    def begin(self, job: AskingJob, parts: Sequence[bytes], seconds: float) -> tuple[bool, list[bytes]]:
        """Whether this is its question, not its last answer; and the parts. `seconds` of the clock. As call()."""
        self.has_begun = False
        self._write(packed([_name(job) + MAY_ASK.encode(), *parts]))
        status = self._read(1)
        if status == BEGUN:
            self.has_begun = True
            return self._next(job, seconds)
        return False, self._answer(status, job)

    def go_on(self, job: AskingJob, parts: Sequence[bytes], seconds: float) -> tuple[bool, list[bytes]]:
        """Answers a question of the job: `parts` are what it asked for. As begin()."""
        self._write(packed(parts))
        return self._next(job, seconds)

    def _next(self, job: AskingJob, seconds: float) -> tuple[bool, list[bytes]]:
        if not _ready(self._answers, select.POLLIN, seconds):
            raise WorkerDied(f"asked and answered nothing for {seconds:g} s")
        status = self._read(1)
        if status == ASKED:
            return True, self._read_parts()
        return False, self._answer(status, job)

    def _answer(self, status: bytes, job: Job | AskingJob) -> list[bytes]:
        answer = self._read_parts()
        if status == NO_MEMORY:
            raise WorkerDied(f"needed more than {self._memory_bytes} bytes of memory")
        if status != ANSWERED:
            raise JobFailed(f"{job.__qualname__} failed in a worker process: {answer[0].decode()}")
        return answer

    def _read_parts(self) -> list[bytes]:
        count = self._read(4)
        lengths = self._read(8 * _numbers(count, 4)[0])
        parts = [self._read(length) for length in _numbers(lengths, 8)]
        if self._read(4) != checksum_of([count + lengths, *parts]):
            raise WorkerDied("answered, and the answer arrived changed: have this machine's memory tested")
        return parts

    def has_ended(self) -> bool:
        """Whether it has ended: it was idle for long, or was killed between two calls."""
        # Before an answer nothing is to be read but the end.
        return _ready(self._answers, select.POLLIN, 0.0)

    def stop(self) -> None:
        """Ends the process at once. Any thread; whoever waits for an answer gets WorkerDied, and has to kill() it all
        the same."""
        with self._guard, contextlib.suppress(OSError):
            if self._closed:
                return
            if self._handle is None:
                os.kill(self._id, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def kill(self) -> None:
        """Ends the process at once, and for good."""
        self.stop()
        with contextlib.suppress(ChildProcessError):  # whoever waits for any child has met it
            waitpid(self._id, 0)
        with self._guard:  # nobody signals a number that has come to mean something else
            self._closed = True
            for descriptor in (self._calls, self._answers, self._handle):
                if descriptor is not None:
                    os.close(descriptor)

    def _wait_for_the_end(self, seconds: float) -> bytes:
        began = self._used_seconds()
        wait = seconds
        while not _ready(self._answers, select.POLLIN, wait):
            used = self._used_seconds() - began
            if used >= seconds:
                raise WorkerDied(f"took more than {seconds:g} s")
            wait = max(seconds - used, _LOOK_SECONDS)
        return self._read(1)

    def _used_seconds(self) -> float:
        try:
            return time.clock_gettime(~self._id << 3 | 2)  # as clock_getcpuclockid makes it of a process id
        except OSError:
            return time.monotonic()  # it has ended, which the next read shows; or this is no Linux

    def _expect(self, status: bytes) -> None:
        if self._read(1) != status:
            raise WorkerDied("answered what was not asked")

    def _read(self, length: int) -> bytes:
        pieces = []
        while length:
            if not _ready(self._answers, select.POLLIN, _ANSWER_SECONDS):
                raise WorkerDied(f"did not answer for {_ANSWER_SECONDS:g} s")
            piece = os.read(self._answers, min(length, 1 << 20))
            if not piece:
                raise WorkerDied("ended before it answered")
            pieces.append(piece)
            length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _write(self, pieces: Sequence[bytes]) -> None:
        for piece in pieces:
            left = memoryview(piece)
            while left:
                if not _ready(self._calls, select.POLLOUT, _ANSWER_SECONDS):
                    raise WorkerDied(f"took nothing for {_ANSWER_SECONDS:g} s")
                try:
                    left = left[os.write(self._calls, left) :]
                except BrokenPipeError:
                    raise WorkerDied("ended before it was asked") from None


def _name(job: Job | AskingJob) -> bytes:
    return f"{job.__module__}:{job.__qualname__}".encode()


def _pipe() -> tuple[int, int]:
    """(read, write). Neither is a standard stream, also where the program has closed those."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


def _spawned(given: int, taken: int, memory_bytes: int) -> int:
    """The id of a process with these ends of pipes for its standard input and output."""
    # Anything else (a program frozen into one file, a web server with Python inside) would begin anew.
    if getattr(sys, "frozen", False) or not _PYTHON.match(os.path.basename(sys.executable or "")):
        raise OSError(f"this program does not say which Python runs it, but {sys.executable!r}")
    # Where hbtable was found, this process's path may have been changed by hand.
    paths = [path for path in (*sys.path, str(Path(__file__).parents[3])) if path]
    arguments = [str(os.getpid()), str(memory_bytes), json.dumps(paths), str(PROTOCOL)]
    command = [sys.executable, "-P", "-c", _START, *arguments]
    streams = [
        (os.POSIX_SPAWN_DUP2, given, 0),
        (os.POSIX_SPAWN_DUP2, taken, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    # A group of its own: Ctrl-C at a terminal is for the program, which drains. Not a session of its own: Linux shares
    # the processors out among sessions first (autogroup), and what is niced would have as much as all of the server.
    return posix_spawn(sys.executable, command, os.environ, file_actions=streams, setpgroup=0)


def _ready(descriptor: int, what: int, seconds: float) -> bool:
    polled = poll()
    polled.register(descriptor, what)
    return bool(polled.poll(seconds * 1000))


def _numbers(data: bytes, size: int) -> list[int]:
    return [int.from_bytes(data[begin : begin + size], "little") for begin in range(0, len(data), size)]


@final
class WorkerProcesses:
    """The processes of one kind of work, each kept for the next call. There are as many as threads that call at a
    time."""

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        self._stopped = False

    def call(self, job: Job, parts: Sequence[bytes], seconds: float) -> list[bytes]:
        """In a thread. WorkerDied, and the process is gone; any other error is the job's own."""
        while True:
            was_idle = bool(self._idle)
            process = self.take()
            try:
                answer = process.call(job, parts, seconds)
            except JobFailed:
                self.put_back(process, alive=True)
                raise
            except BaseException as error:
                self.put_back(process, alive=False)
                if isinstance(error, WorkerDied) and was_idle and not process.has_begun and not self._stopped:
                    continue  # it was idle for too long in this very moment
                raise
            self.put_back(process, alive=True)
            return answer

    def _one_that_waits(self) -> WorkerProcess | None:
        while self._idle:
            try:
                process = self._idle.pop()
            except IndexError:
                break  # another thread was quicker
            if not process.has_ended():
                return process
            process.kill()
        return None

    def take(self) -> WorkerProcess:
        """A worker process, in a thread, that is nobody else's until it is put back or killed."""
        process = self._one_that_waits() or WorkerProcess(self._memory_bytes)
        self._busy.add(process)
        if self._stopped:
            process.stop()
        return process

    def put_back(self, process: WorkerProcess, *, alive: bool) -> None:
        """In a thread."""
        if not alive:
            process.kill()
        self._busy.discard(process)
        if alive:
            self._idle.append(process)

    def stop(self) -> None:
        """Ends those that are busy, so that their threads come back."""
        self._stopped = True
        for process in list(self._busy):
            process.stop()

    def close(self) -> None:
        """Ends the idle processes. To be called when no call is under way any more."""
        while self._idle:
            self._idle.pop().kill()
