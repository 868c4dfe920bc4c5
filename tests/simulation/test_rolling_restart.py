"""A tablet server that stops in order under load hands its tablets over one by one: no row waits for the others."""

from dataclasses import replace

import pytest

from hbtable.errors import HbtableError
from hbtable.model.tablet import METADATA_TABLE_ID
from tests.harness.sim_cluster import SimCluster, SimOptions
from tests.harness.sim_workload import ROWS, TABLE, create, put_of, schema
from tests.harness.tiers import quick_first

PAUSE_SECONDS = 1.0
MEDIAN_SECONDS = 0.4
"""Of simulated time, in which each call and each sync of the log takes its part; what this machine does meanwhile does
not count."""


class Load:
    """A writer for each row, and the longest time that each row was without an acknowledged write."""

    def __init__(self, process, rows=tuple(ROWS), table=TABLE):
        self._process = process
        self._name = table
        self._going = True
        self.pauses = {}
        self._tasks = [process.runtime.spawn(self._write, row, name="writer") for row in rows]

    def _write(self, row):
        table, clock = self._process.client.table(self._name), self._process.runtime.clock_seconds
        last = clock()
        while self._going:
            try:
                table.mutate([put_of(row, b"x")])
            except HbtableError:
                continue
            self.pauses[row] = max(self.pauses.get(row, 0.0), clock() - last)
            last = clock()
            self._process.runtime.sleep(0.02)

    def end(self):
        """The pauses, ascending."""
        self._going = False
        for task in self._tasks:
            assert task.join(30)
        return sorted(self.pauses.values())


@pytest.mark.parametrize("seed", quick_first([1, 2, 3], 0, 1))
def test_no_row_waits_for_a_whole_server_to_stop(seed):
    cluster = SimCluster(SimOptions(seed=seed))

    def body():
        cluster.start()
        process = cluster.add_client()
        cluster.in_process(process, lambda: create(process) or True)
        cluster.runtime.sleep(5)
        load = Load(process)
        cluster.runtime.sleep(1)
        load.pauses.clear()
        server = max((slot.process for slot in cluster.servers), key=lambda one: len(one.role._online_tablets.tablets))
        assert server.role.serves_tablets()
        server.runtime.spawn(server.stop, name="stop")
        assert server.ended.wait(60)
        cluster.runtime.sleep(3)
        pauses = load.end()
        assert len(pauses) == len(ROWS)
        assert pauses[len(pauses) // 2] < MEDIAN_SECONDS
        assert pauses[-1] < PAUSE_SECONDS

    cluster.runtime.run(body)


MANY = [b"%03d" % number for number in range(90)]


def a_server_of_many_tablets_stops(seed):
    """The pauses of some ten rows, each in a tablet of its own, ascending; how many tablets the server had, and how
    many went straight to their next server."""
    cluster, found = SimCluster(SimOptions(seed=seed, masters=1)), []

    def body():
        cluster.start()
        process = cluster.add_client()
        admin = process.client.admin
        cluster.in_process(process, lambda: create(process) or True)
        cluster.in_process(process, lambda: admin.create_table(replace(schema(), name=b"many"), MANY[1:]))
        cluster.runtime.sleep(5)
        admin.balance_switch(False)
        busy = {one.owner for one in process.client.catalog.tablet_rows(METADATA_TABLE_ID)}
        records = admin.tablets(b"many")
        victim = max({one.owner for one in records} - busy)
        rows = [one.range.start or b"0" for one in records if one.owner == victim]
        load = Load(process, rows[:: len(rows) // 10], b"many")
        cluster.runtime.sleep(1)
        load.pauses.clear()
        (server,) = [one.process for one in cluster.servers if one.process.role.incarnation == victim]
        had = len(server.role._online_tablets.tablets)
        moves = cluster.masters[0].process.master._metrics.moves
        before = moves.value
        server.runtime.spawn(server.stop, name="stop")
        assert server.ended.wait(60)
        cluster.runtime.sleep(3)
        found.extend((load.end(), had, moves.value - before))

    cluster.runtime.run(body)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.verify)])
def test_of_many_tablets_each_goes_straight_to_its_next_server(seed):
    pauses, had, moved = a_server_of_many_tablets_stops(seed)
    assert moved == had > 10
    assert pauses[len(pauses) // 2] < MEDIAN_SECONDS
    assert pauses[-1] < PAUSE_SECONDS


def test_a_server_that_no_master_relieves_gives_its_tablets_up_by_itself():
    cluster = SimCluster(SimOptions(seed=5))

    def body():
        cluster.start()
        process = cluster.add_client()
        cluster.in_process(process, lambda: create(process) or True)
        cluster.down = True
        for slot in cluster.masters:
            slot.process.kill()
        cluster.runtime.sleep(3)
        began = cluster.runtime.clock_seconds()
        servers = [slot.process for slot in cluster.servers]
        for server in servers:
            server.runtime.spawn(server.stop, name="stop")
        for server in servers:
            assert server.ended.wait(60)
        assert cluster.runtime.clock_seconds() - began < 30
        assert cluster.drains["done"] == len(servers)

    cluster.runtime.run(body)
