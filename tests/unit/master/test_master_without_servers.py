"""A master that waits for its first tablet server."""

from hbtable.fs.memory import MemoryFileSystem
from hbtable.master.files.collector import CollectorOptions
from hbtable.master.master import Master
from hbtable.rpc.local import LocalTransport
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime


def test_no_garbage_is_looked_for_while_metadata_is_not_served() -> None:
    """It would wait for METADATA, and a server that comes meanwhile would wait for the master."""
    runtime = SimulatedRuntime(1)

    def main() -> None:
        master = Master(
            runtime,
            MemoryLockService(runtime).open_session("master"),
            MemoryFileSystem(runtime),
            LocalTransport(),
            lambda: None,
            collector_options=CollectorOptions(period_seconds=0.5),
        )
        master.acquire()
        for _ in range(5):
            began = runtime.clock_seconds()
            assert master.cycle() in ("waiting for a tablet server to serve the root tablet", master.last_message)
            assert runtime.clock_seconds() - began < 0.1
            runtime.sleep(0.6)

    runtime.run(main)
