"""The process of `hbtable start --servers N`: the lock on the data folder, the lock service, the master, and the port.

Start: folder's lock -> lock service -> master's lock -> server processes -> everything served -> port.
Stop: port -> server processes drained -> master -> folder's lock.
A server process that dies is replaced; the master gives its tablets to the others meanwhile.
"""

import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, final

from hbtable import __version__
from hbtable.access.options import AuthOptions
from hbtable.access.store import AccountFile
from hbtable.commitlog.options import LogOptions
from hbtable.errors import AlreadyExists, HbtableError, InvalidConfiguration
from hbtable.fs.data_folder import DataFolder
from hbtable.fs.local import LocalFileSystem
from hbtable.hbase.security import GatewaySecurity
from hbtable.launch.access_warnings import readiness_warnings, warn_of_access, warn_of_group
from hbtable.launch.config.configuration import Configuration
from hbtable.launch.config.memory import MemoryOptions, of_machine
from hbtable.launch.config.sections import ServerOptions, normalizer_options
from hbtable.launch.exposure import refuse_exposed
from hbtable.launch.first_lines import connecting
from hbtable.launch.folder_watch import FolderWatch
from hbtable.launch.http.status import ProcessStatus
from hbtable.launch.http.superusers_pages import superusers_pages
from hbtable.launch.process import check_open_files, exit_now, prepare, say
from hbtable.launch.roles.addresses import Addresses
from hbtable.launch.roles.startup_checks import check_ports
from hbtable.launch.roles.watchdog import LOST
from hbtable.launch.servers.children import ServerChildren
from hbtable.launch.servers.handed_connections import LAUNCHER, address_of
from hbtable.launch.servers.inheritance import Inheritance
from hbtable.lockservice import features
from hbtable.lockservice.interface import Session
from hbtable.lockservice.local import LocalLockService
from hbtable.master.files.collector import CollectorOptions
from hbtable.master.master import Master, MasterOptions
from hbtable.metrics.registry import Registry
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import RpcServer
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.interface import Runtime
from hbtable.runtime.network.handed_sockets import HandedListener
from hbtable.runtime.network.sockets import Address, Listener, Socket, serve
from hbtable.runtime.network.tls import TlsOptions
from hbtable.runtime.processes.signals import on_stop_signals
from hbtable.switches import switches

log = logging.getLogger(__name__)

_START_SECONDS: Final = 60.0
"""Until all server processes serve; and the longest that a client waits for one."""
_FREED_SECONDS: Final = 5.0
"""The longest that a start waits for the processes of a launcher that was killed just now."""
_LOOK_SECONDS: Final = 0.1
_MOST: Final = 64

BANNER: Final = """\
hbtable {version} speaks HBase Thrift1 on {host}:{port}, with {count} server processes
data    {folder}  (durability = {durability})
{pages}{connecting}

Ctrl-C stops it; everything acknowledged stays."""


@final
class Launcher:
    """All of it: start(), then wait() until a signal, then stop(). `gets`: of what each server process is told, the
    part that all have in common."""

    def __init__(
        self, configuration: Configuration, server: ServerOptions, folder: str, count: int, gets: Inheritance
    ) -> None:
        self.runtime: Runtime = GeventRuntime()
        self._configuration = configuration
        self._options = server
        self._path = folder
        self._count = count
        self._gets = gets
        self._tls = configuration.options("tls", TlsOptions)
        self._auth = configuration.options("auth", AuthOptions)
        self._stop_asked = self.runtime.event()
        self._lost = self.runtime.event()
        self._serving = self.runtime.event()
        self._folder: DataFolder
        self._session: Session
        self._master: Master
        self._children: ServerChildren
        self._listener: Listener
        self._rpc: RpcServer
        self._status: ProcessStatus

    @switches
    def start(self) -> None:
        """Serving on return. Raises an error that says what is in the way: folder in use, port in use, damaged file."""
        runtime, options = self.runtime, self._options
        warn_of_access(self._tls, self._auth, AccountFile(self._path))
        check_ports(options.host, [options.port, options.http_port])
        self._folder = self._open_folder()
        try:
            warn_of_group(self._auth, self._path)
            fs = LocalFileSystem(self._path, runtime)
            fs.check_held = self._folder.check_held
            self._lock_service = LocalLockService(fs, runtime)
            self._session = session = self._lock_service.open_session("launcher")
            features.check(session)
            self._listener = serve(options.host, options.port, self._hand_over)
            self._start_cluster(fs, session)
        except BaseException:
            self._abandon()
            raise
        self._folder.set_address(f"{options.host}:{self._listener.port}")

    @switches
    def _open_folder(self) -> DataFolder:
        """The processes of a launcher that was killed end by themselves, some milliseconds later."""
        until = self.runtime.clock_seconds() + _FREED_SECONDS
        while True:
            try:
                return DataFolder.open(self._path, f"{self._options.host}:{self._options.port}")
            except AlreadyExists:
                if self.runtime.clock_seconds() >= until:
                    raise
            self.runtime.sleep(_LOOK_SECONDS)

    @switches
    def _start_cluster(self, fs: LocalFileSystem, session: Session) -> None:
        runtime, configuration = self.runtime, self._configuration
        local, addresses, registry = LocalTransport(), Addresses(session), Registry()
        self._children = children = ServerChildren(runtime, self._lock_service, self._count, self._told)
        transport = RpcTransport(
            runtime, addresses.server, addresses.master, RpcOptions(), local, connect=children.connect
        )
        self._master = master = Master(
            runtime,
            session,
            fs,
            transport,
            self._lost.set,
            configuration.options("master", MasterOptions),
            configuration.options("garbage", CollectorOptions),
            registry=registry,
            normalizer_options=normalizer_options(configuration),
        )
        registry.gauge("hbtable_is_master", "1 while this is the master.", lambda: float(master.acting))
        master.acquire(address_of(LAUNCHER))
        local.register_master(master.calls)
        self._rpc = RpcServer(runtime, local, self._listen_to_roles)
        self._rpc.start()
        self._status = ProcessStatus(runtime, registry, session, self._lost.is_set, not_served=self._not_served)
        access = superusers_pages(runtime, self._auth, AccountFile(self._path))
        warnings = readiness_warnings(self._auth, self._path)
        self._status.open(self._options.host, self._options.http_port, access=access, warnings=warnings)
        children.start(_START_SECONDS)
        master.settle()
        master.start()
        self._serving.set()

    def _told(self, serial: int, slot: int) -> Inheritance:
        http_port = self._options.http_port
        return replace(
            self._gets,
            serial=serial,
            slot=slot,
            port=self._listener.port,
            http_port=http_port + 1 + slot if http_port else 0,
            lock_fd=self._folder.descriptors[0],
            folder_fd=self._folder.descriptors[1],
        )

    def _listen_to_roles(self, handle: Callable[[Socket, Address], None]) -> HandedListener:
        self._children.roles = listener = HandedListener(self.runtime, LAUNCHER, handle)
        return listener

    @switches
    def _hand_over(self, socket: Socket, address: Address) -> None:
        """A client that comes before all is served, or while no process serves, waits for one."""
        until = self.runtime.clock_seconds() + _START_SECONDS
        self._serving.wait()
        while not self._children.hand_over(socket.fileno(), address):
            if self._stop_asked.is_set() or self.runtime.clock_seconds() >= until:
                log.warning("%s:%d was turned away: no server process takes it", *address[:2])
                return
            self.runtime.sleep(_LOOK_SECONDS)

    def _not_served(self) -> list[str]:
        """The reason why a client would wait for a server process."""
        if not self._serving.is_set():
            return ["the server processes are starting"]
        return [] if self._children.is_any_ready else ["no server process serves"]

    def ask_to_stop(self) -> None:
        """The second time: at once. The kernel ends the server processes then; their logs make that safe."""
        if self._stop_asked.is_set():
            log.warning("stopping at once; what is not in SSTables will be recovered from the logs")
            exit_now(0)
        self._stop_asked.set()

    def reload(self) -> None:
        """The server processes read their certificates again."""
        if hasattr(self, "_children"):  # otherwise there is none that has read them
            self._children.signal(signal.SIGHUP)

    @switches
    def wait(self) -> None:
        """Returns when a signal asks to stop, or the folder or the master's lock is lost."""
        watch = FolderWatch(self.runtime, _Unwritten(self._folder), self._lock_service, lambda error: self._lost.set())
        while not self._stop_asked.wait(_LOOK_SECONDS) and not self._lost.is_set():
            pass
        watch.end()

    @switches
    def stop(self) -> int:
        """Everything acknowledged is in SSTables on return, unless the lock was lost. The exit code: 0 or LOST."""
        if self._lost.is_set():
            self._children.stop(signal.SIGKILL)
            return LOST
        self._status.drain()
        self._listener.stop_accepting()
        self._children.stop()
        try:
            self._master.stop()
        except HbtableError as error:
            log.warning("the master did not stop in order: %s", error)
        self._session.close()
        self._rpc.close()
        self._status.close()
        self._folder.close()
        return 0

    @switches
    def _abandon(self) -> None:
        """After a start that failed: nothing is left behind."""
        if hasattr(self, "_children"):
            self._children.stop(signal.SIGKILL)
        if hasattr(self, "_listener"):
            self._listener.stop_accepting()
        self._folder.close()

    def banner(self) -> str:
        host, pages = self._options.host, self._status.pages(self._options.host)
        if pages:
            first = self._options.http_port + 1
            pages = f"pages   {pages}; of the servers on ports {first} to {first + self._count - 1}\n"
        return BANNER.format(
            version=__version__,
            host=host,
            port=self._listener.port,
            count=self._count,
            folder=self._path,
            durability=self._configuration.options("log", LogOptions).durability,
            pages=pages,
            connecting=connecting(host, self._listener.port, self._tls, self._auth),
        )


@final
class _Unwritten:
    """The data folder for its watch: the launcher writes none of the files whose growth could be looked at, and others
    of this cluster replace the rest."""

    def __init__(self, folder: DataFolder) -> None:
        self.root = folder.root
        self.check_held = folder.check_held

    def check_files(self) -> None:
        """Nothing to compare with is kept."""


@switches
def run(
    configuration: Configuration,
    server: ServerOptions,
    count: int,
    config_path: str | None,
    defines: Sequence[str],
    insecure: bool = False,
) -> int:
    """Serves with `count` server processes until a signal; the exit code. `server`: with what the command line said."""
    prepare()
    configuration.check_file()
    check_open_files(configuration)
    if sys.platform != "linux":
        raise InvalidConfiguration("--servers needs Linux, whose kernel ends the servers of a launcher that died")
    if not insecure:
        refuse_exposed(configuration, server.host, "server.host", server.http_port)
    limit_bytes = _memory_of_each(configuration.options("memory", MemoryOptions).limit(of_machine()), count)
    folder = server.folder(os.environ)
    told = [*defines, f"memory.limit_bytes={limit_bytes}"]
    gets = Inheritance(
        os.getpid(), 0, 0, os.path.abspath(folder), server.host, 0, 0, config_path or "", told, -1, -1, -1, -1, -1
    )
    launcher = Launcher(configuration, server, folder, count, gets)
    has_files = GatewaySecurity(configuration.options("tls", TlsOptions), configuration.options("auth", AuthOptions))
    on_stop_signals(launcher.ask_to_stop, launcher.reload if has_files.has_files else None)
    launcher.start()
    say(launcher.banner())
    launcher.wait()
    log.info("draining")
    code = launcher.stop()
    if not code:
        log.info("stopped; everything acknowledged is in %s", folder)
    return code


def _memory_of_each(limit_bytes: int, count: int) -> int:
    """InvalidConfiguration when it is too little for a server."""
    share = limit_bytes // count
    try:
        MemoryOptions(limit_bytes=share)
    except InvalidConfiguration as error:
        raise InvalidConfiguration(
            f"--servers {count}: each of them would have {share} bytes of memory.limit_bytes = {limit_bytes} (half of "
            f"the machine, unless it is set), which is too little: {error}; start fewer, or raise the limit"
        ) from error
    return share


def server_count(given: str) -> int:
    """The number of server processes: 1 to 64, or `auto`. InvalidConfiguration."""
    if given == "auto":
        return min(len(os.sched_getaffinity(0)), _MOST)
    if not given.isascii() or not given.isdigit() or not 1 <= int(given) <= _MOST:
        raise InvalidConfiguration(f"--servers {given}: a number from 1 to {_MOST} is due, or auto")
    return int(given)
