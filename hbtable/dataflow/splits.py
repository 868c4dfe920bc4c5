"""A table cut into splits: ranges of rows that tasks read by themselves, one for each tablet or finer."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypedDict

from hbtable.client.columns import K, Key, listed
from hbtable.client.filter_text import Filter
from hbtable.client.given import whole_number
from hbtable.client.rows import row_range, scan_spec
from hbtable.dataflow.pickled import between_releases
from hbtable.dataflow.places import Place, place_of
from hbtable.errors import AccessDenied
from hbtable.library.table import Table
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.ranges import RowRange
from hbtable.runtime.repeated import wall_millis
from hbtable.switches import switches

if TYPE_CHECKING:
    from pyarrow import DataType

_KEYS_ONLY: Final = b"FirstKeyOnlyFilter() AND KeyOnlyFilter()"
MOST_SPLITS: Final = 100_000
"""Most that a caller may ask for; a table of more tablets has more. Each is a task of an engine."""
_CUT_BYTES: Final = 8
"""Cuts differ within so many bytes behind what all rows begin with."""


@between_releases
@dataclass(frozen=True, slots=True)
class Split:
    """Some rows of a table, for one task in any process: it can be pickled, and shows no secret."""

    place: Place
    table: bytes
    row_start: bytes
    """Inclusive."""
    row_stop: bytes
    """Exclusive; b"": to the end."""
    timestamp: int
    """Milliseconds since 1970, exclusive: later cells are not read. The same in all splits of a job."""
    columns: tuple[bytes, ...] | None = None
    """Columns and families; None: all."""
    types: "Mapping[str | bytes, DataType | None] | None" = field(default=None, hash=False)
    """By column, for read_arrow(); None: it gives a record a cell."""
    filter: bytes | None = None
    versions: int | None = None
    server: str = ""
    """HOST:PORT of the server that had the rows when the job began, "" where that is not known: to run the task near
    it. Whoever has them when the task runs is asked."""
    table_id: int = 0
    """The table's number, which no other one gets: its name may be used again, and truncating gives it another. 0: any
    table of this name is read."""


class RowsOfSplits(TypedDict, total=False):
    """The arguments of splits() that say what is read, as functions that call it take them."""

    row_start: Key | None
    row_stop: Key | None
    row_prefix: Key | None
    filter: Key | Filter | None
    timestamp: int | None


@switches
def splits(
    table: Table,
    columns: "Mapping[K, DataType | None] | Iterable[Key] | None" = None,
    *,
    row_start: Key | None = None,
    row_stop: Key | None = None,
    row_prefix: Key | None = None,
    filter: Key | Filter | None = None,
    timestamp: int | None = None,
    versions: int | None = None,
    at_least: int = 1,
) -> list[Split]:
    """The table's rows, ascending, cut at its tablets: every row is in exactly one split, whatever is split, merged or
    moved later. `at_least`, 1 to 100,000: where there are fewer tablets each is cut further, evenly by the bytes of its
    first and last row; there may be fewer where rows lie closely together.

    All tasks read what has a time before `timestamp`; None: of this moment, by this machine's clock. So what is written
    while the job runs is not in it. This is no snapshot: what is deleted, or loses its last version to a newer one,
    while the job runs may be missing in it, and what is written with a time of the past may be in it. What was written
    before the call is missing where its time is ahead of this clock: a server's clock may be ahead, and a row that is
    deleted and put again many times in a millisecond has times of the next ones (docs/decisions/0006).

    `columns` as types by name are for read_arrow(), as in Table.to_arrow. The other arguments are scan()'s; a `filter`
    that counts rows counts those of each split. A database of hbtable.open() is shared from now on (places.place_of).
    TableNotFound, NoSuchFamily, BadFilter, AccessDenied: now, not in a task. A table that is dropped or truncated
    before a task has read its split ends that task, also where there is one of the same name again.
    """
    place = place_of(table)
    at_least = whole_number("'at_least'", at_least, 1, MOST_SPLITS)
    if timestamp is None:
        timestamp = wall_millis() + 1
    whole_number("timestamp", timestamp, 0, MAX_TIMESTAMP)
    names = None if columns is None else tuple(listed(columns))
    wanted = row_range(row_start, row_stop, row_prefix)
    spec = scan_spec(names, filter, timestamp, versions, None)
    for _ in table.scan(b"\0", b"\0", columns=names, filter=filter, timestamp=timestamp, versions=versions):
        break  # one row was asked for, so that what is wrong with the request is found here
    types = dict(columns) if isinstance(columns, Mapping) else None
    whole = Split(
        place, table.name, wanted.start, wanted.stop, timestamp, names, types, spec.filter, versions,
        table_id=table.table.record().table_id,
    )  # fmt: skip
    by_tablet = list(_by_tablet(table, whole))
    finer = -(-at_least // max(len(by_tablet), 1))
    if finer == 1:
        return by_tablet
    return [piece for split in by_tablet for piece in _cut(table, split, finer)]


@switches
def _by_tablet(table: Table, whole: Split) -> Iterator[Split]:
    """Made of where tablets begin alone, so that there is neither a gap nor a row twice while one is being split."""
    try:
        found = table.regions()
    except AccessDenied:  # who may read need not see where tablets are
        found = []
    servers = {one["start_key"]: b"%b:%d" % (one["server_name"], one["port"]) for one in found if one["server_name"]}
    rows = RowRange(whole.row_start, whole.row_stop)
    starts = sorted({one["start_key"] for one in found})
    inside = [start for start in starts if start > rows.start and (not rows.stop or start < rows.stop)]
    if rows.is_empty():
        return
    for first, stop in pairwise([rows.start, *inside, rows.stop]):
        before = bisect_right(starts, first) - 1
        server = servers.get(starts[before], b"") if before >= 0 else b""
        yield replace(whole, row_start=first, row_stop=stop, server=server.decode(errors="replace"))


@switches
def _cut(table: Table, split: Split, pieces: int) -> list[Split]:
    first, last = _end(table, split, False), _end(table, split, True)
    cuts = [cut for cut in between_rows(first, last, pieces) if cut > split.row_start]
    bounds = [split.row_start, *cuts, split.row_stop]
    return [replace(split, row_start=start, row_stop=stop) for start, stop in pairwise(bounds)]


@switches
def _end(table: Table, split: Split, reverse: bool) -> bytes:
    """The first row of the range, or the last one; b"" when there is none."""
    first, stop = split.row_start or None, split.row_stop or None
    start, end = (stop, first) if reverse else (first, stop)
    for row, _ in table.scan(start, end, filter=_KEYS_ONLY, limit=1, reverse=reverse):
        return row
    return b""


def between_rows(first: bytes, last: bytes, pieces: int) -> list[bytes]:
    """Ascending, at most pieces - 1 rows above `first`, and none above `last`: as numbers they are as far apart from
    each other."""
    if first >= last:
        return []
    alike = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    low, high = (
        int.from_bytes(row[alike : alike + _CUT_BYTES].ljust(_CUT_BYTES, b"\0"), "big") for row in (first, last)
    )
    numbers = sorted({low + (high - low) * piece // pieces for piece in range(1, pieces)})
    cuts = [first[:alike] + number.to_bytes(_CUT_BYTES, "big") for number in numbers]
    return [cut for cut in cuts if first < cut <= last]
