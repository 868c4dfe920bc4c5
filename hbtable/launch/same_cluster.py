"""Whether the lock service and the folder of files that a role was given are the same cluster's.

    /cluster  in the lock service    the cluster's id, among others (master.bootstrap)
    cluster   in the folder          the same 32 hexadecimal digits

Invariant: an id stands in the folder before the lock service names it, so a folder without the lock service's id is
another cluster's, or none's. A master with the wrong folder would find the logs of dead servers empty there, and a
tablet server would write where nobody looks.
"""

from typing import Final

from hbtable.errors import AlreadyExists, FileNotFound, InvalidConfiguration, StorageFailed, Unavailable
from hbtable.fs.interface import FileSystem
from hbtable.fs.probing import PROBES
from hbtable.lockservice.interface import Session
from hbtable.lockservice.places import CLUSTER
from hbtable.master.bootstrap import check_log_kind, cluster_id, refuse_lost_lock_service
from hbtable.runtime.interface import Runtime

ID_FILE: Final = "cluster"


def join_cluster(runtime: Runtime, session: Session, fs: FileSystem, address: str) -> str:
    """The cluster's id, which both places have on return. *Switches.* InvalidConfiguration when they are of different
    clusters, when the lock service lost this one, or has it with another kind of log; UnsupportedFormat; Unavailable,
    StorageFailed."""
    check_log_kind(session, fs.log_kind)
    try:
        session.read(CLUSTER)
    except FileNotFound:
        refuse_lost_lock_service(fs)
        # The folder first, or a role that starts at the same moment would take the folder for another cluster's.
        named = cluster_id(runtime, session, fs.log_kind, _folder_id(fs) or _put_id(runtime, fs))
    else:
        named = cluster_id(runtime, session, fs.log_kind)
    found = _folder_id(fs)
    if found != named:
        raise InvalidConfiguration(
            f"cluster.files = {address!r} holds {'another cluster' if found else 'no cluster'}, and not the one of "
            "cluster.zookeeper and cluster.root: give all three as the cluster's other roles have them"
        )
    return named


def _folder_id(fs: FileSystem) -> str:
    """Empty when there is none."""
    try:
        return fs.read_file(ID_FILE).decode("ascii", "replace")
    except FileNotFound:
        return ""


def _put_id(runtime: Runtime, fs: FileSystem) -> str:
    """The id that stands there on return, from whoever was first."""
    draft = f"{PROBES}/{runtime.random.getrandbits(64):016x}"  # what is left there is collected
    fs.put_new(draft, f"{runtime.random.getrandbits(128):032x}".encode())
    problem: AlreadyExists | StorageFailed | None = None
    try:
        fs.rename(draft, ID_FILE)
    except (AlreadyExists, StorageFailed) as error:
        problem = error
    found = _folder_id(fs)
    if not found:
        raise Unavailable(f"the cluster's id could not be written: {problem}") from problem
    return found
