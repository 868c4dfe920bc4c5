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
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import (
    Corruption,
    HbtableError,
    InvalidRequest,
    OutOfSpace,
    StaleLocation,
    Unavailable,
)
from hbtable.fs.interface import LOCAL, AppendFile, FileSystem
from hbtable.model.tablet import SSTableRef, TabletRecord
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.large_blocks import Checksum
from hbtable.sstable.reader import SSTableReader
from hbtable.switches import switches
from hbtable.tablet.compactions.making import Made
from hbtable.tablet.records import RecordKeeper
from hbtable.tablet.shared import SharedState
from hbtable.tablet.version import LoadedFile, SharedFile, key_range

logger = logging.getLogger(__name__)

_UNCHANGED: Final = (Unavailable, Corruption, InvalidRequest)
"""Errors before METADATA's log has anything of the change; OutOfSpace alone comes later."""

Append = Callable[[bytes], object]


@switches
def open_sstable(
    fs: FileSystem, cache: BlockCache, ref: SSTableRef, in_memory: bool, checksum: Checksum | None = None
) -> LoadedFile:
    """Checks the length and the footer's checksum against METADATA's. `checksum`: of large values, as they are read.
    May switch. Corruption, FileNotFound."""
    file = SharedFile(fs.open(ref.path))
    of_large = checksum if fs.log_kind == LOCAL else None  # a large value apart is one trip more over the network
    reader = SSTableReader.open(
        file.read_at, ref.path, ref.length_bytes, cache, ref.footer_checksum, in_memory, of_large
    )
    return LoadedFile(ref, reader)


@switches
def shared_file(fs: FileSystem, record: TabletRecord) -> str:
    """The first SSTable that the record names and that does not lie inside its range, so that a split's other child may
    name it as well; "" when there is none. Read from the files themselves. Corruption, FileNotFound."""
    keys = key_range(record.range)
    cache = BlockCache(0)
    refs = (ref for _, refs in record.files for ref in refs)
    return next((ref.path for ref in refs if not open_sstable(fs, cache, ref, False).inside(keys)), "")


@final
class _NewFile:
    """A new SSTable, whose file is made with its first byte."""

    __slots__ = ("_file", "_fs", "_path", "begun")

    def __init__(self, fs: FileSystem, path: str) -> None:
        self._fs = fs
        self._path = path
        self._file: AppendFile | None = None
        self.begun = False
        """It may be there, whole or not."""

    @switches
    def append(self, data: bytes) -> None:
        if self._file is None:
            self.begun = True
            self._file = self._fs.create(self._path)
        self._file.append(data)

    @switches
    def sync(self) -> None:
        if self._file is not None:
            self._file.sync()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


@final
class SSTableOutput:
    """Writes SSTables of one tablet."""

    __slots__ = ("_cache", "_fs", "_in_doubt", "_keeper", "_shared")

    def __init__(self, fs: FileSystem, cache: BlockCache, shared: SharedState, keeper: RecordKeeper) -> None:
        self._fs = fs
        self._cache = cache
        self._shared = shared
        self._keeper = keeper
        self._in_doubt: list[tuple[str, int]] = []
        """Files of which the record may yet come to know (see refused()), and how many changes of it were acknowledged
        before: one more, and it names them no more than it does then."""

    @switches
    def write(self, table_id: int, in_memory: bool, make: Callable[[Append], Made | None]) -> LoadedFile | None:
        """Durable, reopened, and still in flight on return: call settled(), unasked() or refused() next. `make` hands
        the content over, and says what it was; None, and no file, when there is none. OutOfSpace, StorageFailed,
        Corruption, what `make` raises."""
        path = self._shared.new_path(table_id)
        self._shared.files_in_flight.add(path)
        file = _NewFile(self._fs, path)
        try:
            try:
                made = make(file.append)
                # Before anything may name it: METADATA must not point at bytes that a crash takes away.
                file.sync()
            finally:
                file.close()
            if made is None:
                self._shared.files_in_flight.discard(path)
                return None
            return open_sstable(self._fs, self._cache, SSTableRef(path, *made), in_memory, self._shared.checksum)
        except BaseException:
            if file.begun:
                self._drop(path)
            else:
                self._shared.files_in_flight.discard(path)
            raise

    @switches
    def settled(self, *files: LoadedFile | None) -> None:
        """The record names the files. What was in doubt before it was changed is not in it, and never will be; what
        came to be in doubt since then stays so."""
        for file in files:
            if file is not None:
                self._shared.files_in_flight.discard(file.ref.path)
        for path in self._needless():
            self._drop(path)

    @switches
    def begin(self) -> None:
        """To be called before a file is written that the record is to name. While others are in doubt it asks whether
        METADATA can name any: else each try in vain would leave one more behind. Errors as of RecordKeeper.change()."""
        if self._in_doubt:
            self._keeper.confirm_record()
            self.settled()

    def close(self) -> None:
        """Nothing is written any more. What is not in doubt by now is the collector's: METADATA tells. Does not
        switch."""
        paths = [path for path, _ in self._in_doubt] if self._keeper.lost else self._needless()
        self._shared.files_in_flight.difference_update(paths)

    def _needless(self) -> list[str]:
        """Takes out what a change that was acknowledged later has settled."""
        acknowledged = self._keeper.acknowledged
        needless = [path for path, before in self._in_doubt if before < acknowledged]
        self._in_doubt = [(path, before) for path, before in self._in_doubt if before >= acknowledged]
        return needless

    @switches
    def unasked(self, *files: LoadedFile | None) -> None:
        """The record was never asked to name the files."""
        for file in files:
            if file is not None:
                self._drop(file.ref.path)

    @switches
    def refused(self, error: BaseException, *files: LoadedFile | None) -> None:
        """The record was asked to name them and was not changed, as far as `error` tells. No switch since then."""
        paths = [file.ref.path for file in files if file is not None]
        if isinstance(error, StaleLocation):
            # Another owner's record may name the files: of a change without an answer the tablet hears when it asks
            # again, and the next owner may have taken it over by then. METADATA tells, so the collector decides.
            self._shared.files_in_flight.difference_update(paths)
        elif self._keeper.in_doubt or isinstance(error, OutOfSpace) or not isinstance(error, _UNCHANGED):
            # METADATA's log refused the change, but its bytes may be there, and if its server dies before it writes on
            # they count (commitlog.interface); so they may once a log that broke is replayed. The next change that is
            # made comes after them in any case.
            self._in_doubt += [(path, self._keeper.acknowledged) for path in paths]
        else:
            for path in paths:
                self._drop(path)

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
