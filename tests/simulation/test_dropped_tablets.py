"""Tables that are dropped and truncated while they are served, as they find no room to be disabled: whatever a client
is acknowledged once they are gone is there."""

from contextlib import suppress

import pytest

from hbtable.client.client import Client
from hbtable.errors import HbtableError, OutOfSpace, StaleLocation, Unavailable
from hbtable.master.tablets.placement import Placement
from hbtable.model.table import TableState
from tests.harness.counted_cluster import CountedCluster
from tests.harness.counted_transport import CountedTransport
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.hanging_calls import hang
from tests.harness.many_servers import Node
from tests.harness.planted_bugs import is_found
from tests.harness.tiers import one_in

SPLITS = [b"row000100", b"row000200"]
ASKS = ["truncate_table", "delete_table"]
STEPS = [pytest.param(ask, number) for ask, most in zip(ASKS, (45, 28), strict=True) for number in range(1, most + 1)]
"""The calls that a master makes to tablet servers for each, at least so many."""


def no_room(*arguments):
    raise OutOfSpace("the disk is full")


class Scene:
    """A table `u` that is to be disabled and finds no room; `other` is a client who knows where its tablets are."""

    def __init__(self, machine, ask, seed=7):
        self.machine, self.cluster, self._ask = machine, CountedCluster(seed, machine.options), ask

    def play(self, act):
        def body():
            cluster = self.cluster
            cluster.start(3)
            self.admin, self.catalog = cluster.client.admin, cluster.client.catalog
            self.admin.create_table(self.machine.schema(b"u"), SPLITS)
            self.machine.write(cluster, range(300), name=b"u")
            self.other = Client(cluster.runtime, Node(cluster, "other").session, cluster.transport).table(b"u")
            self.put(b"old")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(cluster.master._placement, "vacate_to_disable", no_room)
                with pytest.raises(OutOfSpace):
                    self.admin.disable_table(b"u")
            act()

        self.cluster.runtime.run(body)

    def ask(self):
        getattr(self.admin, self._ask)(b"u", *[True][: self._ask == "truncate_table"])

    def begin(self):
        def work():
            with suppress(HbtableError):  # it hears no answer of a master that dies
                self.ask()

        return self.cluster.runtime.spawn(work, name="operator")

    def put(self, value):
        """The rows that were acknowledged."""
        found = set()
        for number in range(0, 300, 7):
            row = b"row%06d" % number
            with suppress(HbtableError):
                self.other.mutate([self.machine.put(row, value)])
                found.add(row)
        return found

    def is_over(self):
        record = self.catalog.read_table(b"u")
        return record is None or (self._ask == "truncate_table" and record.state is TableState.ENABLED)

    def check(self):
        """Of the table as it is now, or is made again."""
        self.cluster.until(self.is_over, 60)
        if self._ask == "delete_table":
            self.admin.create_table(self.machine.schema(b"u"), SPLITS)
        acknowledged = self.put(b"new")
        assert acknowledged, "nothing was written"
        fresh = Client(self.cluster.runtime, Node(self.cluster, "fresh").session, self.cluster.transport)
        fresh_cluster = type("Fresh", (), {"client": fresh})
        found = self.machine.contents(fresh_cluster, b"u")
        assert {row for row in acknowledged if found.get(row) != b"new"} == set()
        self.check_nothing_is_left()

    def check_nothing_is_left(self):
        known = {row.tablet_id for row in self.catalog.all_tablet_rows()}
        for _, role in self.cluster.servers.values():
            assert set(role._online_tablets.tablets) <= known
            assert role.commit_log.highest_needed(16) == 0, "the log keeps what is nobody's"
        assert not self.cluster.lost, "a server ended"


def successor(machine, ask):
    """The master dies once the rows are gone, before a server hears of it."""
    scene = Scene(machine, ask)

    def act():
        cluster = scene.cluster
        reached = cluster.runtime.event()

        def dies(*arguments):
            reached.set()
            cluster.runtime.event().wait()

        cluster.master._placement.discard = dies
        task = scene.begin()
        reached.wait()
        cluster.kill_master()
        cluster.start_master()
        task.join(120)
        scene.check()

    scene.play(act)


@pytest.mark.parametrize("ask", ASKS)
def test_the_successor_of_a_master_that_died_takes_them_back(machine, ask):
    successor(machine, ask)


def test_the_planted_bug_is_found(machine_of):
    is_found("nameless", lambda: successor(machine_of(1), "truncate_table"))


class Steps(DelegatingFake):
    """A tablet server as the master sees it: its tablets or its administration. The master dies at one of its calls."""

    def __init__(self, inner, step):
        super().__init__(inner)
        self._step = step

    def __getattr__(self, name):
        def call(*arguments):
            self._step()
            return getattr(self.inner, name)(*arguments)

        return call


class DyingMaster:
    """It dies at this one of its calls from begin() on; `died` is set then."""

    def __init__(self, scene, number):
        self._cluster, self._left, self._begun, self.died = scene.cluster, number, False, False
        self._cluster.master_transport = lambda inner, asked: self._transport(CountedTransport(inner, asked))

    def _transport(self, transport):
        for name in ("tablet_service", "tablet_admin"):
            setattr(transport, name, self._steps(getattr(transport, name)))
        return transport

    def _steps(self, service):
        return lambda incarnation: Steps(service(incarnation), self.step)

    def begin(self):
        self._begun = True

    def step(self):
        self._left -= self._begun
        if self._begun and not self._left:
            self.died = True
            self._cluster.runtime.spawn(self._succeed, name="death")
            self._cluster.runtime.event().wait()

    def _succeed(self):
        self._cluster.kill_master()
        self._cluster.start_master()


@pytest.mark.parametrize(("ask", "number"), one_in(4, STEPS))
def test_a_master_may_die_at_any_step(machine, ask, number):
    """What was asked for is done, or can be asked for again."""
    scene = Scene(machine, ask)
    master = DyingMaster(scene, number)

    def act():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Placement, "vacate_to_disable", no_room)
            master.begin()
            scene.begin().join(300)
            scene.cluster.until(lambda: scene.cluster.master.acting, 30)
            while not scene.is_over():
                scene.cluster.runtime.sleep(2)
                scene.begin().join(300)
        assert master.died
        scene.check()

    scene.play(act)


class Refusing(DelegatingFake):
    """A tablet server's administration, to which no connection is made for so many unloads."""

    def __init__(self, inner, times):
        super().__init__(inner)
        self.times = times

    def unload_tablet(self, *arguments):
        self.times -= 1
        if self.times >= 0:
            raise StaleLocation("the connection was refused")
        self.inner.unload_tablet(*arguments)


@pytest.mark.parametrize("times", [1, 3, 1000])
@pytest.mark.parametrize("ask", ASKS)
def test_nobody_is_told_that_it_is_done_while_a_server_has_not_heard_of_it(machine, ask, times):
    scene = Scene(machine, ask)

    def act():
        cluster = scene.cluster
        owner = scene.admin.tablets(b"u")[0].owner
        right = cluster.transport.tablet_service(owner), cluster.transport.tablet_admin(owner)
        cluster.transport.register_server(owner, right[0], refusing := Refusing(right[1], times))
        if times < 1000:
            scene.ask()
        else:
            task = scene.begin()
            cluster.runtime.sleep(30)
            assert not scene.is_over()
            refusing.times = 0
            task.join(120)
        scene.check()

    scene.play(act)


@pytest.mark.parametrize("ask", ASKS)
def test_a_server_that_dies_meanwhile_has_given_them_up(machine, ask):
    scene = Scene(machine, ask)

    def act():
        owner = scene.admin.tablets(b"u")[0].owner
        hung = hang(scene.cluster, owner, "unload_tablet")
        task = scene.begin()
        scene.cluster.until(lambda: hung.asked["unload_tablet"], 20)
        scene.cluster.kill_server(owner)
        task.join(120)
        scene.check()

    scene.play(act)


@pytest.mark.parametrize("ask", ASKS)
def test_a_server_that_does_not_say_what_it_serves_is_waited_for(machine, ask):
    scene = Scene(machine, ask)

    def act():
        owner = scene.admin.tablets(b"u")[0].owner
        hung = hang(scene.cluster, owner, "served_changes")
        task = scene.begin()
        scene.cluster.runtime.sleep(15)
        assert not scene.is_over()
        hung.waker.set()
        task.join(200)
        scene.check()

    scene.play(act)


def test_a_part_of_metadata_that_cannot_be_read_has_nothing_given_up(machine):
    """A table whose name cannot be read looks like one that was dropped."""
    cluster = CountedCluster(8, machine.options)

    def body():
        cluster.start(2)
        cluster.client.admin.create_table(machine.schema(b"u"), SPLITS)
        master = cluster.master
        reports, dropped = master.reports(), master.tables.dropped
        tables = cluster.client.catalog.tables()
        assert dropped.left_over(tables, reports) == []
        assert dropped.left_over([], reports) == [tables[0].table_id]
        assert dropped.take_back(tables[0].table_id) == ""

        class Damaged(DelegatingFake):
            def tables(self, damage=None):
                if damage is None:
                    raise Unavailable("METADATA cannot be read")
                damage.append(Unavailable("a part of METADATA cannot be read"))
                return []

        master._reconciler._catalog = dropped._catalog = Damaged(cluster.client.catalog)
        master.request_cycle()
        cluster.runtime.sleep(10)
        assert sum(cluster.tablets()) == len(SPLITS) + 3
        assert machine.contents(cluster, b"u") == {}

    cluster.runtime.run(body)
