"""A checked write: pairs for the memtables, records for the log."""

from collections.abc import Sequence
from typing import final

from hbtable.encoding.cell_key import Pair
from hbtable.encoding.pairs_checksum import checksum_of
from hbtable.memtable.memtable import Memtable
from hbtable.tablet.layout import LocalityGroupLayout


@final
class CheckedWrite:
    """A checked write, ready for the log and the memtables."""

    __slots__ = (
        "by_stack", "checksums", "last_sequence", "layout", "logged", "prepared", "records", "records_checksum", "rows",
        "time",
    )  # fmt: skip

    def __init__(
        self,
        layout: LocalityGroupLayout,
        rows: frozenset[bytes],
        by_stack: list[list[Pair]],
        records: list[bytes],
        logged: int,
        last: int,
        time: int,
        checksums: list[int] | None = None,
        prepared: Sequence[Sequence[Memtable]] = (),
        records_checksum: int | None = None,
    ) -> None:
        self.layout = layout
        self.rows = rows
        self.by_stack = by_stack
        """Pairs by place of their stack in `layout`."""
        self.checksums = checksums or [checksum_of(pairs) if pairs else 0 for pairs in by_stack]
        """Of the pairs of each: they wait for the log, and then in memory for a minor compaction."""
        self.prepared = prepared
        """By place, memtables that hold the pairs already, where those are very many."""
        self.records = records
        """In order, to be joined; none for mutations that skip the log."""
        self.records_checksum = records_checksum
        """Of all of them, where they are so many bytes that it takes long."""
        self.logged = logged
        """The number of mutations that have one."""
        self.last_sequence = last
        self.time = time
        """The newest time that the server assigned in it; 0: none."""
