"""The master disables and enables tables for their limits of space, beside operators and beside tables in trouble."""

import pytest

from hbtable.model.table import TableState
from tests.harness.counted_cluster import CountedCluster
from tests.harness.hanging_calls import hang

ON, OFF = TableState.ENABLED, TableState.DISABLED


class Scene:
    """Tables of the namespace `n`, each larger than a byte."""

    def __init__(self, machine, seed):
        self.machine, self.cluster = machine, CountedCluster(seed, machine.options)

    def play(self, act, *names):
        def body():
            self.cluster.start(3)
            self.admin = self.cluster.client.admin
            self.admin.create_namespace(b"n", {})
            for name in names:
                self.admin.create_table(self.machine.schema(name), [])
                self.machine.write(self.cluster, range(300), name=name)
                self.admin.flush(name)
            self.space = self.cluster.master._space
            act()

        self.cluster.runtime.run(body)

    def limit(self, most, policy="DISABLE"):
        """0: none."""
        self.admin.set_space_limit(b"n", b"", most, policy if most else "")

    def comes_to(self, *states):
        """Of the tables, ascending by name; and it stays so."""

        def found():
            return tuple(table.state for table in self.cluster.client.catalog.tables())

        self.cluster.until(lambda: found() == states, 60)
        self.cluster.runtime.sleep(20)
        assert found() == states


@pytest.mark.parametrize("seconds", [0, 30])
def test_a_table_that_an_operator_disabled_meanwhile_stays_disabled(machine, seconds):
    """Also where he holds the table for longer than the master waits for it."""
    scene = Scene(machine, 31)
    cluster = scene.cluster

    def act():
        (tablet,) = scene.admin.tablets(b"n:b")
        hung = hang(cluster, tablet.owner, "unload_tablet", concerns=lambda epoch, number: number == tablet.tablet_id)
        with cluster.master.tables.operation(b"n:b"):
            asked = cluster.runtime.spawn(scene.admin.disable_table, b"n:b", name="operator")
            cluster.runtime.sleep(1)
            scene.limit(1)
            cluster.until(lambda: cluster.client.catalog.read_table(b"n:a").state is OFF, 20)
        cluster.until(lambda: hung.asked["unload_tablet"], 5)
        cluster.runtime.sleep(seconds)
        hung.waker.set()
        assert asked.join(60)
        assert asked.error is None
        scene.comes_to(OFF, OFF)
        scene.limit(0)
        scene.comes_to(ON, OFF)

    scene.play(act, b"n:a", b"n:b")
