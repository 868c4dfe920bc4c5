"""Calls about one very wide row, for tests/campaigns/wide_rows.py: what each may answer, and what it must not cost.

The row `wide` has `cells` small cells f:000000000, f:000000001, ...; the row `tenth` beside it has a tenth as many.
What must not grow with the row is known from both: a call that seeks costs the same over each, one that reads all ten
times as much.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

FEW = 10
"""Cells that a call about some columns asks for."""
PIECE = 1000
ANSWER_BYTES = 64 << 20
_CELL_BYTES = 40 + 11 + 16
"""Of one cell in an answer: what is counted for each, its column and its value."""


@dataclass(frozen=True)
class Ground:
    """A database with both rows. `table` has happybase's methods, `database` those of hbtable.open() or connect()."""

    table: Any
    database: Any
    cells: int
    """Of the row that the call is about."""
    row: bytes
    name: str = "wide"

    def column(self, number: int) -> bytes:
        return b"f:%09d" % number

    def scanned(self, **arguments: Any) -> int:
        """The cells that a scan of the row gives, in pieces if asked so."""
        return sum(len(cells) for _, cells in self.table.scan(row_prefix=self.row, **arguments))


@dataclass(frozen=True)
class WideRowCall:
    """`call` gives the number of cells or rows that it saw, `expected` says how many these must be; None: the call is
    refused, with `answer_bytes` and what to do instead. `seeks`: it costs the same however wide the row is."""

    call: Callable[[Ground], int]
    expected: Callable[[int], int | None]
    seeks: bool = False


def _or_refused(cells: int) -> int | None:
    """All of them, while they fit into an answer."""
    return cells if cells * _CELL_BYTES < ANSWER_BYTES else None


def _filtered(text: str, pieces: int | None = None) -> Callable[[Ground], int]:
    def call(ground: Ground) -> int:
        middle, last = ground.cells // 2, ground.cells - 1
        wanted = text.format(
            first=f"{0:09d}", middle=f"{middle:09d}", behind=f"{middle + FEW:09d}", last=f"{last:09d}",
            offset=ground.cells - FEW,
        )  # fmt: skip
        return ground.scanned(filter=wanted.encode(), scan_batching=pieces, batch_size=100)

    return call


def _get_column(ground: Ground) -> int:
    return len(ground.table.row(ground.row, columns=[ground.column(ground.cells // 2)]))


def _get_columns(ground: Ground) -> int:
    step = ground.cells // PIECE
    return len(ground.table.row(ground.row, columns=[ground.column(number * step) for number in range(PIECE)]))


def _get_row(ground: Ground) -> int:
    return len(ground.table.row(ground.row))


def _get_rows(ground: Ground) -> int:
    return len(ground.table.rows([ground.row, b"small"]))


def _first_pieces(ground: Ground) -> int:
    found = 0
    for _, cells in ground.table.scan(row_prefix=ground.row, scan_batching=PIECE, batch_size=1, limit=3):
        found += len(cells)
    return found


def _increment(ground: Ground) -> int:
    for number in range(FEW):
        ground.table.counter_inc(ground.row, b"g:counter%d" % number)
    ground.table.delete(ground.row, columns=[b"g"])
    return FEW


def _put(ground: Ground) -> int:
    ground.table.put(ground.row, {ground.column(number): b"v%015d" % number for number in range(FEW)})
    return FEW


def _next_row(ground: Ground) -> int:
    """Counting rows, as HBase's `count` does it."""
    text = b"KeyOnlyFilter() AND FirstKeyOnlyFilter()"
    return sum(1 for _ in ground.table.scan(row_start=ground.row, row_stop=ground.row + b"\x00", filter=text))


READS: Mapping[str, WideRowCall] = {
    "get of a column": WideRowCall(_get_column, lambda cells: 1, seeks=True),
    "get of 1000 columns": WideRowCall(_get_columns, lambda cells: PIECE),
    "get of the row": WideRowCall(_get_row, _or_refused),
    "get of rows": WideRowCall(_get_rows, lambda cells: _or_refused(cells) and 2),
    "scan of whole rows": WideRowCall(lambda ground: ground.scanned(), _or_refused),
    "scan in pieces": WideRowCall(lambda g: g.scanned(scan_batching=PIECE, batch_size=100), lambda cells: cells),
    "its first pieces": WideRowCall(_first_pieces, lambda cells: 3 * PIECE, seeks=True),
    "backwards in pieces": WideRowCall(
        lambda g: sum(len(cells) for _, cells in g.table.scan(
            row_start=g.row, row_stop=g.row[:-1], reverse=True, scan_batching=PIECE, batch_size=100)),
        lambda cells: cells,
    ),
    "keys in pieces": WideRowCall(_filtered("KeyOnlyFilter()", PIECE), lambda cells: cells),
    "values in pieces": WideRowCall(_filtered("ValueFilter(=, 'substring:77')", PIECE),
                                    lambda cells: sum(b"77" in b"%d" % n for n in range(cells))),
    "pattern in pieces": WideRowCall(_filtered("QualifierFilter(=, 'regexstring:5$')", PIECE),
                                     lambda cells: cells // 10),
    "ColumnPaginationFilter": WideRowCall(_filtered("ColumnPaginationFilter(10, {offset})"), lambda cells: FEW),
    "ColumnPaginationFilter, first": WideRowCall(_filtered("ColumnPaginationFilter(10, 5)"), lambda cells: FEW,
                                                 seeks=True),
    "ColumnCountGetFilter": WideRowCall(_filtered("ColumnCountGetFilter(10)"), lambda cells: FEW, seeks=True),
    "ColumnRangeFilter": WideRowCall(_filtered("ColumnRangeFilter('{middle}', true, '{behind}', false)"),
                                     lambda cells: FEW, seeks=True),
    "ColumnPrefixFilter": WideRowCall(_filtered("ColumnPrefixFilter('{last}')"), lambda cells: 1, seeks=True),
    "QualifierFilter": WideRowCall(_filtered("QualifierFilter(=, 'binary:{middle}')"), lambda cells: 1, seeks=True),
    "count of rows": WideRowCall(_next_row, lambda cells: 1, seeks=True),
    "SingleColumnValueFilter, kept": WideRowCall(
        _filtered("SingleColumnValueFilter('f', '{first}', >, 'binary:a', true, true)"), _or_refused),
    "SingleColumnValueFilter": WideRowCall(
        _filtered("SingleColumnValueFilter('f', '{last}', =, 'binary:no', true, true)"),
        lambda cells: _or_refused(cells) and 0),
    "a filter that nothing passes": WideRowCall(_filtered("ValueFilter(=, 'binary:no')"), lambda cells: 0),
}  # fmt: skip

WRITES: Mapping[str, WideRowCall] = {
    "increment": WideRowCall(_increment, lambda cells: FEW, seeks=True),
    "put of columns": WideRowCall(_put, lambda cells: FEW, seeks=True),
}
