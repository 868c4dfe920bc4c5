"""The order in which a tablet server appears: its lock, its log, its file."""

from hbtable.fs.interface import AppendFile
from hbtable.fs.memory import MemoryFileSystem
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import server_lock
from hbtable.master.servers.server_reports import ReportCollector
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.locator import Locator
from hbtable.metrics.registry import Registry
from hbtable.rpc.local import LocalTransport
from hbtable.tabletserver.role import TabletServerOptions, TabletServerRole
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime


class Watched:
    """A file system that notes which logs were begun by servers whose lock was held."""

    log_kind = "local"

    def __init__(self, memory: MemoryFileSystem, session: Session) -> None:
        self.memory = memory
        self.session = session
        self.begun: dict[str, bool] = {}

    def __getattr__(self, name: str) -> object:
        return getattr(self.memory, name)

    def create(self, path: str) -> AppendFile:
        incarnation = path.split("/")[1]
        self.begun[incarnation] = self.session.holder(server_lock(incarnation)) is not None
        return self.memory.create(path)


def test_a_log_begins_under_the_lock_of_its_server() -> None:
    """The collector would take the log of a server that is just starting for garbage, and end the server by fencing."""
    runtime = SimulatedRuntime(1)

    def main() -> None:
        service = MemoryLockService(runtime)
        master, session = service.open_session("master"), service.open_session("server")
        fs = Watched(MemoryFileSystem(runtime), master)
        transport = LocalTransport()
        catalog = Catalog(session, Locator(session, transport, runtime), fs)  # type: ignore[arg-type]
        role = TabletServerRole(
            runtime,
            session,
            fs,  # type: ignore[arg-type]
            catalog,
            Registry(),
            lambda: None,
            TabletServerOptions(),
        )
        assert fs.begun == {role.incarnation: True}
        reports = ReportCollector(runtime, master, transport).collect()
        assert (reports.starting, reports.living) == ({role.incarnation}, set())
        role.start()
        transport.register_server(role.incarnation, role.service, role.admin)
        reports = ReportCollector(runtime, master, transport).collect()
        assert (reports.starting, reports.living) == (set(), {role.incarnation})
        role.stop(clean=False)

    runtime.run(main)
