"""A tablet's reads (paper, section 5.3): a merged view of memtables and SSTables, visibility, then the filter.

Promises
    never torn     each row comes from one snapshot (bug class 13). A page of a scan uses one snapshot for all its rows
    read own       what was acknowledged before the call is seen
    vanished file  a file that a compaction replaced may be collected under a long read: the read goes on with the
                   current version, at the beginning of the row it was in
    masking        as HBase by default: a marker masks older timestamps, also of puts written later, until a major
                   compaction (bug class 15; merge.visibility and merge.compacting keep it so)
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

from hbtable.encoding.cell_key import FLAG_TTL, Pair, column_prefix, range_key, row_prefix, suffix_start
from hbtable.errors import Corruption, CostExceeded, DataDamaged, FileNotFound, StaleLocation
from hbtable.filters.evaluate import RowFilter
from hbtable.merge.family_times import within_times, without_later_markers
from hbtable.merge.lifetimes import with_lifetimes
from hbtable.merge.raw import raw_rows
from hbtable.merge.visibility import TakePart, only_cell
from hbtable.merge.visibility import rows as visible_rows
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import PUT
from hbtable.model.ranges import RowRange
from hbtable.model.read import FamilyTimes, ReadSpec, ScanPage, ScanRequest, bytes_of, check_request
from hbtable.model.values import LARGEST_I64
from hbtable.runtime.request_budget import HELD_AT_ONCE, hold
from hbtable.runtime.slices import FREED_AT_ONCE, let_go
from hbtable.switches import switches
from hbtable.tablet.heat import READ
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.reads.column_pages import column_page
from hbtable.tablet.reads.column_selection import ColumnSelection
from hbtable.tablet.reads.cost_limit import CostLimit, ReadIsLate, cost_of_page, paced_request
from hbtable.tablet.reads.filtering import Filtering, filter_of_rows, filter_of_scan
from hbtable.tablet.reads.long_rows import LongRow, LongRowAhead, WholeRows, rows_too_large
from hbtable.tablet.reads.look_ahead import ask_worker, looking_ahead
from hbtable.tablet.reads.page import PageBuilder
from hbtable.tablet.reads.page_bounds import before_damage, bounds_of, rest_of
from hbtable.tablet.reads.plain_pages import plain_page
from hbtable.tablet.reads.resuming import markers_only
from hbtable.tablet.reads.reverse import PartTaker, descending
from hbtable.tablet.reads.row_pages import row_page
from hbtable.tablet.reads.sources import ReadSnapshot, keeping_blocks
from hbtable.tablet.reads.time_limit import TimeLimit
from hbtable.tablet.state import TabletState
from hbtable.tablet.writes.apply import bad_row

_ROWS_BETWEEN_PAUSES = 16
_ROWS_BETWEEN_LOOKS = 256
_ADDED_BETWEEN_PAUSES = 64
"""To a page: its filter may take long for each, and they come by hundreds."""


@switches
def read_rows(state: TabletState, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
    """As rpc.services.TabletService.read_rows. May switch. Hot."""
    state.gate.check_served()
    _check_rows(state, rows)
    state.reads += len(rows)
    state.heat.saw(READ, rows)
    found: list[Row] = []
    paced = row_filter = sieve = None
    if len(rows) > _ROWS_BETWEEN_PAUSES or spec.filter is not None:
        paced = paced_request(state.environment)
        if spec.filter is not None:
            ask = ask_worker(state.environment.runtime, paced[0])
            row_filter, sieve = filter_of_rows(spec.filter, paced[1].pause, ask)
    snapshot, selection = _snapshot(state, spec, row_filter)
    state.counts.read(selection, len(rows))

    left_bytes = spec.max_bytes
    holds_from = left_bytes - HELD_AT_ONCE
    for number, row in enumerate(rows, 1):
        cells = _cells(state, row, spec, snapshot, selection, sieve, left_bytes, None, paced)
        if cells:
            found.append((row, cells))
            if number > 1 or len(cells) > 1:  # a single cell has a limit of its own
                if type(cells) is LongRow:  # counts itself
                    left_bytes -= cells.size_bytes
                    holds_from -= cells.size_bytes
                else:
                    left_bytes -= bytes_of(row, cells)
                if left_bytes < 0:
                    raise rows_too_large(row, len(rows), spec.max_bytes)
                if left_bytes < holds_from:
                    hold(holds_from + HELD_AT_ONCE - left_bytes)
                    holds_from = left_bytes - HELD_AT_ONCE
        if paced is not None and not number % _ROWS_BETWEEN_PAUSES:
            paced[0].row = row
            paced[1].pause()
    return found


def _check_rows(state: TabletState, rows: Sequence[bytes]) -> None:
    row_start, row_stop = state.range
    longest = state.max_row_bytes
    for row in rows:
        if type(row) is not bytes or not row or len(row) > longest:
            raise bad_row(row, longest)
        if row < row_start or (row_stop and row >= row_stop):
            raise StaleLocation(f"row {row!r} lies outside tablet {state.tablet_id}")


@switches
def read_row(
    state: TabletState,
    row: bytes,
    spec: ReadSpec,
    chosen: Filtering | None = None,
    most_bytes: int = LARGEST_I64,
    waits: bool = False,
) -> list[Cell]:
    """A row's cells as they are now, for whoever holds the row: waits for no memory (Overloaded) unless it `waits`. No
    checks. `chosen`: filter_of_rows() of the spec's filter, if it has one. Hot."""
    row_filter, sieve = chosen or (None, None)
    snapshot, selection = _snapshot(state, spec, row_filter)
    return _cells(state, row, spec, snapshot, selection, sieve, most_bytes, waits=waits)


@switches
def newest_version(state: TabletState, row: bytes, family: bytes, qualifier: bytes) -> tuple[Cell | None, int]:
    """The newest cell of a column, None when there is none, and its own time to live in milliseconds (0: none). As
    read_row() for whoever holds the row. Hot."""
    spec = ReadSpec(columns={family: frozenset((qualifier,))})
    snapshot, selection = _snapshot(state, spec, None)
    seen: list[Pair] = []
    cells = _cells(state, row, spec, snapshot, selection, None, LARGEST_I64, seen, waits=False)
    if not cells:
        return None, 0
    cell = cells[0]
    for key, _ in seen:
        if key[-1] & FLAG_TTL:
            stored = snapshot.version.layout.stored[family]
            newest = column_prefix(row_prefix(row), stored, qualifier) + suffix_start(cell[1], PUT)
            # Of one timestamp the newest sequence comes first, and that is the one which the read has shown.
            shown, value = next(pair for pair in seen if pair[0].startswith(newest))
            return cell, int.from_bytes(value[:8], "big") if shown[-1] & FLAG_TTL else 0
    return cell, 0


@switches
def scan(state: TabletState, request: ScanRequest, whole: ScanRequest | None = None) -> ScanPage:
    """As rpc.services.TabletService.scan. May switch. `whole`: asks for the same rows as they are, and of them the page
    may have the keys alone, by no column."""
    state.gate.check_served()
    check_request(request)
    spec = request.spec
    runtime, options = state.environment.runtime, state.environment.options
    cost = cost_of_page(state.environment)
    pacer = Pacer(runtime, options.slice_seconds, cost=cost)
    try:
        row_filter = filter_of_scan(state, request, pacer, cost) if spec.filter is not None else None
        page = PageBuilder(request, row_filter, cost.budget.hold, pacer.pause)
        if page.is_finished():
            return page.page(True)
        cost.place = page.place
        limit = TimeLimit(runtime, options.scan_seconds, cost)
        page.is_late = limit.is_over
        bounds = bounds_of(state.range, request)
        found = None if whole is None else row_page(state, whole, bounds, pacer, limit)
        found = found or plain_page(state, request, bounds, pacer, limit)
        found = found or column_page(state, request, bounds, pacer, limit)
        found = found or _page_of_rows(state, request, bounds, page, row_filter, pacer, limit, cost)
        cost.budget.hand_over()
        return found
    finally:
        cost.end()


@switches
def _page_of_rows(
    state: TabletState,
    request: ScanRequest,
    bounds: RowRange,
    page: PageBuilder,
    row_filter: RowFilter | None,
    pacer: Pacer,
    limit: TimeLimit,
    cost: CostLimit,
) -> ScanPage:
    exhausted = True
    damage: DataDamaged | None = None
    selection: ColumnSelection | None = None
    asks = row_filter is not None and row_filter.searches.may_ask and page.resumption is None
    while not bounds.is_empty():
        snapshot, selection = _snapshot(state, request.spec, row_filter, request.family_times)
        snapshot.row_filter, snapshot.budget, snapshot.pause = row_filter, cost.budget, pacer.pause
        try:
            if row_filter is not None and asks:
                # Rows are read ahead of the page: none of them may come to it in parts before its turn.
                most = request.max_bytes if page.gives_parts else request.spec.max_bytes
                whole = WholeRows(most, page.gives_parts, cost.budget.hold)
                found = whole.rows(_rows(state, request, bounds, snapshot, selection, pacer, limit, page, whole))
                found = looking_ahead(found, row_filter.searches)
            else:
                found = _rows(state, request, bounds, snapshot, selection, pacer, limit, page, page)
            exhausted = _fill(page, found, limit, 1 if asks else _ROWS_BETWEEN_LOOKS, pacer)
            if exhausted and limit.reached is not None:
                exhausted = False
                page.reach(limit.reached)
            break
        except LongRowAhead:
            asks, bounds = False, rest_of(bounds, page.last_row, request.reversed)
        except FileNotFound as error:
            _check_replaced(state, snapshot, error)
            if page.interrupt():
                exhausted = False
                break
            bounds = rest_of(bounds, page.last_row, request.reversed)
        except Corruption as error:
            damage = state.damaged.told(error)
            rest = rest_of(bounds, page.last_row, request.reversed)
            bounds = before_damage(damage, rest, request.reversed)
            if bounds == rest:
                break
    if damage is not None and exhausted:
        if not page.rows:
            raise damage
        exhausted = False  # the rows before the damage; the next page begins with it
    state.reads += len(page.rows)
    state.heat.saw(READ, page.rows)
    if selection is not None:
        state.counts.read(selection, len(page.rows))
    return page.page(exhausted)


def _snapshot(
    state: TabletState, spec: ReadSpec, row_filter: RowFilter | None, family_times: FamilyTimes | None = None
) -> tuple[ReadSnapshot, ColumnSelection]:
    """Taken without a switch between version and sequence."""
    version = state.version
    selection = state.last_selection
    # Gateways read whole rows with one and the same spec, again and again.
    if selection is None or selection.spec is not spec or selection.layout is not version.layout or family_times:
        every_version = row_filter is not None and row_filter.needs_versions
        selection = ColumnSelection(version.layout, spec, every_version, family_times)
        if spec.columns is None and spec.filter is None and not family_times:
            state.last_selection = selection
    return ReadSnapshot(version, state.applied, selection, state.tally), selection


@switches
def _cells(
    state: TabletState,
    row: bytes,
    spec: ReadSpec,
    snapshot: ReadSnapshot,
    selection: ColumnSelection,
    sieve: Callable[[], RowFilter] | None,
    most_bytes: int,
    seen: list[Pair] | None = None,
    paced: tuple[CostLimit, Pacer] | None = None,
    waits: bool = True,
) -> list[Cell]:
    """`sieve` makes the filter that they pass. `seen` gets the pairs that the cells were chosen from. LimitExceeded
    where they count more than `most_bytes`, but only of a row in parts, or cost too much. `paced` is of the whole read,
    if it may be long. `waits`: for memory; Overloaded at once otherwise."""
    while True:
        try:
            lists: Iterable[Sequence[Pair]] | None = snapshot.row(row, spec.cache_blocks)
            if lists is None:
                return []
            is_plain = sieve is None and seen is None and not selection.timed
            if is_plain and (cell := only_cell(lists, row, selection.known)) is not None:
                return [cell]
            now = state.shared.wall.millis()
            if seen is not None:
                seen[:] = chain.from_iterable(lists)
                lists = (seen,)
            long_row = take_part = row_filter = None
            in_turns: Iterable[Iterable[Pair]] = lists
            if type(lists) is not tuple:
                row_filter = snapshot.row_filter = sieve() if sieve is not None else None
                if row_filter is not None and row_filter.skips_row(row):
                    return []
                cost, pacer = paced or paced_request(state.environment)
                cost.row, snapshot.budget, snapshot.pause = row, cost.budget, pacer.pause
                hold_part = partial(cost.budget.hold, at_once=not waits)
                long_row = LongRow(most_bytes, pacer.pause, row_filter, spec.max_versions, hold_part)
                take_part = long_row.take
                in_turns = pacer.paused(lists)  # of what is deleted no part comes
            upto = selection.markers_before
            in_turns = without_later_markers(in_turns, upto) if upto else in_turns
            for _, cells in visible_rows(
                in_turns, selection.rules, selection.columns, selection.min_timestamp, selection.max_timestamp,
                selection.max_versions, now, state.tally, take_part, selection.known,
            ):  # fmt: skip
                if sieve is None:
                    return cells
                row_filter = row_filter or sieve()
                if row_filter.searches.may_ask:
                    row_filter.searches.ahead([(row, cells)])
                return [] if row_filter.skips_row(row) else row_filter.apply(row, cells, spec.max_versions)
            return [] if long_row is None else long_row if row_filter is None else row_filter.end(long_row)
        except FileNotFound as error:
            _check_replaced(state, snapshot, error)
            snapshot = ReadSnapshot(state.version, state.applied, selection, state.tally, snapshot.budget)
        except Corruption as error:
            raise state.damaged.told(error) from error


def _check_replaced(state: TabletState, snapshot: ReadSnapshot, error: FileNotFound) -> None:
    """A file of the snapshot is gone. Corruption unless a compaction has replaced files since."""
    if state.version is snapshot.version:
        raise Corruption(f"tablet {state.tablet_id}", 0, f"an SSTable that METADATA names is gone: {error}") from error


@switches
def _fill(page: PageBuilder, found: Iterator[Row], limit: TimeLimit, between_looks: int, pacer: Pacer) -> bool:
    """Whether nothing more was found, else the page is full. Hot."""
    add, number = page.add, 0
    if page.ended:  # inside a row
        return False
    try:
        for number, (row, cells) in enumerate(found, 1):
            is_over = add(row, cells)
            if page.is_filtered and len(cells) > FREED_AT_ONCE:
                let_go(cells, pacer.give_way)  # what passed is in a list of its own; 200,000 at once take 40 ms
            if is_over:
                return False
            if not number % _ADDED_BETWEEN_PAUSES:
                pacer.pause()
            if not number % between_looks and limit.is_over():  # a filter may take long for each
                return False
        return not page.ended
    except (CostExceeded, ReadIsLate):
        page.break_off()
        if page.last_row is None:
            raise
        return False  # the next page begins with the row that costs so much
    except Corruption:
        page.break_off()
        raise
    finally:
        page.scanned += number


@switches
def _rows(
    state: TabletState,
    request: ScanRequest,
    bounds: RowRange,
    snapshot: ReadSnapshot,
    selection: ColumnSelection,
    pacer: Pacer,
    limit: TimeLimit,
    page: PageBuilder,
    taker: PartTaker,
) -> Iterator[Row]:
    """Every visible row of the bounds, in scan order, up to where the limit says that it was reached; long ones go to
    the taker in parts."""
    spec = request.spec
    now = state.shared.wall.millis()
    caches = keeping_blocks(request, snapshot.version.layout)

    def between(start_key: bytes, stop_key: bytes, take_part: TakePart, before: Sequence[Pair] = ()) -> Iterator[Row]:
        found = snapshot.range_in_lists(start_key, stop_key, caches)
        lists: Iterator[Iterable[Pair]] = pacer.paused(found if request.reversed else limit.whole_rows(found))
        if before:
            lists = chain((before,), lists)
        if selection.family_times:
            lists = within_times(
                lists, selection.family_times, (spec.min_timestamp, spec.max_timestamp), spec.is_of_stored
            )
        if selection.markers_before:
            lists = without_later_markers(lists, selection.markers_before)
        if spec.lifetimes:
            lists = with_lifetimes(lists)
        if spec.is_of_stored:
            return raw_rows(
                lists, selection.rules, selection.columns, selection.min_timestamp, selection.max_timestamp,
                selection.max_versions, take_part,
            )  # fmt: skip
        return visible_rows(
            lists, selection.rules, selection.columns, selection.min_timestamp, selection.max_timestamp,
            selection.max_versions, now, state.tally, take_part, selection.known,
        )  # fmt: skip

    start_key, stop_key = range_key(bounds.start), range_key(bounds.stop)
    resumption = page.resumption
    if resumption is None or page.last_row is not None or not bounds.holds(resumption.position.row):
        if request.reversed:
            return descending(start_key, stop_key, snapshot.reverse_hint, between, limit.before, taker)
        return between(start_key, stop_key, taker.part)
    seek = resumption.seek(selection)
    before: list[Pair] = []
    if seek.markers is not None:
        before = markers_only(chain.from_iterable(snapshot.range_in_lists(*seek.markers, caches)))
    if not request.reversed:
        return between(seek.start, stop_key, taker.part, before)
    row = resumption.position.row
    rest = descending(start_key, range_key(row), snapshot.reverse_hint, between, limit.before, taker)
    return chain(between(seek.start, seek.stop, taker.part, before), _unless_ended(page, rest))


@switches
def _unless_ended(page: PageBuilder, rows: Iterator[Row]) -> Iterator[Row]:
    if not page.ended:
        yield from rows
