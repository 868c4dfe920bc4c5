"""Asks every living tablet server which tablets it serves (paper, section 5.2, master startup step 3).

Who places the tablets of one table asks for that table's only. What else a server has only counts towards how full it
is, and for that its last answer will do. To ask for everything for each table that is made, or brought back at a start,
would cost the more, the more tables there are.
"""

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, final

from hbtable.errors import HbtableError
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import ServerFile
from hbtable.master.servers.liveness import list_servers
from hbtable.master.tablets.assignment import ServerLoad
from hbtable.model.status import EVERY_TABLE, TabletStatus
from hbtable.model.tablet import METADATA_TABLE_ID
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import run_all
from hbtable.switches import switches

log = logging.getLogger(__name__)

_PARALLEL: Final = 32


class ServerReports(NamedTuple):
    """The living servers, and the tablets that each serves."""

    loads: dict[str, ServerLoad]
    """Servers that answered. Of the table that was asked for, or of all, as they are now."""
    silent: frozenset[str]
    """They hold their lock but did not answer."""
    oldest_schemas: Mapping[str, Mapping[int, int]] = MappingProxyType({})
    """By server and table, of those that were asked for: the oldest version of the schema that it uses."""
    starting: frozenset[str] = frozenset()
    """They have their lock and are not known otherwise yet."""

    @property
    def living(self) -> frozenset[str]:
        return self.silent.union(self.loads)

    def seen(self) -> tuple[object, ...]:
        """The living servers, and the tablets that stopping ones still serve: a tablet given up waits for another
        server, though its owner lives on until the last of its tablets and clients is gone."""
        return self.living, {name: load.tablet_ids for name, load in self.loads.items() if load.draining}


class AskServers(Protocol):
    """Asks the servers now; with a table, for what they serve of that one."""

    @switches
    def __call__(self, table_id: int = EVERY_TABLE) -> ServerReports: ...


class _OfTable(NamedTuple):
    """A server's last answer about the tablets that it serves of one table."""

    tablet_ids: frozenset[int]
    sstable_bytes: int
    oldest_schema: int


@final
class ReportCollector:
    """Expires dead servers and asks the living ones."""

    def __init__(
        self, runtime: Runtime, session: Session, transport: Transport, on_death: Callable[[], None] = lambda: None
    ) -> None:
        """`on_death` is called for each server that is found dead; it must not switch."""
        self._on_death = on_death
        self._runtime = runtime
        self._session = session
        self._transport = transport
        self._last: dict[str, dict[int, _OfTable]] = {}
        """By living server and table, its last answers."""

    @switches
    def collect(self, struggling: frozenset[str] = frozenset(), table_id: int = EVERY_TABLE) -> ServerReports:
        """Unavailable when the lock service is."""
        living, expired, starting = list_servers(self._session)
        for name in expired:
            self._on_death()
            log.info("tablet server %s is dead: nobody holds its lock", name)
        names = sorted(living)
        self._last = {name: last for name, last in self._last.items() if name in living}
        asked = {name: table_id if name in self._last else EVERY_TABLE for name in names}

        def question(name: str) -> Callable[[], list[TabletStatus]]:
            return lambda: self._transport.tablet_admin(name).tablets(asked[name])

        answers = run_all(self._runtime, _PARALLEL, [question(name) for name in names], "server reports")
        loads: dict[str, ServerLoad] = {}
        oldest: dict[str, dict[int, int]] = {}
        for name, answer in zip(names, answers, strict=True):
            if isinstance(answer, HbtableError):
                continue
            told = _by_table(answer)
            oldest[name] = {table: one.oldest_schema for table, one in told.items()}
            served = self._last.get(name, {}) if asked[name] != EVERY_TABLE else {}
            served = self._last[name] = {**{table: one for table, one in served.items() if table != table_id}, **told}
            loads[name] = _load(living[name], served, name in struggling)
        return ServerReports(loads, frozenset(names).difference(loads), oldest, starting)


def _by_table(statuses: list[TabletStatus]) -> dict[int, _OfTable]:
    grouped: dict[int, list[TabletStatus]] = {}
    for status in statuses:
        grouped.setdefault(status.record.table_id, []).append(status)
    return {
        table_id: _OfTable(
            frozenset(status.record.tablet_id for status in some),
            sum(status.sstable_bytes for status in some),
            min(status.schema_version for status in some),
        )
        for table_id, some in grouped.items()
    }


def _load(file: ServerFile, served: dict[int, _OfTable], struggling: bool) -> ServerLoad:
    ids = frozenset[int]().union(*(one.tablet_ids for one in served.values()))
    size = sum(one.sstable_bytes for one in served.values())
    users = sum(len(one.tablet_ids) for table_id, one in served.items() if table_id != METADATA_TABLE_ID)
    return ServerLoad(ids, size, file.draining, file.decommissioned, file.leaving, struggling, users)
