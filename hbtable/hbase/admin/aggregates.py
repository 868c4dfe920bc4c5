"""Aggregates of a scan's rows. Tablets compute them, this call merges those of a page; nothing is kept between pages.

A page ends after some seconds, or when its groups take half of what they may; with maxRows behind one of a tablet. That
is one of a scan, with its rights, filters and limits.
"""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Callable
from dataclasses import replace
from typing import Final, final

from hbtable.aggregates.groups import Groups
from hbtable.errors import LimitExceeded
from hbtable.hbase.admin.cells import scan_request
from hbtable.hbase.admin.positions import AdminPositions
from hbtable.hbase.admin.structs import AdminAggregatedPage, AdminAggregation, AdminGroup, AdminScan
from hbtable.hbase.options import ThriftGatewayOptions
from hbtable.model.aggregation import Aggregate, Aggregation
from hbtable.model.read import AGGREGATED_ROWS, ScanPage
from hbtable.runtime.interface import Runtime
from hbtable.runtime.request_budget import held_meanwhile, hold
from hbtable.runtime.slices import OwnList, let_go, with_pauses
from hbtable.switches import switches

_PAGE_SECONDS: Final = 2.0
"""As a page of a scan takes at most (tablet.scan_seconds): so clients may wait for it with the same patience."""


@final
class AdminAggregateCalls:
    """The admin service's call for aggregates. `pause` lets other tasks run."""

    def __init__(
        self,
        runtime: Runtime,
        positions: AdminPositions,
        options: ThriftGatewayOptions,
        pause: Callable[[], object],
    ) -> None:
        self._runtime = runtime
        self._positions = positions
        self._options = options
        self._pause = pause

    @switches
    def adminAggregate(
        self, table: bytes | None, scan: AdminScan | None, aggregation: AdminAggregation | None
    ) -> AdminAggregatedPage:
        aggregation = aggregation or AdminAggregation()
        asked, most = _aggregation(aggregation), aggregation.max_rows
        scan = scan or AdminScan()
        position = self._positions.before(table, scan)
        request = scan_request(scan, position, self._options.answer_bytes, self._pause)
        max_rows = min(most, AGGREGATED_ROWS) if most > 0 else AGGREGATED_ROWS
        request = replace(request, max_rows=max_rows, aggregation=asked)
        groups, scanned, tablets = Groups(asked), 0, 0
        until = self._runtime.clock_seconds() + _PAGE_SECONDS
        while True:
            before = groups.size_bytes
            with held_meanwhile():
                page = self._positions.page(table, request)
                self._merge(groups, page)
            hold(max(0, groups.size_bytes - before))
            scanned, tablets = scanned + page.rows_scanned, tablets + page.tablets
            is_full = 2 * groups.size_bytes > self._options.aggregate_bytes
            if page.next is None or is_full or most > 0 or self._runtime.clock_seconds() >= until:
                told = OwnList(AdminGroup(*group) for group in with_pauses(groups.told(self._pause), self._pause, 256))
                groups.let_go(self._pause)
                return AdminAggregatedPage(told, self._positions.after(table, scan, page), scanned, tablets)
            request = replace(request, position=page.next)

    @switches
    def _merge(self, groups: Groups, page: ScanPage) -> None:
        """LimitExceeded."""
        if page.aggregated is not None:
            groups.merge(page.aggregated.groups, self._pause)
            let_go(page.aggregated.groups, self._pause)
        else:
            groups.add_rows(page.rows, self._pause)  # of a tablet server that knows no aggregates yet
        size, most = groups.size_bytes, self._options.aggregate_bytes
        if size > most:
            raise LimitExceeded(
                f"{len(groups)} groups of an aggregate take {size} bytes, more than thrift.aggregate_bytes = {most}: "
                "group by fewer bytes of the row, ask for fewer aggregates, or have the limit raised"
            )


def _aggregation(given: AdminAggregation) -> Aggregation:
    aggregates = tuple(Aggregate(*one) for one in given.aggregates or ())
    return Aggregation(aggregates, given.row_bytes, given.row_delimiter, given.by_column)
