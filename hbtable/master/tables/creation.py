"""Makes tables, and the new tablets of a truncated one. In which order, and what a crash leaves: tables.py."""

from collections.abc import Callable
from dataclasses import replace
from typing import final

from hbtable.access.grants_file import begin_table, forget
from hbtable.access.scopes import of_table
from hbtable.errors import Corruption, DataDamaged, HbtableError, LimitExceeded, LockLost, OutcomeUnknown, OutOfSpace
from hbtable.lockservice.interface import Session
from hbtable.master.new_ids import NewIds
from hbtable.master.tables.family_identities import first_families
from hbtable.master.tables.namespaces import Namespaces
from hbtable.master.tables.tablet_rows import IdInUse, TabletRows
from hbtable.master.tables.whole_tables import check_whole
from hbtable.master.tablets.ownership import first_records
from hbtable.metadata.catalog import Catalog
from hbtable.model.names import shown
from hbtable.model.schema import TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.runtime.interface import Runtime
from hbtable.runtime.slices import in_slices
from hbtable.switches import switches


@final
class TableCreation:
    """The caller holds the table's operation lock. `unnamed`: ids of tables that are being filled before a name row
    says so. `enable` and `delete` finish what a name row has begun. `may_come_back` is that of LateTruncates."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        catalog: Catalog,
        rows: TabletRows,
        namespaces: Namespaces,
        new_ids: NewIds,
        wall_millis: Callable[[], int],
        unnamed: set[int],
        enable: Callable[[TableRecord], None],
        delete: Callable[[TableRecord], None],
        may_come_back: Callable[[int], None],
    ) -> None:
        self._runtime = runtime
        self._session = session
        self._catalog = catalog
        self._rows = rows
        self._namespaces = namespaces
        self._new_ids = new_ids
        self._wall_millis = wall_millis
        self._unnamed = unnamed
        self._enable = enable
        self._delete = delete
        self._may_come_back = may_come_back

    @switches
    def create(self, schema: TableSchema, bounds: list[bytes], creator: str) -> None:
        """`bounds`: where each tablet but the first begins."""
        # Before the name is taken: what fails here is asked for again, and would find that the table exists.
        ids = self._ids(len(bounds) + 1)
        with self._namespaces.kept_for(schema.name):
            # The version begins at 1 whatever the caller says: servers compare versions of one table only.
            schema = replace(first_families(schema), version=1)
            record = TableRecord(self._new_ids.table(), TableState.CREATING, schema)
            self._catalog.create_table(record)
        try:
            # Before there are tablets: should this end here, the cycle takes the creation back.
            begin_table(self._session, schema.name, creator)
            self._rows.write(schema.name, self._first_records(record.table_id, ids, bounds))
            self._enable(record)
        except (IdInUse, LimitExceeded):
            forget(self._session, of_table(schema.name))
            self._catalog.delete_table(record)  # or the cycle would take its creation back, and the other's rows
            raise
        except (LockLost, OutcomeUnknown):
            raise
        except HbtableError as error:
            # Not to be repeated as it is: the name is taken now, and the cycle finishes or undoes the creation.
            raise OutcomeUnknown(f"table {shown(schema.name)} may or may not come to exist: {error}") from error

    @switches
    def resume(self, record: TableRecord) -> str:
        """Finishes or undoes what a crash interrupted; the message that says so. DataDamaged: METADATA cannot tell
        which of the two it is."""
        name = shown(record.schema.name)
        try:
            check_whole(lambda: self._catalog.tablet_rows(record.table_id))
        except DataDamaged:
            raise  # they may be there
        except Corruption:
            # Nobody was told that the table exists and no cell was written: the rows that stand are taken back.
            self._delete(record)
            return f"table {name}: took its interrupted creation back"
        self._enable(record)
        return f"table {name}: finished its creation"

    @switches
    def replace_by_empty(self, record: TableRecord, bounds: list[bytes]) -> TableRecord:
        """The name row of a disabled table as it is on return, ENABLING. Its former tablets still have their rows."""
        fresh = replace(
            record,
            table_id=self._new_ids.table(),
            state=TableState.ENABLING,
            schema=first_families(record.schema),
        )
        ids = self._ids(len(bounds) + 1)
        self._unnamed.add(fresh.table_id)
        try:
            # Its tablets stand before the name row points at them: a crash before leaves the table as it was, one
            # after leaves it empty, to be enabled by the cycle. Tablets that no name points at are swept.
            self._rows.write(fresh.schema.name, self._first_records(fresh.table_id, ids, bounds))
            self._catalog.replace_table(record, fresh)
        except OutcomeUnknown:
            raise  # the name row may come to point at them: they are spared while this is the master
        except BaseException as error:
            if isinstance(error, OutOfSpace):
                # The name row is changed again before they are taken for left over.
                self._may_come_back(record.table_id)
            self._unnamed.discard(fresh.table_id)
            raise
        self._unnamed.discard(fresh.table_id)
        return fresh

    @switches
    def _first_records(self, table_id: int, ids: list[int], bounds: list[bytes]) -> list[TabletRecord]:
        """Each step goes over all tablets, of which there may be thousands."""
        return list(in_slices(self._runtime, first_records(table_id, ids, bounds, self._wall_millis())))

    @switches
    def _ids(self, count: int) -> list[int]:
        return [self._new_ids.tablet() for _ in in_slices(self._runtime, range(count))]
