"""Opening and writing a tablet's SSTables.

Order of a new file, each step for the crash between it and the next (paper, 5.4; bug classes 2 and 17):
    named in `files_in_flight`     the collector must not take it for garbage
    written and synced             a record must never name bytes that a crash can take away
    opened again and checked       length and footer checksum as METADATA will have them, before the inputs are let go
    named in the record            the caller's compare-and-set
    taken out of `files_in_flight`
A file that was refused half-way is removed when the record was never asked to name it; otherwise only after an answer
that leaves no doubt, because it may be named all the same (bug class 5).
"""

import logging
from collections.abc import Callable, Iterable
from itertools import chain
from typing import final

from hbtable.encoding.cell_key import Pair
from hbtable.errors import HbtableError, OutOfSpace, StaleLocation, Unavailable
from hbtable.fs.interface import FileSystem
from hbtable.model.tablet import SSTableRef, TabletRecord
from hbtable.sstable.builder import SSTableBuilder, SSTableOptions
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.properties import SSTableIdentity
from hbtable.sstable.reader import SSTableReader
from hbtable.switches import switches
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.shared import SharedState
from hbtable.tablet.version import LoadedFile, SharedFile, key_range

logger = logging.getLogger(__name__)


@switches
def open_sstable(fs: FileSystem, cache: BlockCache, ref: SSTableRef, in_memory: bool) -> LoadedFile:
    """Checks the length and the footer's checksum against METADATA's. May switch. Corruption, FileNotFound."""
    file = SharedFile(fs.open(ref.path))
    reader = SSTableReader.open(file.read_at, ref.path, ref.length_bytes, cache, ref.footer_checksum, in_memory)
    return LoadedFile(ref, reader)


@switches
def owns_files(fs: FileSystem, record: TabletRecord) -> bool:
    """Whether each SSTable that the record names lies inside its range: read from the files themselves. False for those
    that a split's other child may name as well. Corruption, FileNotFound."""
    keys = key_range(record.range)
    cache = BlockCache(0)
    return all(open_sstable(fs, cache, ref, False).inside(keys) for _, refs in record.files for ref in refs)


@final
class SSTableOutput:
    """Writes SSTables of one tablet."""

    __slots__ = ("_cache", "_fs", "_in_doubt", "_output_bytes", "_shared")

    def __init__(self, fs: FileSystem, cache: BlockCache, shared: SharedState, output_bytes: int) -> None:
        self._fs = fs
        self._cache = cache
        self._shared = shared
        self._output_bytes = output_bytes
        self._in_doubt: list[str] = []
        """Files of which the record may yet come to know: see refused()."""

    @switches
    def write(
        self,
        pairs: Iterable[Pair],
        options: SSTableOptions,
        identity: SSTableIdentity,
        in_memory: bool,
        pacer: Pacer,
        masked: Callable[[], int] = lambda: 0,
    ) -> LoadedFile | None:
        """Durable, reopened, and still in flight on return: call settled(), unasked() or refused() next. None, and no
        file, when there are no pairs. `masked` is asked after the last pair: how many cells were left out because
        markers among the pairs mask them. OutOfSpace, StorageFailed, Corruption, what the pacer raises."""
        source = iter(pairs)
        first = next(source, None)
        if first is None:
            return None
        path = self._shared.new_path(identity.table_id)
        self._shared.files_in_flight.add(path)
        try:
            ref = self._write(path, SSTableBuilder(options, identity), chain((first,), source), pacer, masked)
            return open_sstable(self._fs, self._cache, ref, in_memory)
        except BaseException:
            self._drop(path)
            raise

    @switches
    def settled(self, file: LoadedFile | None) -> None:
        """The record names the file. What was in doubt before is not in it, and never will be."""
        if file is not None:
            self._shared.files_in_flight.discard(file.ref.path)
        while self._in_doubt:
            self._drop(self._in_doubt.pop())

    @switches
    def unasked(self, file: LoadedFile | None) -> None:
        """The record was never asked to name the file."""
        if file is not None:
            self._drop(file.ref.path)

    @switches
    def refused(self, file: LoadedFile | None, error: BaseException) -> None:
        """The record was asked to name it and was not changed, as far as `error` tells."""
        if file is None:
            return
        if isinstance(error, OutOfSpace):
            # METADATA's log refused the change, but its bytes may be there, and if its server dies before it writes on
            # they count (commitlog.interface). The next change that is made comes after them in any case.
            self._in_doubt.append(file.ref.path)
        elif isinstance(error, Unavailable):
            self._drop(file.ref.path)
        elif isinstance(error, StaleLocation):
            # Another owner's record may name the file: of a change without an answer the tablet hears when it asks
            # again, and the next owner may have taken it over by then. METADATA tells, so the collector decides.
            self._shared.files_in_flight.discard(file.ref.path)
        # Any other error, StorageFailed of METADATA's log say, leaves open whether the record names the file once
        # that log is replayed: it stays in flight until this process ends.

    @switches
    def _write(
        self, path: str, builder: SSTableBuilder, pairs: Iterable[Pair], pacer: Pacer, masked: Callable[[], int]
    ) -> SSTableRef:
        file = self._fs.create(path)
        try:
            add = builder.add
            for key, value in pairs:
                if add(key, value):  # a block is complete: one of large cells takes its time
                    if builder.waiting_bytes >= self._output_bytes:
                        file.append(builder.take())
                    pacer.pause()
            builder.masked = masked()
            file.append(builder.finish(pacer.pause))
            # Before anything may name it: METADATA must not point at bytes that a crash takes away.
            file.sync()
        finally:
            file.close()
        properties = builder.properties
        assert properties is not None
        return SSTableRef(
            path,
            builder.length_bytes,
            builder.footer_checksum,
            properties.first_sequence,
            properties.last_sequence,
            properties.cells,
        )

    @switches
    def _drop(self, path: str) -> None:
        self._remove(path)
        self._shared.files_in_flight.discard(path)

    @switches
    def _remove(self, path: str) -> None:
        try:
            self._fs.delete(path)
        except HbtableError as error:
            logger.info("the unfinished SSTable %s is left to the collector: %s", path, error)
