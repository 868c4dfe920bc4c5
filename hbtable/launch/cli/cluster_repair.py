"""`hbtable repair --config FILE`: mends a cluster's folder in HDFS and its lock service, while every role is down.

That nobody serves is established, not believed: no role holds a lock; the master's lock is taken, so that no master
acts until the repair has ended; dead servers are expired and their logs ended, as a master does it, so that one that
was only frozen can write nothing that counts. Each change asks whether the session still holds the lock.
"""

import contextlib
import logging
from typing import Final

from hbtable.access.store import USERS_PATH
from hbtable.commitlog.recovery.fencing import FencingOptions, fence
from hbtable.commitlog.recovery.manifest import manifest_path
from hbtable.commitlog.segments.segment import LOGS, log_folder
from hbtable.errors import Conflict, Corruption, FileNotFound, HbtableError, InvalidRequest
from hbtable.fs.interface import FileSystem
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.overlay import OverlayFileSystem
from hbtable.launch.cli.cluster_check import fence_in_overlay
from hbtable.launch.cli.cluster_reach import reached
from hbtable.launch.cli.repair import told
from hbtable.launch.cli.saved_scanner import saved_scanner
from hbtable.lockservice.identity import folder_id
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import (
    CLUSTER,
    GRANTS,
    LOCK_SUFFIX,
    MASTER,
    QUOTAS,
    SERVERS,
    MasterCandidate,
    ServerFile,
    server_file,
)
from hbtable.master.servers.liveness import expire_server
from hbtable.repair.lock_store import ClusterLockStore, LockStore, LockStoreCopy
from hbtable.repair.mending import Repair
from hbtable.repair.taking_back import BACKUPS, take_back, unfinished
from hbtable.repair.withholding import NO_ORDERS, WithholdingOrders
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_NO_ADDRESS: Final = b""
"""The data of the master's lock: who asks for the master is told that there is none."""

_NOWHERE_ELSE: Final = {
    USERS_PATH: "the users, their passwords and tokens: add them again with `hbtable user add ... --cluster`",
    GRANTS: "the rights that were granted: grant them again",
    QUOTAS: "the quotas: set them again",
}
"""Files of the lock service that have no copy elsewhere, and what they hold."""


@switches
def repair_cluster(
    config: str, define: tuple[str, ...], dry_run: bool, lock_service_lost: bool, orders: WithholdingOrders = NO_ORDERS
) -> int:
    """As repair_folder()."""
    runtime = GeventRuntime()
    logging.getLogger("hbtable").addHandler(logging.NullHandler())  # the report says it in its own words
    with reached(runtime, config, define, "repair") as cluster:
        repair = mended(runtime, cluster.fs, cluster.session, dry_run, lock_service_lost, orders)
        code = told(repair.report, "", "would be done: " if dry_run else "")
        if repair.backup.kept and not dry_run:
            print(f"what was changed or taken out is in {cluster.address}/{repair.backup.folder}")  # noqa: T201
    return code


@switches
def mended(
    runtime: Runtime, fs: FileSystem, session: Session, dry_run: bool = False, lock_service_lost: bool = False,
    orders: WithholdingOrders = NO_ORDERS,
) -> Repair:  # fmt: skip
    """*Switches* for long. The repair that has run. InvalidRequest when a role lives, or when something has to be said
    first; LockLost: run it again."""
    _refuse_living_masters(session)
    _refuse_living_servers(session)
    try:
        session.lock(MASTER, _NO_ADDRESS)
    except Conflict as error:
        raise InvalidRequest(f"a master has just started, or another repair is at work: {error}") from error
    try:
        _refuse_living_servers(session)
        store = ClusterLockStore(session)
        _refuse_lost_lock_service(store, fs, lock_service_lost)
        name = f"{BACKUPS}/{runtime.wall_millis()}"
        if dry_run:
            lost = _lost_with_lock_service(store, fs)
            repair = _tried(runtime, fs, store, name, orders)
            repair.report.lost += lost
            return repair
        taken_back = [line for folder in unfinished(fs) for line in _taken_back(fs, store, folder)]
        lost = _lost_with_lock_service(store, fs)
        damaged = _damaged_server_files(session)
        _end_dead_servers(runtime, fs, session)
        repair = Repair(runtime, fs, fs, name, saved_scanner(fs), store, orders)
        repair.run()
        repair.report.done[:0] = taken_back + damaged
        repair.report.lost += lost
        return repair
    finally:
        with contextlib.suppress(HbtableError):  # it ends with the session in any case
            session.unlock(MASTER)


@switches
def _refuse_living_masters(session: Session) -> None:
    """InvalidRequest while a master is there, or stands by."""
    try:
        found = [one.address for one in MasterCandidate.living(session)]
    except Corruption:
        found = ["that cannot say its address"]
    if not found and session.holder(MASTER) is not None:
        found = ["that has the lock, or another repair"]
    _refuse("master", found)


@switches
def _refuse_living_servers(session: Session) -> None:
    """InvalidRequest while a tablet server may live."""
    found = []
    for name in session.list(SERVERS):
        if name.endswith(LOCK_SUFFIX):
            incarnation = name.removesuffix(LOCK_SUFFIX)
            try:
                found.append(ServerFile.read(session, incarnation).address or incarnation)
            except (Corruption, FileNotFound):
                found.append(incarnation)
    _refuse("tablet server", found)


def _refuse(role: str, found: list[str]) -> None:
    if found:
        named = ", ".join(f"{role} {one}" for one in found[:5])
        raise InvalidRequest(
            f"the cluster is not down: {named}{' and more' * (len(found) > 5)}. Stop every role, and repair again; one "
            "that was killed counts as alive until its session ends (session.session_seconds)"
        )


@switches
def _refuse_lost_lock_service(store: LockStore, fs: FileSystem, said: bool) -> None:
    try:
        if said or store.load(CLUSTER) is not None or not folder_id(fs):
            return
    except Corruption:
        return
    raise InvalidRequest(
        "the lock service knows no cluster, and the files are of one. If cluster.zookeeper and cluster.root are what "
        "its roles are given, and ZooKeeper has lost it, stop every role and repeat with --lock-service-lost: then "
        "every log is ended, which ends a cluster that serves under another root"
    )


@switches
def _lost_with_lock_service(store: LockStore, fs: FileSystem) -> list[str]:
    """Messages about what a cluster had in a lock service that knows nothing of it any more, as far as there was any:
    no file tells."""
    there = store.paths()
    if CLUSTER in there or not folder_id(fs):
        return []
    return [
        f"if there were any, {what}. They were kept in ZooKeeper alone, which has lost the cluster"
        for path, what in _NOWHERE_ELSE.items()
        if path not in there
    ]


@switches
def _damaged_server_files(session: Session) -> list[str]:
    """Messages about files of dead servers that cannot be read, and go with the others. UnsupportedFormat."""
    found = []
    for name in session.list(SERVERS):
        if not name.endswith(LOCK_SUFFIX):
            try:
                ServerFile.read(session, name)
            except Corruption as error:
                found.append(f"the lock service's file {server_file(name)} was taken out: {error}")
            except FileNotFound:
                continue
    return found


@switches
def _end_dead_servers(runtime: Runtime, fs: FileSystem, session: Session) -> None:
    for name in session.list(SERVERS):
        if not name.endswith(LOCK_SUFFIX) and not expire_server(session, name):
            raise InvalidRequest(f"tablet server {name} has just started: stop it, and repair again")
    for incarnation in sorted({status.path.split("/")[1] for status in fs.list_files(LOGS)}):
        if not fs.exists(manifest_path(log_folder(incarnation))):
            fence(runtime, fs, incarnation, FencingOptions())


@switches
def _tried(runtime: Runtime, fs: FileSystem, store: LockStore, name: str, orders: WithholdingOrders) -> Repair:
    waiting = unfinished(fs)
    if waiting:
        raise InvalidRequest(
            f"an earlier repair was interrupted: without --dry-run it is taken back first, from {waiting[0]}"
        )
    overlay = OverlayFileSystem(fs, MemoryFileSystem(runtime))
    left = fence_in_overlay(runtime, overlay)
    if left:
        raise InvalidRequest(
            f"HDFS has files of the log {left[0]} that were never closed, so what is in them cannot be said without "
            "taking them from their writer: repair without --dry-run does that, and so does a master that starts"
        )
    repair = Repair(runtime, overlay, overlay, name, saved_scanner(fs), LockStoreCopy(store), orders)
    repair.run()
    return repair


@switches
def _taken_back(fs: FileSystem, store: LockStore, folder: str) -> list[str]:
    count = len(take_back(fs, store, folder))
    return [f"an earlier repair was interrupted and was taken back first: {count} files from {folder}"]
