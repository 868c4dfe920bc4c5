"""What every living tablet server serves right now (paper, section 5.2, master startup step 3)."""

import logging
from typing import Final, NamedTuple

from hbtable.errors import HbtableError
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import ServerFile
from hbtable.master.servers.liveness import list_servers
from hbtable.master.tablets.assignment import ServerLoad
from hbtable.model.status import TabletStatus
from hbtable.model.tablet import USER_LEVEL, level
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import run_all
from hbtable.switches import switches

log = logging.getLogger(__name__)

_PARALLEL: Final = 32


class ServerReports(NamedTuple):
    """Who lives, and what each serves."""

    loads: dict[str, ServerLoad]
    """Servers that answered."""
    silent: frozenset[str]
    """They hold their lock but did not answer."""
    statuses: dict[str, list[TabletStatus]]
    starting: frozenset[str] = frozenset()
    """They have their lock and are not known otherwise yet."""

    @property
    def living(self) -> frozenset[str]:
        return self.silent.union(self.loads)


@switches
def collect_server_reports(
    runtime: Runtime, session: Session, transport: Transport, struggling: frozenset[str] = frozenset()
) -> ServerReports:
    """Expires dead servers, asks the living ones. Unavailable when the lock service is."""
    living, expired, starting = list_servers(session)
    for name in expired:
        log.info("tablet server %s is dead: nobody holds its lock", name)
    names = sorted(living)

    def question(name: str) -> list[TabletStatus]:
        return transport.tablet_admin(name).tablets()

    answers = run_all(runtime, _PARALLEL, [lambda name=name: question(name) for name in names], "server reports")  # type: ignore[misc]
    loads: dict[str, ServerLoad] = {}
    statuses: dict[str, list[TabletStatus]] = {}
    for name, answer in zip(names, answers, strict=True):
        if not isinstance(answer, HbtableError):
            statuses[name] = answer
            loads[name] = _load(living[name], answer, name in struggling)
    return ServerReports(loads, frozenset(names).difference(loads), statuses, starting)


def _load(file: ServerFile, statuses: list[TabletStatus], struggling: bool) -> ServerLoad:
    ids = frozenset(status.record.tablet_id for status in statuses)
    size = sum(status.sstable_bytes for status in statuses)
    users = sum(level(status.record) == USER_LEVEL for status in statuses)
    return ServerLoad(ids, size, file.draining, file.decommissioned, file.leaving, struggling, users)
