"""Scanners of Thrift2, which are the same as Thrift1's: one table of them, one range of numbers."""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Callable
from typing import Final, final

from hbtable.client.scanning import BETWEEN_TABLETS
from hbtable.errors import ScannerNotFound
from hbtable.hbase.calls.scanner_calls import ScannerCalls, range_of
from hbtable.hbase.calls.scanners import Scanner
from hbtable.hbase.codec.thrift2_structs import Thrift2Scan, TResult
from hbtable.hbase.errors import BadArgument
from hbtable.hbase.thrift2.conversion import family_times, result, scan_spec
from hbtable.model.read import ScanPosition, ScanRequest
from hbtable.runtime.slices import OwnList, let_go_rows
from hbtable.switches import switches

_ROWS_BETWEEN_PAUSES: Final = 64


@final
class Thrift2ScannerCalls:
    """Thrift2's calls on scanners, which are Thrift1's with the same limits."""

    def __init__(self, calls: ScannerCalls, answer_bytes: int, pause: Callable[[], None]) -> None:
        self._calls = calls
        self._pause = pause
        self._answer_bytes = answer_bytes

    @switches
    def openScanner(self, table: bytes, scan: Thrift2Scan) -> int:
        return self._calls.open_scanner(table, self._request(scan), False, _limit(scan))

    @switches
    def getScannerRows(self, number: int, count: int | None) -> list[TResult]:
        try:
            scanner = self._calls.scanners.use(number)
        except ScannerNotFound:
            raise BadArgument("Invalid scanner Id", bare=True) from None
        with scanner.lock:
            return self._fetch(scanner, _wanted(count))

    def closeScanner(self, number: int) -> None:
        """Succeeds for a scanner that is not open, as in HBase."""
        try:
            self._calls.scanners.close(number)
        except ScannerNotFound:
            return

    @switches
    def getScannerResults(self, table: bytes, scan: Thrift2Scan, count: int | None) -> list[TResult]:
        wanted = _wanted(count)
        return self._fetch(self._calls.unnumbered(table, self._request(scan), _limit(scan)), wanted)

    @switches
    def _request(self, scan: Thrift2Scan) -> ScanRequest:
        backwards = bool(scan.reversed)
        rows = range_of(scan.start_row or b"", scan.stop_row or b"", backwards)
        spec, pieces = scan_spec(scan, self._answer_bytes, self._pause), max(scan.batch_size or 0, 0)
        return ScanRequest(rows, spec, backwards, pieces, family_times=family_times(scan))

    @switches
    def _fetch(self, scanner: Scanner, wanted: int) -> list[TResult]:
        before = scanner.position
        rows = self._calls.fetch(scanner, wanted).rows(self._pause)
        pieces: OwnList[TResult] = OwnList()
        for place, (row, cells) in enumerate(rows):
            following = rows[place + 1][0] if place + 1 < len(rows) else None
            pieces.append(result(row, cells, self._pause, _goes_on(scanner, row, following)))
            if place % _ROWS_BETWEEN_PAUSES == _ROWS_BETWEEN_PAUSES - 1:
                self._pause()
        let_go_rows(rows, self._pause)
        return pieces if scanner.rows_left is None else _limited(scanner, pieces, before)


def _goes_on(scanner: Scanner, row: bytes, following: bytes | None) -> bool:
    """Whether another piece of the row comes. Positions behind a whole row count more cells than a row can have."""
    if not scanner.request.cells_per_row:
        return False
    if following is not None:
        return following == row
    position = scanner.position
    return position is not None and position.row == row and 0 < position.cells_done < BETWEEN_TABLETS


def _limited(scanner: Scanner, pieces: list[TResult], before: ScanPosition | None) -> list[TResult]:
    """As many rows as are left of the scan's limit: rows, not pieces of them."""
    assert scanner.rows_left is not None
    last = before.row if before is not None and before.cells_done else None
    for place, piece in enumerate(pieces):
        if piece.row == last:
            continue
        if not scanner.rows_left:
            scanner.ended = True
            del pieces[place:]
            return pieces
        scanner.rows_left -= 1
        last = piece.row
    if not scanner.rows_left and not (pieces and pieces[-1].partial):
        scanner.ended = True
    return pieces


def _limit(scan: Thrift2Scan) -> int | None:
    return scan.limit if scan.limit is not None and scan.limit > 0 else None


def _wanted(count: int | None) -> int:
    if count is not None and count < 0:
        raise BadArgument(f"a scanner cannot return {count} rows; ask for 1 or more")
    return 1 if count is None else count
