"""hbase:meta, read as any other table: by row or by scan, with columns, times and filters. It is never written."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NoReturn, final

from hbtable.client.table_calls import AheadPage
from hbtable.errors import InvalidRequest
from hbtable.filters.evaluate import RowFilter, start
from hbtable.filters.grammar import parse
from hbtable.hbase.conversion import check_families
from hbtable.hbase.errors import DO_NOT_RETRY, JavaError
from hbtable.hbase.meta.layout import META, RECORD, order
from hbtable.hbase.meta.meta_rows import MetaRow, MetaRows, NewLook
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.names import shown
from hbtable.model.ranges import RowRange, successor
from hbtable.model.read import LIVES_FOREVER, ReadSpec, ScanPage, ScanRequest, bytes_of, check_request
from hbtable.model.table import TableRecord
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches
from hbtable.tablet.reads.long_rows import rows_too_large
from hbtable.tablet.reads.look_ahead import ask_worker
from hbtable.tablet.reads.page import ROW_DONE, PageBuilder

_ROWS_BETWEEN_PAUSES: Final = 64
_READ_ONLY: Final = (
    "hbase:meta shows what METADATA holds, and is read-only: tables are changed by create, alter, enable, disable and "
    "drop, and regions by move, split and merge_region"
)


@final
class MetaTable:
    """A client.table_calls.NamedGatewayTableCalls. Everybody may read it, as HBase's."""

    name = META

    def __init__(self, runtime: Runtime, look: NewLook) -> None:
        self._look = look
        self._pause = partial(runtime.sleep, 0)
        self._ask = ask_worker(runtime)

    def record(self) -> TableRecord:
        return RECORD

    def shown_name(self) -> str:
        return shown(META)

    # ---------------------------------------------------------------- reads

    @switches
    def read_rows(self, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        choose = _chooser(spec)
        look = self._look()
        found: list[Row] = []
        left_bytes = spec.max_bytes
        for number, row in enumerate(rows, 1):
            cells = choose(look.row(row))
            if cells and spec.filter is not None:
                sieve = self._filter(spec.filter)
                cells = [] if sieve.skips_row(row) else sieve.apply(row, cells, spec.max_versions)
            if cells:
                found.append((row, cells))
                left_bytes -= bytes_of(row, cells)
                if left_bytes < 0:
                    raise rows_too_large(row, len(rows), spec.max_bytes)
            if not number % _ROWS_BETWEEN_PAUSES:
                self._pause()
        return found

    @switches
    def scan_page(self, request: ScanRequest) -> ScanPage:
        check_request(request)
        spec, position = request.spec, request.position
        choose = _chooser(spec, request)
        sieve = None
        if spec.filter is not None:
            if spec.raw:
                raise InvalidRequest("a raw scan shows what is stored as it is: it takes no filter")
            sieve = self._filter(spec.filter, request.reversed, b"" if position is None else position.filter_state)
        page = PageBuilder(request, sieve)
        if page.is_finished():
            return page.page(True)
        for number, (row, cells) in enumerate(_within(request, self._look()), 1):
            page.scanned += 1
            chosen = choose(cells)
            if page.resumption is not None and position is not None and row == position.row:
                chosen = [cell for cell in chosen if cell[0] > position.column]  # the page takes it to begin there
            if chosen and page.add(row, chosen):
                return page.page(False)._replace(tablets=int(position is None))
            if not number % _ROWS_BETWEEN_PAUSES:
                self._pause()
        return page.page(True)._replace(tablets=int(position is None))

    def page_ahead(self, request: ScanRequest) -> AheadPage | None:
        """None: nobody knows later whether it is still that."""

    @switches
    def _filter(self, text: bytes, is_reversed: bool = False, state: bytes = b"") -> RowFilter:
        """BadFilter."""
        return start(parse(text, self._pause), is_reversed, state, self._pause, self._ask)

    # ---------------------------------------------------------------- writes

    def mutate(self, mutations: Sequence[RowMutation]) -> None:
        _refuse()

    def increment(self, row: bytes, family: bytes, qualifier: bytes, amount: int) -> int:
        _refuse()

    def append(self, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int = 0) -> list[Cell]:
        _refuse()

    def check_and_mutate(
        self, row: bytes, family: bytes, qualifier: bytes, expected: bytes | None, mutation: RowMutation
    ) -> bool:
        _refuse()

    def mutate_if(self, row: bytes, spec: ReadSpec, operator: str, value: bytes | None, mutation: RowMutation) -> bool:
        _refuse()

    def add_to_columns(self, mutation: RowMutation) -> list[Cell]:
        _refuse()

    def delete_range(self, rows: RowRange, timestamp: int) -> None:
        _refuse()


def _refuse() -> NoReturn:
    raise JavaError(DO_NOT_RETRY, _READ_ONLY)


@switches
def _within(request: ScanRequest, look: MetaRows) -> Iterator[MetaRow]:
    """The rows that the scan has yet to read, in its order."""
    low, high, position = request.range.start, request.range.stop, request.position
    if not request.reversed:
        if position is not None:
            low = successor(position.row) if position.cells_done >= ROW_DONE else position.row
        for found in look.ascending(low):
            if high and order(found[0]) >= order(high):
                return
            yield found
        return
    last = high if position is None else position.row
    # A range ends before its stop; a position names a row that may not be done.
    is_done = position is None or position.cells_done >= ROW_DONE
    for found in look.descending(last):
        if is_done and found[0] == last:
            continue
        if order(found[0]) < order(low):
            return
        yield found


def _chooser(spec: ReadSpec, request: ScanRequest | None = None) -> Callable[[list[Cell]], list[Cell]]:
    """Of a row's cells those that are asked for. NoSuchFamily."""
    check_families(spec.columns, RECORD.schema.families, META)
    columns, times = spec.columns, (request.family_times if request is not None else None) or {}

    def wanted(cell: Cell) -> bool:
        family, _, qualifier = cell[0].partition(b":")
        if columns is not None:
            if family not in columns:
                return False
            qualifiers = columns[family]
            if qualifiers is not None and qualifier not in qualifiers:
                return False
        low, high = times.get(family, (spec.min_timestamp, spec.max_timestamp))
        return low <= cell[1] < high

    def choose(cells: list[Cell]) -> list[Cell]:
        found = [cell for cell in cells if wanted(cell)]
        if spec.lifetimes:
            return [(column, timestamp, LIVES_FOREVER + value) for column, timestamp, value in found]
        if spec.raw:
            return [(column, timestamp, bytes((PUT,)) + value) for column, timestamp, value in found]
        return found

    return choose
