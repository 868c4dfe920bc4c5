"""Asks every living tablet server which tablets it serves (paper, section 5.2, master startup step 3).

Each answer tells what changed since the one before (known_tablets.py). That is mostly nothing, however many tablets a
server has, and the master knows the tablets of all tables when it places those of one. Servers of older releases name
every tablet, or those of the table that was asked for. In the second case the other tablets of their last answer still
count towards how full they are.
"""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, final

from hbtable.errors import HbtableError
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import ServerFile
from hbtable.master.servers.known_tablets import KnownTablets
from hbtable.master.servers.liveness import list_servers
from hbtable.master.servers.tablet_loads import TabletLoads
from hbtable.master.tablets.server_load import ServerLoad, TabletLoad
from hbtable.model.status import EVERY_TABLE, LeftTablet
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
    """By server and table: the oldest version of the schema that it uses."""
    starting: frozenset[str] = frozenset()
    """They have their lock and are not known otherwise yet."""
    tablet_loads: Mapping[int, TabletLoad] = MappingProxyType({})
    """By tablet, of late; one that was not measured yet is missing."""
    listed_at: float = math.inf
    """The time, of the runtime's clock, at which servers began to be looked for."""

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


@final
class ReportCollector:
    """Expires dead servers and asks the living ones."""

    def __init__(
        self, runtime: Runtime, session: Session, transport: Transport, on_death: Callable[[], None] = lambda: None
    ) -> None:
        """`on_death` is called for each server that is found dead; it must not switch."""
        self._on_death = on_death
        self.on_left: Callable[[str, Sequence[LeftTablet]], None] = lambda server, tablets: None
        """Called with a server that does not stop, and tablets that it does not serve any more; must not switch. One
        that stops gives them up by itself, and they are looked for at once (ServerReports.seen)."""
        self.on_missed: Callable[[], None] = lambda: None
        """Called where tablets may have left a server of which it does not tell; must not switch."""
        self._stopping: frozenset[str] = frozenset()
        self.collected_at = -math.inf
        """The time of the last questions."""
        self._runtime = runtime
        self._session = session
        self._transport = transport
        self._known: dict[str, KnownTablets] = {}
        """By living server, as of its last answers."""
        self._loads = TabletLoads()

    @switches
    def collect(self, struggling: frozenset[str] = frozenset(), table_id: int = EVERY_TABLE) -> ServerReports:
        """Unavailable when the lock service is."""
        self.collected_at = listed_at = self._runtime.clock_seconds()
        living, expired, starting = list_servers(self._session)
        for name in expired:
            self._on_death()
            log.info("tablet server %s is dead: nobody holds its lock", name)
        names = sorted(living)
        self._stopping = frozenset(name for name, file in living.items() if file.draining)
        self._known = {name: self._known.get(name) or self._unknown(name) for name in names}

        def question(name: str, known: KnownTablets) -> Callable[[], None]:
            now, pause = self._runtime.clock_seconds, partial(self._runtime.sleep, 0)
            return lambda: known.ask(self._transport.tablet_admin(name), table_id, now(), pause)

        jobs = [question(name, known) for name, known in self._known.items()]
        known = self._known  # another one may have begun by the time this ends
        answers = run_all(self._runtime, _PARALLEL, jobs, "server reports")
        loads: dict[str, ServerLoad] = {}
        for name, answer in zip(names, answers, strict=True):
            if not isinstance(answer, HbtableError):
                loads[name] = _load(living[name], known[name], name in struggling)
        oldest = {name: dict(known[name].oldest_schemas) for name in loads}
        self._loads.keep_only((one.tablet_ids for one in known.values()), self._runtime.clock_seconds())
        silent, measured = frozenset(names).difference(loads), self._loads.measured(names)
        return ServerReports(loads, silent, oldest, starting, measured, listed_at)

    def _unknown(self, server: str) -> KnownTablets:
        return KnownTablets(self._loads, server, self._saw_left, lambda _server: self.on_missed())

    def _saw_left(self, server: str, tablets: Sequence[LeftTablet]) -> None:
        if server not in self._stopping:
            self.on_left(server, tablets)

    def has(self, tablet_id: int) -> bool:
        """Whether a living server serves the tablet, as of its last answer. Does not switch."""
        return any(tablet_id in known.tablet_ids for known in self._known.values())


def _load(file: ServerFile, known: KnownTablets, struggling: bool) -> ServerLoad:
    return ServerLoad(
        known.tablet_ids,
        known.sstable_bytes,
        file.draining,
        file.decommissioned,
        file.leaving,
        struggling,
        known.user_tablets,
    )
