"""Has the truncates of earlier masters end, before tablets that no table names are taken for left over.

A truncate writes the rows of the new tablets first, and then has the table's name row point at them (creation.py). A
master that dies may have sent that last change, and METADATA's server carry it out at any time later. The next master
does not know of it: it sees tablets of a table that nobody has heard of. Deleted too early, they would leave a table
without tablets.

The late change is a compare-and-set. So each name row that it could be about is changed first. Then the late one was
faster, and the name row tells, or it is refused. Which rows: of tables that removable.py lets be truncated. They are
disabled, or were to be and found no room for it, or wait to be enabled and have rows that no tablet has. Once for each:
what this master begins it knows of, and a table that comes to be one of these later has been changed by that. It is
done as an operation on the table, so that none of those which operators ask for is refused.

A truncate of this master for whose last change METADATA's log had no room is one more: the change comes back if
METADATA's server dies before its log writes on (commitlog/interface.py). So the name row of its table is changed again.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final, final

from hbtable.errors import Conflict, OutOfSpace
from hbtable.metadata.catalog import Catalog
from hbtable.model.table import TableRecord, TableState
from hbtable.switches import switches

_MAY_BE_TRUNCATED: Final = (TableState.DISABLED, TableState.DISABLING, TableState.ENABLING)


@final
class LateTruncates:
    """Excludes them. `operation` and `is_busy` are those of TableOperations."""

    def __init__(
        self,
        catalog: Catalog,
        operation: Callable[[bytes], AbstractContextManager[object]],
        is_busy: Callable[[bytes], bool],
    ) -> None:
        self._catalog = catalog
        self._operation = operation
        self._is_busy = is_busy
        self._excluded: set[int] = set()
        """By the table's id."""

    def may_come_back(self, table_id: int) -> None:
        """A truncate of the table was refused for want of room. Does not switch."""
        self._excluded.discard(table_id)

    @switches
    def exclude(self, tables: Iterable[TableRecord]) -> bool:
        """On return no truncate of an earlier master, and none that was refused, changes one of these tables any more;
        one that ended meanwhile is in the name rows. False where that could not be brought about now: a table is
        worked on, or the disk is full."""
        return all(self._is_excluded(table) for table in tables if table.state in _MAY_BE_TRUNCATED)

    @switches
    def _is_excluded(self, table: TableRecord) -> bool:
        if table.table_id in self._excluded:
            return True
        name = table.schema.name
        if self._is_busy(name):  # perhaps for as long as one of its servers hangs
            return False
        with self._operation(name):
            current = self._catalog.read_table(name)
            if current is not None and current.table_id == table.table_id and current.state in _MAY_BE_TRUNCATED:
                # The state stays; the version alone makes it another row.
                schema = replace(current.schema, version=current.schema.version + 1)
                try:
                    self._catalog.replace_table(current, replace(current, schema=schema))
                except (Conflict, OutOfSpace):
                    return False
        self._excluded.add(table.table_id)
        return True
