"""Requests to read and their answers, in terms that any transport can carry."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final, NamedTuple

from hbtable.errors import InvalidRequest
from hbtable.model.aggregation import AggregatedPage, Aggregation, check_aggregation
from hbtable.model.cell import MAX_TIMESTAMP, Cell, Row
from hbtable.model.ranges import EVERY_ROW, RowRange
from hbtable.model.values import LARGEST_I64, SMALLEST_I64, check_bytes, shown, whole_number
from hbtable.switches import switches

Columns = Mapping[bytes, frozenset[bytes] | None]
"""family -> the qualifiers wanted, or None for all of them."""

FamilyTimes = Mapping[bytes, tuple[int, int]]
"""family -> min_timestamp and max_timestamp of its own, as in ReadSpec."""


@switches
def columns_of(names: Iterable[bytes] | None, pause: Callable[[], object] | None = None) -> Columns | None:
    """The union of what is named, `family` being all of it and `family:qualifier` one column; None, or nothing named,
    means everything. `pause` is called between many."""
    chosen: dict[bytes, set[bytes] | None] = {}
    for number, name in enumerate(names or (), 1):
        if pause is not None and not number % _NAMES_BETWEEN_PAUSES:
            pause()
        family, colon, qualifier = name.partition(b":")
        if not colon:
            chosen[family] = None
            continue
        qualifiers = chosen.setdefault(family, set())
        if qualifiers is not None:
            qualifiers.add(qualifier)
    if not chosen:
        return None
    return {family: None if wanted is None else frozenset(wanted) for family, wanted in chosen.items()}


_NAMES_BETWEEN_PAUSES: Final = 1024
_MOST_FAMILY_TIMES: Final = 1000

ALL_VERSIONS: Final = 2**31 - 1

ANSWER_BYTES: Final = 64 << 20
"""The largest answer to a call that must give whole rows, unless it says otherwise."""

AGGREGATED_ROWS: Final = 10_000
"""The rows of a page whose aggregate is asked for. The bytes of a page end it before, where they are large."""

LIVES: Final = 24
"""The first byte of values where ReadSpec.lifetimes was asked for. No kind of operation has this number."""
LIVES_FOREVER: Final = bytes((LIVES,)) + bytes(8)
"""Before the value of a cell without a time to live of its own, where others have its milliseconds."""

COLUMNS_BY_COLUMN: Final = 256
"""The most of ScanRequest.by_column that are worth it: blocks are cut so that they have a place for each of these
columns in each of their rows."""

_CELL_BYTES: Final = 40
"""Counted for what a cell has beside its column and value: more than any protocol here puts around them."""


def bytes_of(row: bytes, cells: Sequence[Cell]) -> int:
    """The bytes that they count in an answer."""
    total = len(row) + _CELL_BYTES * len(cells)
    for column, _, value in cells:
        total += len(column) + len(value)
    return total


@dataclass(frozen=True, slots=True)
class ReadSpec:
    """The cells of a row that a read returns.

    `max_versions` newest versions per column (further limited by the family) with
    min_timestamp <= timestamp < max_timestamp; MAX_TIMESTAMP means unbounded. `filter` is text in the filter
    language, or None.
    """

    columns: Columns | None = None
    """None: every family."""
    min_timestamp: int = 0
    max_timestamp: int = MAX_TIMESTAMP
    max_versions: int = 1
    filter: bytes | None = None
    cache_blocks: bool = True
    """False: blocks read for this do not enter the block cache."""
    raw: bool = False
    """Scans only: markers and masked cells, too, in the form of merge.raw. No filter may be given with it."""
    max_bytes: int = ANSWER_BYTES
    """LimitExceeded when the rows of a read, or a row of a scan that is not cut into pieces, count more (bytes_of)."""
    lifetimes: bool = False
    """Scans only, together with `raw`: what a read shows, and not what is stored, each value behind the time to live of
    its cell, in the form of merge.lifetimes. A tablet server of an older release answers as for `raw`."""

    @property
    def is_of_stored(self) -> bool:
        """Whether markers and masked cells are given, too."""
        return self.raw and not self.lifetimes

    def of_columns(self, columns: Columns | None) -> "ReadSpec":
        """The same of these columns. dataclasses.replace takes five times as long."""
        return ReadSpec(
            columns,
            self.min_timestamp,
            self.max_timestamp,
            self.max_versions,
            self.filter,
            self.cache_blocks,
            self.raw,
            self.max_bytes,
            self.lifetimes,
        )


EVERYTHING: Final = ReadSpec()


class ScanPosition(NamedTuple):
    """The position at which a scan goes on: at `row` (inclusive, in scan direction), after `cells_done` of its cells.

    `filter_state` is what the filter remembers across rows (filters.evaluate), opaque outside it. With `column` the
    last of those cells is named, which is quicker than counting them (tablet.reads.resuming): its time, and how many
    `versions` of its column were given. Whoever does not know these fields counts.
    """

    row: bytes
    cells_done: int = 0
    filter_state: bytes = b""
    column: bytes = b""
    timestamp: int = 0
    versions: int = 0


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """One page of a scan. The range is always given ascending; `reversed` walks it from its end."""

    range: RowRange = EVERY_ROW
    spec: ReadSpec = field(default_factory=ReadSpec)
    reversed: bool = False
    cells_per_row: int = 0
    """HBase's batchSize: longer rows come in several pieces of at most so many cells; 0: whole rows."""
    max_rows: int = 1000
    """Pieces of rows returned at most."""
    max_bytes: int = 4 << 20
    """The page ends after the row that passes this many bytes of keys and values."""
    position: ScanPosition | None = None
    """None: at the beginning."""
    plain: bool = False
    """Whoever asks takes ScanPage.plain, and a page that is short because of it. Not passed on to other processes."""
    family_times: FamilyTimes | None = None
    """For these families in the place of the spec's time range; those that the table does not have are passed over. It
    goes to tablets with TabletService.scan_with_times."""
    by_column: tuple[tuple[bytes, bytes], ...] = ()
    """Whoever names families with qualifiers here, those of the spec's columns, takes ScanPage.columns in this order,
    and a page that is short because of it. Where the spec does not have them all there are rows. Not passed on to other
    processes."""
    aggregation: Aggregation | None = None
    """Whoever gives one takes ScanPage.aggregated, and a page that is short because of it. Of an older release there
    are rows."""

    def of_spec(self, spec: ReadSpec) -> "ScanRequest":
        """The same with this spec. dataclasses.replace takes ten times as long, and a call of the class half as long
        again. Hot."""
        made: ScanRequest = object.__new__(ScanRequest)
        rows, asked, backwards, pieces, most, size, position, plain, times, columns, aggregation = _FIELDS
        rows(made, self.range)
        asked(made, spec)
        backwards(made, self.reversed)
        pieces(made, self.cells_per_row)
        most(made, self.max_rows)
        size(made, self.max_bytes)
        position(made, self.position)
        plain(made, self.plain)
        times(made, self.family_times)
        columns(made, self.by_column)
        aggregation(made, self.aggregation)
        return made


_FIELDS: Final = tuple(vars(ScanRequest)[one.name].__set__ for one in fields(ScanRequest))
"""Each sets its field, in their order."""


def check_request(request: ScanRequest) -> None:
    """InvalidRequest. What the spec holds else is checked where it is used (tablet.column_selection)."""
    whole_number("the bytes of an answer", request.spec.max_bytes, SMALLEST_I64, LARGEST_I64)
    check_bytes("the first row", request.range.start)
    check_bytes("the row to stop at", request.range.stop)
    whole_number("the rows of a page", request.max_rows, 0, LARGEST_I64)
    whole_number("the cells of a piece", request.cells_per_row, 0, LARGEST_I64)
    whole_number("the bytes of a page", request.max_bytes, SMALLEST_I64, LARGEST_I64)
    if request.family_times is not None:
        _check_times(request.family_times)
    if request.aggregation is not None:
        check_aggregation(request.aggregation)
        if request.spec.raw or request.cells_per_row:
            raise InvalidRequest("an aggregate is one of whole rows, without markers of deletes")
    if request.position is not None and request.position.column:
        check_bytes("the column of a position", request.position.column)
        whole_number("the time of a position", request.position.timestamp, 0, MAX_TIMESTAMP)
        whole_number("the versions of a position", request.position.versions, 0, LARGEST_I64)


def _check_times(family_times: FamilyTimes) -> None:
    if not isinstance(family_times, dict):
        raise InvalidRequest(f"the time ranges of families are {shown(family_times)}, not a dict")
    check_family_times(len(family_times))
    for family, times in family_times.items():
        check_bytes("a family with a time range", family)
        if not isinstance(times, tuple) or len(times) != 2:
            raise InvalidRequest(f"the time range of family {shown(family)} is {shown(times)}, not a pair of times")
        low, high = times
        whole_number("the lower time bound of a family", low, 0, MAX_TIMESTAMP)
        whole_number("the upper time bound of a family", high, 0, MAX_TIMESTAMP)


def check_family_times(count: int) -> None:
    """InvalidRequest. To be asked before so many are looked at."""
    if count > _MOST_FAMILY_TIMES:
        raise InvalidRequest(
            f"a scan names {count} families with a time range of their own, at most {_MOST_FAMILY_TIMES} can be; no "
            "table has so many families"
        )


class PlainSlices(NamedTuple):
    """Some rows, as a list of the Thrift interface has them in the binary protocol (encoding.row_results)."""

    pieces: list[bytes]
    """Whole rows each, in order."""
    rows: int
    size_bytes: int
    """As bytes_of counts them."""


class RowsByColumn(NamedTuple):
    """Some rows, ascending, and their values by column, in an order that the caller knows. None: the row has none."""

    rows: list[bytes]
    columns: list[Sequence[bytes | None]]


class ColumnSlices(NamedTuple):
    """The rows of a page by column (ScanRequest.by_column)."""

    pieces: list[RowsByColumn]
    """In order."""
    size_bytes: int
    """About as bytes_of counts them."""


class ScanPage(NamedTuple):
    """Rows in scan order, and where to go on; `next` is None when the range is exhausted or the filter ended it."""

    rows: list[Row]
    next: ScanPosition | None
    filter_finished: bool = False
    """The filter said that no later row can pass: do not go on to other tablets."""
    filter_state: bytes = b""
    """To be handed to the next tablet's first page when `next` is None."""
    rows_scanned: int = 0
    """The number of visible rows looked at, those that a filter dropped included; a row that comes in pieces counts
    once."""
    tablets: int = 0
    """The number of tablets begun with this page. A tablet leaves it at 0."""
    plain: PlainSlices | None = None
    """The rows, in the place of `rows`, where they come as the Thrift interface answers them."""
    columns: ColumnSlices | None = None
    """The rows, in the place of `rows`, where they come by column. There may be none of them."""
    aggregated: AggregatedPage | None = None
    """The aggregates of the rows, in their place."""
    tells_hidden_row: bool = False
    """`next` lies among rows that had nothing for whoever reads, and may name one of them. Otherwise it is behind a row
    that had something for him, or where a tablet begins, which everybody may know. A tablet leaves it at False."""
