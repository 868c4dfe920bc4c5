"""The rows of two scanners, compared as streams: their ids differ, and the ends of their pages may. And all scans that
clients have open."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, final

from hbtable.shell.shadow.comparing import Difference, SameTime, only, row
from hbtable.shell.shadow.races import Races

_ROWS_AT_ONCE: Final = 1000
_Fetch = Callable[[int], list[Any]]


class FetchFailed(Exception):
    """The secondary answered with an error in the place of rows."""

    def __init__(self, error: Any) -> None:
        super().__init__(str(error))
        self.error = error


@final
class Scanned:
    """One scan. `in_pieces`: a row may come as several results. `secondary_id` is set when the secondary has opened
    it."""

    def __init__(
        self, table: bytes, id: int, is_reversed: bool, in_pieces: bool, sent: float, not_comparable: str
    ) -> None:
        self.table = table
        self.id = id
        self.sent = sent
        self.begun = float("inf")
        self.secondary_id: int | None = None
        self.not_comparable = not_comparable
        """The reason why not; "": it is compared."""
        self.before_a_time = False
        self.used = sent, sent
        """The times at which the primary and the secondary last answered a call of it."""
        self.connection: object = None
        """The one by which the secondary opened it."""
        self.owner: object = None
        """The connection that opened it."""
        self.calls = 0
        """So many calls of it were answered and neither compared nor left out yet."""
        self.last_call = sent
        self.is_closed = False
        self._is_reversed = is_reversed
        self._in_pieces = in_pieces
        self._primary: deque[Any] = deque()
        self._secondary: deque[Any] = deque()
        self._ended = False
        self._lock = threading.Lock()

    def differences(self, page: Sequence[Any], asked: int, fetch: _Fetch, same_time: SameTime) -> Iterator[Difference]:
        """`page` is the primary's next, and its end when it is empty though rows were asked for. `fetch` gets so many
        rows of the secondary, or raises FetchFailed."""
        with self._lock:
            if not page and asked <= 0:
                for one in fetch(asked):
                    yield only(self.table, one, at_primary=False)
                return
            self._add(self._primary, page)
            while self._is_whole(self._primary, not page):
                if not self._is_whole(self._secondary, self._ended) and not self._ended:
                    self._more(fetch, len(self._primary))
                else:
                    yield from self._first(same_time)
            if not page and not self._ended:
                self._more(fetch, _ROWS_AT_ONCE)
                self._ended = True
            while not page and self._secondary:
                yield only(self.table, self._secondary.popleft(), at_primary=False)

    def rested(self, sent: float, begun: float) -> tuple[float, float]:
        """For how long on each server, when the next call began on them."""
        return sent - self.used[0], begun - self.used[1]

    def _first(self, same_time: SameTime) -> Iterator[Difference]:
        one = self._primary[0]
        other = self._secondary[0] if self._secondary else None
        if other is not None and one.row == other.row:
            yield from row(self.table, self._primary.popleft(), self._secondary.popleft(), same_time)
        elif other is None or (one.row < other.row) != self._is_reversed:
            yield only(self.table, self._primary.popleft(), at_primary=True)
        else:
            yield only(self.table, self._secondary.popleft(), at_primary=False)

    def _is_whole(self, results: deque[Any], ended: bool) -> bool:
        """Whether nothing more comes of the first row."""
        return len(results) > 1 or (bool(results) and (ended or not self._in_pieces))

    def _more(self, fetch: _Fetch, rows: int) -> None:
        found = fetch(rows)
        self._add(self._secondary, found)
        self._ended = not found

    def _add(self, results: deque[Any], found: Sequence[Any]) -> None:
        for one in found:
            if self._in_pieces and results and results[-1].row == one.row:
                results[-1] = _joined(results[-1], one)
            else:
                results.append(one)


@final
class Scans:
    """Scans that clients have open, by the primary's id. Until a scan is closed and its last call compared, `races` is
    told that it may be asked about a time as early as that of the scan."""

    def __init__(self, races: Races) -> None:
        self._races = races
        self._lock = threading.Lock()
        self._open: dict[int, Scanned] = {}

    def opened(self, scan: Scanned, owner: object) -> None:
        """By a call that is to be compared: done() follows."""
        with self._lock:
            before = self._open.get(scan.id)
            if before is not None:  # the primary began anew
                self._close(before)
            scan.owner, scan.calls = owner, 1
            self._open[scan.id] = scan
            self._races.reading(scan, scan.sent)

    def called(self, id: int, at: float, closes: bool) -> Scanned | None:
        """The scan of a call that is to be compared: done() follows. None: it is not known."""
        with self._lock:
            scan = self._open.get(id)
            if scan is not None:
                scan.calls += 1
                scan.last_call = at
                if closes:
                    self._close(scan)
            return scan

    def done(self, scan: Scanned) -> None:
        """A call was compared or left out."""
        with self._lock:
            scan.calls -= 1
            self._let_go(scan)

    def left(self, owner: object) -> None:
        """A connection ended, whose calls are done."""
        self._close_those(lambda scan: scan.owner is owner)

    def forget(self, before: float) -> None:
        """Clients that leave scanners open are many, and servers forget such scanners, too."""
        self._close_those(lambda scan: not scan.calls and scan.last_call < before)

    def _close_those(self, is_meant: Callable[[Scanned], bool]) -> None:
        with self._lock:
            for scan in [scan for scan in self._open.values() if is_meant(scan)]:
                self._close(scan)

    def _close(self, scan: Scanned) -> None:
        del self._open[scan.id]
        scan.is_closed = True
        self._let_go(scan)

    def _let_go(self, scan: Scanned) -> None:
        if not scan.calls and (scan.is_closed or scan.not_comparable):
            self._races.read(scan)


def _joined(first: Any, piece: Any) -> Any:
    """A row of two pieces. The pieces themselves may be on their way to a client."""
    joined = type(first)(row=first.row)
    if first.columns or piece.columns:
        joined.columns = {**(first.columns or {}), **(piece.columns or {})}
    if first.sortedColumns or piece.sortedColumns:
        joined.sortedColumns = [*(first.sortedColumns or ()), *(piece.sortedColumns or ())]
    return joined
