"""The master disables and enables tables for their limits of space, beside operators and beside tables in trouble."""

import math

import pytest

from hbtable.errors import DataDamaged, Unavailable
from hbtable.model.table import TableState
from tests.harness.counted_cluster import CountedCluster
from tests.harness.delegating_fake import DelegatingFake
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


def test_a_table_that_an_operator_enabled_and_disabled_again_stays_disabled(machine):
    """Between two looks of the master, of which there is none for long where a tablet has no server."""
    scene = Scene(machine, 35)

    def act():
        scene.limit(1)
        scene.comes_to(OFF, OFF)
        scene.space._due = math.inf
        scene.admin.enable_table(b"n:b")
        scene.admin.disable_table(b"n:b")
        scene.limit(0)
        scene.comes_to(ON, OFF)

    scene.play(act, b"n:a", b"n:b")


class NotNow(DelegatingFake):
    """The operations of tables. One cannot be disabled, nor enabled."""

    def enable_table(self, name):
        self._check(name)
        self.inner.enable_table(name)

    def disable_table(self, name, begins):
        self._check(name)
        self.inner.disable_table(name, begins)

    def _check(self, name):
        if name == b"n:a":
            raise Unavailable("one of its tablets is held back")


def test_a_table_that_cannot_be_enabled_keeps_no_other_disabled(machine):
    scene = Scene(machine, 32)

    def act():
        scene.limit(1)
        scene.comes_to(OFF, OFF)
        scene.space._tables = NotNow(scene.space._tables)
        scene.limit(0)
        scene.comes_to(OFF, ON)
        scene.space._tables = scene.space._tables.inner
        scene.comes_to(ON, ON)

    scene.play(act, b"n:a", b"n:b")


def test_a_table_that_cannot_be_disabled_keeps_no_other_enabled(machine):
    scene = Scene(machine, 33)

    def act():
        scene.space._tables = NotNow(scene.space._tables)
        scene.limit(1)
        scene.comes_to(ON, OFF)
        scene.space._tables = scene.space._tables.inner
        scene.comes_to(OFF, OFF)

    scene.play(act, b"n:a", b"n:b")


class Damaged(DelegatingFake):
    """Of METADATA a part cannot be read: of the table with this id, or the last names."""

    def __init__(self, inner, table_id=None):
        super().__init__(inner)
        self._table_id = table_id

    def tablet_rows(self, table_id, damage=None):
        return [] if self._is_damaged(table_id == self._table_id, damage) else self.inner.tablet_rows(table_id, damage)

    def tables(self, damage=None):
        return self.inner.tables(damage)[: -1 if self._is_damaged(self._table_id is None, damage) else None]

    def _is_damaged(self, there, damage):
        if there:
            error = DataDamaged("METADATA", 0, "a block of it")
            if damage is None:
                raise error
            damage.append(error)
        return there


@pytest.mark.parametrize("of_names", [False, True])
def test_a_part_of_metadata_that_cannot_be_read_keeps_no_other_table_from_being_measured(machine, of_names):
    """And no limit counts as kept for what cannot be told."""
    scene = Scene(machine, 34)

    def act():
        catalog = scene.space._catalog
        scene.admin.set_space_limit(b"", b"n:c", 1, "DISABLE")
        scene.comes_to(ON, ON, OFF)
        scene.space._catalog = Damaged(catalog, None if of_names else catalog.read_table(b"n:c").table_id)
        scene.admin.set_space_limit(b"", b"n:a", 1, "DISABLE")
        scene.comes_to(OFF, ON, OFF)

    scene.play(act, b"n:a", b"n:b", b"n:c")
