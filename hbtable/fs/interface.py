"""Promises of a file system adapter.

Paths are relative to the adapter's root: parts of [A-Za-z0-9._-] joined by "/", never starting with "/".
Errors: FileNotFound, AlreadyExists, OutOfSpace (no room: nothing promised about the attempted append),
StorageFailed (any other write or sync failure: the unsynced content is unknown), Unavailable (read failures worth a
retry). Foreign exceptions never escape.

Crash promise: after a crash a file holds at least what was synced, then possibly any prefix of what was appended
after that, possibly torn. A create, rename or delete is durable when the call returns. `write_file` is all or nothing.

Concurrency promise: every call but close() may *switch*; create, sync, write_file, rename, delete, delete_folder and
list_files do. local.py adds that appends and reads of up to 1 MiB never switch.
"""

from typing import NamedTuple, Protocol


class FileStatus(NamedTuple):
    """One file, as a listing shows it."""

    path: str
    length_bytes: int
    modified_millis: int


class AppendFile(Protocol):
    """One open file, one writer."""

    path: str

    def append(self, data: bytes) -> None:
        """Hands `data` to the operating system, after everything appended before. Not durable on return, but it
        survives the death of this process. May switch."""

    def sync(self) -> None:
        """Everything appended before the call is durable on return. *Switches* (the wait is off the hub).
        StorageFailed: never call again on this file; what was not synced before must count as lost."""

    def close(self) -> None:
        """Does not sync. Idempotent."""


class RandomReadFile(Protocol):
    """An open immutable file. Any number of readers."""

    path: str
    length_bytes: int

    def read_at(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes; Corruption when the file is shorter. May switch."""

    def close(self) -> None: ...


class FileSystem(Protocol):
    """A tree of append-only files."""

    def create(self, path: str) -> AppendFile:
        """A new empty file; parent folders are made. AlreadyExists when it is there. Durable on return."""

    def open(self, path: str) -> RandomReadFile:
        """FileNotFound when absent. Stays readable after a delete on this adapter's host only as far as the file
        system allows: callers treat FileNotFound later as 'the file was replaced'."""

    def read_file(self, path: str) -> bytes:
        """The whole content. FileNotFound when absent."""

    def write_file(self, path: str, data: bytes) -> None:
        """Creates or replaces atomically; durable on return. *Switches.*"""

    def exists(self, path: str) -> bool: ...

    def status(self, path: str) -> FileStatus:
        """FileNotFound when absent."""

    def list_files(self, folder: str) -> list[FileStatus]:
        """Every file below `folder`, at any depth, ascending by path; [] when there is no such folder. An error while
        listing raises: never a partial list."""

    def rename(self, source: str, target: str) -> None:
        """FileNotFound without a source, AlreadyExists with a target. Durable on return."""

    def delete(self, path: str) -> None:
        """Removes one file. FileNotFound when absent. Durable on return."""

    def delete_folder(self, folder: str) -> None:
        """Removes a folder and all below it; fine when absent."""
