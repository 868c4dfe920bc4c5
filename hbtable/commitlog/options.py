"""Options of the commit log."""

from dataclasses import dataclass

from hbtable.commitlog.segments.segment import DURABILITIES
from hbtable.errors import InvalidConfiguration

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class LogOptions:
    """The options of a commit log, each with its default, its unit, and what raising it does."""

    durability: str = "sync"
    """"sync": acknowledged = on the disk. "os": acknowledged = in the operating system's hands: survives a crash of
    this process; a crash of the machine may lose the last seconds."""

    segment_bytes: int = 64 * MIB
    """A segment ends after the group that reaches this; with "os" not while much of it is still being synced, and at
    twice the length at the latest. Raised: fewer files, more log kept for a tablet that is rarely flushed, and more
    memory and time for a sort of one segment at recovery."""

    group_bytes: int = 4 * MIB
    """Waiting commits go into one group up to this (a larger commit is a group of its own). Raised: fewer syncs under
    load, a longer wait for the first commit of a group."""

    queue_bytes: int = 256 * MIB
    """Commits are refused (Unavailable) while this much waits, except exempt ones. Raised: more memory while the
    disk stands still."""

    sync_every_bytes: int = 8 * MIB
    """Only "os": after this much a sync runs beside the commits, so that the end of a segment has little left to
    sync. Raised: fewer syncs, more to lose with the machine, a longer pause at the end of a segment."""

    mark_seconds: float = 2.0
    """Only local disks: how often it is noted beside the log up to where it was synced, so that it shows when the end
    went missing. 0: never. Raised: fewer small writes, more that can go missing unnoticed."""

    cluster_mark_seconds: float = 10.0
    """The same for the log of a cluster's tablet server, where it costs the NameNode some requests and a small file.
    0: never. Raised: fewer of these, more that can go missing unnoticed."""

    hedge_seconds: float = 0.3
    """Only clusters: a group that was not confirmed for so long is sent a second way, too. Raised: fewer files beside
    the log on a busy file system, a longer stall when a storage node dies."""

    rest_check_seconds: float = 2.0
    """Only hdfs://: a log to which nothing was written for so long is synced all the same, so that a DataNode that died
    is noticed and a copy that went with it is made again. 0: never. Raised: fewer requests to the NameNode from servers
    without writes, acknowledged writes on one copy for longer."""

    copies_check_seconds: float = 5.0
    """Only clusters: how often the NameNode is asked how many copies the newest part of the log has
    (`hbtable_log_copies`). Over hdfs:// a log with too few goes on in a new segment. 0: never. Raised: fewer requests
    to the NameNode, acknowledged writes on too few copies for longer."""

    tries_under_way: int = 3
    """Only WebHDFS: ways at most by which a group is sent at a time. Raised: a better chance to find one past a
    frozen storage node, more calls that hang there."""

    give_up_seconds: float = 100.0
    """Only clusters: after so long without any confirmation this tablet server stops. Raised: sits out longer failures
    of the file system, during which its tablets take no writes."""

    groups_under_way: int = 4
    """Only WebHDFS: groups written at a time. Raised: more commits per second from many clients, up to what the
    NameNode takes; smaller groups."""

    gather_seconds: float = 0.05
    """Only WebHDFS: a group that is not full is begun beside others only so long after the last one; with none under
    way it is begun at once. Raised: fewer, larger groups, so more commits per second where requests are dear, and a
    longer wait when one group is slow."""

    def __post_init__(self) -> None:
        if self.durability not in DURABILITIES:
            raise InvalidConfiguration(f"durability is {self.durability!r}; it can be 'sync' or 'os'")
        if min(self.segment_bytes, self.group_bytes, self.queue_bytes, self.sync_every_bytes) < 1:
            raise InvalidConfiguration("sizes of the commit log are at least 1 byte")
        if min(self.mark_seconds, self.cluster_mark_seconds) < 0:
            raise InvalidConfiguration("mark_seconds and cluster_mark_seconds of the commit log are 0 or more")
        if min(self.rest_check_seconds, self.copies_check_seconds) < 0:
            raise InvalidConfiguration("rest_check_seconds and copies_check_seconds of the commit log are 0 or more")
        if self.tries_under_way < 1 or self.groups_under_way < 1:
            raise InvalidConfiguration("tries_under_way and groups_under_way of the commit log are at least 1")
        if not 0 < self.hedge_seconds <= self.give_up_seconds:
            raise InvalidConfiguration("hedge_seconds of the commit log is above 0 and at most give_up_seconds")
        if self.group_bytes > 1024 * MIB:
            raise InvalidConfiguration("group_bytes is at most 1 GiB")
