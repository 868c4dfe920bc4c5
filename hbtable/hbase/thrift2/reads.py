"""Point reads of Thrift2."""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, final

from hbtable.errors import LimitExceeded
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.codec.thrift2_structs import TGet, TResult
from hbtable.hbase.conversion import check_row
from hbtable.hbase.thrift2.conversion import NOTHING, read_spec, result
from hbtable.model.cell import Cell
from hbtable.model.read import bytes_of
from hbtable.runtime.request_budget import HELD_AT_ONCE, hold
from hbtable.runtime.slices import OwnList, let_go, with_pauses
from hbtable.switches import switches

_GETS_BETWEEN_PAUSES: Final = 16
_CELLS_BETWEEN_PAUSES: Final = 512


@final
class Thrift2ReadCalls:
    """Thrift2's point reads. `answer_bytes`: the largest answer; `pause` lets other tasks run."""

    def __init__(self, tables: TableBackend, answer_bytes: int, pause: Callable[[], None]) -> None:
        self._tables = tables
        self._answer_bytes = answer_bytes
        self._pause = pause

    @switches
    def exists(self, table: bytes, get: TGet) -> bool:
        cells = self._cells(table, get, self._answer_bytes, is_existence=True)
        is_there = bool(cells)
        let_go(cells, self._pause)
        return is_there

    @switches
    def existsAll(self, table: bytes, gets: Sequence[TGet]) -> list[bool]:
        found = []
        for number, get in enumerate(gets, 1):
            found.append(self.exists(table, get))
            if not number % _GETS_BETWEEN_PAUSES:
                self._pause()
        return found

    @switches
    def get(self, table: bytes, get: TGet) -> TResult:
        return self._result(get, self._cells(table, get, self._answer_bytes))

    @switches
    def getMultiple(self, table: bytes, gets: Sequence[TGet]) -> list[TResult]:
        """All together count no more than one answer may."""
        found: OwnList[TResult] = OwnList()
        left_bytes, small_bytes = self._answer_bytes, 0
        for number, get in enumerate(gets, 1):
            cells = self._cells(table, get, max(left_bytes, 0))
            size = _bytes_of(get.row, cells, self._pause)
            left_bytes -= size
            if left_bytes < 0 and number > 1:
                raise LimitExceeded(
                    f"the {len(gets)} rows asked for hold more than the {self._answer_bytes} bytes of the largest "
                    "answer (thrift.answer_bytes); ask for fewer rows at a time"
                )
            if size <= HELD_AT_ONCE:  # others were counted as they were read
                small_bytes += size
                if small_bytes > HELD_AT_ONCE:
                    hold(small_bytes)
                    small_bytes = 0
            found.append(self._result(get, cells))
            if not number % _GETS_BETWEEN_PAUSES:
                self._pause()
        return found

    @switches
    def _result(self, get: TGet, cells: Sequence[Cell]) -> TResult:
        found = NOTHING if not cells or get.existence_only else result(get.row, cells, self._pause)
        let_go(cells, self._pause)
        return found

    @switches
    def _cells(self, table: bytes, get: TGet, left_bytes: int, is_existence: bool = False) -> Sequence[Cell]:
        row = check_row(get.row)
        spec = read_spec(get, left_bytes, self._pause)
        if is_existence or get.existence_only:
            self._tables.check_existence(table, spec.columns)
        found = self._tables.named(table).read_rows((row,), spec)
        cells = found[0][1] if found else ()
        return cells if get.store_limit is None and not get.store_offset else _of_each_family(cells, get, self._pause)


@switches
def _bytes_of(row: bytes, cells: Sequence[Cell], pause: Callable[[], object]) -> int:
    """As bytes_of(), with a pause after each part of a long row."""
    if len(cells) <= _CELLS_BETWEEN_PAUSES:
        return bytes_of(row, cells)
    size = len(row)
    for first in range(0, len(cells), _CELLS_BETWEEN_PAUSES):
        size += bytes_of(b"", cells[first : first + _CELLS_BETWEEN_PAUSES])
        pause()
    return size


@switches
def _of_each_family(cells: Sequence[Cell], get: TGet, pause: Callable[[], object]) -> list[Cell]:
    """`store_limit` cells of each family, behind the first `store_offset`. 0 is as 1, and less than 0 all, as in
    HBase."""
    first = max(get.store_offset or 0, 0)
    limit = -1 if get.store_limit is None or get.store_limit < 0 else max(get.store_limit, 1)
    seen: Counter[bytes] = Counter()
    found = []
    for cell in with_pauses(cells, pause, _CELLS_BETWEEN_PAUSES):
        family = cell[0].partition(b":")[0]
        place = seen[family]
        seen[family] += 1
        if place >= first and (limit < 0 or place < first + limit):
            found.append(cell)
    return found
