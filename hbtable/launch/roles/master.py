"""One master as a process (paper, section 4): a standby until it gets the master's lock, then the master until it ends.

Start: ports tried -> file system -> session -> internal service listens -> waits for the lock in a task of its own.
A master keeps nothing: it ends by letting go of its lock, and the next one reads everything again. When its lock is
lost the process ends at once.
"""

from typing import Final, final

from hbtable.access.options import AuthOptions
from hbtable.access.store import AccountNode
from hbtable.launch.config.cluster_configuration import ListenOptions, master_options
from hbtable.launch.config.configuration import Configuration
from hbtable.launch.config.sections import normalizer_options
from hbtable.launch.http.status import ProcessStatus
from hbtable.launch.http.superusers_pages import superusers_pages
from hbtable.launch.roles.node_protection import NodeProtection
from hbtable.launch.roles.role_environment import RoleEnvironment
from hbtable.launch.roles.watchdog import Watchdog
from hbtable.master.files.collector import CollectorOptions
from hbtable.master.master import Master
from hbtable.metrics.registry import Registry
from hbtable.reachability.evidence import OBSERVING_MASTER
from hbtable.reachability.observing import Observer
from hbtable.reachability.options import ReachabilityOptions
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import RpcServer
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_STOP_SECONDS: Final = 5.0
"""The longest time that a stop waits for tablet servers, while nobody else can be the master. Longer: less is left for
the next one to look up; shorter: it begins sooner beside a server that hangs."""


@final
class MasterProcess:
    """A master, its session and its ports, in this process. start() once, stop() once."""

    master: Master
    reload: None = None
    """A master has no files to read again: SIGHUP stops it."""

    def __init__(
        self, runtime: Runtime, configuration: Configuration, listen: ListenOptions, watchdog: Watchdog
    ) -> None:
        self._runtime = runtime
        self._configuration = configuration
        self._listen = listen
        self._watchdog = watchdog
        self._environment = RoleEnvironment(runtime, configuration, listen, watchdog)
        self._rpc: RpcServer
        self._address = ""
        self._status: ProcessStatus

    @switches
    def start(self) -> None:
        """A candidate on return. Raises what RoleEnvironment.begin raises."""
        self._environment.begin("master", [self._listen.master_port, self._listen.http_port], self._stand)

    @switches
    def _stand(self) -> None:
        environment, session = self._environment, self._environment.session
        local = LocalTransport()
        transport = environment.transport(local)
        registry = Registry()
        self.master = master = Master(
            self._runtime,
            session,
            environment.fs,
            transport,
            self._watchdog.lost,
            master_options(self._configuration, session.timeout_seconds),
            self._configuration.options("garbage", CollectorOptions),
            registry=registry,
            normalizer_options=normalizer_options(self._configuration),
        )
        local.register_master(master.calls)
        self._rpc, self._address = environment.serve_roles(local, self._listen.master_port)
        registry.gauge("hbtable_is_master", "1 while this is the master, 0 on a standby.", lambda: float(master.acting))
        options = self._configuration.options("reachability", ReachabilityOptions)
        self._observer = observer = Observer(
            self._runtime, session, transport, OBSERVING_MASTER, options, registry, lambda: master.acting
        )
        self._status = ProcessStatus(self._runtime, registry, session, unreachable=observer.reasons)
        users = AccountNode(session, self._runtime.clock_seconds)
        access = superusers_pages(self._runtime, self._configuration.options("auth", AuthOptions), users)
        self._status.open(self._listen.host, self._listen.http_port, access=access)
        self._memory = environment.watch_memory(registry, [self._rpc.budget])
        self._protection = NodeProtection(self._runtime, session, lambda: master.acting, environment.fs)
        master.start(self._address)
        observer.start()
        self._protection.start()

    @switches
    def stop(self) -> None:
        """Ends after the step it is in; another master takes over at once."""
        self._status.drain()
        self._observer.stop()
        self._protection.stop()
        self.master.stop(_STOP_SECONDS)
        self._rpc.close()
        self._memory.stop()
        self._environment.leave()
        self._status.close()

    def banner(self) -> str:
        """The line that is printed when it is a candidate."""
        pages = self._status.pages(self._listen.announced())
        return self._environment.banner(f"master: other roles on {self._address}", pages)
