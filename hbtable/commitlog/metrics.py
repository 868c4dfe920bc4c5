"""Counters of a commit log, of either kind."""

from typing import final

from hbtable.metrics.registry import Registry


@final
class LogMetrics:
    """The counters of a commit log. Counted when a group is acknowledged; `sync_seconds` when a group, or a sync, is
    durable."""

    __slots__ = ("bytes", "groups", "records", "sync_seconds")

    def __init__(self, registry: Registry) -> None:
        self.records = registry.counter("hbtable_wal_records_total", "Log records written")
        self.bytes = registry.counter("hbtable_wal_bytes_total", "Bytes of log records written")
        self.groups = registry.counter("hbtable_wal_groups_total", "Groups written: records per group is the ratio")
        self.sync_seconds = registry.histogram("hbtable_wal_sync_seconds", "Time of one sync of the log")
