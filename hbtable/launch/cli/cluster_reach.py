"""Opens a cluster for `hbtable check` and `hbtable repair`: its files, and a session of its lock service."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hbtable.commitlog.group_files.group_file import SUFFIX as GROUP_FILE
from hbtable.commitlog.segments.segment import LOGS
from hbtable.commitlog.segments.segment import SUFFIX as SEGMENT
from hbtable.errors import Corruption, FileNotFound, InvalidConfiguration
from hbtable.fs.hdfs.options import HdfsNativeOptions
from hbtable.fs.interface import HDFS, LOCAL, WEBHDFS, FileSystem
from hbtable.fs.opened import FileSystemOptions, close_file_system, open_file_system
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.launch.config.cluster_configuration import ClusterOptions, read_cluster_configuration
from hbtable.launch.roles.addresses import Addresses
from hbtable.launch.roles.cluster_key import check_key, cluster_key, refusing
from hbtable.launch.roles.lock_service import lock_service
from hbtable.launch.roles.planted_nodes import refuse_planted
from hbtable.launch.roles.startup_checks import check_namenode, open_session
from hbtable.lockservice.features import read_cluster
from hbtable.lockservice.identity import refuse_another_cluster, sound_folder_id
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import CLUSTER
from hbtable.lockservice.session_files import SessionFiles
from hbtable.master.bootstrap import check_log_kind
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches


@dataclass(frozen=True)
class ReachedCluster:
    """Open until reached() ends."""

    fs: FileSystem
    session: Session
    transport: Transport
    address: str
    """Of the files."""
    refusals: Sequence[str] = ()
    """A sentence about each tablet server that takes no call of this process, or that it would not believe."""
    planted: str = ""
    """The message about nodes of ZooKeeper with which no role would start."""


@contextlib.contextmanager
@switches
def reached(
    runtime: Runtime, config: str, define: Sequence[str], name: str, looks_only: bool = False
) -> Iterator[ReachedCluster]:
    """`looks_only`: no file is changed. InvalidConfiguration when the two are of different clusters, or the files are
    reached in another way than the cluster writes its logs, and when a stranger's nodes would be changed with others;
    Unavailable."""
    configuration = read_cluster_configuration(config, os.environ, define)
    cluster = configuration.options("cluster", ClusterOptions)
    files = FileSystemOptions(
        configuration.options("webhdfs", WebHdfsOptions), configuration.options("hdfs", HdfsNativeOptions)
    )
    cluster_key(cluster, "")  # refused now, and not after waiting for ZooKeeper
    fs = open_file_system(cluster.files, runtime, files, looks_only)
    try:
        check_namenode(runtime, cluster.files, files.webhdfs.ca)
        session = open_session(lock_service(runtime, configuration), name, cluster.zookeeper)
        try:
            planted = ""
            try:
                refuse_planted(session, fs)
            except InvalidConfiguration as error:
                if not looks_only:
                    raise
                planted = str(error)
            refuse_mismatch(session, fs)
            addresses = Addresses(session)
            rpc = configuration.options("rpc", RpcOptions)
            key = cluster_key(cluster, sound_folder_id(fs))
            refusals: list[str] = []
            if looks_only:  # who changes files calls no role: every one has to be down
                said = configuration.said("cluster", "key")
                check_key(runtime, addresses.first_roles(), rpc, key, said)
                refusals = refusing(runtime, addresses.living_servers(), rpc, key, said)
            transport = RpcTransport(runtime, addresses.server, addresses.master, rpc, key=key)
            yield ReachedCluster(fs, session, transport, cluster.files, refusals, planted)
        finally:
            session.close()
    finally:
        close_file_system(fs)


@switches
def refuse_mismatch(session: Session, fs: FileSystem) -> None:
    """InvalidConfiguration; UnsupportedFormat. What is damaged is no mismatch: no cluster has local logs."""
    with contextlib.suppress(Corruption, FileNotFound):
        if read_cluster(session.read(CLUSTER).data).get("log_kind", LOCAL) != LOCAL:
            check_log_kind(session, fs.log_kind)
    _refuse_other_logs(fs)
    refuse_another_cluster(SessionFiles(session), fs)


@switches
def _refuse_other_logs(fs: FileSystem) -> None:
    """Also where the lock service does not tell any more which kind they are."""
    other, kind = (GROUP_FILE, WEBHDFS) if fs.log_kind == HDFS else (SEGMENT, HDFS)
    found = next((one.path for one in fs.list_files(LOGS) if one.path.endswith(other)), "")
    if found:
        raise InvalidConfiguration(f"{found} was written over {kind}://: give cluster.files as its roles have it")
