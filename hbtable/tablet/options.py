"""What a tablet obeys, apart from its table's schema."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TabletOptions:
    """Sizes and patience of every tablet of a server."""

    memtable_bytes: int = 64 << 20
    """A memtable of this size is to be flushed. Larger: fewer SSTables, more memory, longer recovery."""
    max_cell_bytes: int = 10 << 20
    """Largest cell, key and value together. Larger: one cell may fill a whole message."""
    merge_files: int = 4
    """SSTables of similar size that are worth a merging compaction. Larger: less rewriting, slower reads."""
    max_files: int = 12
    """SSTables of a locality group above which any merge is due. Larger: less rewriting, slower reads."""
    stall_files: int = 30
    """SSTables of a locality group at which writers wait for a compaction. Larger: reads may become slow."""
    merge_bytes: int = 2 << 30
    """A merging compaction reads at most so many bytes. Larger: fewer files, longer compactions."""
    write_wait_seconds: float = 10.0
    """How long a writer waits for memory, for fewer files or for a split before it is told Unavailable."""
    slice_seconds: float = 0.004
    """Long work lets other tasks run after this time. Longer: slightly faster compactions, slower everything else."""
    output_bytes: int = 1 << 20
    """SSTables are written in pieces of about this size. Larger: fewer calls, more memory."""
    record_retry_seconds: float = 0.2
    """Pause before a change of the tablet's record with an unknown outcome is tried again."""
    scan_seconds: float = 2.0
    """A page of a scan ends after this time even if it is empty. Longer: fewer calls, clients may time out."""
