"""Tables by name and their administration, by happybase's names: the same in this process and behind Thrift."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self, TypeVar

from hbtable.client.columns import K
from hbtable.client.given import bytes_of, flag, members
from hbtable.client.rows import row_range
from hbtable.client.table_calls import DescribedTableCalls
from hbtable.errors import Conflict, OutOfSpace, TableNotFound, WrongValue
from hbtable.hbase.regions import region
from hbtable.library.options import Families, families_of
from hbtable.library.schema_changes import K2, FamilyChanges, altered
from hbtable.library.table import RegionDescription, Table, described
from hbtable.model.names import shown
from hbtable.model.schema import TableSchema
from hbtable.model.schema_limits import many_families
from hbtable.model.status import TabletSize
from hbtable.model.table import TableRecord
from hbtable.model.tablet import TabletRecord
from hbtable.model.usage import FamilyUsage
from hbtable.switches import switches

T = TypeVar("T")


class AdminCalls(Protocol):
    """The calls of client.admin.Admin that a Database is made of."""

    @switches
    def table_names(self) -> list[bytes]: ...
    @switches
    def record(self, name: bytes) -> TableRecord: ...
    @switches
    def described(self, name: bytes) -> TableRecord: ...
    @switches
    def create_table(self, schema: TableSchema, split_rows: Sequence[bytes] = ()) -> None: ...
    @switches
    def delete_table(self, name: bytes) -> None: ...
    @switches
    def enable_table(self, name: bytes) -> None: ...
    @switches
    def disable_table(self, name: bytes) -> None: ...
    @switches
    def is_enabled(self, name: bytes) -> bool: ...
    @switches
    def flush(self, name: bytes) -> None: ...
    @switches
    def compact(self, name: bytes) -> None: ...
    @switches
    def major_compact(self, name: bytes) -> None: ...
    @switches
    def tablets(self, name: bytes) -> list[TabletRecord]: ...
    @switches
    def tablet_sizes(self, name: bytes) -> list[TabletSize]: ...
    @switches
    def split(self, name: bytes, row: bytes | None = None) -> bool: ...
    @switches
    def exists(self, name: bytes) -> bool: ...
    @switches
    def family_usage(self, name: bytes) -> list[FamilyUsage]: ...
    @switches
    def alter_table(self, schema: TableSchema) -> None: ...
    @switches
    def truncate_table(self, name: bytes, keep_splits: bool) -> None: ...
    @switches
    def merge_tablets(self, name: bytes, tablet_ids: Sequence[int]) -> None: ...
    @switches
    def namespaces(self) -> list[bytes]: ...
    @switches
    def namespace_properties(self, name: bytes) -> dict[str, str]: ...
    @switches
    def create_namespace(self, name: bytes, properties: Mapping[str, str]) -> None: ...
    @switches
    def alter_namespace(self, name: bytes, properties: Mapping[str, str]) -> None: ...
    @switches
    def delete_namespace(self, name: bytes) -> None: ...


class Database(ABC):
    """An open database: hbtable.open() gives one that is in this process, hbtable.connect() one behind a server.

    Its methods are those of happybase's Connection, and more. Everything acknowledged is durable on return. Names of
    tables may be text or bytes, in any spelling: `t` is `default:t`.
    """

    table_prefix: bytes | None = None
    """Stands with the separator before the names of all tables; other tables are not listed."""
    table_prefix_separator: bytes = b"_"

    @abstractmethod
    def _ask(self, call: Callable[[AdminCalls], T]) -> T:
        """The answer of `call`, from any thread."""

    @abstractmethod
    def _calls_of(self, name: bytes) -> DescribedTableCalls:
        """Of the table of this name, from any thread."""

    @abstractmethod
    def close(self) -> None:
        """Closes the database. Any thread may call it, any number of times."""

    def table(self, name: str | bytes, use_prefix: bool = True) -> Table:
        """The table of this name; TableNotFound comes with the first use. `use_prefix` False: without table_prefix."""
        full_name = self._table_name(name) if flag("'use_prefix'", use_prefix) else bytes_of("the name", name)
        return Table(self._calls_of(full_name), self)

    def tables(self) -> list[bytes]:
        """Names of all tables, ascending, disabled ones included; without table_prefix."""
        names = self._ask(lambda admin: admin.table_names())
        prefix = self._table_name(b"")
        return [name[len(prefix) :] for name in names if name.startswith(prefix)]

    def create_table(self, name: str | bytes, families: Families[K], split_rows: Sequence[str | bytes] = ()) -> Table:
        """Made, enabled and served on return; one tablet, or len(split_rows) + 1. `families`: options by name, or the
        names alone; of more than 100 there is a UserWarning. TableExists."""
        schema = TableSchema(self._table_name(name), families_of(name, families))
        rows = [bytes_of("the split row", row) for row in members("split_rows", split_rows)]
        self._ask(lambda admin: admin.create_table(schema, rows))
        _warn(many_families(shown(schema.name), len(schema.families)))
        return self.table(name)

    def delete_table(self, name: str | bytes, disable: bool = False) -> None:
        """TableNotDisabled unless it is disabled, or `disable` says to do that first."""
        if flag("'disable'", disable):
            self._disable_to_empty(name)
        table = self._table_name(name)
        self._ask(lambda admin: admin.delete_table(table))

    def enable_table(self, name: str | bytes) -> None:
        """TableNotDisabled when it is enabled."""
        table = self._table_name(name)
        self._ask(lambda admin: admin.enable_table(table))

    def disable_table(self, name: str | bytes) -> None:
        """TableNotEnabled when it is disabled."""
        table = self._table_name(name)
        self._ask(lambda admin: admin.disable_table(table))

    def is_table_enabled(self, name: str | bytes) -> bool:
        """TableNotFound."""
        table = self._table_name(name)
        return self._ask(lambda admin: admin.is_enabled(table))

    def compact_table(self, name: str | bytes, major: bool = False) -> None:
        """Files become fewer; with `major` one for each locality group, without what was deleted."""
        table = self._table_name(name)
        if flag("'major'", major):
            self._ask(lambda admin: admin.major_compact(table))
        else:
            self._ask(lambda admin: admin.compact(table))

    def flush_table(self, name: str | bytes) -> None:
        """A minor compaction: what was written before is in SSTables on return. (It was durable before that, too.)"""
        table = self._table_name(name)
        self._ask(lambda admin: admin.flush(table))

    def split_table(self, name: str | bytes, row: str | bytes | None = None) -> bool:
        """Splits the tablet of `row` there; None: every tablet at its middle. True when anything was split.
        WrongValue for an empty row: no tablet can end there."""
        table = self._table_name(name)
        split_row = None if row is None else bytes_of("the row", row)
        if split_row == b"":  # over the port it means none, and every tablet would be split
            raise WrongValue("the row is empty: name one to split at, or None for the middle of every tablet")
        return self._ask(lambda admin: admin.split(table, split_row))

    def table_exists(self, name: str | bytes) -> bool:
        """Whether there is a table of this name, enabled or not."""
        table = self._table_name(name)
        return self._ask(lambda admin: admin.exists(table))

    def alter_table(
        self,
        name: str | bytes,
        *,
        add: Families[K] = (),
        change: FamilyChanges[K2] | None = None,
        drop: Collection[str | bytes] = (),
        split_bytes: int | None = None,
    ) -> None:
        """One change of the schema, in effect everywhere on return: families to add, as in create_table(); options to
        change, by family, all others staying; families to drop, with their cells; and the size at which tablets split
        (0: the server's). What somebody else changes at the same time stays."""
        table = self._table_name(name)

        @switches
        def alter(admin: AdminCalls) -> str:
            while True:
                schema = admin.described(table).schema
                changed = altered(schema, add, change or {}, drop, split_bytes)
                try:
                    admin.alter_table(changed)
                except Conflict:
                    continue  # somebody else's change came first: this one is made of the schema with it
                return many_families(shown(table), len(changed.families), len(schema.families))

        _warn(self._ask(alter))

    def truncate_table(self, name: str | bytes, keep_splits: bool = False, disable: bool = False) -> None:
        """All rows are gone and the table is enabled on return, with one tablet, or those that it had. TableNotDisabled
        unless it is disabled, or `disable` says to do that first."""
        flag("'keep_splits'", keep_splits)
        if flag("'disable'", disable):
            self._disable_to_empty(name)
        table = self._table_name(name)
        self._ask(lambda admin: admin.truncate_table(table, keep_splits))

    def merge_table(
        self, name: str | bytes, row_start: str | bytes | None = None, row_stop: str | bytes | None = None
    ) -> bool:
        """The tablets that hold rows from `row_start` (inclusive) to `row_stop` (exclusive) become one; None: there is
        no bound. False when it was one already."""
        table = self._table_name(name)
        wanted = row_range(row_start, row_stop, None)

        @switches
        def merge(admin: AdminCalls) -> bool:
            found = [one.tablet_id for one in admin.tablets(table) if not one.range.intersect(wanted).is_empty()]
            if len(found) > 1:
                admin.merge_tablets(table, found)
            return len(found) > 1

        return self._ask(merge)

    def namespaces(self) -> list[bytes]:
        """Ascending, `default` and `hbase` included."""
        return self._ask(lambda admin: admin.namespaces())

    def namespace(self, name: str | bytes) -> dict[str, str]:
        """The namespace's properties. NamespaceNotFound."""
        namespace = bytes_of("the namespace", name)
        return self._ask(lambda admin: admin.namespace_properties(namespace))

    def create_namespace(self, name: str | bytes, properties: Mapping[str, str] | None = None) -> None:
        """AlreadyExists. Tables of it are called `namespace:table`."""
        namespace = bytes_of("the namespace", name)
        self._ask(lambda admin: admin.create_namespace(namespace, {} if properties is None else properties))

    def alter_namespace(self, name: str | bytes, properties: Mapping[str, str]) -> None:
        """All its properties from now on. NamespaceNotFound."""
        namespace = bytes_of("the namespace", name)
        self._ask(lambda admin: admin.alter_namespace(namespace, properties))

    def delete_namespace(self, name: str | bytes) -> None:
        """NamespaceNotFound; InvalidRequest while it has tables."""
        namespace = bytes_of("the namespace", name)
        self._ask(lambda admin: admin.delete_namespace(namespace))

    def regions_of(self, name: bytes) -> list[RegionDescription]:
        """Table.regions()."""
        try:
            tablets = self._ask(lambda admin: admin.tablets(bytes_of("the name", name)))
        except TableNotFound:
            return []
        return [described(region(name, tablet, _nowhere)) for tablet in tablets]

    def usage_of(self, name: bytes) -> list[FamilyUsage]:
        """Table.usage()."""
        return self._ask(lambda admin: admin.family_usage(bytes_of("the name", name)))

    def sizes_of(self, name: bytes) -> list[TabletSize]:
        """The rows and the size of each tablet, ascending, for Table.sample_row_keys()."""
        return self._ask(lambda admin: admin.tablet_sizes(bytes_of("the name", name)))

    def _disable_to_empty(self, name: str | bytes) -> None:
        """Disables the table, if it is enabled, before all its rows go. On a full disk there is no room to flush them:
        the disabling has begun then and does not end, and what makes room goes on from there."""
        if self.is_table_enabled(name):
            try:
                self.disable_table(name)
            except OutOfSpace:
                if self.is_table_enabled(name):
                    raise

    def _table_name(self, name: str | bytes) -> bytes:
        prefix = b"" if self.table_prefix is None else self.table_prefix + self.table_prefix_separator
        return prefix + bytes_of("the name", name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _warn(message: str) -> None:
    """Says it, unless it is empty, with the line that called the method which calls this."""
    if message:
        warnings.warn(message, UserWarning, stacklevel=3)


def _nowhere(_: str) -> tuple[bytes, int]:
    """The address of the servers of this process: they have no port."""
    return b"", 0
