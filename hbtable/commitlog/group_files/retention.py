"""Keeps account of the group files of a log that tablets still need, and deletes the others.

A log has thousands of them, so what tablets need is kept by *spans* of consecutive groups, which are let go together.

Invariant: a file is deleted only when a durable group said that recovery begins behind it (bug classes 2 and 4).
"""

from typing import Final, final

from hbtable.commitlog.deleting import delete_oldest_first
from hbtable.commitlog.ledger import SegmentLedger
from hbtable.fs.interface import FileSystem
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import spawn_counted

_FILE_COST_BYTES: Final = 64 << 10
"""The least that a file counts for: to recovery a small one costs a request, as much as this."""
_SPAN_GROUPS: Final = 256
_SPAN_BYTES: Final = 16 << 20


@final
class GroupRetention:
    """Knows which group files are still needed, and deletes the others. `oldest`: the first LSN that recovery needs, as
    every new group says. `ledger` counts a span as a segment, by its first LSN. Nothing here switches."""

    __slots__ = ("_deleted_before", "_files", "_fs", "_ledger", "_runtime", "_span_bytes", "_span_first", "oldest")

    def __init__(self, runtime: Runtime, fs: FileSystem, ledger: SegmentLedger) -> None:
        self._runtime = runtime
        self._fs = fs
        self._ledger = ledger
        self._files: list[tuple[int, str]] = []
        """Every file ever tried, by LSN, until it is deleted."""
        self._span_first = 1
        self._span_bytes = 0
        self._deleted_before = 1
        self.oldest = 1

    @property
    def size_bytes(self) -> int:
        """The size of all that recovery would read."""
        return self._ledger.held_bytes + self._span_bytes

    def tried(self, lsn: int, path: str) -> None:
        """This file is there, or may come to be."""
        self._files.append((lsn, path))

    def acknowledged(self, lsn: int, file_bytes: int) -> None:
        """The group with this LSN counts, its tablets are in ledger.active."""
        self._span_bytes += max(file_bytes, _FILE_COST_BYTES)
        if self._span_bytes >= _SPAN_BYTES or lsn - self._span_first + 1 >= _SPAN_GROUPS:
            self._ledger.hold(self._span_first, "", self._span_bytes)
            self._span_first = lsn + 1
            self._span_bytes = 0

    def advance(self) -> bool:
        """Whether `oldest` could be raised: then a group has to say so."""
        oldest = self._ledger.oldest_needed(self._span_first)
        if oldest <= self.oldest:
            return False
        self.oldest = oldest
        self._ledger.drop_before(oldest)
        return True

    def delete_before(self, lsn: int) -> None:
        """A durable group says that recovery needs nothing before this LSN."""
        if lsn <= self._deleted_before:
            return
        self._deleted_before = lsn
        gone = sorted(file for file in self._files if file[0] < lsn)
        self._files = [file for file in self._files if file[0] >= lsn]
        spawn_counted(
            self._runtime, delete_oldest_first, self._fs, [path for _, path in gone], name="commit-log-delete"
        )
