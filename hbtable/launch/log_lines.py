"""The log's way to stderr, and the audit's to its file: a bounded queue and a thread, so that nobody waits for whoever
should read it.

A pipe that nobody reads (`Popen(stderr=PIPE)` in a test fixture) takes 64 KB; the write after that blocks for ever, and
in the hub it would stop every client. Here the writing thread blocks alone. A disk that is full may have room again:
what it did not take, the rest of a half line among it, is tried again before anything else is written. What does not
fit into the queue meanwhile is dropped and counted, and the next line that is written says so.

A line is lost if the process is killed before the thread has written it. Who ends the process by os._exit calls
`logging.shutdown()` before, which waits for the queue for FLUSH_SECONDS at most.
"""

import errno
import logging
import os
import select
import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import Final, NamedTuple, final

QUEUED_LINES: Final = 5000
FLUSH_SECONDS: Final = 1.0
AGAIN_SECONDS: Final = 1.0
"""Between two tries at a full disk."""
_MAY_PASS: Final = frozenset((errno.ENOSPC, errno.EDQUOT))
_UNREAD: Final = "nobody read them in time"


def _told(dropped: int, why: str) -> bytes:
    return b"%d log lines were dropped here: %s" % (dropped, why.encode())


class _Line(NamedTuple):
    """One line of the log. `text` ends with the line break."""

    logger: str
    text: bytes


@final
class LogLines(logging.Handler):
    """Any thread may log. `descriptor` stays the caller's. Never closed but by the process's end."""

    def __init__(
        self,
        descriptor: int,
        queued_lines: int = QUEUED_LINES,
        told: Callable[[int, str], bytes] = _told,
        write: Callable[[int, bytes], int] = os.write,
    ) -> None:
        """`told`: the line that tells of lines that were dropped: how many, and why. Called by the writing thread."""
        super().__init__()
        self.dropped = 0
        """Lines that nobody will ever read, since the start."""
        self.dropped_of = Counter[str]()
        """Of them those of each logger."""
        self._descriptor = descriptor
        self._queued_lines = queued_lines
        self._told = told
        self._write_bytes = write
        self._lines: deque[_Line] = deque()
        self._unsaid = 0  # of the dropped ones, those that no line has told of yet
        self._telling = 0  # those that the last line of `_rest` tells of
        self._why = ""
        self._problem = ""  # the last write's; "": it went well
        self._rest = b""  # taken from the queue and not written; may begin inside of a line
        self._taken: list[tuple[str, int]] = []  # the loggers of its lines, and what is left behind each, in bytes
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
                self._drop(1, self._problem or _UNREAD)
                self.dropped_of[record.name] += 1
                return
            self._lines.append(_Line(record.name, line))
            self._changed.notify_all()

    def flush(self) -> None:
        """Waits until everything queued is written, for FLUSH_SECONDS at most."""
        with self._changed:
            self._changed.wait_for(self.is_idle, FLUSH_SECONDS)

    def is_idle(self) -> bool:
        """Whether everything was written or dropped."""
        return not self._lines and not self._rest and not self._writing

    def problem(self) -> str:
        """The reason why lines cannot be written now; "": they are, or nobody has tried."""
        return self._problem or (_UNREAD if len(self._lines) >= self._queued_lines else "")

    def _drop(self, count: int, why: str) -> None:
        self.dropped += count
        self._unsaid += count
        self._why = why

    def _write_lines(self) -> None:
        while True:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
                if self._rest:
                    self._changed.wait(AGAIN_SECONDS)
                else:
                    self._changed.wait_for(lambda: self._lines)
                    self._take()
                self._writing = True
            self._write()

    def _take(self) -> None:
        """Moves all of the queue to what is being written, and one line about what was dropped."""
        self._telling, self._unsaid = self._unsaid, 0
        told = self._told(self._telling, self._why) + b"\n" if self._telling else b""
        self._rest = b"".join((*(line.text for line in self._lines), told))
        self._taken, behind = [], len(self._rest)
        for line in self._lines:
            behind -= len(line.text)
            self._taken.append((line.logger, behind))
        self._lines.clear()

    def _write(self) -> None:
        try:
            while self._rest:
                try:
                    self._rest = self._rest[self._write_bytes(self._descriptor, self._rest) :]
                except BlockingIOError:  # another process that has this pipe or terminal made it so
                    select.select([], [self._descriptor], [])
        except (OSError, MemoryError) as error:  # closed, or a full disk: there is no other place to tell it
            self._failed(error)
        else:
            self._problem = ""

    def _failed(self, error: OSError | MemoryError) -> None:
        with self._changed:
            self._problem = (error.strerror if isinstance(error, OSError) else "") or type(error).__name__
            if not isinstance(error, OSError) or error.errno not in _MAY_PASS:
                self._drop(self._rest.count(b"\n") - bool(self._telling), self._problem)
                left = len(self._rest)
                self.dropped_of.update(logger for logger, behind in self._taken if behind < left)
                self._unsaid += self._telling
                self._rest = b""


def log_handlers() -> list[LogLines]:
    """Finds the handlers of this process's log."""
    return [handler for handler in logging.getLogger().handlers if isinstance(handler, LogLines)]


def dropped_lines() -> int:
    """The number of lines that this process's log has dropped since its start."""
    return sum(handler.dropped for handler in log_handlers())
