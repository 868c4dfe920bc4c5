"""The rows of one table's tablets in METADATA: written together when the table is made or emptied; deleted."""

from collections.abc import Callable, Sequence
from typing import Final, final

from hbtable.errors import Conflict
from hbtable.master.servers.server_reports import AskServers
from hbtable.master.tablets.assignment import Assign, describe
from hbtable.master.tablets.ownership import assigned
from hbtable.master.tablets.placement import Placement
from hbtable.metadata.catalog import Catalog
from hbtable.model.names import shown
from hbtable.model.tablet import TabletRecord
from hbtable.model.tablet_event import GIVEN
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import results, run_all
from hbtable.switches import switches

_ROUNDS: Final = 20


class IdInUse(Conflict):
    """The id of a new table. The table has nothing, and must not get what another table has."""


@final
class TabletRows:
    """Writes and deletes a table's rows, `parallel_rows` at a time. The caller holds the table's operation lock."""

    def __init__(
        self,
        runtime: Runtime,
        catalog: Catalog,
        placement: Placement,
        reports: AskServers,
        parallel_rows: int,
    ) -> None:
        self._runtime = runtime
        self._catalog = catalog
        self._placement = placement
        self._reports = reports
        self._parallel_rows = parallel_rows

    @switches
    def write(self, name: bytes, tablets: list[TabletRecord]) -> None:
        """Puts the rows of a new table, each with its first owner already: one write a tablet, not two. IdInUse."""
        reports = self._reports(tablets[0].table_id)
        owners = {
            action.record.tablet_id: action.server
            for action in self._placement.plan(name, tablets, reports, lambda: self._runtime.sleep(0))
            if isinstance(action, Assign)
        }
        self._runtime.sleep(0)  # each step goes over all tablets, of which there may be thousands

        def job(tablet: TabletRecord) -> Callable[[], bool]:
            owner = owners.get(tablet.tablet_id)
            return lambda: self._put_new(tablet if owner is None else assigned(tablet, owner))

        outcomes = run_all(self._runtime, self._parallel_rows, [job(tablet) for tablet in tablets], "create")
        if False not in outcomes:
            results(outcomes)
            return
        # The rows that stand are another table's. Those put just now go again, or it would have rows of two tables.
        ours = {tablet.tablet_id for tablet, put in zip(tablets, outcomes, strict=True) if put is not False}
        rows = self._catalog.tablet_rows(tablets[0].table_id)
        self.delete([row for row in rows if row.tablet_id in ours])
        raise IdInUse(f"there are tablets with the table id {tablets[0].table_id} already: {shown(name)} was not made")

    @switches
    def delete(self, tablets: Sequence[TabletRecord]) -> None:
        """Conflict: a row is not what the caller saw."""

        def job(tablet: TabletRecord) -> Callable[[], None]:
            return lambda: self._catalog.delete_tablet(tablet)

        results(run_all(self._runtime, self._parallel_rows, [job(tablet) for tablet in tablets], "delete"))

    @switches
    def delete_all(self, settled: Callable[[], list[TabletRecord]]) -> None:
        """Deletes the rows that `settled` finds, until there are none. A table that is dropped because there is no room
        to disable it is served meanwhile, and its servers change its rows. Conflict: they go on doing so."""
        for _ in range(_ROUNDS):
            rows = settled()
            try:
                self.delete(rows)
            except Conflict:
                continue
            return
        raise Conflict(f"the tablets go on changing: {', '.join(str(row.tablet_id) for row in rows[:5])}; try again")

    @switches
    def _put_new(self, row: TabletRecord) -> bool:
        """False: the row is another tablet's."""
        if self._catalog.put_tablet_if_absent(row):
            if row.owner:
                self._placement.note(row, GIVEN, row.owner, f"{describe(row)} was made, for {row.owner}")
            return True
        found = self._catalog.read_tablet(row.table_id, row.range.stop)
        # It is ours when an answer was lost on the way, and its server was faster than we.
        return found is not None and (found.tablet_id, found.created_millis) == (row.tablet_id, row.created_millis)
