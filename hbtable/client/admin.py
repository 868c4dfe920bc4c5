"""Administration: the master's calls (paper, section 4), and work on all tablets of a table directly.

The master's calls are declared in rpc/services.py and pass through here: again and again until there is a master that
takes them. One about a table drops everything this client knows about it, before it returns, so that its next call on
the table sees the change.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar, final

from hbtable.access.user import acting_user
from hbtable.client.options import ClientOptions
from hbtable.client.table import Table
from hbtable.errors import (
    HbtableError,
    InvalidRequest,
    LockLost,
    OutOfSpace,
    StaleLocation,
    TableNotDisabled,
    TableNotEnabled,
    TableNotFound,
    Unavailable,
)
from hbtable.metadata import layout
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.locator import Locator
from hbtable.metadata.retry_policy import RetryCounter
from hbtable.model.names import is_system
from hbtable.model.ranges import RowRange
from hbtable.model.schema import TableSchema
from hbtable.model.status import TabletSize, TabletStatus
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord, owners
from hbtable.model.usage import FamilyUsage, from_texts, summed
from hbtable.model.values import check_bytes
from hbtable.rpc.declaration import DeclaredCall
from hbtable.rpc.services import MasterService, TableName, TabletAdmin
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import results, run_all
from hbtable.switches import switches

_HIDDEN = (TableState.CREATING, TableState.DELETING)
T = TypeVar("T")

_DONE_BEFORE: Final[dict[str, tuple[type[HbtableError], TableState | None]]] = {
    "enable_table": (TableNotDisabled, TableState.ENABLED),
    "disable_table": (TableNotEnabled, TableState.DISABLED),
    "delete_table": (TableNotFound, None),
}
"""By call that a master goes on with though it says that it could not be done yet: what refuses it once it is done, and
the table's state by then. The same refuses it in other states as well."""
_UNLOADED = (TableState.DISABLED, TableState.DISABLING)


@final
class Admin(MasterService):
    """The master's calls, and work on tables and their tablets. All calls *switch*. Names of tables may be given in any
    spelling; InvalidRequest for what is none."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        locator: Locator,
        catalog: Catalog,
        table: Callable[[bytes], Table],
        over: Callable[[], bool],
        options: ClientOptions,
    ) -> None:
        """`over`: has this process's own session ended?"""
        super().__init__(self._through_master)
        self._runtime = runtime
        self._transport = transport
        self._locator = locator
        self._catalog = catalog
        self._table = table
        self._over = over
        self._options = options

    # ---------------------------------------------------------------- through the master

    @switches
    def _through_master(self, declared: DeclaredCall, arguments: tuple[Any, ...]) -> Any:
        """Every call of rpc.services.MasterService. A declaration.Carry."""
        kind = declared.parameters[0].annotation if declared.parameters else None
        if kind not in (TableName, TableSchema):
            return self.ask(lambda master: declared.on(master, arguments))
        first, *rest = arguments
        table = self._table(first if kind is TableName else first.name)
        named = table.name if kind is TableName else replace(first, name=table.name)
        try:
            return self._ask_about(table, declared.name, lambda master: declared.on(master, (named, *rest)))
        finally:
            table.invalidate()  # also after a failure: it may have been carried out all the same

    @switches
    def create_table(self, schema: TableSchema, split_rows: Sequence[bytes] = (), creator: str = "") -> None:
        """`creator`: without one it is the user of the calling task, if there is any."""
        user = acting_user()
        super().create_table(schema, split_rows, creator or (user.name if user else ""))

    @switches
    def _ask_about(self, table: Table, name: str, call: Callable[[MasterService], T]) -> T | None:
        """As ask(). A call that a master put off, and that is refused when it is made again, may have been done
        meanwhile."""
        was_put_off = False

        @switches
        def heard(master: MasterService) -> T:
            nonlocal was_put_off
            try:
                return call(master)
            except Unavailable:
                was_put_off = True
                raise

        try:
            return self.ask(heard)
        except (TableNotDisabled, TableNotEnabled, TableNotFound) as error:
            done = _DONE_BEFORE.get(name)
            if done is None or not was_put_off or not isinstance(error, done[0]):
                raise
            record = self._catalog.read_table(table.name)
            if (None if record is None else record.state) is not done[1]:
                raise
            return None

    @switches
    def ask(self, call: Callable[[MasterService], T]) -> T:
        """Again and again while nothing was begun, until there is a master that takes it. Unavailable. LockLost when
        this process's own session is over: it finds no master any more."""
        retries: RetryCounter | None = None
        while True:
            try:
                return call(self._transport.master())
            except OutOfSpace:
                raise
            except (StaleLocation, Unavailable) as error:
                self._check_own(error)
                if retries is None:
                    retries = RetryCounter(self._runtime, self._options.retry_policy)
                if not retries.wait():
                    raise Unavailable(retries.exhausted("the master gave no answer", error)) from error

    def _check_own(self, error: HbtableError) -> None:
        if self._over():
            raise LockLost(f"this process lost its lock and has to stop; the last answer was: {error}") from error

    # ---------------------------------------------------------------- what there is

    @switches
    def tables(self) -> list[TableRecord]:
        """User tables of all namespaces, ascending by name, disabled ones included; none that is being created or
        deleted."""
        return [
            record
            for record in self._catalog.tables()
            if record.state not in _HIDDEN and not is_system(record.schema.name)
        ]

    @switches
    def table_names(self) -> list[bytes]:
        return [record.schema.name for record in self.tables()]

    @switches
    def exists(self, name: bytes) -> bool:
        record = self._catalog.read_table(self._table(name).name)
        return record is not None and record.state not in _HIDDEN

    @switches
    def record(self, name: bytes) -> TableRecord:
        """The table's record, as METADATA has it now. TableNotFound; InvalidRequest for METADATA, which has none."""
        table = self._table(name)
        try:
            return table.record()
        except TableNotFound:
            raise layout.no_table(table.name) from None

    @switches
    def described(self, name: bytes) -> TableRecord:
        """As record() of a Table: nothing is hidden here."""
        return self._table(name).record()

    @switches
    def is_enabled(self, name: bytes) -> bool:
        """TableNotFound."""
        return self._table(name).record().state is TableState.ENABLED

    @switches
    def schema(self, name: bytes) -> TableSchema:
        """TableNotFound."""
        return self._table(name).record().schema

    @switches
    def namespaces(self) -> list[bytes]:
        """Ascending, `default` and `hbase` included."""
        return self._catalog.namespaces()

    @switches
    def namespace_properties(self, name: bytes) -> dict[str, str]:
        """NamespaceNotFound."""
        return self._catalog.namespace_properties(name)

    @switches
    def tablets(self, name: bytes) -> list[TabletRecord]:
        """Ascending, of a disabled table, too. TableNotFound."""
        return self._locator.tablets(self._table(name).record().table_id)

    # ---------------------------------------------------------------- on every tablet, or on one

    @switches
    def flush(self, name: bytes, tablet_id: int = 0) -> None:
        """A minor compaction of every tablet, or of one: what was written before the call is in SSTables on return.
        TableNotFound, TableNotEnabled, InvalidRequest when the table has no such tablet."""
        rows = self.rows_of(name, tablet_id)
        if not self._on_every_tablet(name, lambda admin, record: admin.flush(record.tablet_id), rows):
            raise TableNotEnabled(f"{self._table(name).shown_name()} is disabled.")

    @switches
    def compact(self, name: bytes, tablet_id: int = 0, family: bytes = b"") -> None:
        """A merging compaction of every tablet, or of one, done on return; with a family only the files of its locality
        group are merged, none when the table has no such family. A disabled table is left alone. TableNotFound,
        InvalidRequest when the table has no such tablet."""
        self._compact(name, tablet_id, False, family)

    @switches
    def major_compact(self, name: bytes, tablet_id: int = 0, family: bytes = b"") -> None:
        """As compact(): everything into one SSTable per locality group, deleted cells gone."""
        self._compact(name, tablet_id, True, family)

    @switches
    def _compact(self, name: bytes, tablet_id: int, major: bool, family: bytes) -> None:
        rows = self.rows_of(name, tablet_id)
        self._on_every_tablet(name, lambda admin, record: admin.compact(record.tablet_id, major, family), rows)

    @switches
    def compact_at(self, record: TabletRecord, major: bool) -> None:
        """Compacts the tablet where `record` says that it is; done on return. StaleLocation when it is there no
        more."""
        self._transport.tablet_admin(record.owner).compact(record.tablet_id, major)

    @switches
    def split(self, name: bytes, row: bytes | None = None, tablet_id: int = 0) -> bool:
        """Splits the tablet of `row` at `row`; None: every tablet at its middle, or the one that is named. True when
        anything was split. TableNotFound, TableNotEnabled; InvalidRequest when the table has no such tablet, or the
        row lies outside it."""
        if row is not None:
            check_bytes("the split row", row)
        done: list[bool] = []

        def split(admin: TabletAdmin, record: TabletRecord) -> None:
            done.append(admin.split(record.tablet_id, row))

        rows = self.rows_of(name, tablet_id)
        if rows is None and row is not None:
            rows = RowRange(row, row + b"\x00")
        if not self._on_every_tablet(name, split, rows):
            raise TableNotEnabled(f"{self._table(name).shown_name()} is disabled.")
        return any(done)

    @switches
    def statuses(self, servers: Iterable[str]) -> dict[str, list[TabletStatus]]:
        """The tablets that each of these servers serves; a server that is gone is left out."""
        found: dict[str, list[TabletStatus]] = {}
        for server in servers:
            try:
                found[server] = self._transport.tablet_admin(server).tablets()
            except (StaleLocation, Unavailable):
                continue
        return found

    @switches
    def tablet_sizes(self, name: bytes) -> list[TabletSize]:
        """Ascending. Of a tablet that nobody serves now, what METADATA knows of its files. TableNotFound."""
        records = self.tablets(name)
        served = {
            status.record.tablet_id: status.memtable_bytes + status.sstable_bytes
            for found in self.statuses(owners(records)).values()
            for status in found
        }
        return [
            TabletSize(
                record.range,
                served.get(record.tablet_id, sum(record.file_lengths())),
            )
            for record in records
        ]

    @switches
    def family_usage(self, name: bytes) -> list[FamilyUsage]:
        """Of the tablets that are served now. TableNotFound; Unavailable when a server does not answer."""
        found: list[FamilyUsage] = []
        canonical = self._table(name).name
        for server in owners(self.tablets(name)):
            try:
                found += map(from_texts, self._transport.tablet_admin(server).family_usage(canonical))
            except StaleLocation:
                continue  # it is gone, and what it served is on its way to others
        return summed(found)

    @switches
    def rows_of(self, name: bytes, tablet_id: int) -> RowRange | None:
        """The rows of one tablet; None: of all of them. Should it split meanwhile, both children are meant.
        InvalidRequest when the table has no such tablet."""
        if not tablet_id:
            return None
        for tablet in self.tablets(name):
            if tablet.tablet_id == tablet_id:
                return tablet.range
        raise InvalidRequest(
            f"table {self._table(name).shown_name()} has no tablet {tablet_id}; it may have been split or merged: "
            "look again"
        )

    @switches
    def _on_every_tablet(
        self, name: bytes, call: Callable[[TabletAdmin, TabletRecord], None], rows: RowRange | None = None
    ) -> bool:
        """`call` on each tablet that has some of `rows`, a few at once. False: the table is disabled."""
        record = self.record(name)
        if record.state in _UNLOADED:
            return False
        wanted = rows or RowRange()
        jobs = [
            partial(self._on_range, record.table_id, tablet.range.intersect(wanted), call)
            for tablet in self._locator.tablets(record.table_id)
            if not tablet.range.intersect(wanted).is_empty()
        ]
        results(run_all(self._runtime, self._options.parallel_calls, jobs, "administration"))
        return True

    @switches
    def _on_range(self, table_id: int, rows: RowRange, call: Callable[[TabletAdmin, TabletRecord], None]) -> None:
        """`call` on each tablet that covers `rows`: one, unless it split since it was listed."""
        row = rows.start
        retries: RetryCounter | None = None
        while True:
            try:
                record = self._locator.find(table_id, row)
                call(self._transport.tablet_admin(record.owner), record)
            except OutOfSpace:
                raise
            except (StaleLocation, Unavailable) as error:
                self._check_own(error)
                self._locator.forget(table_id, row)
                if retries is None:
                    retries = RetryCounter(self._runtime, self._options.retry_policy)
                if not retries.wait():
                    raise Unavailable(retries.exhausted(f"the tablet of row {row!r} gave no answer", error)) from error
                continue
            row = record.range.stop
            if not row or (rows.stop and rows.stop <= row):
                return
