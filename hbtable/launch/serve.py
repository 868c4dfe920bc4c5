"""One durable server in the foreground: everything composed, started in order, drained in reverse.

Start: data folder's lock -> cluster (recovers) -> scanners -> Thrift port -> HTTP port -> ready.
Stop: not ready -> Thrift port drained -> scanners saved -> cluster flushed -> folder's lock. A second signal stops at
once; the log makes that safe.
"""

import logging
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Final, final

from hbtable import __version__
from hbtable.errors import LockLost
from hbtable.fs.data_folder import DataFolder
from hbtable.fs.local import LocalFileSystem
from hbtable.hbase.server import FrontDoor, FrontDoorOptions
from hbtable.launch.cluster import EmbeddedCluster
from hbtable.launch.configuration import Configuration
from hbtable.launch.front_door import SCANNERS_FILE, make_front_door, restore_scanners, save_scanners
from hbtable.launch.pages import Pages
from hbtable.launch.sections import ServerOptions, embedded_options
from hbtable.lockservice.local import LocalLockService
from hbtable.master.bootstrap import cluster_id
from hbtable.metrics.registry import Registry
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.http import HttpListener, serve_http
from hbtable.runtime.hub_lag import HubLag
from hbtable.runtime.signals import on_signal

log = logging.getLogger(__name__)

_LOST: Final = 3
"""Exit code when the lock was lost: a supervisor may start the process again."""

_OPEN_FILES: Final = 1 << 20
_SWITCH_SECONDS: Final = 0.001
_LOOK_SECONDS: Final = 0.1

BANNER: Final = """\
hbtable {version} speaks HBase Thrift1 on {host}:{port}
data    {folder}  (durability = {durability})
{pages}
    import happybase                                  # pip install happybase
    connection = happybase.Connection("{host}", {port})
    connection.create_table("greetings", {{"f": {{}}}})
    table = connection.table("greetings")
    table.put(b"first", {{b"f:hello": b"world"}})
    print(table.row(b"first"))

Ctrl-C stops it; everything acknowledged stays."""


@final
class Server:
    """The whole server: start(), then wait() until a signal, then stop()."""

    def __init__(self, configuration: Configuration, server: ServerOptions, folder: str) -> None:
        self._options = server
        self._door_options = configuration.options("thrift", FrontDoorOptions)
        self._embedded = embedded_options(configuration)
        self._path = folder
        self.runtime = GeventRuntime()
        self.registry = Registry()
        self._stop_asked = self.runtime.event()
        self._draining = False
        self._folder: DataFolder
        self._fs: LocalFileSystem
        self.cluster: EmbeddedCluster
        self.door: FrontDoor
        self._pages: HttpListener | None = None
        self._hub_lag = HubLag(self.runtime, self.registry)

    def start(self) -> None:
        """Serving on return. Raises a sentence: folder in use, port in use, damaged file."""
        options = self._options
        self._folder = DataFolder.open(self._path, f"{options.host}:{options.port}")
        self._fs = LocalFileSystem(self._path, self.runtime)
        lock_service = LocalLockService(self._fs, self.runtime)
        self.cluster = EmbeddedCluster(self.runtime, self._fs, lock_service, self._embedded, self.registry)
        self.cluster.start()
        try:
            self._open_ports()
        except BaseException:
            self.cluster.stop(clean=False)
            self._folder.close()
            raise

    def _open_ports(self) -> None:
        options, cluster = self._options, self.cluster
        self.door = make_front_door(
            self.runtime,
            cluster.client,
            cluster.transport,
            cluster.session,
            self.registry,
            options.host,
            options.port,
            self._door_options,
            cluster_id(self.runtime, cluster.session, self._fs.log_kind),
            lambda owner: (options.host.encode(), self.door.port),
        )
        restore_scanners(self.door, self._fs, SCANNERS_FILE)
        self.door.start(options.host)
        self._folder.set_address(f"{options.host}:{self.door.port}")
        self.registry.gauge("hbtable_build_info", "1; the label says which version.", lambda: 1.0, version=__version__)
        self._hub_lag.start()
        if options.http_port:
            pages = Pages(self.registry, self.not_ready, self._hub_lag.lag_seconds, self.door.slow.newest_first)
            self._pages = serve_http(options.host, options.http_port, pages)

    def not_ready(self) -> list[str]:
        """Reasons not to send clients here."""
        reasons = ["draining"] if self._draining else []
        if self.cluster.lost.is_set() or self.cluster.session.over():
            reasons.append("the lock was lost")
        elif not self.cluster.session.valid():
            reasons.append("the lock service cannot be reached")
        return reasons

    def ask_to_stop(self) -> None:
        """The second time: at once."""
        if self._stop_asked.is_set():
            log.warning("stopping at once; what is not in SSTables will be recovered from the log")
            os._exit(0)
        self._stop_asked.set()

    def wait(self) -> int:
        """Until a signal asks to stop (0) or the lock is lost (another code)."""
        self.runtime.spawn(self._watch_lock, name="lock watch")
        self._stop_asked.wait()
        return _LOST if self.cluster.lost.is_set() else 0

    def _watch_lock(self) -> None:
        while not self.cluster.lost.wait(_LOOK_SECONDS):
            if self.cluster.session.over():
                self.cluster.lost.set()
        log.error("%s", LockLost("the lock was lost: another process may own this data now; stopping"))
        self._stop_asked.set()

    def stop(self) -> None:
        """Drains: every request under way is answered, memtables are written out."""
        self._draining = True
        self.door.drain()
        save_scanners(self.door, self._fs, SCANNERS_FILE)
        self.door.close()
        self._hub_lag.stop()
        self.cluster.stop()
        if self._pages is not None:
            self._pages.close()  # last: /readyz says draining for as long as it does
        self._folder.close()

    def banner(self) -> str:
        host, pages = self._options.host, ""
        if self._pages is not None:
            pages = f"pages   http://{host}:{self._pages.port}/metrics  /livez  /readyz  /slow\n"
        return BANNER.format(
            version=__version__,
            host=host,
            port=self.door.port,
            folder=self._path,
            durability=self._embedded.server.log.durability,
            pages=pages,
        )


def log_to_stderr() -> None:
    """One line per change of state."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True
    )


def raise_open_files() -> None:
    """Takes all the open files that the system grants: each client and each SSTable needs one, and the usual soft limit
    of 1024 is there for programs that use select()."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # macOS calls its limit infinite and refuses to set that.
    wanted = min(hard, _OPEN_FILES) if hard != resource.RLIM_INFINITY else _OPEN_FILES
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError) as error:
        log.warning("open files stay limited to %d: %s", resource.getrlimit(resource.RLIMIT_NOFILE)[0], error)


def run(
    configuration: Configuration,
    data: str | None,
    host: str | None,
    port: int | None,
    when_ready: Callable[[Server], None] | None = None,
) -> int:
    """Serves until a signal; the exit code. `when_ready` prints instead of the banner."""
    log_to_stderr()
    raise_open_files()
    # A finished sync must not wait 5 ms until the busy hub lets its thread have the interpreter: with two clients that
    # scan, a third one's synced puts went from 275 to 325 a second, and the scans were not slower.
    sys.setswitchinterval(_SWITCH_SECONDS)
    given = configuration.options("server", ServerOptions)
    options = ServerOptions(
        data=data or given.data,
        host=host or given.host,
        port=given.port if port is None else port,
        http_port=given.http_port,
    )
    server = Server(configuration, options, options.folder(os.environ))
    for number in (signal.SIGTERM, signal.SIGINT):
        on_signal(number, server.ask_to_stop)
    server.start()
    if when_ready is None:
        print(server.banner(), flush=True)  # noqa: T201 -- what the person who started it came for
    else:
        when_ready(server)
    code = server.wait()
    log.info("draining")
    server.stop()
    log.info("stopped; everything acknowledged is in %s", options.folder(os.environ))
    return code
