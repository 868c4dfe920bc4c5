"""The events of tablets: what became of each, noted by the master and its servers, is told in the order it happened."""

from collections import Counter

import pytest

from hbtable.hbase.admin.tablets import AdminTabletCalls
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.cluster_backend import ClusterBackend
from hbtable.hbase.server_names import ServerNames
from hbtable.launch.thrift_gateway import living_servers, masters
from hbtable.lockservice.toggles import OperatorToggles
from hbtable.model.tablet_event import GIVEN, LEFT, MERGED, NOT_LOADED, SERVED, SPLIT, TAKEN
from tests.harness.sim_cluster import SimCluster, SimOptions
from tests.harness.sim_workload import ROWS, TABLE, create, put_of


class Asked:
    """A cluster of three servers with a table, and what an operator asks about it."""

    def __init__(self, seed):
        self.cluster = SimCluster(SimOptions(seed=seed, masters=1))

    def play(self, act):
        def body():
            self.cluster.start()
            process = self.cluster.add_client()
            self.cluster.in_process(process, lambda: (create(process), self._begin(process), act()))

        self.cluster.runtime.run(body)

    def _begin(self, process):
        self.client, self.runtime, session = process.client, process.runtime, process.lease
        gateway = ClusterBackend(
            self.client.admin,
            lambda: living_servers(session),
            self.client.operations,
            lambda: masters(session),
            OperatorToggles(session),
        )
        names = ServerNames(gateway, lambda owner: (b"host", 9090))
        self.calls = AdminTabletCalls(TableBackend(self.client.table), gateway, names)

    def told(self, row=ROWS[0], table=TABLE):
        return self.calls.adminTabletHistory(table, row)

    def until(self, holds):
        """The answer that `holds`."""
        until = self.runtime.clock_seconds() + 60
        while True:
            found = self.told()
            if holds(found):
                return found
            assert self.runtime.clock_seconds() < until, found
            self.runtime.sleep(0.2)

    def owner(self):
        record = self.client.admin.record(TABLE)
        return self.client.operations.tablet_of_row(record.table_id, ROWS[0]).owner

    def kill_owner(self):
        name = self.owner()
        (process,) = [slot.process for slot in self.cluster.servers if slot.process.role.incarnation == name]
        process.kill()
        return name


def kinds(history):
    return [event.what for event in history.events]


def test_a_tablet_that_moves_says_who_had_it_and_why():
    asked = Asked(1)

    def act():
        first = asked.until(lambda found: found.state == "served" and kinds(found) == [GIVEN, SERVED])
        assert " was made, for " in first.events[0].why
        assert first.events[0].by == "master"
        before = asked.owner()
        asked.client.admin.move_tablet(TABLE, first.tablet.tablet_id)
        after = asked.owner()
        assert before != after
        moved = asked.until(lambda found: kinds(found)[-3:] == [LEFT, GIVEN, SERVED])
        left, given, served = moved.events[-3:]
        assert left.why == "the master asked for it"
        assert given.why.endswith("because it was asked to")
        assert (left.generation + 1, served.generation) == (given.generation, given.generation)
        assert left.server.startswith("host,9090,")
        assert [event.generation for event in moved.events] == sorted(event.generation for event in moved.events)

    asked.play(act)


def test_a_death_a_split_and_metadata_itself():
    asked = Asked(2)

    def act():
        asked.until(lambda found: found.state == "served")
        dead = asked.kill_owner()
        again = asked.until(lambda found: found.state == "served" and kinds(found)[-2:] == [GIVEN, SERVED])
        assert again.events[-2].why.endswith(f"because its owner {dead} is dead")
        table = asked.client.table(TABLE)
        for row in ROWS:
            table.mutate([put_of(row, b"x" * 50)])
        asked.client.admin.split(TABLE, ROWS[1])
        child = asked.until(lambda found: SPLIT in kinds(found))
        (event,) = [one for one in child.events if one.what == SPLIT]
        assert event.why.startswith(f"tablet {again.tablet.tablet_id} was split at ")
        assert event.why.endswith(": it was asked to")
        for row in (b"", b"table/x"):
            assert asked.told(row, b"hbase:meta").state == "served"
        assert kinds(asked.told(b"table/x", b"hbase:meta")).count(GIVEN) >= 1

    asked.play(act)


def test_a_merge_says_of_which_tablets_it_made_one():
    asked = Asked(3)

    def act():
        asked.until(lambda found: found.state == "served")
        asked.client.admin.split(TABLE, ROWS[1])
        tablets = [one.tablet_id for one in asked.client.admin.tablets(TABLE)]
        asked.client.admin.merge_tablets(TABLE, tablets)
        found = asked.until(lambda found: kinds(found)[:3] == [MERGED, GIVEN, SERVED])
        assert found.events[0].why == f"of tablets {', '.join(map(str, tablets))}: it was asked to"

    asked.play(act)


@pytest.mark.slow
def test_every_generation_is_noted_whatever_happens():
    """Seeds of deaths and moves: each tablet's events never contradict its row, and its last owner is named."""
    total = Counter()
    for seed in range(10, 16):
        asked = Asked(seed)

        def act(asked=asked):
            asked.until(lambda found: found.state == "served")
            for step in range(4):
                if step % 2:
                    asked.kill_owner()
                else:
                    asked.client.admin.move_tablet(TABLE, asked.told().tablet.tablet_id)
                found = asked.until(
                    lambda found: (
                        found.state == "served" and found.events and found.events[-1].server == found.tablet.server
                    )
                )
                total.update(kinds(found))
                by_generation = {}
                for event in found.events:
                    if event.what == GIVEN:
                        assert event.generation not in by_generation
                        by_generation[event.generation] = event.server
                for event in found.events:
                    if event.what in (SERVED, NOT_LOADED, LEFT, TAKEN):
                        assert by_generation.get(event.generation, event.server) == event.server

        asked.play(act)
    assert total[GIVEN] > 20
    assert total[SERVED] > 20
