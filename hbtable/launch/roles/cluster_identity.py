"""Checks that the lock service and the folder that a role was given are the same cluster's (lockservice.identity).

A master with the wrong folder would find the logs of dead servers empty there, and a tablet server would write where
nobody looks.
"""

from hbtable.errors import FileNotFound, InvalidConfiguration
from hbtable.fs.interface import FileSystem
from hbtable.lockservice.identity import folder_id, put_folder_id
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import CLUSTER
from hbtable.master.bootstrap import check_log_kind, cluster_id, refuse_lost_lock_service
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches


@switches
def join_cluster(runtime: Runtime, session: Session, fs: FileSystem, address: str) -> str:
    """The cluster's id, which both places have on return. InvalidConfiguration when they are of different
    clusters, when the lock service lost this one, or has it with another kind of log; UnsupportedFormat; Unavailable,
    StorageFailed."""
    check_log_kind(session, fs.log_kind)
    try:
        session.read(CLUSTER)
    except FileNotFound:
        refuse_lost_lock_service(fs)
        # The folder first, or a role that starts at the same moment would take the folder for another cluster's.
        named = cluster_id(runtime, session, fs.log_kind, folder_id(fs) or put_folder_id(runtime, fs))
    else:
        named = cluster_id(runtime, session, fs.log_kind)
    found = folder_id(fs)
    if found != named:
        raise InvalidConfiguration(
            f"cluster.files = {address!r} holds {'another cluster' if found else 'no cluster'}, and not the one of "
            "cluster.zookeeper and cluster.root: give all three as the cluster's other roles have them"
        )
    return named
