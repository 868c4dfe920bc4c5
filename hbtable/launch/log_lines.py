"""The log's way to stderr: a bounded queue and a thread, so that nobody waits for whoever should read it.

A pipe that nobody reads (`Popen(stderr=PIPE)` in a test fixture) takes 64 KB; the write after that blocks for ever, and
in the hub it would stop every client. Here the writing thread blocks alone; what does not fit into the queue meanwhile
is dropped and counted, and the next line that is written says so.

A line is lost if the process is killed before the thread has written it. Who ends the process by os._exit calls
`logging.shutdown()` before, which waits for the queue for FLUSH_SECONDS at most.
"""

import logging
import os
import select
import threading
from collections import deque
from typing import Final, final

QUEUED_LINES: Final = 5000
FLUSH_SECONDS: Final = 1.0


@final
class LogLines(logging.Handler):
    """Any thread may log. `descriptor` stays the caller's. Never closed but by the process's end."""

    def __init__(self, descriptor: int, queued_lines: int = QUEUED_LINES) -> None:
        super().__init__()
        self.dropped = 0
        """Lines that nobody will ever read, since the start."""
        self._descriptor = descriptor
        self._queued_lines = queued_lines
        self._lines: deque[bytes] = deque()
        self._unsaid = 0  # of the dropped ones, those that no line has told of yet
        self._changed = threading.Condition(threading.Lock())
        self._writing = False
        threading.Thread(target=self._write_lines, name="hbtable log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Never blocks, and never raises."""
        try:
            line = self.format(record).encode("utf-8", "backslashreplace") + b"\n"
        except Exception:  # noqa: BLE001 -- whatever a log call's arguments raise is that line's business alone
            line = f"a log line of {record.name} could not be formatted: {record.msg!r}\n".encode()
        with self._changed:
            if len(self._lines) >= self._queued_lines:
                self.dropped += 1
                self._unsaid += 1
                return
            self._lines.append(line)
            self._changed.notify_all()

    def flush(self) -> None:
        """Waits until everything queued is written, for FLUSH_SECONDS at most."""
        with self._changed:
            self._changed.wait_for(self.is_idle, FLUSH_SECONDS)

    def is_idle(self) -> bool:
        """Whether everything was written or dropped."""
        return not self._lines and not self._writing

    def _write_lines(self) -> None:
        while True:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._lines)
                self._writing = True
                taken = b"".join(self._lines)
                self._lines.clear()
                if self._unsaid:
                    taken += b"%d log lines were dropped here: nobody read them in time\n" % self._unsaid
                    self._unsaid = 0
            self._write(taken)

    def _write(self, data: bytes) -> None:
        try:
            while data:
                try:
                    data = data[os.write(self._descriptor, data) :]
                except BlockingIOError:  # another process that has this pipe or terminal made it so
                    select.select([], [self._descriptor], [])
        except (OSError, MemoryError):  # closed, or a full disk: there is no other place to tell it
            with self._changed:
                self.dropped += data.count(b"\n")


def dropped_lines() -> int:
    """The number of lines that this process's log has dropped since its start."""
    return sum(handler.dropped for handler in logging.getLogger().handlers if isinstance(handler, LogLines))
