"""Commits on their way into a log, gathered in batches: each will be one group (paper, section 6: group commit).

What comes while a group is written waits here and makes the next one; both kinds of log take from the front.

Invariants: batches leave in the order in which their commits came, and hold them in that order. A commit whose task is
killed while it waits stays in its batch: it is written and applied, or refused, and its callbacks say which. The
payload's checksum is taken as the commits join, not when the group is made: what changes in memory while they wait is
refused, never written. A commit that follows another one, because it was made of what that one brings, is refused with
it: nobody may build on what never came about.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, final

from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.state import LogState
from hbtable.crc32 import crc32
from hbtable.errors import HbtableError, Unavailable
from hbtable.runtime.interface import Event, Runtime
from hbtable.switches import switches

_SLEEP_SECONDS: Final = 0.001
"""Processes sleep for whole milliseconds: one that sleeps for a shorter time takes 1.2 ms."""


def nobody() -> None:
    """Called when a commit is refused of which nobody has to be told but the task that waits for it."""


@final
class CommitBatch:
    """One group to be: what to write, what to apply once that is durable, and who waits.

    One event for all of its waiters: they share their fate. A waiter may be killed, so it is not enough to raise:
    what has to be undone is in `refusals`.
    """

    __slots__ = (
        "applies", "checksum", "count", "done", "error", "follows", "payloads", "refusals", "size_bytes", "tablets",
    )  # fmt: skip

    def __init__(self, done: Event) -> None:
        self.payloads: list[bytes] = []
        self.applies: list[Callable[[], None]] = []
        self.refusals: list[Callable[[], None]] = []
        """Called if nothing of it will be applied."""
        self.tablets: dict[int, int] = {}
        """Highest sequence of each tablet in it."""
        self.size_bytes = 0
        self.checksum = 0
        """CRC32 of the payload, as it came."""
        self.count = 0
        self.done = done
        self.error: tuple[type[HbtableError], str] | None = None
        self.follows = False
        """One of its commits does."""

    def add(
        self,
        tablet_id: int,
        last_sequence: int,
        records: bytes,
        apply: Callable[[], None],
        count: int,
        refused: Callable[[], None],
        checksum: int | None = None,
    ) -> None:
        """`checksum`: of the records, for the first of a batch alone, where it is known."""
        self.payloads.append(records)
        self.applies.append(apply)
        self.refusals.append(refused)
        self.tablets[tablet_id] = last_sequence
        self.size_bytes += len(records)
        self.checksum = crc32(records, self.checksum) if checksum is None else checksum
        self.count += count

    def payload(self) -> bytes:
        payloads = self.payloads
        return payloads[0] if len(payloads) == 1 else b"".join(payloads)

    def fail(self, kind: type[HbtableError], reason: str) -> None:
        """Nothing of it is applied: calls `refusals`, once. Does not switch."""
        self.error = (kind, reason)
        refusals, self.refusals = self.refusals, []
        for refused in refusals:
            refused()
        self.done.set()

    @switches
    def wait(self) -> None:
        """*Switches.* Raises an error of its own for each waiter: a shared one would collect all their tracebacks."""
        self.done.wait()
        if self.error is not None:
            kind, reason = self.error
            raise kind(reason)


@final
class CommitQueue:
    """The commits that wait to be written. `batches`: those that wait, oldest first, bounded by options.queue_bytes.
    Only await_commits() switches."""

    __slots__ = ("_awaited", "_enough", "_group_bytes", "_limit_bytes", "_runtime", "_state", "batches", "size_bytes")

    def __init__(self, runtime: Runtime, options: LogOptions, state: LogState) -> None:
        self._runtime = runtime
        self._state = state
        self._group_bytes = options.group_bytes
        self._limit_bytes = options.queue_bytes
        self.batches: deque[CommitBatch] = deque()
        self.size_bytes = 0
        self._awaited = 0
        """Somebody waits until the oldest batch has so many commits; 0 when nobody does."""
        self._enough = runtime.event()

    def put(
        self,
        tablet_id: int,
        last_sequence: int,
        records: bytes,
        apply: Callable[[], None],
        exempt: bool,
        count: int,
        refused: Callable[[], None],
        follows: bool,
        checksum: int | None = None,
    ) -> CommitBatch:
        """The batch that the commit has joined; its caller waits for that. Unavailable, or the log's failure: then
        `refused` was called. `checksum`: of the records, where it is known: they begin a batch."""
        if self._state.reason or self._state.closing:
            refused()
            self._state.check_open()
        size = len(records)
        # One commit is always let in, however large: it would never fit otherwise.
        if self.size_bytes + size > self._limit_bytes and self.size_bytes and not exempt:
            refused()
            raise Unavailable(f"{self.size_bytes} bytes wait for the commit log; retry later")
        batches = self.batches
        if not batches or checksum is not None or batches[-1].size_bytes + size > self._group_bytes:
            batches.append(CommitBatch(self._runtime.event()))
        batch = batches[-1]
        batch.add(tablet_id, last_sequence, records, apply, count, refused, checksum)
        batch.follows = batch.follows or follows
        self.size_bytes += size
        if len(batch.applies) == self._awaited or len(batches) == 2:
            self._enough.set()
        return batch

    @switches
    def await_commits(self, commits: int, limit_seconds: float) -> None:
        """*Switches.* Until the only batch, which must be there, is full or has so many commits, more than it has, or
        the time is over. For one task at a time. An idle process is kept awake: it would sleep through a short time."""
        self._awaited = commits
        self._enough.clear()
        try:
            if limit_seconds < _SLEEP_SECONDS:
                self._enough.wait_awake(limit_seconds)
            else:
                self._enough.wait(limit_seconds)
        finally:
            self._awaited = 0

    def take(self) -> CommitBatch:
        """The oldest batch: the next group."""
        batch = self.batches.popleft()
        self.size_bytes -= batch.size_bytes
        return batch

    def refuse_followers(self, kind: type[HbtableError], reason: str) -> None:
        """A commit was refused that was not in the queue any more. So is each batch with a commit that follows any
        other: rarely one too many."""
        followers = [batch for batch in self.batches if batch.follows]
        for batch in followers:
            self.batches.remove(batch)
            self.size_bytes -= batch.size_bytes
            batch.fail(kind, reason)

    def fail_all(self) -> None:
        """Tells all that wait why the log broke."""
        while self.batches:
            self.take().fail(self._state.failure, self._state.reason)
