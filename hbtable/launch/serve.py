"""One durable server in the foreground: everything composed, started in order, drained in reverse.

Start: data folder's lock -> cluster (recovers) -> scanners -> Thrift port -> HTTP port -> ready.
Stop: not ready -> Thrift port drained -> scanners saved -> cluster flushed -> folder's lock. A second signal stops at
once; the log makes that safe.
"""

import logging
import os
from collections.abc import Callable
from functools import partial
from typing import Final, final

from hbtable import __version__
from hbtable.access.options import AuthOptions
from hbtable.access.store import AccountFile
from hbtable.errors import LockLost
from hbtable.fs.data_folder import DataFolder
from hbtable.fs.local import LocalFileSystem
from hbtable.fs.under_way import MarksFile
from hbtable.hbase.options import ThriftGatewayOptions
from hbtable.hbase.security import GatewaySecurity
from hbtable.hbase.server import ThriftGateway
from hbtable.launch.access_warnings import readiness_warnings, warn_of_access, warn_of_group
from hbtable.launch.config.configuration import Configuration
from hbtable.launch.config.memory import MemoryOptions, of_machine
from hbtable.launch.config.sections import ServerOptions, embedded_options
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.launch.exposure import refuse_exposed
from hbtable.launch.first_lines import connecting
from hbtable.launch.folder_watch import FolderWatch
from hbtable.launch.http.page_access import page_access
from hbtable.launch.http.status import ProcessStatus
from hbtable.launch.memory_watch import MemoryWatch
from hbtable.launch.process import check_open_files, exit_now, prepare, say
from hbtable.launch.roles.startup_checks import check_ports
from hbtable.launch.roles.watchdog import LOST
from hbtable.launch.thrift_gateway import (
    SCANNERS_FILE,
    ask_users,
    make_thrift_gateway,
    reload_security,
    restore_scanners,
    save_scanners,
)
from hbtable.lockservice.local import LocalLockService
from hbtable.master.bootstrap import cluster_id
from hbtable.metrics.registry import Registry
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.interface import Task
from hbtable.runtime.network.tls import TlsOptions
from hbtable.runtime.processes.signals import on_stop_signals
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 0.1

FAILED: Final = 1
"""Exit code when something failed that a restart has to sort out: the commit log, for one."""

BANNER: Final = """\
hbtable {version} speaks HBase Thrift1 on {host}:{port}
data    {folder}  (durability = {durability})
{memory}
{pages}
{connecting}
    connection.create_table("greetings", {{"f": {{}}}})
    table = connection.table("greetings")
    table.put(b"first", {{b"f:hello": b"world"}})
    print(table.row(b"first"))

Ctrl-C stops it; everything acknowledged stays."""


@final
class SingleServer:
    """The whole server: start(), then wait() until a signal, then stop()."""

    def __init__(self, configuration: Configuration, server: ServerOptions, folder: str) -> None:
        self._options = server
        self._tls = configuration.options("tls", TlsOptions)
        self.security = GatewaySecurity(self._tls, configuration.options("auth", AuthOptions))
        self._gateway_options = configuration.options("thrift", ThriftGatewayOptions)
        self._embedded = embedded_options(configuration)
        memory = configuration.options("memory", MemoryOptions)
        self._memory_bytes = memory.limit(of_machine())
        self._memory_line = memory.banner(self._embedded.server.block_cache_bytes)
        self._path = folder
        self.runtime = GeventRuntime()
        self._users = AccountFile(folder)
        ask_users(self.runtime, self.security, self._users)
        self.registry = Registry()
        self._stop_asked = self.runtime.event()
        self._folder: DataFolder
        self._fs: LocalFileSystem
        self.cluster: EmbeddedCluster
        self.gateway: ThriftGateway
        self._status: ProcessStatus
        self._memory: MemoryWatch
        self._lock_service: LocalLockService
        self._lock_watch: Task | None = None
        self._folder_watch: FolderWatch | None = None

    @switches
    def start(self) -> None:
        """Serving on return. Raises an error that says what is in the way: folder in use, port in use, damaged file."""
        options = self._options
        warn_of_access(self._tls, self.security.auth, self._users)
        check_ports(options.host, [options.port, options.http_port])
        self._folder = DataFolder.open(self._path, f"{options.host}:{options.port}")
        warn_of_group(self.security.auth, self._path)
        self._fs = LocalFileSystem(self._path, self.runtime)
        self._fs.belongs_to(self._folder)
        self._lock_service = lock_service = LocalLockService(self._fs, self.runtime)
        self.cluster = EmbeddedCluster(
            self.runtime,
            self._fs,
            lock_service,
            self._embedded,
            self.registry,
            room=self._fs,
            marks=MarksFile(self._path),
        )
        self.cluster.start()
        try:
            self._open_ports()
        except BaseException:
            self.cluster.stop(clean=False)
            self._folder.close()
            raise

    @switches
    def _open_ports(self) -> None:
        options, cluster = self._options, self.cluster
        self.gateway = make_thrift_gateway(
            self.runtime,
            cluster.client,
            cluster.transport,
            cluster.session,
            self.registry,
            options.host,
            options.port,
            self._gateway_options,
            cluster_id(self.runtime, cluster.session, self._fs.log_kind),
            lambda owner: (options.host.encode(), self.gateway.port),
            self.security,
        )
        restore_scanners(self.gateway, self._fs, SCANNERS_FILE)
        self.gateway.start(options.host)
        self._folder.set_address(f"{options.host}:{self.gateway.port}")
        clock, broken = cluster.server.shared.wall.refused_jump, cluster.server.broken
        self._status = ProcessStatus(
            self.runtime,
            self.registry,
            cluster.session,
            cluster.lost.is_set,
            clock,
            broken=broken,
            busy_poll_seconds=self._gateway_options.busy_poll_seconds,
        )
        access = page_access(self.security, self.gateway.administers, self.gateway.describes)
        slow, damage = self.gateway.slow.newest_first, cluster.server.damage
        warnings = readiness_warnings(self.security.auth, self._path)
        self._status.open(options.host, options.http_port, slow, damage, access=access, warnings=warnings)
        self._memory = MemoryWatch(
            self.runtime, self.registry, self._memory_bytes, [self.gateway.budget], cluster.server.cache
        )
        self._memory.start()

    def ask_to_stop(self) -> None:
        """The second time: at once."""
        if self._stop_asked.is_set():
            log.warning("stopping at once; what is not in SSTables will be recovered from the log")
            exit_now(0)
        self._stop_asked.set()

    @switches
    def wait(self) -> None:
        """Returns when a signal asks to stop, or the lock is lost."""
        self._lock_watch = supervise(self.runtime, self._watch_lock, name="lock watch")
        self._folder_watch = FolderWatch(
            self.runtime, self._folder, self._lock_service, lambda error: self.cluster.lost.set()
        )
        self._stop_asked.wait()

    @switches
    def _watch_lock(self) -> None:
        while not self.cluster.lost.wait(_LOOK_SECONDS):
            if self.cluster.session.over():
                self.cluster.lost.set()
        log.error("%s", LockLost("the lock was lost: another process may own this data now; stopping"))
        self._stop_asked.set()

    @switches
    def stop(self) -> int:
        """Drains: every request under way is answered, memtables are written out. The exit code: 0, FAILED, or LOST
        when the lock was lost before this gave it back: then nothing is written any more."""
        if self._is_lost():
            self._end_lock_watch()
            return LOST
        self._status.drain()
        self.gateway.drain()
        save_scanners(self.gateway, self._fs, SCANNERS_FILE)
        self.gateway.close()
        self._memory.stop()
        # Before the session is closed in order: its end would look like a lost lock to whoever still watches it.
        self._end_lock_watch()
        failure = self.cluster.stop()
        self._status.close()
        self._folder.close()
        if failure:
            log.error("stopped, but not everything is as it should be: %s", failure)
        if self.cluster.lost.is_set():
            return LOST
        return FAILED if failure else 0

    def _is_lost(self) -> bool:
        try:
            self._folder.check_held()
        except LockLost:
            return True
        return False

    @switches
    def _end_lock_watch(self) -> None:
        if self._folder_watch is not None:
            self._folder_watch.end()
            self._folder_watch = None
        if self._lock_watch is not None:
            self._lock_watch.kill()
            self._lock_watch = None

    def banner(self) -> str:
        host = self._options.host
        pages = self._status.pages(host)
        return BANNER.format(
            version=__version__,
            host=host,
            port=self.gateway.port,
            folder=self._path,
            durability=self._embedded.server.log.durability,
            memory=self._memory_line,
            pages=f"pages   {pages}\n" if pages else "",
            connecting=connecting(host, self.gateway.port, self._tls, self.security.auth),
        )


@switches
def run(
    configuration: Configuration,
    data: str | None,
    host: str | None,
    port: int | None,
    when_ready: Callable[[SingleServer], None] | None = None,
    insecure: bool = False,
) -> int:
    """Serves until a signal; the exit code. `when_ready` prints instead of the banner. `insecure`: also where other
    machines reach it and nobody asks who they are."""
    prepare()
    configuration.check_file()
    check_open_files(configuration)
    options = configuration.options("server", ServerOptions).overridden(data, host, port)
    if not insecure:
        refuse_exposed(configuration, options.host, "server.host", options.http_port)
    server = SingleServer(configuration, options, options.folder(os.environ))
    on_stop_signals(
        server.ask_to_stop, partial(reload_security, server.security) if server.security.has_files else None
    )
    server.start()
    if when_ready is None:
        say(server.banner())
    else:
        when_ready(server)
    server.wait()
    log.info("draining")
    code = server.stop()
    if not code:
        log.info("stopped; everything acknowledged is in %s", options.folder(os.environ))
    return code
