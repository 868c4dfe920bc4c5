"""The first start of a cluster (paper, section 5.1: the root tablet is the only one that nobody else names).

Each step may be repeated after a crash at any point: /cluster is created once, the root tablet's record is created
once, and the row of the last METADATA tablet is put if absent.
"""

import json
from typing import Final

from hbtable.commitlog.recovery.fencing import FencingOptions, fence
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.segments.segment import LOGS, log_folder
from hbtable.encoding import tablet_record
from hbtable.errors import AlreadyExists, Corruption, FileNotFound, InvalidConfiguration, StaleLocation
from hbtable.fs.interface import HDFS, LOCAL, WEBHDFS, FileSystem
from hbtable.lockservice.features import FORMAT, read_cluster
from hbtable.lockservice.identity import folder_id, put_folder_id, settle_folder_id, sound_folder_id
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import CLUSTER, LOCK_SUFFIX, SERVERS
from hbtable.lockservice.state_number import refuse_older_files
from hbtable.metadata import layout
from hbtable.metadata.catalog import ROOT_COPY_PATH, Catalog
from hbtable.metadata.root_copy import was_put_back
from hbtable.model.tablet import TabletRecord
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches
from hbtable.tablet.shared import SSTABLE_FOLDER

_LOST: Final = ("`hbtable repair --config FILE --lock-service-lost`", "`hbtable repair` on the folder")
_ADDRESSES: Final = {LOCAL: "a folder", HDFS: "hdfs://...", WEBHDFS: "webhdfs://..."}


@switches
def bootstrap(runtime: Runtime, session: Session, fs: FileSystem, catalog: Catalog) -> None:
    """Makes the cluster when the lock service is empty. Durable on return.

    InvalidConfiguration when the lock service is empty but the file system holds a cluster: an empty root tablet
    would make all of it garbage; when the two are of different clusters; and for a cluster with another kind of log.
    UnsupportedFormat when a newer hbtable made it. Corruption when the root tablet's record is an old one, or the files
    are.
    """
    check_log_kind(session, fs.log_kind)
    try:
        refuse_old_root(fs, catalog.read_root())
        refuse_older_files(session, fs)
    except StaleLocation:  # never started
        refuse_lost_lock_service(fs)
        refuse_data(runtime, session, fs)
        # The folder first: it never lacks an id that the lock service names.
        cluster_id(runtime, session, fs.log_kind, folder_id(fs) or put_folder_id(runtime, fs))
        _create_root(runtime, catalog)
    settle_folder_id(runtime, fs, cluster_id(runtime, session, fs.log_kind, sound_folder_id(fs)))


@switches
def first_metadata_row(runtime: Runtime, catalog: Catalog) -> None:
    """Once the root tablet is served: the row of the last METADATA tablet exists on return."""
    # Its key, that of 'no end row', never goes away: splits narrow the last tablet from the left.
    catalog.put_tablet_if_absent(layout.first_metadata_record(runtime.wall_millis()))


@switches
def _create_root(runtime: Runtime, catalog: Catalog) -> None:
    try:
        catalog.create_root(layout.first_root_record(runtime.wall_millis()))
    except AlreadyExists:
        return  # another master started at the same moment


@switches
def refuse_old_root(fs: FileSystem, root: TabletRecord) -> None:
    """Corruption when the lock service's record of the root tablet was replaced by an old one."""
    try:
        copy = tablet_record.decode(fs.read_file(ROOT_COPY_PATH), ROOT_COPY_PATH)
    except (FileNotFound, Corruption):
        return  # the next change writes it anew
    if was_put_back(root, copy):
        raise Corruption(
            layout.ROOT_PATH,
            0,
            f"the root tablet's record is of generation {root.generation}, and its copy {ROOT_COPY_PATH} of "
            f"{copy.generation}: it was replaced by an old one, by which METADATA would be read as it was then. Stop "
            "everything and run `hbtable repair`",
        )


@switches
def refuse_lost_lock_service(fs: FileSystem) -> None:
    """Refuses to begin a new cluster over an old one: InvalidConfiguration when the file system has one. To be called
    when the lock service has none."""
    try:
        data = fs.read_file(ROOT_COPY_PATH)
    except FileNotFound:
        return
    copy = tablet_record.decode(data, ROOT_COPY_PATH)
    # Generation 0: the first start crashed between the copy and the lock service's file; nothing was ever stored.
    if copy.generation:
        raise InvalidConfiguration(
            "the lock service is empty, or has no /root-tablet, but the file system holds a cluster: its lock "
            "service was lost or another one is configured. Point to the right one. If it was lost, stop every role; "
            f"run {_LOST[fs.log_kind == LOCAL]}"
        )


@switches
def refuse_data(runtime: Runtime, session: Session, fs: FileSystem) -> None:
    """To be called when neither the lock service nor the file system says that there is a cluster. InvalidConfiguration
    when there are files of one all the same: it would be taken for garbage. *Switches*; Unavailable: try again."""
    left = [status.path for status in fs.list_files(SSTABLE_FOLDER)]
    if not left:
        logs = sorted({status.path.split("/")[1] for status in fs.list_files(LOGS)})
        # After the logs were listed. A server that began before the first master has one, in which there is nothing.
        known = {name.removesuffix(LOCK_SUFFIX) for name in session.list(SERVERS)}
        left = [log_folder(name) for name in logs if name not in known and _has_records(runtime, fs, name)]
    if left:
        raise InvalidConfiguration(
            f"the lock service knows no cluster and {ROOT_COPY_PATH} is not there, but there is data ({left[0]}"
            f"{f' and {len(left) - 1} more' if left[1:] else ''}), which a new cluster would take for garbage: restore "
            "the lock service and metadata/ from a backup of the same time, rebuild them with hbtable repair, or begin "
            "in an empty folder"
        )


@switches
def _has_records(runtime: Runtime, fs: FileSystem, incarnation: str) -> bool:
    """Whether the log has records. One that cannot be read counts as well."""
    fence(runtime, fs, incarnation, FencingOptions(patience_seconds=0.0))
    try:
        return next(read_log(fs, log_folder(incarnation)), None) is not None
    except Corruption:
        return True


@switches
def cluster_id(runtime: Runtime, session: Session, log_kind: str, new_id: str = "") -> str:
    """32 hexadecimal digits; made at the first call, together with the kind of the cluster's logs: `new_id`, or drawn.
    *Switches.*"""
    try:
        data = session.read(CLUSTER).data
    except FileNotFound:
        new_id = new_id or f"{runtime.random.getrandbits(128):032x}"
        try:
            session.create(CLUSTER, json.dumps({"id": new_id, "format": FORMAT, "log_kind": log_kind}).encode())
        except AlreadyExists:
            pass
        data = session.read(CLUSTER).data
    return str(read_cluster(data)["id"])


@switches
def check_log_kind(session: Session, log_kind: str) -> None:
    """InvalidConfiguration when the cluster's logs are of another kind than this process can write and fence: it could
    not bring a dead server's log to its end, so it must not take part."""
    try:
        cluster = read_cluster(session.read(CLUSTER).data)
    except FileNotFound:
        return
    kind = cluster.get("log_kind", LOCAL)
    if kind != log_kind:
        raise InvalidConfiguration(
            f"this cluster writes its logs the {kind} way, and was configured here for {log_kind}, which cannot fence "
            f"them: give the file system's address as the other roles do ({_ADDRESSES.get(kind, kind)})"
        )
