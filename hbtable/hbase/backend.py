"""What the gateway needs from below: tables to read and write, and their administration.

hbtable.client offers both; tests hand in fakes. Names in Administration are canonical (model.names.parse). Every call
*switches* and may raise the errors of rpc.services.
"""

from collections.abc import Callable
from typing import Protocol, final

from hbtable.client.table_calls import TableCalls
from hbtable.hbase.errors import BadArgument
from hbtable.model import names
from hbtable.model.schema import TableSchema
from hbtable.model.table import TableRecord
from hbtable.model.tablet import TabletRecord

Address = Callable[[str], tuple[bytes, int]]
"""Of the gateway of a tablet server, by its incarnation: host and port."""


class TableAdminBackend(Protocol):
    """Tables and tablets as wholes."""

    def records(self) -> list[TableRecord]:
        """User tables, ascending by name, disabled ones included; none that is being created or deleted."""

    def record(self, name: bytes) -> TableRecord:
        """As METADATA has it now. TableNotFound."""

    def tablets(self, name: bytes) -> list[TabletRecord]:
        """Ascending. TableNotFound."""

    def create_table(self, schema: TableSchema) -> None: ...
    def delete_table(self, name: bytes) -> None: ...
    def enable_table(self, name: bytes) -> None: ...
    def disable_table(self, name: bytes) -> None: ...
    def compact(self, record: TabletRecord, major: bool) -> None:
        """Returns when done; StaleLocation when the tablet is no longer where `record` says."""


OpenTable = Callable[[bytes], TableCalls]
"""The table of a name in any spelling; it need not exist yet. InvalidRequest for a name that no table can have."""


@final
class TableBackend:
    """Tables by whatever form of the name a client sends."""

    __slots__ = ("_open_table",)

    def __init__(self, open_table: OpenTable) -> None:
        self._open_table = open_table

    def named(self, name: bytes | None) -> TableCalls:
        if name is None:
            raise BadArgument("the call has no table name")
        return self._open_table(name)

    def canonical(self, name: bytes | None) -> bytes:
        """For administration: the one spelling by which tables are known."""
        if name is None:
            raise BadArgument("the call has no table name")
        return names.parse(name)
