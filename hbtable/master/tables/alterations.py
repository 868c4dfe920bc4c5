"""Changes of a table's schema, and who has to hear of them (paper, section 4).

One compare-and-set in METADATA is the change. Then the servers that serve the table are told; who misses it is told by
the master's cycle. Before a family is added they are told once more what the schema was: a server that still had an
older family of this name would take writes for that one, and lose them when it hears of the new one.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, final

from hbtable.access.grants_file import forget
from hbtable.access.scopes import of_table
from hbtable.errors import Conflict, DataDamaged
from hbtable.lockservice.features import FAMILY_IDENTITIES, require
from hbtable.lockservice.interface import Session
from hbtable.master.servers.server_reports import AskServers, ServerReports
from hbtable.master.tables.carrying_on import carry_on
from hbtable.master.tables.family_identities import adds_families, identified
from hbtable.master.tables.file_settings_check import check_file_settings
from hbtable.master.tablets.placement import Placement
from hbtable.metadata.catalog import Catalog
from hbtable.model.names import shown
from hbtable.model.schema import TableSchema
from hbtable.model.schema_limits import many_families
from hbtable.model.table import TableRecord
from hbtable.model.tablet import TabletRecord
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import results, run_all
from hbtable.switches import switches

log = logging.getLogger(__name__)

_PARALLEL: Final = 32


@final
class Alterations:
    """Changes schemas of tables. `reports` and `settled` are those of TableOperations."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        catalog: Catalog,
        placement: Placement,
        reports: AskServers,
        settled: Callable[[int], list[TabletRecord]],
    ) -> None:
        self._runtime = runtime
        self._session = session
        self._catalog = catalog
        self._placement = placement
        self._reports = reports
        self._settled = settled

    @switches
    def alter(self, record: TableRecord, schema: TableSchema) -> None:
        """The caller holds the table's operation lock, and has checked the schema. Conflict: somebody else changed it
        first. InvalidRequest; Unavailable, StaleLocation and DataDamaged: nothing was changed. OutcomeUnknown: it was,
        and servers are still to hear of it, or METADATA gave no answer."""
        if schema.version != record.schema.version + 1:
            raise Conflict(
                f"table {shown(schema.name)} has schema version {record.schema.version}, so a change must have "
                f"version {record.schema.version + 1}, not {schema.version}: read the schema again"
            )
        check_file_settings(record.schema, schema)
        if adds_families(record.schema, schema):
            # Who does not know them would take cells of a dropped family for those of the new one.
            require(self._session, FAMILY_IDENTITIES)
            self._tell_servers(record)
        differing = record.schema.families.keys() ^ schema.families.keys()
        if differing:
            # First: should this end here, nobody has a right too many. Also for families to come: a right to one that
            # went may have been given after this was done for its end, and before METADATA knew that it went.
            forget(self._session, *(of_table(schema.name, family) for family in sorted(differing)))
        changed = replace(record, schema=identified(record.schema, schema))
        self._catalog.replace_table(record, changed)
        done = f"table {shown(schema.name)} was changed, and not every server knows of it yet"
        carry_on(self._runtime, done, lambda: self._tell_servers(changed))

    @switches
    def tell_stragglers(self, record: TableRecord, reports: ServerReports) -> None:
        """Servers that still use an older schema get the current one."""
        self._tell(self.stragglers(record, reports), record)

    def stragglers(self, record: TableRecord, reports: ServerReports) -> list[str]:
        """Servers that still use an older schema of the table. Does not switch."""
        version = record.schema.version
        oldest = reports.oldest_schemas.items()
        return [server for server, of_tables in oldest if of_tables.get(record.table_id, version) < version]

    @switches
    def _tell_servers(self, record: TableRecord) -> None:
        """DataDamaged: METADATA cannot tell all of them. The others, and those that say that they serve tablets of the
        table, were told."""
        reports = self._reports(record.table_id)
        damage: DataDamaged | None = None
        try:
            tablets = self._settled(record.table_id)
        except DataDamaged as error:
            damage = error
            tablets = self._catalog.tablet_rows(record.table_id, [])
        owners = {tablet.owner for tablet in tablets} & reports.living
        owners.update(server for server, tables in reports.oldest_schemas.items() if record.table_id in tables)
        self._tell(sorted(owners), record)
        if damage is not None:
            raise damage

    @switches
    def _tell(self, servers: Sequence[str], record: TableRecord) -> None:
        """All at once: others hear of it while one hangs. The first error, once each has answered or was waited for."""

        def job(server: str) -> Callable[[], None]:
            return lambda: self._placement.update_schema(server, record.table_id, record.schema)

        results(run_all(self._runtime, _PARALLEL, [job(server) for server in servers], "schema"))


def warn_of_many_families(schema: TableSchema, before: int = 0) -> None:
    """Warns in the log of a schema that is in force. `before`: the number of families that the table had."""
    warning = many_families(shown(schema.name), len(schema.families), before)
    if warning:
        log.warning("%s", warning)
