"""Tablets that leave a server: of those that the master did not ask for itself, and of no others, it reads the rows."""

from collections import Counter

import pytest

from hbtable.errors import Unavailable
from hbtable.master.tablets import left_tablets
from hbtable.master.tablets.slow_loads import ASKED_SECONDS
from hbtable.metadata.catalog import Catalog
from hbtable.model.status import LeftTablet
from tests.harness.counted_cluster import CountedCluster
from tests.harness.delegating_fake import DelegatingFake

SPLITS = [b"row000%03d" % n for n in range(10, 300, 10)]


class CountedCatalog:
    """Counts the rows that are asked for, by the second."""

    def __init__(self, cluster: CountedCluster, inner: Catalog) -> None:
        self._cluster, self._inner = cluster, inner
        self.asked = Counter[int]()

    def read_tablet(self, table_id: int, end_row: bytes) -> object:
        self.asked[int(self._cluster.runtime.clock_seconds())] += 1
        return self._inner.read_tablet(table_id, end_row)


def counted(cluster):
    """What the master asks for from now on."""
    left = cluster.master._left
    left._catalog = found = CountedCatalog(cluster, left._catalog)
    return found.asked


def test_what_the_master_itself_takes_away_is_not_looked_at(machine):
    cluster = CountedCluster(11, machine.options)

    def body():
        cluster.start(3)
        admin = cluster.client.admin
        for name in (b"t", b"u"):
            admin.create_table(machine.schema(name), SPLITS)
        machine.write(cluster, range(300))
        asked = counted(cluster)
        cluster.start_server()
        cluster.until(cluster.is_even, 300)
        admin.disable_table(b"u")
        admin.delete_table(b"u")
        tablets = admin.tablets(b"t")
        admin.merge_tablets(b"t", [one.tablet_id for one in tablets[:2]])
        admin.move_tablet(b"t", tablets[-1].tablet_id, "")
        admin.decommission(sorted(cluster.servers)[:1], True)
        cluster.runtime.sleep(70)  # servers are asked for everything once a minute
        assert not asked
        assert admin.split(b"t", b"row000155")
        cluster.runtime.sleep(5)
        assert not asked
        assert not cluster.master._left._waiting

    cluster.runtime.run(body)


def test_many_are_looked_at_a_few_at_a_time(machine):
    cluster = CountedCluster(12, machine.options)
    many = 3 * left_tablets._AT_ONCE

    def body():
        cluster.start(2)
        cluster.client.admin.create_table(machine.schema(), [])
        (table,) = cluster.client.admin.tablets(b"t")
        asked = counted(cluster)
        cluster.master._left.saw("s", [LeftTablet(table.table_id, 10**6 + n, b"", b"t") for n in range(many)])
        cluster.until(lambda: not cluster.master._left._waiting, 10)
        assert sum(asked.values()) == many
        assert len(asked) >= 3
        cluster.master._left.saw("s", [LeftTablet(table.table_id, 10**6 + n, b"", b"t") for n in range(10_001)])
        assert not cluster.master._left._waiting
        cluster.runtime.sleep(2)
        assert sum(asked.values()) == many, "it looked at everything instead"

    cluster.runtime.run(body)


class Silent(DelegatingFake):
    """A tablet server's administration, which does not say what it serves. `asked`: how often."""

    def __init__(self, inner):
        super().__init__(inner)
        self.asked, self.is_silent = 0, True

    def served_changes(self, since):
        self.asked += 1
        if self.is_silent:
            raise Unavailable("it is busy")
        return self.inner.served_changes(since)


def test_what_left_a_server_that_was_silent_when_the_master_began_is_placed_when_it_answers(machine):
    """Its first answer does not tell what left before. The master's next look at all tablets was seconds away."""
    cluster = CountedCluster(13, machine.options)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        metadata = {record.owner for record in cluster.client.catalog.tablet_rows(0)}
        name = max(set(cluster.servers) - metadata)
        cluster.kill_master()
        service, admin = cluster.transport.tablet_service(name), cluster.transport.tablet_admin(name)
        cluster.transport.register_server(name, service, silent := Silent(admin))
        cluster.start_master()
        cluster.until(lambda: silent.asked > 3, 10)
        cluster.until(lambda: cluster.master._scan_due > cluster.runtime.clock_seconds() + 15, 200)
        tablets = cluster.servers[name][1]._online_tablets
        gone = next(iter(tablets.tablets))
        tablets.unload(gone)
        cluster.runtime.sleep(1.5)
        assert not is_served(cluster, gone)
        silent.is_silent = False
        cluster.until(lambda: is_served(cluster, gone), 3)

    cluster.runtime.run(body)


class Unheard(DelegatingFake):
    """A tablet server's administration. Unloads end after their callers have given up, and the answers are lost;
    nobody hears that a connection broke. `ended`: how often."""

    def __init__(self, inner, runtime):
        super().__init__(inner)
        self.ended, self._runtime = 0, runtime

    def unload_tablet(self, epoch, tablet_id):
        self._runtime.sleep(ASKED_SECONDS + 5)
        self.inner.unload_tablet(epoch, tablet_id)
        self.ended += 1
        self._runtime.event().wait(500)


def test_what_a_server_gave_up_late_is_placed_though_its_answer_is_lost(machine):
    """It waited for the master's next look at all tablets."""
    cluster = CountedCluster(14, machine.options)

    def body():
        cluster.start(3)
        admin = cluster.client.admin
        admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        cluster.runtime.sleep(20)
        tablet = admin.tablets(b"t")[5]
        name, other = tablet.owner, min(set(cluster.servers) - {tablet.owner})
        service, inner = cluster.transport.tablet_service(name), cluster.transport.tablet_admin(name)
        cluster.transport.register_server(name, service, unheard := Unheard(inner, cluster.runtime))

        def move():
            with pytest.raises(Unavailable):
                cluster.master.calls.move_tablet(b"t", tablet.tablet_id, other)

        cluster.master_node.runtime.spawn(move, name="move")
        cluster.until(lambda: unheard.ended, 40)
        assert not is_served(cluster, tablet.tablet_id)
        assert cluster.master._scan_due > cluster.runtime.clock_seconds() + 5
        cluster.until(lambda: is_served(cluster, tablet.tablet_id), 4)
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)


def is_served(cluster, tablet_id):
    return any(tablet_id in role._online_tablets.tablets for _, role in cluster.servers.values())
