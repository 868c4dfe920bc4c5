"""Counters in the lock service are put back, or lost, while a cluster of several servers runs: no id comes twice."""

import pytest

from hbtable.lockservice.paths import INCARNATIONS
from hbtable.metadata.id_allocator import TABLE_IDS, TABLET_IDS
from hbtable.metadata.numbers_in_use import start_number
from tests.harness.many_servers import Cluster
from tests.harness.tiers import quick_first


def counters(session):
    return {path: session.read(path) for path in (TABLE_IDS, TABLET_IDS, INCARNATIONS)}


def put_back(session, older):
    """To what they were; None: they are lost."""
    for path, now in counters(session).items():
        if older is None:
            session.delete(path)
        else:
            session.write(path, older[path].data, now.version)


class World:
    def __init__(self, machine, seed):
        self.machine = machine
        self.cluster = Cluster(seed, machine.options)
        self.model = {}

    def add_tables(self, names, split_rows=()):
        for name in names:
            self.cluster.client.admin.create_table(self.machine.schema(name), list(split_rows))
            self.machine.write(self.cluster, range(30), name, name)
            self.model[name] = self.machine.expected(range(30), name)

    def check(self):
        catalog, ids = self.cluster.client.catalog, {}
        for record in catalog.tables():
            self.cluster.check_tiling(record.schema.name)
            for row in catalog.tablet_rows(record.table_id):
                assert row.tablet_id not in ids, (record.schema.name, ids[row.tablet_id])
                ids[row.tablet_id] = record.schema.name
        assert set(ids.values()) == set(self.model)
        for name, rows in self.model.items():
            assert self.machine.contents(self.cluster, name) == rows


@pytest.mark.parametrize("lost", quick_first([True, False], 1), ids=["lost", "put back"])
@pytest.mark.parametrize("restart", ["nothing", "the master", "everybody"])
@pytest.mark.parametrize("seed", quick_first([1, 2], 1, 1))
def test_no_id_comes_twice(machine, lost, restart, seed):
    world = World(machine, seed)
    cluster = world.cluster

    def body():
        cluster.start(2)
        world.add_tables([b"a"])
        session = cluster.client.catalog._session
        older = counters(session)
        # More tablets than a process numbers at once.
        world.add_tables([b"b"], [b"row%06d" % row for row in range(1, 100)])
        world.add_tables([b"c", b"d"])
        cluster.client.admin.split(b"c", b"row000010")
        names = set(cluster.servers)
        put_back(session, None if lost else older)
        if restart != "nothing":
            cluster.kill_master()
            cluster.start_master()
        if restart == "everybody":
            for name in sorted(names):
                cluster.kill_server(name)
            cluster.start_server()
            cluster.start_server()
        world.add_tables([b"e", b"f"], [b"row000010"])
        cluster.runtime.sleep(10)  # the master looks at METADATA meanwhile
        world.add_tables([b"g", b"h"], [b"row000010"])
        for name, row in ((b"b", b"row000000a"), (b"d", b"row000007"), (b"g", b"row000003"), (b"h", b"row000025")):
            assert cluster.client.admin.split(name, row)
        world.check()
        now = counters(session)
        highest = max(map(start_number, [*names, *cluster.servers]))
        assert int(now[INCARNATIONS].data) >= highest
        for name in sorted(cluster.servers):
            cluster.kill_server(name)
        cluster.start_server()
        world.check()

    cluster.runtime.run(body)
