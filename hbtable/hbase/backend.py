"""What the front door needs from below: tables to read and write, and their administration.

hbtable.client offers this; tests hand in fakes. Names in Administration are canonical (model.names.parse). Every call
*switches* and may raise the errors of rpc.services.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, final

from hbtable.hbase.errors import BadArgument
from hbtable.model import names
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.read import ReadSpec, ScanPage, ScanRequest
from hbtable.model.schema import TableSchema
from hbtable.model.table import TableRecord
from hbtable.model.tablet import TabletRecord


class Table(Protocol):
    """One table by name. Calls raise TableNotFound and TableNotEnabled as the table is at the moment of the call."""

    def mutate(self, mutations: Sequence[RowMutation]) -> None: ...
    def read_rows(self, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]: ...
    def scan_page(self, request: ScanRequest) -> ScanPage:
        """Across tablets: `next` is None at the end of the range only."""

    def increment(self, row: bytes, family: bytes, qualifier: bytes, amount: int) -> int: ...
    def append(self, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int = 0) -> list[Cell]: ...
    def check_and_mutate(
        self, row: bytes, family: bytes, qualifier: bytes, expected: bytes | None, mutation: RowMutation
    ) -> bool: ...


class Administration(Protocol):
    """Tables and tablets as wholes."""

    def records(self) -> list[TableRecord]:
        """Every table in every state, ascending by name."""

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


OpenTable = Callable[[bytes], Table]
"""The table of a name in any spelling; it need not exist yet. InvalidRequest for a name that no table can have."""


@final
class Tables:
    """Tables by whatever form of the name a client sends."""

    __slots__ = ("_open_table",)

    def __init__(self, open_table: OpenTable) -> None:
        self._open_table = open_table

    def named(self, name: bytes | None) -> Table:
        if name is None:
            raise BadArgument("the call has no table name")
        return self._open_table(name)

    def canonical(self, name: bytes | None) -> bytes:
        """For administration: the one spelling by which tables are known."""
        if name is None:
            raise BadArgument("the call has no table name")
        return names.parse(name)
