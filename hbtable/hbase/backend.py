"""The tables below the gateway, to read and write, by the names that clients give.

hbtable.client offers them, and their administration (client.admin.Admin); tests hand in fakes of both. With
authentication each is as the calling user may use it (permissions/guarded_table.py).
"""

from collections.abc import Callable, Sequence
from typing import final

from hbtable.access.data_checks import DataChecks
from hbtable.client.table_calls import GatewayTableCalls, NamedGatewayTableCalls
from hbtable.hbase.errors import BadArgument
from hbtable.hbase.meta.layout import META
from hbtable.hbase.permissions.guarded_table import GuardedTable
from hbtable.model import names
from hbtable.model.mutation import RowMutation
from hbtable.model.read import Columns
from hbtable.model.table import TableRecord
from hbtable.switches import switches

Address = Callable[[str], tuple[bytes, int]]
"""Of the gateway of a tablet server, by its incarnation: host and port."""


OpenTable = Callable[[bytes], NamedGatewayTableCalls]
"""The table of a name in any spelling; it need not exist yet. InvalidRequest for a name that no table can have."""


@final
class TableBackend:
    """Tables by whatever form of the name a client sends."""

    __slots__ = ("_checks", "_meta", "_open_table")

    def __init__(
        self, open_table: OpenTable, checks: DataChecks | None = None, meta: NamedGatewayTableCalls | None = None
    ) -> None:
        """Without `checks` everybody may do everything. `meta`: hbase:meta, which everybody may read."""
        self._open_table = open_table
        self._checks = checks
        self._meta = meta

    def named(self, name: bytes | None) -> GatewayTableCalls:
        if name is None:
            raise BadArgument("the call has no table name")
        if name == META and self._meta is not None:
            return self._meta
        table = self._open_table(name)
        return table if self._checks is None else GuardedTable(table, self._checks)

    @switches
    def record(self, name: bytes) -> TableRecord:
        """The table's record, as METADATA has it now. `name` is canonical. TableNotFound."""
        if name == META and self._meta is not None:
            return self._meta.record()
        return self._open_table(name).record()

    def canonical(self, name: bytes | None) -> bytes:
        """The one spelling by which administration knows the table."""
        if name is None:
            raise BadArgument("the call has no table name")
        return names.parse(name)

    # ---------------------------------------------------------------- what the calls of a table do not say

    @switches
    def check_scan(self, name: bytes, asked: Columns | None) -> Columns | None:
        """The part of it that may be seen; AccessDenied when that is nothing. Each page is checked again."""
        guarded = self._guarded(name)
        return asked if guarded is None else guarded.check_scan(asked)

    @switches
    def shows_all_rows(self, name: bytes | None) -> bool:
        """Whether the caller may know the keys of all its rows."""
        if self._checks is None or (name == META and self._meta is not None):
            return True
        return self._checks.shows_all_rows(self.canonical(name))

    @switches
    def check_existence(self, name: bytes, asked: Columns | None) -> None:
        """AccessDenied unless all of it may be seen."""
        guarded = self._guarded(name)
        if guarded is not None:
            guarded.check_existence(asked)

    @switches
    def check_mutations(self, name: bytes, mutations: Sequence[RowMutation]) -> None:
        """Before the first part of many rows is written."""
        guarded = self._guarded(name)
        if guarded is not None:
            guarded.check_mutations(mutations)

    @switches
    def check_whole_rows(self, name: bytes, families: Sequence[bytes]) -> None:
        """Before whole rows are deleted: all families of the table, which the caller did not name."""
        guarded = self._guarded(name)
        if guarded is not None:
            guarded.check_whole_rows(families)

    @switches
    def check_counters(self, name: bytes, columns: Sequence[tuple[bytes, bytes]]) -> None:
        """Before the first of several counters is changed."""
        guarded = self._guarded(name)
        if guarded is not None:
            guarded.check_read_and_written(columns)

    def _guarded(self, name: bytes) -> GuardedTable | None:
        if self._checks is None or (name == META and self._meta is not None):
            return None
        return GuardedTable(self._open_table(name), self._checks)
