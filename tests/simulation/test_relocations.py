"""Many tablets that move at once: what a move costs, and whom it keeps waiting."""

from collections import Counter

import pytest

from hbtable.errors import Unavailable
from hbtable.master.master import Master, MasterOptions
from hbtable.model.schema import FamilySchema, TableSchema
from tests.harness.counted_transport import CountedTransport
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.many_servers import Cluster, Node, Remote

SPLITS = [b"row000%03d" % n for n in range(10, 300, 10)]


class CountedCluster(Cluster):
    """What the master asks, by call; of METADATA, the rows as well."""

    def __init__(self, seed, options):
        super().__init__(seed, options)
        self.asked = Counter()

    def start_master(self):
        node = self.master_node = Node(self, self._name("master"))
        transport = CountedTransport(self.transport, self.asked)
        options = MasterOptions()
        self.master = Master(node.runtime, node.session, node.fs, transport, lambda: None, options)
        self.transport.register_master(Remote(self, node, self.master.calls))
        self.master.start()

    def tablets(self):
        """How many each living server serves."""
        return [len(role._online_tablets.tablets) for _, role in self.servers.values()]

    def until(self, done, seconds):
        """The virtual seconds that it took."""
        began = self.runtime.clock_seconds()
        while not done():
            assert self.runtime.clock_seconds() < began + seconds, (self.tablets(), self.master.last_message)
            self.runtime.sleep(0.1)
        return self.runtime.clock_seconds() - began

    def is_even(self):
        return max(self.tablets()) - min(self.tablets()) < 2


def shares_of_a_new_server(machine, tablets, tables):
    """The master's questions for each tablet that a fourth server is given, by call."""
    cluster = CountedCluster(1, machine.options)
    per_move = {}

    def body():
        cluster.start(3)
        for table in range(tables):
            splits = [b"%06d" % n for n in range(1, tablets // tables)]
            cluster.client.admin.create_table(TableSchema(b"t%04d" % table, {b"f": FamilySchema(b"f")}), splits)
        cluster.runtime.sleep(40)
        cluster.asked.clear()
        cluster.start_server()
        cluster.until(lambda: cluster.is_even() and sum(cluster.tablets()) == tablets + 2, 60)
        moved = cluster.master._metrics.moves.value
        assert moved >= tablets // 4
        per_move.update({call: number / moved for call, number in cluster.asked.items()})

    cluster.runtime.run(body)
    return per_move


@pytest.mark.parametrize("tables", [1, 50])
def test_a_new_server_has_its_share_without_a_look_at_all_tablets_for_each(machine, tables):
    """1,000 tablets took 265 rows of METADATA for each that moved, and 9 questions to servers."""
    few, many = (shares_of_a_new_server(machine, tablets, tables) for tablets in (200, 800))
    for cost in (few, many):
        assert cost["rows"] < 25
        assert cost["served_changes"] < 3.5
    assert many["rows"] <= 1.1 * few["rows"]


class Hangs(DelegatingFake):
    """A tablet server's administration. Until `waker` rings it does not answer who wants a tablet unloaded."""

    def __init__(self, inner, waker, asked):
        super().__init__(inner)
        self._waker = waker
        self._asked = asked

    def unload_tablet(self, epoch, tablet_id):
        self._asked.append(tablet_id)
        if not self._waker.wait(60):
            raise Unavailable("the file system did not answer")
        self.inner.unload_tablet(epoch, tablet_id)


@pytest.mark.parametrize("seed", range(6))
def test_tablets_of_a_server_that_dies_do_not_wait_for_a_move_that_hangs(machine, seed):
    """It was 32 s, and as long as the move hung for those of the same table."""
    cluster = CountedCluster(20 + seed, machine.options)
    waker = cluster.runtime.event()
    asked = []

    def body():
        cluster.start(4)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        cluster.client.admin.create_table(machine.schema(b"u"), SPLITS)
        machine.write(cluster, range(300))
        cluster.runtime.sleep(20)
        transport = cluster.transport
        metadata = {record.owner for record in cluster.client.catalog.tablet_rows(0)}
        stuck, dies, *_ = [name for name in sorted(cluster.servers) if name not in metadata]
        transport.register_server(
            stuck, transport.tablet_service(stuck), Hangs(transport.tablet_admin(stuck), waker, asked)
        )
        cluster.start_server()
        cluster.until(lambda: asked, 30)
        cluster.kill_server(dies)
        took = cluster.until(lambda: sum(cluster.tablets()) >= 62, 60)
        assert took < 15
        waker.set()
        cluster.until(lambda: cluster.is_even() and sum(cluster.tablets()) == 62, 120)
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)
