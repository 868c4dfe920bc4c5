"""Many tablets that move at once: what a move costs, and whom it keeps waiting."""

import pytest

from hbtable.errors import Unavailable
from hbtable.model.schema import FamilySchema, TableSchema
from tests.harness.counted_cluster import CountedCluster
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.tiers import quick_first

SPLITS = [b"row000%03d" % n for n in range(10, 300, 10)]


def begin(cluster, tablets, tables=1):
    """Three servers share the tablets, and nothing is under way."""
    cluster.start(3)
    for table in range(tables):
        splits = [b"%06d" % n for n in range(1, tablets // tables)]
        cluster.client.admin.create_table(TableSchema(b"t%04d" % table, {b"f": FamilySchema(b"f")}), splits)
    cluster.runtime.sleep(40)
    cluster.asked.clear()


def shares_of_a_new_server(machine, tablets, tables):
    """The master's questions for each tablet that a fourth server is given, by call."""
    cluster = CountedCluster(1, machine.options)
    per_move = {}

    def body():
        begin(cluster, tablets, tables)
        cluster.start_server()
        cluster.until(lambda: cluster.is_even() and sum(cluster.tablets()) == tablets + 2, 60)
        moved = cluster.master._metrics.moves.value
        assert moved >= tablets // 4
        per_move.update({call: number / moved for call, number in cluster.asked.items()})

    cluster.runtime.run(body)
    return per_move


@pytest.mark.slow
@pytest.mark.parametrize("tables", quick_first([50, 1], 0, 1))
def test_a_new_server_has_its_share_without_a_look_at_all_tablets_for_each(machine, tables):
    """1,000 tablets took 265 rows of METADATA for each that moved, and 9 questions to servers. One look at all rows is
    that for tablets that would change places for their load."""
    few, many = (shares_of_a_new_server(machine, tablets, tables) for tablets in (200, 800))
    for cost in (few, many):
        assert cost["rows"] < 30
        assert cost["served_changes"] < 3.5
    assert many["rows"] <= 1.1 * few["rows"]


@pytest.mark.slow
@pytest.mark.parametrize("tablets", [200, 800])
def test_a_move_that_is_asked_for_costs_the_same_however_many_tablets_there_are(machine, tablets):
    cluster = CountedCluster(2, machine.options)

    def body():
        begin(cluster, tablets)
        record = cluster.client.admin.tablets(b"t0000")[5]
        target = next(name for name in sorted(cluster.servers) if name != record.owner)
        cluster.client.admin.move_tablet(b"t0000", record.tablet_id, target)
        assert cluster.asked["rows"] <= 3
        assert cluster.asked["served_changes"] <= 3
        assert cluster.asked["check_and_mutate"] == 1

    cluster.runtime.run(body)


def costs_of_a_death(machine, tablets):
    """The master's questions for a death of one of three servers, until all is served, by call; and its tablets."""
    cluster = CountedCluster(3, machine.options)
    asked = {}

    def body():
        begin(cluster, tablets)
        metadata = {record.owner for record in cluster.client.catalog.tablet_rows(0)}
        dies = next(name for name in sorted(cluster.servers) if name not in metadata)
        lost = len(cluster.servers[dies][1]._online_tablets.tablets)
        cluster.kill_server(dies)
        took = cluster.until(lambda: sum(cluster.tablets()) == tablets + 2, 30)
        assert took < 3
        asked.update(cluster.asked, lost=lost)

    cluster.runtime.run(body)
    return asked


@pytest.mark.slow
def test_a_death_costs_a_few_looks_at_all_tablets_and_one_write_for_each_that_was_lost(machine):
    for tablets in (200, 800):
        asked = costs_of_a_death(machine, tablets)
        assert asked["lost"] > tablets // 4
        assert asked["rows"] <= 6 * tablets
        assert asked["load_tablet"] == asked["lost"]
        assert asked["check_and_mutate"] <= asked["lost"] + 10
        assert asked["served_changes"] <= 30


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


@pytest.mark.parametrize("seed", quick_first(range(6), 1, 3))
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


def test_status_says_that_tablets_could_not_be_moved(machine):
    cluster = CountedCluster(30, machine.options)
    waker = cluster.runtime.event()
    asked = []

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        cluster.runtime.sleep(20)
        transport, stuck = cluster.transport, max(cluster.servers)
        hangs = Hangs(transport.tablet_admin(stuck), waker, asked)
        transport.register_server(stuck, transport.tablet_service(stuck), hangs)
        cluster.start_server()
        rests = cluster.client.operations.balancer_rests
        cluster.until(lambda: "waiting: a tablet could not be moved" in rests(), 40)
        assert stuck in rests(), "who has been at it"
        waker.set()
        cluster.until(cluster.is_even, 60)
        cluster.until(lambda: not rests(), 40)

    cluster.runtime.run(body)


def test_a_tablet_that_a_dead_server_was_to_give_up_does_not_wait_for_its_answer(machine):
    """A frozen server answers nothing, and closes no connection."""
    cluster = CountedCluster(31, machine.options)
    waker = cluster.runtime.event()
    asked = []

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        cluster.runtime.sleep(20)
        metadata = {record.owner for record in cluster.client.catalog.tablet_rows(0)}
        transport, stuck = cluster.transport, max(set(cluster.servers) - metadata)
        hangs = Hangs(transport.tablet_admin(stuck), waker, asked)
        transport.register_server(stuck, transport.tablet_service(stuck), hangs)
        cluster.start_server()
        cluster.until(lambda: asked, 30)
        cluster.kill_server(stuck)
        took = cluster.until(lambda: sum(cluster.tablets()) == 32, 100)
        assert took < 15
        assert machine.contents(cluster) == machine.expected(range(300))
        waker.set()
        cluster.runtime.sleep(10)
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)


def test_a_new_server_has_its_share_beside_one_that_was_emptied(machine):
    """Its operator stops it later, or never."""
    cluster = CountedCluster(32, machine.options)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        cluster.runtime.sleep(20)
        metadata = {record.owner for record in cluster.client.catalog.tablet_rows(0)}
        leaves = max(set(cluster.servers) - metadata)
        cluster.client.admin.decommission([leaves], True)
        cluster.until(lambda: min(cluster.tablets()) == 0, 40)
        cluster.start_server()
        cluster.until(lambda: sorted(cluster.tablets()) == [0, 10, 11, 11], 40)
        assert cluster.client.operations.balancer_rests() == ""
        cluster.asked.clear()
        cluster.runtime.sleep(60)
        assert cluster.asked["rows"] <= 200, "the master is at rest"

    cluster.runtime.run(body)
