"""Calls that may have met in another order on the two servers, so that a difference says nothing.

Two writes to one row whose calls overlapped: the primary alone knows which was first. A read that overlapped a write,
on either server: one may have seen it and the other not. Such rows are in doubt, and so are those of which the
secondary lacks a write. And what lies behind a delete, or is a version too many, is seen until a compaction: each
server has its own.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple, final

from hbtable.shell.shadow.calls import CATALOG, Cells, Kind, Touch

ORDER: Final = "order unknown"
MILLISECOND: Final = "two writes within a millisecond"
LACKS: Final = "the secondary lacks a write"
HAS_MORE: Final = "the secondary has a write that the primary refused"
OUTCOME: Final = "the primary's outcome is unknown"
NAMED_TIME: Final = "a time that the primary may have chosen"
COMPACTION: Final = "a compaction decides what is seen"
FORGOTTEN: Final = "too many writes to remember"
FORGOTTEN_TIMES: Final = "too many times to remember"

_NEVER: Final = float("inf")
_ONE_MILLISECOND: Final = 0.0011
_REMEMBERED: Final = 300_000
_OF_A_ROW: Final = 1000
_KEEP_SECONDS: Final = 2.0
_PRUNE_EACH: Final = 1000
_DOUBTS: Final = 200_000
_Key = tuple[bytes, bytes]
_OfRow = list[tuple["Write", frozenset[bytes] | None]]
"""Writes of one row, and its columns that they write."""
_TABLES: Final = (Cells(CATALOG, b""),)
_LIST_OF_TABLES: Final = CATALOG, b""


class Write:
    """A write under way, of rows or of the list of tables. Times are the proxy's: when it was sent to the primary and
    answered, when it was sent to the secondary and answered."""

    __slots__ = ("acked", "begun", "cells", "ended", "places", "sent", "touch")

    def __init__(self, touch: Touch, sent: float) -> None:
        self.touch = touch
        self.cells = _TABLES if touch.kind is Kind.SCHEMA else _once_each(touch.rows)
        self.sent = sent
        self.places = len(self.cells)
        """It is remembered in so many rows."""
        self.acked = self.begun = self.ended = _NEVER


class _Doubt(NamedTuple):
    """`settled`: the write that ended it, for reads behind it on both servers."""

    reason: str
    settled: Write | None = None


class ReadSpan(NamedTuple):
    """The time of a read on both servers."""

    sent: float
    acked: float
    begun: float
    ended: float


@final
class Races:
    """Of all connections."""

    def __init__(self, clock: Callable[[], float], wall_millis: Callable[[], int]) -> None:
        self._clock = clock
        self._wall_millis = wall_millis
        self._lock = threading.Lock()
        self._under_way: dict[_Key, _OfRow] = {}
        """Writes that the primary has not answered."""
        self._rows: dict[_Key, _OfRow] = {}
        """Those that it has, of each row in the order of its answers. The last thousand are kept."""
        self._forgotten_of_row: dict[_Key, float] = {}
        """By row, the time of the answer to the last one that was not kept for that."""
        self._order: OrderedDict[Write, None] = OrderedDict()
        """All that are in _rows, in the order of the answers."""
        self._remembered = 0
        self._just_ended: deque[Write] = deque()
        """Those that the secondary answered within the last millisecond."""
        self._since_pruned = 0
        self._doubts: dict[_Key, dict[bytes | None, _Doubt]] = {}
        """By column; None: of all columns that are not named."""
        self._close: dict[_Key, None] = {}
        """Rows whose older versions are in doubt."""
        self._to_come: dict[_Key, None] = {}
        """Rows with cells of a time that is to come: they hide what is put now."""
        self._deleted: dict[_Key, None] = {}
        self._rewritten: dict[_Key, float] = {}
        """The times at which they were written for the second time."""
        self._written: dict[_Key, None] = {}
        self._doubtful_tables: set[bytes] = set()
        self._spans: dict[object, float] = {}
        self._forgotten = -_NEVER

    def begin(self, touch: Touch) -> Write:
        """A write is about to be sent to the primary."""
        with self._lock:
            write = Write(touch, self._clock())
            for cells in write.cells:
                self._under_way.setdefault((cells.table, cells.row), []).append((write, cells.columns))
        return write

    def acknowledged(self, write: Write) -> None:
        """The primary has answered, and the turn on the secondary is taken."""
        with self._lock:
            write.acked = self._clock()
            self._order[write] = None
            for cells in write.cells:
                key = cells.table, cells.row
                met = [
                    self._look_at(cells, other, write)
                    for other, columns in self._near(key, write)
                    if _meet(columns, cells.columns)
                ]
                if write.sent < self._forgotten_of_row.get(key, -_NEVER):
                    self._doubt(cells, ORDER)
                elif write.touch.puts and not any(met):
                    self._settle(cells, write)
                self._note(cells, write.touch)
                self._keep(key, write, cells.columns)
            self._since_pruned += 1
            if self._since_pruned >= _PRUNE_EACH:
                self._prune()

    def _near(self, key: _Key, write: Write) -> Iterator[tuple[Write, frozenset[bytes] | None]]:
        """Others of this row that had not been answered when it was sent, or right before."""
        yield from (one for one in self._under_way.get(key, ()) if one[0] is not write)
        for one in reversed(self._rows.get(key, ())):
            if one[0].acked <= write.sent - _ONE_MILLISECOND:
                return
            if one[0] is not write:
                yield one

    def _keep(self, key: _Key, write: Write, columns: frozenset[bytes] | None) -> None:
        _take_out(self._under_way, key, write)
        of_row = self._rows.setdefault(key, [])
        of_row.append((write, columns))
        self._remembered += 1
        if len(of_row) > _OF_A_ROW:
            first, _ = of_row.pop(0)
            self._forgotten_of_row[key] = first.acked
            self._remembered -= 1
            first.places -= 1
            if not first.places:
                del self._order[first]

    def _note(self, cells: Cells, touch: Touch) -> None:
        key = cells.table, cells.row
        if touch.times and max(touch.times) > self._wall_millis():
            _remember(self._to_come, key)
        if touch.deletes:
            _remember(self._deleted, key)
        elif touch.times and key in self._deleted:
            self._doubt(cells, COMPACTION)
        if key not in self._written:
            _remember(self._written, key)
        elif key not in self._rewritten:
            _remember(self._rewritten, key, self._clock())

    def _look_at(self, cells: Cells, other: Write, write: Write) -> bool:
        """Whether the two were so near that their order is open."""
        if other.sent < write.acked and other.acked > write.sent:
            if not (other.touch.adds and write.touch.adds):
                self._doubt(cells, ORDER)
            return True
        if not 0 <= write.sent - other.acked < _ONE_MILLISECOND:
            return False
        _remember(self._close, (cells.table, cells.row))
        if other.touch.deletes:  # what is put in the millisecond of a delete is deleted
            self._doubt(cells, MILLISECOND)
        return True

    def _settle(self, cells: Cells, write: Write) -> None:
        """A put that nobody raced is the newest on both servers, whatever was in doubt. Older versions stay so."""
        key = cells.table, cells.row
        known = self._doubts.get(key)
        if known is None or key in self._to_come:
            return
        _remember(self._close, key)
        for column in cells.columns or ():
            doubt = known.get(column) or known.get(None)
            if doubt is not None and doubt.settled is None:
                known[column] = _Doubt(doubt.reason, write)

    def begins_at_secondary(self, write: Write) -> None:
        write.begun = self._clock()

    def ended_at_secondary(self, write: Write) -> None:
        with self._lock:
            write.ended = self._clock()
            self._just_ended.append(write)
            self._let_go(write.ended)

    def _let_go(self, now: float) -> None:
        while self._just_ended and self._just_ended[0].ended <= now - _ONE_MILLISECOND:
            self._just_ended.popleft()

    def pause(self, write: Write) -> float:
        """Seconds until the secondary's clock gives this write another millisecond than those before it on its rows,
        where the primary's did."""
        if write.touch.adds:
            return 0.0
        with self._lock:
            now = self._clock()
            self._let_go(now)
            rows = {(cells.table, cells.row) for cells in write.cells} if self._just_ended else ()
            ends = [
                other.ended
                for other in self._just_ended
                if (other.touch.deletes or write.sent - other.acked >= _ONE_MILLISECOND)
                and any((cells.table, cells.row) in rows for cells in other.cells)
            ]
        return max(0.0, max(ends, default=-_NEVER) + _ONE_MILLISECOND - now)

    def drop(self, write: Write, reason: str) -> None:
        """It was not carried out on both. `reason`: "" when the primary refused it, and nobody has it."""
        with self._lock:
            for cells in write.cells:
                key = cells.table, cells.row
                _take_out(self._under_way, key, write)
                self._remembered -= _take_out(self._rows, key, write)
                if reason:
                    self._doubt(cells, reason)
            self._order.pop(write, None)
            write.acked = write.ended = -_NEVER

    def doubt(self, rows: Iterable[Cells], reason: str) -> None:
        with self._lock:
            for cells in rows:
                self._doubt(cells, reason)

    def _doubt(self, cells: Cells, reason: str) -> None:
        key = cells.table, cells.row
        if cells.table in self._doubtful_tables:
            return
        if key not in self._doubts and len(self._doubts) >= _DOUBTS:
            settled = [one for one, known in self._doubts.items() if all(doubt.settled for doubt in known.values())]
            for one in settled:
                del self._doubts[one]
            if not settled:
                self._doubtful_tables.add(cells.table)
                return
        known = self._doubts.setdefault(key, {})
        if cells.columns is None:
            known.clear()
        for column in cells.columns or (None,):
            if column not in known or known[column].settled is not None:
                known[column] = _Doubt(reason)

    # ------------------------------------------------------------ reading

    def reading(self, what: object, since: float) -> None:
        """A read or a scanner that began at `since` may be asked about."""
        with self._lock:
            self._spans[what] = since

    def read(self, what: object) -> None:
        with self._lock:
            self._spans.pop(what, None)

    def reason(
        self,
        table: bytes,
        row: bytes | None,
        column: bytes | None,
        span: ReadSpan,
        but: Write | None = None,
        by_versions: bool = False,
        before_a_time: bool = False,
    ) -> str:
        """The reason why the two may differ here though both are right; "" when they may not. `row` None: anywhere in
        the table; `column` None: in the row.
        `but`: the write whose own answer this is. `by_versions`: older versions are compared, too.
        `before_a_time`: these alone."""
        key = table, row or b""
        columns = None if column is None else frozenset((column,))
        with self._lock:
            for write, _ in self._of(_LIST_OF_TABLES):
                is_of_table = not table or table in write.touch.tables
                if write is not but and is_of_table and not _ordered(write, span):
                    return ORDER
            if row is None:
                return ""
            forgotten = max(self._forgotten, self._forgotten_of_row.get(key, -_NEVER))
            if table in self._doubtful_tables or span.sent < forgotten:
                return FORGOTTEN
            if reason := _doubtful(self._doubts.get(key, {}), column, span):
                return reason
            if by_versions and key in self._close:
                return MILLISECOND
            if before_a_time and self._rewritten.get(key, _NEVER) < span.acked:
                return COMPACTION
            for write, of_row in self._of(key):
                if write is not but and not _ordered(write, span) and _meet(of_row, columns):
                    return ORDER
        return ""

    def _of(self, key: _Key) -> Iterator[tuple[Write, frozenset[bytes] | None]]:
        """The latest first."""
        yield from self._under_way.get(key, ())
        yield from reversed(self._rows.get(key, ()))

    def _prune(self) -> None:
        self._since_pruned = 0
        oldest = min(self._spans.values(), default=_NEVER)
        oldest = min(oldest, self._clock() - _KEEP_SECONDS)
        while self._order:
            write = next(iter(self._order))
            if max(write.acked, write.ended) >= oldest:
                if self._remembered <= _REMEMBERED:
                    return
                self._forgotten = write.acked  # what is sent later has a later turn on the secondary, too
            del self._order[write]
            for cells in write.cells:
                key = cells.table, cells.row
                self._remembered -= _take_out(self._rows, key, write)
                if key not in self._rows:
                    self._forgotten_of_row.pop(key, None)  # nobody asks about that time, or _forgotten says it


def _take_out(rows: dict[_Key, _OfRow], key: _Key, write: Write) -> int:
    """The write is no longer among those of this row. 0: it was not there."""
    of_row = rows.get(key, [])
    if of_row and of_row[0][0] is write:  # mostly
        found = [of_row.pop(0)]
    else:
        found = [one for one in of_row if one[0] is write]
        for one in found:
            of_row.remove(one)
    if not of_row:
        rows.pop(key, None)
    return len(found)


def _doubtful(known: dict[bytes | None, _Doubt], column: bytes | None, span: ReadSpan) -> str:
    if column is None or not column.partition(b":")[2]:
        doubts = list(known.values())
    else:
        doubt = known.get(column) or known.get(None)
        doubts = [] if doubt is None else [doubt]
    for doubt in doubts:
        settled = doubt.settled
        if settled is None or settled.acked > span.sent or settled.ended > span.begun:
            return doubt.reason
    return ""


def _remember(known: dict[_Key, Any], key: _Key, value: float | None = None) -> None:
    known[key] = value
    if len(known) > _DOUBTS + _PRUNE_EACH:  # many at once: the way to a dict's first key is past all that were there
        for first in list(islice(known, _PRUNE_EACH)):
            del known[first]


def _meet(one: frozenset[bytes] | None, other: frozenset[bytes] | None) -> bool:
    """None is every column, and so is a family's name."""
    if one is None or other is None or any(not column.partition(b":")[2] for column in (*one, *other)):
        return True
    return not one.isdisjoint(other)


def _once_each(rows: tuple[Cells, ...]) -> tuple[Cells, ...]:
    """A batch may name a row several times."""
    if len(rows) < 2:
        return rows
    found: dict[_Key, Cells] = {}
    for one in rows:
        before = found.get((one.table, one.row), one)
        columns = None if before.columns is None or one.columns is None else before.columns | one.columns
        found[one.table, one.row] = one._replace(columns=columns)
    return tuple(found.values())


def _ordered(write: Write, span: ReadSpan) -> bool:
    before = write.acked <= span.sent and write.ended <= span.begun
    return before or (write.sent >= span.acked and write.begun >= span.ended)
