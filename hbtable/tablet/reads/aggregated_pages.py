"""Pages of an aggregate: a page of a scan, of which the groups are given instead of the rows.

Rights, filters, budgets, time limits and the order of pages are the scan's, because it is one.
"""

from dataclasses import replace
from typing import Final

from hbtable.aggregates.groups import Groups
from hbtable.model.aggregation import AggregatedPage, Aggregation
from hbtable.model.read import COLUMNS_BY_COLUMN, ReadSpec, ScanPage, ScanRequest, bytes_of, check_request
from hbtable.runtime.request_budget import hold
from hbtable.runtime.slices import with_pauses
from hbtable.switches import switches
from hbtable.tablet.reads import reading
from hbtable.tablet.reads.cost_limit import paced_request
from hbtable.tablet.state import TabletState

_MOST_STATES: Final = 50_000
"""That a page makes, at least one for each aggregate of a row's group, or of a cell's: some take a kilobyte for a few
values, before anybody counts them."""
_OF_ROWS: Final = {"rows", "last"}
"""Aggregates of no cell."""
_LET_ALL_ROWS_THROUGH: Final = {
    None,
    b"FirstKeyOnlyFilter()",
    b"KeyOnlyFilter()",
    b"FirstKeyOnlyFilter() AND KeyOnlyFilter()",
}
"""Filters of those who want to know of rows, as the shell's count has them."""
_CELL_BYTES: Final = 16
"""A cell counts for more in a page's bytes."""


@switches
def scan(state: TabletState, request: ScanRequest, aggregation: Aggregation) -> ScanPage:
    """As reading.scan(). WrongValue for a value that is not what it is to be read as."""
    check_request(request)
    columns = _named(request.spec)
    request = _with_few_states(request, aggregation)
    asked = replace(request, aggregation=None, plain=False, by_column=columns)
    page = reading.scan(state, asked, _of_whole_rows(asked, aggregation))
    groups = Groups(aggregation)
    _, pacer = paced_request(state.environment)
    if page.columns is not None:
        size = page.columns.size_bytes
        groups.add_columns(page.columns.pieces, columns, pacer.pause)
    else:
        size = 0
        for row, cells in with_pauses(page.rows, pacer.pause):
            size += bytes_of(row, cells)
        groups.add_rows(page.rows, pacer.pause)
    hold(groups.size_bytes)
    return page._replace(rows=[], columns=None, aggregated=AggregatedPage(groups.told(pacer.pause), size))


def _of_whole_rows(request: ScanRequest, aggregation: Aggregation) -> ScanRequest | None:
    """Asks for the same rows, of which no aggregate is of a cell. None: one may be."""
    if aggregation.by_column or {one.kind for one in aggregation.aggregates} - _OF_ROWS:
        return None
    if request.spec.filter not in _LET_ALL_ROWS_THROUGH:
        return None
    position = request.position
    if position is not None:
        position = position._replace(filter_state=b"")  # these filters remember nothing from row to row
    return replace(request, spec=replace(request.spec, filter=None), position=position)


def _with_few_states(request: ScanRequest, aggregation: Aggregation) -> ScanRequest:
    """A smaller page, if many groups of many aggregates may come of it."""
    most = max(1, _MOST_STATES // max(1, len(aggregation.aggregates)))
    if aggregation.by_column:
        return replace(request, max_bytes=min(request.max_bytes, most * _CELL_BYTES))
    if aggregation.row_bytes or aggregation.row_delimiter:
        return replace(request, max_rows=min(request.max_rows, most))
    return request


def _named(spec: ReadSpec) -> tuple[tuple[bytes, bytes], ...]:
    """The columns of a read that names all of them; () of another one."""
    found: list[tuple[bytes, bytes]] = []
    for family, qualifiers in (spec.columns or {}).items():
        if qualifiers is None or len(found) + len(qualifiers) > COLUMNS_BY_COLUMN:
            return ()
        found += [(family, qualifier) for qualifier in sorted(qualifiers)]
    return tuple(found)
