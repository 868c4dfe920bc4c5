"""Damaged files of a loaded tablet. Sound rows are served; a read of damaged ones fails at once (DataDamaged).

A file that cannot be opened stays in the version as an UnreadableFile: every read that would have to look into it
fails. Of a file with a damaged block only reads of that block's rows do. Writes and minor compactions need neither. The
other compactions leave both out. Writers never wait for a compaction that cannot be made because of damage.

What was found is kept in memory only: a block is found again by the next read, a file when the tablet is loaded again.
"""

import logging
from collections.abc import Callable, Container, Iterator, Sequence
from typing import NamedTuple, NoReturn, final

from hbtable.encoding.cell_key import Pair
from hbtable.errors import Corruption, DataDamaged, FileNotFound
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import SSTableRef, TabletRecord
from hbtable.sstable.properties import Properties, SSTableIdentity
from hbtable.sstable.reader import DamagedBlock, Meter

logger = logging.getLogger(__name__)

WAY_OUT = "restore the file from a backup and restart, or stop the server and run `hbtable repair`"


class Damage(NamedTuple):
    """One damaged place of one file. `rows`: of the tablet, which cannot be read whole."""

    path: str
    offset: int
    reason: str
    rows: RowRange

    def error(self, tablet_id: int, table: str) -> DataDamaged:
        start, stop = self.rows
        rows = f"rows from {start!r} to {stop!r}" if start or stop else "all its rows"
        return DataDamaged(
            self.path,
            self.offset,
            f"{self.reason}; of tablet {tablet_id} of table {table} {rows} cannot be read: {WAY_OUT}",
            start,
            stop,
        )


@final
class UnreadableFile:
    """Stands for the SSTableReader of a file that could not be opened."""

    def __init__(self, ref: SSTableRef, record: TabletRecord, group: str, error: Corruption | FileNotFound) -> None:
        self.path = ref.path
        self._offset = error.offset if isinstance(error, Corruption) else 0
        self._reason = error.reason if isinstance(error, Corruption) else "the file is missing"
        identity = SSTableIdentity(record.table_id, record.tablet_id, group, record.generation)
        # A marker may be in it: nothing may pass it over for its columns or times.
        self.properties = Properties(
            identity, ref.cells, 1, 0, 0, 0, b"", b"", 0, 0, ref.first_sequence, ref.last_sequence
        )

    def may_hold_row(self, row_prefix: bytes) -> bool:
        return True

    def may_hold_column(self, column_prefix: bytes) -> bool:
        return True

    def scan(self, start: bytes, stop: bytes, cache_blocks: bool = True, meter: Meter | None = None) -> Iterator[Pair]:
        self._fail()

    def reverse_hint(self, stop: bytes) -> bytes | None:
        self._fail()

    def middle_key(self) -> bytes | None:
        return None

    def bytes_between(self, start: bytes, stop: bytes) -> int:
        return 0

    def error(self) -> Corruption:
        return Corruption(self.path, self._offset, self._reason)

    def _fail(self) -> NoReturn:
        raise self.error()


@final
class DamagedFiles:
    """The damaged files of one tablet, by path: the first damage that was found in each. `changed` is
    called, and must not switch, when there is more of it."""

    __slots__ = ("_changed", "_found", "_range", "_table", "_tablet_id")

    def __init__(self, tablet_id: int, table: str, rows: RowRange, changed: Callable[[], None]) -> None:
        self._tablet_id = tablet_id
        self._table = table
        self._range = rows
        self._changed = changed
        self._found: dict[str, Damage] = {}

    def told(self, error: Corruption) -> DataDamaged:
        """The error for the caller of a read that met `error`. Logged, and the file marked, the first time."""
        if isinstance(error, DataDamaged):
            return error
        rows = self._range
        if isinstance(error, DamagedBlock):
            rows = error.rows().intersect(rows)
        damage = Damage(error.path, error.offset, error.reason, rows)
        told = damage.error(self._tablet_id, self._table)
        if error.path not in self._found:
            self._found[error.path] = damage
            logger.error("%s", told)
            self._changed()
        return told

    def tell_nobody(self) -> None:
        """More of it changes nothing any more. What would be called holds its tablet's state, and that holds this: such
        a ring stays in memory, memtables included, until Python looks for rings."""
        self._changed = _nothing

    def told_of(self, error: Corruption, paths: Container[str]) -> Corruption:
        """As told(), when it is about one of these files."""
        return self.told(error) if error.path in paths else error

    def check_none(self) -> None:
        """DataDamaged when anything was found."""
        for damage in self._found.values():
            raise damage.error(self._tablet_id, self._table)

    def check(self, path: str, undone: str) -> None:
        """DataDamaged when anything was found in this file. `undone`: what was not done, and why that needs it."""
        damage = self._found.get(path)
        if damage is not None:
            told = damage.error(self._tablet_id, self._table)
            raise DataDamaged(path, told.offset, f"{undone}: {told.reason}", told.first_row, told.stop_row)

    def keep_only(self, paths: Sequence[str]) -> None:
        """The others are not the tablet's any more."""
        if self._found:
            self._found = {path: damage for path, damage in self._found.items() if path in paths}

    def inherit(self, parent: "DamagedFiles") -> None:
        """A split's child shares its parent's files."""
        for path, damage in parent._found.items():
            self._found[path] = damage._replace(rows=damage.rows.intersect(self._range))

    def messages(self) -> dict[str, str]:
        """Messages about the damage, by path."""
        return {path: str(damage.error(self._tablet_id, self._table)) for path, damage in self._found.items()}

    def __contains__(self, path: object) -> bool:
        return path in self._found

    def __len__(self) -> int:
        return len(self._found)


def _nothing() -> None:
    return
