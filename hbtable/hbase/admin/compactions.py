"""Compactions of our own admin service: asked for in the background, and what of them is under way."""

# ruff: noqa: N802 - methods are named as in the interface file.

import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final, final

from hbtable.errors import HbtableError, NoSuchFamily
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.cluster_backend import ClusterBackend
from hbtable.hbase.conversion import shown
from hbtable.hbase.server_names import ServerNames
from hbtable.model.tablet import owners
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

_LOG: Final = logging.getLogger(__name__)
_STATES: Final = {
    (False, False): "NONE",
    (True, False): "MINOR",
    (False, True): "MAJOR",
    (True, True): "MAJOR_AND_MINOR",
}
"""HBase's words, by (merging, major)."""


@final
class AdminCompactionCalls:
    """Errors of what runs in the background are logged: the caller was told that it is asked for."""

    def __init__(self, runtime: Runtime, tables: TableBackend, cluster: ClusterBackend, names: ServerNames) -> None:
        self._runtime = runtime
        self._tables = tables
        self._cluster = cluster
        self._names = names
        self._asked: Counter[tuple[bytes | str, bool]] = Counter()
        """(table or tablet server, major) of what this gateway has asked for and was not told the end of: the servers
        may not have heard of all of it."""

    @switches
    def adminCompact(
        self, name: bytes | None, major: bool | None, tablet_id: int | None, family: bytes | None = None
    ) -> None:
        canonical = self._tables.canonical(name)
        families = self._cluster.admin.record(canonical).schema.families
        if family and family not in families:
            raise NoSuchFamily(f"column family {shown(family)} does not exist in table {shown(canonical)}")
        admin = self._cluster.admin
        admin.rows_of(canonical, tablet_id or 0)  # what is found in the background is told nobody but the log
        compact = admin.major_compact if major else admin.compact
        work = partial(compact, canonical, tablet_id or 0, family or b"")
        self._in_background(f"of {canonical!r}", (canonical, bool(major)), work)

    @switches
    def adminCompactServer(self, server: bytes | None, major: bool | None) -> None:
        operations = self._cluster.operations
        for one in self._names.living(server):
            work = partial(operations.compact_server, one.name, bool(major))
            self._in_background(f"of all on {one.name}", (one.name, bool(major)), work)

    @switches
    def adminCompactionState(self, name: bytes | None) -> str:
        canonical = self._tables.canonical(name)
        table = self._cluster.admin.record(canonical)
        servers = owners(self._cluster.admin.tablets(canonical))
        places: list[bytes | str] = [canonical, *servers]
        merging, major = (any(self._asked[place, kind] > 0 for place in places) for kind in (False, True))
        for statuses in self._cluster.admin.statuses(servers).values():
            for status in statuses:
                if status.record.table_id == table.table_id:
                    merging, major = merging or status.merging, major or status.major
        return _STATES[merging, major]

    def _in_background(self, what: str, place: tuple[bytes | str, bool], work: Callable[[], None]) -> None:
        self._asked[place] += 1

        def run() -> None:
            try:
                work()
            except HbtableError as error:
                _LOG.warning("a compaction %s that a client asked for failed: %s", what, error)
            finally:
                self._asked[place] -= 1
                if not self._asked[place]:
                    del self._asked[place]

        spawn_counted(self._runtime, run, name="compaction-asked-for")
