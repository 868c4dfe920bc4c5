"""Ids of new tables and tablets, and the master's care for the counters they come from.

Whoever drops or restores a file of the lock service makes a counter begin again, and two tables with one id share their
METADATA rows. So what a scan of METADATA shows is kept in mind; the counters are raised above it before any tablet
server gets a user's tablet to split, and a table's id is looked for among the tablets and SSTables that there are.
"""

import logging
from collections.abc import Iterable
from typing import Final, final

from hbtable.errors import Corruption
from hbtable.fs.interface import FileSystem
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import INCARNATIONS
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.id_allocator import TABLE_IDS, TABLET_IDS, IdAllocator
from hbtable.metadata.numbers_in_use import NumbersInUse, in_file_names, in_metadata, in_records
from hbtable.model.table import TableRecord
from hbtable.model.tablet import FIRST_FREE_TABLET_ID, FIRST_USER_TABLE_ID, GoneTablet, TabletRecord
from hbtable.switches import switches
from hbtable.tablet.shared import table_folder

log = logging.getLogger(__name__)

_LARGEST_TABLE_ID: Final = 2**32


@final
class NewIds:
    """Gives out ids of tables and tablets. The caller is the master."""

    def __init__(self, session: Session, fs: FileSystem, catalog: Catalog) -> None:
        self._fs = fs
        self._catalog = catalog
        self._in_use: NumbersInUse | None = None
        self._tables = IdAllocator(
            session, TABLE_IDS, FIRST_USER_TABLE_ID, 1, _LARGEST_TABLE_ID, lambda: self._known().table
        )
        self._tablets = IdAllocator(session, TABLET_IDS, FIRST_FREE_TABLET_ID, in_use=lambda: self._known().tablet)
        starts = IdAllocator(session, INCARNATIONS, range_size=1)
        self._counters = {TABLE_IDS: self._tables, TABLET_IDS: self._tablets, INCARNATIONS: starts}

    @switches
    def table(self) -> int:
        """A table id of which there is neither a tablet nor an SSTable."""
        while True:
            number = self._tables.next()
            if not self._catalog.tablet_rows(number) and not self._fs.list_files(table_folder(number)):
                return number
            log.error("table id %d was given out again: there are tablets or SSTables of such a table", number)
            self._in_use = self._known().or_above(in_metadata(self._catalog)).or_above(in_file_names(self._fs))

    @switches
    def tablet(self) -> int:
        """*Switches.*"""
        return self._tablets.next()

    @switches
    def saw(self, tables: Iterable[TableRecord], tablets: Iterable[TabletRecord], gone: Iterable[GoneTablet]) -> None:
        """After a scan of METADATA: every counter is above what it showed on return. One that cannot be read is said in
        the log: it keeps tables from being made, and none from being served."""
        seen = in_records(tables, tablets, gone)
        self._in_use = in_use = seen if self._in_use is None else self._in_use.or_above(seen)
        for path, least in in_use.needed().items():
            try:
                self._counters[path].raise_to(least)
            except Corruption as error:
                log.error("no number can be taken: %s; hbtable repair puts the counter right", error)

    @switches
    def _known(self) -> NumbersInUse:
        if self._in_use is None:
            self._in_use = in_metadata(self._catalog)
        return self._in_use
