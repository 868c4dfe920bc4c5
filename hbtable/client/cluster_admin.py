"""Operators' calls to tablet servers: compactions, caches, logs; and the tables and tablets that there are."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import final

from hbtable.errors import HbtableError, StaleLocation, Unavailable, UnsupportedFormat
from hbtable.metadata import layout, listing
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.tablet_history import events_of, tablet_at
from hbtable.metadata.tiling import standing
from hbtable.model.status import CacheEviction
from hbtable.model.table import TableRecord
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord
from hbtable.model.tablet_event import TabletEvent
from hbtable.rpc.services import TabletAdmin
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import results, run_all
from hbtable.switches import switches


@final
class ClusterAdmin:
    """Works on servers and caches, whatever the table. All calls *switch*."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        catalog: Catalog,
        parallel_calls: int,
    ) -> None:
        self._runtime = runtime
        self._transport = transport
        self._catalog = catalog
        self._parallel_calls = parallel_calls

    # ---------------------------------------------------------------- what METADATA says

    @switches
    def table_records(self) -> list[TableRecord]:
        """The records of all tables in all states, ascending by name."""
        return self._catalog.tables()

    @switches
    def every_tablet(self) -> list[TabletRecord]:
        """METADATA's own included, ascending by table and row. Not a snapshot: rows change while they are read."""
        return list(standing(self._catalog.all_tablet_rows()))

    @switches
    def tablet_of_row(self, table_id: int, row: bytes) -> TabletRecord | None:
        """The tablet of the row, as METADATA has it now; None when the table is gone."""
        if table_id == METADATA_TABLE_ID and layout.ROOT_RANGE.holds(row):
            return self._catalog.read_root()
        return tablet_at(self._catalog.calls, table_id, row)

    @switches
    def tablet_events(self, record: TabletRecord) -> list[TabletEvent]:
        """The events, in the order in which they happened. A single server keeps none."""
        return events_of(self._catalog.calls, record.table_id, record.tablet_id)

    @switches
    def tables_from(self, name: bytes, page_rows: int) -> Iterator[tuple[TableRecord, int]]:
        """As metadata.listing has them."""
        return listing.tables_from(self._catalog.calls, name, page_rows)

    @switches
    def tablets_from(self, table_id: int, row: bytes, page_rows: int) -> Iterator[tuple[TabletRecord, int]]:
        """As metadata.listing has them."""
        return listing.tablets_from(self._catalog.calls, table_id, row, page_rows)

    # ---------------------------------------------------------------- tablet servers

    @switches
    def compact_server(self, server: str, major: bool) -> None:
        """Every tablet that this incarnation serves, a few at once; done on return. StaleLocation when it is gone; the
        first error otherwise, after all others were compacted. A tablet that left meanwhile is left alone."""
        admin = self._transport.tablet_admin(server)

        def compact(tablet_id: int) -> None:
            try:
                admin.compact(tablet_id, major)
            except StaleLocation:
                pass  # moved, split or merged since the list was made

        jobs = [partial(compact, status.record.tablet_id) for status in admin.tablets()]
        results(run_all(self._runtime, self._parallel_calls, jobs, "compact-server"))

    @switches
    def on_server(self, server: str) -> TabletAdmin:
        """Carries the calls out on this incarnation. StaleLocation when it is gone."""
        return self._transport.tablet_admin(server)

    @switches
    def task_deaths(self, servers: Iterable[str]) -> dict[str, list[str]]:
        """As TabletAdmin.task_deaths, of those of these incarnations that are there and know the call."""
        names = list(servers)
        jobs = [partial(self._deaths, name) for name in names]
        found = run_all(self._runtime, self._parallel_calls, jobs, "task-deaths")
        return {name: deaths for name, deaths in zip(names, found, strict=True) if isinstance(deaths, list)}

    @switches
    def _deaths(self, server: str) -> list[str]:
        return self._transport.tablet_admin(server).task_deaths()

    @switches
    def balancer_rests(self) -> str:
        """As MasterService.balancer_rests, once; "" if there is no master now that knows the call."""
        try:
            return self._transport.master().balancer_rests()
        except (StaleLocation, Unavailable, UnsupportedFormat):
            return ""

    @switches
    def master_task_deaths(self) -> list[str]:
        """As MasterService.master_task_deaths, once, and of nobody if there is no master now that knows the call."""
        try:
            return self._transport.master().master_task_deaths()
        except (StaleLocation, Unavailable, UnsupportedFormat):
            return []

    @switches
    def clear_block_cache(self, table_id: int, servers: Iterable[str]) -> dict[str, CacheEviction | HbtableError]:
        """Blocks of a table leave the caches of these incarnations: what each lost, or why it could not be asked."""
        names = list(servers)
        jobs = [partial(self._clear, name, table_id) for name in names]
        return dict(zip(names, run_all(self._runtime, self._parallel_calls, jobs, "clear-cache"), strict=True))

    @switches
    def _clear(self, server: str, table_id: int) -> CacheEviction:
        return self._transport.tablet_admin(server).clear_block_cache(table_id)
