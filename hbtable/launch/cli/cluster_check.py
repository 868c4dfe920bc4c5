"""`hbtable check --config FILE`: the same over a cluster's folder, whether or not the cluster serves. Takes no lock and
changes nothing.

While tablet servers live, METADATA is what they say, and a log is judged once somebody has ended it. Of a cluster that
is down METADATA is read from its files, and logs are ended in an overlay, as a master would end them in earnest.
"""

import logging
import sys
from typing import Final

from hbtable.commitlog.recovery.fencing import FencingOptions, fence
from hbtable.commitlog.recovery.manifest import list_log, manifest_path
from hbtable.commitlog.segments.segment import LOGS, log_folder
from hbtable.errors import FileNotFound, HbtableError, Unavailable
from hbtable.fs.interface import FileSystem
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.overlay import OverlayFileSystem
from hbtable.launch.cli.check import DAMAGED, SOUND, UNSERVICEABLE, can_be_served, print_check
from hbtable.launch.cli.cluster_reach import reached
from hbtable.launch.cli.saved_scanner import saved_scanner
from hbtable.lockservice.files import EPOCHS, DurableFiles, stored_number
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import ServerFile
from hbtable.metadata.locator import Locator, LocatorOptions
from hbtable.metadata.retry_policy import RetryPolicy
from hbtable.repair.checking import Check, Finding
from hbtable.repair.evidence import SSTableFound
from hbtable.repair.lock_store import ClusterLockStore, LockStore
from hbtable.repair.looking_again import check_repeatedly
from hbtable.repair.served_metadata import ServedMetadata
from hbtable.rpc.transport import Transport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_PLACE: Final = "ZooKeeper"
_TRIES = 3
"""Begun anew when the cluster started or stopped meanwhile."""
_RETRY_SECONDS: Final = 30.0
_BESIDE_REFUSALS_SECONDS: Final = 0.5
"""The same beside a tablet server that takes no calls of this process: what it serves is not to be had by waiting."""
REPAIR_CLUSTER = "stop all roles, then run `hbtable repair --config FILE`"


@switches
def check_cluster(config: str, define: tuple[str, ...], as_json: bool) -> int:
    """As check_folder()."""
    runtime = GeventRuntime()
    logging.getLogger("hbtable").addHandler(logging.NullHandler())  # the report says it in its own words
    with reached(runtime, config, define, "check", looks_only=True) as cluster:
        for one in cluster.refusals:
            print(f"hbtable: {one}", file=sys.stderr)  # noqa: T201 -- its tablets are asked for in vain
        retries_for = _RETRY_SECONDS if not cluster.refusals else _BESIDE_REFUSALS_SECONDS
        check, code = checked(runtime, cluster.fs, cluster.session, cluster.transport, retries_for)
        if cluster.planted:
            what = "nobody starts with it, nor is what it says to be believed"
            check.findings.append(
                Finding(_PLACE, "the nodes of ZooKeeper are not as the cluster made them", what, cluster.planted)
            )
            code = code or DAMAGED
    print_check(check, code, as_json)
    return code


@switches
def checked(
    runtime: Runtime,
    fs: FileSystem,
    session: Session,
    transport: Transport,
    retry_seconds: float = _RETRY_SECONDS,
) -> tuple[Check, int]:
    """*Switches.* The check that has run, and the exit code. `retry_seconds`: for each call about METADATA."""
    for _ in range(_TRIES - 1):
        serving = bool(ServerFile.living(session))
        try:
            found = (
                _serving(runtime, fs, session, transport, retry_seconds) if serving else _stopped(runtime, fs, session)
            )
        except FileNotFound:
            if serving:
                raise
            continue  # a role that began meanwhile took it away
        except Unavailable:
            if serving or not ServerFile.living(session):
                raise
            continue  # nobody has fenced the log of a server that began meanwhile
        if not found[0].findings or serving == bool(ServerFile.living(session)):
            return found
    return _serving(runtime, fs, session, transport, retry_seconds)


@switches
def _serving(
    runtime: Runtime, fs: FileSystem, session: Session, transport: Transport, retry_seconds: float
) -> tuple[Check, int]:
    options = LocatorOptions(retry_policy=RetryPolicy(retry_seconds))
    served = ServedMetadata(Locator(session, transport, runtime, options))
    store = ClusterLockStore(session)
    known: dict[str, SSTableFound] = {}

    def look() -> Check:
        check = Check(runtime, fs, saved_scanner(fs), store, served, known)
        check.remedy = REPAIR_CLUSTER
        return check

    check = check_repeatedly(runtime, look)
    if not check.findings:
        return check, SOUND
    return check, DAMAGED if served.reached else UNSERVICEABLE


@switches
def _stopped(runtime: Runtime, fs: FileSystem, session: Session) -> tuple[Check, int]:
    overlay = OverlayFileSystem(fs, MemoryFileSystem(runtime))
    open_logs = fence_in_overlay(runtime, overlay)
    store = ClusterLockStore(session)
    check = Check(runtime, overlay, saved_scanner(overlay), store)
    check.remedy = REPAIR_CLUSTER
    check.run()
    if not check.findings:
        return check, SOUND
    if open_logs:
        return check, UNSERVICEABLE if check.has_no_way_in() else DAMAGED
    copy_lock_service(store, overlay)
    return check, DAMAGED if can_be_served(runtime, overlay) else UNSERVICEABLE


@switches
def fence_in_overlay(runtime: Runtime, overlay: OverlayFileSystem) -> list[str]:
    """Each log that nobody has ended is as if somebody had, for who reads it through the overlay. Those are left out,
    and returned, of which HDFS has a file that was never closed: what such a file holds is known once it was taken from
    its writer in earnest."""
    left = []
    for incarnation in sorted({status.path.split("/")[1] for status in overlay.list_files(LOGS)}):
        folder = log_folder(incarnation)
        if overlay.exists(manifest_path(folder)):
            continue
        try:
            for file in list_log(overlay, folder).files:
                overlay.open(f"{folder}/{file.name}").close()
        except Unavailable:
            left.append(incarnation)
            continue
        fence(runtime, overlay, incarnation, FencingOptions(patience_seconds=0.0))
    return left


@switches
def copy_lock_service(store: LockStore, overlay: OverlayFileSystem) -> None:
    """Copies the lock service's files into the overlay, as those of one machine, so that a start on it can be tried.
    Damaged files are left out."""
    files = DurableFiles(overlay)
    for path in store.paths():
        try:
            file = store.load(path)
        except HbtableError:
            continue
        if file is not None:
            files.put(path, file)
    overlay.write_file(EPOCHS, stored_number(1 << 62, 1))
