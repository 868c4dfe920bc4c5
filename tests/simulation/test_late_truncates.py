"""The last step of a truncate is carried out after its master is gone: the table has its tablets all the same, the old
ones or the new ones."""

from contextlib import suppress
from dataclasses import replace

import pytest

from hbtable.errors import Corruption, HbtableError, OutOfSpace, TableNotDisabled, TableNotEnabled, no_answer
from hbtable.metadata import layout
from hbtable.model.table import TableState
from tests.harness.counted_cluster import CountedCluster
from tests.harness.counted_transport import CountedTransport
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.hanging_calls import hang
from tests.harness.planted_bugs import is_found
from tests.harness.tiers import one_in

SPLITS = [b"row000%03d" % number for number in range(30, 300, 30)]
STEPS = 40
"""Of a collection of garbage that finds the rows of the truncate."""


class Late(DelegatingFake):
    """METADATA's tablet servers as masters see them. The change of the table's name row that a truncate makes is under
    way when its master dies, until come()."""

    def __init__(self, inner, scene):
        super().__init__(inner)
        self._scene = scene

    def __getattr__(self, name):
        def call(*arguments):
            self._scene.step()
            return getattr(self.inner, name)(*arguments)

        return call

    def check_and_mutate(self, tablet_id, row, *arguments):
        scene, right = self._scene, self.inner.check_and_mutate
        if row == layout.table_key(b"u") and scene.refuses:
            scene.refuses, scene.come = False, lambda: right(tablet_id, row, *arguments)
            raise OutOfSpace("METADATA's log has no room")
        if row != layout.table_key(b"u") or not scene.holds:
            scene.step()
            return right(tablet_id, row, *arguments)
        scene.holds, scene.come = False, lambda: right(tablet_id, row, *arguments)
        scene.cluster.runtime.event().wait(60)
        raise no_answer("the connection broke")


class LateTransport(CountedTransport):
    def __init__(self, inner, asked, scene):
        super().__init__(inner, asked)
        self._scene = scene

    def tablet_service(self, incarnation):
        return Late(super().tablet_service(incarnation), self._scene)


class Scene:
    """A master died at the last step of a truncate of `u`, and there is another one. The step comes when that has asked
    METADATA so many times from begin() on, or never. `torn`: the table waits to be enabled, and the rows of its last
    tablet are gone."""

    def __init__(self, machine, number=0, torn=False):
        self.machine, self.cluster, self._torn = machine, CountedCluster(22, machine.options), torn
        self.cluster.master_transport = lambda inner, asked: LateTransport(inner, asked, self)
        self.holds, self.come, self.came = False, None, None
        self.refuses = False
        self._left, self._begun = number, False

    def play(self, act):
        def body():
            cluster = self.cluster
            cluster.start(3)
            self.admin = admin = cluster.client.admin
            for name in (b"t", b"u", b"w"):
                admin.create_table(self.machine.schema(name), SPLITS)
                self.machine.write(cluster, range(300), name=name)
            admin.disable_table(b"u")
            admin.disable_table(b"w")
            if self._torn:
                self._tear()
            self.holds = True
            cluster.runtime.spawn(self._truncate, name="truncate")
            cluster.until(lambda: self.come, 20)
            cluster.kill_master()
            cluster.start_master()
            found = "no tablet covers" if self._torn else "everything is served"
            cluster.until(lambda: cluster.master.acting and found in cluster.master.last_message, 30)
            act()

        self.cluster.runtime.run(body)

    def _tear(self):
        catalog = self.cluster.client.catalog
        catalog.delete_tablet(catalog.tablet_rows(catalog.read_table(b"u").table_id)[-1])
        with pytest.raises(Corruption):
            self.admin.enable_table(b"u")

    def _truncate(self):
        with suppress(HbtableError):
            self.admin.truncate_table(b"u", True)

    def begin(self):
        self._begun = True

    def refuse(self):
        """A truncate is refused by METADATA at its last step, for want of room. It comes back when it comes."""
        self.refuses = True
        with pytest.raises(OutOfSpace):
            self.admin.truncate_table(b"u", True)

    def step(self):
        self._left -= self._begun
        if self._begun and not self._left:
            self.comes()

    def comes(self):
        """It is done now, or refused."""
        self.came = self.come()

    def is_as_it_was(self):
        self.admin.enable_table(b"u")
        self.cluster.check_tiling(b"u")
        return self.machine.contents(self.cluster, b"u") == self.machine.expected(range(300))

    def is_empty(self):
        catalog = self.cluster.client.catalog
        self.cluster.until(lambda: catalog.read_table(b"u").state is TableState.ENABLED, 60)
        self.cluster.check_tiling(b"u")
        return self.machine.contents(self.cluster, b"u") == {}


def comes_late(machine):
    scene = Scene(machine)

    def act():
        assert scene.admin.collect_garbage().rows == len(SPLITS) + 1
        scene.comes()
        assert scene.came is False
        assert scene.is_as_it_was()

    scene.play(act)


def test_one_that_comes_after_its_rows_were_collected_is_refused(machine):
    comes_late(machine)


def test_one_of_a_torn_table_that_comes_after_its_rows_were_collected_is_refused(machine):
    scene = Scene(machine, torn=True)

    def act():
        scene.cluster.until(lambda: scene.admin.collect_garbage().rows == len(SPLITS), 60)
        scene.comes()
        assert scene.came is False
        scene.admin.truncate_table(b"u", True)
        assert scene.is_empty()

    scene.play(act)


@pytest.mark.parametrize("another", [False, True])
def test_one_that_was_refused_and_comes_back_after_its_rows_were_collected_is_refused(machine, another):
    """`another`: that of the master before, which never came, has been told apart already."""
    scene = Scene(machine)

    def act():
        if another:
            assert scene.admin.collect_garbage().rows == len(SPLITS) + 1
        scene.refuse()
        assert scene.admin.collect_garbage().rows == (len(SPLITS) + 1) * (1 if another else 2)
        scene.comes()
        assert scene.came is False
        assert scene.is_as_it_was()

    scene.play(act)


def test_one_that_was_refused_and_comes_back_before_is_finished(machine):
    scene = Scene(machine)

    def act():
        scene.admin.collect_garbage()
        scene.refuse()
        scene.comes()
        assert scene.came is True
        scene.admin.collect_garbage()
        assert scene.is_empty()

    scene.play(act)


def test_the_planted_bug_is_found(machine_of):
    is_found("successor", lambda: comes_late(machine_of(1)))


def test_one_that_comes_before_is_finished(machine):
    scene = Scene(machine)

    def act():
        scene.comes()
        assert scene.came is True
        scene.admin.collect_garbage()
        assert scene.is_empty()

    scene.play(act)


@pytest.mark.parametrize("number", one_in(8, range(1, STEPS + 1)))
def test_one_that_comes_at_any_step_of_the_collection_is_one_or_the_other(machine, number):
    scene = Scene(machine, number)

    def act():
        scene.begin()
        scene.admin.collect_garbage()
        if scene.came is None:
            scene.comes()
        assert scene.is_empty() if scene.came else scene.is_as_it_was()
        scene.admin.collect_garbage()
        assert {row.table_id for row in scene.cluster.client.catalog.all_tablet_rows()} == {0} | {
            table.table_id for table in scene.cluster.client.catalog.tables()
        }

    scene.play(act)


@pytest.mark.parametrize("ask", ["enable_table", "delete_table"])
def test_an_operation_beside_the_collection_is_not_refused(machine, ask):
    """The collection changes the table's row; who is at work on the table has it to himself."""
    scene = Scene(machine)

    def act():
        runtime = scene.cluster.runtime
        tasks = [
            runtime.spawn(scene.admin.collect_garbage, name="garbage"),
            runtime.spawn(getattr(scene.admin, ask), b"u", name="operator"),
        ]
        assert all(task.join(60) for task in tasks)
        assert [task.error for task in tasks] == [None, None]
        scene.comes()
        assert scene.came is False
        if ask == "enable_table":
            assert scene.machine.contents(scene.cluster, b"u") == scene.machine.expected(range(300))
        else:
            assert scene.cluster.client.catalog.read_table(b"u") is None

    scene.play(act)


def test_rows_stay_while_a_table_is_worked_on_that_they_may_be_for(machine):
    scene = Scene(machine)

    def act():
        with scene.cluster.master.tables.operation(b"w"):
            assert scene.admin.collect_garbage().rows == 0
        assert scene.admin.collect_garbage().rows == len(SPLITS) + 1

    scene.play(act)


def test_names_are_changed_once_and_where_there_are_such_rows_alone(machine):
    scene = Scene(machine)

    def versions():
        return {one.schema.name: one.schema.version for one in scene.cluster.client.catalog.tables()}

    def act():
        before = versions()
        scene.admin.collect_garbage()
        after = versions()
        assert after == before | {name: before[name] + 1 for name in (b"u", b"w")}
        catalog = scene.cluster.client.catalog
        row = catalog.tablet_rows(catalog.read_table(b"t").table_id)[0]
        for table_id in (1000, 1001):
            catalog.put_tablet_if_absent(replace(row, table_id=table_id))
            assert scene.admin.collect_garbage().rows == 1
            assert versions() == after

    scene.play(act)


@pytest.mark.parametrize("gone", [1, len(SPLITS) + 1])
@pytest.mark.parametrize("ask", ["delete_table", "truncate_table"])
def test_a_table_that_can_never_be_enabled_may_be_dropped_and_truncated(machine, ask, gone):
    """As one whose tablets were deleted too early, by an older version."""
    cluster = CountedCluster(23, machine.options)

    def body():
        cluster.start(2)
        admin, catalog = cluster.client.admin, cluster.client.catalog
        admin.create_table(machine.schema(b"u"), SPLITS)
        machine.write(cluster, range(300), name=b"u")
        admin.disable_table(b"u")
        for row in catalog.tablet_rows(catalog.read_table(b"u").table_id)[-gone:]:
            catalog.delete_tablet(row)
        with pytest.raises(Corruption):
            admin.enable_table(b"u")
        with pytest.raises(TableNotEnabled):
            admin.disable_table(b"u")
        getattr(admin, ask)(*(b"u", True)[: 1 + (ask == "truncate_table")])
        if ask == "truncate_table":
            cluster.check_tiling(b"u")
            assert machine.contents(cluster, b"u") == {}
        else:
            assert catalog.read_table(b"u") is None

    cluster.runtime.run(body)


def test_one_that_waits_for_a_server_may_not(machine):
    cluster = CountedCluster(24, machine.options)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        admin.create_table(machine.schema(b"u"), SPLITS)
        machine.write(cluster, range(300), name=b"u")
        admin.disable_table(b"u")
        metadata = {record.owner for record in cluster.client.catalog.tablet_rows(0)}
        for name in sorted(cluster.servers):
            if name in metadata:
                hang(cluster, name, "load_tablet")
            else:
                cluster.kill_server(name)
        enabling = cluster.master_node.runtime.spawn(cluster.master.calls.enable_table, b"u", name="enable")
        catalog = cluster.client.catalog
        cluster.until(lambda: catalog.read_table(b"u").state is TableState.ENABLING, 60)
        assert enabling.join(300)
        with pytest.raises(TableNotDisabled):
            admin.delete_table(b"u")

    cluster.runtime.run(body)
