"""What both roles of a cluster are built on: session, file system, addresses and the transport between processes."""

import os
from collections.abc import Callable
from typing import final

from hbtable.fs.hdfs_native_options import HdfsNativeOptions
from hbtable.fs.interface import FileSystem
from hbtable.fs.opened import FileSystemOptions, open_file_system
from hbtable.fs.webhdfs_options import WebHdfsOptions
from hbtable.launch.addresses import Addresses
from hbtable.launch.cluster_configuration import ClusterOptions
from hbtable.launch.configuration import Configuration
from hbtable.launch.reaching import check_granted, check_namenode, check_writable, open_session
from hbtable.launch.same_cluster import join_cluster
from hbtable.launch.session_handover import hand_over
from hbtable.lockservice.zookeeper import ZooKeeperLockService, ZooKeeperOptions, ZooKeeperSession
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import ThriftServer, ThriftServerOptions
from hbtable.rpc.thrift_transport import ThriftTransport
from hbtable.runtime.interface import Runtime
from hbtable.runtime.sockets import Address, Listener, Socket, serve


@final
class Parts:
    """reach() first."""

    session: ZooKeeperSession
    fs: FileSystem
    addresses: Addresses
    cluster_id: str

    def __init__(self, runtime: Runtime, configuration: Configuration) -> None:
        self._runtime = runtime
        self._configuration = configuration
        self._cluster = configuration.options("cluster", ClusterOptions)
        self._rpc = configuration.options("rpc", RpcOptions)

    def reach(self, name: str) -> None:
        """The file system was tried and the session is open on return. Raises a sentence. *Switches.*"""
        runtime, cluster, configuration = self._runtime, self._cluster, self._configuration
        options = FileSystemOptions(
            configuration.options("webhdfs", WebHdfsOptions), configuration.options("hdfs", HdfsNativeOptions)
        )
        self.fs = open_file_system(cluster.files, runtime, options)
        check_namenode(runtime, cluster.files)
        check_writable(runtime, self.fs, cluster.files)
        session_options = configuration.options("session", ZooKeeperOptions)
        zookeeper = ZooKeeperLockService(runtime, cluster.zookeeper, cluster.root, session_options)
        self.session = session = open_session(zookeeper, name, cluster.zookeeper)
        hand_over(os.environ, cluster.zookeeper, session.credentials)
        self.addresses = Addresses(self.session)
        try:
            check_granted(session_options.session_seconds, session.timeout_seconds, cluster.zookeeper)
            self.cluster_id = join_cluster(runtime, session, self.fs, cluster.files)
        except BaseException:
            self.session.close()
            raise

    def transport(self, local: LocalTransport) -> ThriftTransport:
        """To all roles of the cluster; to those in `local` without a connection."""
        return ThriftTransport(self._runtime, self.addresses.server, self.addresses.master, self._rpc, local)

    def serve_roles(self, local: LocalTransport, host: str, port: int) -> tuple[ThriftServer, int]:
        """Answers other processes' calls to what is in `local`; the port, which is listening."""

        def listen(handle: Callable[[Socket, Address], None]) -> Listener:
            return serve(host, port, handle)

        server = ThriftServer(
            self._runtime, local, listen, self._configuration.options("rpc_server", ThriftServerOptions)
        )
        return server, server.start()
