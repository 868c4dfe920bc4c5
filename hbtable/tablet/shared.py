"""State that all tablets of one server share: the memory budget of memtables, file names, and an event that wakes
maintenance.

Invariant: `memtable_bytes` is the sum of bytes_used over all active and frozen memtables of all loaded tablets; every
change happens in the same stretch without a switch as the change of the memtable.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, final

from hbtable.commitlog.recovery.recovered_edits import SortedRunIndexes
from hbtable.crc32 import crc32
from hbtable.metrics.registry import LONG_SECONDS_BUCKETS, Histogram, Registry
from hbtable.runtime.interface import Runtime
from hbtable.sstable.large_blocks import Checksum
from hbtable.tablet.wall_clock import SteadyWallClock

SSTABLE_FOLDER = "sstables"

COMPACTIONS_OFF: Final = "compactions are switched off on this server (compaction_switch true)"


def table_folder(table_id: int) -> str:
    """The folder of a table's SSTables; file garbage is looked for there."""
    return f"{SSTABLE_FOLDER}/{table_id:08x}"


def table_of_path(path: str) -> int:
    """The table id that an SSTable's path names. ValueError when it is no SSTable's path."""
    folder, table, _ = path.split("/")
    if folder != SSTABLE_FOLDER or not path.endswith(".sst"):
        raise ValueError(f"{path} is not the path of an SSTable")
    return int(table, 16)


def _compaction_seconds(registry: Registry) -> dict[str, Histogram]:
    return {
        kind: registry.histogram(
            "hbtable_compaction_seconds", "Time of one finished compaction.", LONG_SECONDS_BUCKETS, kind=kind
        )
        for kind in ("minor", "merging", "major")
    }


@final
class SharedState:
    """The state that all tablets of one server share."""

    __slots__ = (
        "_files",
        "admit_above_bytes",
        "attention",
        "checksum",
        "compacted_bytes",
        "compaction_seconds",
        "compactions_on",
        "files_in_flight",
        "flush_failure",
        "flushed_bytes",
        "flushes",
        "incarnation",
        "kept_bytes",
        "last_room_bytes",
        "latest_millis",
        "loading",
        "may_compact",
        "memory_freed",
        "memtable_bytes",
        "memtable_limit_bytes",
        "no_workers_until",
        "out_of_space",
        "registry",
        "replaced_bytes",
        "room_bytes",
        "sorted_indexes",
        "stalls",
        "wall",
        "worker_failures",
    )

    def __init__(
        self,
        runtime: Runtime,
        incarnation: str,
        registry: Registry,
        memtable_limit_bytes: int = 512 << 20,
        max_clock_skew_seconds: float = 300.0,
    ) -> None:
        """Above `memtable_limit_bytes` writers of user tablets wait. Larger: more memory, longer recovery."""
        self.wall = SteadyWallClock(runtime, max_clock_skew_seconds, registry)
        self.checksum: Checksum = partial(runtime.offload, "file-read", crc32)
        """Computes that of a large value in a thread, as the value is read."""
        self.incarnation = incarnation
        self.registry = registry
        self.loading = 0
        """Tablets that are being loaded: clients wait for them, and work that can wait does."""
        self.latest_millis = 0
        """The latest time that had been assigned in any of the tablets that were loaded here."""
        self.compactions_on = True
        """Merging and major ones; False: those under way are given up."""
        self.may_compact: Callable[[bytes], bool] = _always
        """Whether tablets of the table of this name may be compacted, but for flushes. Does not switch."""
        self.sorted_indexes = SortedRunIndexes()
        """Of dead servers' logs, of which this one recovers tablets."""
        self.memtable_bytes = 0
        self.memtable_limit_bytes = memtable_limit_bytes
        self.admit_above_bytes = memtable_limit_bytes
        """Writers look closer while memtables hold more: whether they have to wait, or are refused for want of room."""
        self.out_of_space = ""
        """"" or why puts are refused."""
        self.room_bytes: Callable[[], int] = _endless
        """Bytes that can be written while out of space."""
        self.last_room_bytes = 0
        """The part of these that is for deletes and METADATA."""
        self.kept_bytes: Callable[[], int] = _nothing
        """The part of these that is for the next start, while out of space."""
        self.memory_freed = runtime.event()
        """Set whenever a waiting writer should look again."""
        self.attention: Callable[[], None] = _nobody
        """Rung (without switching) when a tablet needs a flush or a compaction soon; maintenance may set it."""
        self.files_in_flight: set[str] = set()
        """SSTables being written, or written and not yet surely named in METADATA: no garbage (bug class 17)."""
        self._files = 0
        self.flush_failure = ""  # the reason, when the last minor compaction of any tablet failed
        self.flushes = registry.counter("hbtable_minor_compactions_total", "Memtables written to SSTables.")
        self.flushed_bytes = registry.counter("hbtable_minor_compacted_bytes_total", "SSTable bytes of flushes.")
        self.compacted_bytes = registry.counter("hbtable_compacted_bytes_total", "SSTable bytes of other compactions.")
        self.replaced_bytes = 0  # of files that compactions have replaced: what a collection of garbage finds
        self.compaction_seconds = _compaction_seconds(registry)
        self.no_workers_until = 0.0
        """clock_seconds(): after worker processes have failed, compactions are computed in this one for a while."""
        self.worker_failures = registry.counter(
            "hbtable_compaction_worker_failures_total",
            "Worker processes that died of a flush or compaction, or failed.",
        )
        self.stalls = registry.counter("hbtable_write_stalls_total", "Writes that waited for memory or compactions.")
        registry.gauge("hbtable_memtable_bytes", "Memory held by all memtables.", lambda: float(self.memtable_bytes))

    def new_path(self, table_id: int) -> str:
        """A path never used before: the incarnation is unique, and so is the number within it."""
        self._files += 1
        return f"{table_folder(table_id)}/{self.incarnation}-{self._files:06d}.sst"

    def set_out_of_space(self, message: str) -> None:
        """Puts are refused with it; "": they are taken again. Does not switch."""
        self.out_of_space = message
        self.admit_above_bytes = -1 if message else self.memtable_limit_bytes
        self.attention()

    def has_room_for(self, size_bytes: int, of_metadata: bool = False) -> bool:
        """Whether there is room for a file that can wait. The last of the room is for deletes and METADATA, and before
        all for the next start."""
        if not self.out_of_space:
            return True
        return self.room_bytes() >= size_bytes + self.kept_bytes() + (0 if of_metadata else self.last_room_bytes)

    def no_compactions(self) -> str:
        """The reason why merging and major compactions are not begun until somebody acts; "" when they are."""
        return self.out_of_space if self.compactions_on else COMPACTIONS_OFF

    @property
    def large_limit_bytes(self) -> int:
        """Above it those wait that write very many cells or bytes at once. Maintenance flushes above it, too."""
        return self.memtable_limit_bytes // 2

    def change_memory(self, difference: int) -> None:
        self.memtable_bytes += difference
        if difference < 0:
            self.memory_freed.set()


def _nobody() -> None:
    """No maintenance task listens yet."""


def _always(_: bytes) -> bool:
    return True


def _nothing() -> int:
    """Nothing is kept for the next start."""
    return 0


def _endless() -> int:
    """Nobody counts the room."""
    return 1 << 60
