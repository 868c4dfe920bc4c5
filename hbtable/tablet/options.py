"""Options of a tablet, apart from its table's schema."""

from dataclasses import dataclass

from hbtable.errors import InvalidConfiguration
from hbtable.runtime.slices import SLICE_SECONDS


@dataclass(frozen=True)
class TabletOptions:
    """Sizes and waiting times of every tablet of a server."""

    memtable_bytes: int = 64 << 20
    """A memtable of this size is to be flushed. Larger: fewer SSTables, more memory, longer recovery."""
    max_cell_bytes: int = 10 << 20
    """Largest cell, key and value together. Larger: one cell may fill a whole message."""
    max_write_bytes: int = 1 << 30
    """The most that one call may write to a tablet, over Thrift or by the library; a cell counts 128 bytes more than
    its row, qualifier and value. Larger: one call may take three times as much memory."""
    merge_files: int = 4
    """SSTables of similar size that are worth a merging compaction. Larger: less rewriting, slower reads."""
    max_files: int = 12
    """SSTables of a locality group above which any merge is due. Larger: less rewriting, slower reads."""
    stall_files: int = 30
    """SSTables of a locality group at which writers wait for a compaction. Larger: reads may become slow."""
    merge_bytes: int = 2 << 30
    """A merge of SSTables of similar size reads at most so many bytes. Larger: fewer files, longer compactions."""
    major_compaction_seconds: float = 604_800.0
    """The longest time, about, that deleted, overwritten and expired cells stay on disk: each locality group has a
    major compaction after so long since its oldest change, give or take a half. A table's own
    hbase.hregion.majorcompaction (milliseconds) counts first. 0: never by itself. Longer: less rewriting."""
    write_wait_seconds: float = 10.0
    """The time for which a writer waits for memory, for fewer files or for a split before it is told Unavailable."""
    slice_seconds: float = SLICE_SECONDS
    """Long work lets other tasks run after this time, and after 0.3 ms while several clients ask. Longer: slightly
    faster scans and compactions, and others wait for longer."""
    output_bytes: int = 1 << 20
    """SSTables are written in pieces of about this size. Larger: fewer calls, more memory."""
    worker_bytes: int = 4 << 20
    """A flush or compaction of more bytes is computed in a worker process, which leaves this one to requests. Larger:
    fewer are handed over, and what this process does itself keeps requests waiting."""
    compaction_bytes_per_second: int = 128 << 20
    """The most that one compaction in a worker process reads and writes in a second, except while it has more than
    `max_files` inputs, when readers wait for it. Flushes have no limit: writers wait for those. 0: no limit. Larger:
    compactions end earlier, and the disk has less time for others."""
    record_retry_seconds: float = 0.2
    """Pause before a change of the tablet's record with an unknown outcome is tried again."""
    max_clock_skew_seconds: float = 300.0
    """A jump of the wall clock by more than this, ahead or back, is refused while the server runs: tablets go on with
    the time that was counted, and /readyz says so. Larger: a wrong clock may time cells so far ahead, which then expire
    so much later."""
    set_back_clocks: bool = False
    """A repair, for one start with a clock that is right: tablets whose time lies further ahead than the skew, because
    an earlier server's clock was wrong, are rewritten as they load. Times between now and the latest that a server gave
    are moved back by the same span; so are those that clients chose in between."""
    scan_seconds: float = 2.0
    """A page of a scan ends after this time even if it is empty. Longer: fewer calls, clients may time out."""
    request_seconds: float = 60.0
    """A read that was worked on for longer, without the time in which it waited, ends with an error; so does a page of
    a scan that cannot end before, because a single row takes so long. Longer: one client may keep a processor busy for
    so long with one call."""
    request_read_bytes: int = 64 << 30
    """As request_seconds, of blocks of SSTables that one read looks at, as they are in memory. Larger: one call may
    read so much."""
    request_cells: int = 200_000_000
    """As request_seconds, of cells that one read looks at, deleted ones included. Larger: one call may look at so
    many."""

    def __post_init__(self) -> None:
        if not 1 <= self.max_clock_skew_seconds <= 86400:
            raise InvalidConfiguration(
                f"max_clock_skew_seconds is {self.max_clock_skew_seconds}; it lies between 1 and 86400"
            )
