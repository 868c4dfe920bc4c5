"""The calls that everything on top of a table needs, the gateway and Rows: client.table.Table has them, and so has
its counterpart for programs whose threads are not tasks of the runtime (launch.embedded). Tests hand in fakes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanPage, ScanRequest
from hbtable.model.table import TableRecord
from hbtable.switches import switches


class AheadPage(NamedTuple):
    """A page that was made before it was asked for."""

    page: ScanPage
    is_valid: Callable[[], bool]
    """Whether scan_page() would give it now. Does not switch."""


class TableCalls(Protocol):
    """The calls on one table that the gateway and Rows need, as client.table.Table describes them. TableNotFound and
    TableNotEnabled go by the table's state at the moment of the call."""

    @switches
    def mutate(self, mutations: Sequence[RowMutation]) -> None: ...
    @switches
    def read_rows(self, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]: ...
    @switches
    def scan_page(self, request: ScanRequest) -> ScanPage:
        """Across tablets: `next` is None at the end of the range only."""

    @switches
    def increment(self, row: bytes, family: bytes, qualifier: bytes, amount: int) -> int: ...
    @switches
    def append(self, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int = 0) -> list[Cell]: ...
    @switches
    def check_and_mutate(
        self, row: bytes, family: bytes, qualifier: bytes, expected: bytes | None, mutation: RowMutation
    ) -> bool: ...
    @switches
    def mutate_if(
        self, row: bytes, spec: ReadSpec, operator: str, value: bytes | None, mutation: RowMutation
    ) -> bool: ...
    @switches
    def delete_range(self, rows: RowRange, timestamp: int) -> None: ...


class NamedTableCalls(TableCalls, Protocol):
    """The same calls, with the name and the record of the table."""

    name: bytes

    @switches
    def record(self) -> TableRecord: ...
    def shown_name(self) -> str: ...


class DescribedTableCalls(NamedTableCalls, Protocol):
    """The same calls. A server hides the families in the record from some of its users."""

    @switches
    def described(self) -> TableRecord:
        """*Switches.* The record with them. AccessDenied where they are hidden."""


class GatewayTableCalls(TableCalls, Protocol):
    """The calls on one table that a gateway needs."""

    @switches
    def page_ahead(self, request: ScanRequest) -> AheadPage | None: ...
    @switches
    def add_to_columns(self, mutation: RowMutation) -> list[Cell]: ...


class NamedGatewayTableCalls(NamedTableCalls, GatewayTableCalls, Protocol):
    """The same calls, with the name and the record of the table."""
