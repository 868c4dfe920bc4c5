"""Servers that stop in order: everything is flushed and given up, whatever else goes on."""

from collections import Counter

import pytest

from hbtable.errors import Unavailable
from hbtable.master.tablets.assignment import Assign
from hbtable.metadata import layout
from hbtable.model.tablet import METADATA_TABLE_ID, ROOT_TABLET_ID
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.many_servers import Cluster
from tests.harness.sim_schedule import Schedule
from tests.harness.tiers import quick_first

SPLITS = [b"row000%03d" % n for n in range(50, 300, 50)]


class Held(DelegatingFake):
    """A catalog whose `method` says what became of it only when `waker` rings, while it is armed."""

    def __init__(self, inner, method, held):
        super().__init__(inner)
        self._method = method
        self._held = held

    def __getattr__(self, name):
        found = getattr(self.inner, name)
        if name != self._method or not self._held.armed:
            return found

        def slow(*arguments):
            answer = found(*arguments)
            self._held.waker.wait()
            return answer

        return slow


class Toggle:
    """Whether calls are held, and what they wait for."""

    armed = False
    waker = None


def held_cluster(machine, seed, method):
    toggle = Toggle()
    cluster = Cluster(seed, machine.options, lambda catalog: Held(catalog, method, toggle))
    toggle.waker = cluster.runtime.event()
    return cluster, toggle


def begin(cluster, machine):
    """Two servers share six tablets of 50 rows, and nothing is under way."""
    cluster.start(2)
    cluster.client.admin.create_table(machine.schema(), SPLITS)
    machine.write(cluster, range(300))
    cluster.runtime.sleep(20)


def drained(cluster, toggle, node, role):
    """It drains while something is under way, which ends five seconds later. Nothing is left on return."""
    cluster.runtime.sleep(0.5)
    toggle.armed = False
    draining = node.runtime.spawn(role.drain, name="drain")
    cluster.runtime.sleep(5)
    assert not draining.join(0.001), "it waits for what is under way"
    toggle.waker.set()
    draining.join()
    assert draining.error is None
    assert role._online_tablets.tablets == {}
    for record in cluster.client.operations.every_tablet():
        assert role.incarnation not in [record.owner, *(ref.incarnation for ref in record.logs)]


def test_a_split_that_ends_while_its_server_drains_leaves_no_child_behind(machine):
    cluster, toggle = held_cluster(machine, 1, "replace_tablet")

    def body():
        begin(cluster, machine)
        root = cluster.client.catalog.read_root().owner
        name = next(name for name in cluster.servers if name != root)
        node, role = cluster.servers[name]
        tablet = next(one for one in cluster.client.admin.tablets(b"t") if one.owner == name)
        row = tablet.range.start[:-1] + b"5"
        toggle.armed = True
        node.runtime.spawn(role.admin.split, tablet.tablet_id, row, name="split")
        drained(cluster, toggle, node, role)
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)


def test_a_load_that_ends_while_its_server_drains_is_given_up_again(machine):
    cluster, toggle = held_cluster(machine, 2, "read_tablet")

    def body():
        begin(cluster, machine)
        root = cluster.client.catalog.read_root().owner
        name = next(name for name in cluster.servers if name != root)
        node, role = cluster.servers[name]
        tablet = next(one for one in cluster.client.admin.tablets(b"t") if one.owner == root)
        toggle.armed = True
        calls = cluster.master.calls
        cluster.master_node.runtime.spawn(calls.move_tablet, b"t", tablet.tablet_id, name, name="move")
        drained(cluster, toggle, node, role)
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)


class LateMaster(DelegatingFake):
    """The tablets of a server that stops. Before the root tablet leaves, a master that has not heard how far the server
    is gives it METADATA's other tablet back."""

    def __init__(self, inner, cluster):
        super().__init__(inner)
        self._cluster = cluster
        self.refused = []

    def unload(self, tablet_id, why):
        if tablet_id == ROOT_TABLET_ID:
            cluster, living = self._cluster, frozenset(self._cluster.servers)
            record = cluster.client.catalog.tablet_rows(METADATA_TABLE_ID)[-1]
            actions = [Assign(record, name, "an old report") for name in living]
            place_all = cluster.master._placement.place_all
            task = cluster.master_node.runtime.spawn(
                lambda: self.refused.extend(place_all(actions, lambda _: layout.SCHEMA, living)), name="place"
            )
            task.join()
        self.inner.unload(tablet_id, why)


def test_a_tablet_of_metadata_that_comes_back_late_does_not_keep_the_last_server_from_stopping(machine):
    cluster = Cluster(8, machine.options)

    def body():
        begin(cluster, machine)
        last = cluster.client.catalog.read_root().owner
        (first,) = set(cluster.servers) - {last}
        for name in (first, last):
            node, role = cluster.servers[name]
            if name == last:
                role._online_tablets = late = LateMaster(role._online_tablets, cluster)
            task = node.runtime.spawn(role.drain, name="drain")
            task.join()
            assert task.error is None, task.error
            assert role._online_tablets.tablets == {}
            role.stop(clean=False)
            del cluster.servers[name]
        assert "is giving up METADATA's tablets" in late.refused[0].message
        cluster.start_server()
        cluster.runtime.sleep(5)
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)


class StopsInstead(DelegatingFake):
    """A tablet server's administration. The first of them that is given METADATA's tablet stops, and cannot load it."""

    def __init__(self, inner, cluster, name, begun):
        super().__init__(inner)
        self._cluster = cluster
        self._name = name
        self._begun = begun

    def load_tablet(self, epoch, record, schema):
        if record.table_id == METADATA_TABLE_ID and record.tablet_id != ROOT_TABLET_ID and not self._begun:
            node, role = self._cluster.servers.pop(self._name)
            self._begun.append((self._name, node.runtime.spawn(role.stop, name="stop")))
            self._cluster.runtime.sleep(0.3)  # by now it has said so
            raise Unavailable("the file system did not answer")
        self.inner.load_tablet(epoch, record, schema)


@pytest.mark.parametrize("seed", quick_first(range(3), 1, 2))
def test_metadata_that_a_server_was_given_as_it_began_to_stop_is_given_to_another(machine, seed):
    """Without it that server could not give its other tablets up, and nobody could find theirs."""
    cluster = Cluster(30 + seed, machine.options)
    begun = []

    def body():
        cluster.start(4)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        cluster.runtime.sleep(20)
        transport = cluster.transport
        for name in cluster.servers:
            admin = StopsInstead(transport.tablet_admin(name), cluster, name, begun)
            transport.register_server(name, transport.tablet_service(name), admin)
        metadata = cluster.client.catalog.tablet_rows(METADATA_TABLE_ID)[-1]
        cluster.kill_server(metadata.owner)
        died = cluster.runtime.clock_seconds()
        assert machine.contents(cluster) == machine.expected(range(300))
        assert cluster.runtime.clock_seconds() - died < 10
        ((stopped, task),) = begun
        task.join()
        assert task.error is None
        cluster.transport.remove_server(stopped)
        cluster.runtime.sleep(5)
        assert {record.owner for record in cluster.client.operations.every_tablet()} <= set(cluster.servers)
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)


@pytest.mark.parametrize("seeds", quick_first([range(2), range(2, 7), range(7, 15)], 0, 1))
def test_a_whole_cluster_stops_in_order_again_and_again_and_nothing_is_left_to_recover(seeds):
    total = Counter()
    for seed in seeds:
        outcome = Schedule(seed, kinds=("all stop",), chores=(), gap_seconds=3.0).run()
        assert not outcome.violations, f"seed {seed}: {outcome.violations[0]}"
        total += outcome.count
    assert total["drains done"] > 5 * len(seeds)
    assert not total["drains not done"]
    assert not total["ended: took too long to stop"]


@pytest.mark.parametrize("seeds", quick_first([range(100, 110), range(110, 120)], 0, 1))
def test_servers_that_stop_in_order_while_others_die_lose_nothing(seeds):
    total = Counter()
    for seed in seeds:
        outcome = Schedule(seed, kinds=("drain", "all stop", "kill", "late")).run()
        assert not outcome.violations, f"seed {seed}: {outcome.violations[0]}"
        total += outcome.count
    assert total["drains done"] > total["drains not done"] > 0


def test_a_slow_script_that_stops_server_after_server_leaves_nothing_to_recover(machine):
    """The first one gives METADATA up when the last one begins, and nobody is left that takes tablets."""
    cluster = Cluster(7, machine.options)

    def body():
        begin(cluster, machine)
        first = cluster.client.catalog.read_root().owner
        (last,) = set(cluster.servers) - {first}
        tasks = []
        for name, seconds in ((first, 1.05), (last, 0.0)):
            node, role = cluster.servers.pop(name)
            tasks.append(node.runtime.spawn(role.stop, name="stop"))
            cluster.runtime.sleep(seconds)
        for task in tasks:
            task.join()
        cluster.start_server()
        cluster.runtime.sleep(5)
        logs = [status.path for status in cluster.master_node.fs.list_files("logs")]
        assert not [path for path in logs if last in path and "sorted" in path]
        for record in cluster.client.operations.every_tablet():
            assert {ref.incarnation for ref in record.logs} <= set(cluster.servers), "a log that has to be recovered"
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)
