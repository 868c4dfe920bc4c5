"""Point reads of Thrift2."""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections import Counter
from collections.abc import Sequence
from typing import final

from hbtable.hbase.backend import TableBackend
from hbtable.hbase.codec.thrift2_structs import TGet, TResult
from hbtable.hbase.conversion import check_row
from hbtable.hbase.thrift2.conversion import NOTHING, read_spec, result
from hbtable.model.cell import Cell
from hbtable.switches import switches


@final
class Thrift2ReadCalls:
    """`answer_bytes`: the largest answer."""

    def __init__(self, tables: TableBackend, answer_bytes: int) -> None:
        self._tables = tables
        self._answer_bytes = answer_bytes

    @switches
    def exists(self, table: bytes, get: TGet) -> bool:
        return bool(self._cells(table, get))

    @switches
    def existsAll(self, table: bytes, gets: Sequence[TGet]) -> list[bool]:
        return [bool(self._cells(table, get)) for get in gets]

    @switches
    def get(self, table: bytes, get: TGet) -> TResult:
        cells = self._cells(table, get)
        if not cells or get.existence_only:
            return NOTHING
        return result(get.row, cells)

    @switches
    def getMultiple(self, table: bytes, gets: Sequence[TGet]) -> list[TResult]:
        return [self.get(table, get) for get in gets]

    @switches
    def _cells(self, table: bytes, get: TGet) -> Sequence[Cell]:
        row = check_row(get.row)
        spec = read_spec(get, self._answer_bytes)
        found = self._tables.named(table).read_rows((row,), spec)
        cells = found[0][1] if found else ()
        return cells if get.store_limit is None and not get.store_offset else _of_each_family(cells, get)


def _of_each_family(cells: Sequence[Cell], get: TGet) -> list[Cell]:
    """`store_limit` cells of each family, behind the first `store_offset`. 0 is as 1, and less than 0 all, as in
    HBase."""
    first = max(get.store_offset or 0, 0)
    limit = -1 if get.store_limit is None or get.store_limit < 0 else max(get.store_limit, 1)
    seen: Counter[bytes] = Counter()
    found = []
    for cell in cells:
        family = cell[0].partition(b":")[0]
        place = seen[family]
        seen[family] += 1
        if place >= first and (limit < 0 or place < first + limit):
            found.append(cell)
    return found
