"""The rows of hbase:meta, made of METADATA's records as they are asked for. Not a snapshot: tablets split and move
between two rows."""

from collections.abc import Callable, Iterator
from typing import Final, final

from hbtable.hbase.backend import Address
from hbtable.hbase.cluster_backend import ClusterBackend
from hbtable.hbase.meta.layout import Server, order, place, table_cells, tablet_cells
from hbtable.hbase.regions import region_name
from hbtable.model.cell import Cell
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.switches import switches

MetaRow = tuple[bytes, list[Cell]]

_ROWS_AT_ONCE: Final = 1000
_HIDDEN: Final = (TableState.CREATING, TableState.DELETING)


@final
class MetaRows:
    """One look: which servers live is found out once."""

    def __init__(self, cluster: ClusterBackend, address: Address) -> None:
        self._operations = cluster.operations
        self._address = address
        self._servers = cluster.servers
        self._living: dict[str, Server] | None = None

    @switches
    def row(self, key: bytes) -> list[Cell]:
        """[]: there is no such row."""
        name, start = place(key)
        for table, millis in self._tables(name, 1):
            if table.schema.name != name:
                return []
            if start is None:
                return table_cells(table, millis) if key == name else []
            for tablet, changed in self._operations.tablets_from(table.table_id, start, 1):
                found, cells = self._tablet(table, tablet, changed)
                return cells if found == key else []
        return []

    @switches
    def ascending(self, first: bytes) -> Iterator[MetaRow]:
        """The rows from `first` on."""
        name, start = place(first)
        bound = order(first)
        for table, millis in self._tables(name, _ROWS_AT_ONCE):
            here = table.schema.name == name
            if order(table.schema.name) >= bound:
                yield table.schema.name, table_cells(table, millis)
            for found in self._tablets(table, (start or b"") if here else b""):
                if order(found[0]) >= bound:
                    yield found

    @switches
    def descending(self, last: bytes) -> Iterator[MetaRow]:
        """The rows from `last` on, or with b"" from the end. All tablets of a table are looked at together."""
        for table, millis in reversed(list(self._tables(b"", _ROWS_AT_ONCE))):
            if last and order(table.schema.name) > order(last):
                continue
            for found in reversed(list(self._tablets(table, b""))):
                if not last or order(found[0]) <= order(last):
                    yield found
            yield table.schema.name, table_cells(table, millis)

    @switches
    def _tables(self, name: bytes, page_rows: int) -> Iterator[tuple[TableRecord, int]]:
        for table, millis in self._operations.tables_from(name, page_rows):
            if table.state not in _HIDDEN:
                yield table, millis

    @switches
    def _tablets(self, table: TableRecord, start: bytes) -> Iterator[MetaRow]:
        for tablet, millis in self._operations.tablets_from(table.table_id, start, _ROWS_AT_ONCE):
            yield self._tablet(table, tablet, millis)

    @switches
    def _tablet(self, table: TableRecord, tablet: TabletRecord, millis: int) -> MetaRow:
        name = region_name(table.schema.name, tablet.range.start, tablet.created_millis)
        return name, tablet_cells(table, tablet, millis, self._server(tablet.owner))

    @switches
    def _server(self, incarnation: str) -> Server | None:
        """None unless it lives."""
        if self._living is None:
            self._living = {one.name: Server(*self._address(one.name), one.started_millis) for one in self._servers()}
        return self._living.get(incarnation)


NewLook = Callable[[], MetaRows]
