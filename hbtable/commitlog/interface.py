"""The commit log as its tablet server uses it, whichever way it is written (paper, sections 5.3 and 6).

writer.py implements it over an open file (local disk, HDFS natively), group_files/writer.py over whole files (WebHDFS).
"""

from collections.abc import Callable
from typing import Protocol

from hbtable.commitlog.queue import nobody
from hbtable.errors import HbtableError
from hbtable.switches import switches


class CommitLog(Protocol):
    """One incarnation's log. All calls but close(), commit() and roll() never switch."""

    @property
    def size_bytes(self) -> int:
        """The size of all that recovery would read."""

    takes_followers: bool
    """Whether commit() knows what `follows` means."""

    @property
    def broken(self) -> str:
        """The reason why nothing is committed any more until this server is restarted, for people; "": all is well."""

    @switches
    def commit(
        self,
        tablet_id: int,
        last_sequence: int,
        records: bytes,
        apply: Callable[[], None],
        exempt: bool = False,
        count: int = 1,
        refused: Callable[[], None] = nobody,
        follows: bool = False,
        checksum: int | None = None,
    ) -> None:
        """Blocks until `records` (`count` encoded records of one tablet, ending with `last_sequence`) are durable as
        configured, then calls `apply`, which must not switch; callbacks run in the order of the calls.

        OutOfSpace, Unavailable: refused; not applied, and not brought back by recovery, except when the process dies
        before it could write on. StorageFailed: the log has broken, and this server must be restarted. OutcomeUnknown:
        it broke while it wrote this, on a local disk; a cluster's says StorageFailed then as well, and others recover
        it. LockLost: the log was fenced, another server recovers it: this process must stop.
        `exempt`: METADATA's commits are never refused for the length of the queue; others' flushes need them.
        `refused`: called once instead of `apply`, before any of these errors is raised. It must not switch. A commit
        whose task was killed goes on without it: then this is the only way to learn that it was refused.
        `follows`: made of what an earlier commit brings that is still under way. If any earlier one is refused, this
        one is refused in the same stretch.
        `checksum`: the CRC32 of `records`, where they are so many that the caller computed it with pauses.
        """

    def stop_taking(self, error: HbtableError) -> None:
        """Nothing is committed any more, as if this error had broken the log: this server must be restarted, and its
        log recovered."""

    def needed(self, tablet_id: int, first_needed_sequence: int) -> None:
        """This tablet's recovery needs only records from here on. Only after the METADATA write that names the covering
        SSTables was acknowledged (bug class 2)."""

    def forget(self, tablet_id: int) -> None:
        """This tablet needs nothing of this log any more. As needed()."""

    def highest_needed(self, tablet_id: int) -> int:
        """The tablet's highest acknowledged sequence in here that needed() and forget() have not let go of; 0: none."""

    def tablets_of_oldest_segment(self) -> list[int]:
        """The tablets whose flush would let the oldest part of the log go."""

    @switches
    def roll(self) -> None:
        """Begins a new file of the log. The one before it can be deleted as soon as no tablet needs it. Unavailable:
        not now."""

    @switches
    def close(self) -> None:
        """Writes what waits and ends the log in order. Idempotent."""
