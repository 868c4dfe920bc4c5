"""Says which tables may be dropped and truncated: disabled ones, and those that nothing else helps any more.

without room    it was to be disabled, and the disk was full: its tablets cannot be flushed
torn            it was to be enabled, and there are rows that no tablet has: it never will be
"""

from collections.abc import Callable
from typing import final

from hbtable.errors import Corruption, DataDamaged, TableNotDisabled
from hbtable.master.tables.whole_tables import check_whole
from hbtable.model.names import shown
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.switches import switches


@final
class Removable:
    """Tells them. `settled` is that of TableOperations, whose caller holds the table."""

    def __init__(self, settled: Callable[[int], list[TabletRecord]]) -> None:
        self._settled = settled
        self._without_room: set[int] = set()
        """Ids of tables."""

    def found_no_room(self, record: TableRecord) -> None:
        """Its disabling waits for room that a drop or a truncate may be to make. Does not switch."""
        self._without_room.add(record.table_id)

    def goes_on(self, record: TableRecord) -> None:
        """It does not wait for room any more. Does not switch."""
        self._without_room.discard(record.table_id)

    @switches
    def check(self, record: TableRecord) -> None:
        """TableNotDisabled."""
        is_off = record.state is TableState.DISABLED
        has_no_room = record.state is TableState.DISABLING and record.table_id in self._without_room
        if not (is_off or has_no_room or (record.state is TableState.ENABLING and self._is_torn(record))):
            raise TableNotDisabled(shown(record.schema.name))

    @switches
    def _is_torn(self, record: TableRecord) -> bool:
        try:
            check_whole(lambda: self._settled(record.table_id))
        except DataDamaged:
            return False  # they may be there: METADATA cannot be read
        except Corruption:
            return True
        return False
