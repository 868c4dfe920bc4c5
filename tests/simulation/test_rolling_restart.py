"""A tablet server that stops in order under load hands its tablets over one by one: no row waits for the others."""

from dataclasses import replace

import pytest

from hbtable.errors import HbtableError, Unavailable
from hbtable.model.tablet import METADATA_TABLE_ID
from hbtable.tablet.options import TabletOptions
from hbtable.tabletserver.maintenance_plan import MaintenanceOptions
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.sim_cluster import Seams, SimCluster, SimOptions, small_server
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


MANY = 90


class Machine:
    """The processor of all servers, for which loads and unloads wait one after the other, and what goes wrong there."""

    def __init__(self):
        self.seconds = 0.0
        """For each load, and each unload."""
        self.fails_once = set()
        """Tablets of which the next load fails."""
        self.stall_seconds = 0.0
        """For which the master's next question to each server waits."""
        self.runtime = None
        self._turn = None

    def transport(self, process, transport):
        return BusyTransport(transport, self) if process.name.startswith("master") else transport

    def attach(self, runtime):
        self.runtime, self._turn = runtime, runtime.lock()

    def work(self):
        if self.seconds:
            with self._turn:
                self.runtime.sleep(self.seconds)

    def stall(self):
        seconds, self.stall_seconds = self.stall_seconds, 0.0
        if seconds:
            self.runtime.sleep(seconds)


class BusyTransport(DelegatingFake):
    """The servers as their master asks them."""

    def __init__(self, inner, machine):
        super().__init__(inner)
        self._machine = machine

    def tablet_admin(self, incarnation):
        return BusyAdmin(self.inner.tablet_admin(incarnation), self._machine)


class BusyAdmin(DelegatingFake):
    def __init__(self, inner, machine):
        super().__init__(inner)
        self._machine = machine

    def served_changes(self, since):
        self._machine.stall()
        return self.inner.served_changes(since)

    def load_tablet(self, epoch, record, schema):
        self._machine.work()
        if record.tablet_id in self._machine.fails_once:
            self._machine.fails_once.discard(record.tablet_id)
            raise Unavailable("it has no memory for it right now")
        return self.inner.load_tablet(epoch, record, schema)

    def unload_tablet(self, epoch, tablet_id):
        self._machine.work()
        return self.inner.unload_tablet(epoch, tablet_id)


def a_server_of_many_tablets_stops(seed, tablets=MANY, upset=lambda machine, records: None):
    """The pauses of some ten rows, each in a tablet of its own, ascending; how many tablets the server had, and how
    many went straight to their next server. `upset` is called with the server's tablets right before it stops."""
    machine = Machine()
    server = replace(
        small_server(),
        tablet=TabletOptions(),
        maintenance=MaintenanceOptions(period_seconds=0.2, retry_seconds=0.5),
        drain_wait_seconds=30.0,
    )
    options = SimOptions(seed=seed, masters=1, seams=Seams(transport=machine.transport), server=server)
    cluster, found = SimCluster(options), []
    splits = [b"%04d" % number for number in range(1, tablets)]

    def body():
        machine.attach(cluster.runtime)
        cluster.start()
        process = cluster.add_client()
        admin = process.client.admin
        cluster.in_process(process, lambda: create(process) or True)
        cluster.in_process(process, lambda: admin.create_table(replace(schema(), name=b"many"), splits))
        cluster.runtime.sleep(5)
        admin.balance_switch(False)
        busy = {one.owner for one in process.client.catalog.tablet_rows(METADATA_TABLE_ID)}
        records = admin.tablets(b"many")
        victim = max({one.owner for one in records} - busy)
        records = [one for one in records if one.owner == victim]
        rows = [one.range.start or b"0" for one in records]
        load = Load(process, rows[:: len(rows) // 10], b"many")
        cluster.runtime.sleep(1)
        load.pauses.clear()
        (server,) = [one.process for one in cluster.servers if one.process.role.incarnation == victim]
        had = len(server.role._online_tablets.tablets)
        moves = cluster.masters[0].process.master._metrics.moves
        before = moves.value
        upset(machine, records)
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


@pytest.mark.slow
def test_a_busy_machine_has_no_more_tablets_away_than_it_can_load():
    def upset(machine, records):
        machine.seconds = 0.03

    pauses, had, moved = a_server_of_many_tablets_stops(3, 150, upset)
    assert moved == had
    assert pauses[len(pauses) // 2] < MEDIAN_SECONDS
    assert pauses[-1] < PAUSE_SECONDS


def test_a_tablet_whose_next_server_fails_to_load_it_waits_for_no_other():
    def upset(machine, records):
        machine.seconds = 0.03
        machine.fails_once = {records[0].tablet_id}

    pauses, _, _ = a_server_of_many_tablets_stops(4, 150, upset)
    assert pauses[-1] < PAUSE_SECONDS


def test_a_server_that_waits_for_a_busy_master_goes_on_serving():
    """It gives a few up by itself after ten seconds, and no more before somebody has those."""

    def upset(machine, records):
        machine.stall_seconds = 13.0

    pauses, had, moved = a_server_of_many_tablets_stops(5, 150, upset)
    assert had - 16 <= moved < had
    assert pauses[len(pauses) // 2] < MEDIAN_SECONDS
    assert sum(pause > PAUSE_SECONDS for pause in pauses) <= -(-16 * len(pauses) // had)
    assert pauses[-1] < 5, "the last was away while the master was"


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
