"""The calls that everything on top of a table needs: client.table.Table has them, and so has its stand-in for programs
whose threads are not tasks of the runtime (launch.embedded)."""

from collections.abc import Sequence
from typing import Protocol

from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.read import ReadSpec, ScanPage, ScanRequest
from hbtable.model.table import TableRecord


class TableCalls(Protocol):
    """As client.table.Table says."""

    name: bytes

    def mutate(self, mutations: Sequence[RowMutation]) -> None: ...
    def read_rows(self, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]: ...
    def scan_page(self, request: ScanRequest) -> ScanPage: ...
    def increment(self, row: bytes, family: bytes, qualifier: bytes, amount: int) -> int: ...
    def append(self, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int = 0) -> list[Cell]: ...
    def check_and_mutate(
        self, row: bytes, family: bytes, qualifier: bytes, expected: bytes | None, mutation: RowMutation
    ) -> bool: ...
    def record(self) -> TableRecord: ...
    def shown_name(self) -> str: ...
