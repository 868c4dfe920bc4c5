"""The base of both roles of a cluster: session, file system, addresses and the transport between processes.

Its order: ports tried -> file system -> session, and the watchdog on it -> one cluster's, both of them.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, final

from hbtable import __version__
from hbtable.access.options import AuthOptions
from hbtable.commitlog.options import LogOptions
from hbtable.fs.hdfs.options import HdfsNativeOptions
from hbtable.fs.interface import FileSystem
from hbtable.fs.opened import FileSystemOptions, open_file_system
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.launch.config.cluster_configuration import ClusterOptions, ListenOptions
from hbtable.launch.config.configuration import Configuration
from hbtable.launch.config.memory import MemoryOptions, of_machine
from hbtable.launch.memory_watch import MemoryWatch
from hbtable.launch.roles.addresses import Addresses
from hbtable.launch.roles.cluster_key import check_key, cluster_key, warn_of_key
from hbtable.launch.roles.lock_service import lock_service
from hbtable.launch.roles.planted_nodes import enter_cluster
from hbtable.launch.roles.session_pipe import hand_over
from hbtable.launch.roles.startup_checks import check_granted, check_namenode, check_ports, check_writable, open_session
from hbtable.launch.roles.surroundings import warn_of_surroundings
from hbtable.launch.roles.watchdog import Watchdog
from hbtable.lockservice.zookeeper.lock_service import ZooKeeperSession
from hbtable.lockservice.zookeeper.options import ZooKeeperOptions
from hbtable.metrics.registry import Registry
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import RpcServer, RpcServerOptions
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.interface import Runtime
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.runtime.network.sockets import Address, Listener, Socket, serve
from hbtable.runtime.supervision import spawn_counted
from hbtable.sstable.cache import BlockCache
from hbtable.switches import switches

_SERVERS_ENOUGH: Final = 2
"""Have to refuse a role where there is no master. One that was started with the wrong key itself must not keep all
others from starting."""


@final
class RoleEnvironment:
    """Opens and closes what a role stands on. begin() first, leave() last."""

    fs: FileSystem
    session: ZooKeeperSession
    addresses: Addresses
    cluster_id: str

    def __init__(
        self, runtime: Runtime, configuration: Configuration, listen: ListenOptions, watchdog: Watchdog
    ) -> None:
        self._runtime = runtime
        self._configuration = configuration
        self._cluster = configuration.options("cluster", ClusterOptions)
        self._listen = listen
        self._watchdog = watchdog

    @switches
    def begin(self, name: str, ports: list[int], compose: Callable[[], None]) -> None:
        """Calls `compose` once the session is open, whose end is this process's; lets go of it when that fails. Raises
        an error that says what is in the way: port in use, ZooKeeper or NameNode not reachable, folder not writable or
        another cluster's, another kind of log. *Switches.*"""
        self._reach(name, ports)
        try:
            compose()
        except BaseException:
            self.leave()
            raise

    @switches
    def _reach(self, name: str, ports: list[int]) -> None:
        runtime, cluster, configuration = self._runtime, self._cluster, self._configuration
        self._listen.announced()  # refused now, and not when somebody asks for it
        cluster_key(cluster, "")  # as above
        warn_of_key(cluster, configuration.options("auth", AuthOptions))
        zookeeper = lock_service(runtime, configuration)
        check_ports(self._listen.host, ports)
        options = FileSystemOptions(
            configuration.options("webhdfs", WebHdfsOptions), configuration.options("hdfs", HdfsNativeOptions)
        )
        self.fs = open_file_system(cluster.files, runtime, options)
        check_namenode(runtime, cluster.files, options.webhdfs.ca)
        check_writable(runtime, self.fs, cluster.files)
        session_options = configuration.options("session", ZooKeeperOptions)
        check = partial(check_granted, session_options.session_seconds, hosts=cluster.zookeeper)
        self.session = session = open_session(zookeeper, name, cluster.zookeeper, check)
        hand_over(os.environ, cluster.zookeeper, session.credentials)
        self.addresses = Addresses(self.session)
        try:
            self.cluster_id = enter_cluster(runtime, session, self.fs, cluster.files)
            self._key = cluster_key(cluster, self.cluster_id)
            rpc, said = configuration.options("rpc", RpcOptions), configuration.said("cluster", "key")
            check_key(runtime, self.addresses.first_roles(), rpc, self._key, said, _SERVERS_ENOUGH)
        except BaseException:
            session.close()
            raise
        self._watchdog.watch(session)
        spawn_counted(
            runtime,
            warn_of_surroundings,
            runtime,
            cluster.zookeeper,
            cluster.files,
            options,
            configuration.options("log", LogOptions),
            name="a look at the surroundings",
        )

    @switches
    def leave(self) -> None:
        """The session ends in order."""
        self._watchdog.release()
        self.session.close()

    def transport(self, local: LocalTransport) -> RpcTransport:
        """The transport to all roles of the cluster. Those in `local` are called without a connection."""
        options = self._configuration.options("rpc", RpcOptions)
        servers, master = self.addresses.server, self.addresses.master
        return RpcTransport(self._runtime, servers, master, options, local, key=self._key)

    @switches
    def serve_roles(self, local: LocalTransport, port: int) -> tuple[RpcServer, str]:
        """Answers other processes' calls to what is in `local`; the address by which they reach it, listening."""

        def listen(handle: Callable[[Socket, Address], None]) -> Listener:
            return serve(self._listen.host, port, handle)

        options = self._configuration.options("rpc_server", RpcServerOptions)
        server = RpcServer(self._runtime, local, listen, options, self._key)
        return server, f"{self._listen.announced()}:{server.start()}"

    def watch_memory(
        self, registry: Registry, budgets: Sequence[MemoryBudget], cache: BlockCache | None = None
    ) -> MemoryWatch:
        """The watch of the memory, which runs. `budgets`: of all ports of the process."""
        limit_bytes = self._configuration.options("memory", MemoryOptions).limit(of_machine())
        watch = MemoryWatch(self._runtime, registry, limit_bytes, budgets, cache)
        watch.start()
        return watch

    def banner(self, who: str, pages: str, cache_bytes: int | None = None) -> str:
        """The lines that are printed when a role serves."""
        cluster = self._cluster
        lines = [f"hbtable {__version__} {who}", f"files {cluster.files}, ZooKeeper {cluster.zookeeper}{cluster.root}"]
        if cache_bytes is not None:
            lines.append(self._configuration.options("memory", MemoryOptions).banner(cache_bytes))
        return "\n".join([*lines, f"pages {pages}"] if pages else lines)
