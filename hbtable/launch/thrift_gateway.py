"""The Thrift gateway of a cluster: the client library's tables and administration in the gateway's terms."""

import logging
import re
from collections.abc import Callable
from typing import Final

from hbtable.access.store import AccountStore
from hbtable.access.verification import Verifier
from hbtable.client.client import Client
from hbtable.errors import FileNotFound, HbtableError, InvalidConfiguration
from hbtable.fs.interface import FileSystem
from hbtable.hbase.backend import Address
from hbtable.hbase.cluster_backend import ClusterBackend, LivingMaster, LivingServer, Masters
from hbtable.hbase.options import ThriftGatewayOptions
from hbtable.hbase.permissions.guard import Guard
from hbtable.hbase.port_services import ClusterIdentity
from hbtable.hbase.security import GatewaySecurity
from hbtable.hbase.server import Listen, ThriftGateway
from hbtable.hbase.transports.kerberos import kerberos_of
from hbtable.launch.audit_log import open_audit
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import INCARNATIONS, MASTER, MasterCandidate, ServerFile
from hbtable.lockservice.toggles import OperatorToggles
from hbtable.master.files.collector import GATEWAY_FILES
from hbtable.metadata.id_allocator import SCANNER_IDS, IdAllocator
from hbtable.metrics.registry import Registry
from hbtable.reachability.evidence import who_does_not_reach
from hbtable.reachability.reports import read_reports
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.runtime.network.sockets import serve
from hbtable.switches import switches

log = logging.getLogger(__name__)

SCANNERS_FILE: Final = f"{GATEWAY_FILES}/scanners"
"""Open scanners, between an orderly stop and the next start, of the one gateway of an embedded cluster."""


@switches
def make_thrift_gateway(
    runtime: Runtime,
    client: Client,
    transport: Transport,
    session: Session,
    registry: Registry,
    host: str,
    port: int,
    options: ThriftGatewayOptions,
    cluster_id: str,
    address: Address,
    security: GatewaySecurity,
    guard: Guard | None = None,
    listen: Callable[[Callable[..., None]], object] | None = None,
) -> ThriftGateway:
    """A gateway that does not listen yet. `port` 0: any free one. `address`: of the gateway beside a tablet server.
    `guard`: None: one is made, if `security` demands it. `listen`: opens the port in another way than by `host` and
    `port`."""

    if security.tls is not None and (reason := security.tls.out_of_force()):
        log.warning("%s", reason)

    def listen_at_port(handle: Callable[..., None]) -> object:
        return serve(host, port, handle)

    when_lost = _scanner_id_when_lost(runtime, session)
    ids = IdAllocator(session, SCANNER_IDS, in_use=lambda: gateway.scanners.highest(), when_lost=when_lost)
    identity = ClusterIdentity(lambda: cluster_id, address)
    listener: Listen = listen or listen_at_port  # type: ignore[assignment]  # a Listener has port and stop_accepting
    gateway = ThriftGateway(
        runtime,
        listener,
        client.table,
        client.admin,
        registry,
        identity,
        options,
        lambda count: ids.take(count).start,
        ClusterBackend(
            client.admin,
            lambda: living_servers(session),
            client.operations,
            lambda: masters(session),
            OperatorToggles(session),
            lambda living: unreachable_servers(session, living),
        ),
        security,
        guard or make_guard(runtime, session, client, security),
    )
    return gateway


def make_guard(runtime: Runtime, session: Session, client: Client, security: GatewaySecurity) -> Guard | None:
    """None when everybody may do everything."""
    if not security.auth.enabled:
        return None
    return Guard(runtime, session, security.auth.superuser_names(), client.admin.namespaces, client.admin.record)


def ask_users(runtime: Runtime, security: GatewaySecurity, users: AccountStore) -> None:
    """Has clients asked who they are, if auth.enabled is set, among these users. To be called before the gateway is
    made. InvalidConfiguration."""
    auth = security.auth
    audit = open_audit(auth, runtime.wall_millis)
    security.ask(Verifier(runtime, users, auth), audit, kerberos_of(auth, runtime))


def reload_security(security: GatewaySecurity) -> None:
    """After a signal: what cannot be used is not taken, and the server goes on with what it has."""
    try:
        security.reload()
    except InvalidConfiguration as error:
        log.error("the certificates stay as they were: %s", error)
    else:
        log.info("read the certificates again, and nothing else: superusers, groups and proxies need a restart")


@switches
def _scanner_id_when_lost(runtime: Runtime, session: Session) -> int:
    """Without a counter: 0 in a new cluster, whose first server is this one. In an older one it may have been lost, and
    clients may go on with scanners of ids that nobody wrote down: a clock's milliseconds are above all of those, and
    what is left of them in 31 bits is none of them but by a rare chance."""
    try:
        started = session.read(INCARNATIONS).data
    except FileNotFound:
        return 0
    return runtime.wall_millis() if started.isdigit() and int(started) > 1 else 0


@switches
def living_servers(session: Session) -> list[LivingServer]:
    """The living tablet servers, as the lock service has them."""
    living = ServerFile.living(session)
    return [LivingServer(name, file.started_millis, file.decommissioned) for name, file in living.items()]


@switches
def unreachable_servers(session: Session, living: set[str]) -> dict[str, str]:
    """The living servers that others do not reach, and who does not reach them, in words."""
    reports = read_reports(session)
    said = {name: who_does_not_reach(name, living, reports) for name in living}
    return {name: who or "it reaches nobody itself" for name, who in said.items() if who or name in reports.isolated}


@switches
def masters(session: Session) -> Masters:
    """The acting master and the standbys, as the lock service has them."""
    candidates = [LivingMaster(one.address, one.started_millis) for one in MasterCandidate.living(session)]
    held = session.holder(MASTER)
    if held is None:
        return Masters(None, candidates)
    address = held.data.decode()
    known = [one for one in candidates if one.address == address]
    # Of two that announce the same address the older one is a process that has just died.
    active = known[-1] if known else LivingMaster(address, 0)
    return Masters(active, [one for one in candidates if one.address != address])


def scanners_file(place: str) -> str:
    """The file with the scanners of one gateway of a cluster: they go on where its clients come back to. `place`: host
    and port."""
    return f"{GATEWAY_FILES}/{re.sub('[^A-Za-z0-9.-]', '-', place)}/scanners"


@switches
def restore_scanners(gateway: ThriftGateway, fs: FileSystem, path: str) -> None:
    """Scanners saved by the last orderly stop go on. The file is removed first: after a crash they must not come back
    a second time, at positions that their clients have left behind."""
    try:
        saved = fs.read_file(path)
    except FileNotFound:
        return
    fs.delete(path)
    gateway.scanners.restore(saved)


@switches
def save_scanners(gateway: ThriftGateway, fs: FileSystem, path: str) -> None:
    """Scanners that cannot be saved, on a full disk say, end; the stop goes on, as all else is saved elsewhere."""
    try:
        fs.write_file(path, gateway.scanners.save())
    except HbtableError as error:
        log.warning("scanners that are open end with this stop: %s", error)
