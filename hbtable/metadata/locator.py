"""Finds the tablet of a row (paper, section 5.1): lock service -> root tablet -> METADATA tablets -> user tablets.

Locations are cached per table, as start rows that a bisection searches; a hit costs about a microsecond and no
switch. A miss reads several METADATA rows at once (the paper's prefetch). Cached locations may be wrong at any time:
whoever is told StaleLocation calls forget() and asks again. All misses in one gap of the cache share one lookup.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import final

from hbtable.encoding import tablet_record
from hbtable.errors import FileNotFound, HbtableError, StaleLocation
from hbtable.lockservice.interface import Session
from hbtable.metadata import layout
from hbtable.metadata.metadata_calls import MetadataCalls, stored
from hbtable.metadata.retry_policy import RetryPolicy
from hbtable.metadata.tiling import standing
from hbtable.model.cell import Row
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import METADATA_TABLE_ID, GoneTablet, TabletRecord
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Event, Runtime
from hbtable.switches import switches


@dataclass(frozen=True, slots=True)
class LocatorOptions:
    """Options: how much one lookup reads, and how long it tries."""

    prefetch_rows: int = 32
    """METADATA rows read by one miss. Raising it warms the cache faster and costs about 1 KB a row."""
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    """The time for which a lookup tries to reach METADATA."""


@final
class _Table:
    """The cached tablets of one table: parallel lists, ascending by start row, without overlaps."""

    __slots__ = ("records", "starts")

    def __init__(self) -> None:
        self.starts: list[bytes] = []
        self.records: list[TabletRecord] = []

    def learn(self, record: TabletRecord) -> None:
        """Takes the place of every cached tablet that it overlaps."""
        start, stop = record.range
        low = bisect_right(self.starts, start)
        if low and _reaches(self.records[low - 1], start):
            low -= 1
        high = bisect_left(self.starts, stop) if stop else len(self.starts)
        high = max(low, high)
        self.starts[low:high] = [start]
        self.records[low:high] = [record]


@final
class _Lookup:
    """A lookup under way that others wait for."""

    __slots__ = ("done", "error")

    def __init__(self, done: Event) -> None:
        self.done = done
        self.error: HbtableError | None = None


@final
class Locator:
    """One cache, shared by everything in a process."""

    def __init__(
        self, session: Session, transport: Transport, runtime: Runtime, options: LocatorOptions | None = None
    ) -> None:
        self._session = session
        self._runtime = runtime
        self._options = options or LocatorOptions()
        self._tables: dict[int, _Table] = {}
        self._lookups: dict[tuple[int, bytes], _Lookup] = {}
        self.calls = MetadataCalls(runtime, transport, self.find, self.forget, self._options.retry_policy)
        """METADATA itself, for the catalog."""

    # ---------------------------------------------------------------- lookups

    @switches
    def find(self, table_id: int, row: bytes) -> TabletRecord:
        """The tablet that holds `row`, perhaps out of date. *Switches* on a miss.

        StaleLocation when METADATA has no such tablet (the table is gone), Unavailable when METADATA is.
        """
        table = self._tables.get(table_id)
        if table is not None:
            index = bisect_right(table.starts, row)
            if index:
                record = table.records[index - 1]
                stop = record.range.stop
                if not stop or row < stop:
                    return record
        return self._miss(table_id, row, before=False)

    @switches
    def find_before(self, table_id: int, stop: bytes) -> TabletRecord:
        """The tablet of the rows right before `stop`; b"" asks for the table's last. Otherwise as find()."""
        record = self._cached_before(table_id, stop)
        return record if record is not None else self._miss(table_id, stop, before=True)

    def forget(self, table_id: int, row: bytes) -> None:
        """The location of `row` proved wrong: the next find() asks METADATA."""
        table = self._tables.get(table_id)
        if table is None:
            return
        index = bisect_right(table.starts, row) - 1
        if index >= 0 and _reaches(table.records[index], row):
            del table.starts[index]
            del table.records[index]

    def forget_before(self, table_id: int, stop: bytes) -> None:
        """As forget(), for a location that find_before() gave."""
        record = self._cached_before(table_id, stop)
        if record is not None:
            self.forget(table_id, record.range.start)

    def forget_table(self, table_id: int) -> None:
        self._tables.pop(table_id, None)

    @switches
    def tablets(self, table_id: int) -> list[TabletRecord]:
        """Every tablet of the table as METADATA has it now, ascending; [] when there are none."""
        found = [] if table_id != METADATA_TABLE_ID else [self.read_root()]
        found += standing(tablets_of(self.calls.rows(layout.tablet_rows(table_id))))
        for record in found:
            self._learn(record)
        return found

    @switches
    def read_root(self) -> TabletRecord:
        """The root tablet's record from the lock service. StaleLocation while the cluster has none."""
        try:
            file = self._session.read(layout.ROOT_PATH)
        except FileNotFound:
            raise StaleLocation("the cluster has no root tablet yet: it was never started") from None
        return tablet_record.decode(file.data, layout.ROOT_PATH)

    # ---------------------------------------------------------------- misses

    def _cached(self, table_id: int, row: bytes, before: bool) -> TabletRecord | None:
        return self._cached_before(table_id, row) if before else self.cached(table_id, row)

    def cached(self, table_id: int, row: bytes) -> TabletRecord | None:
        """As find(), of what is in the cache alone. Does not switch."""
        table = self._tables.get(table_id)
        index = bisect_right(table.starts, row) if table is not None else 0
        if table is None or not index or not _reaches(table.records[index - 1], row):
            return None
        return table.records[index - 1]

    def _cached_before(self, table_id: int, stop: bytes) -> TabletRecord | None:
        table = self._tables.get(table_id)
        if table is None:
            return None
        index = bisect_left(table.starts, stop) if stop else len(table.starts)
        if not index:
            return None
        record = table.records[index - 1]
        end = record.range.stop
        return record if not end or (stop and end >= stop) else None

    @switches
    def _miss(self, table_id: int, row: bytes, before: bool) -> TabletRecord:
        """One task looks up; the others that miss in the same gap wait for it, and share its failure."""
        while True:
            gap = (table_id, self._gap(table_id, row, before))
            lookup = self._lookups.get(gap)
            if lookup is None:
                break
            lookup.done.wait()
            if lookup.error is not None:
                raise lookup.error
            record = self._cached(table_id, row, before)
            if record is not None:
                return record
        lookup = self._lookups[gap] = _Lookup(self._runtime.event())
        try:
            return self._look_up(table_id, row, before)
        except HbtableError as error:
            lookup.error = error
            raise
        finally:
            del self._lookups[gap]
            lookup.done.set()

    def _gap(self, table_id: int, row: bytes, before: bool) -> bytes:
        """The first row of the uncached stretch around `row`."""
        if _in_root(table_id, row, before):
            return layout.ROOT_PATH.encode()  # not the gap of a METADATA tablet, whose lookup waits for the root's
        table = self._tables.get(table_id)
        if table is None:
            return b""
        if before:
            index = bisect_left(table.starts, row) if row else len(table.starts)
        else:
            index = bisect_right(table.starts, row)
        return table.records[index - 1].range.stop if index else b""

    @switches
    def _look_up(self, table_id: int, row: bytes, before: bool) -> TabletRecord:
        if _in_root(table_id, row, before):
            root = self.read_root()
            self._learn(root)
            return root
        key = layout.first_key_before(table_id, row) if before else layout.first_key_for(table_id, row)
        start: bytes | None = key
        stop = layout.tablet_rows(table_id).stop
        while start is not None:
            rows, start = self.calls.page(RowRange(start, stop), self._options.prefetch_rows)
            records = list(tablets_of(rows))
            if records:  # else all that was read were tablets that are gone
                return self._choose(records, table_id, row, before)
        raise StaleLocation(f"METADATA has no tablet of table {table_id} for row {row!r}")

    @switches
    def _choose(self, records: list[TabletRecord], table_id: int, row: bytes, before: bool) -> TabletRecord:
        """Keeps all that was read; the one asked for is the first that reaches past the row."""
        chosen: TabletRecord | None = None
        for record in standing(records):
            start, stop = record.range
            if stop and (not row or row > stop if before else row >= stop):
                continue  # an embedded left child, read without its own row, which may be newer
            if (not row or start < row) if before else start <= row:
                chosen = record
            self._learn(record)
        if chosen is None:
            raise StaleLocation(f"METADATA has a hole: no tablet of table {table_id} covers row {row!r}")
        return chosen

    def _learn(self, record: TabletRecord) -> None:
        table = self._tables.get(record.table_id)
        if table is None:
            table = self._tables[record.table_id] = _Table()
        table.learn(record)


@switches
def tablets_of(rows: Iterable[Row], gone: list[GoneTablet] | None = None) -> Iterator[TabletRecord]:
    """The tablets of METADATA rows as scanned. Those that were merged away are left out, and added to `gone`."""
    for key, cells in rows:
        found = tablet_record.decode_row(stored(cells) or b"", f"METADATA row {key!r}")
        if isinstance(found, TabletRecord):
            yield found
        elif gone is not None:
            gone.append(found)


def _in_root(table_id: int, row: bytes, before: bool) -> bool:
    if table_id != METADATA_TABLE_ID:
        return False
    return b"" < row <= layout.ROOT_STOP if before else row < layout.ROOT_STOP


def _reaches(record: TabletRecord, row: bytes) -> bool:
    stop = record.range.stop
    return not stop or row < stop
