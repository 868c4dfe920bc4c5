"""The master disables and enables tables for their limits of space, beside operators and beside tables in trouble."""

import math
from dataclasses import replace

import pytest

from hbtable.errors import DataDamaged, OutOfSpace, TableNotEnabled, Unavailable
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


def test_a_table_that_an_operator_goes_on_to_disable_stays_disabled(machine):
    """The master began to, and got no answer from the table's server."""
    scene = Scene(machine, 36)
    cluster = scene.cluster

    def act():
        (tablet,) = scene.admin.tablets(b"n:b")
        hung = hang(cluster, tablet.owner, "unload_tablet", concerns=lambda epoch, number: number == tablet.tablet_id)
        scene.limit(1)
        cluster.until(lambda: hung.asked["unload_tablet"], 20)
        asked = cluster.runtime.spawn(scene.admin.disable_table, b"n:b", name="operator")
        cluster.runtime.sleep(21)
        assert cluster.client.catalog.read_table(b"n:b").state is TableState.DISABLING
        hung.waker.set()
        assert asked.join(200)
        assert asked.error is None
        scene.comes_to(OFF, OFF)
        scene.limit(0)
        scene.comes_to(ON, OFF)

    scene.play(act, b"n:a", b"n:b")


@pytest.mark.parametrize("first", [True, False])
def test_a_table_that_an_operator_disables_behind_the_master_stays_disabled(machine, first):
    """Somebody holds the table for long. `first`: the operator asks before the master does, is put off, and his client
    asks again; he is told that it is done. Else he asks behind the master, and is refused: the table is disabled."""
    scene = Scene(machine, 40)
    cluster = scene.cluster

    def ask():
        return cluster.runtime.spawn(scene.admin.disable_table, b"n:b", name="operator")

    def act():
        with cluster.master.tables.operation(b"n:b"):
            if first:
                asked = ask()
                cluster.runtime.sleep(10)
            scene.limit(1)
            cluster.until(lambda: cluster.client.catalog.read_table(b"n:a").state is OFF, 20)
            cluster.runtime.sleep(5)
            if first:
                cluster.runtime.sleep(10)
            else:
                asked = ask()
                cluster.runtime.sleep(3)
        assert asked.join(60)
        assert (asked.error is None) if first else isinstance(asked.error, TableNotEnabled)
        scene.comes_to(OFF, OFF)
        scene.limit(0)
        scene.comes_to(ON, OFF)

    scene.play(act, b"n:a", b"n:b")


def test_a_table_that_an_operator_asks_to_disable_when_it_is_disabled_stays_so(machine):
    scene = Scene(machine, 41)

    def act():
        scene.limit(1)
        scene.comes_to(OFF, OFF)
        with pytest.raises(TableNotEnabled):
            scene.admin.disable_table(b"n:b")
        scene.limit(0)
        scene.comes_to(ON, OFF)

    scene.play(act, b"n:a", b"n:b")


def test_a_table_that_the_master_goes_on_to_disable_for_an_operator_stays_disabled(machine):
    """His own call ended early, while the master's waited for the table."""
    scene = Scene(machine, 38)

    def act():
        catalog = scene.cluster.client.catalog
        with scene.cluster.master.tables.operation(b"n:b"):
            scene.limit(1)
            scene.cluster.until(lambda: catalog.read_table(b"n:a").state is OFF, 20)
            record = catalog.read_table(b"n:b")
            catalog.replace_table(record, replace(record, state=TableState.DISABLING))
        scene.comes_to(OFF, OFF)
        scene.limit(0)
        scene.comes_to(ON, OFF)

    scene.play(act, b"n:a", b"n:b")


def test_a_table_whose_limit_is_lifted_before_it_is_disabled_is_enabled_again(machine):
    """There is no room to flush it for long; the master goes on trying."""
    scene = Scene(machine, 39)

    def no_room(tablet, *arguments):
        raise OutOfSpace("the disk is full")

    def act():
        tables = scene.cluster.master.tables
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tables._placement, "vacate_to_disable", no_room)
            scene.limit(1)
            scene.comes_to(TableState.DISABLING)
            scene.limit(0)
            scene.comes_to(TableState.DISABLING)
        scene.comes_to(ON)

    scene.play(act, b"n:b")


def test_a_namespace_that_keeps_its_limit_again_has_all_its_tables_enabled(machine):
    """One of them is truncated: it was disabled again, as long as another one was."""
    scene = Scene(machine, 42)

    def act():
        scene.limit(sum(int(one["bytes"]) for one in scene.admin.space_usage() if one["table"].startswith("n:")) - 1)
        scene.comes_to(OFF, OFF)
        scene.admin.truncate_table(b"n:a", False)
        scene.comes_to(ON, ON)

    scene.play(act, b"n:a", b"n:b")


class Slow(DelegatingFake):
    """The operations of tables. All but one take long to be enabled or disabled."""

    def __init__(self, inner, runtime):
        super().__init__(inner)
        self._runtime, self.begun = runtime, []

    def enable_table(self, name, begins):
        self._wait(name)
        self.inner.enable_table(name, begins)

    def disable_table(self, name, begins):
        self._wait(name)
        self.inner.disable_table(name, begins)

    def _wait(self, name):
        self.begun.append(name)
        if name != b"n:j":
            self._runtime.sleep(10)


def of_many_tables(machine):
    """A scene, the names of its tables, and what makes the master slow, and gives what waits until it has begun. It
    works at fewer tables at once, so that the last one has to wait."""
    scene = Scene(machine, 37)

    def slow_down():
        slow = scene.space._tables = Slow(scene.space._tables, scene.cluster.runtime)
        return lambda: scene.cluster.until(lambda: slow.begun, 30)

    return scene, [b"n:" + bytes([letter]) for letter in b"abcdefghij"], slow_down


def test_a_table_that_an_operator_disabled_again_while_the_master_enables_others_stays_disabled(machine):
    scene, names, slow_down = of_many_tables(machine)

    def act():
        scene.limit(1)
        scene.comes_to(*[OFF] * 10)
        begun = slow_down()
        scene.limit(0)
        begun()
        scene.admin.enable_table(b"n:j")
        scene.admin.disable_table(b"n:j")
        scene.comes_to(*[ON] * 9, OFF)

    scene.play(act, *names)


def test_a_table_whose_limit_is_lifted_while_the_master_disables_others_is_never_disabled(machine):
    scene, names, slow_down = of_many_tables(machine)

    def act():
        version = scene.cluster.client.catalog.read_table(b"n:j").schema.version
        begun = slow_down()
        scene.limit(1)
        begun()
        scene.limit(0)
        scene.comes_to(*[ON] * 10)
        assert scene.cluster.client.catalog.read_table(b"n:j").schema.version == version

    scene.play(act, *names)


class NotNow(DelegatingFake):
    """The operations of tables. One cannot be disabled, nor enabled."""

    def enable_table(self, name, begins):
        self._check(name)
        self.inner.enable_table(name, begins)

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
