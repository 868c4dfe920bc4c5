"""Promises of a file system adapter.

Three kinds, which differ in how a commit log is written and fenced on them:
    local     an open file, appended and synced; the data folder's flock keeps other writers away
    hdfs      the same over Hadoop's own protocol; `seal` takes an open file from its writer
    webhdfs   files appear whole, by one request each: nothing is durable, nor visible, before sync() or put_new()

What the kinds leave out of the promises below:
    hdfs        what was appended is seen by nobody before close() or seal(); it outlives this process from sync() on
    webhdfs     create() leaves nothing behind: of several creators of a path the first to sync() has it, the others'
                sync fails; nothing can be appended after sync(); what was never synced is gone
    both        an open file that is deleted or replaced gives FileNotFound from then on, never other bytes

Paths are relative to the adapter's root: parts of [A-Za-z0-9._-] joined by "/", never starting with "/".
Errors: FileNotFound, AlreadyExists, OutOfSpace (no room: nothing promised about the attempted append),
StorageFailed (any other write or sync failure: the unsynced content is unknown), Unavailable (read failures worth a
retry). Foreign exceptions never escape.

Stalled (a remote call did not end in its time: the outcome is unknown) is a StorageFailed, too.

Crash promise: after a crash a file holds at least what was synced, then possibly any prefix of what was appended
after that, possibly torn. A create, rename or delete is durable when the call returns. `write_file` is all or nothing.

Concurrency promise: every call but close() may *switch*; create, sync, write_file, rename, delete, delete_folder and
list_files do. local.py adds that reads of up to 1 MiB and appends of up to 2 MiB never switch.
"""

from collections.abc import Callable, Collection
from typing import Final, NamedTuple, Protocol, runtime_checkable

from hbtable.switches import switches

LOCAL: Final = "local"
HDFS: Final = "hdfs"
WEBHDFS: Final = "webhdfs"


class FileStatus(NamedTuple):
    """One file, as a listing shows it."""

    path: str
    length_bytes: int
    modified_millis: int


class AppendFile(Protocol):
    """One open file, one writer."""

    path: str

    @switches
    def append(self, data: bytes) -> None:
        """Hands `data` to the operating system, after everything appended before. Not durable on return, but it
        survives the death of this process (on HDFS only after sync()). May switch."""

    @switches
    def sync(self) -> None:
        """Everything appended before the call is durable on return. *Switches* (the wait is off the hub).
        StorageFailed: never call again on this file; what was not synced before must count as lost. So it does when
        the task that waited was killed and heard of no failure: a later call fails, too."""

    def close(self) -> None:
        """Does not sync. Idempotent."""


class RandomReadFile(Protocol):
    """An open immutable file. Any number of readers."""

    path: str
    length_bytes: int

    @switches
    def read_at(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes; Corruption when the file is shorter. May switch."""

    def close(self) -> None: ...


class PutHints(NamedTuple):
    """Hints about storage nodes, for adapters that have some; others ignore them."""

    avoid: Collection[str] = ()
    """Nodes that are better left out."""

    on_node: Callable[[str], None] | None = None
    """Is told the node that was chosen, before the data are sent. Must not switch."""


NO_HINTS: Final = PutHints()


class FileSystem(Protocol):
    """A tree of append-only files."""

    log_kind: str
    """LOCAL, HDFS or WEBHDFS."""

    @switches
    def create(self, path: str) -> AppendFile:
        """A new empty file; parent folders are made. AlreadyExists when it is there. Durable on return."""

    @switches
    def open(self, path: str) -> RandomReadFile:
        """FileNotFound when absent. Stays readable after a delete on this adapter's host only as far as the file
        system allows: callers treat FileNotFound later as 'the file was replaced'."""

    @switches
    def read_file(self, path: str) -> bytes:
        """The whole content. FileNotFound when absent."""

    @switches
    def write_file(self, path: str, data: bytes) -> None:
        """Creates or replaces atomically; durable on return."""

    @switches
    def put_new(self, path: str, data: bytes, hints: PutHints = NO_HINTS) -> None:
        """A new file with exactly this content, complete and durable on return; parent folders are made. Several may be
        under way at once. AlreadyExists. Any other error: the file may be absent, cut short or complete, now or
        later, so its name must not be used again."""

    @switches
    def seal(self, path: str) -> int:
        """Takes the file from whoever may still be writing it: after the return no append or sync of theirs
        succeeds and the length, which is returned, is final; nothing that a sync() covered is missing. Any number may
        seal the same file. FileNotFound; Unavailable: try again."""

    @switches
    def exists(self, path: str) -> bool: ...

    @switches
    def status(self, path: str) -> FileStatus:
        """FileNotFound when absent."""

    @switches
    def list_files(self, folder: str) -> list[FileStatus]:
        """Every file below `folder`, at any depth, ascending by path; [] when there is no such folder. An error while
        listing raises: never a partial list. What write_file works on below unfinished/ is listed by that name
        only."""

    @switches
    def rename(self, source: str, target: str) -> None:
        """FileNotFound without a source, AlreadyExists with a target. Durable on return."""

    @switches
    def delete(self, path: str) -> None:
        """Removes one file. FileNotFound when absent. Durable on return."""

    @switches
    def delete_folder(self, folder: str) -> None:
        """Removes a folder and all below it; fine when absent."""


class Copies(NamedTuple):
    """The storage nodes that hold the end of a file."""

    found: int
    """Known to hold it, and heard of lately."""
    wanted: int
    """As many are asked for."""


@runtime_checkable
class CountsCopies(Protocol):
    """A cluster's file system that can say how safe a file is."""

    @switches
    def copies(self, path: str) -> Copies | None:
        """The number of copies of a file's last block, also while it is being written, and the number that there should
        be. None: not known now. FileNotFound when absent."""


@runtime_checkable
class ClosableFileSystem(Protocol):
    """A cluster's file system, which keeps connections open between calls."""

    def close(self) -> None:
        """To be called after the last call."""


class DiskSpace(Protocol):
    """The space of a file system that is one machine's disk. A cluster's has none: others look after it."""

    when_full: Callable[[], None]
    """Called, without a switch, whenever a write has found no room."""

    def free_bytes(self) -> int:
        """The bytes that this process may still write. Does not switch."""

    def total_bytes(self) -> int:
        """The size of the whole disk. Does not switch."""

    @switches
    def reserve(self, path: str, length_bytes: int) -> None:
        """The file has this length and its space is taken on return. OutOfSpace: it is as long as before."""

    @switches
    def shrink(self, path: str, length_bytes: int) -> None:
        """The file, cut to this length, takes no more space than that on return. Needs no room itself."""
