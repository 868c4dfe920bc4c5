"""Options of the commit log."""

from dataclasses import dataclass

from hbtable.commitlog.segment import DURABILITIES
from hbtable.errors import InvalidConfiguration

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Each with its default, its unit, and what raising it does."""

    durability: str = "sync"
    """"sync": acknowledged = on the disk. "os": acknowledged = in the operating system's hands: survives a crash of
    this process; a crash of the machine may lose the last seconds."""

    segment_bytes: int = 64 * MIB
    """A segment ends after the group that reaches this. Raised: fewer files, more log kept for a tablet that is
    rarely flushed, and more memory and time for a sort of one segment at recovery."""

    group_bytes: int = 4 * MIB
    """Waiting commits go into one group up to this (a larger commit is a group of its own). Raised: fewer syncs under
    load, a longer wait for the first commit of a group."""

    queue_bytes: int = 256 * MIB
    """Commits are refused (Unavailable) while this much waits, except exempt ones. Raised: more memory while the
    disk stands still."""

    sync_every_bytes: int = 8 * MIB
    """Only "os": after this much a sync runs beside the commits, so that the end of a segment has little left to
    sync. Raised: fewer syncs, more to lose with the machine, a longer pause at the end of a segment."""

    def __post_init__(self) -> None:
        if self.durability not in DURABILITIES:
            raise InvalidConfiguration(f"durability is {self.durability!r}; it can be 'sync' or 'os'")
        if min(self.segment_bytes, self.group_bytes, self.queue_bytes, self.sync_every_bytes) < 1:
            raise InvalidConfiguration("sizes of the commit log are at least 1 byte")
        if self.group_bytes > 1024 * MIB:
            raise InvalidConfiguration("group_bytes is at most 1 GiB")
