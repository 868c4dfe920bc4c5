"""Tablets that change servers because somebody asked: nothing is lost, nobody notices but by the server's name."""

from collections import Counter

import pytest

from hbtable.errors import HbtableError, InvalidRequest, MoveFailed, TableNotEnabled, TableNotFound, Unavailable
from hbtable.metadata.catalog import Catalog
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.many_servers import Cluster
from tests.harness.planted_bugs import is_found
from tests.harness.tiers import quick_first
from tests.harness.whole_tablet import begun_split, whole_tablet

SPLITS = [b"row000%03d" % n for n in range(50, 300, 50)]


@pytest.fixture
def cluster_of(machine):
    return lambda seed: Cluster(seed, machine.options)


def owners(cluster, name=b"t"):
    return {record.tablet_id: record.owner for record in cluster.client.admin.tablets(name)}


def test_a_tablet_moves_to_the_server_that_is_named(cluster_of, machine):
    cluster = cluster_of(1)

    def body():
        cluster.start(3)
        admin = cluster.client.admin
        admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        tablet = next(iter(owners(cluster)))
        for target in sorted(cluster.servers):
            admin.move_tablet(b"t", tablet, target)
            assert owners(cluster)[tablet] == target
            assert machine.contents(cluster) == machine.expected(range(300))
        admin.move_tablet(b"t", tablet)
        assert owners(cluster)[tablet] != max(cluster.servers)
        assert machine.contents(cluster) == machine.expected(range(300))
        machine.write(cluster, range(300), b"again")
        assert machine.contents(cluster) == machine.expected(range(300), b"again")

    cluster.runtime.run(body)


def test_a_move_reads_no_row_but_its_own(cluster_of, machine, monkeypatch):
    """However many tablets the table has, and whoever asked for it."""
    read = Counter()
    inner = Catalog.tablet_rows

    def counted(catalog, table_id, damage=None):
        read[table_id] += 1
        return inner(catalog, table_id, damage)

    monkeypatch.setattr(Catalog, "tablet_rows", counted)
    cluster = cluster_of(5)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        table = cluster.client.admin.record(b"t").table_id
        (tablet, *_), moves = cluster.client.admin.tablets(b"t"), cluster.master.tables.moves
        spawn = cluster.master_node.runtime.spawn
        for number in range(2):
            record = cluster.client.operations.tablet_of_row(table, b"")
            target = next(name for name in sorted(cluster.servers) if name != record.owner)
            read.clear()
            task = spawn(moves.move, b"t", tablet.tablet_id, target, name=f"move {number}")
            task.join()
            assert task.error is None
            assert not read[table]
            assert owners(cluster)[tablet.tablet_id] == target
        read.clear()
        # One that was split meanwhile is looked for, and not found.
        cluster.client.admin.split(b"t", b"row000025")
        task = spawn(moves.move, b"t", tablet.tablet_id, "", name="move")
        task.join()
        assert isinstance(task.error, InvalidRequest)
        assert read[table]
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)


@pytest.mark.slow
def test_with_one_server_it_is_loaded_anew_there(cluster_of, machine):
    cluster = cluster_of(2)

    def body():
        before = whole_tablet(cluster, machine, servers=1)
        cluster.client.admin.move_tablet(b"t", before.tablet_id)
        (after,) = cluster.client.admin.tablets(b"t")
        assert after.owner == before.owner
        assert after.generation > before.generation
        assert machine.contents(cluster) == machine.expected(range(100))

    cluster.runtime.run(body)


def test_what_cannot_be_moved_is_refused_by_name(cluster_of, machine):
    cluster = cluster_of(3)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        admin.create_table(machine.schema())
        (tablet,) = owners(cluster)
        with pytest.raises(InvalidRequest, match="has no tablet 77"):
            admin.move_tablet(b"t", 77)
        with pytest.raises(InvalidRequest, match="no tablet server nobody"):
            admin.move_tablet(b"t", tablet, "nobody")
        with pytest.raises(TableNotFound):
            admin.move_tablet(b"u", tablet)
        admin.disable_table(b"t")
        with pytest.raises(TableNotEnabled):
            admin.move_tablet(b"t", tablet)

    cluster.runtime.run(body)


class NeverLoads(DelegatingFake):
    """A tablet server's administration whose loads fail."""

    def load_tablet(self, epoch, record, schema):
        raise Unavailable("the file system did not answer")


def test_a_tablet_that_its_new_server_cannot_load_can_be_moved_on(cluster_of, machine):
    """Its record may not go on naming the log of that server, which lives: nobody else could load it."""
    cluster = cluster_of(6)

    def body():
        before = whole_tablet(cluster, machine, servers=3)
        admin = cluster.client.admin
        bad, good = sorted(name for name in cluster.servers if name != before.owner)
        transport = cluster.transport
        for name in (bad, before.owner):
            transport.register_server(name, transport.tablet_service(name), NeverLoads(transport.tablet_admin(name)))
        with pytest.raises(MoveFailed):
            cluster.master.calls.move_tablet(b"t", before.tablet_id, bad)
        (stuck,) = admin.tablets(b"t")
        assert stuck.owner == before.owner
        admin.move_tablet(b"t", before.tablet_id, good)
        (after,) = admin.tablets(b"t")
        assert {log.incarnation for log in after.logs} == {good}
        assert machine.contents(cluster) == machine.expected(range(100))

    cluster.runtime.run(body)


@pytest.mark.parametrize("seed", quick_first(range(6), 2, 3))
def test_moves_under_writes_deaths_and_new_masters_lose_nothing(cluster_of, machine, seed):
    cluster = cluster_of(200 + seed)
    chance = cluster.chance
    acknowledged = {}

    def move():
        while True:
            try:
                tablet = chance.choice(sorted(owners(cluster)))
                cluster.client.admin.move_tablet(b"t", tablet, chance.choice(["", *sorted(cluster.servers)]))
            except HbtableError:
                cluster.runtime.sleep(0.1)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        task = cluster.runtime.spawn(cluster.write_at_random, machine.put, 300, acknowledged, name="work")
        mover = cluster.runtime.spawn(move, name="move")
        while not task.join(chance.random() * 2):
            cluster.replace("server" if chance.random() < 0.5 else "master")
        assert task.error is None
        mover.kill()
        cluster.runtime.sleep(8)
        assert acknowledged.items() <= machine.contents(cluster).items()
        cluster.check_tiling()
        assert set(owners(cluster).values()) <= set(cluster.servers)

    cluster.runtime.run(body)


class Held(DelegatingFake):
    """A catalog whose put_tablet_if_absent waits for `waker`."""

    def __init__(self, inner, waker):
        super().__init__(inner)
        self._waker = waker

    def put_tablet_if_absent(self, record):
        self._waker.wait()
        return self.inner.put_tablet_if_absent(record)


def test_the_slow_end_of_a_split_does_not_take_out_the_tablet_that_came_back(machine):
    cluster = Cluster(5, machine.options, lambda catalog: Held(catalog, waker))
    waker = cluster.runtime.event()

    def body():
        whole = whole_tablet(cluster, machine, servers=2)
        admin = cluster.client.admin
        splitting = begun_split(cluster, whole)
        assert not splitting.join(5)
        right = admin.tablets(b"t")[1].tablet_id
        other = next(name for name in cluster.servers if name != whole.owner)
        admin.move_tablet(b"t", right, other)
        admin.move_tablet(b"t", right, whole.owner)
        machine.write(cluster, range(100), b"after")
        waker.set()
        splitting.join()
        cluster.runtime.sleep(20)
        assert machine.contents(cluster) == machine.expected(range(100), b"after")

    cluster.runtime.run(body)


def test_a_server_that_dies_right_behind_the_commit_of_a_split_leaves_no_hole(machine):
    def check():
        cluster = Cluster(7, machine.options, lambda catalog: Held(catalog, waker))
        waker = cluster.runtime.event()

        def body():
            whole = whole_tablet(cluster, machine, servers=2)
            splitting = begun_split(cluster, whole)
            assert not splitting.join(5)
            cluster.kill_server(whole.owner)
            waker.set()
            cluster.runtime.sleep(20)
            cluster.check_tiling()
            assert machine.contents(cluster) == machine.expected(range(100))

        cluster.runtime.run(body)

    is_found("hole", check)
