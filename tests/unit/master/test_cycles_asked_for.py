"""Whoever asked the master for something that came to nothing half-way: the cycle finishes it at once, not at the next
scan of METADATA."""

from collections.abc import Callable

import pytest

from hbtable.errors import MoveFailed, OutcomeUnknown, StaleLocation
from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.master.master import Master, MasterOptions
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime

SCHEMA = TableSchema(b"t", {b"f": FamilySchema(b"f")})


class Heard:
    """A transport that tells of each call of its tablet servers before it is made."""

    def __init__(self, inner: object, hear: Callable[[str], None]) -> None:
        self.inner = inner
        self.hear = hear

    def __getattr__(self, name: str) -> object:
        found = getattr(self.inner, name)
        if name in ("tablet_admin", "tablet_service"):
            return lambda incarnation: Heard(found(incarnation), self.hear)

        def call(*arguments: object) -> object:
            self.hear(name)
            return found(*arguments)

        return call if callable(found) else found


def with_master(test: Callable[[Master, EmbeddedCluster], None], hear: Callable[[Master, str], None]) -> None:
    """A master in place of the cluster's own, which works only when the test says so and scans once an hour."""
    runtime = SimulatedRuntime(seed=3)

    def main() -> None:
        fs = MemoryFileSystem(runtime)
        cluster = EmbeddedCluster(runtime, fs, MemoryLockService(runtime))
        cluster.start()
        cluster.client.admin.create_table(SCHEMA)
        cluster.master.stop()
        transport = Heard(cluster.transport, lambda name: hear(master, name))
        master = Master(
            runtime,
            cluster.session,
            fs,
            transport,  # type: ignore[arg-type]
            lambda: None,
            MasterOptions(scan_seconds=3600.0),
        )
        master.acquire()
        master.settle()
        test(master, cluster)
        master.stop()
        cluster.stop()

    runtime.run(main)


def failing_loads(failing: list[bool]) -> Callable[[Master, str], None]:
    """The next load of a tablet is not answered when something is in the list."""

    def hear(master: Master, name: str) -> None:
        if name == "load_tablet" and failing:
            failing.clear()
            raise StaleLocation("no answer")

    return hear


def test_what_is_asked_while_a_cycle_runs_is_not_lost() -> None:
    scans: list[bool] = []

    def hear(master: Master, name: str) -> None:
        if name == "scan":
            scans.append(True)
            if asking:
                asking.clear()
                master.request_cycle()

    asking: list[bool] = []

    def test(master: Master, cluster: EmbeddedCluster) -> None:
        scans.clear()
        master.cycle()
        assert not scans, "nothing came or went"
        asking.append(True)
        master.request_cycle()
        master.cycle()
        once = len(scans)
        assert once
        master.cycle()
        assert len(scans) == 2 * once, "it was asked again in the middle of the last one"
        master.cycle()
        assert len(scans) == 2 * once

    with_master(test, hear)


def test_a_tablet_whose_move_failed_is_served_after_one_cycle() -> None:
    failing: list[bool] = []

    def test(master: Master, cluster: EmbeddedCluster) -> None:
        (tablet,) = cluster.client.admin.tablets(b"t")
        failing.append(True)
        with pytest.raises(MoveFailed):
            master.calls.move_tablet(b"t", tablet.tablet_id)
        assert not failing
        master.cycle()
        assert tablet.tablet_id in {one.record.tablet_id for one in cluster.server.admin.tablets()}

    with_master(test, failing_loads(failing))


def test_a_tablet_without_a_server_does_not_wait_for_a_collection() -> None:
    collecting: list[str] = []
    failing: list[bool] = []
    fail = failing_loads(failing)

    def hear(master: Master, name: str) -> None:
        fail(master, name)
        if name == "files_in_flight":
            collecting.append("begun")
            master._runtime.sleep(60)
            collecting.append("went on")

    def test(master: Master, cluster: EmbeddedCluster) -> None:
        (tablet,) = cluster.client.admin.tablets(b"t")
        clock = master._runtime.clock_seconds
        master._runtime.sleep(31)
        began = clock()
        master.cycle()
        failing.append(True)
        with pytest.raises(MoveFailed):
            master.calls.move_tablet(b"t", tablet.tablet_id)
        master.cycle()
        assert tablet.tablet_id in {one.record.tablet_id for one in cluster.server.admin.tablets()}
        assert clock() - began < 10
        assert collecting == ["begun"], "one at a time"
        master.stop()
        assert collecting == ["begun", "went on"]

    with_master(test, hear)


def test_a_table_whose_creation_failed_is_finished_after_one_cycle() -> None:
    failing: list[bool] = []

    def test(master: Master, cluster: EmbeddedCluster) -> None:
        failing.append(True)
        with pytest.raises(OutcomeUnknown, match="may or may not come to exist"):
            master.calls.create_table(TableSchema(b"u", SCHEMA.families))
        master.cycle()
        cluster.client.rows(b"u").put(b"r", {b"f:q": b"v"})

    with_master(test, failing_loads(failing))
