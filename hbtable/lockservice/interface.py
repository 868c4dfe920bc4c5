"""Promises of a lock service adapter (paper, section 4: Chubby).

Paths begin with "/" and have parts of [A-Za-z0-9._-]. A file has up to 1,000,000 bytes and a version that grows with
each write, starting at 1. A lock is a file bound to a session: it vanishes when the session ends, and never before the
session's own `valid()` has become False.

A session is in one of three states. *Valid*: its locks are certainly held. *Suspended*: the service cannot be reached
and the lease has run out; locks may or may not be held, so nothing may be acknowledged. It becomes valid again only
when the service confirms that the session never ended. *Over*: final.
Errors: FileNotFound, AlreadyExists, Conflict (another version), LockLost (the session is over), Unavailable (nothing
was changed), OutcomeUnknown (a change whose answer never came). A call on a service that is away ends all the same.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from hbtable.switches import switches


class VersionedFile(NamedTuple):
    """A small file and the version to name in the next compare-and-set."""

    data: bytes
    version: int


class Session(Protocol):
    """One process's presence. All calls may *switch*."""

    session_id: str

    def valid(self) -> bool:
        """May this process act on its locks now? Cheap, no I/O, never switches; checked before each acknowledgement and
        after each read was computed, on a clock that counts suspend. May turn True again while not over()."""

    def over(self) -> bool:
        """The session has ended: valid() stays False and the locks are lost. Cheap, never switches."""

    @switches
    def lock(self, path: str, data: bytes = b"") -> int:
        """Takes the lock, or Conflict when another session holds it. Returns an epoch: unique and greater than
        that of every earlier holder of this path."""

    @switches
    def unlock(self, path: str) -> None: ...

    @switches
    def holder(self, path: str) -> VersionedFile | None:
        """The data of whoever holds the lock, and for a version that one's epoch; None when it is free."""

    @switches
    def create(self, path: str, data: bytes) -> None:
        """A new file, durable on return. AlreadyExists."""

    @switches
    def read(self, path: str, latest: bool = False) -> VersionedFile:
        """FileNotFound. What somebody else wrote may be missing for a moment, of a service of several servers for
        seconds. `latest`: all that was confirmed before this call is there; it costs such a service a round more."""

    @switches
    def write(self, path: str, data: bytes, expected_version: int) -> int:
        """Compare-and-set: Conflict when the version is another one. The new version; durable on return."""

    @switches
    def delete(self, path: str, expected_version: int = -1) -> None:
        """FileNotFound, Conflict. -1: whatever the version."""

    @switches
    def list(self, folder: str) -> list[str]:
        """Names of files and locks right below `folder`, ascending; [] when there are none."""

    @switches
    def watch(self, folder: str, changed: Callable[[], None]) -> None:
        """Calls `changed` some time after anything below `folder` changed. A hint: re-read everything."""

    @switches
    def close(self) -> None:
        """Ends the session and so frees its locks."""


class LockService(Protocol):
    """Gives out sessions; everything else is done through one."""

    @switches
    def open_session(self, name: str) -> Session: ...
